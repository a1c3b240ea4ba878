"""dbt-spark's dateadd by days and more, which keeps the time of day as seconds since midnight.

    dbt.dateadd('day', -7, mz_now())
      ->  the midnight seven days ago, and the whole seconds since the midnight before mz_now()

A day on which the zone's offset changes has an hour more or less, so the sum goes back at the midnight after a longer
one. Within one day it only rises.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Local
from ..sql.text.dialect import has_clock, is_mz_now
from ..sql.text.shapes import Found, Shape, filled
from .monotonicity import TRUNCATED, counts_days

_OF_SECONDS = Shape("to_timestamp(to_unix_timestamp(mz_x) + CAST(mz_n AS INT))")
_OF_DATES = Shape(
    "to_timestamp(to_unix_timestamp(mz_moved) + to_unix_timestamp(to_timestamp(mz_x)) - to_unix_timestamp(date(mz_x)))"
)
_MOVED = {
    "day": Shape("date_add(date(mz_x), CAST(mz_n AS INT))"),
    "month": Shape("add_months(date(mz_x), CAST(mz_n AS INT))"),
}


@dataclass(frozen=True)
class DateAdd:
    """The sum of an instant, cut to whole seconds, and a number of units."""

    instant: exp.Expr
    number: exp.Expr
    #: second, day or month
    unit: str
    #: the sum of the dates, for days and months
    moved: exp.Expr | None = None


def dateadd(node: exp.Expr) -> DateAdd | None:
    """What the macro adds to an instant; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> dateadd(expression("to_timestamp(to_unix_timestamp(ts) + cast(-3 * 3600 as int))")).unit
    'second'
    """
    if not isinstance(node, exp.Anonymous):
        return None
    found = _OF_SECONDS.match(node)
    if found is not None:
        return _added(found, "second")
    whole = _OF_DATES.match(node)
    if whole is None:
        return None
    for unit, shape in _MOVED.items():
        found = shape.match(whole["mz_moved"])
        if found is not None and found["mz_x"] == whole["mz_x"]:
            return _added(found, unit, whole["mz_moved"])
    return None


def _added(found: Found, unit: str, moved: exp.Expr | None = None) -> DateAdd | None:
    number = exp.cast(found["mz_n"].copy(), "INT")
    return None if has_clock(number) else DateAdd(found["mz_x"], number, unit, moved)


#: the days around the one to which a value leads back: their sums may be on either side of the value. A day with an
#: hour more reaches into the next, and months lead four days to one (28 to 31 January and a month)
_AROUND = {"day": "sequence(-3, 2)", "month": "sequence(-6, 5)"}
_MIDNIGHT = "unix_seconds(CAST(date_add(mz_base, mz_j) AS TIMESTAMP_LTZ))"
_SUM = "unix_seconds(CAST({0}(date_add(mz_base, mz_j), mz_n) AS TIMESTAMP_LTZ))"
#: the midnight before each of these days, and the instants in it whose sum is the value's second. Whole seconds of a
#: clock before 1970 are rounded up
_POINTS = (
    "concat(transform({days}, mz_j -> 1000L * {midnight}), flatten(transform(array(-999L, 0L, 1L, 1000L), mz_i -> "
    "transform({days}, mz_j -> mz_i + 1000L * (unix_seconds(mz_value) + {midnight} - {sum})))))"
)


def crossings(clock: exp.Expr, other: exp.Expr) -> exp.Expr | None:
    """Instants of a row (ARRAY<BIGINT>, ms) at which a comparison of the macro over the bare clock may change.

    None where the clock's side is another expression. The macro may be cut to days and more.
    """
    value: exp.Expr = exp.cast(other.copy(), exp.DType.TIMESTAMPLTZ)
    found, values = dateadd(clock), [value]
    called = function(clock)
    if found is None and called is not None and counts_days(clock):
        unit = "DAY" if called.truncates_to_date else arguments(clock)[called.unit or 0].name.upper()
        if unit in TRUNCATED and (called.truncates_to_date or called.local is Local.UNIT):
            found = dateadd(arguments(clock)[called.increasing or 0].unnest())
            first = f"CAST(date_trunc('{unit}', mz_value) AS DATE)"
            edges = (first, f"{first} + INTERVAL {TRUNCATED[unit]}")
            values = [filled(f"CAST({edge} AS TIMESTAMP_LTZ)", {"mz_value": value}) for edge in edges]
    if found is None or found.moved is None or not is_mz_now(found.instant.unnest()):
        return None
    arrays = [_around(one, found.moved.name, found) for one in values]
    return arrays[0] if len(arrays) == 1 else exp.Anonymous(this="concat", expressions=arrays)


def _around(value: exp.Expr, adds: str, added: DateAdd) -> exp.Expr:
    parts = {"mz_value": value, "mz_n": added.number}
    base = filled(f"{adds}(CAST(mz_value AS DATE), -mz_n)", parts)
    text = _POINTS.format(days=_AROUND[added.unit], midnight=_MIDNIGHT, sum=_SUM.format(adds))
    return filled(text, {**parts, "mz_base": base})
