"""SQL of rows of chains (stored tables): added, stored, both together, and all that should be stored."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..temporal.diffs.intervals_sql import by_one_task
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import store_of
from ..temporal.rewrite.core import TypedCore
from .plan import RunPlan
from .progress import Source


def is_tiny(plan: RunPlan, core: TypedCore) -> bool:
    """Whether the new rows of a core are in so few files of one table that one task reads them as fast as several."""
    delta = plan.capture.cores[core.name]
    if not all(name in plan.capture.few and name in plan.capture.uncounted for name in delta.read):
        return False
    parts = (*delta.inserts, *delta.deletes) or (core,)
    return all(len(list(part.core.query.find_all(exp.Table))) == 1 for part in parts)


def added(plan: RunPlan, core: TypedCore) -> str:
    """The rows to store for new rows of the inputs, and the corrections for deleted rows."""
    delta, store = plan.capture.cores[core.name], store_of(core)
    inserts, deletes = (
        "\nUNION ALL\n".join(store.desired(part, plan.decision.as_of, plan.decision.expiration) for part in signed)
        for signed in (delta.inserts, delta.deletes)
    )
    if deletes:
        return store.difference(inserts, deletes)
    several = len(delta.inserts) > 1 and core.sums is not None
    return store.consolidated(inserts) if several else inserts


def added_to(plan: RunPlan, core: TypedCore, chains: Sequence[Chain]) -> str:
    """The rows of `added` and the rows of chains, as one chain: reads at `plan.decision.since` or later are right."""
    new = added(plan, core)
    if not chains:
        return by_one_task(new) if is_tiny(plan, core) else new
    both = f"{stored(plan, core, chains, plan.decision.since)}\nUNION ALL\n{new}"
    both = by_one_task(both) if is_tiny(plan, core) else both
    store = store_of(core)
    return store.consolidated(both) if plan.capture.cores[core.name].deletes else store.merged(both, chains)


def desired(plan: RunPlan, core: TypedCore, source: Source) -> str:
    """All rows that should be stored, or their difference from the stored rows."""
    store, as_of, old = store_of(core), plan.decision.as_of, plan.old_chains(core.name)
    rows = store.desired(source.core, as_of, plan.decision.expiration, source.projection)
    return store.difference(rows, stored(plan, core, old, as_of)) if old else rows


def stored(plan: RunPlan, core: TypedCore, chains: Sequence[Chain], since: int) -> str:
    """The stored rows of chains, as far as reads at `since` (ms) or later need the rows."""
    tables = [c.source(plan.target.schema) for c in chains]
    bucketed = [plan.target.table(c.table) for c in chains if c.bucketed]
    return store_of(core).stored(tables, since, plan.decision.expiration, bucketed)
