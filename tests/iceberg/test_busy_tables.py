"""An Iceberg table that is written or altered while a run reads it: the run reads one state of it."""

from __future__ import annotations

import pytest

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
