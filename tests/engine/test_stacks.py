"""Temporal views over temporal views: what is read of the inner one, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, groups_sql
from support.instants import T0
from support.project import Project, inputs_of

INNER = "select id, ts, hi from {s}.t where mz_now() >= ts and mz_now() < hi"
OUTER = "select id, hi from {{ ref('inside') }} where mz_now() >= hi - interval 10 seconds"


def rows_of(first: int, last: int) -> str:
    """Row n comes at n seconds and goes 30 seconds later."""
    at = f"timestamp_millis({T0}L + id * 1000)"
    return f"SELECT id, {at} AS ts, {at} + interval 30 seconds AS hi FROM range({first}, {last})"


@pytest.fixture
def stack(project: Project) -> Project:
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 20)}")
    project.model("inside", INNER.replace("{s}", project.schema))
    project.model("outside", OUTER)
    return project


def ids(project: Project, t: int, model: str = "outside") -> list[int]:
    read = f"select id from {project.at(model, t)}"
    return sorted(row[0] for row in project.rows(read))


def right(project: Project, t: int) -> None:
    """The outer view is what the two predicates say of the rows of now."""
    now = f"timestamp_millis({t}L)"
    inner = f"ts <= {now} AND hi > {now}"
    oracle = project.rows(f"SELECT id FROM {{s}}.t WHERE {inner} AND {now} >= hi - interval 10 seconds")
    assert ids(project, t) == sorted(row[0] for row in oracle)


@pytest.mark.landing
def test_the_future_of_the_inner_one_is_known(stack: Project) -> None:
    ran = stack.run(now=T0)
    assert "20 rows" in ran.of("outside").message
    for after in (0, 19_999, 20_000, 29_999, 30_000, 30_001, 49_000):  # the run is at T0, the reads are not
        right(stack, T0 + after)
    assert stack.rows("SELECT count(*) FROM {s}.outside") == [(0,)]


@pytest.mark.usefixtures("chains_apart")
def test_new_chains_alone(stack: Project) -> None:
    stack.run(now=T0)
    stack.sql(f"INSERT INTO {{s}}.t {rows_of(20, 22)}")
    ran = stack.run(now=T0 + 1000).of("outside")
    assert "advanced, 2 rows" in ran.message
    assert f"{stack.schema}.inside: new chains (1 new chain of 2), 2 rows read" in inputs_of(ran)
    assert "unchanged" in stack.run(now=T0 + 2000).of("outside").message
    right(stack, T0 + 41_000)


@pytest.mark.deep
def test_rows_that_leave_the_inner_one(stack: Project) -> None:
    stack.run(now=T0)
    stack.sql(f"INSERT OVERWRITE {{s}}.t {rows_of(5, 25)}")
    ran = stack.run(now=T0 + 1000).of("outside")
    assert "advanced, 10 rows" in ran.message and "new chains" in inputs_of(ran)
    for after in (1000, 25_000, 31_000, 54_000):
        right(stack, T0 + after)


@pytest.mark.deep
def test_chains_that_were_merged(stack: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What became of them is the difference of both, as long as the old ones are there; they are kept for that."""
    monkeypatch.setattr(chains, "RATIO", 10**9)
    stack.model("inside", INNER.replace("{s}", stack.schema), diffs_retention="0")
    stack.run(now=T0)
    for after in (1000, 2000, 3000):
        new = 20 + after // 1000
        stack.sql(f"INSERT INTO {{s}}.t {rows_of(new, new + 1)}")
        stack.run("-s", "inside", now=T0 + after)
    before = {row[1] for row in stack.rows("SHOW TABLES IN {s} LIKE 'inside__diffs_*'")}
    ran = stack.run(now=T0 + 4000).of("outside")
    assert "advanced, 3 rows" in ran.message and "new chains (1 new chain of 1" in inputs_of(ran)
    right(stack, T0 + 41_000)
    stack.sql(f"INSERT INTO {{s}}.t {rows_of(30, 31)}")
    stack.run(now=T0 + 5000)
    stack.sql(f"INSERT INTO {{s}}.t {rows_of(31, 32)}")
    stack.run(now=T0 + 6000)
    after = {row[1] for row in stack.rows("SHOW TABLES IN {s} LIKE 'inside__diffs_*'")}
    assert not before & after  # nobody needs them any more


