"""`temporal_feed` in incremental models: each change once, what happens to the view in between, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from support.instants import T0
from support.project import Project

FEED = "select * from {{ temporal_feed(ref('m')) }}"


@pytest.fixture
def fed(project: Project) -> Project:
    """Rows that leave 10 and 20 seconds after T0, and a model that takes the changes."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT * FROM VALUES (1, {T0 + 10_000}L), (2, {T0 + 20_000}L) AS v(id, hi)")
    project.model("m", f"select id from {project.schema}.t where mz_now() < hi")
    project.model("log", FEED, materialized="incremental")
    project.run(now=T0)
    return project


def taken(project: Project, table: str = "log") -> list[tuple]:
    return sorted(project.rows(f"SELECT mz_timestamp - {T0}, mz_diff, mz_definite, id FROM {{s}}.{table}"))


FIRST = [(0, 1, True, 1), (0, 1, True, 2)]


def test_expiries_reach_what_is_downstream(fed: Project) -> None:
    """No row comes, and the run commits for the feed; a deletion comes; an instant is given twice."""
    assert taken(fed) == FIRST
    fed.run(now=T0 + 5_000)
    assert taken(fed) == FIRST
    assert fed.state().frontier == T0 + 5_000
    fed.run(now=T0 + 10_000)
    left = [*FIRST, (10_000, -1, True, 1)]
    assert taken(fed) == left
    fed.sql(f"INSERT OVERWRITE {{s}}.t SELECT 3 AS id, {T0 + 30_000}L AS hi")
    fed.run(now=T0 + 10_000)
    again = [*FIRST, (10_000, -1, True, 1), (10_000, -1, True, 2), (10_000, 1, True, 3)]
    assert taken(fed) == again
    fed.run("-s", "log", now=T0 + 60_000)
    assert taken(fed) == again
    fed.run(now=T0 + 60_000)
    assert taken(fed) == [*again, (30_000, -1, True, 3)]


