"""Count the chains that a run has written, and merge chains of like size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plurals import quantity
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import CountedChain, store_of
from ..temporal.rewrite.core import TypedCore
from . import chain_rows, late_rows, past
from .counting import asks_for_all, count, not_stored, tells_beyond
from .plan import RunPlan
from .progress import Counts, Reading, Tools, Written


def is_large(chains: Sequence[Chain]) -> bool:
    return sum(c.rows for c in chains) >= chain_rules.LARGE_CHAIN


def count_written(tools: Tools, plan: RunPlan, manifest: str, reading: Reading, counts: Counts) -> Written:
    """What the run has written: the chains with rows, the chains to merge, and counts of what was not stored.

    manifest: the table of the files of the inputs, "" for none.
    """
    written, merged, joined, found = {}, {}, {}, dict(counts.found)
    for core in plan.changed:
        if core.name not in found:
            found[core.name] = count(tools, plan, core, plan.chain(core.name), plan.decision.as_of)
        chain, old, source = found[core.name].chain, plan.old_chains(core.name), reading.sources[core.name]
        if source.joined and counts.added[core.name]:
            joined[core.name] = source.joined
            old = [c for c in old if c not in source.joined]
        elif source.joined:  # the same rows once more
            continue
        if chain.rows:
            written[core.name] = chain
            taken = chain_rules.chains_to_merge([c.rows for c in old], chain.rows)
            if taken:
                merged[core.name] = (*old[len(old) - taken :], chain)
    sizes = {name: counts.sizes.get(name, one.size) for name, one in found.items()}
    left_out: Sequence[Sequence[Any]] | None = counts.left_out if asks_for_all(plan) else None
    if left_out is None and plan.leaves_out and written:
        left_out = tools.warehouse.rows_together(not_stored(tools, plan))
    beyond, late = (None, counts.missed) if left_out is None else _not_stored(plan, found, counts.missed, left_out)
    return Written(manifest, written, merged, joined, counts.added, sizes, beyond, late, counts.missed)


def _not_stored(
    plan: RunPlan, found: Mapping[str, CountedChain], late: int | None, counts: Sequence[Sequence[Any]]
) -> tuple[int | None, int | None]:
    """(updates after the expiration, windows that were over when their rows came); None for what is not known."""
    deltas = plan.capture.cores
    if late is None and all(deltas[c.name].is_incremental and c.core.condition is None for c in plan.changed):
        late = sum(int(came_late) for _, came_late, _ in counts)
    if not plan.leaves_out:
        return None, late
    told = [found[core.name].for_good for core in plan.changed if tells_beyond(plan, core)]
    return sum(int(left_out) for left_out, *_ in counts) + sum(told), late


def merge(plan: RunPlan, written: Written) -> list[Statement]:
    """The statements that drop chains without new rows, merge chains, late rows and due updates, and keep an epoch."""
    steps, since = [], plan.since(written.merged)
    for core in plan.changed:
        if core.name not in written.chains:
            table = plan.target.table(plan.chain(core.name))
            steps.append(Statement(f"{core.name}: nothing changed", f"DROP TABLE {table}"))
    steps += late_rows.merge(plan, written.missed)
    steps += past.remember(plan)
    for core in plan.model.cores:
        merged = written.merged.get(core.name)
        if merged:
            rows = store_of(core).merged(chain_rows.stored(plan, core, merged, since), merged)
            create = _create(plan, core, rows, since if is_large(merged) else None)
            steps.append(Statement(f"{core.name}: {quantity(len(merged), 'chain')} -> one", create))
    for name, chains in plan.to_split(written.merged).items():
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
