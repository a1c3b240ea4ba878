"""The beginning of a run, before it writes: observe, refuse what cannot be right, decide."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .. import other_configs
from ..config import TemporalConfig
from ..engine import session
from ..engine.chain_files import by_schema, refuse_incomplete
from ..engine.clock_calls import has_clock_calls
from ..engine.commit_records import CREATE_VIEW
from ..engine.committed import live_view, state_of
from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import ForeignRelation, TemporalError, Unread
from ..inputs.changing.capture import Capture, Request, capture_inputs
from ..inputs.changing.query_fingerprint import Routines
from ..inputs.views.stacked import changes
from ..inputs.views.upstream import inline_upstreams
from ..temporal.clock.expiration import Dependence, Expiry, Scheduled, earliest
from ..temporal.clock.expiration import expiry as expiry_of
from ..temporal.clock.schedule import Refreshes
from ..temporal.decision import WAITING, Decision, DecisionContext, decide, hash_cores
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.longest_view import worst
from ..temporal.diffs.state import Chain, State
from ..temporal.diffs.state_text import run_of
from ..temporal.predicates import clock_text
from ..temporal.sql.spark import plans, relations, same_query, timestamps
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text import literals
from ..temporal.sql.text.dialect import parse, without_end
from ..temporal.sql.text.readable import in_words
from . import at_function, full_reads, full_stores, late_rows, refused
from .analyze import Model, understand
from .commit import Commit, ViewTexts
from .first_commit import first_commit, refuse_grants
from .live_functions import refuse_and_name, refuse_of_session
from .plan import Definition, Invocation, Neighbours, RunPlan
from .writer import Writer


@dataclass(frozen=True)
class _Asked:
    """The request for a run."""

    #: when the run began, by `time.monotonic` (s)
    started: float
    target: ModelRelations
    definition: Definition
    invocation: Invocation
    config: TemporalConfig


@dataclass(frozen=True)
class _Standing:
    """A model before the run."""

    neighbours: Neighbours
    #: the names of the model's relations
    existing: list[str]
    live: ViewInfo | None
    #: the last commit. None at a first run, and at a full refresh that cannot read the commit
    old: State | None
    texts: ViewTexts


@dataclass(frozen=True)
class _Understood:
    """A model in its parts, over the tables that it reads directly and through the temporal views below."""

    #: with the temporal views below
    warehouse: Warehouse
    model: Model
    #: the query. In `model` functions have their schemas, here not
    text: str
    calls: Sequence[str]
    settings: Mapping[str, str]
    known: Routines
    #: ms
    clock: int
    refreshes: Refreshes | None

    def at(self, instant: str) -> str:
        return clock_text.written_at(self.text, self.calls, instant)


@dataclass(frozen=True)
class _Decided:
    """The decision about a run. The warehouse reads the temporal views below at the instant of the decision."""

    warehouse: Warehouse
    decision: Decision
    expiry: Expiry
    core_hash: str


@dataclass(frozen=True)
class _Explained:
    """The query at an instant that stays until the next restart, so that equal queries have equal plans."""

    sql: str
    plan: str
    columns: tuple[tuple[str, str], ...]


def begin(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    neighbours: Neighbours | None = None,
) -> Writer:
    """Observe, refuse what cannot be right, and decide -> the Writer that executes the plan."""
    with in_words(definition.sql):
        started, config = time.monotonic(), TemporalConfig.parse(target.model, definition.config)
        asked = _Asked(started, target, definition, invocation, config)
        there = _look(warehouse, asked, neighbours or Neighbours())
        try:
            understood = _understand(warehouse, asked, there)
        except Unread:
            refused.refuse_unparsed(warehouse, definition.sql)
            raise
        decided = _decide(asked, there, understood)
        explained = _explain(asked, there, understood, decided)
        capture = _capture(asked, there, understood, decided, explained)
        return _writer(asked, there, understood, decided, explained, capture)


def _look(warehouse: Warehouse, asked: _Asked, neighbours: Neighbours) -> _Standing:
    """The model before the run. Refuses relations that the run may not replace, and a commit that lacks chains."""
    target, config, full_refresh = asked.target, asked.config, asked.invocation.full_refresh
    neighbours, existing, live = _relations(warehouse, target, neighbours)
    old: State | None = None
    try:
        old = None if live is None else state_of(warehouse, target, live.text)
    except ForeignRelation:
        raise
    except TemporalError:
        if not full_refresh:
            raise
    first = CREATE_VIEW if live else first_commit(warehouse, target)
    texts = ViewTexts(warehouse, target, live, first, old.view_size if old else 0)
    if texts.is_table:
        refuse_grants(target, asked.definition.config)
    late_rows.refuse_foreign(warehouse, target, config, existing)
    at_function.refuse_impossible(warehouse, target, config, old)
    if old and not full_refresh and refused.missing_chains(old, existing):
        if neighbours.known is not None:  # a list that is older than the commit
            neighbours, existing = replace(neighbours, known=None), warehouse.tables(target.schema, target.model)
        refused.refuse_missing_chains(target, old, existing)
    return _Standing(neighbours, existing, live, old, texts)


def _relations(
    warehouse: Warehouse, target: ModelRelations, neighbours: Neighbours
) -> tuple[Neighbours, list[str], ViewInfo | None]:
    """The relations of a model, and its commit. Where dbt's list names a commit that is gone, Spark is asked anew."""
    if neighbours.known is not None:
        existing = neighbours.known.beginning(target.model)
        try:
            return neighbours, existing, live_view(warehouse, target, existing)
        except SparkError as error:
            error.expect(Cause.NO_RELATION)
    existing = warehouse.tables(target.schema, target.model)
    return replace(neighbours, known=None), existing, live_view(warehouse, target, existing)


