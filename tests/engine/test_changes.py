"""The changes of a model between two instants, by a key too; a model at many instants; what comes next; refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.over_time import changes, feed, forecast, temporal_at
from dbt.adapters.sparktemporal.over_time.changes import Request
from support.instants import DAY, HOUR, T0
from support.project import Project


def told(project: Project, model: str = "m", **asked: Any) -> list[tuple]:
    """Timestamp less T0, diff, definite, and the columns; in order."""
    sql = changes.changes(Warehouse(project.rows), project.target(model), Request(**asked))
    return sorted((t - T0, *rest) for t, *rest in project.rows(f"SELECT * FROM {sql}"))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Project]:
    """Three rows that enter and leave: 1 from T0 to T0 + 10, 2 from T0 + 5 to T0 + 20, 3 from T0 + 5 for good."""
    project = Project(tmp_path_factory.mktemp("windows") / "project", spark)
    rows = f"(1, 'a', {T0}L, {T0 + 10}L), (2, 'a', {T0 + 5}L, {T0 + 20}L), (3, 'b', {T0 + 5}L, CAST(NULL AS BIGINT))"
    for table in "tu":
        project.sql(f"CREATE TABLE {{s}}.{table} AS SELECT * FROM VALUES {rows} AS v(id, k, lo, hi)")
    live = "from {s}.{t} where mz_now() >= lo and (hi is null or mz_now() < hi)".format(s=project.schema, t="t")
    project.model("m", f"select id, k {live}", expiration="60 seconds")
    project.model("grouped", f"select k, count(*) as n, sum(id) as total {live} group by k", aggregates="groups")
    project.model("total", f"select count(*) as n, sum(id) as ids {live}", aggregates="groups")
    project.model("least", f"with live as (select * {live}) select k, min(id) as id from live group by k")
    project.model("filtered", f"with live as (select id, k {live}) select id from live where id = 2")
    project.model("corrected", f"select id, k {live.replace('.t ', '.u ')}")
    project.run(now=T0)
    project.sql("INSERT OVERWRITE {s}.u SELECT id, k, lo, hi FROM {s}.t WHERE id <> 1")
    project.run("-s", "corrected", now=T0 + 7)
    yield project
    project.drop()


def test_the_listings_of_a_window(project: Project) -> None:
    """An event of thirty days, ticket sales that are there and to come, a constant collection."""
    project.sql(f"CREATE TABLE {{s}}.events AS SELECT 'hello' AS content, timestamp_millis({T0}L) AS event_ts")
    project.model("last_30_days", f"select event_ts, content from {project.schema}.events "
                  "where mz_now() <= event_ts + interval 30 days")  # fmt: skip
    sales = f"('hello', {T0 - HOUR}L), ('future', {T0 + 20 * DAY}L)"
    project.sql(f"CREATE TABLE {{s}}.sales AS SELECT * FROM VALUES {sales} AS v(content, sale_ts)")
    day = "mz_now() >= sale_ts and mz_now() < sale_ts + 86400000"
    project.model("ticket_sales", f"select content, sale_ts from {project.schema}.sales where {day}")
    project.model("constant", f"select * from (values {sales}) as ticket_sales(content, sale_ts) where {day}")
    project.run(now=T0)
    hello = [(0, 1, True, "hello"), (30 * DAY + 1, -1, False, "hello")]
    assert [(t, n, d, row[1]) for t, n, d, *row in told(project, "last_30_days", up_to="expiration")] == hello
    four = [
        (0, 1, True, "hello", T0 - HOUR),
        (23 * HOUR, -1, False, "hello", T0 - HOUR),
        (20 * DAY, 1, False, "future", T0 + 20 * DAY),
        (21 * DAY, -1, False, "future", T0 + 20 * DAY),
    ]
    assert told(project, "ticket_sales", up_to="expiration") == four
    assert told(project, "constant", up_to="expiration") == four
    assert told(project, "ticket_sales") == four[:1]


def test_three_rows_leave_one_by_one(project: Project) -> None:
    """Entered three milliseconds apart, for five, ten and fifteen seconds; looked at from 1.7 seconds later on."""
    first = 1627380752528
    rows = f"('hello', {first}L, 5000L), ('welcome', {first + 2}L, 10000L), ('goodbye', {first + 5}L, 15000L)"
    project.sql(f"CREATE TABLE {{s}}.events AS SELECT content, at AS insert_ts, at + lasts AS delete_ts "
                f"FROM VALUES {rows} AS v(content, at, lasts)")  # fmt: skip
    project.model("valid", f"select content, insert_ts, delete_ts from {project.schema}.events "
                  "where mz_now() >= insert_ts and mz_now() < delete_ts")  # fmt: skip
    looked_at = 1627380754223
    project.run(now=looked_at)
    assert [(t + T0, n, row[0]) for t, n, _, *row in told(project, "valid", up_to="expiration")] == [
        (looked_at, 1, "goodbye"), (looked_at, 1, "hello"), (looked_at, 1, "welcome"),
        (1627380757528, -1, "hello"), (1627380762530, -1, "welcome"), (1627380767533, -1, "goodbye"),
    ]  # fmt: skip
    sql = project.render(
        "select changes_at, rows_out from {{ temporal_calendar(ref('valid'), 3) }}", temporal_now=looked_at
    )
    assert [n for _, n in project.rows(sql)] == [1, 1, 1]


def test_changes(windows: Project) -> None:
    project = windows
    later = [(5, 1, False, 2, "a"), (5, 1, False, 3, "b"), (10, -1, False, 1, "a"), (20, -1, False, 2, "a")]
    assert told(project, up_to="expiration") == [(0, 1, True, 1, "a"), *later]
    assert told(project, as_of=T0 + 5, up_to=T0 + 20, snapshot=False) == later[2:3]
    assert told(project, as_of=T0 + 5, up_to=T0 + 5) == []
    assert told(project, "grouped", up_to="expiration") == [
        (0, 1, True, "a", 1, 1), (5, -1, False, "a", 1, 1), (5, 1, False, "a", 2, 3), (5, 1, False, "b", 1, 3),
        (10, -1, False, "a", 2, 3), (10, 1, False, "a", 1, 2), (20, -1, False, "a", 1, 2),
    ]  # fmt: skip
    assert told(project, "total", as_of=T0 + 6, up_to="expiration") == [
        (6, 1, False, 3, 6), (10, -1, False, 3, 6), (10, 1, False, 2, 5), (20, -1, False, 2, 5), (20, 1, False, 1, 3)
    ]  # fmt: skip
    assert told(project, "least", up_to="expiration") == [
        (0, 1, True, "a", 1), (5, 1, False, "b", 3), (10, -1, False, "a", 1), (10, 1, False, "a", 2),
        (20, -1, False, "a", 2),
    ]  # fmt: skip


def test_what_was_shown_stays(windows: Project) -> None:
    """A row is deleted in its window: what was shown before the run stays."""
    assert told(windows, "corrected", as_of=T0 + 5) == [
        (5, 1, True, 1, "a"), (5, 1, True, 2, "a"), (5, 1, True, 3, "b"), (7, -1, True, 1, "a")
    ]  # fmt: skip


def test_by_a_key(windows: Project) -> None:
    project = windows
    keyed = {"as_of": T0 + 4, "up_to": "expiration", "unique_key": "K"}
    assert told(project, "grouped", envelope="upsert", **keyed) == [
        (4, "upsert", False, "a", 1, 1), (5, "upsert", False, "a", 2, 3), (5, "upsert", False, "b", 1, 3),
        (10, "upsert", False, "a", 1, 2), (20, "delete", False, "a", None, None),
    ]  # fmt: skip
    assert told(project, "grouped", envelope="debezium", snapshot=False, **keyed) == [
        (5, "insert", False, "b", None, None, None, "b", 1, 3), (5, "upsert", False, "a", "a", 1, 1, "a", 2, 3),
        (10, "upsert", False, "a", "a", 2, 3, "a", 1, 2), (20, "delete", False, "a", "a", 1, 2, None, None, None),
    ]  # fmt: skip
    several = "unique_key of m has several rows at one instant: k: a at"
    with pytest.raises(PySparkException, match=several):
        told(project, envelope="upsert", **keyed)
    # also where the instant is before the updates that are asked for, and where no column is
    later = Request(as_of=T0 + 6, up_to=T0 + 15, snapshot=False, envelope="debezium", unique_key=["k", "K"])
    sql = changes.changes(Warehouse(project.rows), project.target(), later)
    for items in ("*", "count(*)"):
        with pytest.raises(PySparkException, match=several):
            project.rows(f"SELECT {items} FROM {sql}")


def test_any_instant(windows: Project) -> None:
    project = windows
    project.sql(f"CREATE TABLE {{s}}.hours AS SELECT explode(array({T0}L, {T0 + 5}L, {T0 + 30}L, NULL, {T0}L)) AS at")
    warehouse = Warehouse(project.rows)

    def at(model: str, column: str = "at") -> list[tuple]:
        sql = temporal_at.at(warehouse, project.target(model), f"{project.schema}.hours", column)
        return sorted(project.rows(f"SELECT * FROM {sql}"))

    assert at("m") == [(T0, 1, "a"), (T0 + 5, 1, "a"), (T0 + 5, 2, "a"), (T0 + 5, 3, "b"), (T0 + 30, 3, "b")]
    assert at("total", "AT") == [(T0, 1, 1), (T0 + 5, 3, 6), (T0 + 30, 1, 3)]
    with pytest.raises(TemporalError, match="has no such column\ninstead: one of: at"):
        at("m", "hour")
    project.sql("CREATE TABLE {s}.seq AS SELECT 1L AS mz_seq_t, CAST(1 AS DECIMAL(20, 1)) AS d, 'x' AS s")
    for column, why in (("mz_seq_t", "keeps its own column"), ("s", "it is no instant")):
        with pytest.raises(TemporalError, match=why):
            temporal_at.at(warehouse, project.target("m"), f"{project.schema}.seq", column)
    with pytest.raises(TemporalError, match="has two columns of that name"):
        temporal_at.at(warehouse, project.target("m"), f"(SELECT {T0}L AS at, {T0}L AS At)", "at")
    decimal = temporal_at.at(warehouse, project.target("m"), f"(SELECT {T0}.5BD AS at)", "at")
    assert [row[1:] for row in project.rows(f"SELECT * FROM {decimal}")] == [(1, "a")]
    with pytest.raises(TemporalError, match="why: the model can be read from 2024-03-01 12:00:00.000 UTC"):
        temporal_at.at(warehouse, project.target("m"), f"(SELECT {T0 - 1}L AS at)", "at")


@pytest.mark.landing
def test_aggregates_at_any_instant(windows: Project) -> None:
    """Without keys each instant has a row, also one at which the model has none."""
    project = windows
    warehouse, hours = Warehouse(project.rows), f"(SELECT explode(array({T0}L, {T0 + 5}L, {T0 + 30}L, NULL)) AS at)"

    def at(model: str, instants: str, aggregates: Any, group_by: Any = None) -> list[tuple]:
        sql = temporal_at.at(warehouse, project.target(model), instants, "at", aggregates, group_by)
        return sorted(tuple(row) for row in project.rows(f"SELECT * FROM {sql}"))

    both = {"n": "count(*)", "ids": "sum(id)"}
    assert at("m", hours, both) == [(T0, 1, 1), (T0 + 5, 3, 6), (T0 + 30, 1, 3)]
    assert at("m", hours, {"n": "count(*)"}, "K") == [
        (T0, "a", 1), (T0 + 5, "a", 2), (T0 + 5, "b", 1), (T0 + 30, "b", 1)
    ]  # fmt: skip
    # what follows from no sums, and a query above the rows that is not read row by row
    assert at("m", hours, {"ids": "array_sort(collect_list(id))"}) == [(T0, [1]), (T0 + 5, [1, 2, 3]), (T0 + 30, [3])]
    assert at("least", hours, {"n": "count(*)", "ids": "sum(id)"}) == [(T0, 1, 1), (T0 + 5, 2, 4), (T0 + 30, 1, 3)]
    assert at("filtered", hours, both) == [(T0, 0, None), (T0 + 5, 1, 2), (T0 + 30, 0, None)]
    assert at("filtered", hours, {"ids": "collect_list(id)"}) == [(T0, []), (T0 + 5, [2]), (T0 + 30, [])]
    of_values = {"least": "min(id)", "ks": "count(distinct k)", "n": "count(*)"}
    assert at("filtered", hours, {"m": "max(id)"}) == [(T0, None), (T0 + 5, 2), (T0 + 30, None)]
    assert at("m", hours, of_values) == [(T0, 1, 1, 1), (T0 + 5, 1, 2, 3), (T0 + 30, 3, 1, 1)]
    different = {"d": "count(distinct id)", "n": "count(*)"}
    assert at("filtered", hours, different) == [(T0, 0, 0), (T0 + 5, 1, 1), (T0 + 30, 0, 0)]
    # sums of more digits than are kept are Spark's, and the instants may have the name of a column of the model
    assert at("m", hours, {"x": "sum(CAST(id AS DECIMAL(38, 0)))"}) == [(T0, 1), (T0 + 5, 6), (T0 + 30, 3)]
    for aggregate in ("sum(id)", "array_sort(collect_list(id))"):
        sql = temporal_at.at(warehouse, project.target("m"), f"(SELECT {T0 + 30}L AS id)", "id", {"x": aggregate})
        assert project.rows(f"SELECT id, array(x)[0] FROM {sql}")[0][0] == T0 + 30
    assert at("m", "(SELECT 1L AS at WHERE false)", both, ["k"]) == []
    told = temporal_at.at(warehouse, project.target("m"), "(SELECT 1L AS at WHERE false)", "at", both, ["k"])
    assert [row[0] for row in project.rows(f"DESCRIBE QUERY SELECT * FROM {told}")] == ["at", "k", "n", "ids"]
    for aggregates, group_by, words in (
        (None, ["k"], "it lists the columns beside aggregates\ninstead: a list of names"),
        ({}, None, r"it names the aggregates over the columns of the model\ninstead: aggregates={'n': 'count\(\*\)'"),
        ({"n": "count(*)"}, ["k", "z"], "the model has no column z\ninstead: one of: id, k"),
        ({"n": "count(*)"}, 1, "it lists the columns beside aggregates"),
        ({"k": "count(*)"}, ["k"], "found: temporal_at of m with a column k\nwhy: the answer has one of that name"),
        ({"AT": "count(*)"}, None, "with a column AT"),
        ({"n": "count(*)"}, ["k", "K"], "it names a column twice\ninstead: each column once"),
        ({"n": "sum(rand())"}, None, "it has another value at each read, or reads the clock"),
        ({"n": "count_if(mz_now() > id)"}, None, "it has another value at each read, or reads the clock"),
        ({"n": "count_if(k = 'a)"}, None, "it is not one aggregate over the columns of the model"),
        ({"n": "count_if(k = 'it''s')"}, None, "Spark 4 reads a quote that stands twice as one quote"),
        ({"n": "id + 1"}, None, "it is not one aggregate over the columns of the model"),
        ({"n": "count(*), 1"}, None, "it is not one aggregate over the columns of the model"),
    ):
        with pytest.raises(TemporalError, match=words):
            at("m", hours, aggregates, group_by)


@pytest.mark.landing
def test_what_comes_next(windows: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project = windows
    warehouse = Warehouse(project.rows)

    def calendar(model: str, count: int, clock: int = T0, most: int = 1000) -> list[tuple]:
        sql = forecast.calendar(warehouse, project.target(model), count, most, clock)
        return [(t - T0, *rest) for t, _, *rest in project.rows(f"SELECT * FROM {sql}")]

    assert calendar("m", 2) == [(5, 2, 0), (10, 0, 1)]
    assert calendar("m", 5, T0 + 10) == [(20, 0, 1)]
    monkeypatch.setattr(forecast, "_NEAR", 1)
    assert calendar("m", 1, T0 + 5, most=1) == [(10, 0, 1)]
    assert calendar("filtered", 1, T0 + 5, most=1) == [(20, 0, 1)]  # the nearest instant changes nothing of it
    monkeypatch.undo()
    assert calendar("least", 5) == [(5, 1, 0), (10, 1, 1), (20, 0, 1)]
    assert calendar("least", 2, most=2) == [(5, 1, 0), (10, 1, 1)]
    with pytest.raises(
        PySparkException,
        match="fewer than 3 changes up to .*\n.*evaluated at 2 instants, and more.*\n.*a larger max_changes",
    ):
        calendar("least", 3, most=2)
    with pytest.raises(TemporalError, match="n=1000000000\nwhy: it is a number from 1 to 10,000"):
        calendar("m", 10**9)

    def values(model: str, aggregate: str, clock: int = T0) -> list[tuple]:
        target = project.target(model)
        sql = forecast.forecast(warehouse, target, "5 milliseconds", T0 + 20, aggregate, clock)
        return sorted((t - T0, value) for t, _, value in project.rows(f"SELECT * FROM {sql}"))

    assert values("m", "count(*)") == [(0, 1), (5, 3), (10, 2), (15, 2), (20, 1)]
    assert values("m", "count(*)", T0 + 12) == [(12, 2), (17, 2)]
    for wrong in ("", "id", "1", "sum(id) over ()", "count(*), 1", "(select 1)", "sum(id) + k", "count(*) as n", None):
        with pytest.raises(TemporalError, match="it is not one aggregate over the columns of the model"):
            values("m", wrong)
    assert values("m", "max(id) - min(id) + 1", T0 + 5) == [(5, 3), (10, 2), (15, 2), (20, 1)]
    assert values("least", "sum(id)") == [(0, 1), (5, 4), (10, 5), (15, 5), (20, 3)]


REFUSED = {
    "backwards": ({"as_of": T0 + 9, "up_to": T0 + 8}, "up_to is before as_of"),
    "early": ({"as_of": T0 - 1}, "can be read from 2024-03-01 12:00:00.000 UTC .since."),
    "late": ({"up_to": T0 + 60_002}, "updates after 2024-03-01 12:01:00.000 UTC .expiration. are not stored"),
    "no instant": ({"as_of": "soon"}, "it is not an instant"),
    "envelope": ({"envelope": "avro"}, "one of 'diffs', 'upsert', 'debezium'"),
    "no key": ({"envelope": "upsert"}, "one row for each key and instant"),
    "other key": ({"envelope": "upsert", "unique_key": ["nope"]}, "m has no such column"),
    "without up_to": (
        {"as_of": T0 + 9},
        "after the last change captured, .*, up to which there are changes",
    ),
    "other key's type": ({"envelope": "upsert", "unique_key": 5}, "unique_key 5\nwhy: m has no such column"),
    "most": ({"max_changes": 0}, "it is a number of instants"),
    "snapshot": ({"snapshot": "no"}, "this is neither true nor false"),
}


@pytest.mark.landing
def test_a_key_named_like_a_side_of_debezium(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT 1 AS id, 2 AS after_id, {T0 + 5}L AS hi")
    project.model("m", f"select id, after_id from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    with pytest.raises(TemporalError, match="unique_key after_id\n(.|\n)*instead: an alias for after_id in m"):
        told(project, envelope="debezium", unique_key="after_id")


def test_refusals(windows: Project) -> None:
    project = windows
    for name, (asked, why) in REFUSED.items():
        with pytest.raises(TemporalError, match=why):
            told(project, **asked)
            pytest.fail(name)
    with pytest.raises(
        TemporalError, match="may change at more than 2 instants\n(.|\n)*max_changes is 2\ninstead: up_to='2024"
    ):
        told(project, "least", up_to="expiration", max_changes=2)


CLOCK = "select id, mz_now() < {due} as open from {s}.t where mz_now() >= lo"


@pytest.mark.landing
def test_a_query_that_reads_the_clock(project: Project) -> None:
    """Any millisecond may change it: a calendar says where it stopped looking, never that nothing is to come."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT 1 AS id, {T0}L AS lo")
    project.model("m", CLOCK.format(due=T0 + 5_000, s=project.schema))
    project.run(now=T0)
    next_change = "select mz_timestamp from {{{{ temporal_next_change(ref('m'){}) }}}}"
    found = project.rows(project.render(next_change.format(", max_changes=9000"), temporal_now=T0 + 1))
    assert found == [(T0 + 5_000,)]
    with pytest.raises(PySparkException, match="fewer than 1 change up to"):
        project.rows(project.render(next_change.format(""), temporal_now=T0 + 1))
    with pytest.raises(TemporalError, match="which may change at any millisecond"):
        told(project, up_to="expiration")
    # a feed that begins a day later: of an upsert the last state alone counts
    project.sql(f"INSERT INTO {{s}}.t SELECT 2 AS id, {T0 + 7_000}L AS lo")
    project.run(now=T0 + DAY)

    def begun(**asked: Any) -> list[tuple]:
        more = {"each_change": asked.pop("each_change", True), "verify": None}
        sql = feed.feed(Warehouse(project.rows), project.target(), None, Request(**asked), **more)
        return sorted((row[0] - T0, row[1], *row[3:]) for row in project.rows(f"SELECT * FROM {sql}"))

    assert begun(envelope="upsert", unique_key="id") == [(DAY, "upsert", 1, False), (DAY, "upsert", 2, False)]
    with pytest.raises(TemporalError, match="any millisecond\n.*\ninstead: each_change=false, or a larger max_changes"):
        begun()
    assert begun(each_change=False) == [(DAY, 1, 1, False), (DAY, 1, 2, False)]


