"""The beginning of a run: observe, refuse what cannot be right, decide. Nothing is written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ..config import TemporalConfig
from ..engine import session
from ..engine.chain_files import by_schema, refuse_incomplete
from ..engine.clock_calls import LIVE
from ..engine.commit_records import CREATE_VIEW
from ..engine.committed import live_view, state_of
from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import MISSING, Warehouse
from ..errors import ForeignRelation, Refusal, TemporalError
from ..inputs.capture import Capture, Request, capture_inputs
from ..inputs.fingerprint import Routines
from ..inputs.stacked_views import changes, refuse_frozen
from ..inputs.upstream import inline_upstreams
from ..temporal.clock.expiration import Dependence, Scheduled
from ..temporal.clock.expiration import expiry as expiry_of
from ..temporal.decision import WAITING, Decision, DecisionContext, decide, hash_cores
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.longest_view import worst
from ..temporal.diffs.state import Chain, State
from ..temporal.diffs.state_text import MARK, run_of
from ..temporal.predicates import clock_text
from ..temporal.sql import identifiers, plans, relations, timestamps
from ..temporal.sql.ctes import cte_of
from ..temporal.sql.dialect import parse
from ..temporal.sql.identifiers import Identifiers, folded
from ..temporal.sql.readable import in_words
from . import at_function, full_reads, late_rows
from .analyze import Model, understand
from .commit import Commit, ViewTexts
from .live_functions import refuse_and_name, refuse_of_session
from .plan import Definition, Invocation, Neighbours, RunPlan
from .record import first_commit, refuse_grants
from .writer import Writer

#: how Spark's plan shows the clock of a view
LIVE_IN_A_PLAN = "unix_millis(current_timestamp()"


def begin(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    neighbours: Neighbours | None = None,
) -> Writer:
    """Observe, refuse what cannot be right, and decide. Writes nothing: that is for the Writer to do."""
    with in_words(definition.sql):
        return _begin(warehouse, target, definition, invocation, neighbours or Neighbours())


def _begin(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    neighbours: Neighbours,
) -> Writer:
    started = time.monotonic()
    full_refresh, version = invocation.full_refresh, invocation.version
    config = TemporalConfig.parse(target.model, definition.config)
    neighbours, existing, live = _standing(warehouse, target, neighbours)
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
        refuse_grants(target, definition.config)
    late_rows.refuse_foreign(warehouse, target, config, existing)
    at_function.refuse_impossible(warehouse, target, config, old)
    if old and not full_refresh and _missing_chains(old, existing):
        if neighbours.known is not None:  # a list that is older than the commit
            neighbours, existing = replace(neighbours, known=None), warehouse.tables(target.schema, target.model)
        _refuse_missing_chains(target, old, existing)

    written = session.substituted(warehouse, definition.sql)
    if warehouse.catalog_is_named():
        _refuse_without_schema(written)
    settings = session.as_remembered(warehouse, dict(invocation.settings), old)
    kept = None if full_refresh else old
    sql, warehouse, clock = inline_upstreams(
        warehouse, target, written, neighbours.below, neighbours.between, old, invocation.as_of, settings
    )
    refreshes = config.refreshes(old.refreshes if old else None, clock)
    earliest = refreshes.last(clock) if refreshes else clock
    model = understand(warehouse, sql, settings, version, earliest, kept, config.aggregates)
    _refuse_long_names(target, model)
    text, calls = model.written, model.calls
    known = Routines(warehouse)
    model = refuse_and_name(model, known)
    at_function.refuse_columns(target, config, model.cores)
    core_hash = hash_cores(model.cores, settings)

    states = warehouse.stack.states if warehouse.stack else {}
    inputs: Sequence[Dependence] = neighbours.inputs
    if config.expiration is not None and not inputs:  # dbt knows of none: does it name tables itself?
        named = _tables_named(warehouse, clock_text.written_at(text, calls, f"{clock}L"))
        inputs = [Dependence(name) for name in named]
    expiry = expiry_of(config.expiration, inputs, refreshes, lambda schedule: _anchor(schedule, states))
    context = DecisionContext(
        core_hash=core_hash,
        settings=settings,
        expiry=expiry,
        restarts=config.restarts,
        clock=clock,
        full_refresh=full_refresh,
        sampled=invocation.sampled,
        inputs_expire=warehouse.stack.expiration if warehouse.stack else None,
        inputs_from=warehouse.stack.known_from if warehouse.stack else None,
        refreshes=refreshes,
        changes=changes(old.written, text) if old else (),
        pinned=invocation.pinned,
    )
    decision = decide(target.model, old, context)
    if warehouse.stack and decision.action != WAITING:
        warehouse = warehouse.over(warehouse.stack.at(target.model, decision.as_of))
    # an instant that stays until the next restart: then equal queries have equal plans
    instant = f"{decision.started_at}L"
    at = clock_text.written_at(text, calls, instant)
    plan = warehouse.explain(at)
    analyzed = plans.analyzed(plan)
    _refuse_itself(target, analyzed, warehouse.catalog())
    refuse_frozen(analyzed, "as an input", invocation.as_of if invocation.pinned else None)
    _refuse_temporal_inputs(warehouse, analyzed)
    refuse_of_session(model, plan, known)
    if old is None or old.written != text:
        printed = clock_text.printed_at(model.parsed, calls, instant, timestamps.are_local(settings))
        of_text = warehouse.explain(warehouse.data(at)) if warehouse.stack else plan
        plans.check(of_text, warehouse.explain(warehouse.data(printed)))
    columns = plans.columns(plan) or warehouse.describe(at)
    intervals_sql.check_columns([(n, "string" if t == "void" else t) for n, t in columns if t != "void"], "4")
    if decision.action == WAITING:
        capture = Capture.nothing(model.cores)
    else:
        own = [] if old is None or decision.rebuilds else [(old.schema, chain) for chain in old.chains]
        request = Request(
            target=target,
            cores=model.cores,
            model=model.parsed,
            plan=plan,
            asked=at,
            version=version,
            decision=decision,
            old=old,
            config=config,
            plans=model.plans,
            existing=existing,
            tables=model.tables,
            standing=own if warehouse.stack is None else (),
        )
        capture = capture_inputs(warehouse, request, known)
    built_on = _built_on(warehouse, old, decision, capture)
    # a run that adds new rows alone counts the chains after its write too
    adds = not capture.is_same and all(d.is_same or d.is_incremental for d in capture.cores.values())
    waits = adds and warehouse.stack is None
    if not waits and not capture.is_counted:
        refuse_incomplete(warehouse, target.model, built_on)
    if old is None or decision.rebuilds:
        expires, shown = decision.expiration, decision.refreshes
        texts.refuse_too_long(worst(target.model, target.schema, columns, model.cores, model.residual, expires, shown))
    live_run = None if live is None else run_of(live.text)
    planned = RunPlan(
        target=target,
        config=config,
        docs=definition.docs,
        invocation=invocation,
        neighbours=neighbours,
        run_id=chain_rules.new_run_id(invocation.engine_now),
        old=old,
        live_run=live_run,
        existing=tuple(existing),
        decision=decision,
        model=model,
        columns=tuple(columns),
        core_hash=core_hash,
        settings=settings,
        capture=capture,
        expiry=expiry,
        stack=warehouse.stack,
        started=started,
        standing=by_schema(built_on) if waits else (),
        is_in_table=texts.is_table,
    )
    full_reads.refuse(planned)
    return Writer(warehouse, planned, Commit(texts, live_run, f"dbt run -s {target.model}, one run at a time"))


def _anchor(schedule: Scheduled, states: Mapping[str, State]) -> int | None:
    """From when the refreshes of a view are counted (ms): as configured, or as its first run decided."""
    state = next((states[name] for name in schedule.names if name in states), None)
    if schedule.anchor is not None or state is None or state.refreshes is None:
        return schedule.anchor
    return state.refreshes.anchor if state.refreshes.every == schedule.every else None


def _standing(
    warehouse: Warehouse, target: ModelRelations, neighbours: Neighbours
) -> tuple[Neighbours, list[str], ViewInfo | None]:
    """The relations of a model, and its commit. What dbt listed is believed as far as the commit is in it or not."""
    if neighbours.known is not None:
        existing = neighbours.known.beginning(target.model)
        try:
            return neighbours, existing, live_view(warehouse, target, existing)
        except Exception as error:
            if not MISSING.search(str(error)):
                raise
    existing = warehouse.tables(target.schema, target.model)
    return replace(neighbours, known=None), existing, live_view(warehouse, target, existing)


def _built_on(warehouse: Warehouse, old: State | None, decision: Decision, capture: Capture) -> dict[str, list[Chain]]:
    """The chains that a run adds to, and those of other models that it reads again, by schema."""
    found: dict[str, list[Chain]] = {}
    if decision.writes_nothing:
        return found
    if old is not None and not decision.rebuilds:
        found.setdefault(old.schema, []).extend(old.chains)
    for name, state in warehouse.stack.states.items() if warehouse.stack else ():
        if name in capture.changes and not capture.changes[name].same:
            found.setdefault(state.schema, []).extend(state.chains)
    return found


def _tables_named(warehouse: Warehouse, sql: str) -> list[str]:
    """The tables a model reads without dbt's knowing, itself or through a temporal view."""
    plan = plans.analyzed(warehouse.explain(sql))
    below = warehouse.stack.states.values() if warehouse.stack else ()
    return [*relations.file_tables(plan), *relations.other_tables(plan), *(n for s in below for n in s.inputs)]


