"""A catalog of tables alone: the commit is a row of a table, and views are in another catalog, or nowhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine import commit_records
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.over_time.reads import now as read_now
from dbt.adapters.sparktemporal.run.first_commit import first_commit
from support.instants import T0, Y2100
from support.named_catalogs import PLAIN, without_views
from support.project import Project, is_named
from support.rivals import take_over

ROWS = f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"
BEFORE = "select id, ts from {}.events where mz_now() < ts"
AFTER = "select id from {}.events where mz_now() >= ts"


def placed(folder: Path, spark: Any, **profile: str) -> Iterator[Project]:
    """A project in the catalog without views, with `events`. profile: more of its target."""
    if not is_named(spark):
        pytest.skip("the option --catalog names none")
    before = spark.conf.get("spark.sql.defaultCatalog")
    if before == PLAIN:
        pytest.skip("no table of Iceberg can be made")
    catalog = without_views(before)
    spark.conf.set("spark.sql.defaultCatalog", catalog)
    try:
        connection = {"method": "session", "host": "local", "catalog": catalog, **profile}
        made = Project(folder / f"project{len(profile)}", spark, connection)
        made.sql(f"CREATE TABLE {{s}}.events USING iceberg AS {ROWS.format(0, 20)}")
        yield made
        made.drop()
    finally:
        spark.conf.set("spark.sql.defaultCatalog", before)


@pytest.fixture
def alone(tmp_path: Path, spark: Any) -> Iterator[Project]:
    yield from placed(tmp_path, spark, views_in="none")


@pytest.fixture
def beside(tmp_path: Path, spark: Any) -> Iterator[Project]:
    """With the views in a schema of the session's own catalog."""
    schema = f"v_{tmp_path.name.replace('-', '_')}".lower()[:60]
    spark.sql(f"CREATE DATABASE IF NOT EXISTS spark_catalog.{schema}")
    try:
        yield from placed(tmp_path, spark, views_in=f"spark_catalog.{schema}")
    finally:
        spark.sql(f"DROP DATABASE spark_catalog.{schema} CASCADE")


@pytest.fixture
def unsaid(tmp_path: Path, spark: Any) -> Iterator[Project]:
    yield from placed(tmp_path, spark)


def right_at(project: Project, *instants: int, model: str = "m") -> None:
    for t in instants:
        written = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts"
        assert sorted(project.rows(f"SELECT id FROM {project.at(model, t)}")) == sorted(project.rows(written)), t


def text_of(project: Project, model: str = "m") -> str:
    """What a reader gets from `temporal_read`, in a session of its own."""
    session = project.spark.newSession()
    session.conf.set("spark.sql.defaultCatalog", project.connection["catalog"])
    warehouse = Warehouse(lambda sql: [tuple(row) for row in session.sql(sql).collect()])
    return str(read_now(warehouse, ModelRelations(f"`{project.schema}`", model, ""), None))


def test_a_history_without_a_view(alone: Project) -> None:
    """Runs, a quiet run, corrections, operations; what is left in the end is the input."""
    alone.model("m", BEFORE.format(alone.schema))
    assert "hydrated, 20 rows" in alone.run(now=T0 - 1).of("m").message
    right_at(alone, T0 - 1, T0, T0 + 1, T0 + 5000)
    alone.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}; DELETE FROM {{s}}.events WHERE id = 3")
    ran = alone.run(now=T0).of("m")
    assert "changes (2 snapshots)" in ran.adapter_response["inputs"][0], ran.adapter_response
    right_at(alone, T0, T0 + 2999, T0 + 3000, T0 + 21_999)
    commits = alone.rows("SELECT snapshot_id FROM {s}.m__live.snapshots")
    assert "unchanged" in alone.run(now=T0 + 1).of("m").message
    assert alone.rows("SELECT snapshot_id FROM {s}.m__live.snapshots") == commits and len(commits) == 2
    assert not {"m", "m__diffs", "m__lock"} & alone.relations() and "m__live" in alone.relations()
    alone.dbt("run-operation", "temporal_consolidate", "--args", "{model: m}")
    assert len(alone.state().chains) == 1
    right_at(alone, T0, T0 + 3000)
    alone.dbt("run-operation", "temporal_restart", "--args", "{model: m}")
    assert "restarted" in alone.run(now=T0 + 5000).of("m").message
    right_at(alone, T0 + 5000, T0 + 5001, T0 + 21_000)
    assert "| bytes " in alone.dbt("run-operation", "temporal_status").text
    (alone.path / "models" / "m.sql").unlink()
    alone.dbt("run-operation", "temporal_drop", "--args", "{dry_run: false}")
    assert alone.relations() == {"events"}