@pytest.mark.parametrize("materialized", ["view", "temporal_view"])
def test_a_view_would_keep_the_rows_of_now(windows: Project, materialized: str) -> None:
    calls = {
        "temporal_changes": "ref('m')", "temporal_at": "ref('m'), '(select 1 as at)', 'at'",
        "temporal_calendar": "ref('m')", "temporal_next_change": "ref('m')",
        "temporal_forecast": "ref('m'), every='1 hour'",
    }  # fmt: skip
    for macro, arguments in calls.items():
        windows.model("kept", f"select * from {{{{ {macro}({arguments}) }}}}", materialized=materialized)
        text = windows.run("-s", "kept", now=T0 + 7, check=False).text
        assert f"found: {macro} of m in kept, a {materialized}" in text and "instead: materialized='table'" in text
    (windows.path / "models" / "kept.sql").unlink()


@pytest.mark.landing
def test_instants_from_a_temporal_view(windows: Project) -> None:
    """Under a pinned clock a relation of instants is read as at that clock, like everything else."""
    text = f"select id, count(*) from {{{{ temporal_at(ref('corrected'), \"(select {T0}L + 5 * id as at from \" ~ "
    text += "ref('m') ~ \")\", 'at') }} group by id"
    rows = windows.rows(windows.render(text, temporal_now=T0 + 7))
    assert sorted(rows) == [(1, 1), (2, 3), (3, 3)]
