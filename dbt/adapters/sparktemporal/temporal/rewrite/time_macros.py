"""Rewrite the SQL that dbt-spark's macros of time render to plain SQL with the same values.

    coalesce(date(x), nvl2(date(x), assert_true(date(x) is not null), null))      date(x)
    dbt.dateadd('day', -7, current_date())                                        CAST(date_add(…, -7) AS TIMESTAMP_LTZ)
    ts >= dbt.dateadd('day', -7, mz_now())        mz_now() < timestamp_seconds(unix_seconds(ts) + 1 + 7 * 86400)
    dbt.datediff(a, b, 'week')                    floor((unix_date(b) + 4) / 7) - floor((unix_date(a) + 4) / 7)

dateadd takes the midnight of another day, and adds the whole seconds since the midnight of x. In a zone of one offset
the sum is x cut to seconds and moved. In other zones `time_of_day` lists when a comparison with the sum changes.
"""

from __future__ import annotations

from math import ceil

from sqlglot import exp

from ..predicates.comparisons import Moves
from ..predicates.constants import constant
from ..predicates.days import begins_days, counts_days
from ..predicates.lengths import DAY_MS
from ..predicates.logic import both_bounds, comparison
from ..predicates.shifts import gives_date
from ..predicates.text_instants import as_instant
from ..predicates.time_of_day import DateAdd, dateadd
from ..sql.text.dialect import expression, fragment, has_clock, is_mz_now
from ..sql.text.shapes import Shape, filled

_ASSERTED = Shape("coalesce(mz_x, nvl2(mz_x, assert_true(mz_x IS NOT NULL), NULL))")
#: weeks begin on Sunday
_WEEKS = Shape(
    "CASE WHEN mz_a < mz_b THEN floor(datediff(mz_b, mz_a) / 7) ELSE ceil(datediff(mz_b, mz_a) / 7) END"
    " + CASE WHEN mz_a < mz_b AND dayofweek(mz_b) < dayofweek(mz_a) THEN 1"
    " WHEN mz_a > mz_b AND dayofweek(mz_b) > dayofweek(mz_a) THEN -1 ELSE 0 END"
)
_IN_UTC = (Shape("to_utc_timestamp(mz_x, 'UTC')"), Shape("from_utc_timestamp(mz_x, 'UTC')"))
#: a length (ms) beyond the history of any zone
_EVER = 10**15
#: days of the units that Spark counts by the calendar, at most
_DAYS = {"day": 1, "month": 31}


def write_out_time_macros(tree: exp.Query, moves: Moves, after_1970: bool) -> None:
    """Rewrite the macros of time in a model to plain SQL, in place.

    moves: see `comparisons.Moves`. after_1970: whether the clock is after 1970, so that its seconds are rounded down.
    """
    for rule in (_asserted, _in_utc, _weeks, _of_days):
        for node in _inner_first(tree):
            _put(node, rule(node))
    for of_zone in (_both_bounds, _compared, _cut) if after_1970 else ():
        for node in _inner_first(tree):
            # outside of predicates dateadd is a value, which each read evaluates as written
            if isinstance(node.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Query), _PREDICATES):
                _put(node, of_zone(node, moves))


_PREDICATES = (exp.Where, exp.Having, exp.Join)


def _inner_first(tree: exp.Query) -> list[exp.Expr]:
    return list(reversed(list(tree.walk())))


def _put(node: exp.Expr, new: exp.Expr | None) -> None:
    if new is not None:
        is_inside = isinstance(new, (exp.Binary, exp.Cast)) and isinstance(node.parent, (exp.Binary, exp.Unary))
        node.replace(exp.paren(new) if is_inside else new)


def _asserted(node: exp.Expr) -> exp.Expr | None:
    found = _ASSERTED.match(node)
    return None if found is None else found["mz_x"].copy()


def _in_utc(node: exp.Expr) -> exp.Expr | None:
    """The instant x of to_utc_timestamp(x, 'UTC') and from_utc_timestamp(x, 'UTC') with the clock; else None."""
    found = next(filter(None, (shape.match(node) for shape in _IN_UTC)), None)
    if found is None or not has_clock(node):
        return None
    instant = found["mz_x"].copy()
    return instant if is_mz_now(instant) else exp.cast(instant, exp.DType.TIMESTAMPLTZ)


def _weeks(node: exp.Expr) -> exp.Expr | None:
    found = _WEEKS.match(node)
    if found is None or not has_clock(node) or not all(map(gives_date, found.values())):
        return None
    return filled("floor((unix_date(mz_b) + 4) / 7) - floor((unix_date(mz_a) + 4) / 7)", found)


