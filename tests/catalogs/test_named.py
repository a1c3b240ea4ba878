"""A catalog that the profile names in place of the session's own. make test-catalogs runs other folders there too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import matches_source
from support.flights import build_flights
from support.instants import HOUR, T0
from support.named_catalogs import NESSIE, PLAIN
from support.project import Project, is_named
from support.recorded import reader_beside
from support.session import in_the_default_catalog

ROWS = f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"


@pytest.fixture
def events(project: Project) -> Project:
    if not is_named(project.spark):
        pytest.skip("the option --catalog names none")
    if "views_in" in project.connection:
        pytest.skip("the catalog has no views: test_without_views.py is about it")
    project.sql(f"CREATE TABLE {{s}}.events AS {ROWS.format(0, 20)}")
    return project


@pytest.fixture
def snapshots(events: Project) -> Project:
    """For what the versions of a table tell: all tables of a catalog of Iceberg have them."""
    if events.connection["catalog"] == PLAIN:
        pytest.skip("the tables of Spark's own formats have no versions: test_plain.py is about them")
    if events.connection["catalog"] == NESSIE:
        pytest.skip("the last snapshot alone is told: a test below is about it")
    return events


def table_format(project: Project) -> str:
    """A format of tables that the catalog has."""
    return "parquet" if project.connection["catalog"] == PLAIN else "iceberg"


def right_at(project: Project, *instants: int) -> None:
    for t in instants:
        written = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts"
        assert sorted(project.rows(f"SELECT id FROM {project.at('m', t)}")) == sorted(project.rows(written)), t


def test_what_a_run_reads_and_writes(snapshots: Project) -> None:
    """New snapshots alone are read; a run with nothing new writes nothing; all relations are in the catalog."""
    events = snapshots
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    assert "hydrated, 20 rows" in events.run(now=T0 - 1).of("m").message
    right_at(events, T0 - 1, T0, T0 + 1, T0 + 5000)
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}; DELETE FROM {{s}}.events WHERE id = 3")
    ran = events.run(now=T0).of("m")
    assert "changes (2 snapshots)" in ran.adapter_response["inputs"][0], ran.adapter_response
    right_at(events, T0, T0 + 2999, T0 + 3000, T0 + 21_999)
    before = events.relations()
    assert "unchanged" in events.run(now=T0 + 1).of("m").message
    assert events.relations() == before >= {"m", "m__live", "m__diffs"}
    here = events.rows("SELECT current_catalog()")[0][0]
    assert not events.rows(f"SHOW DATABASES IN spark_catalog LIKE '{events.schema}'") and here != "spark_catalog"


def test_the_last_snapshot_alone(events: Project) -> None:
    """Where a catalog tells no other one, a table that changed is read in full, and one that did not is not read."""
    if events.connection["catalog"] != NESSIE:
        pytest.skip("Nessie's is the catalog of type rest that tells the last snapshot alone")
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.run(now=T0 - 1)
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}; DELETE FROM {{s}}.events WHERE id = 3")
    (read,) = events.run(now=T0).of("m").adapter_response["inputs"]
    assert "full (snapshot" in read and "or the catalog tells the last snapshot alone), 21 rows read" in read, read
    right_at(events, T0, T0 + 2999, T0 + 3000, T0 + 21_999)
    assert "unchanged" in events.run(now=T0 + 1).of("m").message
    events.sql("DELETE FROM {s}.events WHERE id = 9")
    events.run(now=T0 + 2)
    right_at(events, T0 + 2, T0 + 8999, T0 + 9000, T0 + 21_999)


def test_functions_of_the_catalog(snapshots: Project) -> None:
    """Spark describes none of Iceberg's own functions, but they change with Iceberg alone: new snapshots are read."""
    events, catalog = snapshots, snapshots.connection["catalog"]
    query = (
        f"select id, system.bucket(4, id) as b, {catalog}.System.days(ts) as d from {{s}}.events where mz_now() < ts"
    )
    events.model("m", query.replace("{s}", events.schema))
    events.run(now=T0 - 1)
    events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20, 22)}")
    assert "changes (1 snapshot" in events.run(now=T0).of("m").adapter_response["inputs"][0]
    for t in (T0, T0 + 2999, T0 + 3000, T0 + 21_999):
        written = events.rows(query.replace("mz_now()", f"timestamp_millis({t}L)"))
        assert sorted(events.rows(f"SELECT * FROM {events.at('m', t)}")) == sorted(written), t


