"""SQL of the general case: a predicate's truth at its boundaries, and the intervals in which the predicate holds.

    mz_points   the instants, from mz_lower to before mz_upper, at which the truth may change       [L, e, e + 1, ...]
    mz_truth    Spark's own evaluation at each instant, NULL as false                                [T, T, F, ...]
    mz_spans    the runs of TRUE: disjoint, not adjacent                                             [[L, e + 1)]

A superfluous point does no harm. The text is linear in the predicate. All times are BIGINT milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sqlglot import exp

from ...errors import Refusal
from ..clock.instants import format_instant
from ..predicates.bounds import edges_of
from ..predicates.clock_text import evaluated
from ..predicates.conditions import LISTED, MONTHS, UNIT, Condition, Edge, Guard, MonotoneComparison
from ..predicates.days import TRUNCATED
from ..predicates.lengths import DAY_MS
from ..predicates.ordered import YEARS, YEARS_END
from ..predicates.shifts import moved
from ..rewrite.core import TypedCore
from ..sql.functions.row import DAY
from ..sql.text.dialect import fragment, has_clock, is_mz_now, quote, render, string_literal
from ..sql.text.helper_columns import static_column
from .crossings_sql import FAR, crossings

_CENTURIES = 500 * 366 * DAY


def spans(rows: str, names: Sequence[str], typed: TypedCore, whole: bool = False) -> str:
    """A query of names, row expressions, mz_lower and mz_upper -> names, mz_from, mz_until: one row an interval.

    whole: one interval for each row, from the beginning of its first interval to the end of its last.
    """
    condition, calls = typed.core.condition, typed.calls
    assert condition is not None
    columns = "".join(f"{n}, " for n in names)
    row_expressions = "".join(f"{quote(static_column(i))}, " for i in range(len(condition.row_expressions)))
    truth = evaluated(condition.predicate, calls, "mz_p")
    each, items = "LATERAL VIEW inline(mz_spans) mz_each AS mz_from, mz_end", "mz_from, coalesce(mz_end, mz_upper)"
    if whole:
        each = "WHERE size(mz_spans) > 0"
        items = "mz_spans[0].mz_from AS mz_from, coalesce(element_at(mz_spans, -1).mz_end, mz_upper)"
    return (
        f"SELECT {columns}{items} AS mz_until\n"
        f"FROM (\n"
        f"  SELECT {columns}transform(\n"
        f"    filter(mz_truth, (e, i) -> e.v AND (i = 0 OR NOT get(mz_truth, i - 1).v)),\n"
        f"    e -> named_struct('mz_from', e.t, 'mz_end', get(filter(mz_truth, f -> NOT f.v AND f.t > e.t), 0).t)\n"
        f"    ) AS mz_spans, mz_upper\n"
        f"  FROM (\n"
        f"    SELECT {columns}mz_upper, transform(mz_points, mz_p -> named_struct('t', mz_p, 'v', coalesce(\n"
        f"      {truth}, false))) AS mz_truth\n"
        f"    FROM (\n"
        f"      SELECT {columns}{row_expressions}mz_upper, array_sort(array_distinct(filter("
        f"{_points(condition, calls)}, p -> p >= mz_lower AND p < least(mz_upper, {FAR}L)))) AS mz_points\n"
        f"      FROM (\n{rows}\n      ) AS mz_bounded\n"
        f"      WHERE mz_lower < least(mz_upper, {FAR}L)\n"
        f"    ) AS mz_pointed\n"
        f"  ) AS mz_judged\n"
        f") AS mz_spanned\n"
        f"{each}"
    )


def _edges_of_elements(edge: Edge) -> str:
    """SQL of an array of the instants at which a comparison of the clock with an element can change."""
    each = ", ".join(edges_of("mz_e", edge.comparison.kind))
    listed = f"flatten(transform({quote(static_column(edge.index))}, `mz_e` -> array({each})))"
    return f"coalesce({listed}, CAST(array() AS ARRAY<BIGINT>))"


def _points(condition: Condition, calls: Mapping[int, str]) -> str:
    """SQL of an array: the instants at which the truth of a condition may change, and the first instant."""
    points = ["mz_lower"]
    for edge in condition.edges:
        points += [] if edge.of_elements else edges_of(static_column(edge.index), edge.comparison.kind)
    around = [_edges_of_elements(edge) for edge in condition.edges if edge.of_elements]
    for step in condition.steps:
        if step.search == LISTED:
            around.append(f"coalesce({render(step.other)}, CAST(array() AS ARRAY<BIGINT>))")
            continue
        search_of = {UNIT: _unit_edges, MONTHS: _month_edges}.get(step.search) if not step.turns else None
        if search_of is None:
            around.append(_turned_months(step, calls) if step.turns else crossings(step, calls))
        found = search_of(step) if search_of else ["mz_lower"]
        for guard in step.guards:
            found[0] = _guarded(found[0], guard, calls)
        for of in step.of_fields:
            found[0] = _within_years(found[0], of, calls)
        points += found
    listed = "array(\n      " + ",\n      ".join(dict.fromkeys(points)) + "\n      )"
    return f"concat({listed},\n      " + ",\n      ".join(dict.fromkeys(around)) + ")" if around else listed


def _guarded(point: str, guard: Guard, calls: Mapping[int, str]) -> str:
    """SQL of a point; the SQL raises if a row moves the clock to before the first instant of the guard.

    Until that instant local time in the zone goes back or leaps.
    """
    instant, first, zone = guard
    read = evaluated(exp.cast(instant.copy(), "TIMESTAMP_LTZ", dialect="spark"), calls, "mz_lower")
    refusal = Refusal(
        "ST352",
        f"{fragment(instant)}, which leads a row to before {format_instant(first)}",
        f"on the clock's side it follows local time, which in {zone} goes back, or leaps, until then, so the instants "
        "at which it changes cannot be listed",
        "a shorter interval in that row, or spark.sql.session.timeZone: UTC in the profile",
    )
    return _unless(f"unix_millis({read}) < {first}L", refusal, point)


def _within_years(point: str, of: exp.Expr, calls: Mapping[int, str]) -> str:
    """SQL of a point; the SQL raises if a row moves the clock to a year outside of YEARS.

    Outside of YEARS the fields of instants are not in the order of the instants.
    """
    base, span = moved(of) or (of, (0, 0))
    if is_mz_now(base.unnest()) and max(map(abs, span)) < _CENTURIES:
        return point
    # a search probes the first cell that begins after the last year
    first, last = (evaluated(of, calls, instant) for instant in ("mz_lower", f"{YEARS_END + DAY_MS}L"))
    refusal = Refusal(
        "ST353",
        f"{fragment(of)}, which leads a row to before the year {YEARS[0]} or after {YEARS[1]}",
        "there its fields do not order like instants, so the instants at which this changes cannot be listed",
        "a shorter interval in that row",
    )
    return _unless(f"year({first}) < {YEARS[0]} OR year({last}) > {YEARS[1]}", refusal, point)


def _unless(condition: str, refusal: Refusal, point: str) -> str:
    """SQL of a point, or of an error with the text of a refusal where a condition (SQL) holds."""
    return f"IF(coalesce({condition}, false), CAST(raise_error({string_literal(str(refusal))}) AS BIGINT), {point})"


def _unit_edges(step: MonotoneComparison) -> list[str]:
    """The instants at which the truncated clock reaches and leaves a value: the edges of the value's unit."""
    start = f"date_trunc('{step.truncates}', {render(step.other)})"
    return [f"unix_millis({start})", f"unix_millis({start} + INTERVAL {TRUNCATED[str(step.truncates)]})"]


