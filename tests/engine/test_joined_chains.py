"""A run that writes small chains again with what is new: one statement, the answers of many."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import T0
from support.project import Project

ROWS = "SELECT CAST(id AS INT) AS k, IF(id % 7 = 0, NULL, timestamp_millis({t}L + id * 500)) AS hi FROM range({a}, {b})"
MODELS = {
    "plain": "select k, hi from {s}.t where mz_now() < hi",
    "open": "select k, hi from {s}.t where mz_now() >= hi or hi is null",
    "grouped": "select k % 3 as g, count(*) as n, sum(k) as total, max(hi) as latest from {s}.t where mz_now() < hi "
    "group by k % 3",
    "one": "select count(*) as n, sum(k) as total from {s}.t where mz_now() < hi",
    "beside": "select a.k, b.k as other from {s}.t a join {s}.t b on a.k = b.k + 1 where mz_now() < a.hi",
}


@pytest.fixture
def five(project: Project) -> Project:
    """Models over a table of Parquet files."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS.format(t=T0, a=0, b=40)}")
    for name, sql in MODELS.items():
        project.model(name, sql.format(s=project.schema), aggregates="groups", retain_history="1 day")
    project.run(now=T0)
    return project


def right(project: Project, name: str, instants: list[int], table: str = "t") -> None:
    columns = ", ".join(project.spark.table(f"{project.schema}.{name}").columns)
    sides = []
    for t, read in project.at_each(name, instants).items():
        oracle = MODELS[name].format(s="{s}", now=None).replace("mz_now()", f"timestamp_millis({t}L)")
        oracle = oracle.replace("{s}.t", f"{{s}}.{table}")
        sides += [f"SELECT {t}L AS t, 1 AS x, * FROM ({read})", f"SELECT {t}L, -1, * FROM ({oracle})"]
    found = project.rows(
        f"SELECT t, {columns}, sum(x) FROM ({' UNION ALL '.join(sides)}) GROUP BY ALL HAVING sum(x) <> 0"
    )
    assert found == [], (name, found[:10])


@pytest.mark.landing
def test_new_rows_over_many_runs(five: Project) -> None:
    """Each run leaves one chain a core, and the past is there as it was known then."""
    five.sql("CREATE TABLE {s}.t0 USING parquet AS SELECT * FROM {s}.t")
    for run in (1, 2, 3):
        rows = ROWS.format(t=T0, a=40 * run, b=40 * run + 5)
        five.sql(f"INSERT INTO {{s}}.t {rows} UNION ALL {rows} UNION ALL SELECT 1, NULL")  # twice, and no instant
        ran = five.run(now=T0 + 1000 * run)
        assert "advanced, 11 rows" in ran.of("open").message or run > 1
        five.sql(f"CREATE TABLE {{s}}.t{run} USING parquet AS SELECT * FROM {{s}}.t")
    for name in MODELS:
        state = five.state(name)
        assert [len(core.chains) for core in state.cores] == [1], (name, state.cores)
        right(five, name, [T0 + 3000 + near for near in (0, 1, 499, 500, 501, 17_000, 62_000, 62_499, 62_500, 62_501)])
        for run in (0, 1, 2):
            right(five, name, [T0 + 1000 * run + near for near in (0, 1, 499, 500, 999)], f"t{run}")


@pytest.mark.landing
def test_rows_that_leave_no_trace(five: Project) -> None:
    """Nothing is new, so the chain that stood stays; what was written beside it is gone."""
    before = five.state("plain").chains
    five.sql(f"INSERT INTO {{s}}.t SELECT 1, timestamp_millis({T0 - 5}L)")
    assert "OK unchanged" in five.run("-s", "plain", now=T0 + 1000).of("plain").message
    assert five.state("plain").chains == before and five.state("plain").frontier == T0 + 1000
    named = {row[1] for row in five.rows("SHOW TABLES IN {s} LIKE 'plain__diffs_*'")}
    assert named == {chain.table for chain in before}


@pytest.mark.landing
def test_groups_that_cancel(project: Project) -> None:
    """What is new may be all that a chain needs to be empty: a sum of nothing but zeros is no group."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT 1 AS k, 5 AS n, timestamp_millis({T0}L + 5000) AS hi")
    select = "select k, sum(n) as total from {s}.t where mz_now() < hi group by k"
    project.model("m", select.format(s=project.schema), aggregates="groups")
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.t SELECT 1, -5, timestamp_millis({T0}L + 5000)")
    project.run(now=T0 + 1)
    assert project.rows(project.at("m", T0 + 4999)) == [(1, 0)] and project.rows(project.at("m", T0 + 5000)) == []


@pytest.mark.landing
def test_corrections_beside_small_chains(project: Project) -> None:
    """The run that reads all writes corrections; a later one makes one chain of them and of new rows."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS.format(t=T0, a=0, b=40)}")
    for name in ("plain", "grouped"):
        project.model(name, MODELS[name].format(s=project.schema), aggregates="groups")
    project.run(now=T0)
    project.sql("CREATE TABLE {s}.kept USING parquet AS SELECT * FROM {s}.t WHERE k % 4 > 0")
    project.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.kept UNION ALL SELECT * FROM {s}.kept WHERE k % 4 = 1")
    project.run(now=T0 + 1000)
    project.sql(f"INSERT INTO {{s}}.t {ROWS.format(t=T0, a=40, b=45)}")
    project.run(now=T0 + 2000)
    for name in ("plain", "grouped"):
        (chain,) = project.state(name).chains
        right(project, name, [T0 + 2000 + near for near in (0, 1, 499, 500, 501, 12_000, 20_000, 20_499, 20_500)])
        assert chain.rows


@pytest.mark.parametrize(
    ("rows", "new", "taken"),
    [
        ([], 5, 0),
        ([10], 1, 1),  # few rows: a statement costs more
        ([300_000, 3_000], 3_000, 1),
        ([300_000, 19_000], 3_000, 0),
        ([300_000, 19_000], 7_000, 1),  # as it would be merged afterwards
        ([99_000], 50_000, 0),  # a merge that may leave the past knows the number first
        ([30, 20, 10, 9, 8, 7], 1, 6),
        ([40_000] * 6, 1, 2),  # at most six chains, and what would be merged with the first
    ],
)
def test_which_chains_are_taken(rows: list[int], new: int, taken: int) -> None:
    assert chains.chains_to_rewrite(rows, new) == taken


def test_statement_says_what_it_does(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS.format(t=T0, a=0, b=40)}")
    project.model("plain", MODELS["plain"].format(s=project.schema))
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.t {ROWS.format(t=T0, a=40, b=42)}")
    ran = project.run(now=T0 + 1000)
    assert "2 rows stored, written again with 34 rows of earlier runs" in ran.text
    script = next(project.path.glob("target/run/**/plain.sql")).read_text()
    assert "-- c0: intervals of new rows and 1 chain -> a new chain" in script
