"""The SQL table function `<model>__at(instant)`: made, replaced, refused and dropped with its model."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run import at_function
from support.instants import T0
from support.project import Project
from support.sampled import each


@pytest.fixture
def events(project: Project) -> Iterator[Project]:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, id % 2 AS instant, timestamp_millis({T0}L + id * 1000) AS hi "
                "FROM range(1, 9)")  # fmt: skip
    with project.inside():  # Spark takes no schema before a table function
        yield project


def model(project: Project, sql: str = "select id, instant from {s}.t where mz_now() < hi", **config: Any) -> None:
    project.model("m", sql.format(s=project.schema), **{"at_function": True, **config})


def told(project: Project, after: int, columns: str = "id") -> list[Any]:
    rows = project.rows(f"SELECT {columns} FROM m__at(timestamp_millis({T0 + after}L))")
    return sorted(row[0] if len(row) == 1 else tuple(row) for row in rows)


def functions(project: Project) -> list[str]:
    return [str(row[0]).rpartition(".")[2] for row in project.rows("SHOW USER FUNCTIONS IN {s}")]


def test_reads(events: Project) -> None:
    """At any instant, with a column of the parameter's name; also once for each row of a relation."""
    model(events, expiration="6 seconds")
    events.run(now=T0)
    assert told(events, 4999, "id, instant") == [(5, 1), (6, 0), (7, 1), (8, 0)]
    assert told(events, 5000) == [6, 7, 8]
    each = "(VALUES (1000L), (6000L)) AS i(t), LATERAL m__at(timestamp_millis(1709294400000L + t)) AS f"
    assert sorted(events.rows(f"SELECT t, count(*) FROM {each} GROUP BY t")) == [(1000, 7), (6000, 2)]
    text = events.rows("EXPLAIN SELECT * FROM m__at(timestamp '2024-03-01 12:00:03')")[0][0]
    assert "GreaterThan(mz_until," in text and "Join" not in text


def test_settings_of_the_run(events: Project) -> None:
    """A reader in another zone gets what the view shows."""
    model(events, "select id, hour(hi) as h, cast(hi as string) as s from {s}.t where mz_now() < hi")
    events.run(now=T0)
    before = told(events, 0, "id, h, s")
    assert before[0] == (1, 12, "2024-03-01 12:00:01")
    zone = events.spark.conf.get("spark.sql.session.timeZone")
    events.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert told(events, 0, "id, h, s") == before
    finally:
        events.spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("instant", each(3, ["timestamp_millis({t}L - 1)", "timestamp_millis({t}L + 6001)", "NULL"]))
def test_instants_that_are_not_known(events: Project, instant: str) -> None:
    """Also of a model without rows."""
    for sql in ("select id from {s}.t where mz_now() < hi", "select id from {s}.t where mz_now() < hi and id > 99"):
        model(events, sql, expiration="6 seconds")
        events.run(now=T0)
        with pytest.raises(Exception, match=r"m__at: the model can be read from .* \(since\) to .* \(expiration\)"):
            events.rows(f"SELECT * FROM m__at({instant.format(t=T0)})")


@pytest.mark.landing
def test_function_follows_the_model(events: Project) -> None:
    """New rows, other columns, a consolidation, a killed run; it goes with the config, and with the model."""
    model(events)
    events.run(now=T0)
    events.sql(f"INSERT INTO {{s}}.t SELECT 9L, 1L, timestamp_millis({T0}L + 9000)")
    events.run(now=T0 + 7000)
    assert told(events, 7000) == [8, 9]
    events.dbt("run-operation", "temporal_consolidate", "--args", "{model: m}")
    assert told(events, 7500) == [8, 9]
    before = at_function.run_of(Warehouse(events.rows), events.target())
    assert before == events.state().run
    events.sql("CREATE OR REPLACE FUNCTION {s}.m__at(instant TIMESTAMP) RETURNS TABLE (id BIGINT) "
               "COMMENT 'mz_model m, as run 0 committed it' RETURN SELECT 1L")  # fmt: skip
    events.run(now=T0 + 7500)
    assert at_function.run_of(Warehouse(events.rows), events.target()) == before
    assert told(events, 7500) == [8, 9]
    model(events, "select id * 2 as twice from {s}.t where mz_now() < hi")
    events.run(now=T0 + 8000)
    assert told(events, 8000, "twice") == [18]
    model(events, at_function=False)
    events.run(now=T0 + 8000)
    assert functions(events) == []
    model(events)
    events.run(now=T0 + 8500)
    assert told(events, 8500) == [9]
    events.model("m", "select 1 as a", materialized="table")
    events.run(now=T0 + 9000)
    assert functions(events) == []


def test_a_function_of_that_name(events: Project) -> None:
    """No run replaces a function that none of the model made, and nothing is written."""
    events.sql("CREATE FUNCTION {s}.m__at(a INT) RETURNS INT RETURN a + 1")
    model(events)
    text = events.run(now=T0, check=False).text
    assert "found: a function" in text and "no run of m made it, so none replaces it" in text
    assert events.rows("SELECT m__at(1)") == [(2,)]
    assert [row[1] for row in events.rows("SHOW TABLES IN {s}")] == ["t"]


