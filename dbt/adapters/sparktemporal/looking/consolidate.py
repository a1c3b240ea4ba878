"""Consolidation (`temporal_consolidate`): the chains of each core of a model become one.

No input is read. Instants before the frontier can no longer be read, except within `retain_history`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..config import TemporalConfig
from ..engine import ownership, session
from ..engine.chain_files import refuse_incomplete
from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..inputs.views import upstream
from ..over_time.reads import committed
from ..run import at_function, fence, outside_views
from ..run.commit import Commit
from ..run.published_view import Docs
from ..run.standing_views import StandingViews
from ..temporal.clock.instants import format_instant
from ..temporal.clock.schedule import readable_from
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.state import CoreState, State
from ..temporal.diffs.stores import counted_chain, store_of
from ..temporal.sql.text.identifiers import Identifiers

#: what a consolidation tells: diffs (rows of chains), and the first instant that can be read, before and after
CONSOLIDATED: dict[str, type] = {
    "model": str,
    "diffs_before": int,
    "diffs_after": int,
    "since_before": str,
    "since": str,
    "outcome": str,
}


def consolidate(
    warehouse: Warehouse,
    target: ModelRelations,
    config: TemporalConfig,
    run_id: str,
    readers: list[ModelRelations],
    displaced: Sequence[str] = (),
) -> dict[str, Any]:
    """Consolidate a model whose lock is held -> the facts of `CONSOLIDATED` without `model`.

    displaced: the runs whose lock was taken over.
    """
    existing = warehouse.tables(target.schema, target.model)
    views = StandingViews(warehouse, target, Identifiers(existing))
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_consolidate of {state.model}")
    commit = Commit.of_operation(warehouse, target, state)
    if commit.texts.is_table:
        outside_views.refuse_others(warehouse, target)
    else:
        if views.has("__diffs"):
            ownership.refuse_foreign(warehouse, target, "__diffs")
        for step in fence.fence(warehouse, target, displaced):
            warehouse.rows(step.sql)
    refuse_incomplete(warehouse, target.model, [(target.schema, chain) for chain in state.chains])
    since = readable_from(state.since, state.frontier, config.retain_history, state.refreshes)
    using = f" {ownership.using(target, config.file_format)}"
    cores = tuple(_one(warehouse, target, state, core, run_id, using, since) for core in state.cores)
    swept = chain_rules.sweep(
        target.model,
        existing,
        state,
        [*(chain.table for core in cores for chain in core.chains), *state.beside_chains],
        warehouse.clock(),  # readers see the chains until the commit, however long the work took
        config.diffs_retention,
        lambda: upstream.held(warehouse, target, readers),
        lambda table: ownership.is_marked(warehouse, target, table),
    )
    new, statements = commit.prepare(state.advanced(run=run_id, since=since, cores=cores, retired=swept.retired))
    commit.send(statements)
    for steps in (_published(views, commit, new), fence.drops(target, swept.drop, "no longer read")):
        for step in steps:
            warehouse.rows(step.sql)
    outcome = "all instants can be read as before"
    if since > state.since:
        outcome = f"instants before {format_instant(since)} can no longer be read (retain_history keeps them)"
    return {
        "diffs_before": sum(c.rows for c in state.chains),
        "diffs_after": sum(c.rows for c in new.chains),
        "since_before": format_instant(state.since),
        "since": format_instant(since),
        "outcome": outcome,
    }


def _published(views: StandingViews, commit: Commit, new: State) -> Iterator[Statement]:
    """The statements that bring the relations for readers up to date with the commit."""

    def statements(state: State, live: ViewInfo | None) -> list[Statement]:
        target, readable = commit.texts.target, commit.texts.updates(state.cores, state.schema)
        if commit.texts.is_table:
            assert live is not None
            return outside_views.publish(views.warehouse, target, state, live.text, readable, None, Docs())
        updates = views.changed("the updates, readable", "__diffs", readable, like=live)
        return [*updates, *at_function.publish(views.warehouse, target, state, state.at_function, True)]

    return commit.followed(new, statements, new.run)


def _one(
    warehouse: Warehouse, target: ModelRelations, state: State, core: CoreState, run_id: str, using: str, since: int
) -> CoreState:
    """Write the one chain of a core -> the core with this chain alone, or without chains where no row is left."""
    name, store = chain_rules.chain_name(target.model, run_id, core.name), store_of(core)
    if not core.chains:
        return core
    tables = [c.source(target.schema) for c in core.chains]
    bucketed = [target.table(c.table) for c in core.chains if c.bucketed]
    base = since if sum(c.rows for c in core.chains) >= chain_rules.LARGE_CHAIN else None
    rows = store.consolidated(store.stored(tables, since, state.expiration, bucketed))
    warehouse.rows(store.create(target.table(name), rows, using, base))
    made = counted_chain(name, warehouse.rows(store.count(target.table(name), base is not None)), base).chain
    if not made.rows:
        warehouse.rows(f"DROP TABLE {target.table(name)}")
    return replace(core, chains=(made,) if made.rows else ())
