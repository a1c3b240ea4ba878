"""A table that is written while a run reads it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run import write_chains
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.instants import T0
from support.project import Project

SQL = "select a.id, b.id as other from {t} a join {t} b on a.k = b.k and a.id < b.id where {now} < a.hi"


def run_beside(project: Project, sql: str, now: int, between: Callable[[], None]) -> None:
    """A run of a model `m`. between: is called at each phase that reads the inputs."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m")
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version())
    for step in begin(warehouse, target, Definition(sql), invocation).steps(project.spark.sql):
        if step.phase in ("write", "merge"):
            between()


def rows_come_at_every_phase(
    project: Project, monkeypatch: pytest.MonkeyPatch, using: str, branch: tuple[str, str] = ("", "")
) -> None:
    """Of a join with itself more is read than what is new: that is pinned by VERSION AS OF.

    branch: that is read and written, behind the name of the table: in a query, in an INSERT.
    """
    monkeypatch.setattr(write_chains, "PAUSES", (0.0,) * 3)
    table, count = f"{project.schema}.busy", 0
    project.spark.sql(f"CREATE TABLE {table} (id BIGINT, k INT, hi BIGINT) USING {using}")
    if branch[1]:
        project.spark.sql(f"ALTER TABLE {table} CREATE BRANCH {branch[1].partition('branch_')[2]}")

    def write() -> None:
        nonlocal count
        count += 1
        project.spark.sql(f"INSERT INTO {table}{branch[1]} VALUES ({count}L, {count % 2}, {T0 + 60_000}L)")

    write()
    for number, between in enumerate([write, write, lambda: None]):
        now, seen = T0 + number * 1000, count
        run_beside(project, SQL.format(t=table + branch[0], now="mz_now()"), now, between)
        oracle = SQL.format(t=f"(SELECT * FROM {table}{branch[0]} WHERE id <= {seen})", now=f"{now}L")
        assert sorted(project.rows(f"SELECT * FROM ({project.at('m', now)})")) == sorted(project.rows(oracle))
