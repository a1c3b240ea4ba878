"""Functions of the clock that nearly only rise: they fall where local time goes back, and where months end.

    mz_now() - interval 1 day            in Berlin at 02:00 of the day after daylight saving ended
    months_between(mz_now(), ts)         at midnight of the last day of a month, where ts is on such a day
    timestampdiff(MONTH, mz_now(), ts)   the other way round: rises at such a midnight, where a month ends near ts

Between two neighbouring falls the function rises: see `grid`.
"""

from __future__ import annotations

from sqlglot import exp

from ..clock.zones import Change
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Local
from ..sql.functions.units import unit_of
from ..sql.text.dialect import has_clock

#: longer leaps than these are no daylight saving (s)
_LONGEST = 3 * 3_600
_QUARTER = 900
#: a key in the meta of a call of mz_now(): reads may evaluate the predicate around it, see `is_left_to_reads`
LEFT_TO_READS = "mz_left_to_reads"


def is_regular(change: Change) -> bool:
    """Whether a zone's change is at a quarter of an hour, between offsets of whole quarters, by 3 hours at most."""
    every = (change.at, change.before, change.after)
    return not any(second % _QUARTER for second in every) and abs(change.after - change.before) <= _LONGEST


def has_slack(node: exp.Expr) -> bool:
    """Whether a part of a function may fall even in a zone of one offset."""
    return any(map(_has_slack, node.walk()))


def _has_slack(part: exp.Expr) -> bool:
    """Whether a call may fall. `timestampdiff` does for months, quarters and years that count from the clock on."""
    called = function(part)
    if called is None or not called.slack:
        return False
    if called.unit is None or called.decreasing is None:
        return True
    given = arguments(part)
    unit = unit_of(given[called.unit].name)
    return (unit is None or not unit.is_fixed) and has_clock(given[called.decreasing])


def is_left_to_reads(node: exp.Expr) -> bool:
    """Whether a comparison with this function, whose changes cannot be listed, is left to reads instead of refused."""
    for part in node.walk():
        called = function(part)
        if isinstance(part, (exp.Case, exp.Tuple)) or LEFT_TO_READS in part.meta:
            return True
        if called is not None and (called.picks or called.local is Local.ZONE) or _has_slack(part):
            return True
        if called is not None and called.makes and called.increasing is None:
            return True
    return False
