"""`temporal_calendar` and `temporal_forecast`: what a committed model will show, if no input changes."""

from __future__ import annotations

from typing import Any

from ..engine import session
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..plurals import quantity
from ..temporal.clock.instants import format_instant, parse_duration, parse_instant
from ..temporal.diffs.intervals_sql import enclosed, indent, nested
from ..temporal.diffs.state import State
from ..temporal.sql.text.dialect import string_literal
from .aggregates import Wanted, by_totals, refuse_no_aggregate
from .changes import EXPIRATION, MAX_CHANGES, NEVER, cut_off, readable
from .reads import answered, committed
from .sequenced import output
from .sequenced.histories import Range
from .sequenced.output import Output

#: a calendar looks first at so many instants of changes of stored rows for each change that it is asked for
_NEAR = 10


def calendar(warehouse: Warehouse, target: ModelRelations, count: Any, most: Any, clock: int) -> str:
    """A parenthesised query: the next `count` instants at which the output changes, with how many rows enter and leave.

    most: the most instants at which an output that is not read row by row is evaluated. If there are fewer changes than
    `count` at these instants, and more instants follow, the query raises an error. clock: ms.
    Columns: mz_timestamp (ms), changes_at (TIMESTAMP), rows_in, rows_out.
    """
    state = committed(warehouse, target)
    what = f"temporal_calendar of {state.model}"
    for name, given in (("n", count), ("max_changes", most)):
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_CHANGES:
            raise Refusal(
                "ST618", f"{what} with {name}={given!r}", f"it is a number from 1 to {MAX_CHANGES:,}", f"{name}=10"
            )
    clock = max(clock, state.frontier)
    whole = _ahead(warehouse, state, what, clock, None)
    reached = cut_off(warehouse, whole, max(most, _NEAR * count) if whole.is_row_by_row else most)
    over = whole if reached is None else whole.until(reached)
    if not over.is_row_by_row:
        over = readable(warehouse, over, over.edge_points(), what)
    sql = _next_changes(over, clock, count)
    if reached is not None and not over.is_row_by_row:
        sql = _refusing_less(sql, what, count, most, reached)
    elif reached is not None:
        ((found,),) = warehouse.rows(f"SELECT count(*) FROM {nested(sql, 'mz_found')}")
        sql = sql if found >= count else _next_changes(whole, clock, count)
    return enclosed(sql)


def _next_changes(over: Output, clock: int, count: int) -> str:
    updates = output.updates(over, over.within.first, over.state.frontier, snapshot=False)
    return (
        f"SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS changes_at,\n"
        f"  sum(greatest(mz_diff, 0L)) AS rows_in, -sum(least(mz_diff, 0L)) AS rows_out\n"
        f"FROM {nested(updates, 'mz_changes')}\nWHERE mz_timestamp > {clock}L\nGROUP BY mz_timestamp\n"
        f"ORDER BY mz_timestamp\nLIMIT {count}"
    )


def _refusing_less(sql: str, what: str, count: int, most: int, reached: int) -> str:
    """A calendar that looks only up to `reached` (ms): it raises if it finds fewer changes than asked for."""
    more = f"a larger max_changes (at most {MAX_CHANGES:,}), or " if most < MAX_CHANGES else ""
    refusal = Refusal(
        "ST619",
        f"{what}, with fewer than {quantity(count, 'change')} up to {format_instant(reached)}",
        f"whether the rows change is evaluated at {quantity(most, 'instant')}, and more are to come",
        f"{more}temporal_forecast, which counts the rows at steps of a length that you give",
    )
    message = string_literal(str(refusal))
    none = "CAST(NULL AS BIGINT), CAST(NULL AS TIMESTAMP), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)"
    return (
        f"SELECT *\nFROM {nested(sql, 'mz_found')}\nUNION ALL\nSELECT {none}\n"
        f"FROM (\n  SELECT count(*) AS mz_number FROM (\n{indent(sql, 4)}\n  ) AS mz_found\n) AS mz_counted\n"
        f"WHERE mz_number < {count} AND raise_error({message}) IS NULL\nORDER BY mz_timestamp"
    )


def forecast(warehouse: Warehouse, target: ModelRelations, every: Any, until: Any, aggregate: Any, clock: int) -> str:
    """A parenthesised query: an aggregate over the output at each step from `clock` (ms) on, if nothing new comes.

    every: the length of a step, as text. until: the last instant, None for the expiration. The first step is at the
    frontier where that is later. Columns: mz_timestamp (ms), forecast_at (TIMESTAMP), value. Raises Refusal.
    """
    return of_state(warehouse, committed(warehouse, target), every, until, aggregate, clock)


def of_state(warehouse: Warehouse, state: State, every: Any, until: Any, aggregate: Any, clock: int) -> str:
    """`forecast` for a known state."""
    what = f"temporal_forecast of {state.model}"
    step = None if every in (None, "", "0", 0) else parse_duration(every, "every")
    if step is None:
        raise Refusal(
            "ST620", f"{what} every {every!r}", "it is the time between two steps, and more than 0", "every='1 hour'"
        )
    refuse_no_aggregate(what, aggregate)
    last = None if until is None or until == EXPIRATION else parse_instant(until, "until")
    last = state.expires if last is None else last
    if last is None:
        raise Refusal("ST621", f"{what} without `until`", "the model never expires", "until='2024-03-02 12:00:00'")
    clock = max(clock, state.frontier)
    over = _ahead(warehouse, state, what, clock, last)
    steps = max(0, (last - clock) // step) + 1
    if steps > MAX_CHANGES:
        raise Refusal(
            "ST622",
            f"{what} with {steps:,} steps",
            f"the rows are counted at each of them, {MAX_CHANGES:,} at most",
            "a longer `every`, or an earlier `until`",
        )
    listed = f"SELECT explode(sequence({clock}L, {clock + (steps - 1) * step}L, {step}L)) AS mz_timestamp"
    instants = [answered(state, clock + at * step) for at in range(steps)]
    points = f"SELECT mz_timestamp, {state.shown_sql('mz_timestamp')} AS mz_seq_t\nFROM {nested(listed, 'mz_steps')}"
    rows = by_totals(warehouse, over, points, Wanted(what, "mz_timestamp", {"value": str(aggregate)}), instants)
    rows = rows or readable(warehouse, over, points, what, instants).summed_at(points, "mz_seq_t", str(aggregate))
    return (
        f"(\n  SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS forecast_at, value\n"
        f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_forecast\n)"
    )


def _ahead(warehouse: Warehouse, state: State, what: str, clock: int, until: int | None) -> Output:
    """The output from the clock (ms) to `until` (ms), or to the last instant that the model answers."""
    first = answered(state, clock)
    if until is not None:
        answered(state, until)
        if until < clock:
            raise Refusal("ST623", f"{what} until {format_instant(until)}", "that is past", "an instant to come")
    session.refuse_other(warehouse, state, what, always=True)
    last = state.answers_until if until is None else until
    # what is stored is right up to the expiration, and a model with refreshes answers for longer
    return Output(state, Range(first, NEVER if last is None else answered(state, last), state.refreshes))
