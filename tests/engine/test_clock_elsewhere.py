"""mz_now() where there is no temporal_view: the clock is put in, whatever the statement."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.clock_calls import is_lasting_view, put_clock
from dbt.adapters.sparktemporal.errors import Refusal
from support.instants import T0
from support.project import Project

NOW = "2024-03-01 12:00:00"


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(
        "CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(ms) AS ts, ms, "
        "CAST(ms AS DECIMAL(20, 3)) AS dec, timestamp_ntz '2024-03-01 12:00:00' AS ntz "
        f"FROM (SELECT id, {T0}L + id - 5 AS ms FROM range(10))"
    )
    return project


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["table", "incremental", "view"])
def test_in_other_models(events: Project, kind: str) -> None:
    extra: dict[str, Any] = {"incremental_strategy": "append"} if kind == "incremental" else {}
    sql = (
        "select *, mz_now() as seen, 'mz_now()' as text -- mz_now()\nfrom {{ this.schema }}.events where ts <= mz_now()"
    )
    events.model("m", sql, materialized=kind, **extra)
    events.run(now=NOW)
    assert events.rows("SELECT count(*), min(unix_millis(seen)), max(text) FROM {s}.m") == [(6, T0, "mz_now()")]


def test_in_a_view_it_is_the_clock_of_the_read(events: Project) -> None:
    sql = "select id, unix_millis(mz_now()) as seen, ms > mz_now() as ahead from {{ this.schema }}.events"
    events.model("m", sql, materialized="view")
    events.run()
    first = events.rows("SELECT max(seen), bool_or(ahead) FROM {s}.m")[0]
    second = events.rows("SELECT max(seen), bool_or(ahead) FROM {s}.m")[0]
    assert T0 < first[0] < second[0] and first[1] is False


def test_one_instant_for_all_models_of_an_invocation(events: Project) -> None:
    for name in ("a", "b", "c"):
        events.model(name, "select unix_millis(mz_now()) as seen", materialized="table")
    events.run("--threads", "3")
    assert len(set(events.rows("SELECT * FROM {s}.a UNION ALL SELECT * FROM {s}.b UNION ALL SELECT * FROM {s}.c"))) == 1


def test_in_tests_show_inline_and_ephemeral_models(events: Project) -> None:
    events.model("fresh", "select id from {{ this.schema }}.events where mz_now() < ts", materialized="ephemeral")
    events.model("m", "select * from {{ ref('fresh') }}", materialized="table")
    later = "select * from {{ ref('m') }} where id < 6 or unix_millis(mz_now()) = 0"
    events.write("tests/none_later.sql", later)
    values = {"arguments": {"values": [6, 7, 8, 9], "quote": False}, "config": {"where": "mz_now() > '2000-01-01'"}}
    column = {"name": "id", "data_tests": [{"accepted_values": values}]}
    events.write("models/s.yml", json.dumps({"models": [{"name": "m", "columns": [column]}]}))
    assert events.dbt("build", now=NOW).success
    shown = events.dbt("show", "--inline", "select mz_now() = timestamp_millis(1709294400000) as x", now=NOW)
    assert [row[0] for row in shown.results[0].agate_table.rows] == [True]
    var = events.dbt("show", "--inline", "select unix_millis(mz_now()) as x", temporal_now=5)
    assert [int(row[0]) for row in var.results[0].agate_table.rows] == [5]


def test_declared_in_dbt_project_yml(events: Project) -> None:
    text = (events.path / "dbt_project.yml").read_text()
    events.write("dbt_project.yml", text + "vars: {temporal_now: 7, proj: {temporal_now: 8}}\n")
    shown = events.dbt("show", "--inline", "select unix_millis(mz_now()) as x")
    assert [int(row[0]) for row in shown.results[0].agate_table.rows] == [8]


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("ms <= mz_now()", 6),
        ("mz_now() between ms - 1 and ms", 2),
        ("mz_now() - 2 < ms and mz_now() + interval 1 millisecond > ts", 2),
        ("dec < mz_now() or mz_now() < ts", 9),
        ("mz_now() >= ntz and mz_logical_timestamp() > ms + 1", 4),
        ("case when id < 3 then mz_now() > ms else ts >= mz_now() end", 8),
        ("id in (select count(*) from {s}.events where ms < mz_now() and ts < mz_now())", 1),
    ],
)
def test_beside_numbers_and_timestamps(events: Project, where: str, count: int) -> None:
    inline = f"select count(*) as n from {events.schema}.events where {where.replace('{s}', events.schema)}"
    shown = events.dbt("show", "--inline", inline, now=NOW)
    assert [int(row[0]) for row in shown.results[0].agate_table.rows] == [count]


def test_mistakes_are_sparks_own_or_refused(events: Project) -> None:
    inline = f"select * from {events.schema}.events where mz_now(3) > ts"
    text = events.dbt("show", "--inline", inline, now=NOW, check=False).text
    assert "found: mz_now(...) with an argument" in text and "instead: mz_now()" in text
    text = events.dbt("show", "--inline", "select mz_now() + array(1) as x", now=NOW, check=False).text
    assert "DATATYPE_MISMATCH" in text and "mz_now" not in text.lower().partition("datatype_mismatch")[2][:80]
    text = events.dbt("show", "--inline", "select mz_now() as x from nowhere", now=NOW, check=False).text
    assert "TABLE_OR_VIEW_NOT_FOUND" in text


def test_a_view_over_the_clock_is_no_input(events: Project) -> None:
    events.model("v", "select id, ts from {{ this.schema }}.events where mz_now() > ts", materialized="view")
    events.model("m", "select id from {{ ref('v') }} where mz_now() < ts + interval 1 day")
    text = events.run(check=False).text
    assert "found: v, a view with mz_now()" in text and "materialized='ephemeral'" in text


def test_statements_without_the_clock_are_not_touched() -> None:
    def never(_: str) -> str:
        raise AssertionError("asked")

    sql = "select 'mz_now()', `mz_now` from t -- mz_now()"
    assert put_clock(sql, never, lambda: "5L") == sql
    with pytest.raises(Refusal):
        put_clock("select 'mz_now()', mz_now(1), 'x", never, lambda: "5L")
    assert is_lasting_view("-- x\n/* y */ CREATE  VIEW v AS SELECT 1") and not is_lasting_view(
        "create table view(x int)"
    )
