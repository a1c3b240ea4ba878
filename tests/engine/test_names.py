"""Names of relations: in any case, like those that runs give, and of what belongs to somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import Project

from dbt.adapters.sparktemporal.temporal import chains
from dbt.adapters.sparktemporal.warehouse import Target, Warehouse, read_state

T0 = 1_709_294_400_000  # 2024-03-01 12:00:00 UTC
HOUR = 3_600_000

Clock = Callable[[int], None]


@pytest.fixture
def engine_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Set the engine's clock, by which the ages of tables and locks are told."""
    now = [T0]
    monkeypatch.setattr(Warehouse, "clock", lambda self: now[0])
    yield lambda t: now.__setitem__(0, t)


def rows_of(first: int, last: int) -> str:
    """Row n comes at n seconds after T0 and goes ten days later."""
    at = f"timestamp_millis({T0}L + id * 1000)"
    return f"SELECT id, {at} AS ts, {at} + interval 10 days AS hi FROM range({first}, {last})"


def window(project: Project, name: str, **config: Any) -> None:
    project.model(name, f"select id, ts, hi from {project.schema}.t where mz_now() >= ts and mz_now() < hi", **config)


def relations(project: Project, schema: str | None = None) -> set[str]:
    return {r[1] for r in project.rows(f"SHOW TABLES IN {schema or project.schema}")}


def ids(project: Project, t: int, model: str) -> list[int]:
    return sorted(row[0] for row in project.rows(f"SELECT id FROM {project.at(model, t)}"))


def schemas_as_written(project: Project) -> None:
    """A schema of a model's config is the schema, as it is written."""
    project.write(
        "macros/schema.sql",
        "{% macro generate_schema_name(custom, node) %}{{ custom or target.schema }}{% endmacro %}",
    )


# ---- case ------------------------------------------------------------------------------------------------------------


def test_two_days_of_a_model_with_capital_letters(project: Project, engine_clock: Clock) -> None:
    """Chains that its state names live on, those that no state names any more go, and so do those of killed runs."""
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 40)}")
    window(project, "MyModel", diffs_retention="1 hour")
    project.model("Above", "select id, hi from {{ ref('MyModel') }} where mz_now() < hi - interval 1 day")
    project.run(now=T0)
    target = Target(f"`{project.schema}`", "MyModel")
    first = {c.table.lower() for c in read_state(Warehouse(project.rows), target).chains}  # type: ignore[union-attr]
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
            assert "1 new chains of 2), 1 rows read" in line
        assert ids(project, T0 + hours * HOUR, "MyModel") == list(range(rows))
        assert ids(project, T0 + hours * HOUR, "Above") == list(range(rows))
        assert (killed.lower() in relations(project)) == (hours <= 23)
        assert first <= relations(project)
    state = read_state(Warehouse(project.rows), target)
    assert state is not None
    there = {r for r in relations(project) if chains.born_of("mymodel", r) is not None}
    live, retired = ({name.lower() for name in names} for names in (state.tables, dict(state.retired)))
    assert live <= there <= live | retired


def test_an_unchanged_run_a_day_later_drops_nothing(project: Project, engine_clock: Clock) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    window(project, "MyModel")
    project.run(now=T0)
    before = relations(project)
    engine_clock(T0 + 30 * HOUR)
    assert "unchanged" in project.run(now=T0 + 30 * HOUR).of("MyModel").message
    assert relations(project) == before and ids(project, T0 + 30 * HOUR, "MyModel") == list(range(5))


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


def test_temporal_drop_with_a_schema_in_two_spellings(project: Project) -> None:
    """What is named in one spelling of a schema is no leftover of the other; any spelling finds a schema."""
    schemas_as_written(project)
    project.sql(f"CREATE TABLE {{s}}.t AS {rows_of(0, 5)}")
    shouted = project.schema.upper()
    window(project, "small")
    window(project, "Big", schema=shouted)
    project.run(now=T0)
    before = relations(project)
    assert {"small__live", "big__live"} <= before
    args = json.dumps({"schemas": [shouted.title()]})
    assert "nothing is left behind" in project.dbt("run-operation", "temporal_drop", "--args", args).text
    assert relations(project) == before
    (project.path / "models" / "Big.sql").unlink()
    project.dbt("run-operation", "temporal_drop")
    left = relations(project)
    assert not [r for r in left if r.startswith("big")] and {"small__live", "small"} <= left


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
        assert "gone dropped" in project.dbt("run-operation", "temporal_drop", "--args", args).text
        assert relations(project, other) == set()
    finally:
        project.sql(f"DROP DATABASE IF EXISTS {other} CASCADE")


@pytest.mark.first(1)
@pytest.mark.parametrize("model", ["x__diffs_a", "orders__diffs_2024", "X__Diffs_00", "a_c1", "x__diffs_a_c1"])
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
