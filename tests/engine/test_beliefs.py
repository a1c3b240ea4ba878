"""What an invocation or a session believes without asking again, where it is old, cut short or oddly named."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from support.instants import T0
from support.project import Project, inputs_of

ROWS = f"id, id + 1 AS b, timestamp_millis({T0}L + id * 1000) AS hi, 1 AS p FROM range(9)"
STAR = "select * from {s}.t where mz_now() < hi"
GROUPED = "select id, count(*) as n, max(b) as most from {s}.t where mz_now() < hi group by id"


def check(project: Project, query: str, *instants: int, clock: str = "timestamp_millis({}L)", model: str = "m") -> None:
    """The model has the columns and rows of its query, as the session sees it when it remembers nothing.

    The table of the model `m3` is t3, that of the others t.
    """
    project.sql("REFRESH TABLE {s}.t" + "".join(re.findall(r"\d+$", model)))
    columns = project.rows("DESCRIBE QUERY " + query.replace("mz_now()", clock.format(T0)))
    assert project.rows(f"DESCRIBE {{s}}.{model}") == columns
    every = [f"SELECT {t}L AS mz_at, one.* FROM ({{}}) AS one" for t in instants]
    shown = [one.format(f"select * from {project.at(model, t)}") for one, t in zip(every, instants)]
    wanted = [one.format(query.replace("mz_now()", clock.format(t))) for one, t in zip(every, instants)]
    found, want = (sorted(map(repr, project.rows("\nUNION ALL\n".join(each)))) for each in (shown, wanted))
    assert found == want, model


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
@pytest.mark.landing
def test_plans_that_spark_cuts_short(project: Project, cut: str) -> None:
    """Types and plans are those of a session that prints all, so that the next session finds nothing changed."""
    queries = {"m": STAR.format(s=project.schema), "grouped": GROUPED.format(s=project.schema)}
    project.sql(
        "CREATE TABLE {s}.t USING parquet AS SELECT named_struct('a', id, 'b', 2, 'c', 3) AS st, map('x', id) AS mp, "
        f"INTERVAL 1 DAY AS iv, 1.5 AS d, {ROWS}"
    )
    for name, query in queries.items():
        project.model(name, query)
    with settings(project, **CUT[cut]):
        project.run(now=T0)
    with settings(project, **CUT[cut]):
        project.sql(f"INSERT INTO {{s}}.t SELECT NULL, NULL, NULL, 2.5, 55, 6, timestamp_millis({T0}L + 99000), 1")
        ran = project.run(now=T0 + 10)
    for name, query in queries.items():
        assert "1 new file" in inputs_of(ran.of(name))
        check(project, query, T0 + 10, T0 + 1999, T0 + 2000, T0 + 2001, model=name)


ODD = (
    " lead", "# col_name", "", "a: int,\tb", "a, b", "a: int, b", "# Partition Information",
    "# Detailed Table Information", "it's", "b`q", "naïve", "数", "a#1", "a] parquet", "_common_expr_3",
)  # fmt: skip


@pytest.mark.landing
def test_columns_of_odd_names(project: Project) -> None:
    """An odd name is the first of its query: what Spark prints first is what a reader of plans may strip or split."""
    queries = {}
    for n, name in enumerate(ODD):
        quoted, table = "`" + name.replace("`", "``") + "`", f"{project.schema}.t{n}"
        project.spark.sql(f"CREATE TABLE {table} ({quoted} BIGINT, b BIGINT, hi TIMESTAMP) USING parquet")
        values = f"SELECT id DIV 2, id, timestamp_millis({T0}L + id * 1000) FROM range(9)"
        project.spark.sql(f"INSERT INTO {table} {values}")
        query = f"select {quoted}, count(*) as n, sum(b) as s from {table} where mz_now() < hi group by {quoted}"
        queries[f"m{n}"] = query
        project.model(f"m{n}", query, aggregates="groups")
    project.run(now=T0)
    for n in range(len(ODD)):
        project.sql(f"INSERT INTO {{s}}.t{n} SELECT 4, 5, timestamp_millis({T0}L + 99000)")
    ran = project.run(now=T0 + 10)
    for model, query in queries.items():
        assert "1 new file" in inputs_of(ran.of(model)), query
        check(project, query, T0 + 10, T0 + 2000, T0 + 2001, model=model)


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
    "a view": (*AGAIN[:1], f"CREATE VIEW {{s}}.t AS SELECT {ROWS}"),
    "other type": (*AGAIN[:1], AGAIN[1] + ROWS.replace("id + 1 AS", "'x' AS")),
    "other case": (*AGAIN[:1], AGAIN[1] + ROWS.replace("id,", "ID,")),
    "the clock's column is a number": (
        *AGAIN[:1],
        AGAIN[1] + f"id, id + 1 AS b, {T0}L + id * 1000 AS hi, 1 AS p FROM range(9)",
    ),
    "partitioned": (*AGAIN[:1], AGAIN[1].replace("AS SELECT", "PARTITIONED BY (b) AS SELECT") + ROWS),
}


@pytest.mark.quick(1)
@pytest.mark.first(5)
@pytest.mark.parametrize("what", ALTERED)
def test_a_table_that_another_session_altered(project: Project, what: str) -> None:
    """A session plans with the columns that it remembers of a table, while DESCRIBE tells those of now."""
    several = [(query, parts) for query in (STAR, GROUPED) for parts in ("", "PARTITIONED BY (p)")]
    queries = {
        f"m{n}": query.format(s=project.schema).replace(".t ", f".t{n} ") for n, (query, _) in enumerate(several)
    }
    for n, (_, partitioned) in enumerate(several):
        project.sql(f"CREATE TABLE {{s}}.t{n} USING parquet {partitioned} AS SELECT {ROWS}")
        project.model(f"m{n}", queries[f"m{n}"])
    project.run(now=T0)
    other = project.spark.newSession()
    other.conf.set("spark.sql.storeAssignmentPolicy", "ANSI")
    for n, statement in itertools.product(range(len(several)), ALTERED[what]):
        other.sql(re.sub(r"\{s\}\.t\b", f"{project.schema}.t{n}", statement))
    if what == "column renamed":
        queries = {model: query.replace("max(b)", "max(b2)") for model, query in queries.items()}
        for model, query in queries.items():
            project.model(model, query)
    project.run(now=T0 + 10)
    clock = "{}L" if what == "the clock's column is a number" else "timestamp_millis({}L)"
    for model, query in queries.items():
        check(project, query, T0 + 10, T0 + 1999, T0 + 2000, T0 + 2001, clock=clock, model=model)
    ran = project.run(now=T0 + 20)
    assert all("unchanged" in ran.of(model).message for model in queries) or what == "a view"


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
def test_hooks_that_drop_what_they_do_not_name(project: Project, what: str) -> None:
    """dbt lists the schema before the hooks of a run. At the second run with the hook a row is new."""
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT {ROWS}")
    query = STAR.format(s=project.schema)
    project.model("m", query)
    project.run(now=T0)
    _on_run_start(project, [hook.replace("{s}", project.schema) for hook in HIDDEN[what]])
    for now in (T0 + 10, T0 + 20):
        project.run(now=now)
        assert {"m", "m__live", "m__diffs"} <= project.relations()
        check(project, query, now, T0 + 2000, T0 + 2001)
        assert project.rows("SELECT count(*) FROM {s}.m__diffs")
        project.sql(f"INSERT INTO {{s}}.t SELECT 55, 6, timestamp_millis({T0}L + 99000), 1")


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
