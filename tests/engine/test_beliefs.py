"""What an invocation or a session believes without asking again, where it is old, cut short or oddly named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from support.instants import T0
from support.project import Project, inputs_of

ROWS = f"id, id + 1 AS b, timestamp_millis({T0}L + id * 1000) AS hi, 1 AS p FROM range(9)"
STAR = "select * from {s}.t where mz_now() < hi"
GROUPED = "select id, count(*) as n, max(b) as most from {s}.t where mz_now() < hi group by id"


def check(project: Project, query: str, *instants: int, clock: str = "timestamp_millis({}L)") -> None:
    """The model `m` has the columns and rows of its query, as the session sees it when it remembers nothing."""
    project.sql("REFRESH TABLE {s}.t")
    columns = project.rows("DESCRIBE QUERY " + query.replace("mz_now()", clock.format(T0)))
    assert project.rows("DESCRIBE {s}.m") == columns
    for t in instants:
        want = project.rows(query.replace("mz_now()", clock.format(t)))
        assert sorted(map(repr, project.rows(f"select * from {project.at('m', t)}"))) == sorted(map(repr, want))


@contextmanager
def settings(project: Project, **values: str) -> Iterator[None]:
    """Settings of Spark's printing, and those that a run sets for itself."""
    keys = {f"spark.sql.{key.replace('_', '.')}": value for key, value in values.items()}
    ours = ("debug.maxToStringFields", "maxMetadataStringLength", "maxPlanStringLength")
    for key, value in keys.items():
        project.spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in {*keys, *(f"spark.sql.{key}" for key in ours)}:
            project.spark.conf.unset(key)


# ---- plans -------------------------------------------------------------------------------------------------------

CUT = {
    "fields": {"debug_maxToStringFields": "2"},
    "characters": {"maxPlanStringLength": "100"},
    "characters of some sections": {"maxPlanStringLength": "2500"},
    "names": {"maxMetadataStringLength": "4"},
    "redacted": {"redaction_string_regex": "hi|id"},
}


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("query", [STAR, GROUPED])
@pytest.mark.landing
def test_plans_that_spark_cuts_short(project: Project, cut: str, query: str) -> None:
    """Types and plans are those of a session that prints all, so that the next session finds nothing changed."""
    query = query.format(s=project.schema)
    project.sql(
        "CREATE TABLE {s}.t USING parquet AS SELECT named_struct('a', id, 'b', 2, 'c', 3) AS st, map('x', id) AS mp, "
        f"INTERVAL 1 DAY AS iv, 1.5 AS d, {ROWS}"
    )
    project.model("m", query)
    with settings(project, **CUT[cut]):
        project.run(now=T0)
    with settings(project, **CUT[cut]):
        project.sql(f"INSERT INTO {{s}}.t SELECT NULL, NULL, NULL, 2.5, 55, 6, timestamp_millis({T0}L + 99000), 1")
        assert "1 new file" in inputs_of(project.run(now=T0 + 10).of("m"))
    check(project, query, T0 + 10, T0 + 1999, T0 + 2000, T0 + 2001)


ODD = (
    " lead", "# col_name", "", "a: int,\tb", "a, b", "a: int, b", "# Partition Information",
    "# Detailed Table Information", "it's", "b`q", "naïve", "数", "a#1", "a] parquet", "_common_expr_3",
)  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.landing
def test_columns_of_odd_names(project: Project, name: str) -> None:
    """An odd name is the first of its query: what Spark prints first is what a reader of plans may strip or split."""
    quoted = "`" + name.replace("`", "``") + "`"
    project.spark.sql(f"CREATE TABLE {project.schema}.t ({quoted} BIGINT, b BIGINT, hi TIMESTAMP) USING parquet")
    values = f"SELECT id DIV 2, id, timestamp_millis({T0}L + id * 1000) FROM range(9)"
    project.spark.sql(f"INSERT INTO {project.schema}.t {values}")
    query = f"select {quoted}, count(*) as n, sum(b) as s from {project.schema}.t where mz_now() < hi group by {quoted}"
    project.model("m", query, aggregates="groups")
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.t SELECT 4, 5, timestamp_millis({T0}L + 99000)")
    assert "1 new file" in inputs_of(project.run(now=T0 + 10).of("m"))
    check(project, query, T0 + 10, T0 + 2000, T0 + 2001)


@pytest.mark.landing
def test_a_name_with_a_line_break(project: Project) -> None:
    project.sql("CREATE TABLE {s}.t (`a: int,\nb` BIGINT, hi TIMESTAMP) USING parquet")
    project.model("m", STAR.format(s=project.schema))
    told = project.run(now=T0, check=False).text
    assert r"found: column 'a: int,\nb'" in told and "instead: an alias" in told


# ---- a table that another session altered ------------------------------------------------------------------------

