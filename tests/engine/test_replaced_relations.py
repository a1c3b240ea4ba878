"""A model that changes its materialization: what stood keeps answering until the new content stands."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from support.instants import T0
from support.project import Project

pytestmark = pytest.mark.metastore

#: what a new temporal_view `m` may be refused for, by its query or its config
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "config": ("select id from {s}.events where mz_now() >= ts", {"expiration": "3 moons"}, "3 moons"),
    "predicate": ("select id from {s}.events where mz_now() < 0.5D", {}, "DOUBLE"),
    "no_clock": ("select id from {s}.events", {}, "has no mz_now()"),
    "column": ("select nope from {s}.events where mz_now() >= ts", {}, "UNRESOLVED_COLUMN"),
    "at_runtime": (
        "select id, cast(raise_error('boom ' || id) as string) as x from {s}.events where mz_now() >= ts",
        {},
        "boom",
    ),
    "itself": ("select id from {{{{ this }}}} where mz_now() >= timestamp_millis(id)", {}, "reads itself"),
    "contract": (
        "select id from {s}.events where mz_now() >= ts",
        {"contract": {"enforced": True}},
        "contract",
    ),
    "pre_hook": ("select id from {s}.events where mz_now() >= ts", {"pre_hook": "select nope"}, "nope"),
}


def events(project: Project, rows: int = 10) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.events USING parquet AS SELECT id, timestamp_millis({T0}L) AS ts FROM range({rows})"
    )


def window(project: Project, name: str = "m", **config: Any) -> None:
    project.model(name, f"select id, ts from {project.schema}.events where mz_now() >= ts", **config)


def former(project: Project, kind: str, rows: int = 7) -> None:
    extra: dict[str, Any] = {"incremental_strategy": "append"} if kind == "incremental" else {}
    project.model("m", f"select id from range({rows})", materialized=kind, **extra)


# ---- to a temporal_view ----------------------------------------------------------------------------------------------


@pytest.mark.first(2)
@pytest.mark.parametrize("kind", ["table", "incremental", "view"])
@pytest.mark.landing
def test_a_refused_model_leaves_what_stood_in_its_place(project: Project, kind: str) -> None:
    events(project)
    former(project, kind)
    project.run(now=T0)
    contracted = [{"name": "m", "columns": [{"name": "id", "data_type": "string"}]}]
    for name, (sql, config, words) in REFUSED.items():
        if kind == "view" and name == "itself":
            continue  # Spark itself finds the circle: see test_a_model_that_reads_itself
        project.write("models/schema.yml", json.dumps({"models": contracted if name == "contract" else []}))
        project.model("m", sql.format(s=project.schema), **config)
        for refresh in ([], ["--full-refresh"]):
            result = project.run(*refresh, now=T0, check=False)
            assert not result.success and words in result.text, (name, result.text)
            assert project.count() == 7 and project.relations() == {"events", "m"}, name
    project.write("models/schema.yml", "{}")
    window(project)
    project.run(now=T0)
    assert project.count() == 10


@pytest.mark.landing
def test_a_model_that_reads_itself(project: Project) -> None:
    """The relation it would replace cannot be its input: the next run would find the view in its place."""
    events(project)
    project.model("m", "select id from {{ this }} where mz_now() >= timestamp_millis(id)")
    first = project.run(now=T0, check=False).text
    assert f"ST376 found: {project.schema}.m in the query of m itself" in first and "no {{ this }}" in first
    former(project, "table")
    project.run(now=T0)
    project.model("m", "select id from {{ this }} where mz_now() >= timestamp_millis(id)")
    for _ in range(2):
        text = project.run(now=T0, check=False).text
        assert f"found: {project.schema}.m in the query of m itself" in text
        assert "why: a temporal_view that reads itself" in text and "instead: another name" in text
        assert project.count() == 7
    window(project)
    project.run(now=T0)
    project.model("m", "select id from {{ this }} where mz_now() >= timestamp_millis(id)")
    assert "in the query of m itself" in project.run(now=T0, check=False).text
    assert project.count() == 10


@pytest.mark.landing
def test_the_table_goes_last(project: Project) -> None:
    events(project)
    former(project, "table")
    project.run(now=T0)
    window(project, post_hook="insert into {{ this.schema }}.seen select count(*) from {{ this }}")
    project.sql("CREATE TABLE {s}.seen (n BIGINT) USING parquet")
    assert "the table of that name is dropped" in project.run(now=T0).text
    purposes = [
        line[3:]
        for line in (project.path / "target/run/proj/models/m.sql").read_text().splitlines()
        if line.startswith("-- ")
    ]
    assert purposes[-2:] == ["the table of that name gives way", "the view"]
    assert "commit" in purposes[:-2] and "the updates, readable" in purposes[:-2]
    assert project.rows("SELECT * FROM {s}.seen") == [(10,)]
    former(project, "table", 3)
    project.run(now=T0)  # dbt's cache knows that it is a view now
    assert project.count() == 3 and project.relations() == {"events", "m", "seen"}


SWITCH = ("DROP TABLE IF EXISTS `s`.`m`", "CREATE VIEW `s`.`m` ")
COMMIT = (
    "CREATE TABLE `s`.`m__lock`",
    "CREATE TABLE `s`.`m__diffs",
    "CREATE VIEW `s`.`m__live`",
    "CREATE VIEW `s`.`m__diffs`",
)


@pytest.mark.first(1)
@pytest.mark.parametrize("config", [{}, {"refresh_every": "1 day", "refresh_at": "2024-03-01 12:00:00"}])
@pytest.mark.parametrize("statements", [SWITCH, COMMIT])
@pytest.mark.landing
def test_a_kill_in_a_switch(
    project: Project, statements: tuple[str, ...], config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old rows or new ones, or an error for the moment between two statements; the next run repairs."""
    events(project)
    original = SparkTemporalConnectionManager.add_query
    for statement in statements:
        former(project, "table")
        project.run(now=T0)
        window(project, **config)
        hit: list[str] = []

        def crashing(self: Any, sql: str, *args: Any, at: str = statement, hit: Any = hit, **kwargs: Any) -> Any:
            text = sql.split("*/", 1)[-1] if sql.lstrip().startswith("/*") else sql
            if hit or " ".join(text.replace(project.schema, "s").split()).startswith(at):
                hit.append(text)
                raise RuntimeError("the process is gone")
            return original(self, sql, *args, **kwargs)

        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", crashing)
        project.run(now=T0, check=False)
        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", original)
        assert hit, statement
        if statement == SWITCH[1]:
            assert "m" not in project.relations() and project.count("m__live") == 10
        else:
            assert project.count() == 7, statement
        project.run(now=T0)
        assert project.count() == 10 and project.count("m__diffs") == 10, statement