@pytest.mark.deep
def test_chains_that_are_gone(stack: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "RATIO", 10**9)
    stack.run(now=T0)
    first = stack.state("inside").chains[0].table
    stack.sql(f"INSERT INTO {{s}}.t {rows_of(20, 21)}")
    stack.run("-s", "inside", now=T0 + 1000)
    stack.sql(f"DROP TABLE {{s}}.{first}")
    ran = stack.run("-s", "outside", now=T0 + 2000).of("outside")
    assert "advanced, 1 row" in ran.message
    assert "full (1 chain of the last run merged and dropped since), 21 rows read" in inputs_of(ran)
    right(stack, T0 + 45_000)


@pytest.mark.deep
def test_a_restarted_input(stack: Project) -> None:
    stack.run(now=T0)
    stack.run("--full-refresh", "-s", "inside", now=T0 + 1000)
    ran = stack.run(now=T0 + 2000).of("outside")
    assert "OK unchanged" in ran.message and "full (the input was rebuilt), 20 rows read" in inputs_of(ran)


@pytest.mark.landing
def test_the_earliest_expiration_is_everybodys(stack: Project) -> None:
    stack.model("inside", INNER.replace("{s}", stack.schema), expiration="40 seconds")
    stack.model("over", "select id from {{ ref('outside') }}", expiration="1 day")
    stack.run(now=T0)
    for name in ("outside", "over"):
        state = stack.state(name)
        assert state.expiration == T0 + 40_000
        error = stack.dbt("show", "--inline", f"select * from {{{{ ref('{name}') }}}}", check=False).text
        assert f"temporal_view {name} expired at 2024-03-01 12:00:40" in error
        assert f"To answer again: dbt run -s +{name}" in error  # the input has to run first
    right(stack, T0 + 40_000)
    late = stack.run("-s", "outside", now=T0 + 40_001, check=False).text
    assert (
        "found: inside, which expired at 2024-03-01 12:00:40" in late
        and "dbt run -s +outside, which runs inside first" in late
    )
    ran = stack.run(now=T0 + 41_000)  # all of them: the inner one restarts, and those above it
    assert "restarted" in ran.of("inside").message and "restarted" in ran.of("over").message
    right(stack, T0 + 45_000)


@pytest.mark.deep
def test_an_input_that_answers_for_longer(stack: Project) -> None:
    stack.model("inside", INNER.replace("{s}", stack.schema), expiration="25 seconds")
    stack.run(now=T0)
    stack.run("--full-refresh", "-s", "inside", now=T0 + 5000)
    ran = stack.run("-s", "outside", now=T0 + 6000).of("outside")
    assert ran.adapter_response["reason"] == "what it reads expires later than before"
    for after in (6000, 25_001, 30_000):
        right(stack, T0 + after)


@pytest.mark.landing
@pytest.mark.parametrize("aggregates", ["auto", "rows"])
def test_groups_below_that_are_small(project: Project, aggregates: str) -> None:
    """The updates of kept groups are no rows, so the model above keeps groups too, however few updates each has."""
    at = f"timestamp_millis({T0}L + id * 1000)"
    project.sql(f"CREATE TABLE {{s}}.e USING parquet AS SELECT id, id % 5 AS k, {at} AS hi FROM range(1, 60)")
    counted = f"select k, count(*) as n, min(id) as first from {project.schema}.e where mz_now() < hi group by k"
    project.model("counted", counted, aggregates="groups")
    project.model("many", "select k, n from {{ ref('counted') }} where n > 1", aggregates=aggregates)
    for now in (T0, T0 + 1500):
        project.run(now=now)
        for t in (now, T0 + 2000, T0 + 6999, T0 + 7000, T0 + 47_999, T0 + 48_000):
            oracle = f"SELECT k, count(*) FROM {{s}}.e WHERE hi > timestamp_millis({t}L) GROUP BY k HAVING count(*) > 1"
            assert sorted(project.rows(f"SELECT k, n FROM {project.at('many', t)}")) == sorted(project.rows(oracle))
        project.sql(f"INSERT INTO {{s}}.e SELECT id, 9L, {at} FROM range(20, 23)")


