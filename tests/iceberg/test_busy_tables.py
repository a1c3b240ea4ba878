"""An Iceberg table that is written or altered while a run reads it: the run reads one state of it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.spark.session import Cursor

from support.busy import rows_come_at_every_phase, run_beside
from support.instants import T0
from support.project import Project


@pytest.mark.parametrize("branch", [("", ""), (" version as of 'side'", ".branch_side")])
def test_rows_come_at_every_phase(project: Project, monkeypatch: pytest.MonkeyPatch, branch: tuple[str, str]) -> None:
    rows_come_at_every_phase(project, monkeypatch, "iceberg", branch)


def test_an_alteration_meanwhile(project: Project) -> None:
    """Rows by their snapshot are read under the schema of the moment: here under one with another column v."""
    table, alter = f"{project.schema}.altered", ["DROP COLUMN v", "ADD COLUMN v INT"]
    project.spark.sql(f"CREATE TABLE {table} (id BIGINT, hi BIGINT, v INT) USING iceberg")
    sql, between = f"select id, v from {table} where {{now}} < hi", iter([[], alter])

    def alter_once() -> None:
        for what in next(between, []):
            project.spark.sql(f"ALTER TABLE {table} {what}")

    for now in (T0, T0 + 1):
        project.spark.sql(f"INSERT INTO {table} VALUES ({now}L, {T0 + 60_000}L, 5)")
        run_beside(project, sql.format(now="mz_now()"), now, alter_once)
    shown = project.rows(f"SELECT * FROM ({project.at('m', T0 + 1)})")
    assert sorted(shown) == sorted(project.rows(sql.format(now=f"{T0 + 1}L"))) == [(T0, None), (T0 + 1, None)]


def test_another_session_writes_and_alters(project: Project) -> None:
    """The catalog of a session remembers a table for half a minute, and serves what it was."""
    other, table = project.spark.newSession(), f"files.{project.schema}.t"
    other.sql(f"CREATE TABLE {table} (id BIGINT, hi BIGINT, v INT) USING iceberg")
    project.model("m", f"select * from {table} where mz_now() < hi")
    for after, statement in enumerate(
        [
            f"INSERT INTO {table} VALUES (1, {T0 + 60_000}, 7), (2, {T0 + 2}, 8)",
            f"INSERT INTO {table} VALUES (3, {T0 + 60_000}, 9)",
            f"DELETE FROM {table} WHERE id = 1",
            f"ALTER TABLE {table} ADD COLUMN w INT",
            f"ALTER TABLE {table} RENAME COLUMN v TO u",
            f"UPDATE {table} SET w = 1",
        ]
    ):
        other.sql(statement)
        project.run(now=T0 + after)
        wanted = [tuple(row) for row in other.sql(f"SELECT * FROM {table} WHERE {T0 + after}L < hi").collect()]
        assert sorted(project.rows(project.at("m", T0 + after))) == sorted(wanted), statement
    other.sql(f"DROP TABLE {table}")


@pytest.mark.parametrize("at", range(2, 12, 3))
def test_columns_change_at_a_statement_of_a_run(project: Project, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Names that two columns swap, in a session that sees so at once: what is stored is of before, or of after."""
    table, plain, sent = "{s}.t", Cursor.execute, []
    project.sql(f"CREATE TABLE {table} (id BIGINT, hi BIGINT, k INT, w INT) USING iceberg")
    project.sql(f"INSERT INTO {table} VALUES (1, {T0 + 60_000}, 1, 2)")
    project.model("m", f"select * from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    project.sql(f"INSERT INTO {table} VALUES (2, {T0 + 60_000}, 3, 4)")

    def execute(self: Cursor, sql: str, *parameters: Any) -> None:
        sent.append(sql)
        if len(sent) == at:
            for names in (("k", "x"), ("w", "k"), ("x", "w")):
                project.sql(f"ALTER TABLE {table} RENAME COLUMN {names[0]} TO {names[1]}")
        plain(self, sql, *parameters)

    before = (["id", "hi", "k", "w"], project.rows(f"SELECT * FROM {table} ORDER BY id"))
    monkeypatch.setattr(Cursor, "execute", execute)
    project.run(now=T0 + 1)
    monkeypatch.undo()
    after = (project.columns("t"), project.rows(f"SELECT * FROM {table} ORDER BY id"))
    read = project.at("m", T0 + 1)
    columns = list(project.spark.sql(f"SELECT * FROM {read}").columns)
    assert len(sent) >= at and (columns, sorted(project.rows(f"SELECT * FROM {read}"))) in (before, after)
