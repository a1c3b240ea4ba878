"""After a run has written: count the chains, and make one of those that are hardly larger than the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..engine.warehouse import Warehouse
from ..pushdown.sargable import Range
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction, intervals_sql
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import counted, store_of
from ..temporal.rewrite.core import TypedCore
from ..words import quantity
from .attempt import stored
from .plan import RunPlan
from .progress import Progress, Tools


def count(warehouse: Warehouse, plan: RunPlan, core: TypedCore, table: str, since: int | None) -> Chain:
    """A table that was written, as the state names it. since: as `create` was given it."""
    asked = store_of(core).count(plan.target.table(table), since is not None)
    return counted(table, warehouse.rows(asked), since)


def is_large(chains: Sequence[Chain]) -> bool:
    return sum(c.rows for c in chains) >= chain_rules.LARGE_CHAIN


def count_written(tools: Tools, plan: RunPlan, progress: Progress) -> tuple[RunPlan, Progress]:
    """How many rows were written, which chains become one with them, and what of the rows read leaves no trace."""
    written, merged = {}, {}
    for core in plan.changed:
        since = plan.decision.as_of if progress.sources[core.name].is_large else None
        chain = count(tools.warehouse, plan, core, plan.chain(core.name), since)
        if chain.rows:
            written[core.name], old = chain, plan.old_chains(core.name)
            taken = chain_rules.taken_in([c.rows for c in old], chain.rows)
            if taken:
                merged[core.name] = (*old[len(old) - taken :], chain)
    return plan, _count_not_stored(tools, plan, replace(progress, written=written, merged=merged))


def merge(plan: RunPlan, progress: Progress) -> list[Statement]:
    """An empty chain goes. Beside a chain that is hardly larger a new one becomes one with it."""
    steps, since = [], plan.since(progress.merged)
    for core in plan.changed:
        if core.name not in progress.written:
            table = plan.target.table(plan.chain(core.name))
            steps.append(Statement(f"{core.name}: nothing changed", f"DROP TABLE {table}"))
    for core in plan.model.cores:
        merged = progress.merged.get(core.name)
        if merged:
            rows = store_of(core).merged(stored(plan, core, merged, since), merged)
            create = _create(plan, core, rows, since if is_large(merged) else None)
            steps.append(Statement(f"{core.name}: {quantity(len(merged), 'chain')} -> one", create))
    for name, chains in plan.to_peel(progress.merged).items():
        core = next(core for core in plan.model.cores if core.name == name)
        due = [compaction.due_rows(c, c.source(plan.target.schema), since) for c in chains]
        store = store_of(core)
        rows = store.consolidated(store.stored(due, since, plan.decision.expiration))
        what = f"what is due of {quantity(len(chains), 'chain')}"
        steps.append(Statement(f"{name}: {what} -> one", _create(plan, core, rows, None)))
    return steps


def _create(plan: RunPlan, core: TypedCore, rows: str, since: int | None) -> str:
    table = plan.target.table(plan.chain(core.name, merged=True))
    return store_of(core).create(table, rows, plan.using, since)


def _count_not_stored(tools: Tools, plan: RunPlan, progress: Progress) -> Progress:
    """What of the rows that were read leaves no trace; of new rows also those that came too late."""
    expiration, deltas = plan.decision.expiration, plan.capture.cores
    is_incremental = any(deltas[core.name].is_incremental for core in plan.changed)
    if not (is_incremental or expiration is not None and (progress.written or plan.decision.rebuilds)):
        return progress
    counts = []
    for core in plan.changed:
        delta = deltas[core.name]
        # of all rows only what leaves after the expiration is asked for, of new ones also what came too late
        later, whole = None, core
        if not delta.is_incremental and expiration is not None:
            later = tools.pruning.condition(core, Range(expiration, None))
            whole = tools.pruning.narrowed(core, Range(expiration, None))
        for part in delta.inserts or (whole,):
            asked = intervals_sql.not_stored(part, plan.decision.as_of, expiration, later)
            counts += tools.warehouse.rows(asked)
    late = progress.late
    if all(deltas[core.name].is_incremental and core.core.condition is None for core in plan.changed):
        late = sum(int(came_late) for _, came_late in counts)
    beyond = None if expiration is None else sum(int(left_out) for left_out, _ in counts)
    return replace(progress, beyond_expiration=beyond, late=late)
