"""Functions of the clock that nearly only rise: they fall where local time goes back, and where months end.

    mz_now() - interval 1 day            in Berlin at 02:00 of the day after daylight saving ended
    months_between(mz_now(), ts)         at midnight of the last day of a month, where ts is on such a day

Between two neighbouring falls the function rises: see `grid`.
"""

from __future__ import annotations

from sqlglot import exp

from ..clock.zones import Change
from ..sql.functions.calls import function
from ..sql.functions.row import Local

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
    return any((called := function(part)) is not None and called.slack for part in node.walk())


def is_left_to_reads(node: exp.Expr) -> bool:
    """Whether a comparison with this function, whose changes cannot be listed, is left to reads instead of refused."""
    for part in node.walk():
        called = function(part)
        if isinstance(part, (exp.Case, exp.Tuple)) or LEFT_TO_READS in part.meta:
            return True
        if called is not None and (called.picks or called.slack or called.local is Local.ZONE):
            return True
        if called is not None and called.makes and called.increasing is None:
            return True
    return False
