"""A pinned clock (var temporal_now): every statement of the invocation reads temporal views as at that instant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.temporal.sql.text.statements import reading_part, replaced
from support.instants import T0
from support.project import Project

T1, T2 = T0 + 35_500, T0 + 37_500
SINCE = T0 + 10_000
#: event i is there from T0 + i s, for 30 s
AT_T1, AT_T2 = [6, 7, 8, 9], [8, 9]


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(
        "CREATE TABLE {s}.events USING parquet AS "
        f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range(10)"
    )
    between = "mz_now() >= ts and mz_now() < ts + interval 30 seconds"
    project.model("m", f"select id, ts from {project.schema}.events where {between}")
    project.run(now=SINCE)
    return project


def ids(project: Project, relation: str) -> list[int]:
    return sorted(row[0] for row in project.rows(f"SELECT id FROM {{s}}.{relation}"))


DOWNSTREAM = {
    "plain": ("select id from {{ ref('m') }}", {}),
    "by_column": ("select {{ ref('m') }}.id from {{ ref('m') }} where {{ ref('m') }}.id >= 0", {}),
    "shadowed": ("with m as (select id, mz_now() as seen from {{ ref('m') }}) select m.* from m", {}),
    "through_ephemeral": ("select * from {{ ref('eph') }} as `m`", {}),
    "in_a_subquery": (
        "select id from {{ this.schema }}.events e where exists (select 1 from {{ ref('m') }} as x where x.id = e.id)",
        {},
    ),
    "spelled": ("select ID from spark_catalog.`{{ this.schema | upper }}`.M", {}),
    "contracted": ("select id from {{ ref('m') }}", {"contract": {"enforced": True}}),
    "view_over": ("select id from {{ ref('m') }}", {"materialized": "view"}),
    "over_view": ("select id from {{ ref('view_over') }}", {}),
    "appended": ("select id from {{ ref('m') }}", {"materialized": "incremental", "incremental_strategy": "append"}),
}


@pytest.mark.landing
def test_every_kind_of_model(events: Project) -> None:
    events.model("eph", "select id from {{ ref('m') }}", materialized="ephemeral")
    for name, (sql, config) in DOWNSTREAM.items():
        events.model(name, sql, **{"materialized": "table", **config})
    column = {"name": "id", "data_type": "bigint"}
    events.properties({"models": [{"name": "contracted", "columns": [column]}]})
    # a singular test and a generic one, which fail for any other instant
    events.write("tests/count.sql", "select count(*) as n from {{ ref('m') }} having count(*) not in (2, 4)")
    text = events.dbt("build", now=T1).text
    for name in DOWNSTREAM:
        assert ids(events, name) == AT_T1, name
    assert (
        "view_over shows its temporal views and its clock as at var temporal_now, 2024-03-01 12:00:35.500 UTC, until"
        in text
    )
    events.dbt("build", now=T2)
    for name in DOWNSTREAM:
        assert ids(events, name) == (sorted(AT_T1 + AT_T2) if name == "appended" else AT_T2), name
    events.run("-s", "plain", "view_over", "over_view")
    assert ids(events, "plain") == ids(events, "view_over") == ids(events, "over_view") == []


@pytest.mark.landing
def test_tests_show_hooks_and_operations(events: Project) -> None:
    events.sql("CREATE TABLE {s}.log (said STRING, id BIGINT) USING parquet")
    events.write(
        "macros/note.sql",
        """
        {% macro note(said, schema) %}
          {% do run_query("insert into " ~ schema ~ ".log select '" ~ said ~ "', id from " ~ schema ~ ".m") %}
        {% endmacro %}
        """,
    )
    note = f"insert into {events.schema}.log select '%s', id from {{{{ ref('m') }}}}"
    tables = [
        f"create table {events.schema}.by_table using parquet table {{{{ ref('m') }}}}",
        f"create table {events.schema}.without_as using parquet select * from {{{{ ref('m') }}}}",
        f"insert into {events.schema}.without_as table {{{{ ref('m') }}}}",
    ]
    events.model(
        "t", "select 1 as x", materialized="table", pre_hook=note % "before", post_hook=[note % "after", *tables]
    )
    events.properties(
        {
            "models": [
                {
                    "name": "m",
                    "columns": [
                        {
                            "name": "id",
                            "data_tests": [{"accepted_values": {"arguments": {"values": AT_T1, "quote": False}}}],
                        }
                    ],
                }
            ]
        },
    )
    events.write("tests/there.sql", "select 1 as x where (select count(*) from {{ ref('m') }}) <> 4")
    events.run("-s", "t", now=T1)
    events.dbt("run-operation", "note", "--args", json.dumps({"said": "asked", "schema": events.schema}), now=T1)
    for said in ("before", "after", "asked"):
        assert sorted(events.rows(f"SELECT id FROM {{s}}.log WHERE said = '{said}'")) == [(i,) for i in AT_T1], said
    assert sorted(events.rows("SELECT id FROM {s}.by_table")) == [(i,) for i in AT_T1]
    assert sorted(events.rows("SELECT id FROM {s}.without_as")) == sorted([(i,) for i in AT_T1] * 2)
    result = events.dbt("test", now=T1)
    assert len(result.results) == 2
    assert not events.dbt("test", "-s", "there", check=False).success
    inline = "select count(*) as n, max(unix_millis(mz_now())) as t from {{ ref('m') }}"
    shown = events.dbt("show", "--inline", inline, now=T1)
    assert [tuple(map(int, row)) for row in shown.results[0].agate_table.rows] == [(4, T1)]


@pytest.mark.landing
def test_reads_that_name_their_instant_stay_theirs(events: Project) -> None:
    sql = f"select (select count(*) from {{{{ temporal_as_of(ref('m'), {T2}) }}}}) as a"
    sql += ", count(*) as b from {{ ref('m') }}"
    events.model("both", sql, materialized="table")
    events.model("diffs", "select count(*) as n from {{ temporal_diffs(ref('m')) }}", materialized="table")
    events.run("-s", "both", "diffs", now=T1)
    assert events.rows("SELECT * FROM {s}.both") == [(2, 4)]
    assert events.rows("SELECT * FROM {s}.diffs") == events.rows("SELECT count(*) FROM {s}.m__diffs")


@pytest.mark.landing
def test_instants_that_the_view_cannot_answer(events: Project) -> None:
    events.model("plain", "select id from {{ ref('m') }}", materialized="table")
    events.run("-s", "plain", now=T1)
    text = events.run("-s", "plain", now=SINCE - 1, check=False).text
    assert "found: m as of 2024-03-01 12:00:09.999 UTC" in text and "(since) to any later instant" in text
    assert ids(events, "plain") == AT_T1  # dbt-spark would drop the table before it asks for the query
    events.model("m", f"select id from {events.schema}.events where mz_now() >= ts", expiration="1 minute")
    events.run("-s", "m", now=T1)
    text = events.run("-s", "plain", now=T1 + 60_001, check=False).text
    assert "found: m as of 2024-03-01 12:01:35.501 UTC" in text and "dbt run -s m after the expiration" in text


@pytest.mark.landing
def test_views_that_were_made_at_another_clock(events: Project) -> None:
    """What no text can put right is refused: a view between them that an earlier invocation made."""
    events.model("v", "select id, ts from {{ ref('m') }} where id > 0", materialized="view")
    events.model("t", "select id from {{ ref('v') }}", materialized="table")
    events.run("-s", "v")
    text = events.run("-s", "t", now=T1, check=False).text
    name = events.schema
    assert f"found: {name}.m, a temporal_view, read through the view {name}.v at var temporal_now" in text
    assert f"why: {name}.v was made without that variable" in text and "instead: " in text and "ephemeral" in text
    events.run("-s", "v", "t", now=T1)
    assert ids(events, "t") == AT_T1
    text = events.run("-s", "t", now=T2, check=False).text
    assert (
        f"found: the view {name}.v, made at var temporal_now, 2024-03-01 12:00:35.500 UTC" in text
        and "for good" in text
    )
    assert "instead: that view made in the same invocation" in text
    assert ids(events, "t") == AT_T1


@pytest.mark.landing
def test_a_clone_is_the_view_itself(events: Project) -> None:
    events.sql("CREATE VIEW {s}.twin AS select * from {s}.m")
    inline = f"select count(*) as n from {events.schema}.twin"
    shown = events.dbt("show", "--inline", inline, now=T1)
    assert [int(row[0]) for row in shown.results[0].agate_table.rows] == [4]


@pytest.mark.landing
def test_names_that_cannot_be_found_in_the_text_are_refused(events: Project) -> None:
    events.sql("USE {s}")
    try:
        text = events.dbt("show", "--inline", "select count(*) as n from m", now=T1, check=False).text
    finally:
        events.sql("USE default")
    assert f"found: {events.schema}.m, a temporal_view, in a statement at var temporal_now" in text
    assert "why: the statement would read" in text and "instead: {{ ref('m') }}" in text


@pytest.mark.landing
def test_a_view_of_too_long_a_text_is_refused(events: Project) -> None:
    events.model("v", "select id from {{ ref('m') }}", materialized="view")
    events.run("-s", "v")
    long = ", ".join(f"id as column_number_{n}" for n in range(1500))
    events.model("v", f"select {long} from {{{{ ref('m') }}}}", materialized="view")
    result = events.run("-s", "v", now=T1, check=False)
    if events.spark.conf.get("spark.sql.catalogImplementation") == "in-memory":  # it keeps texts of any length
        assert result.success and len(events.columns("v")) == 1500
        return
    for words in ("found: the view", "the catalog does not keep one so long", "instead: materialized='table'"):
        assert words in result.text
    assert ids(events, "v") == []


@pytest.mark.landing
def test_refreshed_and_stacked_views(events: Project) -> None:
    events.model(
        "r",
        f"select id from {events.schema}.events where mz_now() >= ts and mz_now() < ts + interval 30 seconds",
        refresh_every="10 seconds",
        refresh_at="2024-03-01 12:00:00",
    )
    events.model("outer_one", "select id from {{ ref('m') }} where mz_now() < ts + interval 29 seconds")
    for name in ("r", "outer_one"):
        events.model(f"of_{name}", f"select id from {{{{ ref('{name}') }}}}", materialized="table")
    events.run("--exclude", "of_r", "of_outer_one", now=SINCE)
    events.run("-s", "of_r", "of_outer_one", now=T1)
    assert ids(events, "of_r") == [1, 2, 3, 4, 5, 6, 7, 8, 9]  # as at the last refresh, 30 s after T0
    assert ids(events, "of_outer_one") == [7, 8, 9]


def test_statements(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pinned clock there is no statement more; with one, an EXPLAIN where no temporal_view is read."""
    events.model("t", "select id from {{ this.schema }}.events", materialized="table")
    events.model("of_m", "select id from {{ ref('m') }}", materialized="table")
    sent: list[str] = []
    original = SparkTemporalConnectionManager._ask

    def heard(self: Any, sql: str) -> Any:
        sent.append(sql)
        return original(self, sql)

    monkeypatch.setattr(SparkTemporalConnectionManager, "_ask", heard)
    events.run("-s", "t", "of_m")
    assert sent == []
    events.run("-s", "t", now=T1)
    assert [sql.split()[0] for sql in sent] == ["EXPLAIN"]
    sent.clear()
    events.run("-s", "of_m", now=T1)
    assert [sql.split()[0] for sql in sent] == ["EXPLAIN", "DESCRIBE", "EXPLAIN"]
    sent.clear()
    events.run("-s", "m", now=T1)
    assert sent == []