def test_reads_by_the_macro(alone: Project) -> None:
    """`temporal_read` in a table, at the wall clock and at a pinned one; the data tests of temporal views."""
    alone.sql("INSERT INTO {s}.events VALUES (99, timestamp '2100-01-01 00:00:00')")
    alone.model("m", BEFORE.format(alone.schema), expiration="40000 days")
    alone.properties(
        {"models": [{"name": "m", "data_tests": ["temporal_matches_source", "temporal_diffs_consistent"]}]}
    )
    alone.run("-s", "m", now=T0 - 1)
    copied = "select id from {{ temporal_read(ref('m')) }} where id > 3"
    alone.model("copied", copied, materialized="table", file_format="iceberg")
    alone.run("-s", "copied", now=T0 + 15_000)
    assert sorted(alone.rows("SELECT id FROM {s}.copied")) == [(16,), (17,), (18,), (19,), (99,)]
    alone.run("-s", "copied")
    assert alone.rows("SELECT id FROM {s}.copied") == [(99,)]
    alone.dbt("test", "-s", "m", now=T0 - 1)
    result = alone.run("-s", "copied", now=Y2100 * 2, check=False)
    assert "why: the model can be read from" in result.text
    text = text_of(alone)
    assert alone.rows(f"SELECT id FROM {text}") == [(99,)] and "expired at" in text


def test_macros_where_they_are_not_needed(alone: Project) -> None:
    """A temporal view reads another one by ref(); a mistake says what to write."""
    alone.model("m", BEFORE.format(alone.schema))
    alone.model("over", "select id, ts from {{ ref('m') }} where mz_now() < ts - interval 2 seconds")
    alone.run(now=T0 - 1)
    for t in (T0 - 1, T0, T0 + 4999, T0 + 5000):
        oracle = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts - interval 2 seconds"
        assert sorted(alone.rows(f"SELECT id FROM {alone.at('over', t)}")) == sorted(alone.rows(oracle)), t
    alone.model("over", "select id, ts from {{ temporal_read(ref('m')) }} where mz_now() < ts")
    result = alone.run("-s", "over", now=T0, check=False)
    assert "found: temporal_read in the temporal_view over" in result.text
    assert "instead: {{ ref('m') }}" in result.text
    assert (
        "found: temporal_read without a model"
        in alone.dbt("compile", "--inline", "{{ temporal_read() }}", check=False).text
    )


