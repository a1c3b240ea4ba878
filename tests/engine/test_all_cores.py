"""`<model>__diffs` and `temporal_matches_source` of models of several cores."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time import reads
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from support.instants import DAY, HOUR, T0
from support.project import Project


@pytest.fixture
def two(project: Project) -> Project:
    """A row of each of two windows, over tables whose columns share a name, once with another type."""
    project.sql(f"CREATE TABLE {{s}}.a AS SELECT 1 AS id, 'x' AS v, {T0 + 5}L AS hi")
    project.sql(f"CREATE TABLE {{s}}.b AS SELECT 2 AS id, 3.5D AS V, {T0 + 7}L AS hi, true AS only_b")
    s = project.schema
    project.model("m", f"with a as (select id, v from {s}.a where mz_now() < hi), "
                  f"b as (select id, V, only_b from {s}.b where mz_now() < hi) "
                  "select coalesce(a.id, b.id) as id, a.v, only_b "
                  "from a full join b on a.id between b.id and b.id")  # fmt: skip
    return project


def test_updates_of_all_cores(two: Project) -> None:
    two.run(now=T0)
    assert two.columns("m__diffs") == ["mz_timestamp", "mz_diff", "mz_core", "id", "v", "V_c1", "only_b"]
    told = two.rows(f"SELECT mz_timestamp - {T0}, mz_diff, mz_core, id, v, V_c1, only_b FROM {{s}}.m__diffs")
    assert sorted(told) == [
        (0, 1, "c0", 1, "x", None, None), (0, 1, "c1", 2, None, 3.5, True),
        (5, -1, "c0", 1, "x", None, None), (7, -1, "c1", 2, None, 3.5, True),
    ]  # fmt: skip
    updates = two.render("select count(*) from {{ temporal_diffs(ref('m')) }}")
    assert two.rows(updates) == [(4,)]


def test_boundaries_of_all_cores(two: Project) -> None:
    """Of each core at least one boundary is compared, however few are asked for."""
    two.run(now=T0)
    told: list[str] = []

    def rows(sql: str) -> list[tuple]:
        told.append(sql)
        return two.rows(sql)

    sql = reads.matches_source(Warehouse(rows), two.target(), None, 1, T0, 15)
    assert all(str(T0 + t) in sql for t in (4, 5, 6, 7, 8)) and two.rows(sql) == []


@pytest.mark.landing
def test_instants_of_what_a_read_evaluates(project: Project) -> None:
    """Its boundaries are not known: instants ahead are compared, others after each run, none after the expiration."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 3600000) AS ts FROM range(9)")
    project.model("m", f"select id from {project.schema}.t where hour(mz_now()) = hour(ts)", expiration="3 days")
    found = []
    for now in (T0, T0 + 1000):
        project.run("--full-refresh", now=now)
        sql = reads.matches_source(Warehouse(project.rows), project.target(), None, 4, now, 12)
        assert project.rows(sql) == []
        found.append({parse_instant(text) - now for text in re.findall(r"SELECT '([^']*)' AS mz_instant", sql)})
    assert [len(instants) for instants in found] == [5, 5] and found[0] & found[1] == {0}
    assert all(1000 <= t <= 3 * DAY for t in (found[0] | found[1]) - {0})
    assert max(found[0]) > HOUR > min(found[0] - {0})


@pytest.mark.landing
def test_wide_cores(project: Project) -> None:
    """Where the text would be too long for a view, the columns of each core are in a struct."""
    many = ", ".join(f"id + {n} AS a_column_with_a_name_of_some_length_{n}" for n in range(250))
    project.sql(f"CREATE TABLE {{s}}.wide AS SELECT id, {many}, {T0 + 5}L AS hi FROM range(2)")
    s = project.schema
    live = f"select * from {s}.wide where mz_now() < hi"
    project.model("m", f"with a as ({live}), b as ({live} and id >= 0) select * from a except all select * from b")
    project.run(now=T0)
    assert project.columns("m__diffs") == ["mz_timestamp", "mz_diff", "mz_core", "c0", "c1"]
    told = project.rows("SELECT mz_core, mz_diff, count(*), count(c0.id), count(c1.id) FROM {s}.m__diffs GROUP BY 1, 2")
    assert sorted(told) == [("c0", -1, 2, 2, 0), ("c0", 1, 2, 2, 0), ("c1", -1, 2, 0, 2), ("c1", 1, 2, 0, 2)]