def test_views_and_other_materializations_over_it(events: Project) -> None:
    """dbt lists views as such: each can be made again, and become another kind of relation and back."""
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.model("over", "select count(*) as n from {{ ref('m') }}", materialized="view")
    events.model(
        "kept", "select count(*) as n from {{ ref('m') }}", materialized="table", file_format=table_format(events)
    )
    for n in range(2):
        events.run(now=T0 + n * 1000)
        assert events.rows("SELECT n FROM {s}.kept") == [(19 - n,)]
    events.model("m", f"select id, ts from {events.schema}.events", materialized="view")
    events.run("-s", "m", now=T0)
    assert not [name for name in events.relations() if name.startswith("m__")]
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.run("-s", "m", now=T0)
    right_at(events, T0, T0 + 999, T0 + 1000)


def test_a_pinned_clock_reaches_through_views_of_the_catalog(events: Project) -> None:
    """A plan names a view of Iceberg by its alias alone."""
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.run(now=T0 - 1)
    events.model("copied", "select id from {{ ref('m') }}", materialized="table", file_format=table_format(events))
    for after in (0, 5000, 5001):
        events.run("-s", "copied", now=T0 + after)
        oracle = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({T0 + after}L) < ts"
        assert sorted(events.rows("SELECT id FROM {s}.copied")) == sorted(events.rows(oracle))


def test_a_plain_view_below(events: Project) -> None:
    """A view of the catalog keeps its WHERE, whatever came to the table below; its name needs its schema."""
    events.sql("CREATE VIEW {s}.late AS SELECT * FROM {s}.events WHERE id > 4 AND id <> 21")
    events.model("m", f"select l.id from {events.schema}.late l where mz_now() < l.ts")
    for run in range(3):
        told = events.run(now=T0 + run).of("m").adapter_response["inputs"][0]
        assert run == 0 or ("changed below a view" in told) == (events.connection["catalog"] not in (PLAIN, NESSIE))
        for t in (T0 + run, T0 + 4999, T0 + 5000, T0 + 21_000):
            written = f"SELECT id FROM {{s}}.late WHERE timestamp_millis({t}L) < ts"
            assert sorted(events.rows(f"SELECT id FROM {events.at('m', t)}")) == sorted(events.rows(written)), (run, t)
        events.sql(f"INSERT INTO {{s}}.events {ROWS.format(20 + 2 * run, 22 + 2 * run)}")
    events.model(
        "m", "with a as (select * from late) select id from a where mz_now() < ts", pre_hook=f"use {events.schema}"
    )
    result = events.run(now=T0 + 9, check=False)
    assert (
        "found: late without its schema" in result.text
        and "Spark does not tell whether such a name is a view" in result.text
    )
    assert "instead: {{ ref('late') }}, a source(), or the name with its schema" in result.text


def test_a_reader_beside_runs(events: Project) -> None:
    events.sql("DROP TABLE {s}.events; CREATE TABLE {s}.events AS SELECT id FROM range(10)")
    events.model("m", f"select id from {events.schema}.events where mz_now() >= timestamp_millis(id)")
    reader_beside(events, 4)


def test_names_of_other_catalogs(events: Project) -> None:
    """A table of the same schema and name in the session's own catalog is another table."""
    schema = events.schema
    events.sql(f"CREATE DATABASE spark_catalog.{schema}")
    events.sql(
        f"CREATE TABLE spark_catalog.{schema}.m USING parquet AS SELECT 77L AS id, timestamp_millis({T0}L + 9) AS ts"
    )
    try:
        events.model("m", f"select id, ts from spark_catalog.{schema}.m where mz_now() < ts")
        events.run(now=T0)
        assert events.rows(f"SELECT id FROM {events.at('m', T0)}") == [(77,)]
        both = f"select a.id from {{{{ ref('m') }}}} a join spark_catalog.{schema}.m b on a.id = b.id"
        events.model("both", both, materialized="table", file_format=table_format(events))
        events.run("-s", "both", now=T0 + 9)  # by then the row has left the temporal_view, and not the table
        assert events.rows("SELECT id FROM {s}.both") == []
    finally:
        events.sql(f"DROP DATABASE spark_catalog.{schema} CASCADE")


