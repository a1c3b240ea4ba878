"""method: session with SPARK_REMOTE=sc://…: a client without a JVM. make test-connect runs other folders there too."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.flights import build_flights
from support.instants import T0
from support.project import Project


@pytest.fixture
def project(project: Project) -> Project:
    if not type(project.spark).__module__.startswith("pyspark.sql.connect"):
        pytest.skip("the option --catalog is not connect")
    return project


def test_a_model(project: Project) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)"
    )
    project.model("m", f"select * from {project.schema}.t where mz_now() < hi", expiration="1 day")
    for n in range(3):
        project.run(now=T0 + n)
        for t in (T0 + n, T0 + 2999, T0 + 3000, T0 + 3001):
            written = f"SELECT * FROM {{s}}.t WHERE timestamp_millis({t}L) < hi"
            assert sorted(project.rows(f"SELECT * FROM {project.at('m', t)}")) == sorted(project.rows(written))
        project.sql(f"INSERT INTO {{s}}.t VALUES ({100 + n}L, timestamp_millis({T0}L + 2500))")
    refused = project.run("-s", "m", now=T0 - 100_000, check=False)
    assert "before the last change captured by m" in refused.text


def test_the_flights(project: Project, tmp_path: Path) -> None:
    build_flights(project.connection, tmp_path)