def test_views_elsewhere(beside: Project) -> None:
    """The views of another catalog follow each commit, and are mended by a run with nothing new."""
    there = beside.connection["views_in"]
    beside.sql("INSERT INTO {s}.events VALUES (99, timestamp '2100-01-01 00:00:00')")
    documented = {"relation": True, "columns": True}
    beside.model("m", BEFORE.format(beside.schema), persist_docs=documented)
    beside.properties(
        {"models": [{"name": "m", "description": "it's", "columns": [{"name": "id", "description": "k"}]}]}
    )
    beside.run(now=T0 - 1)
    assert beside.relations(there) == {"m", "m__live", "m__diffs"} and "m" not in beside.relations()
    assert beside.rows(f"SELECT id FROM {there}.m") == [(99,)]
    assert ("id", "bigint", "k") in beside.rows(f"DESCRIBE TABLE {there}.m")
    updates = f"SELECT count(*), sum(mz_diff) FROM {there}.m__diffs"
    assert beside.rows(updates) == [(42, 0)]
    outside = beside.target("m").outside
    assert outside is not None
    before = Warehouse(beside.rows).view(outside.name("__live"))
    assert before is not None and before.namespace[0] == beside.connection["catalog"]
    beside.sql("INSERT INTO {s}.events VALUES (98, timestamp '2100-01-01 00:00:00')")
    beside.run(now=T0)
    assert sorted(beside.rows(f"SELECT id FROM {there}.m")) == [(98,), (99,)]
    pinned = f"select count(*) as n from {there}.m"
    beside.model("n", pinned, materialized="table", file_format="iceberg")
    beside.run("-s", "n", now=T0 + 500)
    assert beside.rows("SELECT n FROM {s}.n") == [(21,)]
    # as a run leaves it that was killed right after its commit
    for broken in (f"DROP VIEW {there}.m", f"ALTER VIEW {there}.m__live AS {before.text}"):
        beside.spark.sql(broken)
        assert "unchanged" in beside.run("-s", "m", now=T0 + 600).of("m").message
        assert sorted(beside.rows(f"SELECT id FROM {there}.m")) == [(98,), (99,)]
    (beside.path / "models" / "m.sql").unlink()
    beside.properties({})
    beside.dbt("run-operation", "temporal_drop", "--args", "{dry_run: false}")
    assert beside.relations() == {"events", "n"} and not beside.relations(there)


def test_a_model_of_another_schema_has_the_views(beside: Project) -> None:
    """Two targets, or two projects, with one `views_in`: neither replaces or drops the views of the other."""
    beside.model("m", BEFORE.format(beside.schema))
    beside.run(now=T0 - 1)
    outside, other = beside.target("m").outside, f"{beside.schema}_other"
    assert outside is not None
    text = f"SHOW CREATE TABLE {outside.name('__live')}"
    before = beside.rows(text)
    try:
        profile = {**beside.connection, "schema": other}
        beside.write("profiles.yml", json.dumps({"proj": {"target": "dev", "outputs": {"dev": profile}}}))
        result = beside.run(now=T0, check=False)
        assert f"and m in the schema {beside.schema}, both with a view " in result.text and "ST201" in result.text
        assert beside.rows(text) == before and beside.rows(f"SHOW TABLES IN {other}") == []
        profile["schema"] = beside.schema
        beside.write("profiles.yml", json.dumps({"proj": {"target": "dev", "outputs": {"dev": profile}}}))
    finally:
        beside.sql(f"DROP DATABASE IF EXISTS {other} CASCADE")
    beside.model("same", BEFORE.format(beside.schema), alias="m", schema="finance")
    result = beside.run("-s", "same", now=T0, check=False)
    assert "ST201" in result.text and "both with a view m in " in result.text


def test_a_table_gives_way(beside: Project) -> None:
    """A model that was a table leaves no stale table behind, and becomes one again."""
    there = beside.connection["views_in"]
    beside.model("m", f"select id, ts from {beside.schema}.events", materialized="table", file_format="iceberg")
    beside.run(now=T0)
    beside.model("m", BEFORE.format(beside.schema))
    beside.run(now=T0)
    assert "m" not in beside.relations() and beside.relations(there) == {"m", "m__live", "m__diffs"}
    right_at(beside, T0, T0 + 1000)
    beside.model("m", f"select id, ts from {beside.schema}.events", materialized="table", file_format="iceberg")
    beside.run(now=T0)
    assert beside.relations() == {"events", "m"} and not beside.relations(there) and beside.count() == 20


