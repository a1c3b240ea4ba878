"""Divide time into cells in which a function of the clock changes in a known way: a search of cells is short.

    date_format(mz_now(), 'yyyy-MM')     in UTC: does not change within a day
    mz_now() - interval 7 days           in Berlin: within each hour, the clock moved by one length
    months_between(mz_now(), ts)         in UTC: rises within a day

A function may fall from one cell to the next: where local time goes back (zones change at quarters of an hour), and
where months end (at midnight). But the function never falls between two instants that are `reach` or more apart. So a
comparison with a value changes only near the changes that a search finds (two at most), and near the first instant that
matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from sqlglot import exp

from ..clock.zones import Change
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Local
from ..sql.functions.units import MINUTE, UNITS
from ..sql.text.dialect import has_clock
from .days import counts_days
from .moving import Moving
from .near import has_slack
from .ordered import ordered

#: 29, 30 and 31 March less a month may be before 28 March less a month (µs)
_OF_MONTHS = 3 * DAY
#: the most cells on one side of a change that are looked at: more take longer than a read saves
_MOST = 24
#: units of date_trunc that begin and end within a day -> their length (µs)
_SHORT = {unit.name.upper(): unit.most for unit in UNITS if MINUTE <= unit.most < DAY}

#: within a cell a function: does not change; or is the clock, moved by one length; or rises
CONSTANT, MOVED, RISES = "constant", "moved", "rises"

#: the offset of a zone (s), and its changes
Offsets = tuple[int, Sequence[Change]]


@dataclass(frozen=True)
class Grid:
    """Cells of time (ms). They begin `shift` before the multiples of their length."""

    cell: int = 1
    shift: int = 0
    #: CONSTANT, MOVED or RISES
    within: str = RISES
    #: between two instants this far apart or farther the function never falls; 0 where it never falls at all
    reach: int = 0
    #: the instants whose local time is read. While the zone's offset at each of them stays the same, the function does
    #: not fall; () where that is not known
    calm: tuple[exp.Expr, ...] = ()


def rising(zones: Sequence[Offsets], moving: Moving) -> Grid:
    """The cells of a function that rises everywhere."""
    unit = _unchanging(moving.function)
    found = _cells(zones, moving, unit) if unit else None
    return Grid() if found is None else Grid(*found, CONSTANT)


def near(
    breaking: Sequence[Offsets], zones: Sequence[Offsets], moving: Moving, by_days: bool, calm: tuple[exp.Expr, ...]
) -> Grid | None:
    """The cells of a function that nearly only rises; None where none are known, or too many would be searched.

    zones: the zone of the session, then of each local time that the function reads. breaking: the same zones, each with
    only the changes after its last irregular change. by_days: whether added months keep days in order.
    calm: see `Grid`.
    """
    unit, lengths = _unchanging(moving.function), moving.lengths
    months = (0 if by_days else lengths.count(0)) + has_slack(moving.function)
    calm = calm if not months and moving.keeps_days_apart() else ()
    within = CONSTANT if unit else MOVED if moving.is_moved() else RISES
    for offsets, change in ((zones, within), (breaking, RISES)):
        found = _cells(offsets, moving, unit if change == CONSTANT else 0)
        if found is not None:
            cell, shift = found
            leaps = sum(max((abs(c.after - c.before) for c in changes), default=0) for _, changes in offsets)
            reach = ((months * _OF_MONTHS // 1_000 + (7_200 + 2 * leaps) * 1_000) // cell + 1) * cell
            if reach <= _MOST * cell:
                return Grid(cell, shift, change, reach, calm)
    return None


def _cells(zones: Sequence[Offsets], moving: Moving, unit: int) -> tuple[int, int] | None:
    """(length, shift) of cells (ms) such that zones change only at their ends, for the clock and for the moved clock.

    None where a length is not known, or the cells would be shorter than a minute.
    """
    lengths = moving.lengths
    if None in lengths:
        return None
    (offset, _), *others = zones
    changes = [change for _, zone in zones for change in zone]
    places = [unit, *(length or 0 for length in lengths), *(one * SECOND for one, _ in others)]
    places += [second * SECOND for change in changes for second in (change.at, change.before, change.after)]
    places += [offset * SECOND] if changes else []
    cell = gcd(DAY, *places)
    return None if cell < MINUTE else (cell // 1_000, 0 if changes else offset * 1_000)


def _unchanging(node: exp.Expr) -> int:
    node = node.unnest()
    fields = ordered(node)
    if fields is not None:
        return fields.step * SECOND or _unchanging(fields.of)
    if counts_days(node):
        return DAY
    called = function(node)
    if called is not None and called.local is Local.UNIT and called.type == "timestamp":
        return _SHORT.get(arguments(node)[called.unit or 0].name.upper(), 0)
    parts = [_unchanging(child) for child in node.iter_expressions() if has_clock(child)]
    return gcd(*parts) if all(parts) else 0
