"""Buckets: the partitions of a large chain, which are ranges of time that grow with their distance from `since`.

    clock   since S ┬┬┬┬─┬─┬─┬─┬───┬───┬───┬───┬───────┬───────▶
                base  └ a time t is in a bucket of w ms, a power of two of at most max(GRANULARITY, (t - S) / fineness)

Edges are multiples of w, so the buckets of chains written at different times nest. A read opens buckets as a whole:

| chain of | `mz_bucket` is | a read opens | buckets are |
|---|---|---|---|
| updates, which count from their instant on | the beginning | buckets that have begun | fine, to read fewer rows |
| intervals, which count until their end | the end | buckets that end later | coarse, to have fewer files |

A read opens at most one bucket more than it must. This bucket is at most as long as the time since S for intervals, and
a quarter of this time for updates; near S it may be as long as GRANULARITY.
"""

from __future__ import annotations

#: the narrowest bucket, ms (17.5 minutes)
GRANULARITY = 1 << 20
FINE, COARSE = 4, 1
#: the end of the bucket of intervals without an end
NEVER = (1 << 63) - 1
#: later times have no edge after them in a BIGINT (ms)
_FAR = 1 << 62


def begins(time: str, since: int) -> str:
    """SQL: the beginning of the bucket of an update. The updates of `since`, the base, have a bucket of their own."""
    edge = f"{time} - pmod({time}, {_width(time, since, FINE)})"
    return f"IF({time} <= {since}L, {since}L, greatest({since + 1}L, {edge}))"


def ends(time: str, since: int) -> str:
    """SQL: the end of the bucket of an interval, at or after the end of the interval."""
    edge = f"{time} + pmod(-{time}, {_width(time, since, COARSE)})"
    return f"IF({time} < {_FAR}L, {edge}, {NEVER}L)"


def _width(time: str, since: int, fineness: int) -> str:
    distance = f"greatest(({time} - {since}L) DIV {fineness}, {GRANULARITY}L)"
    return f"shiftleft(1L, length(bin({distance})) - 1)"  # exact, unlike floor(log2(x))