AGAIN = ("DROP TABLE {s}.t", "CREATE TABLE {s}.t USING parquet AS SELECT ")
ALTERED = {
    "other order": (*AGAIN[:1], f"{AGAIN[1]}id + 1 AS b, id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)"),
    "column renamed": (*AGAIN[:1], AGAIN[1] + ROWS.replace("AS b", "AS b2")),
    "column added": ("ALTER TABLE {s}.t ADD COLUMNS (c INT)", "INSERT INTO {s}.t (id, hi, c) SELECT 7, NULL, 5"),
    "other case": (*AGAIN[:1], AGAIN[1] + ROWS.replace("id,", "ID,")),
    "other type": (*AGAIN[:1], AGAIN[1] + ROWS.replace("id + 1 AS", "'x' AS")),
    "the clock's column is a number": (
        *AGAIN[:1],
        AGAIN[1] + f"id, id + 1 AS b, {T0}L + id * 1000 AS hi, 1 AS p FROM range(9)",
    ),
    "partitioned": (*AGAIN[:1], AGAIN[1].replace("AS SELECT", "PARTITIONED BY (b) AS SELECT") + ROWS),
    "a view": (*AGAIN[:1], f"CREATE VIEW {{s}}.t AS SELECT {ROWS}"),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("what", ALTERED)
@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p)"])
@pytest.mark.parametrize("query", [pytest.param(STAR), pytest.param(GROUPED, marks=pytest.mark.landing)])
def test_a_table_that_another_session_altered(project: Project, query: str, partitioned: str, what: str) -> None:
    """A session plans with the columns that it remembers of a table, while DESCRIBE tells those of now."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet {partitioned} AS SELECT {ROWS}")
    query = query.format(s=project.schema)
    project.model("m", query)
    project.run(now=T0)
    other = project.spark.newSession()
    other.conf.set("spark.sql.storeAssignmentPolicy", "ANSI")
    for statement in ALTERED[what]:
        other.sql(statement.format(s=project.schema))
    if what == "column renamed":
        query = query.replace("max(b)", "max(b2)")
        project.model("m", query)
    project.run(now=T0 + 10)
    clock = "{}L" if what == "the clock's column is a number" else "timestamp_millis({}L)"
    check(project, query, T0 + 10, T0 + 1999, T0 + 2000, T0 + 2001, clock=clock)
    assert "unchanged" in project.run(now=T0 + 20).of("m").message or what == "a view"


# ---- hooks whose statements do not name what they change -----------------------------------------------------------

HIDDEN = {
    "a computed name": ("DROP VIEW identifier('{s}.' || chr(109))",),
    "readable updates": ("DROP VIEW identifier('{s}.' || chr(109) || '__diffs')",),
    "a statement in a variable": (
        "DECLARE VARIABLE to_execute STRING DEFAULT concat('drop view {s}.', chr(109))",
        "EXECUTE IMMEDIATE to_execute",
        "DROP TEMPORARY VARIABLE to_execute",
    ),
    "the schema": ("DROP SCHEMA {s} CASCADE", "CREATE SCHEMA {s}", f"CREATE TABLE {{s}}.t AS SELECT {ROWS}"),
}


@pytest.mark.landing
@pytest.mark.parametrize("what", HIDDEN)
@pytest.mark.parametrize("grows", [False, True])
def test_hooks_that_drop_what_they_do_not_name(project: Project, what: str, grows: bool) -> None:
    """dbt lists the schema before the hooks of a run."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT {ROWS}")
    query = STAR.format(s=project.schema)
    project.model("m", query)
    project.run(now=T0)
    if grows:
        project.sql(f"INSERT INTO {{s}}.t SELECT 55, 6, timestamp_millis({T0}L + 99000), 1")
    _on_run_start(project, [hook.replace("{s}", project.schema) for hook in HIDDEN[what]])
    project.run(now=T0 + 10)
    assert {"m", "m__live", "m__diffs"} <= project.relations()
    check(project, query, T0 + 10, T0 + 2000, T0 + 2001)
    assert project.rows("SELECT count(*) FROM {s}.m__diffs")


def _on_run_start(project: Project, hooks: Sequence[str]) -> None:
    head = {"name": "proj", "version": "1.0", "profile": "proj", "flags": {"send_anonymous_usage_stats": False}}
    project.write("dbt_project.yml", json.dumps({**head, "on-run-start": hooks}))


@pytest.mark.landing
def test_a_setting_in_the_text(project: Project) -> None:
    """`${...}` is replaced by Spark in each statement: with another value the model is another one."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + 1000 * id) AS hi FROM range(9)")
    project.model(
        "m", f"select id, '${{mz.word}}' as word, '${{mz.none}}' as none from {project.schema}.t where mz_now() < hi"
    )
    try:
        for run, (word, reason) in enumerate({"one": "hydrated", "one more \\ %": "restarted"}.items()):
            project.spark.conf.set("mz.word", word)
            assert reason in project.run(now=T0 + 2 * run).of("m").message
            assert "unchanged" in project.run(now=T0 + 2 * run + 1).of("m").message
            t = T0 + 2 * run + 1
            oracle = f"SELECT id, '${{mz.word}}', '${{mz.none}}' FROM {{s}}.t WHERE timestamp_millis({t}L) < hi"
            assert sorted(project.rows(f"SELECT * FROM {project.at('m', t)}")) == sorted(project.rows(oracle))
    finally:
        project.spark.conf.unset("mz.word")
