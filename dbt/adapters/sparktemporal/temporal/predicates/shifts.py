"""How far a function moves an instant: the least and the most (µs).

    ts + interval 30 days       30 days
    ts - interval 1 month       -31 to -28 days
    date_trunc('HOUR', ts)      an hour back at most
    cast(ts as date)            a day back at most

A day counts 24 hours here. `Sargable.slack` adds the drift of local time by daylight saving.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Function
from ..sql.functions.units import UNITS
from .constants import constant
from .lengths import Span, interval, times, unit_span
from .time_of_day import DateAdd, dateadd

#: unit of date_trunc -> the most that truncating to the unit takes off (µs)
_TRUNCATED = {name: unit.truncated for unit in UNITS for name in unit.names}


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
                return base, times(span, sign)
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
    count, size = constant(added.number), unit_span(added.unit)
    span = None if count is None or size is None else times(size, count)
    margin = DAY if added.unit == "second" else SECOND
    return None if span is None else (added.instant, (span[0] - margin, span[1] + margin))


def _call(called: Function, given: Sequence[exp.Expr]) -> tuple[exp.Expr, Span] | None:
    low, high = called.moves or (0, 0)
    if called.zone is not None and not given[called.zone].is_string:
        return None
    if called.amount is not None:
        count, size = constant(given[called.amount]), unit_span(called.of or given[called.unit or 0].name)
        # Spark takes the whole part of a fraction
        if count is None or size is None or count % 1:
            return None
        least, most = times(size, count * called.sign)
        low, high = low + least, high + most
    elif called.unit is not None:
        unit = given[called.unit]
        if not unit.is_string or unit.name.upper() not in _TRUNCATED:
            return None
        low -= _TRUNCATED[unit.name.upper()]
    return given[called.moved], (low, high)


def is_local(node: exp.Expr) -> bool:
    """Whether the value of a call or a cast is a TIMESTAMP_NTZ."""
    called = function(node)
    return called is not None and called.type == "timestamp_ntz"


def gives_date(node: exp.Expr) -> bool:
    """Whether the value of a call or a cast is a DATE."""
    called = function(node)
    return called is not None and called.type == "date"
