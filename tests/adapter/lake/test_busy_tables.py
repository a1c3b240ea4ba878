"""A Delta table that is written while a run reads it: the run reads the version that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse
from dbt.adapters.sparktemporal.run import run as runs
from dbt.adapters.sparktemporal.run.begin import begin

T0 = 1_709_294_400_000
SQL = "select a.id, b.id as other from {t} a join {t} b on a.k = b.k and a.id < b.id where {now} < a.hi"


@pytest.fixture
def written(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    made = Project(tmp_path / "project", spark)
    yield made
    spark.sql(f"DROP DATABASE IF EXISTS {made.schema} CASCADE")


def test_rows_come_at_every_phase(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a join with itself more is read than what is new: that is pinned by VERSION AS OF."""
    project = written
    monkeypatch.setattr(runs, "PAUSES", (0.0,) * 3)
    table, count = f"{project.schema}.busy", 0
    project.spark.sql(f"CREATE TABLE {table} (id BIGINT, k INT, hi BIGINT) USING delta")

    def write() -> None:
        nonlocal count
        count += 1
        project.spark.sql(f"INSERT INTO {table} VALUES ({count}L, {count % 2}, {T0 + 60_000}L)")

    write()
    for number, between in enumerate([write, write, lambda: None]):
        now, seen = T0 + number * 1000, 0
        warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m")
        settings = warehouse.settings()
        sql = SQL.format(t=table, now="mz_now()")
        current = begin(warehouse, target, sql, {}, now, now, settings, warehouse.version())
        seen = count
        for phase in current.phases:
            for step in getattr(current, phase)():
                if phase in ("write", "merge"):
                    between()
                project.spark.sql(step.sql)
        oracle = project.rows(SQL.format(t=f"(SELECT * FROM {table} WHERE id <= {seen})", now=f"{now}L"))
        assert sorted(project.rows(f"SELECT * FROM ({project.at('m', now)})")) == sorted(oracle)