REPLACED = {
    "select m.id from s.m": "select m.id from ((q) AS `m`)",
    "select s.m.id from S.`M`": "select m.id from ((q) AS `M`)",
    "select s.m.x from r as s join s.m as y": "select s.m.x from r as s join (q) as y",
    "with m as (select 1) select * from m": "with m as (select 1) select * from m",
    "insert into s.t select * from s.m tablesample (5 rows)": (
        "insert into s.t select * from ((q) AS `m`) tablesample (5 rows)"
    ),
    "merge into s.t d using s.m x on d.i = x.i when matched then delete": (
        "merge into s.t d using (q) x on d.i = x.i when matched then delete"
    ),
    "select 's.m', \"s.m\" from t -- s.m": "select 's.m', \"s.m\" from t -- s.m",
}


@pytest.mark.parametrize("sql", REPLACED)
def test_text(sql: str) -> None:
    assert replaced(sql, {"s.m": "(q)"}, "spark_catalog") == REPLACED[sql]


READS = {
    "drop view s.m": None,
    "describe table extended s.m": None,
    "grant select on s.m to bob": None,
    "alter view s.m set tblproperties ('comment' = 'as select')": None,
    "comment on table s.m is 'as select 1'": None,
    "insert into s.t values (1)": None,
    "insert into table s.t values ('select')": None,
    "insert into s.t ${hook.query}": "insert into s.t ${hook.query}",
    "create table s.t (x int comment 'as select')": None,
    "create table s.t (f int) using jdbc options (table 'x') partitioned by (f)": None,
    "create temporary view v using parquet options (path 'x')": None,
    "create table s.t like s.m": None,
    "alter view s.v as select 1": "select 1",
    "create or replace temporary view v as (select 1)": "(select 1)",
    "cache table c as with x as (select 1) select * from x": "with x as (select 1) select * from x",
    "from s.m insert into s.t select *": "from s.m insert into s.t select *",
}