def test_without_a_feed_the_frontier_stays(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT 1 AS id, {T0 + 10_000}L AS hi")
    project.model("m", f"select id from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    project.run(now=T0 + 1)
    assert project.state().frontier == T0


@pytest.mark.landing
def test_another_query_above(fed: Project) -> None:
    """The stored rows stay, and the output is another: the feed takes the difference at the instant of the change."""
    fed.run(now=T0 + 1)
    fed.model("m", f"with w as (select id from {fed.schema}.t where mz_now() < hi) select id * 10 as id from w")
    fed.run(now=T0 + 2)
    assert fed.state().since == T0
    changed = [(2, -1, True, 1), (2, -1, True, 2), (2, 1, True, 10), (2, 1, True, 20)]
    assert taken(fed) == [*FIRST, *changed]
    fed.run(now=T0 + 10_000)
    assert taken(fed) == [*FIRST, *changed, (10_000, -1, True, 10)]


@pytest.mark.landing
def test_a_function_above_is_redefined(fed: Project) -> None:
    """The table is trusted: that the function is another is known from the run of the view."""
    fed.sql("CREATE FUNCTION {s}.shown(x BIGINT) RETURNS BIGINT RETURN x")
    fed.model(
        "m", f"with w as (select id from {fed.schema}.t where mz_now() < hi) select {fed.schema}.shown(id) as id from w"
    )
    fed.model("log", "select * from {{ temporal_feed(ref('m'), verify=false) }}", materialized="incremental")
    fed.run("--full-refresh", now=T0 + 1)
    fed.run(now=T0 + 2)
    first = [(1, 1, True, 1), (1, 1, True, 2)]
    assert taken(fed) == first
    fed.sql("CREATE OR REPLACE FUNCTION {s}.shown(x BIGINT) RETURNS BIGINT RETURN x * 10")
    fed.run(now=T0 + 3)
    assert fed.state().since == T0 + 1
    changed = [(3, -1, True, 1), (3, -1, True, 2), (3, 1, True, 10), (3, 1, True, 20)]
    assert taken(fed) == [*first, *changed]
    fed.run(now=T0 + 10_000)
    assert taken(fed) == [*first, *changed, (10_000, -1, True, 10)]


@pytest.mark.landing
def test_a_restart_is_a_difference(fed: Project) -> None:
    fed.sql(f"INSERT INTO {{s}}.t VALUES (3, {T0 + 20_000}L)")
    fed.run("--full-refresh", "-s", "m", now=T0 + 15_000)
    fed.run(now=T0 + 15_001)
    assert taken(fed) == [*FIRST, (15_000, -1, True, 1), (15_000, 1, True, 3)]


@pytest.mark.landing
def test_one_difference(fed: Project) -> None:
    """Not each change: an event that came and went between two runs is not told."""
    fed.model("log", "select * from {{ temporal_feed(ref('m'), each_change=false) }}", materialized="incremental")
    fed.sql(f"INSERT INTO {{s}}.t VALUES (3, {T0 + 2_000}L)")
    fed.run("-s", "m", now=T0 + 1_000)
    fed.run(now=T0 + 10_000)
    assert taken(fed) == [*FIRST, (10_000, -1, True, 1)]


@pytest.mark.landing
def test_a_column_more(fed: Project) -> None:
    fed.model("m", f"select id, hi from {fed.schema}.t where mz_now() < hi")
    fed.model("log", FEED, materialized="incremental", on_schema_change="append_new_columns")
    fed.run(now=T0 + 1)
    fed.run(now=T0 + 10_000)
    rows = sorted(fed.rows(f"SELECT id, hi - {T0}, sum(mz_diff) FROM {{s}}.log GROUP BY 1, 2 HAVING sum(mz_diff) <> 0"))
    assert rows == [(2, 20_000, 1)]


@pytest.mark.parametrize(
    ("config", "feed", "words"),
    [
        ({"materialized": "table"}, FEED, "which is no incremental model (table)"),
        (
            {"materialized": "incremental", "incremental_strategy": "insert_overwrite"},
            FEED,
            "an upsert replaces the row",
        ),
        (
            {"materialized": "incremental"},
            "select * from {{ temporal_feed(ref('m'), envelope='upsert', unique_key='id') }}",
            "incremental_strategy='merge' with a unique_key",
        ),
        (
            {"materialized": "incremental"},
            "select * from {{ temporal_feed(ref('m'), envelope='debezium') }}",
            "this envelope has one row for each key and instant",
        ),
        ({"materialized": "incremental"}, "select * from {{ temporal_feed(ref('m'), verify=1) }}", "with verify 1"),
    ],
)
def test_refused(fed: Project, config: dict[str, Any], feed: str, words: str) -> None:
    fed.model("other", feed, **config)
    result = fed.run("-s", "other", now=T0 + 1, check=False)
    assert not result.success and words in result.text and "instead: " in result.text


@pytest.mark.landing
def test_refused_tables(fed: Project) -> None:
    """A table without the columns of a feed; one that is ahead of the view."""
    fed.model("other", "select id, mz_timestamp from {{ temporal_feed(ref('m')) }}", materialized="incremental")
    fed.run("-s", "other", now=T0 + 1)
    text = fed.run("-s", "other", now=T0 + 2, check=False).text
    assert "which has no column mz_diff" in text and "--full-refresh" in text
    fed.run("-s", "m log", now=T0 + 10_000)
    fed.run("--full-refresh", "-s", "m", now=T0 + 500)
    text = fed.run("-s", "log", now=T0 + 600, check=False).text
    assert "has updates of m up to 2024-03-01 12:00:10.000 UTC" in text and "at a later clock" in text
    fed.run("-s", "m log", now=T0 + 20_000)
    assert taken(fed) == [*FIRST, (10_000, -1, True, 1), (20_000, -1, True, 2)]


@pytest.mark.landing
def test_nothing_new_for_a_trusted_table(fed: Project) -> None:
    """As after a write that is atomic: nothing is compared, and the run of the feed alone takes nothing."""
    fed.model("log", "select * from {{ temporal_feed(ref('m'), verify=false) }}", materialized="incremental")
    fed.run("-s", "log", now=T0)
    assert taken(fed) == FIRST
    fed.run(now=T0 + 10_000)
    fed.run("-s", "log", now=T0 + 10_000)
    assert taken(fed) == [*FIRST, (10_000, -1, True, 1)]