def _understand(warehouse: Warehouse, asked: _Asked, there: _Standing) -> _Understood:
    target, invocation, old = asked.target, asked.invocation, there.old
    written = session.substituted(warehouse, asked.definition.sql)
    if warehouse.catalog_is_named():
        refused.refuse_without_schema(written)
    settings = session.as_remembered(warehouse, dict(invocation.settings), old)
    read = literals.as_read(without_end(written), settings, invocation.version)
    refused.refuse_itself(target, parse(read), warehouse.catalog())
    below, between = there.neighbours.below, there.neighbours.between
    sql, warehouse, clock = inline_upstreams(
        warehouse, target, written, below, between, old, invocation.as_of, settings
    )
    refreshes = asked.config.refreshes(old.refreshes if old else None, clock)
    earliest = refreshes.last(clock) if refreshes else clock
    kept = None if invocation.full_refresh else old
    model = understand(warehouse, sql, settings, invocation.version, earliest, kept, asked.config.aggregates)
    refused.refuse_long_names(target, model)
    known = Routines(warehouse)
    named = refuse_and_name(model, known)
    at_function.refuse_columns(target, asked.config, named.cores)
    return _Understood(warehouse, named, model.written, model.calls, settings, known, clock, refreshes)


def _decide(asked: _Asked, there: _Standing, of: _Understood) -> _Decided:
    old, invocation, stack = there.old, asked.invocation, of.warehouse.stack
    expiry, core_hash = _expiry(asked, there, of), hash_cores(of.model.cores, of.settings)
    context = DecisionContext(
        core_hash=core_hash,
        settings=of.settings,
        expiry=expiry,
        restarts=asked.config.restarts,
        clock=of.clock,
        full_refresh=invocation.full_refresh,
        sampled=invocation.sampled,
        known_until=earliest(stack.expiration if stack else None, *(core.core.known_until for core in of.model.cores)),
        inputs_from=stack.known_from if stack else None,
        refreshes=of.refreshes,
        changes=changes(old.written, of.text) if old else (),
        pinned=invocation.pinned,
    )
    decision, warehouse = decide(asked.target.model, old, context), of.warehouse
    if stack and decision.action != WAITING:
        warehouse = warehouse.over(stack.at(asked.target.model, decision.as_of))
    return _Decided(warehouse, decision, expiry, core_hash)


def _expiry(asked: _Asked, there: _Standing, of: _Understood) -> Expiry:
    offset, inputs = asked.config.expiration, there.neighbours.inputs
    if offset is not None and not inputs:  # dbt knows of none: does it name tables itself?
        inputs = [Dependence(name) for name in _tables_named(of.warehouse, of.at(f"{of.clock}L"))]
    states = of.warehouse.stack.states if of.warehouse.stack else {}
    return expiry_of(offset, inputs, of.refreshes, lambda schedule: _anchor(schedule, states))


def _anchor(schedule: Scheduled, states: Mapping[str, State]) -> int | None:
    """The instant (ms) from which the refreshes of a view are counted: as configured, or as its first run decided."""
    state = next((states[name] for name in schedule.names if name in states), None)
    if schedule.anchor is not None or state is None or state.refreshes is None:
        return schedule.anchor
    return state.refreshes.anchor if state.refreshes.every == schedule.every else None


def _tables_named(warehouse: Warehouse, sql: str) -> list[str]:
    """The tables that a model reads, directly or through a temporal view, found without dbt's graph."""
    plan = plans.analyzed(warehouse.explain(sql))
    below = warehouse.stack.states.values() if warehouse.stack else ()
    return [*relations.file_tables(plan), *relations.other_tables(plan), *(n for s in below for n in s.inputs)]


