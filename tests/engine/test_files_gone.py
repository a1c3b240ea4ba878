"""Tables of a model whose files are gone: Spark reads what is left of them and says nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.changing.input_reads import input_reads
from dbt.adapters.sparktemporal.inputs.observing import manifest
from dbt.adapters.sparktemporal.looking.consolidate import consolidate
from dbt.adapters.sparktemporal.over_time.reads import inconsistencies
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.run.writer import Writer
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.instants import T0
from support.project import Project
from support.tables import twenty_rows

pytestmark = pytest.mark.landing

MEASURED = {"pushdown": "statistics"}


def run(project: Project, after: int, **config: object) -> str:
    """A run without dbt -> how it read its input; the view is right after it."""
    warehouse, target, now = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m"), T0 + after
    sql = f"select id from {project.schema}.t where mz_now() < hi"
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version())
    current = begin(warehouse, target, Definition(sql, config), invocation)
    list(current.steps(project.spark.sql))
    oracle = project.rows(f"SELECT id FROM {{s}}.t WHERE timestamp_millis({now}L) < hi")
    assert sorted(project.rows(f"SELECT id FROM ({project.at('m', now)})")) == sorted(oracle)
    return " | ".join(one.line for one in input_reads(current.plan.capture))


@pytest.fixture
def events(project: Project) -> Project:
    twenty_rows(project)
    return project


def add(project: Project, *ids: int) -> None:
    for number in ids:
        project.sql(f"INSERT INTO {{s}}.t SELECT {number}L, timestamp_millis({T0}L + 500000)")


def lose(project: Project, table: str, is_fresh: bool) -> None:
    """A file of a table is gone; is_fresh: in a session that has not read it before."""
    told = {str(r[0]): str(r[1]) for r in project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{table}")}
    next(Path(unquote(told["Location"].removeprefix("file:"))).rglob("part-*")).unlink()
    if is_fresh:
        project.sql(f"REFRESH TABLE {{s}}.{table}")


@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.usefixtures("chains_apart")
def test_files_of_a_chain(events: Project, is_fresh: bool) -> None:
    """A run fails, whether there is something new or not; so does a consolidation; the generic test finds it."""
    run(events, 0)
    add(events, 1)
    run(events, 1)
    warehouse, target = Warehouse(events.rows), ModelRelations(f"`{events.schema}`", "m")
    before = events.state()
    assert len(before.chains) == 2
    small = min(before.chains, key=lambda chain: chain.rows)
    lose(events, small.table, is_fresh)
    for new in (False, True):
        if new:
            add(events, 2)
        with pytest.raises(TemporalError) as told:
            run(events, 2)
        gone = f"{small.table} with 0 of 1 committed row" if is_fresh else "chains with a file that cannot be read"
        assert f"found: {gone}" in str(told.value) or gone in str(told.value)
        assert "why: the rows in missing files" in str(told.value)
        assert "instead: the files put back, or dbt run --full-refresh -s m" in str(told.value)
    with pytest.raises(TemporalError, match="found: "):
        consolidate(warehouse, target, TemporalConfig.parse("m", {}), "x", T0, [])
    assert events.state() == before
    events.sql(f"REFRESH TABLE {{s}}.{small.table}")
    found = events.rows(f"SELECT mz_where, mz_problem, mz_detail FROM ({inconsistencies(warehouse, target)})")
    assert found == [(small.table, "not the 1 committed row", "0 rows")]


@pytest.mark.parametrize("is_fresh", [True, False])
def test_files_of_a_chain_that_is_written_again(events: Project, is_fresh: bool) -> None:
    run(events, 0)
    before = events.state()
    (chain,) = before.chains
    lose(events, chain.table, is_fresh)
    add(events, 1)
    with pytest.raises(TemporalError) as told:
        run(events, 1)
    assert f"found: {chain.table} with " in str(told.value) or "a file that cannot be read" in str(told.value)
    assert "why: the rows in missing files" in str(told.value)
    assert "instead: the files put back, or dbt run --full-refresh -s m" in str(told.value)
    assert events.state() == before


@pytest.mark.parametrize("aggregated", [False, True])
def test_files_of_a_chain_that_go_before_it_is_written_again(events: Project, aggregated: bool) -> None:
    """Of rows the new chain tells that some are lost. Of groups the old chain is counted once more."""
    sql = f"select id from {events.schema}.t where mz_now() < hi"
    sql = f"select id, count(*) as n from {events.schema}.t where mz_now() < hi group by id" if aggregated else sql

    def begun(after: int) -> Writer:
        warehouse, target = Warehouse(events.rows), ModelRelations(f"`{events.schema}`", "m")
        invocation = Invocation(T0 + after, T0 + after, warehouse.settings(), warehouse.version())
        return begin(warehouse, target, Definition(sql, {"aggregates": "groups"}), invocation)

    list(begun(0).steps(events.spark.sql))
    before = events.state()
    (chain,) = before.chains
    add(events, 1)

    def losing(statement: str) -> object:
        if f"{chain.table}`" in statement and statement.startswith("CREATE TABLE"):
            lose(events, chain.table, True)
        return events.spark.sql(statement)

    with pytest.raises(TemporalError, match=rf"found: {chain.table} with (0|10) of \d+ committed rows"):
        list(begun(1).steps(losing))
    assert events.state() == before


@pytest.mark.usefixtures("chains_apart")
def test_files_of_a_chain_that_go_while_an_input_moves(events: Project) -> None:
    """A run that has to read its inputs anew counts the chains anew."""
    run(events, 0)
    add(events, 1)
    run(events, 1)
    before = events.state()
    small = min(before.chains, key=lambda chain: chain.rows)
    add(events, 2)
    written = 0

    def moving(statement: str) -> object:
        nonlocal written
        found = events.spark.sql(statement)
        if statement.startswith("CREATE TABLE") and "m__diffs_" in statement:
            written += 1
            if written == 1:
                events.sql("CREATE TABLE {s}.kept USING parquet AS SELECT * FROM {s}.t")
                events.sql("INSERT OVERWRITE {s}.t SELECT id + 100, hi FROM {s}.kept")
                lose(events, small.table, True)
        return found

    warehouse, target, now = Warehouse(events.rows), ModelRelations(f"`{events.schema}`", "m"), T0 + 2
    sql = f"select id from {events.schema}.t where mz_now() < hi"
    current = begin(
        warehouse, target, Definition(sql, {}), Invocation(now, now, warehouse.settings(), warehouse.version())
    )
    with pytest.raises(TemporalError, match=f"found: {small.table} with 0 of 1 committed row"):
        list(current.steps(moving))
    assert written == 1
    assert events.state() == before


@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.parametrize("kind", ["manifest", "statistics"])
def test_files_of_a_list(events: Project, kind: str, is_fresh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of the inputs is not believed when a part of it is gone."""
    monkeypatch.setattr(manifest, "FEW", -1)
    run(events, 0, **MEASURED)
    state = events.state()
    assert state.manifest and state.statistics
    lose(events, getattr(state, kind), is_fresh)
    assert "unchanged" in run(events, 1, **MEASURED)
    add(events, 1)
    told = run(events, 2, **MEASURED)
    if kind == "manifest":
        assert ("are not those of its state" if is_fresh else "the list of the files it had cannot be read") in told
    add(events, 2)
    assert "new files" in run(events, 3, **MEASURED)
