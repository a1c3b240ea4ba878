"""The model that runs of these tests fail, wait for and take over."""

from __future__ import annotations

import pytest

from support.instants import T0
from support.project import Project


@pytest.fixture
def written(project: Project) -> Project:
    """A model of ten rows that has never run."""
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(10)")
    project.model("m", f"select id from {project.schema}.events where mz_now() >= timestamp_millis(id)")
    return project


@pytest.fixture
def model(written: Project) -> Project:
    """The model, run at T0."""
    written.run(now=T0)
    return written