def test_a_wide_model(events: Project) -> None:
    """A view of the catalog keeps a text of any length."""
    columns = [f"c{n:04d}_{'x' * 24}" for n in range(1000)]
    values = ", ".join(f"id + {n} AS {name}" for n, name in enumerate(columns))
    events.sql(f"CREATE TABLE {{s}}.wide AS SELECT *, {values} FROM {{s}}.events")
    events.model("m", f"select * from {events.schema}.wide where mz_now() < ts")
    events.run(now=T0)
    text = events.rows("SHOW CREATE TABLE {s}.m__live")[0][0]
    assert len(text) > 32_700
    found = events.rows(f"SELECT {columns[0]}, {columns[999]} FROM {events.at('m', T0 + 18_500)}")
    assert found == [(19, 1018)]


def test_docs_and_drop(events: Project) -> None:
    """persist_docs, `dbt docs generate` and temporal_drop."""
    documented = {"relation": True, "columns": True}
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts", persist_docs=documented)
    columns = [{"name": "id", "description": "whose 'key'\nAS\nit is"}]
    events.properties({"models": [{"name": "m", "description": "it's\nAS\nwide", "columns": columns}]})
    for n in range(2):
        events.run(now=T0 + n)
    described = events.rows("DESCRIBE TABLE EXTENDED {s}.m")
    assert ("id", "bigint", "whose 'key'\nAS\nit is") in described and ("Comment", "it's\nAS\nwide", "") in described
    nodes = events.dbt("docs", "generate", now=T0).value.nodes
    assert list(nodes["model.proj.m"].columns) == ["id", "ts"]
    (events.path / "models" / "m.sql").unlink()
    events.properties({})
    events.dbt("run-operation", "temporal_drop", "--args", "{dry_run: false}")
    assert events.relations() == {"events"}


@pytest.mark.parametrize("hook", ["use files", "set catalog files"])
def test_a_hook_that_leaves_the_catalog(events: Project, hook: str) -> None:
    here = events.rows("SELECT current_catalog()")[0][0]
    events.model("m", f"select id from {events.schema}.events where mz_now() < ts", pre_hook=hook)
    try:
        result = events.run(now=T0, check=False)
    finally:
        in_the_default_catalog(events.spark)
    assert f"found: a session in the catalog files, and catalog: {here} in the profile" in result.text
    assert "instead: no USE of a catalog" in result.text
    assert events.relations() == {"events"}


def test_a_clone(events: Project) -> None:
    """`dbt clone` makes a view over the view of the other schema, in the same catalog, below a temporal_view too."""
    events.has_artifacts = True
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts")
    events.run(now=T0 - 1)
    (prod := events.path / "prod").mkdir()
    shutil.copy(events.path / "target" / "manifest.json", prod)
    profiles = json.loads((events.path / "profiles.yml").read_text())
    dev = profiles["proj"]["outputs"]["dev"]["schema"] = f"{events.schema}_dev"
    events.write("profiles.yml", json.dumps(profiles))
    try:
        events.dbt("clone", "-s", "m", "--state", "prod")
        assert events.relations(dev) == {"m"}
        events.model("over", "select id from {{ ref('m') }} where mz_now() < ts - interval 1 second")
        events.run("-s", "over", now=T0)
        for t in (T0, T0 + 5000):
            later = f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts - interval 1 second"
            assert sorted(events.rows(f"SELECT id FROM {events.at('over', t, dev)}")) == sorted(events.rows(later)), t
        events.model("n", f"select count(*) as n from {dev}.m", materialized="table", file_format=table_format(events))
        for after in (-1, 5000):
            events.run("-s", "n", now=T0 + after)
            oracle = f"SELECT count(*) FROM {{s}}.events WHERE timestamp_millis({T0 + after}L) < ts"
            assert events.rows(f"SELECT n FROM {dev}.n") == events.rows(oracle)
    finally:
        events.drop_schema(dev)


def matches(project: Project, model: str) -> None:
    """The model is its source before and after each of its boundaries, and its pushdown is explained."""
    warehouse, target = Warehouse(project.rows), project.target(model)
    instants = [T0 + by for by in (0, 4999, 5000, 5001)]
    assert project.rows(matches_source(warehouse, target, instants, 0, T0, 12)) == []
    told = project.dbt("run-operation", "temporal_explain_pushdown", "--args", f"{{model: {model}}}", now=T0).text
    assert f"-> ts >= timestamp_millis({T0 + 1000})" in told


def test_capitals_in_the_name_of_a_temporal_view_below(snapshots: Project) -> None:
    """The catalog finds names as they were written, and a state remembers them without case."""
    snapshots.model("Recent", f"select id, ts from {snapshots.schema}.events where mz_now() < ts")
    snapshots.model("Over", "select id from {{ ref('Recent') }} where mz_now() < ts - interval 1 second")
    snapshots.run(now=T0)
    matches(snapshots, "Over")