# ---- from a temporal_view --------------------------------------------------------------------------------------------


@pytest.mark.first(2)
@pytest.mark.parametrize("kind", ["table", "incremental", "view"])
@pytest.mark.landing
def test_a_failing_successor_leaves_the_temporal_view(project: Project, kind: str) -> None:
    """People read their own error, and the temporal_view answers as before."""
    events(project)
    window(project)
    project.run(now=T0)
    failing = {"select nope from range(3)": "nope", "select raise_error('boom') as id from range(3)": "boom"}
    for sql, words in failing.items():
        if kind == "view" and words == "boom":
            continue  # no query runs when a view is made
        extra: dict[str, Any] = {"incremental_strategy": "append"} if kind == "incremental" else {}
        project.model("m", sql, materialized=kind, **extra)
        result = project.run(now=T0, check=False)
        assert not result.success and words in result.text, result.text
        assert "TABLE_OR_VIEW_NOT_FOUND" not in result.text
        assert project.count() == 10 and {"m", "m__live", "m__diffs"} <= project.relations()
    former(project, kind)
    project.run(now=T0)
    assert project.count() == 7 and project.relations() == {"events", "m"}


@pytest.mark.landing
def test_a_failing_successor_and_back(project: Project) -> None:
    events(project)
    window(project)
    project.run(now=T0)
    project.model("m", "select nope", materialized="table")
    assert not project.run(now=T0, check=False).success
    project.sql("INSERT INTO {s}.events VALUES (99, timestamp_millis(5))")
    window(project)
    assert "advanced" in project.run(now=T0 + 1).of("m").message
    assert project.count() == 11


@pytest.mark.landing
def test_a_clone_of_what_is_not_there_drops_nothing(project: Project) -> None:
    project.has_artifacts = True
    events(project)
    window(project)
    project.run(now=T0)
    shutil.copytree(project.path / "target", project.path / "prod")
    profiles = json.loads((project.path / "profiles.yml").read_text())
    profiles["proj"]["outputs"]["dev"]["schema"] = dev = project.schema + "_dev"
    project.write("profiles.yml", json.dumps(profiles))
    project.sql(f"CREATE DATABASE {dev}; CREATE TABLE {dev}.m USING parquet AS SELECT 5 AS id")
    project.sql("DROP VIEW {s}.m")
    try:
        result = project.dbt("clone", "-s", "m", "--state", "prod", "--full-refresh", check=False)
        assert not result.success and "found: no" in result.text and "instead: " in result.text
        assert project.rows(f"SELECT * FROM {dev}.m") == [(5,)]
    finally:
        project.spark.sql(f"DROP DATABASE {dev} CASCADE")