def _refuse_long_names(target: ModelRelations, model: Model) -> None:
    longest, limit = chain_rules.longest_name(target.model, [c.name for c in model.cores]), chain_rules.LONGEST_NAME
    if len(longest) > limit:
        added = len(longest) - len(target.model)
        raise Refusal(
            f"{target.model}, a name of {len(target.model)} characters",
            f"a run names its tables by it, with {added} characters more ({longest[len(target.model) :]}), and a "
            f"metastore keeps {limit} at most",
            f"a name or alias of {limit - added} characters at most",
        )


def _missing_chains(state: State, existing: Iterable[str]) -> list[str]:
    have = Identifiers(existing)
    return [c.table for c in state.chains if c.table not in have]


def _refuse_missing_chains(target: ModelRelations, state: State, existing: Iterable[str]) -> None:
    gone = _missing_chains(state, existing)
    if gone:
        raise TemporalError(
            f"found: {target.model} without its chain {', '.join(gone)}\n"
            f"why: the rows in it are lost, and a run on what is left would be wrong\n"
            f"instead: dbt run --full-refresh -s {target.model}"
        )


def _refuse_without_schema(sql: str) -> None:
    """Refuse a relation that a model names without its schema, in a named catalog.

    A plan shows a view of Iceberg by the name that the text has, and one of a single part looks like an alias: nothing
    would tell that what is read is a view, with a WHERE or a clock of its own.
    """
    for table in parse(sql).find_all(exp.Table):
        if not table.db and isinstance(table.this, exp.Identifier) and cte_of(table) is None:
            raise Refusal(
                f"{table.name} without its schema",
                "in a catalog that the profile names, Spark does not tell whether such a name is a view",
                f"{{{{ ref('{table.name}') }}}}, a source(), or the name with its schema",
            )


