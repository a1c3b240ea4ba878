"""Functions of the clock that nearly only rise: they fall where local time goes back, and where months end.

    mz_now() - interval 1 day            in Berlin at 02:00 of the day after daylight saving ended
    months_between(mz_now(), ts)         at midnight of the last day of a month, where ts is on such a day

Between two neighbouring places of that kind the function rises. Such places are at whole cells of time: the changes of
zones are at quarters of an hour, and months end at midnight. What is a reach later than another instant has a greater
value. So all changes of a comparison are near any one of them, or near the first instant that matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from sqlglot import exp

from ..clock.zones import Change
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Local, Makes, Picks, Takes
from ..sql.functions.units import MINUTE, unit_of
from ..sql.text.dialect import render
from .lengths import constant, interval
from .monotonicity import number_of_days

#: longer leaps than these are no daylight saving (s)
_LONGEST = 3 * 3_600
_QUARTER = 900
#: 29, 30 and 31 March less a month may be before 28 March less a month
_OF_MONTHS = 3 * DAY
#: the cells on one side of a change that are looked at: more take longer than a read saves
_MOST = 24


@dataclass(frozen=True)
class Near:
    """Where to look for the changes of a comparison (ms)."""

    #: the function rises within each cell: they are as long, and begin so much (`shift`) before multiples of it
    cell: int
    #: between two instants that are as far apart the function rises
    reach: int
    shift: int = 0


def is_regular(change: Change) -> bool:
    """Whether a change of a zone is at a quarter of an hour, between offsets of whole quarters, and no longer leap."""
    every = (change.at, change.before, change.after)
    return not any(second % _QUARTER for second in every) and abs(change.after - change.before) <= _LONGEST


def has_slack(node: exp.Expr) -> bool:
    """Whether a part of a function may fall, in any zone."""
    return any((called := function(part)) is not None and called.slack for part in node.walk())


def is_read_otherwise(node: exp.Expr) -> bool:
    """Whether a read evaluates the predicate around a function whose changes cannot be listed in the zone."""
    for part in node.walk():
        called = function(part)
        if isinstance(part, (exp.Case, exp.Tuple)) or called is not None and called.picks is Picks.FIRST:
            return True
        if called is not None and (
            called.slack or called.local is Local.ZONE or called.makes and called.increasing is None
        ):
            return True
    return False


def near(
    zones: Sequence[tuple[int, Sequence[Change]]],
    function_: exp.Expr,
    row_expressions: Sequence[exp.Expr],
    types: Sequence[str],
    by_days: bool,
) -> Near | None:
    """The cells of a function; None where a place is not at a whole cell.

    zones: of the session, then of each local time that the function reads: the offset of a zone that the function names
    (s), and regular changes.
    by_days: months that are added lead no two days back.
    """
    lengths = list(_lengths(function_, row_expressions, types))
    if None in lengths:
        return None
    (offset, _), *others = zones
    changes = [change for _, zone in zones for change in zone]
    places = [length or 0 for length in lengths] + [one * SECOND for one, _ in others]
    places += [second * SECOND for change in changes for second in (change.at, change.before, change.after)]
    places += [offset * SECOND] if changes else []
    cell = gcd(DAY, *places)
    months = (0 if by_days else lengths.count(0)) + has_slack(function_)
    leaps = sum(max((abs(c.after - c.before) for c in zone), default=0) for _, zone in zones)
    reach = ((months * _OF_MONTHS + (7_200 + 2 * leaps) * SECOND) // cell + 1) * cell
    if cell < MINUTE or reach > _MOST * cell:
        return None
    return Near(cell // 1_000, reach // 1_000, 0 if changes else offset * 1_000)


def _lengths(node: exp.Expr, row_expressions: Sequence[exp.Expr], types: Sequence[str]) -> Iterator[int | None]:
    """The lengths by which a function moves the clock (µs): 0 for months, None for one that is not known."""
    rows = {f"`mz_s{i}`": (row, kind.lower()) for i, (row, kind) in enumerate(zip(row_expressions, types))}
    for part in node.walk():
        called = function(part)
        if isinstance(part, exp.Interval):
            yield _of_interval(part, "")
        elif isinstance(part, exp.Column) and render(part) in rows:
            yield from _of_row(part, *rows[render(part)])
        elif called is not None and called.amount is not None and called.unit is not None:
            unit = unit_of(arguments(part)[called.unit].name)
            yield None if unit is None else unit.least if unit.is_fixed else 0
        elif isinstance(part, exp.Literal) and not part.is_string and (step := _step_of(part)) is not None:
            count = constant(part)
            yield None if count is None or count % 1 else int(count) * step or DAY


def _of_row(column: exp.Expr, row: exp.Expr, kind: str) -> Iterator[int | None]:
    if kind.startswith("interval"):
        yield _of_interval(row, kind)
    elif _step_of(column) is not None or kind == "string" and isinstance(column.parent, (exp.Add, exp.Sub)):
        yield None  # of a text Spark decides whether it is a length


def _of_interval(node: exp.Expr, kind: str) -> int | None:
    span = interval(node)
    if span is not None:
        return span[0] or DAY if span[0] == span[1] else 0
    if kind.startswith(("interval month", "interval year")):
        return 0
    return DAY if kind == "interval day" or number_of_days(node) else None


def _step_of(node: exp.Expr) -> int | None:
    """The time (µs) between two neighbours of a number that becomes an instant; None for any other part."""
    parent = node.parent
    while parent is not None:
        called = function(parent)
        if called is not None and called.takes is Takes.INTEGER:
            return called.step
        if called is not None and called.makes is Makes.SECONDS:
            return SECOND
        parent = parent.parent
    return None
