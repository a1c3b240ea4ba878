"""Functions of the clock that go back where a zone's offset changes, and the instants at which they cross a value.

    dbt.dateadd('day', -7, mz_now())
      ->  the midnight seven days ago, plus the whole seconds since the midnight before mz_now()
    from_utc_timestamp(mz_now(), 'Europe/Berlin')
      ->  local time there

A day on which the offset changes has an hour more or less. So dateadd goes back at the midnight after a day that is
longer than the day to which it leads. Within one day dateadd only rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Function, Local
from ..sql.text.dialect import has_clock, is_mz_now
from ..sql.text.shapes import Found, Shape, filled
from .days import TRUNCATED, begins_days, counts_days

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
    """The instant and the number of units that the macro dateadd adds to it; None for any other expression.

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
#: the midnight at which each of these days begins, and the instants around whose sum is the value's second. Whole
#: seconds of a clock before 1970 are rounded up
_POINTS = (
    "concat(transform({days}, mz_j -> 1000L * {midnight}), flatten(transform(array(-999L, 0L, 1L, 1000L), mz_i -> "
    "transform({days}, mz_j -> mz_i + 1000L * (unix_seconds(mz_value) + {midnight} - {sum})))))"
)


#: local time of another zone is at most 18 hours away, and a zone changes once in these days at most
_OFFSET = "(unix_seconds(from_utc_timestamp(timestamp_seconds({0}), mz_zone)) - {0})"
_MIDDLE = "shiftright(mz_b.lo + mz_b.hi, 1)"
#: the second at which the zone changes, and the instants whose local time is the value by either offset
_THERE = (
    "aggregate(sequence(1, 18), named_struct('lo', {second} - 130000L, 'hi', {second} + 130000L), (mz_b, mz_i) -> "
    "IF({of_middle} = {before}, named_struct('lo', {middle}, 'hi', mz_b.hi), named_struct('lo', mz_b.lo, 'hi', "
    "{middle})), mz_b -> flatten(transform(array(0L, 1L), mz_i -> array(1000L * mz_b.hi, mz_i + unix_millis(mz_value) "
    "- 1000L * {before}, mz_i + unix_millis(mz_value) - 1000L * {after}))))"
).format(
    second="unix_seconds(mz_value)",
    middle=_MIDDLE,
    of_middle=_OFFSET.format(_MIDDLE),
    before=_OFFSET.format("(unix_seconds(mz_value) - 130000L)"),
    after=_OFFSET.format("(unix_seconds(mz_value) + 130000L)"),
)
_IN_ZONE = Shape("from_utc_timestamp(mz_x, mz_zone)")


def crossings(clock: exp.Expr, other: exp.Expr) -> exp.Expr | None:
    """Instants of a row (ARRAY<BIGINT>, ms) at which a comparison of `clock` with `other` may change.

    `clock` is the macro dateadd, by days or longer units, of the bare clock; or the bare clock as local time of another
    zone. Either may be cut to a day or a longer unit, and its date moved by days. None where `clock` has another form.
    """
    value: exp.Expr = exp.cast(other.copy(), exp.DType.TIMESTAMPLTZ)
    inner, days = _without_days(clock)
    for number in days:
        parts = {"mz_value": value, "mz_n": number}
        value = filled("CAST(date_add(CAST(mz_value AS DATE), -mz_n) AS TIMESTAMP_LTZ)", parts)
    values, unit = [value], _unit_cut_to(inner)
    if unit is not None:
        first = f"CAST(date_trunc('{unit}', mz_value) AS DATE)"
        edges = (first, f"{first} + INTERVAL {TRUNCATED[unit]}")
        values = [filled(f"CAST({edge} AS TIMESTAMP_LTZ)", {"mz_value": value}) for edge in edges]
        inner = _argument(inner)
        while _unit_cut_to(inner) == "DAY":
            inner = _argument(inner)
    arrays = [_instants(inner, one) for one in values]
    if arrays[0] is None or any(map(has_clock, days)):
        return None
    return arrays[0] if len(arrays) == 1 else exp.Anonymous(this="concat", expressions=arrays)


def _without_days(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """A date without the casts that keep the date, and the numbers of days that are added to the date."""
    node, days = node.unnest(), []
    while (called := function(node)) is not None and called.is_monotone and begins_days(_argument(node)):
        if isinstance(node, exp.Anonymous) and called.amount == 1 and called.of == "day" and called.sign == 1:
            days.append(node.expressions[1])
        elif not (called.keeps_instants or called.truncates_to_date):
            break
        node = _argument(node)
    return node, days


def _argument(node: exp.Expr) -> exp.Expr:
    called = cast("Function", function(node))
    return arguments(node)[called.moved].unnest()


def _unit_cut_to(node: exp.Expr) -> str | None:
    """The unit, a day or longer, to which a call cuts an instant; None for any other expression."""
    called = function(node)
    if called is None or not counts_days(node):
        return None
    if called.truncates_to_date:
        return "DAY"
    unit = arguments(node)[called.unit or 0].name.upper()
    return unit if called.local is Local.UNIT and unit in TRUNCATED else None


def _instants(clock: exp.Expr, value: exp.Expr) -> exp.Expr | None:
    added, there = dateadd(clock), _IN_ZONE.match(clock)
    if added is not None and added.moved is not None and is_mz_now(added.instant):
        return _around(value, added.moved.name, added)
    if there is not None and is_mz_now(there["mz_x"]) and not has_clock(there["mz_zone"]):
        return filled(_THERE, {"mz_value": value, "mz_zone": there["mz_zone"]})
    return None


def _around(value: exp.Expr, adds: str, added: DateAdd) -> exp.Expr:
    parts = {"mz_value": value, "mz_n": added.number}
    base = filled(f"{adds}(CAST(mz_value AS DATE), -mz_n)", parts)
    text = _POINTS.format(days=_AROUND[added.unit], midnight=_MIDNIGHT, sum=_SUM.format(adds))
    return filled(text, {**parts, "mz_base": base})
