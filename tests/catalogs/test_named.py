"""A catalog that the profile names, instead of the session's own."""

from __future__ import annotations

from support.instants import T0
from support.project import Project


def test_a_model(project: Project) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.events USING iceberg AS SELECT id, "
        f"timestamp_millis({T0}L + id * 1000) AS ts FROM range(20)"
    )
    project.model("m", f"select id, ts from {project.schema}.events where mz_now() < ts")
    for run in range(3):
        print(project.run(now=T0 + run * 5000).of("m").message, project.relations())
        assert project.rows(f"SELECT count(*) FROM {project.at('m', T0 + run * 5000)}") == project.rows(
            f"SELECT count(*) FROM {{s}}.events WHERE ts > timestamp_millis({T0 + run * 5000}L)"
        )
        project.sql(f"INSERT INTO {{s}}.events SELECT 100 + {run}, timestamp_millis({T0}L + 60000)")
    print(project.run(now=T0 + 20000).of("m").message)
    print(project.run(now=T0 + 20000).of("m").message)
