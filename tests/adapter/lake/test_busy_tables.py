"""A Delta table that is written while a run reads it: the run reads the version that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.busy import rows_come_at_every_phase
from support.project import Project, a_project


@pytest.fixture
def written(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    """A project as elsewhere: here `project` is that of dbt-tests-adapter."""
    yield from a_project(tmp_path, spark)


def test_rows_come_at_every_phase(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_come_at_every_phase(written, monkeypatch, "delta")