def test_two_tables_whose_names_differ_by_case(snapshots: Project) -> None:
    """A catalog that keeps case has both. Each has snapshots and columns of its own."""
    columns = {"Twin": "id, {ts} AS ts", "twin": "{ts} AS ts, id"}
    for name, listed in columns.items():
        rows = f"SELECT {listed.format(ts=f'timestamp_millis({T0}L + id * 1000)')} FROM range(3)"
        snapshots.sql(f"CREATE TABLE {{s}}.{name} USING iceberg AS {rows}")
    written = {
        "either": "select id, ts from {s}.Twin where mz_now() < ts + interval 1 hour "
        "union all select id + 100, ts from {s}.twin where mz_now() < ts + interval 1 hour",
        "both": "select a.id, b.ts from {s}.Twin a join {s}.twin b on a.id = b.id "
        "where mz_now() < a.ts + interval 1 hour",
    }
    for model, text in written.items():
        snapshots.model(model, text.format(s=snapshots.schema))
    for turn, name in enumerate(["Twin", "twin", "Twin", "twin"]):
        row = columns[name].format(ts=f"timestamp_millis({T0}L + 5000)")
        snapshots.sql(f"INSERT INTO {{s}}.{name} SELECT {row} FROM (SELECT {10 + turn // 2} AS id)")
        snapshots.run(now=T0 + turn)
        for model, text in written.items():
            for t in (T0 + turn, T0 + HOUR + 1000, T0 + HOUR + 5000):
                expected = snapshots.rows(text.replace("mz_now()", f"timestamp_millis({t}L)"))
                found = snapshots.rows(f"SELECT * FROM {snapshots.at(model, t)}")
                assert sorted(found) == sorted(expected), (model, turn, t)


def test_a_temporal_view_of_another_catalog_below(snapshots: Project) -> None:
    """The chains of such a view are in its own catalog: a view in the session's own catalog has its rows."""
    schema, here = snapshots.schema, snapshots.connection["catalog"]
    snapshots.model("m", f"select id, ts from {schema}.events where mz_now() < ts")
    snapshots.run(now=T0)
    as_it_was = (snapshots.path / "profiles.yml").read_text()
    profiles = json.loads(as_it_was)
    del profiles["proj"]["outputs"]["dev"]["catalog"]
    snapshots.write("profiles.yml", json.dumps(profiles))
    snapshots.sql(f"CREATE DATABASE spark_catalog.{schema}")
    try:
        snapshots.sql("USE spark_catalog")
        snapshots.sql(f"CREATE VIEW spark_catalog.{schema}.m AS SELECT * FROM {here}.{schema}.m")
        snapshots.model("over", "select id from {{ ref('m') }} where mz_now() < ts - interval 1 second")
        snapshots.run("-s", "over", now=T0)
        matches(snapshots, "over")
    finally:
        snapshots.sql(f"DROP DATABASE spark_catalog.{schema} CASCADE")
        snapshots.sql(f"USE {here}")
        snapshots.write("profiles.yml", as_it_was)


def test_the_flights(events: Project, tmp_path: Path) -> None:
    build_flights(events.connection, tmp_path)


def test_late_rows(snapshots: Project) -> None:
    """By new snapshots, in a view of the catalog: what came late, and not what a DELETE or an UPDATE took back."""
    events = snapshots
    events.model("m", f"select id, ts from {events.schema}.events where mz_now() < ts", store_late=True)
    events.run(now=T0)
    read = "select id, mz_until from {{ temporal_late(ref('m')) }}"
    assert events.rows(events.render(read)) == []
    events.sql(f"INSERT INTO {{s}}.events SELECT explode(array(50, 51)), timestamp_millis({T0}L + 500); "
               f"DELETE FROM {{s}}.events WHERE id = 1; DELETE FROM {{s}}.events WHERE id = 51")  # fmt: skip
    ran = events.run(now=T0 + 2000)
    assert "full" not in " | ".join(ran.of("m").adapter_response["inputs"])
    assert events.rows(events.render(read)) == [(50, T0 + 500)]
    events.sql(f"UPDATE {{s}}.events SET ts = timestamp_millis({T0}L + 2500) WHERE id = 9")
    events.run(now=T0 + 3000)
    assert sorted(events.rows(events.render(read))) == [(9, T0 + 2500), (50, T0 + 500)]
    right_at(events, T0 + 3000)
