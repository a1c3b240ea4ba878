"""Things that are redefined between two runs: functions, views, variables, tables, the current schema.

Whatever was redefined, after the second run the view is the query as written, run by Spark now; or the run was refused
in clear words and left everything as it was. Each case is a model of its own, and two dbt runs drive all of them. The
settings of a session have a test of their own (engine/test_settings.py): to change one is to rebuild every model.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from support.instants import T0
from support.project import Project

T1 = T0 + 2_000
ORDINARY = 9

Define = Callable[[Project, str, int], None]


def statements(*texts: str) -> Define:
    """What is run to define it as of a version; {n} a name of the case, {s} the schema, {a} a number that changes."""

    def define(project: Project, name: str, version: int) -> None:
        for text in texts:
            known = {"n": name, "s": project.schema, "a": version * 7 + 1, "path": project.path / name, "v": version}
            project.spark.sql(text.format(**known))

    return define


def python(project: Project, name: str, version: int) -> None:
    project.spark.udf.register(name, lambda x: None if x is None else x + version * 7 + 1, "bigint")


def in_both(text: str) -> Define:
    """A function in each of the schemas that are current, before and after."""

    def define(project: Project, name: str, version: int) -> None:
        for number in (0, 1):
            statements(text.replace("{n}", f"{{s}}_{number}.{{n}}"))(project, name, version)

    return define


def current_schema(project: Project, name: str, version: int) -> None:
    """Two functions of one name, and the current schema says which."""
    for number in (0, 1):
        body = f"RETURNS BIGINT RETURN x + {number * 7 + 1}"
        project.spark.sql(f"CREATE OR REPLACE FUNCTION {project.schema}_{number}.{name}(x BIGINT) {body}")
    project.spark.sql(f"USE {project.schema}_{version}")


def default(project: Project, name: str, version: int) -> None:
    """A table over files of before the column was added."""
    folder = project.path / name
    if not version:
        project.spark.table(f"{project.schema}.t_False").write.parquet(str(folder))
    project.spark.sql(f"DROP TABLE IF EXISTS {project.schema}.{name}")
    columns = f"id BIGINT, v BIGINT, hi TIMESTAMP, w BIGINT DEFAULT {version * 7 + 1}"
    project.spark.sql(f"CREATE TABLE {project.schema}.{name} ({columns}) USING parquet LOCATION '{folder}'")


def recreated(column: str, location: str) -> Define:
    """A table that is dropped and made again over other columns, or at another place."""

    def define(project: Project, name: str, version: int) -> None:
        for number in (0, 1):
            folder = project.path / f"{name}_{number}"
            if not folder.exists():
                query = f"SELECT id, v + {number} AS v, v * 3 AS w, hi FROM {project.schema}.t_False"
                project.spark.sql(query).write.parquet(str(folder))
        project.spark.sql(f"DROP TABLE IF EXISTS {project.schema}.{name}")
        columns = f"id BIGINT, {column.format(v='vw'[version])} BIGINT, hi TIMESTAMP"
        place = project.path / f"{name}_{location.format(v=version)}"
        project.spark.sql(f"CREATE TABLE {project.schema}.{name} ({columns}) USING parquet LOCATION '{place}'")

    return define


@dataclass(frozen=True)
class Kind:
    """define: makes it as of a version. value: an expression over a column v. source: a table in place of the rows."""

    define: Define
    value: str
    source: str = ""
    temporary: bool = False


_F = "FUNCTION {s}.{n}(x BIGINT) RETURNS BIGINT RETURN"
KINDS = {
    "sql_function": Kind(statements(f"CREATE OR REPLACE {_F} x + {{a}}"), "{s}.{n}(v)"),
    "called_by_function": Kind(
        statements(
            f"CREATE OR REPLACE {_F} x + {{a}}",
            "CREATE OR REPLACE FUNCTION {s}.{n}_2(x BIGINT) RETURNS BIGINT RETURN {s}.{n}(x) * 2",
            "CREATE OR REPLACE FUNCTION {s}.{n}_3(x BIGINT) RETURNS BIGINT RETURN {s}.{n}_2(x) - x",
        ),
        "{s}.{n}_3(v)",
    ),
    "table_function": Kind(
        in_both("CREATE OR REPLACE FUNCTION {n}(x BIGINT) RETURNS TABLE(y BIGINT) RETURN SELECT x + {a}"),
        "(select max(y) from {n}(3)) + v",  # Spark takes no schema there
    ),
    "reads_a_table": Kind(
        statements(
            "CREATE OR REPLACE FUNCTION {s}.{n}(x BIGINT) RETURNS BIGINT "
            "RETURN x + (SELECT count(*) + {a} FROM {s}.t_True)"
        ),
        "{s}.{n}(v)",
    ),
    "below_a_view": Kind(
        statements(
            f"CREATE OR REPLACE {_F} x + {{a}}",
            "CREATE VIEW IF NOT EXISTS {s}.{n}_v AS SELECT id AS i, {s}.{n}(id) AS y FROM {s}.t_False",
        ),
        "(select max(y) from {s}.{n}_v) + v",
    ),
    "unqualified": Kind(current_schema, "{n}(v)"),
    "temporary_function": Kind(
        statements("CREATE OR REPLACE TEMPORARY FUNCTION {n}(x BIGINT) RETURNS BIGINT RETURN x + {a}"),
        "{n}(v)",
        temporary=True,
    ),
    "python_function": Kind(python, "{n}(v)", temporary=True),
    "temporary_rows": Kind(
        statements("CREATE OR REPLACE TEMPORARY VIEW {n} AS SELECT * FROM VALUES ({a}L), (0L) AS x(y)"),
        "(select max(y) from {n}) + v",
        temporary=True,
    ),
    "variable": Kind(
        statements("DECLARE OR REPLACE VARIABLE {n} BIGINT DEFAULT {a}"), "v + {n}", temporary=True
    ),
    "variable_in_values": Kind(
        statements("DECLARE OR REPLACE VARIABLE {n} BIGINT DEFAULT {a}"),
        "(select max(y) from values ({n}), (0L) as x(y)) + v",
        temporary=True,
    ),
    # what it holds is the instant of the run, which another one has later
    "variable_of_the_run": Kind(
        lambda project, name, version: statements(
            f"DECLARE OR REPLACE VARIABLE {{n}} BIGINT DEFAULT {(T0, T1)[version]}"
        )(project, name, version),
        f"v + {{n}} - {T0}",
        temporary=True,
    ),
    "column_default": Kind(default, "w + v", "{s}.{n}"),
    "other_columns": Kind(recreated("{v} BIGINT, id2", "0"), "v", "(select * from {s}.{n})"),
    "other_place": Kind(recreated("v", "{v}"), "v", "{s}.{n}"),
    "the_session": Kind(current_schema, "length(current_database()) * 0 + hash(current_database()) % 1000 + v"),
}  # fmt: skip

PLACES = {
    "core_where": "select id, v from {t} where {x} % 3 <> 0 and mz_now() < hi",
    "core_select": "select id, {x} as x from {t} where mz_now() < hi",
    "residual": (
        "with live as (select * from {t} where mz_now() < hi) "
        "select id, row_number() over (order by id) as n, {x} as x from live"
    ),
    "below_a_view": "select id, x from {view} where mz_now() < hi",
}
CASES = list(product(KINDS, PLACES, (True, False)))


@dataclass
class Case:
    number: int
    kind: str
    place: str
    grows: bool

    @property
    def model(self) -> str:
        return f"m{self.number}"

    def query(self, project: Project) -> str:
        kind, name = KINDS[self.kind], f"r{self.number}"
        known = {"s": project.schema, "n": name}
        view = f"{name}_over" if kind.temporary else f"{project.schema}.{name}_over"
        source = kind.source.format(**known) or f"{project.schema}.t_{self.grows}"
        return PLACES[self.place].format(t=source, x=kind.value.format(**known), view=view)

    def define(self, project: Project, version: int) -> None:
        kind, name = KINDS[self.kind], f"r{self.number}"
        kind.define(project, name, version)
        if self.place != "below_a_view" or version:
            return
        known = {"s": project.schema, "n": name}
        source = kind.source.format(**known) or f"{project.schema}.t_{self.grows}"
        made = "TEMPORARY VIEW {n}_over" if kind.temporary else "VIEW {s}.{n}_over"
        query = f"SELECT id, hi, {kind.value.format(**known)} AS x FROM {source}"
        project.spark.sql(f"CREATE OR REPLACE {made.format(**known)} AS {query}")


def rows(project: Project, sql: str) -> list[str]:
    return sorted(map(str, project.rows(sql)))


def wrong(project: Project, case: Case) -> str:
    """The view against the query as written, with the instant put in, where rows leave and around it."""
    instants = (T1, *(T0 + n * 1000 + d for n in (4, 9) for d in (-1, 0, 1)))
    for t, read in project.at_each(case.model, instants).items():
        wanted = rows(project, case.query(project).replace("mz_now()", f"timestamp_millis({t}L)"))
        found = rows(project, f"select * from {read}")
        if found != wanted:
            return f"{case} at {t - T0}: {case.query(project)}\n  has {found}\n  not {wanted}"
    return ""


def is_refused(outcome: Any) -> bool:
    if outcome.status != "error":
        return False
    clear = all(word in outcome.message for word in ("found: ", "why: ", "instead: "))
    assert clear or "UNRESOLVED_COLUMN" in outcome.message, outcome.message
    return True


def drive(project: Project, cases: list[Case]) -> dict[str, str]:
    """Two runs of all cases, what they read redefined in between -> case: what became of it."""
    for number in (0, 1):
        project.spark.sql(f"CREATE DATABASE {project.schema}_{number}")
    project.spark.sql(f"USE {project.schema}_0")
    for grows in (True, False):
        project.sql(
            f"CREATE TABLE {{s}}.t_{grows} USING parquet AS "
            f"SELECT id, id * 2 AS v, timestamp_millis({T0}L + id * 1000) AS hi FROM range(12)"
        )
    for case in cases:
        case.define(project, 0)
    for case in cases:  # after all: a current schema is of all of them
        project.model(case.model, case.query(project))
    result = project.run(now=T0, check=False)
    became = {case.model: "refused" for case in cases if is_refused(result.of(case.model))}
    left = [case for case in cases if case.model not in became]
    mistakes: list[str] = []
    before = set(project.rows("SHOW TABLES IN {s} LIKE 'm*'"))
    for case in left:
        case.define(project, 1)
    project.sql(f"INSERT INTO {{s}}.t_True SELECT 99, 198, timestamp_millis({T0}L + 99000)")
    if left:
        result = project.run("-s", *(case.model for case in left), now=T1, check=False)
    for case in left:
        if is_refused(result.of(case.model)):
            of_it = {name for _, name, _ in before if name.startswith(f"{case.model}__")}
            now = {name for _, name, _ in project.rows(f"SHOW TABLES IN {{s}} LIKE '{case.model}__*'")}
            assert of_it == now, case
            became[case.model] = "refused later"
            continue
        outcome = result.of(case.model)
        assert outcome.status == "success", (case, outcome.message)
        became[case.model] = outcome.message
        if told := wrong(project, case):
            mistakes.append(f"{outcome.message}: {told}")
    assert not mistakes, "\n".join(mistakes)
    return became


@pytest.fixture
def tidied(project: Project) -> Any:
    if project.spark.version < "4":
        pytest.skip("functions in SQL are younger than this Spark")
    yield project
    project.spark.sql("USE default")
    for number in (0, 1):
        project.spark.sql(f"DROP DATABASE IF EXISTS {project.schema}_{number} CASCADE")


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [2, ORDINARY])
def test_redefined(tidied: Project, count: int) -> None:
    """A slice that has each kind in one place, the places in turn."""
    rng = random.Random(20)
    kinds = rng.sample(sorted(KINDS), count)
    places = [sorted(PLACES)[i % len(PLACES)] for i in range(len(kinds))]
    cases = [Case(i, k, p, rng.random() < 0.5) for i, (k, p) in enumerate(zip(kinds, places))]
    became = drive(tidied, cases)
    assert not all("refused" in said for said in became.values())


@pytest.mark.deep
@pytest.mark.parametrize("part", range(8))
def test_all_that_is_redefined(tidied: Project, part: int) -> None:
    cases = [Case(i, *case) for i, case in enumerate(CASES) if i % 8 == part]
    drive(tidied, cases)