@pytest.mark.landing
def test_an_input_that_has_not_run(stack: Project) -> None:
    text = stack.run("-s", "outside", now=T0, check=False).text
    assert f"found: {stack.schema}.inside, a temporal_view that has not run, as an input of outside" in text
    assert "dbt run -s inside outside" in text


@pytest.mark.landing
def test_a_clock_before_the_input(stack: Project) -> None:
    stack.run(now=T0)
    text = stack.run("-s", "outside", "--full-refresh", now=T0 - 60_000, check=False).text
    assert "before the last change captured by its input inside, 2024-03-01 12:00:00" in text
    stack.run("-s", "outside", "--full-refresh", now=T0 - 59_999)  # a clock that lags a little: the input's
    assert stack.state("outside").frontier == T0


@pytest.mark.deep
def test_the_oracle_of_a_stack(stack: Project) -> None:
    stack.write(
        "models/schema.yml",
        """
        models:
          - name: outside
            data_tests: [temporal_matches_source, temporal_diffs_consistent]
        """,
    )
    stack.run(now=T0)
    stack.dbt("test", now=T0 + 20_000)
    stack.sql(f"INSERT INTO {{s}}.t {rows_of(0, 5)}")
    stack.run("-s", "inside", now=T0 + 20_001)
    ran = stack.dbt("test", now=T0 + 20_001, check=False)
    oracle = next(r for r in ran.results if "matches_source" in r.node.name)
    told = f"input changed since the last run, nothing is proved: {stack.schema}.inside; run the model first"
    assert oracle.status == "fail" and told in oracle.node.compiled_code
    stack.run("-s", "outside", now=T0 + 20_001)
    stack.dbt("test", now=T0 + 20_001)


@pytest.mark.landing
def test_through_what_the_inner_model_reads(stack: Project) -> None:
    """Ephemeral models, CTEs of one name on both sides, a model without a clock of its own."""
    inner = INNER.replace("{s}", stack.schema)
    stack.model("grouped", f"with live as ({inner}) select id % 2 as k, count(*) as n from live group by 1")
    stack.model("between", "select k, n from {{ ref('grouped') }} where n > 1", materialized="ephemeral")
    stack.model("top", "with live as (select * from {{ ref('between') }}) select k, n from live order by k limit 1")
    stack.run(now=T0)
    for after, expected in ((0, []), (2000, [(0, 2)]), (25_000, [(0, 10)]), (46_500, [(1, 2)]), (47_500, [])):
        read = f"select k, n from {stack.at('top', T0 + after)}"
        assert stack.rows(read) == expected, after


@pytest.mark.deep
def test_over_groups_that_are_split(stack: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner chain stays, less what was due of it: only that and the new base are read."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 1)
    monkeypatch.setattr(groups_sql, "FEW_UPDATES", 10)
    monkeypatch.setattr(buckets, "GRANULARITY", 1 << 10)
    sql = f"select id % 2 as k, count(*) as n from {stack.schema}.t where {{now}} >= ts and {{now}} < hi group by 1"
    stack.model("grouped", sql.format(now="mz_now()"), aggregates="groups")
    stack.model("many", "select k, n from {{ ref('grouped') }} where n > 1")
    stack.run("-s", "grouped", "many", now=T0)
    ran = stack.run("-s", "grouped", "many", now=T0 + 35_000)
    inner = stack.state("grouped")
    assert {c.after for c in inner.chains} == {None, T0 + 35_000}
    told = inputs_of(ran.of("many"))
    assert "grouped: new chains (2 new chains of 2" in told
    ran = stack.run("-s", "grouped", "many", now=T0 + 36_000)
    assert "unchanged" in ran.of("many").message
    for after in (36_000, 40_000, 46_999, 47_000, 48_000, 50_000):
        read = f"select * from {stack.at('many', T0 + after)}"
        oracle = f"SELECT * FROM ({sql.format(now=f'timestamp_millis({T0 + after}L)')}) WHERE n > 1"
        assert sorted(stack.rows(read)) == sorted(stack.rows(oracle)), after