def _month_edges(step: MonotoneComparison) -> list[str]:
    """The instants at which the clock, moved by months, may cross a value, in a zone of one offset.

    Up to four dates of the clock become the date of the value: 28 to 31 January plus a month are all 28 February.
    On each of these dates the time of day decides. So the points are the midnights around these dates, and the value's
    time of day after each midnight.
    """
    instant, date = _months_back(step)
    first = f"unix_millis(CAST({date} AS TIMESTAMP_LTZ))"
    time = f"(unix_millis({instant}) - unix_millis(date_trunc('DAY', {instant})))"
    midnights = [f"{first} + {day * DAY_MS}L" for day in range(-1, 5)]
    return [point for m in midnights for point in (m, f"{m} + {time}", f"{m} + {time} + 1L")]


def _months_back(step: MonotoneComparison) -> tuple[str, str]:
    """SQL of the value beside a clock moved by months, as an instant; and of the first date that leads there."""
    moved = cast("exp.Binary", step.function.unnest())
    months = moved.right if has_clock(moved.left) else moved.left
    back = "-" if isinstance(moved, exp.Add) else "+"
    instant = f"CAST({render(step.other)} AS TIMESTAMP_LTZ)"
    return instant, f"CAST({instant} AS DATE) {back} {render(months)}"


#: the midnights around the dates that lead to a value; the zone changes at most once in the 144 hours between the ends
_MIDNIGHTS = "transform(sequence(-1, 5), d -> unix_millis(CAST(date_add(CAST({date} AS DATE), d) AS TIMESTAMP_LTZ)))"
_AROUND = 3 * DAY_MS


def _turned_months(step: MonotoneComparison, calls: Mapping[int, str]) -> str:
    """SQL of an array of the instants at which the clock, moved by months, may cross a value, where the zone changes.

    From a midnight or a turn to the next, the clock is moved by one length, and meets the value at most once. Turns are
    looked at where the zone's offset is not the same around the clock, or around the value.
    """
    instant, date = _months_back(step)
    value = f"unix_millis({instant})"

    def offset(at: str) -> str:
        local = f"from_utc_timestamp(timestamp_millis({at}), current_timezone())"
        return f"unix_seconds({local}) - unix_seconds(timestamp_millis({at}))"

    changes = [f"{offset('m[0]')} <> {offset('m[6]')}"]
    changes.append(f"{offset(f'{value} - {_AROUND}L')} <> {offset(f'{value} + {_AROUND}L')}")
    after = ", ".join(f"{turn}L" for turn in step.turns)
    each = f"flatten(transform(m, d -> transform(array(0L, {after}), e -> d + e)))"
    begins = f"transform(array({_MIDNIGHTS.format(date=date)}), m -> IF({' OR '.join(changes)}, {each}, m))[0]"
    moved = f"CAST({evaluated(step.function, calls, 'p')} AS TIMESTAMP_LTZ)"
    met = f"p + {value} - unix_millis({moved})"
    return f"flatten(transform({begins}, p -> array(p, {met}, {met} + 1L)))"
