"""Aggregates over the life of a model: what is kept, when it changes, and the classic traps."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from support.instants import T0
from support.project import Project
from support.stories import Story
from support.stories import live as live_all

TESTS = ["temporal_matches_source", "temporal_diffs_consistent"]


def fill(project: Project, *rows: str, table: str = "t") -> None:
    """Rows (k, v, first second, last second): in the view from T0 + first until before T0 + last."""
    values = ", ".join(rows)
    project.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW filled AS SELECT k, v, CAST(v AS BIGINT) AS big, "
        f"TRY_CAST(v AS DECIMAL(9, 2)) / 4 AS price, timestamp_millis({T0}L + lo * 1000) AS lo, "
        f"timestamp_millis({T0}L + hi * 1000) AS hi FROM VALUES {values} AS f(k, v, lo, hi)"
    )
    verb = "INSERT INTO {s}.t" if project.rows(f"SHOW TABLES IN {{s}} LIKE '{table}'") else "CREATE TABLE {s}.t AS"
    project.sql(f"{verb} SELECT * FROM filled")


def model(project: Project, select: str, rest: str = "group by k", **config: Any) -> None:
    config.setdefault("aggregates", "groups")
    project.model(
        "m", f"select {select} from {project.schema}.t where mz_now() >= lo and mz_now() < hi {rest}", **config
    )
    project.write("models/schema.yml", json.dumps({"models": [{"name": "m", "data_tests": TESTS}]}))


def at(project: Project, second: float) -> list[tuple]:
    t = T0 + int(second * 1000)
    return sorted(project.rows(f"select * from {project.at('m', t)}"), key=str)


def passes(project: Project, now: int) -> None:
    assert {str(r.status) for r in project.dbt("test", now=now).results} == {"pass"}


@pytest.mark.landing
def test_a_life(project: Project) -> None:
    live(project, 3)


@pytest.mark.deep
def test_a_longer_life(project: Project) -> None:
    live(project, 9)


def live(project: Project, seconds: int) -> None:
    """Groups that come, change, go and come back, through corrections and a merge of chains."""
    fill(project, "('a', 1, 0, 10)", "('a', 2, 0, 20)", "('b', 5, 5, 15)", "(null, 7, 0, 30)", "('b', null, 0, 30)")
    model(
        project, "k, count(*) as n, sum(v) as total, avg(price) as mean, count_if(v > 1) as many, bool_and(v > 1) as b"
    )
    first = project.run(now=T0).of("m")
    assert "groups are kept" in str(first.adapter_response["aggregates"])
    assert [name for name, _ in project.state().cores[0].columns] == ["k"]
    assert at(project, 0)[0][:3] == ("a", 2, 3)
    assert at(project, 9.999)[0][:3] == ("a", 2, 3)
    assert at(project, 10)[0][:3] == ("a", 1, 2)
    assert [r[0] for r in at(project, 20)] == ["b", None]
    for second in range(1, seconds + 1):
        fill(project, f"('a', {second}, {second}, {second + 8})")
        project.run(now=T0 + second * 1000)
        if second % 3 == 0:
            passes(project, T0 + second * 1000)
    assert len(project.state().chains) <= 6
    project.sql("CREATE TABLE {s}.kept AS SELECT * FROM {s}.t WHERE k = 'b' OR k IS NULL")
    project.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.kept")
    assert "advanced" in project.run(now=T0 + 11_000).of("m").message
    assert [r[0] for r in at(project, 11)] == ["b", None]
    passes(project, T0 + 11_000)
    assert "OK unchanged" in project.run(now=T0 + 11_001).of("m").message


def test_diffs_are_updates_of_groups(project: Project) -> None:
    fill(project, "('a', 3, 0, 10)", "('a', 4, 0, 10)", "('b', 1, 2, 10)")
    model(project, "k, sum(v) as total")
    project.run(now=T0)
    diffs = project.rows("SELECT mz_timestamp, mz_diff, k, mz_sum_1 FROM {s}.m__diffs ORDER BY 1, 3")
    assert diffs == [(T0, 2, "a", 7), (T0 + 2000, 1, "b", 1), (T0 + 10_000, -2, "a", -7), (T0 + 10_000, -1, "b", -1)]


@pytest.mark.landing
def test_expiration(project: Project) -> None:
    fill(project, "('a', 3, 0, 10)", "('a', 4, 0, 11)", "('b', 1, 12, 13)")
    model(project, "k, count(*) as n", expiration="10 seconds")
    project.run(now=T0)
    assert project.rows("SELECT max(mz_timestamp), count(*) FROM {s}.m__diffs") == [(T0 + 10_000, 2)]
    assert at(project, 10) == [("a", 1)]
    with pytest.raises(Exception, match="m expired at 2024-03-01 12:00:10"):
        project.rows("SELECT * FROM {s}.m")
    passes(project, T0)


def story(rows: str, select: str, rest: str, *seconds: float, kept: str = "groups are kept") -> Story:
    """rows: (k, v, first second, last second). seconds: when the model is compared, beside the first run."""
    table = (
        "CREATE TABLE {t} AS SELECT k, v, CAST(v AS BIGINT) AS big, "
        f"timestamp_millis({T0}L + lo * 1000) AS lo, timestamp_millis({T0}L + hi * 1000) AS hi "
        f"FROM VALUES {rows} AS f(k, v, lo, hi)"
    )
    query = f"select {select} from {{t}} where mz_now() >= lo and mz_now() < hi {rest}"
    return Story(table, query, config={"aggregates": "groups"}, kept=[kept], instants=[int(s * 1000) for s in seconds])


BY_K = "group by k"
STORIES = {
    "one_group_over_nothing": story(
        "('a', 3, 0, 10)", "count(*) as n, sum(v) as total, avg(v) as mean, count(v) as c, bool_or(v = 3) as b", "", 10
    ),
    # a group's last row leaves before its next comes: between them there is no group, not one of nothing
    "a_gap_and_a_group_that_comes_back": story(
        "('a', 1, 0, 5), ('a', 2, 7, 9), ('a', 3, 9, 12)", "k, count(*) as n, sum(v) as total", BY_K,
        4.999, 5, 6.999, 7, 8.999, 9, 11.999, 12,
    ),
    "a_sum_that_is_zero_before_its_group_goes": story(
        "('a', 5, 0, 10), ('a', -5, 0, 20), ('z', null, 0, 5)", "k, sum(v) as total, count(v) as c", BY_K, 5, 10, 20
    ),
    "a_having_that_flips": story(
        "('a', 5, 0, 10), ('a', 6, 3, 7), ('b', 1, 0, 10)", "k", "group by k having sum(v) > 5", 2.999, 3, 6.999, 7
    ),
    "a_mean_of_ints_is_a_double": story(
        "('a', 1, 0, 10), ('a', 2, 0, 10), ('a', 2, 0, 5)", "k, avg(v) as mean", BY_K, 5
    ),
    # a sum of BIGINT is Spark's own also where it overflows, and right again when the row that did it has left
    "a_sum_that_overflows": story(
        "('a', 9223372036854775807, 0, 10), ('a', 1, 5, 7)", "k, sum(big) as total, avg(big) as mean", BY_K,
        4.999, 5, 7, 10,
    ),
    # the value counts until the last row that has it leaves
    "two_rows_of_one_value": story(
        "('a', 1, 0, 5), ('a', 1, 0, 10), ('a', 2, 0, 7)", "k, count(distinct v) as n", BY_K, 5, 7, 10,
        kept="groups with the values of count(distinct v) are kept",
    ),
    # a value is there once while any row has it; twice the same instant changes nothing
    "distinct_rows": story(
        "('a', 1, 0, 5), ('a', 1, 0, 10), ('a', 1, 12, 14), (null, null, 0, 3), ('b', null, 3, 8)", "distinct k, v", "",
        3, 8, 10, 12, 14,
        kept="distinct rows are kept",
    ),
}  # fmt: skip
#: 0.0 and -0.0 are one group to Spark, and two values
BY_ROWS = story("('a', 0, 0, 10), ('a', 3, 0, 5)", "k, max(-cast(v as double) * 0) as m, sum(v / 8d) as s", BY_K, 5)


@pytest.mark.landing
def test_stories(project: Project) -> None:
    live_all(project, STORIES | {"values_that_differ": replace(BY_ROWS, kept=None)})
    assert project.state("values_that_differ").cores[0].sums is None
    project.properties({"models": [{"name": name, "data_tests": TESTS} for name in STORIES]})
    passes(project, T0)


@pytest.mark.landing
def test_what_is_kept_is_chosen_by_the_data(project: Project) -> None:
    """Keys that are nearly unique do not shrink anything: rows, one interval each, are less than two updates."""
    fill(project, *(f"('k{i}', 1, 0, {i + 1})" for i in range(8)))
    model(project, "k, count(*) as n", aggregates="auto")
    assert "rows are kept: an estimated 8 groups in 8 rows" in str(project.run(now=T0).of("m").adapter_response)
    fill(project, *(f"('k1', {i}, 0, 9)" for i in range(30)))
    said = project.run(now=T0 + 1).of("m")
    assert "advanced" in said.message and project.state().cores[0].sums is None  # no restart for that
    assert "rows are kept: an estimated 8 groups in 8 rows" in str(said.adapter_response)
    said = project.run("--full-refresh", now=T0 + 2).of("m")
    assert "groups are kept" in str(said.adapter_response) and project.state().cores[0].sums == ()
    model(project, "k, count(*) as n", aggregates="rows")
    said = project.run(now=T0 + 3).of("m")
    assert "restarted" in said.message and "rows are kept: config aggregates: rows" in str(said.adapter_response)
    passes(project, T0 + 3)


@pytest.mark.landing
def test_damage_is_not_shown(project: Project) -> None:
    fill(project, "('a', 1, 0, 5)")
    model(project, "k, count(*) as n")
    project.run(now=T0)
    (chain,) = project.state().chains
    project.sql(f"INSERT INTO {{s}}.{chain.table} (mz_timestamp, mz_diff, k) VALUES ({T0 + 1}L, -3L, 'a')")
    with pytest.raises(Exception, match="retract a row more often than it was added"):
        at(project, 1)
    failed = {r.node.name: r.status for r in project.dbt("test", now=T0, check=False).results}
    assert str(failed["temporal_diffs_consistent_m_"]) == "fail"


@pytest.mark.landing
def test_sums_of_too_many_digits(project: Project) -> None:
    """Where a sum comes near its last digit rows are kept. Groups that were asked for fail, and say what to do."""
    nines = "9" * 38
    project.sql(
        f"CREATE TABLE {{s}}.t AS SELECT k, {nines}BD AS v, timestamp_millis({T0}L) AS lo, "
        f"timestamp_millis({T0}L + 9000) AS hi FROM VALUES ('a'), ('a') AS f(k)"
    )
    model(project, "k, sum(v) as total", aggregates="groups")
    text = project.run(now=T0, check=False).text
    assert "more than 37 digits" in text and "instead: config aggregates: rows" in text
    model(project, "k, sum(v) as total", aggregates="auto")
    wide = "SELECT k, CAST(7 AS DECIMAL(38,2)) AS v, lo, hi FROM {s}.t LATERAL VIEW explode(sequence(1, 4)) AS i"
    project.sql(f"CREATE TABLE {{s}}.few AS {wide}")
    project.model("small", f"select k, sum(v) as total from {project.schema}.few where mz_now() < hi group by k")
    outcome = project.run(now=T0)
    said = str(outcome.of("m").adapter_response)
    assert "rows are kept: a sum of so many digits may outgrow what is kept of a group" in said
    assert "groups are kept" in str(outcome.of("small").adapter_response)  # by its values, not by its type
    assert at(project, 1) == [("a", None)]  # Spark's own answer
    assert project.rows(f"select * from {project.at('small', T0)}") == [("a", Decimal(56))]


def test_the_config_is_checked(project: Project) -> None:
    fill(project, "('a', 1, 0, 5)")
    model(project, "k, count(*) as n", aggregates="both")
    text = project.run(now=T0, check=False).text
    assert "found: aggregates: 'both'" in text and "instead: one of auto, groups, rows" in text


def test_a_read_by_all_keys_aggregates_once(project: Project) -> None:
    """Rows, order and types are those of the query, with NULL as a key, HAVING, a decimal sum and a mean."""
    values = "(1, 'a', 2.50), (2, 'a', 99.99), (3, NULL, 1.00), (4, NULL, NULL), (5, 'b', NULL), (6, 'c', 7.00)"
    project.sql(
        "CREATE TABLE {s}.t AS SELECT k, CAST(x AS DECIMAL(10, 2)) AS x, "
        f"timestamp_millis({T0}L + id * 1000) AS hi FROM VALUES {values} AS v(id, k, x)"
    )
    sql = (
        "select k, count(*) as n, sum(x) as total, avg(x) as mean, rank() over (order by sum(x)) as place "
        f"from {project.schema}.t where mz_now() < hi group by k having count(*) > 0 and coalesce(sum(x), 0) < 100"
    )
    project.model("m", sql, aggregates="groups")
    project.run(now=T0)
    instants = (T0, T0 + 999, T0 + 1000, T0 + 2000, T0 + 3000, T0 + 4000, T0 + 6000)
    for t, read in project.at_each("m", instants).items():
        oracle = sql.replace("mz_now()", f"timestamp_millis({t}L)")
        assert read.count("GROUP BY") == 1
        assert sorted(project.rows(f"SELECT * FROM {read}"), key=str) == sorted(project.rows(oracle), key=str), t
        kinds = [project.spark.sql(query).dtypes for query in (f"SELECT * FROM {read}", oracle)]
        assert kinds[0] == kinds[1]