def test_one_of_two_commits_wins(alone: Project) -> None:
    """Two runs that follow the same commit, in sessions of their own, at the same moment."""
    alone.model("m", BEFORE.format(alone.schema))
    alone.run(now=T0)
    record = f"{alone.schema}.m__live"
    for turn in range(4):
        ((before,),) = alone.rows(f"SELECT mz_run FROM {record}")
        starts, lost = threading.Barrier(2), [0]

        def commit(who: str, before: str = before, starts: threading.Barrier = starts, lost: list = lost) -> None:
            session = alone.spark.newSession()
            session.conf.set("spark.sql.defaultCatalog", alone.connection["catalog"])
            session.sql(f"SELECT * FROM {record}").collect()  # what a session remembers of the table
            starts.wait()
            try:
                session.sql(commit_records.statement("UPDATE", record, f"text of {who}", who, before)).collect()
            except Exception as error:
                assert "alidat" in str(error) or "onflict" in str(error) or "Missing" in str(error), error
                lost[0] += 1

        threads = [threading.Thread(target=commit, args=(f"r{turn}.{n}",)) for n in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alone.sql(f"REFRESH TABLE {record}")
        ((run, text),) = alone.rows(f"SELECT mz_run, mz_commit FROM {record}")
        assert run in (f"r{turn}.1", f"r{turn}.2") and text == f"text of {run}" and lost[0] <= 1
        written = f"SELECT count(*) FROM {record}.snapshots WHERE summary['added-data-files'] > 0"
        assert alone.rows(written) == [(turn + 2,)]


@pytest.mark.parametrize("words", ["UPDATE `", "__lock"])
def test_a_rival_right_before(alone: Project, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """A whole run by another hand before the lock or the commit of this one: nothing is lost, nothing counted twice."""
    alone.model("m", AFTER.format(alone.schema))
    alone.run(now=T0)
    alone.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 21)}")
    original, left = SparkTemporalConnectionManager.add_query, [1]

    def patched(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        if words in sql and left:
            left.clear()
            alone.sql(f"INSERT INTO {{s}}.events {ROWS.format(21, 22)}")
            take_over(alone, T0 + 500)
        return original(self, sql, *args, **kwargs)

    with monkeypatch.context() as context:
        context.setattr(SparkTemporalConnectionManager, "add_query", patched)
        result = alone.run(now=T0 + 1000, check=False)
    assert not left
    if words == "__lock":  # the rival has committed and gone: this run follows it
        assert result.success, result.text
    else:  # its lock was taken over, and what it wrote is gone
        assert not result.success and alone.state().frontier == T0 + 500
    alone.run(now=T0 + 30_000)
    assert sorted(alone.rows(f"SELECT id FROM {alone.at('m', T0 + 30_000)}")) == [(n,) for n in range(22)]
    assert not [name for name in alone.relations() if "lock" in name]


def test_a_reader_beside(alone: Project) -> None:
    """A reader that asks for the text anew never sees an error, fewer rows, or half a run."""
    alone.model("m", f"select id from {alone.schema}.numbers where mz_now() >= timestamp_millis(id)")
    alone.sql("CREATE TABLE {s}.numbers USING iceberg AS SELECT id FROM range(10)")
    alone.run(now=T0)
    stop, seen, errors = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.append(alone.rows(f"SELECT count(*), max(id) FROM {text_of(alone)}")[0])
            except Exception as error:  # every error counts
                errors.append(str(error)[:500])

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(4):
        alone.sql(f"INSERT INTO {{s}}.numbers VALUES ({10 + n})")
        alone.run(now=T0 + 1000 * (n + 1))
    stop.set()
    reader.join()
    assert errors == [] and seen and all(rows == top + 1 for rows, top in seen)
    assert [rows for rows, _ in seen] == sorted(rows for rows, _ in seen)
    assert alone.rows(f"SELECT count(*) FROM {text_of(alone)}") == [(14,)]


def test_what_is_refused(unsaid: Project, beside: Project, tmp_path: Path) -> None:
    unsaid.model("m", BEFORE.format(unsaid.schema))
    result = unsaid.run(now=T0, check=False)
    assert (
        f"found: schema `{unsaid.schema}` of the catalog {unsaid.connection['catalog']}, which has no views"
        in result.text
    )
    assert "why: a temporal_view is a view. Spark's words: Creating a view is not supported" in result.text
    assert (
        "instead: a catalog that makes, replaces and drops views" in result.text
        and "views_in: <catalog>.<schema>" in result.text
    )
    assert "{{ temporal_read(ref('m')) }} in what reads the model m" in result.text
    assert unsaid.relations() == {"events"}
    beside.model("m", BEFORE.format(beside.schema), grants={"select": ["someone"]})
    result = beside.run(now=T0, check=False)
    assert "found: grants of m, in a catalog without views" in result.text and beside.relations() == {"events"}
    there = beside.connection["views_in"]
    beside.sql(f"CREATE VIEW {there}.m AS SELECT 1 AS a")
    beside.model("m", BEFORE.format(beside.schema))
    result = beside.run(now=T0, check=False)
    assert "m" in beside.relations(there) and beside.relations() == {"events"}
    assert "was made by no run of" in result.text or "found: " in result.text
    assert beside.rows(f"SELECT * FROM {there}.m") == [(1,)]


def test_a_schema_for_views_that_is_not_there(tmp_path: Path, spark: Any) -> None:
    for project in placed(tmp_path, spark, views_in="spark_catalog.mz_nowhere"):
        project.model("m", BEFORE.format(project.schema))
        result = project.run(now=T0, check=False)
        assert "found: views_in: `spark_catalog`.`mz_nowhere` in the profile" in result.text
        assert "instead: a schema that exists, with its catalog" in result.text
        assert project.relations() == {"events"}


def test_a_record_that_was_emptied(alone: Project) -> None:
    alone.model("m", BEFORE.format(alone.schema))
    alone.run(now=T0)
    alone.sql("DELETE FROM {s}.m__live WHERE true")
    result = alone.run(now=T0 + 1, check=False)
    assert f"found: `{alone.schema}`.`m__live` with 0 rows" in result.text
    assert "instead: the snapshot of" in result.text


def test_another_catalog_without_views() -> None:
    """Only a table of Iceberg is known to replace a row in one commit."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("CREATE VIEW"):
            raise ValueError("Catalog other does not support views.")
        return [("other", "1.0", "other")] if "current_catalog" in sql else [("spark.sql.catalog.other", "org.Other")]

    warehouse = Warehouse(ask, catalog="other")
    with pytest.raises(Refusal, match="only Iceberg's is known"):
        first_commit(warehouse, ModelRelations("`s`", "m", ""))


@pytest.mark.parametrize("kind", ["alone", "beside"])
def test_late_rows(kind: str, request: pytest.FixtureRequest) -> None:
    """In tables; the view of them is in the other catalog, or a macro reads the tables. Also while there are none."""
    project: Project = request.getfixturevalue(kind)
    model = f"select id, ts from {project.schema}.events where mz_now() < ts union all "
    model += f"select id * 2 as id, ts from {project.schema}.events where mz_now() < ts + interval 1 second"
    project.model("m", model, store_late=True)
    counted = f"select id % 2 as k, sum(id) as n from {project.schema}.events where mz_now() < ts group by id % 2"
    project.model("counted", counted, store_late=True, aggregates="groups")
    read = "select mz_core, id, mz_until from {{ temporal_late(ref('m')) }}"
    operands = "select k, mz_x0 from {{ temporal_late(ref('counted')) }}"
    project.run(now=T0)
    assert project.rows(project.render(read)) == project.rows(project.render(operands)) == []
    project.sql(f"INSERT INTO {{s}}.events SELECT 50, timestamp_millis({T0}L + 500)")
    project.run(now=T0 + 2000)
    assert project.rows(project.render(operands)) == [(0, 50)]
    found = sorted(project.rows(project.render(read)))
    assert [row[1:] for row in found] == [(50, T0 + 500), (100, T0 + 1500)] and len({row[0] for row in found}) == 2
    if kind == "beside":
        outside = project.target("m").outside
        assert outside is not None
        assert len(project.rows(f"SELECT * FROM {outside.name('__late')}")) == 2
    project.model("m", model)
    project.run("--full-refresh", now=T0 + 3000)
    if kind == "beside":
        assert "m__late" not in {v[1] for v in project.rows(f"SHOW VIEWS IN {outside.schema}")}
