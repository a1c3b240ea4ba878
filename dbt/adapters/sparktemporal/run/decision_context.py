"""What a run decides by: its expiration, its refreshes and what changed; and the decision of a rebuild."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..config import TemporalConfig
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..inputs.views.stacked import changes
from ..inputs.views.upstream import as_captured, latest
from ..temporal.clock import expiration
from ..temporal.clock.expiration import Dependence, Expiry, Scheduled, earliest
from ..temporal.clock.schedule import Refreshes
from ..temporal.decision import Decision, DecisionContext, Invocation, changed_rows, decide
from ..temporal.diffs.state import State
from ..temporal.ivm.stack import Stack
from ..temporal.predicates import clock_text
from ..temporal.rewrite.model import Model
from ..temporal.sql.spark import plans, relations
from .analyze import understand


def context_of(
    stack: Stack | None,
    model: Model,
    config: TemporalConfig,
    invocation: Invocation,
    expiry: Expiry,
    refreshes: Refreshes | None,
    old: State | None,
) -> DecisionContext:
    """What the decision of a run depends on. old: the state of the last run, None for none."""
    texts = changes(old.written, model.written) if old else ()
    return DecisionContext(
        invocation=invocation,
        expiry=expiry,
        restarts=config.restarts,
        changed=changed_rows(old, model.cores, invocation.settings, texts) if old else "",
        known_until=earliest(stack.expiration if stack else None, *(core.core.known_until for core in model.cores)),
        inputs_from=stack.known_from if stack else None,
        refreshes=refreshes,
    )


def expiry_of(
    warehouse: Warehouse,
    model: Model,
    offset: int | None,
    inputs: Sequence[Dependence],
    clock: int,
    refreshes: Refreshes | None,
) -> Expiry:
    """How long a model answers after a rebuild. offset: the config `expiration` (ms). inputs: the ones dbt knows."""
    if offset is not None and not inputs:  # dbt knows of no input: does the model name tables itself?
        at = clock_text.written_at(model.written, model.calls, f"{clock}L")
        inputs = [Dependence(name) for name in _tables_named(warehouse, at)]
    states = warehouse.stack.states if warehouse.stack else {}
    return expiration.expiry(offset, inputs, refreshes, lambda schedule: _anchor(schedule, states))


def _anchor(schedule: Scheduled, states: Mapping[str, State]) -> int | None:
    """The instant (ms) from which the refreshes of a view are counted: from the config, else from the view's commit.

    None without a commit, and where the commit has no refreshes, or has them at another length than the config.
    """
    state = next((states[name] for name in schedule.names if name in states), None)
    if schedule.anchor is not None or state is None or state.refreshes is None:
        return schedule.anchor
    return state.refreshes.anchor if state.refreshes.every == schedule.every else None


def _tables_named(warehouse: Warehouse, sql: str) -> list[str]:
    """The tables that a model reads, directly or through a temporal view, found without dbt's graph."""
    plan = plans.analyzed(warehouse.explain(sql))
    below = warehouse.stack.states.values() if warehouse.stack else ()
    return [*relations.file_tables(plan), *relations.other_tables(plan), *(n for s in below for n in s.inputs)]


def rebuilt(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    config: TemporalConfig,
    invocation: Invocation,
    inputs: Sequence[Dependence],
) -> tuple[Warehouse, Model, Decision]:
    """What a rebuild of a committed model would do by its present config, for explanations.

    -> (a warehouse that knows the temporal views below, the committed text as a model, the decision of the rebuild).
    inputs: the relations that the model reads, as far as dbt knows.
    """
    warehouse = as_captured(warehouse, state)
    states = warehouse.stack.states if warehouse.stack else {}
    as_of = latest(target.model, states, invocation)
    invocation = replace(invocation, as_of=as_of, settings=state.settings, full_refresh=True)
    refreshes = config.refreshes(state.refreshes, as_of)
    first = refreshes.last(as_of) if refreshes else as_of
    model = understand(warehouse, state.written, state.settings, invocation.version, first, state, config.aggregates)
    expiry = expiry_of(warehouse, model, config.expiration, inputs, as_of, refreshes)
    context = context_of(warehouse.stack, model, config, invocation, expiry, refreshes, None)
    decision = decide(target.model, state, context)
    if warehouse.stack:
        warehouse = warehouse.over(warehouse.stack.at(target.model, decision.as_of))
    return warehouse, model, decision
