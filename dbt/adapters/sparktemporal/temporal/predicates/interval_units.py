"""Intervals whose value a row decides: a length that divides each value, and whether a value may have months.

    n * interval 1 day                                         days, where n is a whole number
    make_interval(0, 0, 0, a, b)                               hours
    case when k then interval 1 day else interval 6 hours end  six hours

A `grid` needs no more than a length that divides each value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import gcd

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY
from ..sql.functions.types import CALENDAR
from ..sql.functions.units import Unit, unit_of
from ..sql.spark.combined_types import WHOLE
from ..sql.text.dialect import render
from .constants import constant, number_in
from .lengths import PARTS, day_factor, interval
from .logic import is_null, values_of


def common_length(node: exp.Expr, kind: str, types: Mapping[str, str]) -> int | None:
    """The length (µs) that divides each value of an interval: a day for `n * interval 1 day`.

    0 for months, alone or beside whole days; None where no such length is known.
    kind: the type, in lower case. types: SQL of a part -> its type, as far as known.

    >>> from ..sql.text.dialect import expression
    >>> parts = ("0, 0, a", "0, 0, 0, a, b", "0, a")
    >>> [common_length(expression(f"make_interval({n})"), "interval", {}) for n in parts]
    [86400000000, 3600000000, 0]
    """
    node, span = node.unnest(), interval(node)
    if span is not None:
        return span[0] or DAY if span[0] == span[1] else _of_several(node)
    if kind == "interval day" or kind.startswith(("interval month", "interval year")):
        return 0 if may_have_months(node, kind) else DAY
    factor = day_factor(node)
    if factor is not None:
        return DAY if types.get(render(factor), "").lower() in WHOLE else None
    units = _counted_units(node)
    return None if units is None else _common(units)


def _common(units: Sequence[Unit]) -> int | None:
    """The length (µs) that divides each sum of whole numbers of units; 0 for months and whole days."""
    fixed = gcd(*(unit.most for unit in units if unit.is_fixed)) or DAY
    if all(unit.is_fixed for unit in units):
        return gcd(fixed, DAY)
    return None if fixed % DAY else 0


def keeps_days_apart(node: exp.Expr, kind: str, types: Mapping[str, str]) -> bool:
    """Whether an interval is always whole days, or always less than a day."""
    length, span = common_length(node, kind, types), interval(node)
    if length and length % DAY == 0:
        return True
    return span is not None and -DAY < span[0] <= span[1] < DAY


def _of_several(node: exp.Expr) -> int | None:
    """The greatest common divisor of a CASE's lengths (µs); 0 for months, also beside whole days; None if unknown."""
    spans = [interval(part) for part in node.find_all(exp.Interval)]
    fixed = [span[0] for span in spans if span is not None and span[0] == span[1]]
    common = gcd(*fixed) if fixed else DAY
    if None in spans or fixed and node.find(exp.Mul):
        return None
    if len(fixed) == len(spans):
        return common or DAY
    return 0 if common % DAY == 0 else None


def _counted_units(node: exp.Expr) -> list[Unit] | None:
    """The units of which a call makes an interval, without units whose count is the literal 0; else None."""
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
    """Whether an interval is made of weeks and shorter units.

    Months and years may be in the interval only with the literal count 0.
    """
    node = node.unnest()
    if isinstance(node, exp.Interval):
        return _has_no_months(node.this, node.args.get("unit"))
    if isinstance(node, exp.Mul):
        return _is_without_months(node.left) or _is_without_months(node.right)
    if isinstance(node, (exp.Add, exp.Sub)):
        return _is_without_months(node.left) and _is_without_months(node.right)
    if isinstance(node, (exp.Neg, exp.Div)):
        return _is_without_months(node.this)
    units = _counted_units(node)
    if units is not None:
        return all(unit.is_fixed for unit in units)
    values = [value for value in values_of(node) if not is_null(value)]
    return bool(values) and all(map(_is_without_months, values))


def _has_no_months(value: exp.Expr, unit: exp.Expr | None) -> bool:
    """`_is_without_months` of a literal: its number or its text, and the unit beside."""
    if isinstance(unit, exp.IntervalSpan):
        return unit.this.name.lower() in PARTS or not re.search("[1-9]", value.name)
    words = value.name.split()
    pairs = [(constant(value), unit.name)] if unit else [(number_in(n), u) for n, u in zip(words[::2], words[1::2])]
    return all(count == 0 or (one := unit_of(name)) is not None and one.is_fixed for count, name in pairs)
