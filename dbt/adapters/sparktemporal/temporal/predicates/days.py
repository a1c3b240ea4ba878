"""Whole days: functions that depend on the date of an instant alone, and values that begin a day."""

from __future__ import annotations

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, Local
from ..sql.functions.units import UNITS

#: unit of date_trunc -> an interval of one unit
TRUNCATED = {unit.name.upper(): unit.interval for unit in UNITS if unit.interval}
#: units of date_trunc that are made of whole days; YYYY and YY count as any other function
UNITS_OF_DAYS = {name for unit in UNITS if unit.least >= DAY for name in unit.names} - {"YYYY", "YY"}


def counts_days(node: exp.Expr) -> bool:
    """Whether a monotone call depends on the date of its argument alone."""
    called = function(node)
    if called is None or not called.is_monotone:
        return False
    unit = "" if called.unit is None else arguments(node)[called.unit].name.upper()
    return called.by_date or called.local is Local.UNIT and unit in UNITS_OF_DAYS


def begins_days(node: exp.Expr) -> bool:
    """Whether the value of a call is a date, or the beginning of a day.

    >>> from ..sql.text.dialect import expression
    >>> [begins_days(expression(sql)) for sql in ("CAST(last_day(a) AS TIMESTAMP)", "date_trunc('HOUR', a)", "a")]
    [True, False, False]
    """
    node = node.unnest()
    called = function(node)
    if called is None:
        return False
    if called.keeps_instants:
        return begins_days(arguments(node)[0])
    return called.type == "date" or called.type == "timestamp" and counts_days(node)
