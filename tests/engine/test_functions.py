"""Functions, variables and clock words in a model: what is redefined is seen, what no view can have is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from dbt.adapters.sparktemporal.temporal.sql.functions import registry
from dbt.adapters.sparktemporal.temporal.sql.text.grammar import MZ_NOW_NAMES
from support.instants import T0
from support.project import Project
from support.seeds import a_seed

pytestmark = [pytest.mark.landing, pytest.mark.metastore]

WINDOW = "mz_now() >= lo and mz_now() < hi"
ROWS = (
    "SELECT id, id % 3 AS k, id * 10 AS v, timestamp_millis(1709294400000L) AS lo, "
    "timestamp_millis(1709294400000L + 3600000L) AS hi FROM range(6)"
)

#: a model over {s}.t -> words of its refusal
REFUSED = {
    "reads_a_table_at_the_read": (
        f"select k, {{s}}.total(sum(v)) as n from {{s}}.t where {WINDOW} group by k",
        ("total(...), which has a table in it", "it is evaluated when the view is read", "called below the SELECT"),
    ),
    "calls_one_that_reads_a_table": (
        f"select k, {{s}}.outer_total(sum(v)) as n from {{s}}.t where {WINDOW} group by k",
        ("which calls spark_catalog.", "total, which has a table in it", "a CTE or a join"),
    ),
    "temporary_at_the_read": (
        f"select k, of_session(sum(v)) as n from {{s}}.t where {WINDOW} group by k",
        ("of_session(...), a function of this session", "outlive the session", "CREATE FUNCTION without TEMPORARY"),
    ),
    "variable_at_the_read": (
        f"select k, sum(v) + limit_of_session as n from {{s}}.t where {WINDOW} group by k",
        ("limit_of_session, a variable of this session", "a view can name no variables", "a dbt variable"),
    ),
    "clock_in_a_function": (
        f"select id, {{s}}.age(lo) as n from {{s}}.t where {WINDOW}",
        ("age(...), which has", "and not that of the instant asked for", "with mz_now() for the clock"),
    ),
    "now_as_text": (
        f"select id, cast('now' as timestamp) as at from {{s}}.t where {WINDOW}",
        ("cast('now' as timestamp)", "Spark puts its clock in its place", "mz_now(), or date_trunc"),
    ),
    "today_as_a_literal": (
        f"select id from {{s}}.t where {WINDOW} and lo >= date 'today'",
        ("'today'", "Spark puts its clock in its place", "mz_now(), or date_trunc"),
    ),
    "reflected": (
        f"select id, reflect('java.lang.System', 'nanoTime') as n from {{s}}.t where {WINDOW}",
        ("reflect(", "found: ", "instead: "),
    ),
}


@pytest.fixture(autouse=True)
def _has_functions_in_sql(spark: Any) -> None:
    if spark.version < "4":
        pytest.skip("functions in SQL are younger than this Spark")


@pytest.fixture
def functions(project: Project) -> Iterator[Project]:
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {ROWS}; CREATE TABLE {{s}}.dim USING parquet AS SELECT 5 AS n")
    project.sql("CREATE FUNCTION {s}.total(x BIGINT) RETURNS BIGINT RETURN x + (SELECT max(n) FROM {s}.dim)")
    project.sql("CREATE FUNCTION {s}.outer_total(x BIGINT) RETURNS BIGINT RETURN {s}.total(x) + 1")
    project.sql("CREATE FUNCTION {s}.age(x TIMESTAMP) RETURNS INT RETURN datediff(current_date(), x)")
    project.sql("CREATE TEMPORARY FUNCTION of_session(x BIGINT) RETURNS BIGINT RETURN x + 1")
    project.sql("DECLARE OR REPLACE VARIABLE limit_of_session BIGINT DEFAULT 3")
    yield project
    project.sql("DROP TEMPORARY FUNCTION IF EXISTS of_session; DROP TEMPORARY VARIABLE IF EXISTS limit_of_session")


def test_what_a_view_cannot_have_is_refused(functions: Project) -> None:
    for name, (sql, _) in REFUSED.items():
        functions.model(name, sql.replace("{s}", functions.schema))
    before = functions.rows("SHOW TABLES IN {s}")
    results = functions.run(now=T0, check=False)
    for name, (_, words) in REFUSED.items():
        told = str(results.of(name).message)
        assert all(word in told for word in (*words, "found: ", "why: ", "instead: ")), (name, told)
    assert functions.rows("SHOW TABLES IN {s}") == before


def shown(project: Project, model: str, t: int) -> list[tuple]:
    return sorted(project.rows(f"select * from {project.at(model, t)}"), key=str)


def test_what_is_redefined_is_seen(functions: Project) -> None:
    """A body, a variable that holds the instant of the run, a temporary view, a default: the next run follows each."""
    schema = functions.schema
    functions.sql("CREATE FUNCTION {s}.priced(x BIGINT) RETURNS BIGINT RETURN x + 1")
    functions.sql("CREATE TEMPORARY VIEW shifts AS SELECT * FROM VALUES (0, 100), (1, 200) AS f(k, extra)")
    functions.sql(f"SET VARIABLE limit_of_session = {T0}")
    folder = functions.path / "defaulted"
    functions.spark.sql(f"SELECT id, lo, hi FROM {schema}.t").write.parquet(str(folder))
    table = f"{schema}.defaulted (id BIGINT, lo TIMESTAMP, hi TIMESTAMP, w BIGINT DEFAULT {{}}) USING parquet"
    functions.sql(f"CREATE TABLE {table.format(1)} LOCATION '{folder}'")
    models = {
        "of_a_function": f"select id, {schema}.priced(v) as n from {schema}.t where {WINDOW}",
        "of_a_variable": f"select id, v + limit_of_session as n from {schema}.t where {WINDOW}",
        "of_a_view": f"select id, extra as n from {schema}.t join shifts using (k) where {WINDOW}",
        "of_a_default": f"select id, w as n from {schema}.defaulted where {WINDOW}",
    }
    for name, sql in models.items():
        functions.model(name, sql)
    functions.run(now=T0)
    assert "unchanged" in str(functions.run(now=T0).of("of_a_function").message)
    functions.sql("CREATE OR REPLACE FUNCTION {s}.priced(x BIGINT) RETURNS BIGINT RETURN x + 2")
    functions.sql("CREATE OR REPLACE TEMPORARY VIEW shifts AS SELECT * FROM VALUES (0, 111), (1, 222) AS f(k, extra)")
    functions.sql(f"SET VARIABLE limit_of_session = {T0 + 1000}")
    functions.sql(f"DROP TABLE {{s}}.defaulted; CREATE TABLE {table.format(2)} LOCATION '{folder}'")
    functions.run(now=T0 + 1000)
    for name, sql in models.items():
        for t in (T0 + 1000, T0 + 3_599_999, T0 + 3_600_000):
            oracle = functions.rows(sql.replace("mz_now()", f"timestamp_millis({t}L)"))
            assert shown(functions, name, t) == sorted(oracle, key=str), (name, t)
    functions.sql("DROP VIEW shifts")


def test_the_clock_however_it_is_written(functions: Project) -> None:
    """In quotes, or by the schema of Spark's functions, which Spark takes from 4.2 on."""
    calls = ["`now`()", "`current_timestamp` ( )", "Now /* a comment */ ()"]
    if functions.spark.version >= "4.2":
        calls += ["system.builtin.now()", "`system`.`builtin`.`getdate`()"]
    for number, call in enumerate(calls):
        functions.model(f"m{number}", f"select id, {call} as at from {functions.schema}.t where {WINDOW}")
    functions.run(now=T0)
    for number, call in enumerate(calls):
        for t in (T0, T0 + 1, T0 + 3_599_999):
            at = {unix for (unix,) in functions.rows(f"select unix_millis(at) from {functions.at(f'm{number}', t)}")}
            assert at == {t}, (call, t)


