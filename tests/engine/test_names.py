"""Names of relations: in any case, like those that runs give, and of what belongs to somebody else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import HOUR, T0
from support.project import Project
from support.tables import rows_of

pytestmark = pytest.mark.metastore

Clock = Callable[[int], None]


@pytest.fixture
def engine_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Set the engine's clock, by which the ages of tables and locks are told."""
    now = [T0]
    monkeypatch.setattr(Warehouse, "clock", lambda self: now[0])
    yield lambda t: now.__setitem__(0, t)


def window(project: Project, name: str, **config: Any) -> None:
    project.model(name, f"select id, ts, hi from {project.schema}.t where mz_now() >= ts and mz_now() < hi", **config)


def ids(project: Project, t: int, model: str) -> list[int]:
    return sorted(row[0] for row in project.rows(f"SELECT id FROM {project.at(model, t)}"))


def schemas_as_written(project: Project) -> None:
    """A schema of a model's config is the schema, as it is written."""
    project.write(
        "macros/schema.sql",
        "{% macro generate_schema_name(custom, node) %}{{ custom or target.schema }}{% endmacro %}",
    )


# ---- case ------------------------------------------------------------------------------------------------------------


@pytest.mark.landing
def test_two_days_of_a_model_with_capital_letters(
    project: Project, engine_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains that its state names live on, those that no state names any more go, and so do those of killed runs."""
    # chains live on beside the new ones, as large chains do, and the reader is told of the new chain alone
    monkeypatch.setattr(chains, "chains_to_rewrite", lambda rows, new: 0)
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 40)}")
    window(project, "MyModel", diffs_retention="1 hour")
    project.model("Above", "select id, hi from {{ ref('MyModel') }} where mz_now() < hi - interval 1 day")
    project.run(now=T0)
    first = {c.table.lower() for c in project.state("MyModel").chains}
    killed = chains.chain_name("MyModel", chains.new_run_id(T0 + 1))
    project.sql(f"CREATE TABLE {{s}}.{killed} USING parquet TBLPROPERTIES ('mz_model' = 'MyModel') AS SELECT 1 AS id")
    rows = 40
    for hours in (2, 23, 26, 49):
        engine_clock(T0 + hours * HOUR)
        if hours != 23:
            project.sql(f"INSERT INTO {{s}}.t {rows_of(rows, rows + 1)}")
            rows += 1
        ran = project.run(now=T0 + hours * HOUR)
        if hours == 2:
            (line,) = ran.of("Above").adapter_response["inputs"]
            assert "1 new chain of 2), 1 row read" in line
        assert ids(project, T0 + hours * HOUR, "MyModel") == list(range(rows))
        assert ids(project, T0 + hours * HOUR, "Above") == list(range(rows))
        assert (killed.lower() in project.relations()) == (hours <= 23)
        assert first <= project.relations()
    state = project.state("MyModel")
    there = {r for r in project.relations() if chains.born_of("mymodel", r) is not None}
    live, retired = ({name.lower() for name in names} for names in (state.tables, dict(state.retired)))
    assert live <= there <= live | retired


def test_an_unchanged_run_a_day_later_drops_nothing(project: Project, engine_clock: Clock) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    window(project, "MyModel")
    project.run(now=T0)
    before = project.relations()
    engine_clock(T0 + 30 * HOUR)
    assert "unchanged" in project.run(now=T0 + 30 * HOUR).of("MyModel").message
    assert project.relations() == before and ids(project, T0 + 30 * HOUR, "MyModel") == list(range(5))


@pytest.mark.landing
def test_what_a_capitalised_reader_has_still_to_follow_is_held(project: Project, engine_clock: Clock) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 10)}")
    window(project, "Inside", diffs_retention="1 hour")
    project.model("Outside", "select id, hi from {{ ref('Inside') }} where mz_now() < hi - interval 1 day")
    project.run(now=T0)
    for hours in (2, 30):  # chains are merged, and the reader does not run
        engine_clock(T0 + hours * HOUR)
        project.sql(f"INSERT INTO {{s}}.t {rows_of(10 * hours, 10 * hours + 8)}")
        project.run("-s", "Inside", now=T0 + hours * HOUR)
    (line,) = project.run("-s", "Outside", now=T0 + 30 * HOUR).of("Outside").adapter_response["inputs"]
    assert "new chains" in line and ids(project, T0 + 30 * HOUR, "Outside") == ids(project, T0 + 30 * HOUR, "Inside")


@pytest.mark.landing
def test_temporal_drop_with_a_schema_in_two_spellings(project: Project) -> None:
    """What is named in one spelling of a schema is no leftover of the other; any spelling finds a schema."""
    schemas_as_written(project)
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    shouted = project.schema.upper()
    window(project, "small")
    window(project, "Big", schema=shouted)
    project.run(now=T0)
    before = project.relations()
    assert {"small__live", "big__live"} <= before
    args = json.dumps({"schemas": [shouted.title()]})
    assert "nothing is left behind" in project.dbt("run-operation", "temporal_drop", "--args", args).text
    assert project.relations() == before
    (project.path / "models" / "Big.sql").unlink()
    project.dbt("run-operation", "temporal_drop")
    left = project.relations()
    assert not [r for r in left if r.startswith("big")] and {"small__live", "small"} <= left


@pytest.mark.landing
def test_temporal_drop_finds_a_schema_in_any_case(project: Project) -> None:
    schemas_as_written(project)
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    other = f"{project.schema}_other"
    window(project, "gone", schema=other)
    try:
        project.run(now=T0)
        (project.path / "models" / "gone.sql").unlink()
        assert "nothing is left behind" in project.dbt("run-operation", "temporal_drop").text
        args = json.dumps({"schemas": [other.upper()]})
        assert re.search(
            r"\| gone +\| proj +\| dropped", project.dbt("run-operation", "temporal_drop", "--args", args).text
        )
        assert project.relations(other) == set()
    finally:
        project.sql(f"DROP DATABASE IF EXISTS {other} CASCADE")


@pytest.mark.first(1)
@pytest.mark.parametrize("model", ["x__diffs_a", "orders__diffs_2024", "X__Diffs_00", "a_c1", "x__diffs_a_c1"])
@pytest.mark.landing
def test_a_model_named_like_a_chain_below_another(project: Project, model: str) -> None:
    """What it takes back is taken back above: a part of its name is not the core of a chain."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 10)}")
    window(project, model)
    project.model("above", f"select id, hi from {{{{ ref('{model}') }}}} where mz_now() < hi - interval 1 day")
    project.run(now=T0)
    for step in (1, 2):
        project.sql(f"INSERT OVERWRITE {{s}}.t {rows_of(5 * step, 5 * step + 10)}")
        project.run(now=T0 + 60_000 * step)
        assert ids(project, T0 + 60_000 * step, "above") == list(range(5 * step, 5 * step + 10))


