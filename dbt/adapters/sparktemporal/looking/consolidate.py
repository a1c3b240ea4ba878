"""Consolidation (`temporal_consolidate`): the chains of each core of a model become one, as of its frontier.

No input is read. Instants before the frontier can no longer be read, except within `retain_history`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..config import TemporalConfig
from ..engine import ownership, session
from ..engine.chain_files import refuse_incomplete
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..inputs.views import upstream
from ..over_time.reads import committed
from ..run import at_function, fence, outside_views
from ..run.commit import Commit
from ..run.published_view import Docs
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.state import Chain, CoreState
from ..temporal.diffs.stores import counted, store_of

#: what a consolidation tells: diffs (stored intervals), and the first instant that can be read, before and after
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
    clock: int,
    readers: list[ModelRelations],
    displaced: Sequence[str] = (),
) -> dict[str, Any]:
    """Consolidate a model whose lock is held -> the facts of `CONSOLIDATED` less `model`. clock: the engine's (ms).

    displaced: the runs whose lock was taken over.
    """
    existing = warehouse.tables(target.schema, target.model)
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_consolidate of {state.model}")
    commit = Commit.of_operation(warehouse, target, state)
    is_in_table = commit.is_in_table()
    if not is_in_table:
        ownership.refuse_foreign_diffs(warehouse, target)
        for step in fence.fence(warehouse, target, displaced):
            warehouse.rows(step.sql)
    refuse_incomplete(warehouse, target.model, [(target.schema, chain) for chain in state.chains])
    past = state.frontier - (config.retain_history or 0)
    since = max(state.since, state.refreshes.last(past) if state.refreshes else past)
    cores, using = [], f" {ownership.using(target, config.file_format)}"
    for core in state.cores:
        name = chain_rules.chain_name(target.model, run_id, core.name)
        made = _one(warehouse, target, core, name, using, since, state.expiration)
        cores.append(CoreState(core.name, core.columns, (made,) if made.rows else (), core.sums, core.kept))
    named = [c.table for core in cores for c in core.chains]
    named += state.beside_chains
    swept = chain_rules.sweep(
        target.model,
        existing,
        state,
        named,
        clock,
        config.diffs_retention,
        lambda: upstream.held(warehouse, target, readers),
        lambda table: ownership.is_marked(warehouse, target, table),
    )
    new = state.advanced(run=run_id, since=since, cores=tuple(cores), retired=swept.retired)
    prepared = commit.prepare(new)
    new = prepared.state
    readable = commit.texts.updates(new.cores, new.schema)
    commit.send(prepared)
    if is_in_table:
        live = commit.confirm(run_id)
        assert live is not None
        steps = outside_views.publish(warehouse, target, new, live.text, readable, None, Docs(), False)
    else:
        warehouse.rows(f"{prepared.rewrite} {target.name('__diffs')} AS\n{readable}")
        steps = at_function.publish(warehouse, target, new, new.at_function, True)
    for step in steps:
        warehouse.rows(step.sql)
    for table in swept.drop:
        warehouse.rows(f"DROP TABLE IF EXISTS {target.table(table)}")
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


def _one(
    warehouse: Warehouse, target: ModelRelations, core: CoreState, name: str, using: str, since: int, until: int | None
) -> Chain:
    """Write the one chain of a core. until: the expiration (ms)."""
    store = store_of(core)
    tables = [c.source(target.schema) for c in core.chains]
    bucketed = [target.table(c.table) for c in core.chains if c.bucketed]
    if not tables:
        return Chain(name, 0, 0, None, None, None, None)
    is_large = sum(c.rows for c in core.chains) >= chain_rules.LARGE_CHAIN
    rows = store.consolidated(store.stored(tables, since, until, bucketed))
    warehouse.rows(store.create(target.table(name), rows, using, since if is_large else None))
    made = counted(name, warehouse.rows(store.count(target.table(name), is_large)), since if is_large else None)
    if not made.rows:
        warehouse.rows(f"DROP TABLE {target.table(name)}")
    return made