def _explain(asked: _Asked, there: _Standing, of: _Understood, decided: _Decided) -> _Explained:
    """Explain the query, and check by plans that the inputs are allowed, and that tree and text mean the same."""
    warehouse, instant = decided.warehouse, f"{decided.decision.started_at}L"
    at = of.at(instant)
    plan = warehouse.explain(at)
    pinned = asked.invocation.as_of if asked.invocation.pinned else None
    refused.refuse_inputs(warehouse, asked.target, plans.analyzed(plan), pinned)
    refuse_of_session(of.model, plan, of.known)
    if there.old is None or there.old.written != of.text:
        printed = clock_text.printed_at(of.model.parsed, of.calls, instant, timestamps.are_local(of.settings))
        of_text = warehouse.explain(warehouse.data(at)) if warehouse.stack else plan
        same_query.check(of_text, warehouse.explain(warehouse.data(printed)))
    columns = plans.columns(plan) or warehouse.describe(at)
    intervals_sql.check_columns([(n, "string" if t == "void" else t) for n, t in columns if t != "void"], "4")
    return _Explained(at, plan, tuple(columns))


def _capture(asked: _Asked, there: _Standing, of: _Understood, decided: _Decided, explained: _Explained) -> Capture:
    warehouse, decision, old = decided.warehouse, decided.decision, there.old
    if decision.action == WAITING:
        return Capture.nothing(of.model.cores)
    own = [] if old is None or decision.rebuilds else [(old.schema, chain) for chain in old.chains]
    request = Request(
        target=asked.target,
        cores=of.model.cores,
        model=of.model.parsed,
        plan=explained.plan,
        asked=explained.sql,
        version=asked.invocation.version,
        decision=decision,
        old=old,
        config=asked.config,
        plans=of.model.plans,
        existing=there.existing,
        tables=of.model.tables,
        standing=own if warehouse.stack is None else (),
    )
    return capture_inputs(warehouse, request, of.known)


def _writer(
    asked: _Asked, there: _Standing, of: _Understood, decided: _Decided, explained: _Explained, capture: Capture
) -> Writer:
    warehouse, target, decision, old = decided.warehouse, asked.target, decided.decision, there.old
    built_on = _built_on(warehouse, old, decision, capture)
    # a run that adds new rows alone counts the chains after its write too
    adds = not capture.is_same and all(d.is_same or d.is_incremental for d in capture.cores.values())
    waits = adds and warehouse.stack is None
    if not waits and not capture.is_counted:
        refuse_incomplete(warehouse, target.model, built_on)
    if old is None or decision.rebuilds:
        model, expires, shown = of.model, decision.expiration, decision.refreshes
        longest = worst(target.model, target.schema, explained.columns, model.cores, model.residual, expires, shown)
        has_clock = warehouse.stack is None or has_clock_calls(asked.definition.sql, functions=True)
        there.texts.refuse_too_long(longest, has_clock)
    live_run = None if there.live is None else run_of(there.live.text)
    planned = RunPlan(
        target=target,
        config=asked.config,
        docs=asked.definition.docs,
        invocation=asked.invocation,
        neighbours=there.neighbours,
        run_id=chain_rules.new_run_id(asked.invocation.engine_now),
        old=old,
        live_run=live_run,
        existing=tuple(there.existing),
        decision=decision,
        model=of.model,
        columns=explained.columns,
        core_hash=decided.core_hash,
        settings=of.settings,
        capture=capture,
        expiry=decided.expiry,
        stack=warehouse.stack,
        started=asked.started,
        standing=by_schema(built_on) if waits else (),
        is_in_table=there.texts.is_table,
        idle=other_configs.not_carried_out(asked.definition.config),
    )
    full_stores.refuse(planned)
    full_reads.refuse(planned)
    return Writer(warehouse, planned, Commit(there.texts, live_run, f"dbt run -s {target.model}, one run at a time"))


def _built_on(warehouse: Warehouse, old: State | None, decision: Decision, capture: Capture) -> dict[str, list[Chain]]:
    """Schema -> the chains that a run adds to, and the chains of temporal views that the run reads again."""
    found: dict[str, list[Chain]] = {}
    if decision.writes_nothing:
        return found
    if old is not None and not decision.rebuilds:
        found.setdefault(old.schema, []).extend(old.chains)
    for name, state in warehouse.stack.states.items() if warehouse.stack else ():
        if name in capture.changes and not capture.changes[name].same:
            found.setdefault(state.schema, []).extend(state.chains)
    return found