def test_a_column_of_that_name(events: Project) -> None:
    """Its field would be taken for the parameter, and the answer would be another one."""
    model(events, "select id, named_struct('instant', hi) as M__At from {s}.t where mz_now() < hi")
    text = events.run(now=T0, check=False).text
    assert "found: a column m__at in m, with at_function" in text and "instead: an alias for the column" in text


@pytest.mark.landing
def test_a_query_that_spark_takes_in_no_function(events: Project) -> None:
    """Spark refuses a parameter in some nested queries: the view is right, and the error says what to write."""
    model(events)
    events.run(now=T0)
    plan = SimpleNamespace(config=TemporalConfig.parse("m", {"at_function": True}), target=events.target())
    spark = Exception(
        "[UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.X] Unsupported subquery expression: no.\n'SQLFunctionNode"
    )
    with pytest.raises(Refusal) as raised:
        at_function.refuse_unknown(cast("Any", plan), spark)
    assert "found: at_function of m, whose query has a part that Spark takes in no function" in str(raised.value)
    assert "The view is right. Spark's words: [UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.X]" in str(raised.value)
    assert "instead: no at_function; in dbt {{ temporal_as_of(ref('m'), …) }}" in str(raised.value)
    at_function.refuse_unknown(cast("Any", plan), Exception("[TABLE_OR_VIEW_NOT_FOUND] x"))


@pytest.mark.landing
@pytest.mark.parametrize("name", ["mz_core_c0", "Kept"])
def test_a_temporary_view_of_a_name_in_the_query(events: Project, name: str) -> None:
    """Spark takes the WITH of the function for the view. All else is published; the next run makes the function."""
    kept = "with kept as (select id, instant from {s}.t where mz_now() < hi)"
    largest = "select max(id) from kept group by instant"
    model(events, f"{kept} select id from kept where id not in ({largest})")
    events.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT 99L AS id, 99L AS instant")
    text = events.run(now=T0, check=False).text
    assert f"found: a temporary view `{name.lower()}` in the session, while at_function of m was made, whose" in text
    assert "The view is right, and reads none of the session" in text
    assert f"instead: DROP VIEW `{name.lower()}` in the session, or another name for one of the two" in text
    assert events.rows(f"SELECT id FROM {events.at('m', T0 + 4000)} ORDER BY id") == [(5,), (6,)]
    assert events.rows("SELECT count(*) FROM {s}.m__diffs") == [(16,)]
    assert functions(events) == []
    events.sql(f"DROP VIEW {name}")
    events.run(now=T0 + 1)
    assert told(events, 4000) == [5, 6]


class Elsewhere(Warehouse):
    """A server of a version, with a catalog as the current one."""

    def __init__(self, version: str, catalog: str) -> None:
        super().__init__(lambda sql: [])
        self._version, self._in = version, catalog

    def version(self) -> str:
        return self._version

    def catalog(self) -> str:
        return self._in


@pytest.mark.parametrize(
    ("version", "catalog", "words"),
    [
        ("3.5.6", "spark_catalog", "came with Spark 4.0"),
        ("4.1.1", "lake", "Spark keeps SQL functions in spark_catalog"),
    ],
)
def test_where_there_are_no_such_functions(events: Project, version: str, catalog: str, words: str) -> None:
    config = TemporalConfig.parse("m", {"at_function": True})
    with pytest.raises(Refusal, match=words):
        at_function.refuse_impossible(Elsewhere(version, catalog), events.target(), config, None)


@pytest.mark.landing
def test_names_of_fields_that_need_quotes(project: Project) -> None:
    """Spark describes the type of a struct without the quotes that the names of its fields need."""
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0 + 9_000}) AS hi, "
        f"named_struct('a-b', id, 'c d', array(named_struct('1e', timestamp_millis({T0})))) AS st FROM range(3)"
    )
    rows = f"select * from {project.schema}.t where mz_now() < hi"
    texts = {
        "m": rows,
        "joined": f"select a.id, b.st from {project.schema}.t a left join ({rows}) b on b.id = a.id + 1",
    }
    for name, sql in texts.items():
        project.model(name, sql, at_function=True, expiration="1 day")
    project.run(now=T0)
    with project.inside():
        for name, sql in texts.items():
            for t in (T0, T0 + 8_999, T0 + 9_000):
                written = sql.replace("mz_now()", f"timestamp_millis({t})")
                for read in (project.at(name, t), f"{name}__at(timestamp_millis({t}))"):
                    assert not project.rows(f"SELECT * FROM ({written}) EXCEPT ALL SELECT * FROM {read}")
                    assert not project.rows(f"SELECT * FROM {read} EXCEPT ALL SELECT * FROM ({written})")
