"""How far a function moves an instant, and how long an interval is: the least and the most (µs).

    ts + interval 30 days       30 days
    ts - interval 1 month       -31 to -28 days
    date_trunc('HOUR', ts)      an hour back at most
    cast(ts as date)            a day back at most

A day counts 24 hours here. `Sargable.slack` adds the drift of local time by daylight saving.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor, gcd

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Function
from ..sql.functions.types import CALENDAR
from ..sql.functions.units import HOUR, MINUTE, UNITS, Unit, unit_of
from ..sql.spark.combined_types import WHOLE
from ..sql.text.dialect import render
from .logic import is_null, values_of
from .time_of_day import DateAdd, dateadd

Span = tuple[int, int]

DAY_MS = DAY // 1_000

#: a DOUBLE has no larger exponent
_MOST_DIGITS = 400

#: unit of date_trunc -> the most that truncating to the unit takes off (µs)
_TRUNCATED = {name: unit.truncated for unit in UNITS for name in unit.names}
#: whole numbers: type -> digits of the largest, in base 2
_BITS = {"INT": 31, "BIGINT": 63}
#: the parts of a text such as `1 02:03:04`, in order (µs)
_PARTS = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND}


def moved(node: exp.Expr) -> tuple[exp.Expr, Span] | None:
    """A function of an instant -> the instant, and how far the function moves it; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> moved(expression("date_trunc('MINUTE', ts)"))[1]
    (-60000000, 0)
    """
    node = node.unnest()
    if isinstance(node, (exp.Add, exp.Sub)):
        sign = 1 if isinstance(node, exp.Add) else -1
        for base, length in ((node.left, node.right), (node.right, node.left))[: 2 if sign > 0 else 1]:
            span = interval(length)
            if span is not None and interval(base) is None:
                return base, _times(span, sign)
        return None
    added = dateadd(node)
    if added is not None:
        return _added(added)
    called = function(node)
    return None if called is None or called.moves is None else _call(called, arguments(node))


def _added(added: DateAdd) -> tuple[exp.Expr, Span] | None:
    """The instant that the macro dateadd moves, and how far; None where the number of units is not known.

    The span has a margin: the macro cuts to seconds (before 1970 to the later one), and takes a TIMESTAMP_NTZ for an
    instant in UTC.
    """
    count, size = constant(added.number), _unit(added.unit)
    span = None if count is None or size is None else _times(size, count)
    margin = DAY if added.unit == "second" else SECOND
    return None if span is None else (added.instant, (span[0] - margin, span[1] + margin))


def is_local(node: exp.Expr) -> bool:
    """Whether the value of a call or a cast is a TIMESTAMP_NTZ."""
    called = function(node)
    return called is not None and called.type == "timestamp_ntz"


def gives_date(node: exp.Expr) -> bool:
    """Whether the value of a call or a cast is a DATE."""
    called = function(node)
    return called is not None and called.type == "date"


def _call(called: Function, given: Sequence[exp.Expr]) -> tuple[exp.Expr, Span] | None:
    low, high = called.moves or (0, 0)
    if called.zone is not None and not given[called.zone].is_string:
        return None
    if called.amount is not None:
        count, size = constant(given[called.amount]), _unit(called.of or given[called.unit or 0].name)
        # Spark takes the whole part of a fraction
        if count is None or size is None or count % 1:
            return None
        least, most = _times(size, count * called.sign)
        low, high = low + least, high + most
    elif called.unit is not None:
        unit = given[called.unit]
        if not unit.is_string or unit.name.upper() not in _TRUNCATED:
            return None
        low -= _TRUNCATED[unit.name.upper()]
    return given[called.moved], (low, high)


def interval(node: exp.Expr) -> Span | None:
    """The least and the most length (µs) of an interval of constants, also of a CASE; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> interval(expression("interval '1 02:00' day to minute")), interval(expression("-2 * interval 1 hour"))
    ((93600000000, 93600000000), (-7200000000, -7200000000))
    """
    node = node.unnest()
    if isinstance(node, exp.Neg):
        span = interval(node.this)
        return None if span is None else _times(span, -1)
    if isinstance(node, exp.Mul):
        return _product(node.left, node.right) or _product(node.right, node.left)
    if isinstance(node, exp.Case):
        return _any_of([value for value in values_of(node) if not is_null(value)])
    return _written(node) if isinstance(node, exp.Interval) else None


def _any_of(values: list[exp.Expr]) -> Span | None:
    spans = [interval(value) for value in values]
    known = [span for span in spans if span is not None]
    return (min(k[0] for k in known), max(k[1] for k in known)) if known and len(known) == len(spans) else None


def _product(length: exp.Expr, factor: exp.Expr) -> Span | None:
    span, count = interval(length), constant(factor)
    if span is None or count is None:
        return None
    # Spark rounds a fraction of a month to a whole month
    return _times(span, count) if span[0] == span[1] or not count % 1 else None


def _written(node: exp.Interval) -> Span | None:
    unit, value = node.args.get("unit"), node.this
    if isinstance(unit, exp.IntervalSpan):
        return _parts(value.name, unit.this.name.lower()) if isinstance(value, exp.Literal) else None
    if unit is None:
        counted = _counted(value.name)
        return None if counted is None else _times((1, 1), sum(number * one.most for number, one in counted))
    span, number = _unit(unit.name), constant(value)
    return None if span is None or number is None else _times(span, number)


def _counted(text: str) -> list[tuple[Fraction, Unit]] | None:
    """The numbers and units of `1 hour -30 minutes`, all units of one length; None for any other text."""
    words = text.lower().split()
    counted = [(_number(number), unit_of(word)) for number, word in zip(words[::2], words[1::2])]
    found = [(number, unit) for number, unit in counted if number is not None and unit is not None and unit.is_fixed]
    return found if found and 2 * len(found) == len(words) else None


def milliseconds(node: exp.Expr) -> Fraction | None:
    """The length of a day-time literal (ms), without sign; None for any other expression.

    Parts count without their signs, because a session may keep days and hours apart.

    >>> from ..sql.text.dialect import expression
    >>> milliseconds(expression("interval -90 seconds")), milliseconds(expression("interval 2 hours -1 hours"))
    (Fraction(90000, 1), Fraction(10800000, 1))
    """
    node = node.unnest()
    if not isinstance(node, exp.Interval):
        return None
    if node.args.get("unit") is None:
        counted = _counted(node.this.name)
        return None if counted is None else sum((abs(n) * unit.most for n, unit in counted), Fraction()) / 1_000
    span = interval(node)
    return None if span is None or span[0] != span[1] else Fraction(abs(span[0]), 1_000)


def is_below_a_day(node: exp.Expr) -> bool:
    """Whether a node is a literal interval whose parts, without their signs, are below a day together.

    Such an interval has the same length in every zone; Spark counts days by the calendar.
    """
    length = milliseconds(node)
    return length is not None and length < DAY_MS


def common_length(node: exp.Expr, types: Mapping[str, str]) -> int | None:
    """The length (µs) that divides each value of a call or a product: a day for `n * interval 1 day`.

    0 for months, alone or beside whole days; None where no such length is known. types: SQL of a part -> its type, as
    far as known.

    >>> from ..sql.text.dialect import expression
    >>> [common_length(expression(f"make_interval({n})"), {}) for n in ("0, 0, a", "0, 0, 0, a, b", "0, a")]
    [86400000000, 3600000000, 0]
    """
    node = node.unnest()
    factor = day_factor(node)
    if factor is not None:
        return DAY if types.get(render(factor), "").lower() in WHOLE else None
    units = counted_units(node)
    if units is None:
        return None
    fixed = gcd(*(unit.most for unit in units if unit.is_fixed)) or DAY
    if all(unit.is_fixed for unit in units):
        return gcd(fixed, DAY)
    return None if fixed % DAY else 0


def counted_units(node: exp.Expr) -> list[Unit] | None:
    """The units of which a call makes an interval, without those of a literal 0; None for any other node."""
    called = function(node)
    if called is None or not called.counts:
        return None
    counted = [(unit_of(name), count) for name, count in zip(called.counts, arguments(node))]
    return [unit for unit, count in counted if unit is not None and constant(count) != 0]


def may_have_months(node: exp.Expr, kind: str) -> bool:
    """Whether an expression of a type may be an interval with months. kind: the type, in lower case.

    >>> from ..sql.text.dialect import expression
    >>> [may_have_months(expression(sql), "interval") for sql in ("make_interval(0, 0, 0, a, b)", "make_interval(a)")]
    [False, True]
    """
    is_long = kind == CALENDAR or kind.startswith(("interval month", "interval year"))
    return is_long and not _is_without_months(node)


def _is_without_months(node: exp.Expr) -> bool:
    """Whether an interval is made of whole weeks and shorter units alone, beside months and years of a literal 0."""
    node = node.unnest()
    if isinstance(node, exp.Interval):
        return _has_no_months(node.this, node.args.get("unit"))
    if isinstance(node, exp.Mul):
        return _is_without_months(node.left) or _is_without_months(node.right)
    if isinstance(node, (exp.Add, exp.Sub)):
        return _is_without_months(node.left) and _is_without_months(node.right)
    if isinstance(node, (exp.Neg, exp.Div)):
        return _is_without_months(node.this)
    units = counted_units(node)
    if units is not None:
        return all(unit.is_fixed for unit in units)
    values = [value for value in values_of(node) if not is_null(value)]
    return bool(values) and all(map(_is_without_months, values))


def _has_no_months(value: exp.Expr, unit: exp.Expr | None) -> bool:
    """`_is_without_months` of a literal: its number or its text, and the unit beside."""
    if isinstance(unit, exp.IntervalSpan):
        return unit.this.name.lower() in _PARTS or not re.search("[1-9]", value.name)
    words = value.name.split()
    pairs = [(constant(value), unit.name)] if unit else [(_number(n), u) for n, u in zip(words[::2], words[1::2])]
    return all(number == 0 or (one := unit_of(name)) is not None and one.is_fixed for number, name in pairs)


def day_factor(node: exp.Expr) -> exp.Expr | None:
    """The other factor of a product with an interval of whole days; None for any other node.

    Half a day has hours: the type of the factor decides whether the product is a number of days.
    """
    node = node.unnest()
    if not isinstance(node, exp.Mul):
        return None
    for length, factor in ((node.left, node.right), (node.right, node.left)):
        found = milliseconds(length)
        if found is not None and found % DAY_MS == 0:
            return factor.unnest()
    return None


def constant(node: exp.Expr) -> Fraction | None:
    """A constant number, also in quotes, exact; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> constant(expression("-10000000000000000000000000001")), constant(expression("1e999")), constant(expression("a"))
    (Fraction(-10000000000000000000000000001, 1), None, None)
    """
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Mul):  # an INT may wrap around
        left, right = constant(node.left), constant(node.right)
        return left * right if left is not None and right is not None and abs(left * right) < 2**31 else None
    if isinstance(node, exp.Cast) and (bits := _BITS.get(node.to.sql(dialect="spark").upper())):
        inner = constant(node.this)
        return inner if inner is not None and not inner % 1 and abs(inner) < 2**bits else None
    return _number(node.name) if isinstance(node, exp.Literal) else None


def _number(text: str) -> Fraction | None:
    """The number in a text; None for any other text, and for a number beyond the range of a DOUBLE."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Fraction(found) if found.is_finite() and abs(found.adjusted()) <= _MOST_DIGITS else None


def _unit(name: str) -> Span | None:
    unit = unit_of(name)
    return None if unit is None else (unit.least, unit.most)


def _times(span: Span, count: Fraction | int) -> Span:
    """A span times a count. The ends are rounded outwards."""
    low, high = sorted((span[0] * count, span[1] * count))
    return floor(low), ceil(high)


def _parts(text: str, first: str) -> Span | None:
    """The length (µs) of a text such as `-1 02:03:04.5`, whose first number counts the unit `first`; else None."""
    order = tuple(_PARTS)
    sign = -1 if text.strip().startswith("-") else 1
    values = text.strip().lstrip("+-").replace(" ", ":").split(":")
    if first not in order or len(values) > len(order) - order.index(first):
        return None
    counts = [_number(value) for value in values]
    if None in counts:
        return None
    total = sum(count * _PARTS[unit] for count, unit in zip(counts, order[order.index(first) :]) if count is not None)
    return _times((int(total), int(total)), sign)
