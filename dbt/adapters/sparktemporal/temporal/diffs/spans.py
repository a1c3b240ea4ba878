"""SQL of the general case: a predicate's truth at its boundaries, and the intervals in which the predicate holds.

    mz_points   the instants, from mz_lower to before mz_upper, at which the truth may change       [L, e, e + 1, ...]
    mz_truth    Spark's own evaluation at each instant, NULL as false                                [T, T, F, ...]
    mz_spans    the runs of TRUE: disjoint, not adjacent                                             [[L, e + 1)]

A superfluous point does no harm. The text is linear in the predicate. All times are BIGINT milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sqlglot import exp

from ...errors import Refusal
from ..clock.instants import format_instant
from ..predicates.bounds import edges_of
from ..predicates.clock_text import clock_literal
from ..predicates.conditions import CELLS, LISTED, MONTHS, UNIT, Guard, MonotoneComparison
from ..predicates.lengths import moved
from ..predicates.monotonicity import TRUNCATED
from ..predicates.near import Near
from ..predicates.ordered import YEARS, YEARS_END
from ..rewrite.core import TypedCore
from ..sql.functions.row import DAY
from ..sql.text.dialect import fragment, has_clock, is_mz_now, quote, render, string_literal
from ..sql.text.helper_columns import static_column

#: searches end here: the year 287396, to which Spark can still add 6,000 years. A bound may lie anywhere in a BIGINT,
#: so it is cut here (least skips NULLs); otherwise the binary search would not come down to a millisecond
_FAR = 2**53
_CENTURIES = 500 * 366 * DAY
#: steps of the binary search from -2^53 .. 2^53 to one millisecond
_HALVINGS = 54


def spans(rows: str, names: Sequence[str], typed: TypedCore, whole: bool = False) -> str:
    """A query of names, row expressions, mz_lower and mz_upper -> names, mz_from, mz_until: one row an interval.

    whole: one for each row, from its first interval to its last.
    """
    condition, calls = typed.core.condition, typed.calls
    assert condition is not None
    points, around = ["mz_lower"], []
    for edge in condition.edges:
        points += edges_of(static_column(edge.index), edge.comparison.kind)
    for step in condition.steps:
        if step.search == LISTED:
            around.append(f"coalesce({render(step.other)}, CAST(array() AS ARRAY<BIGINT>))")
            continue
        if step.search == CELLS:
            around += _in_cells(step, calls)
        search_of = {UNIT: _unit_edges, MONTHS: _month_edges}.get(step.search)
        found = search_of(step) if search_of else ["mz_lower"] if step.near else _crossings(step, calls)
        for guard in step.guards:
            found[0] = _guarded(found[0], guard, calls)
        for of in step.of_fields:
            found[0] = _within_years(found[0], of, calls)
        points += found
    listed = "array(\n      " + ",\n      ".join(dict.fromkeys(points)) + "\n      )"
    if around:
        listed = f"concat({listed},\n      " + ",\n      ".join(dict.fromkeys(around)) + ")"
    columns = "".join(f"{n}, " for n in names)
    row_expressions = "".join(f"{quote(static_column(i))}, " for i in range(len(condition.row_expressions)))
    truth = _at(condition.predicate, calls, "mz_p")
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
        f"      SELECT {columns}{row_expressions}mz_upper, array_sort(array_distinct(filter({listed}"
        f", p -> p >= mz_lower AND p < least(mz_upper, {_FAR}L)))) AS mz_points\n"
        f"      FROM (\n{rows}\n      ) AS mz_bounded\n"
        f"      WHERE mz_lower < least(mz_upper, {_FAR}L)\n"
        f"    ) AS mz_pointed\n"
        f"  ) AS mz_judged\n"
        f") AS mz_spanned\n"
        f"{each}"
    )


def _guarded(point: str, guard: Guard, calls: Mapping[int, str]) -> str:
    """SQL of a point that raises where a row moves the clock to a time of another offset of the zone."""
    instant, first, zone = guard
    at = _at(exp.cast(instant.copy(), "TIMESTAMP_LTZ", dialect="spark"), calls, "mz_lower")
    refusal = Refusal(
        f"{fragment(instant)}, which leads a row to before {format_instant(first)}",
        f"on the clock's side it follows local time, which in {zone} goes back, or leaps, until then, so the instants "
        "at which it changes cannot be listed",
        "a shorter interval in that row, or spark.sql.session.timeZone: UTC in the profile",
    )
    error = f"CAST(raise_error({string_literal(str(refusal))}) AS BIGINT)"
    return f"IF(coalesce(unix_millis({at}) < {first}L, false), {error}, {point})"


def _within_years(point: str, of: exp.Expr, calls: Mapping[int, str]) -> str:
    """SQL of a point that raises where a row moves the clock to a year whose fields do not order like instants."""
    base, span = moved(of) or (of, (0, 0))
    if is_mz_now(base.unnest()) and max(map(abs, span)) < _CENTURIES:
        return point
    first, last = (_at(of, calls, at) for at in ("mz_lower", f"{YEARS_END}L"))
    refusal = Refusal(
        f"{fragment(of)}, which leads a row to before the year {YEARS[0]} or after {YEARS[1]}",
        "there its fields do not order like instants, so the instants at which this changes cannot be listed",
        "a shorter interval in that row",
    )
    error = f"CAST(raise_error({string_literal(str(refusal))}) AS BIGINT)"
    return f"IF(coalesce(year({first}) < {YEARS[0]} OR year({last}) > {YEARS[1]}, false), {error}, {point})"


def _unit_edges(step: MonotoneComparison) -> list[str]:
    """The instants at which the truncated clock reaches and leaves a value: the edges of the value's unit."""
    start = f"date_trunc('{step.truncates}', {render(step.other)})"
    return [f"unix_millis({start})", f"unix_millis({start} + INTERVAL {TRUNCATED[str(step.truncates)]})"]


