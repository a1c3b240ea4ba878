"""How long an interval is: the least and the most (µs). A day counts 24 hours, a month 28 to 31 days."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from ..sql.functions.row import DAY, SECOND
from ..sql.functions.units import HOUR, MINUTE, Unit, unit_of
from .constants import constant, number_in
from .logic import is_null, values_of

Span = tuple[int, int]

DAY_MS = DAY // 1_000

#: the parts of a text such as `1 02:03:04`, in order (µs)
PARTS = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND}


def interval(node: exp.Expr) -> Span | None:
    """The least and the most length (µs) of an interval of constants, also of a CASE; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> interval(expression("interval '1 02:00' day to minute")), interval(expression("-2 * interval 1 hour"))
    ((93600000000, 93600000000), (-7200000000, -7200000000))
    >>> [length // DAY for length in interval(expression("interval '1-2' year to month"))]
    [392, 434]
    """
    node = node.unnest()
    if isinstance(node, exp.Neg):
        span = interval(node.this)
        return None if span is None else times(span, -1)
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
    return times(span, count) if span[0] == span[1] or not count % 1 else None


def _written(node: exp.Interval) -> Span | None:
    unit, value = node.args.get("unit"), node.this
    if isinstance(unit, exp.IntervalSpan):
        if not isinstance(value, exp.Literal):
            return None
        first = unit.this.name.lower()
        return _months(value.name) if first == "year" else _parts(value.name, first)
    if unit is None:
        counted = _counted(value.name)
        return None if counted is None else times((1, 1), sum(number * one.most for number, one in counted))
    span, number = unit_span(unit.name), constant(value)
    return None if span is None or number is None else times(span, number)


def _counted(text: str) -> list[tuple[Fraction, Unit]] | None:
    """The numbers and units of `1 hour -30 minutes`, all units of one length; None for any other text."""
    words = text.lower().split()
    counted = [(number_in(number), unit_of(word)) for number, word in zip(words[::2], words[1::2])]
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


def unit_span(name: str) -> Span | None:
    unit = unit_of(name)
    return None if unit is None else (unit.least, unit.most)


def times(span: Span, count: Fraction | int) -> Span:
    """A span times a count. The ends are rounded outwards."""
    low, high = sorted((span[0] * count, span[1] * count))
    return floor(low), ceil(high)


def _months(text: str) -> Span | None:
    """The least and the most length (µs) of a text of years and months, such as `-1-2`; None for any other text."""
    found, month = re.fullmatch(r"\s*([+-]?)(\d+)-(\d+)\s*", text), unit_span("month")
    if found is None or month is None:
        return None
    return times(month, (-1 if found[1] == "-" else 1) * (12 * int(found[2]) + int(found[3])))


def _parts(text: str, first: str) -> Span | None:
    """The length (µs) of a text such as `-1 02:03:04.5`, whose first number counts the unit `first`; else None."""
    order = tuple(PARTS)
    sign = -1 if text.strip().startswith("-") else 1
    values = text.strip().lstrip("+-").replace(" ", ":").split(":")
    if first not in order or len(values) > len(order) - order.index(first):
        return None
    counts = [number_in(value) for value in values]
    if None in counts:
        return None
    total = sum(count * PARTS[unit] for count, unit in zip(counts, order[order.index(first) :]) if count is not None)
    return times((int(total), int(total)), sign)