# ---- what is somebody else's -----------------------------------------------------------------------------------------


def everything(project: Project) -> dict[str, Any]:
    """All relations of the schema with what they hold and, of views, what they say."""
    found: dict[str, Any] = {}
    for name in project.relations():
        details = {r[0]: r[1] for r in project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.`{name}`")}
        if details["Type"] == "VIEW":
            found[name] = details["View Text"]
        else:
            found[name] = sorted(map(repr, project.rows(f"SELECT * FROM {{s}}.`{name}`")))
    return found


@pytest.mark.landing
def test_what_a_run_has_not_made_is_in_its_way(project: Project, engine_clock: Clock) -> None:
    """Whatever it is, however old, with --full-refresh too: all is as it was, and the relation is named."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    mine = {
        "lock_": "CREATE TABLE {s}.lock___lock (x INT) USING parquet",
        "lock_view": "CREATE VIEW {s}.lock_view__lock AS SELECT 1 AS x",
        "Diffs_view": "CREATE VIEW {s}.diffs_view__diffs AS SELECT 1 AS x",
        "like_diffs": "CREATE VIEW {s}.like_diffs__diffs AS SELECT mz_timestamp, mz_diff FROM "
        "(SELECT 1 AS mz_timestamp, 1 AS mz_diff)",
        "diffs_table": "CREATE TABLE {s}.diffs_table__diffs (x INT) USING parquet",
        "Live_view": "CREATE VIEW {s}.Live_view__Live AS SELECT 'mz_state:' AS x",
        "live_table": "CREATE TABLE {s}.live_table__live (x INT) USING parquet",
    }
    for name, create in mine.items():
        window(project, name)
        project.sql(create)
    before = everything(project)
    engine_clock(4_000_000_000_000)  # long after the tables were made
    for flags in ([], ["--full-refresh"]):
        ran = project.run(*flags, now=T0, check=False)
        for name in mine:
            said = str(ran.of(name).message)
            suffix = "live" if "live" in name.lower() else "lock" if "lock" in name else "diffs"
            assert f"{name}__{suffix}`, which no run of {name} made" in said or f"found: {name}__{suffix}" in said, said
            assert "full-refresh" not in said and "rename or drop" in said
        assert everything(project) == before
    for name in mine:
        read = project.dbt("compile", "--inline", f"{{{{ temporal_as_of(ref('{name}'), {T0}) }}}}", check=False)
        assert not read.success
    project.sql("DROP VIEW {s}.diffs_view__diffs; DROP TABLE {s}.lock___lock")
    project.run("-s", "lock_", "Diffs_view", now=T0)
    assert ids(project, T0 + 9_000, "Diffs_view") == ids(project, T0 + 9_000, "lock_") == list(range(5))


@pytest.mark.landing
def test_relations_named_like_those_of_runs_are_left_alone(project: Project, engine_clock: Clock) -> None:
    """By runs two days later, and by temporal_drop: a backup of a chain, tables and views of any name."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    window(project, "M", diffs_retention="1 hour")
    project.run(now=T0)
    chain = next(r for r in project.relations() if chains.born_of("m", r) and "diffs" in r)
    run_id = chains.new_run_id(T0)
    live = project.rows("DESCRIBE TABLE EXTENDED {s}.m__live")
    text = next(r[1] for r in live if r[0] == "View Text")
    project.sql(
        f"CREATE TABLE {{s}}.{chain}_backup USING parquet AS SELECT * FROM {{s}}.{chain};"
        f"CREATE TABLE {{s}}.m__diffs_{run_id} USING parquet AS SELECT 1 AS x;"
        f"CREATE TABLE {{s}}.m__stats_{run_id} USING parquet TBLPROPERTIES ('mz_model' = 'other') AS SELECT 1 AS x;"
        f"CREATE VIEW {{s}}.m__inputs_{run_id} AS SELECT 1 AS x;"
        "CREATE VIEW {s}.backup__live AS SELECT 1 AS x"
    )
    project.spark.sql(f"CREATE VIEW {project.schema}.copy__live AS {text}")
    mine = {name: what for name, what in everything(project).items() if not name.startswith(("m__live", "m__diffs"))}
    mine |= {name: what for name, what in everything(project).items() if name.endswith((run_id, "_backup"))}
    del mine["m"]
    mine = {name: what for name, what in mine.items() if not (name.startswith("m__inputs") and run_id not in name)}
    for hours in (30, 50):
        engine_clock(T0 + hours * HOUR)
        project.sql(f"INSERT OVERWRITE {{s}}.t {rows_of(0, hours)}")
        mine["t"] = everything(project)["t"]
        project.run(now=T0 + hours * HOUR)
        assert mine.items() <= everything(project).items()
        assert ids(project, T0 + hours * HOUR, "M") == list(range(hours))
    (project.path / "models" / "M.sql").unlink()
    said = project.dbt("run-operation", "temporal_drop").text
    assert re.search(r"\| m +\| proj +\| dropped", said) and "copy" not in said
    assert everything(project) == mine


@pytest.mark.landing
def test_relations_that_lost_their_marks(project: Project, engine_clock: Clock) -> None:
    """Chains that a valid state names are the model's: they are merged, retired and dropped. Nothing names a view.

    Spark hides the values of properties that look like secrets, as `tokens` and the `url` in `hourly` do.
    """
    model = "hourly_tokens"
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    window(project, model, diffs_retention="1 hour")
    project.run(now=T0)
    old = {r for r in project.relations() if chains.born_of(model, r)}
    for name in old:
        project.sql(f"ALTER TABLE {{s}}.{name} UNSET TBLPROPERTIES ('mz_model')")
    project.sql(f"ALTER VIEW {{s}}.{model}__diffs UNSET TBLPROPERTIES ('mz_model')")
    assert f"{model}__diffs`, which no run of {model} made" in project.run(now=T0, check=False).text
    project.sql(f"DROP VIEW {{s}}.{model}__diffs")
    for hours in (1, 3, 5):
        engine_clock(T0 + hours * HOUR)
        project.sql(f"INSERT OVERWRITE {{s}}.t {rows_of(0, 5 + hours)}")
        project.run(now=T0 + hours * HOUR)
    assert ids(project, T0 + 5 * HOUR, model) == list(range(10)) and not old & project.relations()
    project.dbt("run-operation", "temporal_consolidate", "--args", f"{{model: {model}}}")
    (project.path / "models" / f"{model}.sql").unlink()
    project.dbt("run-operation", "temporal_drop")
    assert project.relations() == {"t"}


@pytest.mark.landing
def test_models_that_would_destroy_each_other(project: Project) -> None:
    """Each of a pair is refused with both named, before anything is written; the others run."""
    schemas_as_written(project)
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    run_id = chains.new_run_id(T0)
    pairs = [("a", "a__live"), ("b", "B__diffs"), ("c", "c2"), ("x", f"x__diffs_{run_id}_c1"), ("l", "l__Lock")]
    for view, other in pairs:
        window(project, view)
        if other == "c2":
            window(project, other, alias="C", schema=project.schema.upper())
        else:
            project.model(other, "select 1 as id", materialized="table" if view != "x" else "temporal_view")
    project.write("seeds/s__diffs.csv", "id\n1\n")
    window(project, "s")
    window(project, "fine")
    project.model("fine_live", "select 1 as id", materialized="table")
    project.model("fine__life", "select 1 as id", materialized="ephemeral")
    ran = project.dbt("build", now=T0, check=False)
    for view, other in [*pairs, ("s", "s__diffs")]:
        kind = "seed" if view == "s" else "model"
        for name in (view, other):
            said = str(ran.of(name).message)
            assert f"model.proj.{view}" in said and f"{kind}.proj.{other}" in said and "another name, alias" in said
    assert not [r for r in project.relations() if not r.startswith("fine")] or project.relations() - {"t"} == {
        r for r in project.relations() if r.startswith("fine")
    }
    assert ids(project, T0 + 9_000, "fine") == list(range(5))


@pytest.mark.landing
def test_the_longest_names(project: Project) -> None:
    """What is a character too long is refused with the arithmetic, and nothing of it is written."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    added = len(chains.longest_name("m", ["c0"])) - 1
    longest = "m" * (chains.LONGEST_NAME - added)
    window(project, "longest", alias=longest)
    window(project, "too_long", alias=longest + "m")
    ran = project.run(now=T0, check=False)
    said = str(ran.of("too_long").message)
    assert f"a name of {len(longest) + 1} characters" in said and f"of {len(longest)} characters at most" in said
    assert not [r for r in project.relations() if r.startswith(longest + "m")]
    assert ids(project, T0 + 9_000, longest) == list(range(5))
