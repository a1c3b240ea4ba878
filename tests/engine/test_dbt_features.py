"""What people expect of any dbt model, of a temporal_view: docs, contracts, hooks, unit tests, clone, switches."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.instants import T0
from support.project import Project


def events(project: Project, rows: int = 10) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.events USING parquet AS SELECT id, timestamp_millis({T0}L + id * 1000) AS ts "
        f"FROM range({rows})"
    )


def window(project: Project, name: str = "m", seconds: int = 30, **config: Any) -> None:
    sql = f"select id, ts from {project.schema}.events where mz_now() < ts + interval {seconds} seconds"
    project.model(name, sql, **config)


def comments(project: Project, model: str = "m") -> dict[str, str]:
    rows = project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{model}")
    return {r[0]: r[1] if r[0] == "Comment" else r[2] for r in rows if r[0] in ("id", "ts", "Comment")}


def script(project: Project, model: str = "m") -> str:
    return (project.path / "target" / "run" / "proj" / "models" / f"{model}.sql").read_text()


# ---- docs, contracts, hooks, grants ----------------------------------------------------------------------------------


@pytest.mark.first(1)
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_persist_docs(project: Project, file_format: str) -> None:
    events(project)
    window(project, persist_docs={"relation": True, "columns": True}, file_format=file_format)
    column = {"name": "ID", "description": "who's `it`\nand $why"}
    project.properties({"models": [{"name": "m", "description": 'it\'s "m"', "columns": [column]}]})
    project.run(now=T0)
    said = {"id": "who's `it`\nand $why", "ts": None, "Comment": 'it\'s "m"'}
    assert comments(project) == said
    project.run(now=T0 + 1)
    assert comments(project) == said and "-- the view" not in script(project)
    window(project, seconds=40, persist_docs={"relation": True, "columns": True}, file_format=file_format)
    project.run(now=T0 + 2)
    assert comments(project) == said  # a restart alters what is under the thin view
    column["description"] = "other"
    project.properties({"models": [{"name": "m", "description": "m", "columns": [column]}]})
    project.run(now=T0 + 3)
    assert comments(project) == {"id": "other", "ts": None, "Comment": "m"}
    assert project.rows("SELECT count(*) FROM {s}.m__diffs") == [(20,)]


@pytest.mark.deep
def test_comment_alone_alters_nothing_else(project: Project) -> None:
    events(project)
    window(project, persist_docs={"relation": True})
    project.properties({"models": [{"name": "m", "description": "one"}]})
    project.run(now=T0)
    project.properties({"models": [{"name": "m", "description": "two"}]})
    project.run(now=T0 + 1)
    assert comments(project)["Comment"] == "two"
    assert "SET TBLPROPERTIES" in script(project) and "CREATE OR REPLACE" not in script(project)


def test_contract(project: Project) -> None:
    events(project)
    window(project, contract={"enforced": True})
    columns = [{"name": "id", "data_type": "bigint"}, {"name": "ts", "data_type": "timestamp"}]
    project.properties({"models": [{"name": "m", "columns": columns}]})
    assert project.run(now=T0).success
    columns[0]["data_type"] = "string"
    project.properties({"models": [{"name": "m", "columns": columns}]})
    broken = project.run(now=T0 + 1, check=False)
    assert not broken.success and "contract" in broken.text and "id" in broken.text
    assert project.rows("SELECT count(*) FROM {s}.m__diffs") == [(20,)]
    assert "m__lock" not in project.relations()


def test_hooks_tags_and_vars(project: Project) -> None:
    events(project)
    project.sql("CREATE TABLE {s}.log (said STRING) USING parquet")
    hook = f"insert into {project.schema}.log select '{{{{ this.identifier }}}} %s'"
    window(project, pre_hook=hook % "before", post_hook=hook % "after", tags=["hourly"])
    window(project, "other")
    project.run("-s", "tag:hourly", now=T0)
    assert sorted(project.rows("SELECT * FROM {s}.log")) == [("m after",), ("m before",)]
    assert "other" not in project.relations()


def test_grants(project: Project) -> None:
    """Open-source Spark has no GRANT of its own, so the statements are caught where dbt would run them."""
    project.write(
        "macros/grants.sql",
        """
        {% macro spark__call_dcl_statements(dcl) %}
          {% for s in dcl %}{% do run_query("insert into " ~ this.schema ~ ".dcl select '" ~ s | trim | replace('`', '')
             | replace(this.schema ~ '.', '') ~ "'") %}{% endfor %}
        {% endmacro %}
        {% macro spark__get_show_grant_sql(relation) %}
          select 'bob' as Principal, 'select' as ActionType, 'TABLE' as ObjectType
        {% endmacro %}
        """,
    )
    project.sql("CREATE TABLE {s}.dcl (s STRING) USING parquet")
    events(project)
    window(project, grants={"select": ["bob", "eve"]})
    project.run(now=T0)
    first = {r[0] for r in project.rows("SELECT * FROM {s}.dcl")}
    assert first == {"grant select on m to bob", "grant select on m to eve"}
    window(project, grants={"select": ["eve"]})
    project.run(now=T0 + 1)
    later = [r[0] for r in project.rows("SELECT * FROM {s}.dcl")]
    assert "revoke select on m from bob" in later  # a view that is altered keeps its grants


# ---- neighbours ------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_read_from_every_kind_of_model(project: Project) -> None:
    events(project)
    window(project)
    for kind in ("view", "table", "incremental", "ephemeral"):
        extra: dict[str, Any] = {"incremental_strategy": "append"} if kind == "incremental" else {}
        project.model(f"of_{kind}", "select count(*) as n from {{ ref('m') }}", materialized=kind, **extra)
    project.model("of_ephemeral_table", "select * from {{ ref('of_ephemeral') }}", materialized="table")
    project.write("tests/singular.sql", "select * from {{ ref('m') }} where id is null")
    exposure = {"name": "dash", "type": "dashboard", "owner": {"email": "a@b.c"}, "depends_on": ["ref('m')"]}
    tested = {"name": "m", "columns": [{"name": "id", "data_tests": ["not_null", "unique"]}]}
    project.properties({"models": [tested], "exposures": [exposure]})
    result = project.dbt("build", "--threads", "4", now=T0 + 365 * 86_400_000)
    assert all(str(r.status) in ("success", "pass", "no-op") for r in result.results), result.text
    assert project.rows("SELECT n FROM {s}.of_table") == [(0,)]
    listed = project.dbt("list", "-s", "+exposure:dash", "--resource-type", "model")
    assert listed.success
    # its tests would be compiled too, and they read the view: an instant before the last run is refused there
    shown = project.dbt("show", "-s", "m", "--exclude", "resource_type:test", now=T0 + 35_500)
    assert len(shown.results[0].agate_table) == 4  # ids 6..9: the written query at that instant


def test_ephemeral_inputs_hold_temporal_predicates(project: Project) -> None:
    events(project)
    sql = f"select id, ts from {project.schema}.events where mz_now() >= ts"
    project.model("placed", sql, materialized="ephemeral")
    project.model("m", "select id from {{ ref('placed') }} where id > 3")
    project.run(now=T0)
    rendered = project.render(f"select count(*) from {{{{ temporal_as_of(ref('m'), {T0 + 5_000}) }}}}")
    assert project.rows(rendered) == [(2,)]


def test_unit_tests_at_a_pinned_clock(project: Project) -> None:
    events(project)
    project.model("staged", f"select id, ts from {project.schema}.events", materialized="view")
    project.model("m", "select id from {{ ref('staged') }} where mz_now() < ts + interval 1 hour")

    def unit(name: str, expected: list[int], now: str | None) -> dict[str, Any]:
        rows = [{"id": 1, "ts": "2024-01-01 00:00:00"}, {"id": 2, "ts": "2024-01-01 00:30:00"}]
        test = {
            "name": name,
            "model": "m",
            "given": [{"input": "ref('staged')", "rows": rows}],
            "expect": {"rows": [{"id": i} for i in expected]},
        }
        return {**test, "overrides": {"vars": {"temporal_now": now}}} if now else test

    project.properties(
        {
            "unit_tests": [
                unit("at_first", [1, 2], "2024-01-01 00:59:59.999"),
                unit("at_the_hour", [2], "2024-01-01 01:00:00"),
                unit("by_the_command_line", [2], None),
            ]
        },
    )
    project.run("-s", "staged")
    result = project.dbt("test", now="2024-01-01 01:00:00.001")
    assert [str(r.status) for r in result.results] == ["pass"] * 3, result.text
    project.properties({"unit_tests": [unit("wrong", [1], "2024-01-01 01:00:00")]})
    assert not project.dbt("test", check=False).success


@pytest.mark.landing
def test_the_recipe_of_unit_tests(project: Project) -> None:
    """The listings of docs/unit-tests.md, as they stand there, in any zone."""
    page = (Path(__file__).parents[2] / "docs" / "unit-tests.md").read_text()
    for kind, name in (("sql", "recent_events.sql"), ("yaml", "recent_events.yml")):
        project.write(f"models/{name}", page.partition(f"```{kind}\n")[2].partition("```")[0])
    project.model(
        "events", "select 1 as id, '' as content, timestamp '2024-01-01 00:00:00' as event_ts", materialized="view"
    )
    project.run("-s", "events")
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        project.spark.conf.set("spark.sql.session.timeZone", zone)
        result = project.dbt("test", "-s", "recent_events,test_type:unit")
        assert [str(r.status) for r in result.results] == ["pass"] * 4, (zone, result.text)


# ---- where things are ------------------------------------------------------------------------------------------------


@pytest.mark.landing
def test_schemas_aliases_and_names_that_need_quotes(project: Project) -> None:
    events(project)
    other = project.schema + "_other"
    project.write(
        "macros/schema.sql",
        "{% macro generate_schema_name(name, node) %}{{ target.schema }}{{ '_' ~ name if name }}{% endmacro %}",
    )
    window(project)
    window(project, "elsewhere", alias="m", schema="other", seconds=60)
    window(project, "spaced", alias="order")  # a word of SQL
    sql = f"select id as `a b`, ts as `select` from {project.schema}.events where mz_now() < ts + interval 5 seconds"
    project.model("columns", sql, alias="Größe 7")
    try:
        for now in (T0, T0 + 1000):
            result = project.run("-s", "m", "elsewhere", "spaced", "--threads", "4", now=now)
            assert all(str(r.status) == "success" for r in result.results)
        t = T0 + 35_500
        at = [
            project.rows(project.render(f"select count(*) from {{{{ temporal_as_of(ref('{m}'), {t}) }}}}"))
            for m in ("m", "elsewhere", "spaced")
        ]
        assert at == [[(4,)], [(10,)], [(4,)]]
        assert {"m", "m__live", "m__diffs"} <= project.relations(other)
        odd = project.run("-s", "columns", now=T0, check=False)
        if odd.success:  # Hive's metastore takes letters, digits and _ only; other catalogs take any name
            assert project.spark.table(f"{project.schema}.`Größe 7`").columns == ["a b", "select"]
        else:
            assert "Größe 7" in odd.text or "größe 7" in odd.text
            project.model("columns", sql)
            project.run("-s", "columns", now=T0)
            assert project.spark.table(f"{project.schema}.columns").columns == ["a b", "select"]
    finally:
        project.spark.sql(f"DROP DATABASE IF EXISTS {other} CASCADE")


@pytest.mark.deep
def test_clone_defer_and_state(project: Project) -> None:
    project.has_artifacts = True
    events(project)
    window(project)
    window(project, "same")
    project.model("down", "select * from {{ ref('m') }}", materialized="view")
    project.run(now=T0)
    prod = project.path / "prod"
    prod.mkdir()
    shutil.copy(project.path / "target" / "manifest.json", prod)
    profiles = json.loads((project.path / "profiles.yml").read_text())
    dev = project.schema + "_dev"
    profiles["proj"]["outputs"]["dev"]["schema"] = dev
    project.write("profiles.yml", json.dumps(profiles))
    try:
        window(project, expiration="1 hour")
        listed = project.dbt("list", "-s", "state:modified", "--state", "prod", "--resource-type", "model")
        assert listed.value == ["proj.m"]
        deferred = project.run("-s", "down", "--defer", "--state", "prod", now=T0)
        assert deferred.success and f"{project.schema}`.`m" in project.spark.sql(
            f"SHOW CREATE TABLE {dev}.down"
        ).first()[0].replace(".", "`.`").replace("``", "`")
        project.dbt("clone", "-s", "m", "same", "--state", "prod")
        assert {"m", "same"} <= project.relations(dev) and "m__live" not in project.relations(dev)
        assert project.spark.table(f"{dev}.m").columns == ["id", "ts"]
        project.run("-s", "m", now=T0)  # the clone gives way to a temporal_view of its own
        assert "m__live" in project.relations(dev)
        assert project.spark.table(f"{dev}.m__diffs").count() == 20
    finally:
        project.drop_schema(dev)


@pytest.mark.deep
def test_retry_after_a_failure(project: Project) -> None:
    project.has_artifacts = True
    window(project)  # its input is not there yet
    project.run(now=T0, check=False)
    events(project)
    assert project.dbt("retry", now=T0).success
    assert project.rows("SELECT count(*) FROM {s}.m__diffs") == [(20,)]


@pytest.mark.deep
def test_docs_generate(project: Project) -> None:
    project.has_artifacts = True
    events(project)
    window(project)
    project.properties({"models": [{"name": "m", "columns": [{"name": "id", "description": "who"}]}]})
    project.run(now=T0)
    project.dbt("docs", "generate", now=T0)
    catalog = json.loads((project.path / "target" / "catalog.json").read_text())
    node = catalog["nodes"]["model.proj.m"]
    assert {n: c["type"] for n, c in node["columns"].items()} == {"id": "long", "ts": "timestamp"}
    assert node["metadata"]["type"] == "view"
    assert list(catalog["nodes"]) == ["model.proj.m"]


# ---- leaving ---------------------------------------------------------------------------------------------------------


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["view", "table", "incremental"])
def test_switch_there_and_back(project: Project, kind: str) -> None:
    events(project)
    plain = f"select id, ts from {project.schema}.events"
    extra: dict[str, Any] = {"incremental_strategy": "append"} if kind == "incremental" else {}
    project.model("m", plain, materialized=kind, **extra)
    window(project, "mm")  # a neighbour whose name begins alike
    project.run(now=T0)
    window(project)
    project.run(now=T0)
    assert {"m", "m__live", "m__diffs"} <= project.relations()
    project.model("m", plain, materialized=kind, **extra)
    result = project.run(now=T0)
    assert project.rows("SELECT count(*) FROM {s}.m") == [(10,)]
    assert not [r for r in project.relations() if r.startswith("m__")], project.relations()
    assert {"mm", "mm__live", "mm__diffs"} <= project.relations()
    assert result.success
    window(project)
    assert "hydrated" in project.run("-s", "m", now=T0).of("m").message


@pytest.mark.landing
def test_failed_switch_keeps_the_temporal_view(project: Project) -> None:
    events(project)
    window(project)
    project.run(now=T0)
    project.model("m", "select nope from {{ this.schema }}.events", materialized="view")
    assert not project.run(now=T0, check=False).success
    assert {"m", "m__live", "m__diffs"} <= project.relations()
    assert project.rows("SELECT count(*) FROM {s}.m") == [(0,)]


@pytest.mark.deep
def test_temporary_views_of_the_same_names_are_nobodys(project: Project) -> None:
    events(project)
    window(project)
    for name in ("m", "m__live", "m__diffs"):
        project.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT 1 AS x")
    try:
        for now in (T0, T0 + 1):
            project.run(now=now)
            assert project.rows("SELECT count(*) FROM {s}.m__diffs") == [(20,)]
    finally:
        for name in ("m", "m__live", "m__diffs"):
            project.spark.catalog.dropTempView(name)


@pytest.mark.landing
def test_temporal_drop(project: Project) -> None:
    events(project)
    for name in ("m", "renamed", "kept"):
        window(project, name, pushdown_collect=True)
    project.run(now=T0)
    assert [r for r in project.relations() if r.startswith("renamed__stats_")]
    project.sql("CREATE VIEW {s}.mine__live AS SELECT 1 AS x; CREATE TABLE {s}.m__diffs_of_mine (x INT) USING parquet")
    for name in ("m", "renamed"):
        (project.path / "models" / f"{name}.sql").unlink()
    window(project, "other_name", alias="kept2")
    project.run(now=T0 + 1)
    project.model("kept", f"select id from {project.schema}.events", materialized="table")  # which has not run
    before = project.relations()
    listed = project.dbt("run-operation", "temporal_drop", "--args", "{dry_run: true}")
    for name in ("m", "renamed"):
        assert re.search(rf"\| {name} +\| proj +\| would be dropped", listed.text), listed.text
    assert project.relations() == before
    project.dbt("run-operation", "temporal_drop")
    left = project.relations()
    assert not [r for r in left if r.startswith("renamed")] and "m" not in left
    assert [r for r in left if r.startswith("m__")] == ["m__diffs_of_mine"]
    assert {"kept", "kept__live", "kept2__live", "mine__live", "events"} <= left
    assert project.rows("SELECT count(*) FROM {s}.kept") == [(0,)]
    assert "nothing is left behind" in project.dbt("run-operation", "temporal_drop").text


@pytest.mark.deep
def test_temporal_drop_leaves_other_projects_alone(project: Project) -> None:
    events(project)
    window(project)
    project.run(now=T0)
    text = (project.path / "dbt_project.yml").read_text()
    project.write("dbt_project.yml", text.replace("name: proj", "name: stranger"))
    Path(project.path / "models" / "m.sql").unlink()
    assert "left alone, as another project made it" in project.dbt("run-operation", "temporal_drop").text
    assert "m__live" in project.relations()


# ---- what a run says -------------------------------------------------------------------------------------------------


def test_log_line_and_run_results(project: Project) -> None:
    project.has_artifacts = True
    events(project)
    window(project, expiration="35 seconds")

    def ran(now: int, *args: str) -> tuple[str, dict[str, Any]]:
        result = project.run(*args, now=now)
        (line,) = [x for x in result.log if x.startswith("temporal_view m:")]
        results = json.loads((project.path / "target" / "run_results.json").read_text())
        return line, results["results"][0]["adapter_response"]

    line, response = ran(T0)
    assert line.startswith(
        "temporal_view m: hydrated (first run) at 2024-03-01 12:00:00.000 UTC, 10 rows in, 10 rows stored, "
        "expires 2024-03-01 12:00:35.000 UTC, 4 updates after that not stored, "
    )
    assert response["action"] == "hydrated" and response["rows_affected"] == 10
    assert (response["rows_in"], response["updates_beyond_expiration"], response["expiration"]) == (10, 4, T0 + 35_000)
    quiet = project.run(now=T0 + 1000)
    response = quiet.of("m").adapter_response
    assert quiet.of("m").message == "OK unchanged (no input changed), 10 rows kept"
    assert not [x for x in quiet.log if x.startswith("temporal_view")]  # one line of dbt says it all
    assert response["action"] == "unchanged" and response["chains"] == 1
    project.sql("INSERT INTO {s}.events VALUES (77, timestamp_millis(1709294400000L))")
    line, response = ran(T0 + 2000)
    assert "advanced at" in line and ", 1 row in, 1 row stored, " in line and response["reason"] == ""
    (told,) = response["inputs"]
    assert re.search(r"\.events: new files \(1 new file of \d\), 1 row read$", told)
    assert {"begin", "write", "merge", "commit", "publish"} <= set(response["phases"])
    line, response = ran(T0 + 3000, "--full-refresh")
    assert "restarted (--full-refresh)" in line and response["reason"] == "--full-refresh"


def test_errors_of_spark_speak_of_the_models_own_text(project: Project) -> None:
    events(project)
    project.model("m", f"select id, nope\nfrom {project.schema}.events\nwhere mz_now() < ts")
    text = project.run(now=T0, check=False).text
    assert "UNRESOLVED_COLUMN" in text and "`nope`" in text and "line 1 pos" in text
    assert "mz_b0" not in text.partition("line 1 pos")[0]
    project.model(
        "m",
        f"select id, cast(raise_error('boom ' || id) as string) as x from {project.schema}.events where mz_now() < ts",
    )
    assert "boom" in project.run(now=T0, check=False).text
    assert "m" not in project.relations() and "m__lock" not in project.relations()