#: what a function under the name of one of Spark's does here: time goes backwards in it
MIRRORED = "TIMESTAMP RETURN timestamp_millis({t0} + 3600000L - (unix_millis(x) - {t0}))"
SPANS = (
    "SELECT id, if(id % 7 = 3, NULL, timestamp_millis({t0} + id * 300000)) AS lo, "
    "if(id % 5 = 4, NULL, timestamp_millis({t0} + id * 540000)) AS hi FROM range({a}, {b})"
)


def mirrored(project: Project, names: list[str]) -> dict[str, str]:
    """Models of rows and of groups, with functions of these names, by a schema: of one argument or two -> queries."""
    models = {}
    for name, more in product(names, ("", ", n INT")):
        schema = f"{project.schema}_{2 if more else 1}"
        project.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        returns = MIRRORED.format(t0=f"{T0}L")
        project.spark.sql(f"CREATE OR REPLACE FUNCTION {schema}.{name}(x TIMESTAMP{more}) RETURNS {returns}")
        lo, hi, last = (f"{schema}.{name}({value}{', 1' if more else ''})" for value in ("lo", "hi", "max(lo)"))
        source = f"from {project.schema}.spans where mz_now() >= {lo} or mz_now() < {hi}"
        kind = f"{name}_{2 if more else 1}"
        models[f"rows_of_{kind}"] = f"select id, {lo} as v {source}"
        models[f"groups_of_{kind}"] = f"select id % 2 as k, {last} as v, count(*) as n {source} group by id % 2"
        models[f"groups_by_{kind}"] = f"select struct({lo}) as v, sum(id) as n {source} group by {lo}"
    for model, sql in models.items():
        project.model(model, sql)
    return models


@pytest.fixture
def schemas(project: Project) -> Iterator[None]:
    yield
    for number in (1, 2):
        project.spark.sql(f"DROP SCHEMA IF EXISTS {project.schema}_{number} CASCADE")


@pytest.mark.usefixtures("schemas")
@pytest.mark.parametrize("share", [120, pytest.param(1, marks=pytest.mark.deep)])
def test_a_function_of_a_schema_is_not_that_of_spark(project: Project, share: int) -> None:
    """Whatever name of Spark's it has: what is known of Spark's function is not taken for true of it."""
    names = sorted(registry.KNOWN - {*MZ_NOW_NAMES})[a_seed() % share :: share]
    of = {"t0": f"{T0}L"}
    project.sql(f"CREATE TABLE {{s}}.spans USING parquet AS {SPANS.format(a=0, b=9, **of)}")
    models = mirrored(project, names)
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.spans {SPANS.format(a=5, b=14, **of)}")
    project.run(now=T0 + 1_800_000)
    for model, sql in models.items():
        for t in (1_800_000, 1_980_000, 1_980_001, 86_400_000):
            oracle = project.rows(sql.replace("mz_now()", f"timestamp_millis({T0 + t}L)"))
            assert shown(project, model, T0 + t) == sorted(oracle, key=str), (sql, t)