def _of_days(node: exp.Expr) -> exp.Expr | None:
    """dateadd over a date or the beginning of a day -> the moved date as a TIMESTAMP; None for any other node."""
    added = dateadd(node)
    if added is None or added.moved is None or not begins_days(added.instant):
        return None
    return exp.cast(added.moved.copy(), exp.DType.TIMESTAMPLTZ)


def _sum(node: exp.Expr, moves: Moves) -> DateAdd | None:
    """dateadd over the bare clock, where the zone lets it be a plain sum; None for any other expression."""
    added = dateadd(node.unnest())
    return added if added is not None and is_mz_now(added.instant) and _moves(added, moves) else None


def _moves(added: DateAdd, moves: Moves) -> bool:
    number, most = constant(added.number), _DAYS.get(added.unit)
    return most is None or moves(_EVER if number is None else (ceil(abs(number)) + 1) * most * DAY_MS)


def _back(added: DateAdd, by: int) -> exp.Expr:
    """SQL of the seconds to add to an instant: minus the days or seconds of `added` (0 for months), plus `by`."""
    count, each = constant(added.number), 86_400 if added.unit == "day" else 1
    if added.unit == "month":
        return expression(f"{by}L")
    if count is None or count % 1:
        return filled(f"{by}L - CAST(mz_n AS BIGINT) * {each}L", {"mz_n": added.number})
    return expression(f"{by - int(count) * each}L")


def _interval(added: DateAdd) -> exp.Expr:
    unit, count = added.unit.upper(), constant(added.number)
    if count is None or count % 1:
        return filled(f"mz_n * INTERVAL '1' {unit}", {"mz_n": added.number})
    return expression(f"INTERVAL '{int(count)}' {unit}")


def _both_bounds(node: exp.Expr, moves: Moves) -> exp.Expr | None:
    """BETWEEN as two comparisons, where one of its parts is dateadd over the clock; None for any other node."""
    if not isinstance(node, exp.Between) or node.args.get("symmetric"):
        return None
    parts = (node.this, node.args["low"], node.args["high"])
    return exp.paren(both_bounds(node)) if any(_sum(part, moves) for part in parts) else None


def _compared(node: exp.Expr, moves: Moves) -> exp.Expr | None:
    """A comparison with dateadd over the clock -> the equivalent comparison with the clock; else None.

    dateadd cuts the clock c to whole seconds. floor(c) < v where c < ceil(v), and floor(c) <= v where c < floor(v) + 1.
    """
    found = comparison(node)
    for one in found.both_ways if found is not None and not found.null_safe else ():
        added = _sum(one.left, moves)
        if added is None or has_clock(one.right):
            continue
        value = exp.cast(as_instant(one.right, fragment(node)), exp.DType.TIMESTAMPLTZ)
        clock = added.instant
        if added.unit == "month":
            clock = exp.Add(this=clock.copy(), expression=_interval(added))
        parts = {"mz_clock": clock, "mz_value": value, "mz_back": _back(added, 0), "mz_after": _back(added, 1)}
        return filled(_BY_OPERATOR[one.operator].format(next=_NEXT_WHOLE, after=_SECOND_AFTER), parts)
    return None


_NEXT_WHOLE = "timestamp_seconds(unix_seconds(mz_value + INTERVAL '0.999999' SECOND) + mz_back)"
_SECOND_AFTER = "timestamp_seconds(unix_seconds(mz_value) + mz_after)"
_BY_OPERATOR = {
    "<": "mz_clock < {next}",
    "<=": "mz_clock < {after}",
    ">": "mz_clock >= {after}",
    ">=": "mz_clock >= {next}",
    "=": "(mz_clock >= {next} AND mz_clock < {after})",
    "<>": "(mz_clock < {next} OR mz_clock >= {after})",
}


def _cut(node: exp.Expr, moves: Moves) -> exp.Expr | None:
    """dateadd outside of comparisons -> a sum, cut to seconds unless only its date counts; None where dateadd stays."""
    added = dateadd(node)
    if added is None or added.moved is None or not has_clock(added.instant) or not _moves(added, moves):
        return None
    moved = exp.Add(this=exp.paren(added.instant.copy()), expression=exp.paren(_interval(added)))
    if node.parent is not None and counts_days(node.parent):
        return moved
    # a cut of added months would be refused, and the macro itself is not
    return None if added.unit == "month" else filled("date_trunc('SECOND', mz_x)", {"mz_x": moved})
