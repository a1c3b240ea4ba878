"""Buckets: ranges of the clock that grow with their distance from `since`, as the partitions of a large chain.

    clock   since S ┬┬┬┬─┬─┬─┬─┬───┬───┬───┬───┬───────┬───────▶
                base  └ a time t is in a bucket of w ms, a power of two of at most max(GRANULARITY, (t - S) / fineness)

Edges are multiples of w, so the buckets of chains written at different times nest. `mz_bucket` is where a bucket begins
for updates, which count from their instant on, and where it ends for intervals, which count until theirs. A read opens
buckets as a whole. Of updates that is all a read costs, so they are fine: at most a quarter more of the time since S
than it must. Of intervals a read opens all but the past, and fewer files are read faster: at most twice the past.
"""

from __future__ import annotations

#: the narrowest bucket, ms (17.5 minutes)
GRANULARITY = 1 << 20
FINE, COARSE = 4, 1
#: where the bucket of intervals without an end ends
NEVER = (1 << 63) - 1
#: times from here on are too far for an edge after them (ms)
_FAR = 1 << 62


def begins(time: str, since: int) -> str:
    """SQL: the beginning of the bucket of an update. Those of `since` itself, the base, have a bucket of their own."""
    edge = f"{time} - pmod({time}, {_width(time, since, FINE)})"
    return f"IF({time} <= {since}L, {since}L, greatest({since + 1}L, {edge}))"


def ends(time: str, since: int) -> str:
    """SQL: the end of the bucket of an interval, at or after its own."""
    edge = f"{time} + pmod(-{time}, {_width(time, since, COARSE)})"
    return f"IF({time} < {_FAR}L, {edge}, {NEVER}L)"


def _width(time: str, since: int, fineness: int) -> str:
    distance = f"greatest(({time} - {since}L) DIV {fineness}, {GRANULARITY}L)"
    return f"shiftleft(1L, length(bin({distance})) - 1)"  # exact, unlike floor(log2(x))
