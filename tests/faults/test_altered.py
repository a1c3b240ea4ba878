"""What a query reads becomes another thing at any statement of a run: its table, a view in it, a function.

What is stored then is of the one or of the other, and the next run is right whatever stands there again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.spark.session import Cursor

from support.instants import T0
from support.project import Project, is_named
from support.sampled import each

pytestmark = pytest.mark.metastore

SQL = "select k, count(*) as n, sum(id) as total from {src} where {now} >= lo and ({now} < hi or hi is null) group by k"
#: what is altered -> what the model reads, how it becomes another, how it is again what it was
KINDS: dict[str, tuple[str, str, str]] = {
    "place": ("{s}.src", "ALTER TABLE {s}.src SET LOCATION '{b}'", "ALTER TABLE {s}.src SET LOCATION '{a}'"),
    "name": (
        "{s}.src",
        "ALTER TABLE {s}.src RENAME TO {s}.away; ALTER TABLE {s}.other RENAME TO {s}.src",
        "ALTER TABLE {s}.src RENAME TO {s}.other; ALTER TABLE {s}.away RENAME TO {s}.src",
    ),
    "table": (
        "{s}.src",
        "DROP TABLE {s}.src; CREATE TABLE {s}.src USING parquet LOCATION '{b}'",
        "DROP TABLE {s}.src; CREATE TABLE {s}.src USING parquet LOCATION '{a}'",
    ),
    "columns": (  # of the same names and types in another order
        "{s}.src",
        "DROP TABLE {s}.src; CREATE TABLE {s}.src USING parquet AS SELECT hi, id, k, lo FROM {s}.other",
        "DROP TABLE {s}.src; CREATE TABLE {s}.src USING parquet LOCATION '{a}'",
    ),
    "view": (
        "{s}.v",
        "CREATE OR REPLACE VIEW {s}.v AS SELECT id, k, lo, hi FROM {s}.other",
        "CREATE OR REPLACE VIEW {s}.v AS SELECT * FROM {s}.src",
    ),
    "function": (
        "(select id, {s}.f(k) as k, lo, hi from {s}.src)",
        "CREATE OR REPLACE FUNCTION {s}.f(x INT) RETURNS INT RETURN x % 2",
        "CREATE OR REPLACE FUNCTION {s}.f(x INT) RETURNS INT RETURN x",
    ),
}


def sources(project: Project, folder: Path, kind: str) -> tuple[str, Callable[[], None], Callable[[], None]]:
    """The tables of a kind -> what the model reads, and what alters it and takes that back in another session."""
    src, there, back = (text.format(s=project.schema, a=folder / "a", b=folder / "b") for text in KINDS[kind])
    # a session goes on with the functions that it knows
    other = project.spark if kind == "function" else project.spark.newSession()

    def send(text: str) -> None:
        for statement in text.split(";"):
            other.sql(statement)

    rows = f"(1L, 1, {T0}L, NULL), (2L, 2, {T0}L, {T0 + 90_000}L), (4L, NULL, {T0}L, NULL)"
    project.sql(f"CREATE TABLE {{s}}.src (id BIGINT, k INT, lo BIGINT, hi BIGINT) USING parquet LOCATION '{folder}/a'")
    project.sql(f"INSERT INTO {{s}}.src VALUES {rows}")
    if kind in ("view", "function"):
        send(back)
    return src, lambda: send(there), lambda: send(back)


@pytest.fixture(autouse=True)
def own_catalog(spark: Any) -> None:
    if is_named(spark):
        pytest.skip("files, places and functions of Spark's own catalog; Iceberg's tables are altered in tests/iceberg")


def outcome(project: Project, src: str, now: int) -> list[tuple[Any, ...]]:
    return sorted(project.rows(SQL.format(src=src, now=f"{now}L")), key=repr)


@pytest.fixture
def altering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int, str], bool], Callable[[], None]], None]:
    """Has something happen before statements of dbt: is_at(how many went before, the text)."""

    def install(is_at: Callable[[int, str], bool], happen: Callable[[], None]) -> None:
        plain, number = Cursor.execute, itertools.count()

        def execute(self: Cursor, sql: str, *parameters: Any) -> None:
            if is_at(next(number), sql):
                happen()
            plain(self, sql, *parameters)

        monkeypatch.setattr(Cursor, "execute", execute)

    return install


def is_write(number: int, sql: str) -> bool:
    """Whether a statement writes a chain."""
    return re.search(r"CREATE TABLE \S+__(?!lock)\S+ ", sql) is not None


def is_number(wanted: int) -> Callable[[int, str], bool]:
    return lambda number, sql: number == wanted


@pytest.mark.quick(2)
@pytest.mark.first(4)
@pytest.mark.parametrize("kind", each(2, ["place", "view", *(kind for kind in KINDS if kind not in ("place", "view"))]))
def test_at_the_write(project: Project, tmp_path: Path, altering: Any, kind: str) -> None:
    assert altered(project, tmp_path, altering, kind, is_write)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_at_each_statement(project: Project, tmp_path: Path, altering: Any, kind: str) -> None:
    at = 0
    while altered(project, tmp_path / str(at), altering, kind, is_number(at)):
        for table in ("src", "other", "away", "one", "two"):
            project.sql(f"DROP TABLE IF EXISTS {{s}}.{table}")
        at += 1
    assert at > 8


def altered(project: Project, folder: Path, altering: Any, kind: str, is_at: Callable[[int, str], bool]) -> bool:
    """Three runs, the second of them beside the alteration -> whether the second came to the statement."""
    src, there, back = sources(project, folder, kind)
    project.model("m", SQL.format(src=src, now="mz_now()"))
    project.run("--full-refresh", now=T0)
    project.sql(f"INSERT INTO {{s}}.src VALUES (50L, 1, {T0}L, NULL), (51L, 3, {T0}L, {T0 + 80_000}L)")
    project.sql(
        f"CREATE TABLE {{s}}.other USING parquet LOCATION '{folder}/b' AS SELECT * FROM {{s}}.src WHERE id <> 4"
    )
    now = T0 + 1000
    wanted = [outcome(project, src, now)]
    happened: list[int] = []

    def happen() -> None:
        happened.append(1)
        if len(happened) == 1:
            there()

    altering(is_at, happen)
    ran = project.run(now=now, check=False)
    if not happened:
        return False
    found = sorted(project.rows(project.at("m", now if ran.success else T0)), key=repr)
    project.sql("REFRESH TABLE {s}.src")
    wanted.append(outcome(project, src, now))
    assert wanted[0] != wanted[1]
    assert ran.success and found in wanted, (kind, ran.text)
    back()
    project.run(now=now + 1000)
    project.sql("REFRESH TABLE {s}.src")
    assert sorted(project.rows(project.at("m", now + 1000)), key=repr) == outcome(project, src, now + 1000)
    return True


@pytest.mark.landing
def test_a_view_that_is_redefined_all_the_time(project: Project, tmp_path: Path, altering: Any) -> None:
    """A run begins again once. Then it fails in words, and the view answers what the last run stored."""
    src, there, back = sources(project, tmp_path, "view")
    project.sql("CREATE TABLE {s}.other USING parquet AS SELECT * FROM {s}.src WHERE id > 1")
    project.model("m", SQL.format(src=src, now="mz_now()"))
    project.run(now=T0)
    stored, relations = sorted(project.rows(project.at("m", T0)), key=repr), project.relations()
    project.sql(f"INSERT INTO {{s}}.src VALUES (50L, 1, {T0}L, NULL)")
    turns = itertools.cycle([there, back])
    altering(is_write, lambda: next(turns)())
    ran = project.run(now=T0 + 1, check=False)
    assert not ran.success and "found: while m was read, a view below changed" in ran.text
    assert "why: what is stored must be of one query" in ran.text and "instead: dbt run -s m again" in ran.text
    assert sorted(project.rows(project.at("m", T0)), key=repr) == stored and project.relations() == relations
