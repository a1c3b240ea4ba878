"""The past of a model, before its restarts: the epochs that a run keeps, and the table of an epoch that ends."""

from __future__ import annotations

from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import epochs
from ..temporal.diffs.state import Epoch
from ..temporal.diffs.state_text import packed
from .plan import RunPlan


def kept(plan: RunPlan) -> tuple[Epoch, ...]:
    """The epochs that the commit names."""
    d, table = plan.decision, chain_rules.state_name(plan.target.model, chain_rules.next_id(plan.run_id))
    # where other refreshes move `since`, an epoch ends too: instants before are read by the old refreshes
    ends = d.rebuilds or plan.old is not None and d.since > plan.old.since
    return epochs.kept(plan.old, ends, d.as_of, plan.config.retain_history, table)


def remember(plan: RunPlan) -> list[Statement]:
    """The statement that stores the last state in a table, where this run makes that state an epoch."""
    old = plan.old
    known = [epoch.table for epoch in old.past] if old else []
    ends = [epoch.table for epoch in kept(plan) if epoch.table not in known]
    if old is None or not ends:
        return []
    state = packed(epochs.remembered(old))
    create = f"CREATE TABLE {plan.target.table(ends[0])}{plan.using} AS\nSELECT '{state}' AS mz_state"
    return [Statement("what the model was before this restart", create)]