def _month_edges(step: MonotoneComparison) -> list[str]:
    """The instants at which the clock, moved by months, may cross a value, in a zone of one offset.

    At most four days lead to the day of the value (28 to 31 January and a month are 28 February). Within each day the
    time of day decides. So the points are the midnights around, and this time of day in each day.
    """
    moved = cast("exp.Binary", step.function.unnest())
    months = moved.right if has_clock(moved.left) else moved.left
    back = "-" if isinstance(moved, exp.Add) else "+"
    instant = f"CAST({render(step.other)} AS TIMESTAMP_LTZ)"
    first = f"unix_millis(CAST(CAST({instant} AS DATE) {back} {render(months)} AS TIMESTAMP_LTZ))"
    time = f"(unix_millis({instant}) - unix_millis(date_trunc('DAY', {instant})))"
    midnights = [f"{first} + {day * 86_400_000}L" for day in range(-1, 5)]
    return [point for m in midnights for point in (m, f"{m} + {time}", f"{m} + {time} + 1L")]


def _crossings(step: MonotoneComparison, calls: Mapping[int, str]) -> list[str]:
    """The instants at which a monotone function of the clock reaches and leaves a value: two binary searches."""
    far = _far(step)
    return [f"nullif({_search(test, calls, 'mz_lower', f'least(mz_upper, {far}L)')}, {far}L)" for test in _tests(step)]


def _far(step: MonotoneComparison) -> int:
    return YEARS_END if step.of_fields else _FAR


def _search(test: exp.Expr, calls: Mapping[int, str], low: str, high: str) -> str:
    """The first instant after `low` with another truth of a test, by halves; `high` where there is none."""
    # shiftright rounds down, also below zero
    middle = "shiftright(b.lo + b.hi, 1)"
    at_middle, at_low = _at(test, calls, middle), _at(test, calls, low)
    return (
        f"aggregate(sequence(1, {_HALVINGS}), "
        f"named_struct('lo', {low}, 'hi', {high}, 'at', {at_low}), "
        f"(b, i) -> CASE WHEN b.hi - b.lo <= 1 THEN b "
        f"WHEN ({at_middle}) <=> b.at THEN named_struct('lo', {middle}, 'hi', b.hi, 'at', b.at) "
        f"ELSE named_struct('lo', b.lo, 'hi', {middle}, 'at', b.at) END, b -> b.hi)"
    )


def _in_cells(step: MonotoneComparison, calls: Mapping[int, str]) -> list[str]:
    """SQL of arrays: the instants at which a function that nearly rises reaches and leaves a value.

    One change is found as if the function rose. The others are near it, or near the first instant: each cell there is
    searched in which the function changes.
    """
    assert step.near is not None
    near, far, found = step.near, _far(step), []
    for test in _tests(step):
        one = _search(test, calls, "mz_lower", f"{far}L")
        before, first, last = (_at(test, calls, at) for at in ("(g - 1L)", "g", f"(g + {near.cell - 1}L)"))
        within = _search(test, calls, "g", f"(g + {near.cell}L)")
        found.append(
            f"flatten(transform(array({one}), c -> flatten(transform("
            f"array_union({_cells('mz_lower', 0, near)}, {_cells('c', -near.reach, near)}), "
            f"g -> array(CASE WHEN NOT (({before}) <=> ({first})) THEN g END, "
            f"CASE WHEN NOT (({first}) <=> ({last})) THEN {within} END)))))"
        )
    return found


def _cells(at: str, first: int, near: Near) -> str:
    """SQL of the beginnings of the cells around an instant."""
    back = f"pmod({at} + {first + near.shift}L, {near.cell}L)"
    return f"sequence({at} + {first}L - {back}, {at} + {near.reach}L, {near.cell}L)"


def _tests(step: MonotoneComparison) -> Iterator[exp.Expr]:
    """Whether the function has reached the value, and whether it has left the value."""
    for comparison in (exp.GTE, exp.GT):
        yield _compared(step.function, step.other, comparison)


def _compared(function: exp.Expr, other: exp.Expr, comparison: type[exp.Expr]) -> exp.Expr:
    """A comparison; of two sequences by the first parts that differ, each compared as Spark compares the two alone."""
    if not (isinstance(function, exp.Tuple) and isinstance(other, exp.Tuple)):
        return comparison(this=exp.paren(function.copy()), expression=exp.paren(other.copy()))
    *before, last = zip(function.expressions, other.expressions)
    found = _compared(*last, comparison)
    for one, value in reversed(before):
        found = exp.or_(_compared(one, value, exp.GT), exp.and_(_compared(one, value, exp.EQ), found))
    return exp.paren(found)


def _at(node: exp.Expr, calls: Mapping[int, str], instant: str) -> str:
    """SQL of a predicate over the row expressions with an instant as the clock."""
    text = "mz_instant_"
    marked = node.copy()

    def replaced(n: exp.Expr) -> exp.Expr:
        return exp.to_identifier(text + calls[n.meta["start"]]) if is_mz_now(n) else n

    sql = render(marked.transform(replaced))
    for kind in dict.fromkeys(calls.values()):
        sql = sql.replace(text + kind, clock_literal(kind, instant))
    return sql