@pytest.mark.parametrize("sql", READS)
def test_the_part_that_reads(sql: str) -> None:
    start = reading_part(f"/* {{}} */ {sql}")
    assert (None if start is None else f"/* {{}} */ {sql}"[start:]) == READS[sql]


WRITES = (
    "insert into s.t", "insert into table s.t (a)", "insert overwrite table s.t partition (a = 1)", "set var x =",
    "insert into s.t by name", "insert into s.t replace where a > 1",
)  # fmt: skip
DEFINES = (
    "create table s.t", "create table if not exists select", "create or replace table s.select using parquet",
    "create table t comment '.' location 'table'", "create table s.t partitioned by (values) tblproperties (a = 'x')",
    "replace table s.t options (table 'as select')", "cache table c", "cache lazy table c options ('from' 'x')",
    "alter view s.v", "create table `as` stored as parquet", 
    "create table identifier('s.t') clustered by (a) into 4 buckets",
)  # fmt: skip
QUERIES = (
    "select * from s.m", "TABLE  s.m", "from s.m", "from s.m |> select a", "(select * from s.m)", "((table s.m))",
    "with x as (table s.m) select * from x", "with recursive x (a) as (select * from s.m) table x",
    "(select 1 as a) union all table s.m", "values ((table s.m))",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_the_part_that_reads_is_found_in_each_statement(query: str) -> None:
    """Spark's grammar has an AS before the query of a definition, and does without it, and TABLE for a SELECT."""
    statements = {f"{begin} {query}": f"{begin} {query}" for begin in WRITES}
    statements |= {f"{begin} {between}{query}": query for begin in DEFINES for between in ("", "as ")}
    statements |= {f"create or replace view s.v (a) {more} as {query}": query for more in ("", "with schema binding")}
    for sql, part in statements.items():
        start = reading_part(sql)
        assert start is not None and sql[start:] == part, sql
        put = replaced(part, {"s.m": "(q)"}, "spark_catalog")
        assert "s.m" not in put and "table (" not in put.lower(), sql
