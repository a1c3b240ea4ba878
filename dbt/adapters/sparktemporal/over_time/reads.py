"""Queries over a committed model, for macros and tests: reads, comparison with its source, checks of its diffs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from random import Random
from typing import Any

from ..engine import session
from ..engine.committed import live_view, read_state, state_of
from ..engine.descriptions import UPDATE
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Explained, NotRun, Refusal
from ..inputs.observing import observe
from ..inputs.observing.append_only import AppendCursor
from ..inputs.views import upstream
from ..plurals import quantity
from ..temporal.clock.instants import format_duration, format_instant, parse_duration, parse_instant
from ..temporal.diffs import late_sql, readable_updates, view_sql
from ..temporal.diffs.input_state import Fingerprint
from ..temporal.diffs.intervals_sql import enclosed, nested
from ..temporal.diffs.state import Chain, State
from ..temporal.diffs.stores import store_of
from ..temporal.ivm.stack import fingerprint_of
from ..temporal.predicates import clock_text
from ..temporal.rewrite.apart import no_fact
from ..temporal.sql.spark import plans
from ..temporal.sql.spark.identity import identity
from ..temporal.sql.text.dialect import parse, quote, string_literal
from ..temporal.sql.text.identifiers import Identifiers
from . import before_restart
from .sequenced.histories import partition

_FLOATS = ("float", "double")
#: how far ahead of the frontier a test looks, at least and at most, where boundaries are not known (ms)
_SECOND, _FAR = 1_000, 30 * 86_400_000


def committed(warehouse: Warehouse, target: ModelRelations) -> State:
    """The committed state of a model. Raises NotRun for a model that has not run."""
    state = read_state(warehouse, target)
    if state is None:
        raise NotRun(
            "ST624",
            f"no {target.model}__live in {target.schema}",
            f"{target.model} is not a temporal_view that has run",
            f"dbt run -s {target.model}",
        )
    return state


def as_of(warehouse: Warehouse, target: ModelRelations, instant: Any) -> str:
    """A parenthesised query: the model at an instant up to the expiration, from `since` or a kept earlier epoch on."""
    return at(warehouse, committed(warehouse, target), instant)


def now(warehouse: Warehouse, target: ModelRelations, instant: int | None) -> str | None:
    """A parenthesised query: the model at the instant of the query, or at a pinned instant (ms).

    None where the model has a view, which answers so by itself.
    """
    state = _without_view(warehouse, target)
    if state is None:
        return None
    if instant is not None:
        return at(warehouse, state, instant)
    session.refuse_other(warehouse, state, f"temporal_read of {state.model}")
    return enclosed(view_sql.live_view(state))


def updates(warehouse: Warehouse, target: ModelRelations) -> str | None:
    """A parenthesised query: the stored updates of a model. None where the model has a view of them."""
    state = _without_view(warehouse, target)
    if state is None:
        return None
    return enclosed(readable_updates.as_updates(state.cores, state.schema))


def late(warehouse: Warehouse, target: ModelRelations) -> str | None:
    """A parenthesised query: the rows of a model that came late. None where the model has a view of them.

    Raises Refusal where no run has kept late rows.
    """
    state = committed(warehouse, target)
    if state.late is None:
        raise Refusal(
            "ST625",
            f"temporal_late of {target.model}, of which no late rows are kept",
            "a run keeps them from the first one on that store_late is set in",
            "config store_late: true, and dbt run",
        )
    if _without_view(warehouse, target) is None:
        return None
    tables = [target.table(name) for name, _ in state.late.tables]
    columns = state.late.shown or late_sql.columns({core.name: core.columns for core in state.cores})
    return enclosed(late_sql.together(tables, columns))


def _without_view(warehouse: Warehouse, target: ModelRelations) -> State | None:
    """The state of a model whose catalog has no views; None for any other model."""
    if not warehouse.catalog_is_named():
        return None
    live = live_view(warehouse, target)
    if live is None:
        return committed(warehouse, target)
    return state_of(warehouse, target, live) if live.rewrite == UPDATE else None


def at(warehouse: Warehouse, state: State, instant: Any) -> str:
    """`as_of` for a known state."""
    if instant is None:
        raise Refusal(
            "ST626",
            f"temporal_as_of of {state.model} without an instant",
            "temporal_as_of reads a model as at an instant; `ref()` alone reads the model now",
            f"temporal_as_of(ref('{state.model}'), '2024-03-01 12:00:30')",
        )
    t, what = parse_instant(instant, "temporal_as_of"), f"temporal_as_of of {state.model}"
    before = before_restart.live_at(warehouse, state, t)
    if before is not None:
        state, what = before, f"{what} before its restart"
    t = answered(state, t)
    session.refuse_other(warehouse, state, what, is_live=before is None)
    return enclosed(view_sql.read_at(state, t))


def answered(state: State, t: int) -> int:
    """The instant (ms) whose rows a model shows at t (ms): t itself, or the last refresh of a model with refreshes.

    Raises TemporalError where the model does not know its rows at t.
    """
    _check_range(state, t)
    return max(state.refreshes.last(t), state.since) if state.refreshes else t


def _check_range(state: State, t: int) -> None:
    late = state.answers_until is not None and t > state.answers_until
    if state.since <= t and not late:
        return
    before_restart.refuse(state, t)
    until = format_instant(state.answers_until) if state.answers_until is not None else "any later instant"
    raise Explained(
        "ST627",
        f"{state.model} as of {format_instant(t)}",
        f"the model can be read from {format_instant(state.since)} (since) to {until}"
        + (" (expiration)" if state.expiration is not None else ""),
        f"an instant in that range, or dbt run -s {state.model} after the expiration"
        if late
        else "an instant in that range; `retain_history` says how much of the past stays from now on",
    )


def expiry(warehouse: Warehouse, target: ModelRelations, at_least: Any, clock: int) -> str:
    """A query: one row when the model has expired at `clock` (ms), or expires within `at_least`."""
    state = committed(warehouse, target)
    margin = parse_duration(at_least, "at_least") or 0
    if state.answers_until is None:
        condition, left, instant = "false", 0, "never"
    else:
        left, instant = state.answers_until - clock, format_instant(state.answers_until)
        condition = "true" if left < margin else "false"
    remaining = f"expired {format_duration(-left)} ago" if left < 0 else f"{format_duration(left)} left"
    return (
        f"SELECT {string_literal(state.model)} AS model, {string_literal(instant)} AS expiration, "
        f"{string_literal(remaining)} AS remaining\nWHERE {condition}"
    )


def inconsistencies(warehouse: Warehouse, target: ModelRelations) -> str:
    """A query: one row for each violation in the stored diffs."""
    state = committed(warehouse, target)
    existing = Identifiers(warehouse.tables(target.schema, target.model))
    checks: list[str] = []
    # a chain may be older than an expiration that was shortened: its updates after that are not corrected
    until = f"\nWHERE mz_timestamp <= {state.expiration}L" if state.expiration is not None else ""
    for before in before_restart.states(warehouse, state):
        checks += [found for chain in before.chains for found in _losses(target, chain, existing)]
    for core in state.cores:
        for chain in core.chains:
            checks += _losses(target, chain, existing)
            if chain.table in existing:
                violations, detail, condition = store_of(core).violations(chain)
                source = chain.source(target.schema)
                checks.append(_check(chain.table, violations, detail, condition, f" FROM {source}"))
        present = [c.source(target.schema) for c in core.chains if c.table in existing]
        if present:
            running = (
                f"SELECT mz_timestamp, sum(mz_diff) OVER ({partition(core.columns)}ORDER BY mz_timestamp) AS mz_n\n"
                f"FROM {nested(store_of(core).as_updates(present), 'mz_updates')}{until}"
            )
            checks.append(
                _check(
                    f"{state.model}__diffs",
                    "a row is retracted more often than it was added",
                    "concat('at ', mz_timestamp, ': ', mz_n)",
                    "mz_n < 0",
                    f" FROM {nested(running, 'mz_running')}",
                )
            )
    return "\nUNION ALL\n".join(checks) or "SELECT 1 AS mz_nothing WHERE false"


def _losses(target: ModelRelations, chain: Chain, existing: Identifiers) -> list[str]:
    """Checks that a chain exists and has the number of rows that a run committed."""
    if chain.table not in existing:
        return [_check(chain.table, "the chain is gone", "NULL", "true", "")]
    rows = f"(SELECT count(*) AS mz_n FROM {chain.source(target.schema)}) AS mz_counts"
    what = f"not the {quantity(chain.rows, 'committed row')}"
    return [_check(chain.table, what, "concat(mz_n, ' rows')", f"mz_n <> {chain.rows}", f" FROM {rows}")]


def _check(place: str, problem: str, detail: str, condition: str, source: str) -> str:
    return (
        f"SELECT {string_literal(place)} AS mz_where, {string_literal(problem)} AS mz_problem, "
        f"CAST({detail} AS STRING) AS mz_detail{source}\nWHERE {condition}"
    )


# ---- the oracle ----------------------------------------------------------------------------------------------------


def matches_source(
    warehouse: Warehouse, target: ModelRelations, instants: Any, samples: int, clock: int, float_digits: int
) -> str:
    """A query: the rows whose multiplicities in the view and in the query as written differ, for each instant.

    Columns: mz_instant, mz_verdict, mz_in_view, mz_in_source, columns of the model. The verdict tells mismatches from
    changes of an input since the frontier, which the view cannot show yet. instants: where to compare; without any, a
    sample is chosen by `samples` and the clock (ms). float_digits: how many digits of doubles are compared.
    """
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_matches_source of {state.model}", always=True)
    warehouse = upstream.as_captured(warehouse, state)
    chosen = _instants(warehouse, state, instants, samples, clock)
    moved = _moved(warehouse, state, chosen[0])
    verdict = "mismatch"
    if moved:
        verdict = f"input changed since the last run, nothing is proved: {', '.join(moved)}; run the model first"
    keys = [_key(n, t, float_digits) for n, t in state.columns]
    names = ", ".join(quote(n) for n, _ in state.columns)
    grouped = ", ".join(f"{no_fact(key)} AS {quote(n)}" for key, (n, _) in zip(keys, state.columns))
    both = []
    for t in chosen:
        oracle = clock_text.written_at(state.written, state.kinds, f"{t}L")
        stamp = string_literal(format_instant(t))
        both.append(
            f"SELECT {stamp} AS mz_instant, {grouped}, 1 AS mz_v, 0 AS mz_s\n"
            f"FROM {nested(view_sql.read_at(state, t), 'mz_view')}"
        )
        # the written text is the oracle, so it stays unchanged, not even indented
        both.append(
            f"SELECT {stamp} AS mz_instant, {grouped}, 0 AS mz_v, 1 AS mz_s\nFROM (\n{oracle}\n) AS mz_source({names})"
        )
    union = "\nUNION ALL\n".join(both)
    # a plain row keeps its own value, such as -0.0; an aggregate may return any of several equal values
    same = identity(state.columns) if state.is_plain else None
    items, grouped = (names, names) if same is None else (", ".join(same.items), ", ".join(same.keys))
    return warehouse.data(
        f"SELECT mz_instant, {string_literal(verdict)} AS mz_verdict, sum(mz_v) AS mz_in_view, "
        f"sum(mz_s) AS mz_in_source, {items}\nFROM (\n{union}\n) AS mz_both\n"
        f"GROUP BY mz_instant, {grouped}\nHAVING sum(mz_v) <> sum(mz_s)"
    )


def _key(name: str, spark_type: str, float_digits: int) -> str:
    """SQL by which a column is compared: doubles without their last digits, which depend on the order of the sum."""
    if spark_type in _FLOATS:
        return f"CAST(format_string('%.{float_digits - 1}e', {quote(name)}) AS {spark_type})"
    return quote(name)


def _instants(warehouse: Warehouse, state: State, given: Any, samples: int, clock: int) -> list[int]:
    if given:
        listed = given if isinstance(given, (list, tuple)) else [given]
        chosen = [parse_instant(v, "instants") for v in listed]
        for t in chosen:
            _check_range(state, t)
            if t < state.frontier:
                raise Refusal(
                    "ST628",
                    f"instants: {format_instant(t)}",
                    f"it is before the last change captured, {format_instant(state.frontier)}: the inputs of that "
                    "instant are gone, so there is no comparison",
                    "instants from the last change captured on",
                )
        return chosen
    last = state.expiration
    chosen = [state.frontier, max(clock, state.frontier)]
    for t in _boundaries(warehouse, state, samples):
        chosen += [t - 1, t, t + 1]
    if clock_text.reads_clock(parse(state.residual)):
        chosen += _spread(state.frontier, last, int(samples))
    inside = [t for t in dict.fromkeys(chosen) if t >= state.frontier and (last is None or t <= last)]
    if not inside:
        _check_range(state, max(clock, state.frontier))
    return sorted(inside)


def _spread(first: int, last: int | None, samples: int) -> list[int]:
    """A sample of instants after `first` up to `last` (ms), denser near `first`, for a residual that reads the clock.

    Each frontier gives other instants, so that repeated tests cover more instants.
    """
    ahead = (_FAR if last is None else min(_FAR, last - first)) / _SECOND
    if ahead <= 1:
        return []
    chance = Random(first)
    return [first + int(_SECOND * ahead ** ((at + chance.random()) / samples)) for at in range(samples)]


def _boundaries(warehouse: Warehouse, state: State, samples: int) -> Sequence[int]:
    """A sample of the instants after the frontier at which the stored rows of any core change."""
    if samples <= 0:
        return []
    by_core = [
        f"(SELECT DISTINCT {at} AS mz_core, t, xxhash64(t, {state.frontier}L) AS mz_order FROM ({times})\n"
        f"WHERE t > {state.frontier} ORDER BY mz_order LIMIT {int(samples)})"
        for at, core in enumerate(state.cores)
        if (times := " UNION ALL ".join(store_of(core).times(chain.source(state.schema)) for chain in core.chains))
    ]
    if not by_core:
        return []
    sql = "SELECT mz_core, t FROM (\n" + "\nUNION ALL\n".join(by_core) + "\n) AS mz_sampled ORDER BY mz_core, mz_order"
    instants: dict[int, list[int]] = {}
    for at, t in warehouse.rows(sql):
        instants.setdefault(int(at), []).append(int(t))
    # in turns, so that each core has its share
    turns = [t for turn in zip_longest(*instants.values()) for t in turn if t is not None]
    return turns[: max(int(samples), len(by_core))]


def _moved(warehouse: Warehouse, state: State, t: int) -> list[str]:
    plan = warehouse.explain(clock_text.written_at(state.written, state.kinds, f"{t}L"))
    follow = next(filter(None, map(AppendCursor.of, state.inputs.values())), None)
    seen = observe.observe(warehouse, plans.analyzed(plan), follow)
    observe.refresh(warehouse, seen.values())
    now: dict[str, Fingerprint] = {name: one.fingerprint for name, one in seen.items()}
    if warehouse.stack is not None:
        now |= {name: fingerprint_of(below) for name, below in warehouse.stack.states.items()}
    return [name for name in sorted({*now, *state.inputs}) if now.get(name) != state.inputs.get(name)]
