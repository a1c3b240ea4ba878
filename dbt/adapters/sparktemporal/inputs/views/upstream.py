"""The temporal views below a temporal view, read as they are committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine import session
from ...engine.committed import read_state
from ...engine.model_relations import ModelRelations
from ...engine.warehouse import Warehouse
from ...errors import Explained, TemporalError
from ...temporal.clock.instants import format_instant
from ...temporal.decision import CLOCK_SKEW_MS, Invocation
from ...temporal.diffs import view_sql
from ...temporal.diffs.input_state import ChainId, Tracking
from ...temporal.diffs.state import State
from ...temporal.ivm.inlining import inlined
from ...temporal.ivm.stack import Stack, chains_of
from ...temporal.sql.spark import plans
from ...temporal.sql.text import identifiers
from ...temporal.sql.text.dialect import quote
from ...temporal.sql.text.identifiers import Identifiers, folded
from . import stacked


def held(warehouse: Warehouse, target: ModelRelations, by: Sequence[ModelRelations]) -> Identifiers:
    """The chains of a model that other models (`by`) read at their last run.

    Their next run needs these chains to find the changes since.
    """
    tables: set[str] = set()
    for reader in by:
        try:
            state = read_state(warehouse, reader)
        except TemporalError:  # such a model needs a full refresh, which reads all anew
            continue
        if state is not None:
            tables.update(chain.table for chain in chains_of(state.inputs.get(target.key)))
    return Identifiers(tables)


def inline_upstreams(
    warehouse: Warehouse,
    target: ModelRelations,
    sql: str,
    below: Sequence[ModelRelations],
    between: Sequence[ModelRelations],
    old: State | None,
    invocation: Invocation,
) -> tuple[str, Warehouse, int]:
    """A model's text -> (the text with queries in place of temporal inputs, a warehouse that knows them, the as-of).

    The as-of is that of `latest`. `Stack.at` sets the instant of the reads afterwards.
    below, between: see `stacked.opened`.
    Raises TemporalError for an input that has not run, for an input that depends on settings which differ here, and for
    a frontier CLOCK_SKEW_MS or more after the clock.
    """
    if not (below or between):
        return sql, warehouse, invocation.as_of
    sql, found = stacked.opened(warehouse, target.model, sql, below, between)
    states = {}
    for key, state in found.items():
        states[key] = _known(target.model, key, state)
        if view_sql.evaluates(states[key]):
            session.refuse_differences(invocation.settings, states[key], f"{key} as an input of {target.model}")
    if not states:
        return sql, warehouse, invocation.as_of
    as_of = latest(target.model, states, invocation)
    sql = inlined(sql, states, warehouse.catalog(), invocation.sampled)
    return sql, warehouse.over(_stack(warehouse, states, old, as_of)), as_of


def latest(model: str, states: Mapping[str, State], invocation: Invocation) -> int:
    """The as-of of a run (ms): that of the invocation, or the latest frontier of an input, if that frontier is later.

    Raises TemporalError for a frontier CLOCK_SKEW_MS or more after the clock, whatever the other frontiers are.
    """
    for name, state in states.items():
        _refuse_earlier(model, name, state, invocation.now)
    return max([invocation.as_of, *(state.frontier for state in states.values())])


def as_captured(warehouse: Warehouse, state: State) -> Warehouse:
    """A warehouse that knows the temporal views below a committed model."""
    states = {}
    for name, fingerprint in state.inputs.items():
        if fingerprint.tracking is Tracking.STACKED:
            inner = read_state(warehouse, _as_written(warehouse, name, state.schema))
            states[name] = _known(state.model, name, inner)
    if not states:
        return warehouse
    return warehouse.over(_stack(warehouse, states, state, state.frontier).at(state.model, state.frontier))


def _as_written(warehouse: Warehouse, key: str, beside: str) -> ModelRelations:
    """The relations of a temporal view by its key, which has no case, in names as the catalog may have kept them.

    beside: the schema of the model above (quoted), where most of its inputs are.
    """
    found = ModelRelations.of(key, warehouse.catalog())
    schema = beside
    if folded(found.schema) != folded(beside):
        *above, last = identifiers.parts(found.schema)
        listed = warehouse.rows("SHOW SCHEMAS" + (f" IN {'.'.join(map(quote, above))}" if above else ""))
        known = Identifiers(identifiers.parts(str(row[0]))[-1] for row in listed)
        schema = ".".join(map(quote, [*above, known.find(last) or last]))
    live = warehouse.beginning(schema, found.model, plans.LIVE).find(found.model + plans.LIVE)
    return ModelRelations(schema, found.model if live is None else live[: -len(plans.LIVE)])


def _stack(warehouse: Warehouse, states: Mapping[str, State], old: State | None, as_of: int) -> Stack:
    before = {name: chains_of(old.inputs.get(name)) for name in states} if old else {}
    kept: set[ChainId] = set()
    for name, state in states.items():
        gone = set(before.get(name, ())) - {chain.identity for chain in state.chains}
        if gone:
            there = Identifiers(warehouse.tables(state.schema, f"{state.model}__diffs_"))
            kept |= {chain for chain in gone if chain.table in there}
    return Stack(states, as_of, before, frozenset(kept))


def _known(model: str, name: str, state: State | None) -> State:
    """The state of a temporal view that has run. Raises TemporalError otherwise."""
    inner = identifiers.parts(name)[-1]
    if state is None:
        raise Explained(
            "ST412",
            f"{name}, a temporal_view that has not run, as an input of {model}",
            "there are no stored rows to read",
            f"dbt run -s {inner} {model}",
        )
    return state


def _refuse_earlier(model: str, name: str, state: State, clock: int) -> None:
    """Refuse a clock (ms) that is CLOCK_SKEW_MS or more before the frontier of a temporal view."""
    inner = identifiers.parts(name)[-1]
    if state.frontier - clock >= CLOCK_SKEW_MS:
        raise Explained(
            "ST413",
            f"a run of {model} at {format_instant(clock)}, before the last change captured by its input "
            f"{inner}, {format_instant(state.frontier)}",
            f"{inner} no longer keeps its content of that instant",
            f"a clock (or var temporal_now) from then on, or dbt run --full-refresh -s {inner} {model}",
        )