def _refuse_itself(target: ModelRelations, analyzed: str, catalog: str) -> None:
    own = identifiers.dotted(identifiers.parts(target.name()))
    read = [*relations.file_tables(analyzed), *relations.other_tables(analyzed), *plans.views(analyzed)]
    names = (identifiers.dotted(identifiers.within(identifiers.parts(name), catalog)) for name in read)
    if any(folded(name) == folded(own) for name in names):
        raise Refusal(
            f"{own} in the query of {target.model} itself",
            "a temporal_view that reads itself: it takes the place of that relation, whose rows then are gone",
            "another name (or alias) for this model, or for the relation that it reads",
        )


def _refuse_temporal_inputs(warehouse: Warehouse, analyzed: str) -> None:
    live_clock = LIVE_IN_A_PLAN in analyzed
    for view in plans.views(analyzed):
        if live_clock:
            info = warehouse.view(view)
            if info and LIVE in info.text and MARK not in info.text:
                name = identifiers.parts(view)[-1]
                raise Refusal(
                    f"{name}, a view with mz_now(), as an input",
                    "its content changes with the clock between runs, and nobody would notice",
                    f"materialized='ephemeral' for {name}: its predicate then is one of this model",
                )
        relation = identifiers.parts(view)[-1]
        if not folded(relation).endswith("__live"):
            continue
        info = warehouse.view(view)
        if info and MARK in info.text:
            name = relation[: -len("__live")]
            raise Refusal(
                f"{name}, a temporal_view, as an input that dbt does not know of",
                "its content changes with the clock between runs; what it stores is read instead where ref() names it",
                f"{{{{ ref('{name}') }}}} in this model itself",
            )
