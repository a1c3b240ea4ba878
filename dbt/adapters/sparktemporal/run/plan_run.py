"""The beginning of a run, before it writes: observe, refuse what cannot be right, decide."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..config import TemporalConfig
from ..engine import session
from ..engine.chain_files import refuse_incomplete
from ..engine.clock_calls import has_clock_calls
from ..engine.commit_records import CREATE_VIEW
from ..engine.committed import live_view, state_of
from ..engine.described_tables import DescribedTables
from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import ForeignRelation, TemporalError
from ..inputs.changing.capture import Capture, capture_inputs
from ..inputs.changing.query_fingerprint import Routines
from ..inputs.views.upstream import inline_upstreams
from ..temporal.clock.schedule import Refreshes
from ..temporal.decision import RESTARTED, WAITING, Invocation, decide, rebuild
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.longest_view import worst
from ..temporal.diffs.state import Chain, State
from ..temporal.diffs.state_text import run_of
from ..temporal.predicates import clock_text
from ..temporal.rewrite.model import Model
from ..temporal.sql.spark import plans, same_query, timestamps
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text import literals
from ..temporal.sql.text.dialect import parse, without_end
from ..temporal.sql.text.readable import in_words
from . import at_function, full_reads, full_stores, late_rows, outside_views, refused, ways
from .analyze import understand
from .commit import Commit, ViewTexts
from .decision_context import context_of, expiry_of
from .first_commit import first_commit, refuse_grants
from .live_functions import refuse_and_name, refuse_of_session
from .plan import Definition, HostFacts, RunPlan
from .writer import Writer


def begin(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    host_facts: HostFacts | None = None,
) -> Writer:
    """Observe, refuse what cannot be right, and decide -> the Writer that executes the plan."""
    started, replayed = time.monotonic(), invocation.as_of if invocation.pinned else None
    with in_words(definition.sql), refused.unparsed_by_spark(warehouse, definition.sql):
        config = TemporalConfig.parse(target.model, definition.config)
        host_facts, existing, live = _relations(warehouse, target, host_facts or HostFacts())
        old = _last_state(warehouse, target, live, invocation.full_refresh)
        texts = _texts(warehouse, target, definition.config, live, old)
        existing = late_rows.refuse_foreign(warehouse, target, config, existing)
        at_function.refuse_impossible(warehouse, target, config, old)
        if old and not invocation.full_refresh:
            host_facts, existing = _with_all_tables(warehouse, target, host_facts, existing, old)

        warehouse, sql, invocation = _over_views(warehouse, target, definition.sql, invocation, host_facts, old)
        refreshes = config.refreshes(old.refreshes if old else None, invocation.as_of)
        tables, known = DescribedTables(warehouse), Routines(warehouse)
        model = _understand(warehouse, target, sql, config, invocation, refreshes, old, tables, known)

        expiry = expiry_of(warehouse, model, config.expiration, host_facts.inputs, invocation.as_of, refreshes)
        context = context_of(warehouse.stack, model, config, invocation, expiry, refreshes, old)
        decision = decide(target.model, old, context)
        if warehouse.stack and decision.action != WAITING:
            warehouse = warehouse.over(warehouse.stack.at(target.model, decision.as_of))
        plan = RunPlan(
            target=target,
            config=config,
            invocation=invocation,
            old=old,
            existing=tuple(existing),
            decision=decision,
            model=model,
            definition=definition,
            host_facts=host_facts,
            run_id=chain_rules.new_run_id(invocation.engine_now),
            expiry=expiry,
            capture=Capture.nothing(model.cores),
            started=started,
        )
        plan = _captured(warehouse, plan, known, replayed, tables)
        if why := ways.why_rebuild(plan):
            chosen = replace(rebuild(context, RESTARTED, why, decision.as_of), by_cost=True)
            plan = _captured(warehouse, replace(plan, decision=chosen), known, replayed, tables)
        _refuse(warehouse, plan, texts)
        again = f"dbt run -s {target.model}, one run at a time"
        return Writer(warehouse, plan, Commit(texts, None if live is None else run_of(live.text), again))


# -- observe --


def _relations(
    warehouse: Warehouse, target: ModelRelations, host_facts: HostFacts
) -> tuple[HostFacts, list[str], ViewInfo | None]:
    """(the facts of the host, the names of the model's relations, its commit; None before the first commit).

    dbt's list may contain the text of the commit, which may be old. A run that writes compares this text under the
    lock with the text in Spark. Where the list has a commit without its text, and the commit is gone, Spark is asked
    for all relations.
    """
    if host_facts.known is not None:
        existing = host_facts.known.beginning(target.model)
        if listed := host_facts.known.commit(f"{target.model}__live"):
            return host_facts, existing, listed
        try:
            return host_facts, existing, live_view(warehouse, target, existing)
        except SparkError as error:
            error.expect(Cause.NO_RELATION)
    existing = warehouse.tables(target.schema, target.model)
    return replace(host_facts, known=None), existing, live_view(warehouse, target, existing)


def _last_state(
    warehouse: Warehouse, target: ModelRelations, live: ViewInfo | None, full_refresh: bool
) -> State | None:
    """The last commit. None at a first run, and at a full refresh that cannot read the commit."""
    try:
        return None if live is None else state_of(warehouse, target, live)
    except ForeignRelation:
        raise
    except TemporalError:
        if not full_refresh:
            raise
    return None


def _texts(
    warehouse: Warehouse, target: ModelRelations, config: Mapping[str, Any], live: ViewInfo | None, old: State | None
) -> ViewTexts:
    first = CREATE_VIEW if live else first_commit(warehouse, target)
    texts = ViewTexts(warehouse, target, live, first, old.view_size if old else 0)
    if texts.is_table:
        outside_views.refuse_others(warehouse, target)
        refuse_grants(target, config)
    return texts


def _with_all_tables(
    warehouse: Warehouse, target: ModelRelations, host_facts: HostFacts, existing: list[str], old: State
) -> tuple[HostFacts, list[str]]:
    """(the facts of the host, the names of the model's relations, with all tables of rows of its commit).

    Where dbt's list lacks such a table, Spark is asked anew. Raises TemporalError where a chain is missing.
    """
    if refused.missing_tables(old, existing):
        if host_facts.known is not None:  # a list that is older than the commit
            host_facts, existing = replace(host_facts, known=None), warehouse.tables(target.schema, target.model)
        refused.refuse_missing_chains(target, old, existing)
    return host_facts, existing


# -- understand --


def _over_views(
    warehouse: Warehouse,
    target: ModelRelations,
    sql: str,
    invocation: Invocation,
    host_facts: HostFacts,
    old: State | None,
) -> tuple[Warehouse, str, Invocation]:
    """(the warehouse that knows the temporal views below, the text over them, the invocation).

    The invocation has the settings under which the model's rows are computed, and an instant at which the temporal
    views below are known.
    """
    written = session.substituted(warehouse, sql)
    if warehouse.catalog_is_named():
        refused.refuse_without_schema(written)
    settings = session.as_remembered(warehouse, dict(invocation.settings), old)
    read = literals.as_read(without_end(written), settings, invocation.version)
    refused.refuse_itself(target, parse(read), warehouse.catalog())
    below, between = host_facts.below, host_facts.between
    invocation = replace(invocation, settings=settings)
    text, warehouse, clock = inline_upstreams(warehouse, target, written, below, between, old, invocation)
    return warehouse, text, replace(invocation, as_of=clock)


def _understand(
    warehouse: Warehouse,
    target: ModelRelations,
    sql: str,
    config: TemporalConfig,
    invocation: Invocation,
    refreshes: Refreshes | None,
    old: State | None,
    tables: DescribedTables,
    known: Routines,
) -> Model:
    first = refreshes.last(invocation.as_of) if refreshes else invocation.as_of
    kept = None if invocation.full_refresh else old
    settings, version = invocation.settings, invocation.version
    model = understand(warehouse, sql, settings, version, first, kept, config.aggregates, tables)
    refused.refuse_long_names(target, model)
    model = refuse_and_name(model, known)
    at_function.refuse_columns(target, config, model.cores)
    return model


# -- plan --


def _captured(
    warehouse: Warehouse, plan: RunPlan, known: Routines, replayed: int | None, tables: DescribedTables
) -> RunPlan:
    """The plan, explained and with the capture of its inputs. A run that waits has no capture.

    tables: the described tables. The other arguments are those of `_explained`.
    """
    plan = _explained(warehouse, plan, known, replayed)
    if plan.decision.action == WAITING:
        return plan
    return replace(plan, capture=capture_inputs(warehouse, plan, known, tables.found))


def _explained(warehouse: Warehouse, plan: RunPlan, known: Routines, replayed: int | None) -> RunPlan:
    """Explain the query, and check by plans that the inputs are allowed, and that tree and text mean the same.

    The query is of an instant that stays until the next restart, so that equal queries have equal plans.
    replayed: the instant that people gave (ms), None for the clock's.
    """
    at, model = plan.asked, plan.model
    explained = warehouse.explain(at)
    refused.refuse_inputs(warehouse, plan.target, plans.analyzed(explained), replayed)
    refuse_of_session(model, explained, known)
    if plan.old is None or plan.old.written != model.written:
        local = timestamps.are_local(plan.invocation.settings)
        printed = clock_text.printed_at(model.parsed, model.calls, f"{plan.started_at}L", local)
        of_text = warehouse.explain(warehouse.data(at)) if warehouse.stack else explained
        same_query.check(of_text, warehouse.explain(warehouse.data(printed)))
    if plans.pads_texts(explained, plan.invocation.settings) and warehouse.writes_iceberg(plan.config.file_format):
        refused.refuse_padded(model)
    columns = plans.columns(explained) or warehouse.describe(at)
    intervals_sql.check_columns([(n, "string" if t == "void" else t) for n, t in columns if t != "void"], "4")
    return replace(plan, explained=explained, columns=tuple(columns))


def _refuse(warehouse: Warehouse, plan: RunPlan, texts: ViewTexts) -> None:
    """Refuse a run over chains that lost rows, a view that may become too long, and reads or stores that cost much."""
    if not (plan.capture.is_counted or plan.adds and warehouse.stack is None):
        refuse_incomplete(warehouse, plan.target.model, _built_on(warehouse, plan))
    if plan.built_on is None:
        model, expires, shown = plan.model, plan.decision.expiration, plan.refreshes
        schema = plan.target.schema
        longest = worst(plan.target.model, schema, plan.columns, model.cores, model.residual, expires, shown)
        has_clock = warehouse.stack is None or has_clock_calls(plan.definition.sql, functions=True)
        texts.refuse_too_long(longest, has_clock)
    full_stores.refuse(plan)
    full_reads.refuse(plan)


def _built_on(warehouse: Warehouse, plan: RunPlan) -> list[tuple[str, Chain]]:
    """(schema, chain) of the chains that a run adds to, and of the chains of temporal views that it reads again."""
    if plan.decision.writes_nothing:
        return []
    below = warehouse.stack.states.items() if warehouse.stack else ()
    changed = (state for name, state in below if name in plan.capture.changes and not plan.capture.changes[name].same)
    return [*plan.own_chains, *((state.schema, chain) for state in changed for chain in state.chains)]
