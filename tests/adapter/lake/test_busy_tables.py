"""A Delta table that is written while a run reads it: the run reads the version that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.run import write_chains
from support.busy import rows_come_at_every_phase, run_beside
from support.instants import T0
from support.project import Project, a_project


@pytest.fixture
def written(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    """A project as elsewhere: here `project` is that of dbt-tests-adapter."""
    yield from a_project(tmp_path, spark)


def test_rows_come_at_every_phase(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_come_at_every_phase(written, monkeypatch, "delta")


def test_another_table_under_its_name(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The feed is asked for by the name of the table, which two tables of as many versions swap."""
    monkeypatch.setattr(write_chains, "PAUSES", (0.0,) * 3)
    names, sql = {name: f"{written.schema}.{name}" for name in "tu"}, "select id from {t} where {now} < hi"
    for name in names.values():
        feed = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
        written.sql(f"CREATE TABLE {name} (id BIGINT, hi BIGINT) USING delta {feed}")

    def insert(first: int) -> None:
        for number, name in enumerate(names.values()):
            written.sql(f"INSERT INTO {name} VALUES ({first + 100 * number}L, {T0 + 60_000}L)")

    def swap() -> None:
        for old, new in (("t", "x"), ("u", "t"), ("x", "u")):
            written.sql(f"ALTER TABLE {written.schema}.{old} RENAME TO {written.schema}.{new}")

    swaps = iter([swap])
    for step in range(3):
        insert(step)
        meanwhile = (lambda: next(swaps, int)()) if step == 1 else int
        run_beside(written, sql.format(t=names["t"], now="mz_now()"), T0 + step, meanwhile)
        read = f"SELECT * FROM ({written.at('m', T0 + step)})"
        oracle = sql.format(t=names["t"], now=f"{T0 + step}L")
        assert sorted(written.rows(read)) == sorted(written.rows(oracle)), step
