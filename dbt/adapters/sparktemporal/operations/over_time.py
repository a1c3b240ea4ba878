"""`temporal_at`, `temporal_calendar` and `temporal_forecast`: a committed model at many instants, past and to come."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..engine import session
from ..engine.warehouse import ModelRelations, Warehouse
from ..errors import Refusal
from ..temporal.changes import output
from ..temporal.changes.histories import Range
from ..temporal.changes.output import Output
from ..temporal.clock.instants import format_instant, parse_duration, parse_instant
from ..temporal.diffs.intervals_sql import indent, no_rows
from ..temporal.diffs.state import State
from ..temporal.sql.calls import is_aggregate_call
from ..temporal.sql.dialect import parse, quote, string_literal
from ..temporal.sql.identifiers import Identifiers, folded
from ..temporal.sql.linear import is_aggregation
from ..temporal.sql.names import is_reserved
from ..words import quantity
from .changes import EXPIRATION, MAX_CHANGES, NEVER, cut_off, readable
from .reads import answered, committed

#: a calendar looks first at so many instants of changes of stored rows for each change that it is asked for
_NEAR = 10


def at(warehouse: Warehouse, target: ModelRelations, relation: str, column: Any) -> str:
    """A parenthesised query: each distinct instant of a relation's column, and the rows of the model at the instant.

    relation: as it stands in a FROM. column: a TIMESTAMP, DATE or TIMESTAMP_NTZ, or a number of ms.
    """
    state = committed(warehouse, target)
    what = f"temporal_at of {state.model}"
    name, clock = _instants_of(warehouse, what, relation, column)
    if is_reserved(name):
        raise Refusal(f"{what} with the instants {name}", "the query keeps its own column of that name", "another name")
    if name in Identifiers(n for n, _ in state.columns):
        raise Refusal(
            f"{what} with the instants {name}",
            "the model has a column of that name, and the answer has both",
            f"another name for the instants, as in (select {name} as at_{name} from …)",
        )
    session.refuse_other(warehouse, state, what, always=True)
    ((first, last),) = warehouse.rows(f"SELECT min({clock}), max({clock}) FROM {relation}")
    if first is None:
        return f"(\n{indent(_nothing(warehouse, state, relation, name), 2)}\n)"
    within = Range(answered(state, int(first)), answered(state, int(last)), state.refreshes, state.frontier)
    shown = "mz_seq_given"
    if state.refreshes is not None:
        least = f"IF(mz_seq_given >= {state.frontier}L, {state.frontier}L, {state.since}L)"
        shown = f"greatest({state.refreshes.last_sql('mz_seq_given')}, {least})"
    message = string_literal(f"{what}: the instants are others than when the query was made")
    checked = f"IF(mz_seq_given BETWEEN {first}L AND {last}L, {shown}, CAST(raise_error({message}) AS BIGINT))"
    given = f"SELECT DISTINCT {quote(name)}, {clock} AS mz_seq_given FROM {relation} WHERE {quote(name)} IS NOT NULL"
    points = f"SELECT {quote(name)}, {checked} AS mz_seq_t\nFROM (\n{indent(given, 2)}\n) AS mz_instants"
    names = ", ".join(quote(n) for n in (name, *(n for n, _ in state.columns)))
    over = Output(state, within)
    over = over if over.is_row_by_row else readable(warehouse, over, points, what)
    rows = over.at(points, "mz_seq_t")
    return f"(\n  SELECT {names}\n  FROM (\n{indent(rows, 4)}\n  ) AS mz_at\n)"


def _instants_of(warehouse: Warehouse, what: str, relation: str, column: Any) -> tuple[str, str]:
    """The name of a column of instants, and SQL of its milliseconds."""
    if not isinstance(column, str) or not column:
        raise Refusal(f"{what} with the column {column!r}", "it names the column of the instants", "'hour'")
    described = warehouse.describe(f"SELECT * FROM {relation}")
    same = [(n, kind) for n, kind in described if folded(n) == folded(column)]
    found = same[0] if len(same) == 1 else None
    if found is None and same:
        raise Refusal(
            f"{what} with the column {column}", f"{relation} has two columns of that name", "an alias for one"
        )
    if found is None:
        listed = ", ".join(n for n, _ in described)
        raise Refusal(f"{what} with the column {column}", f"{relation} has no such column", f"one of: {listed}")
    name, kind = found
    if kind.lower() in ("timestamp", "date", "timestamp_ntz"):
        return name, f"unix_millis(CAST({quote(name)} AS TIMESTAMP_LTZ))"
    if kind.lower() in ("tinyint", "smallint", "int", "bigint") or kind.lower().startswith("decimal"):
        return name, f"CAST(floor({quote(name)}) AS BIGINT)"
    raise Refusal(
        f"{what} with the column {name}, a {kind}",
        "it is no instant",
        "a TIMESTAMP, a DATE, or a number of milliseconds",
    )


def _nothing(warehouse: Warehouse, state: State, relation: str, name: str) -> str:
    kind = next(k for n, k in warehouse.describe(f"SELECT * FROM {relation}") if folded(n) == folded(name))
    return no_rows(((name, kind), *state.columns))


def calendar(warehouse: Warehouse, target: ModelRelations, count: Any, most: Any, clock: int) -> str:
    """A parenthesised query: the next instants at which the output changes, with the numbers of rows.

    most: instants at which an output that is not read row by row is evaluated. clock: ms. Columns: mz_timestamp (ms),
    changes_at (TIMESTAMP), rows_in, rows_out.
    """
    state = committed(warehouse, target)
    what = f"temporal_calendar of {state.model}"
    for name, given in (("n", count), ("max_changes", most)):
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_CHANGES:
            raise Refusal(f"{what} with {name}={given!r}", f"it is a number from 1 to {MAX_CHANGES:,}", f"{name}=10")
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
        ((found,),) = warehouse.rows(f"SELECT count(*) FROM (\n{indent(sql, 2)}\n) AS mz_found")
        sql = sql if found >= count else _next_changes(whole, clock, count)
    return f"(\n{indent(sql, 2)}\n)"


def _next_changes(over: Output, clock: int, count: int) -> str:
    updates = output.updates(over, over.within.first, over.state.frontier, snapshot=False)
    return (
        f"SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS changes_at,\n"
        f"  sum(greatest(mz_diff, 0L)) AS rows_in, -sum(least(mz_diff, 0L)) AS rows_out\n"
        f"FROM (\n{indent(updates, 2)}\n) AS mz_changes\nWHERE mz_timestamp > {clock}L\nGROUP BY mz_timestamp\n"
        f"ORDER BY mz_timestamp\nLIMIT {count}"
    )


def _refusing_less(sql: str, what: str, count: int, most: int, reached: int) -> str:
    """A calendar that does not look at all that is to come: it raises where it finds fewer changes than asked for."""
    message = string_literal(
        f"found: {what}, with fewer than {quantity(count, 'change')} up to {format_instant(reached)}\n"
        f"why: whether the rows change is evaluated at {quantity(most, 'instant')}, and more are to come\n"
        f"instead: a larger max_changes (at most {MAX_CHANGES:,}), or temporal_forecast"
    )
    none = "CAST(NULL AS BIGINT), CAST(NULL AS TIMESTAMP), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)"
    return (
        f"SELECT *\nFROM (\n{indent(sql, 2)}\n) AS mz_found\nUNION ALL\nSELECT {none}\n"
        f"FROM (\n  SELECT count(*) AS mz_number FROM (\n{indent(sql, 4)}\n  ) AS mz_found\n) AS mz_counted\n"
        f"WHERE mz_number < {count} AND raise_error({message}) IS NULL\nORDER BY mz_timestamp"
    )


def forecast(warehouse: Warehouse, target: ModelRelations, every: Any, until: Any, aggregate: Any, clock: int) -> str:
    """A parenthesised query: an aggregate over the output at each step from `clock` (ms) on, if nothing new comes.

    Columns: mz_timestamp (ms), forecast_at (TIMESTAMP), value.
    """
    state = committed(warehouse, target)
    what = f"temporal_forecast of {state.model}"
    step = None if every in (None, "", "0", 0) else parse_duration(every, "every")
    if step is None:
        raise Refusal(f"{what} every {every!r}", "it is the time between two steps, and more than 0", "every='1 hour'")
    _refuse_no_aggregate(what, aggregate)
    last = None if until is None or until == EXPIRATION else parse_instant(until, "until")
    last = state.answers_until if last is None else last
    if last is None:
        raise Refusal(f"{what} without `until`", "the model never expires", "until='2024-03-02 12:00:00'")
    clock = max(clock, state.frontier)
    over = _ahead(warehouse, state, what, clock, last)
    steps = max(0, (last - clock) // step) + 1
    if steps > MAX_CHANGES:
        raise Refusal(
            f"{what} with {steps:,} steps",
            f"the rows are counted at each of them, {MAX_CHANGES:,} at most",
            "a longer `every`, or an earlier `until`",
        )
    listed = f"SELECT explode(sequence({clock}L, {clock + (steps - 1) * step}L, {step}L)) AS mz_timestamp"
    if over.is_row_by_row and "".join(str(aggregate).split()).lower() == "count(*)":
        return f"(\n{indent(_counted(over, state, listed, clock, step), 2)}\n)"
    shown = "mz_timestamp"
    if state.refreshes is not None:
        shown = f"greatest({state.refreshes.last_sql('mz_timestamp')}, {state.frontier}L)"
    points = f"SELECT mz_timestamp, {shown} AS mz_seq_t\nFROM (\n{indent(listed, 2)}\n) AS mz_steps"
    rows = readable(warehouse, over, points, what).summed_at(points, "mz_seq_t", str(aggregate))
    return (
        f"(\n  SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS forecast_at, value\n"
        f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_forecast\n)"
    )


def _counted(over: Output, state: State, listed: str, clock: int, step: int) -> str:
    """The number of rows at each step: the running total of the updates until then."""
    sql = output.updates(over, over.within.first, state.frontier, snapshot=True)
    due = (
        f"SELECT {clock}L + greatest(0L, (mz_timestamp - {clock}L + {step - 1}L) DIV {step}L) * {step}L AS mz_step,\n"
        f"  mz_diff\n"
        f"FROM (\n{indent(sql, 2)}\n) AS mz_updates"
    )
    by_step = f"SELECT mz_step, sum(mz_diff) AS mz_more\nFROM (\n{indent(due, 2)}\n) AS mz_due\nGROUP BY mz_step"
    return (
        f"SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS forecast_at,\n"
        f"  coalesce(sum(mz_more) OVER (ORDER BY mz_timestamp), 0L) AS value\n"
        f"FROM (\n{indent(listed, 2)}\n) AS mz_steps\n"
        f"LEFT JOIN (\n{indent(by_step, 2)}\n) AS mz_by_step ON mz_step = mz_timestamp"
    )


def _refuse_no_aggregate(what: str, text: Any) -> None:
    """Refuse what is not one aggregate, or an expression of aggregates."""
    found: exp.Expr | None = None
    if isinstance(text, str) and text.strip():
        try:
            found = parse(f"SELECT {text}")
        except (Refusal, SqlglotError):
            found = None
    is_one = found is not None and len(found.expressions) == 1 and not found.args.get("from_")
    if isinstance(found, exp.Select) and is_one and is_aggregation(found):
        value = found.expressions[0]
        inside = {id(node) for call in value.walk() if is_aggregate_call(call) for node in call.walk()}
        bare = [node for node in value.find_all(exp.Column) if id(node) not in inside]
        if not bare and value.find(exp.Window, exp.Query, exp.Alias) is None:
            return
    raise Refusal(
        f"{what} with the aggregate {text!r}",
        "it is not one aggregate over the columns of the model",
        "aggregate='count(*)', or 'sum(amount)'",
    )


def _ahead(warehouse: Warehouse, state: State, what: str, clock: int, until: int | None) -> Output:
    """The output from the clock on: up to an instant, or as far as it is known."""
    first = answered(state, clock)
    if until is not None:
        answered(state, until)
        if until < clock:
            raise Refusal(f"{what} until {format_instant(until)}", "that is past", "an instant to come")
    session.refuse_other(warehouse, state, what, always=True)
    last = state.answers_until if until is None else until
    return Output(state, Range(first, NEVER if last is None else last, state.refreshes, state.frontier))
