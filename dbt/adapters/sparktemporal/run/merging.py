"""After a run has written: the chains are counted, and chains of like size are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..plurals import quantity
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import counted, rows_for_good, size_of, store_of
from ..temporal.rewrite.core import TypedCore
from . import chain_rows, late_rows, past
from .counting import asks_for_all, not_stored, parts_of, tells_beyond
from .plan import RunPlan
from .progress import Progress, Tools


def is_large(chains: Sequence[Chain]) -> bool:
    return sum(c.rows for c in chains) >= chain_rules.LARGE_CHAIN


def count_written(tools: Tools, plan: RunPlan, progress: Progress) -> tuple[RunPlan, Progress]:
    """The progress with the rows written, the chains to merge, and the number of rows that left nothing stored."""
    written, merged, joined, for_good, sizes = {}, {}, {}, dict(progress.for_good), dict(progress.sizes)
    for core in plan.changed:
        chain = progress.counted.get(core.name)
        if chain is None:
            name, since = plan.chain(core.name), plan.decision.as_of
            parts = parts_of(tools, plan, core, name, since)
            chain, for_good[core.name] = counted(name, parts, since), rows_for_good(parts)
            sizes.setdefault(core.name, size_of(parts))
        old, source = plan.old_chains(core.name), progress.sources[core.name]
        if source.joined and progress.added[core.name]:
            joined[core.name] = source.joined
            old = [c for c in old if c not in source.joined]
        elif source.joined:  # the same rows once more
            continue
        if chain.rows:
            written[core.name] = chain
            taken = chain_rules.taken_in([c.rows for c in old], chain.rows)
            if taken:
                merged[core.name] = (*old[len(old) - taken :], chain)
    late = progress.missed_rows if progress.missed else None
    progress = replace(progress, written=written, merged=merged, joined=joined, for_good=for_good, late=late)
    progress = replace(progress, sizes=sizes)
    if asks_for_all(plan):
        return plan, _with_not_stored(plan, progress, progress.left_out)
    if plan.leaves_out and written:
        return plan, _with_not_stored(plan, progress, tools.warehouse.rows_together(not_stored(tools, plan)))
    return plan, progress


def merge(plan: RunPlan, progress: Progress) -> list[Statement]:
    """The statements that drop an empty chain, and that merge a new chain with chains of like size."""
    steps, since = [], plan.since(progress.merged)
    for core in plan.changed:
        if core.name not in progress.written:
            table = plan.target.table(plan.chain(core.name))
            steps.append(Statement(f"{core.name}: nothing changed", f"DROP TABLE {table}"))
    steps += late_rows.merge(plan, progress)
    steps += past.remember(plan)
    for core in plan.model.cores:
        merged = progress.merged.get(core.name)
        if merged:
            rows = store_of(core).merged(chain_rows.stored(plan, core, merged, since), merged)
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


def _with_not_stored(plan: RunPlan, progress: Progress, counts: Sequence[Sequence[Any]]) -> Progress:
    late, deltas = progress.late, plan.capture.cores
    if late is None and all(deltas[c.name].is_incremental and c.core.condition is None for c in plan.changed):
        late = sum(int(came_late) for _, came_late, _ in counts)
    beyond = None
    if plan.leaves_out:
        told = [progress.for_good[core.name] for core in plan.changed if tells_beyond(plan, core)]
        beyond = sum(int(left_out) for left_out, *_ in counts) + sum(told)
    return replace(progress, beyond_expiration=beyond, late=late)
