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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from sqlglot import exp

from ..clock.zones import Change, is_offset, offset_of
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Function, Local, Makes, Takes
from ..sql.functions.types import CALENDAR
from ..sql.functions.units import MINUTE, UNITS, unit_of
from ..sql.text.dialect import has_clock, is_mz_now, render
from .days import counts_days
from .lengths import common_length, constant, interval, may_have_months
from .near import has_slack
from .ordered import ordered

#: 29, 30 and 31 March less a month may be before 28 March less a month (µs)
_OF_MONTHS = 3 * DAY
#: the cells on one side of a change that are looked at: more take longer than a read saves
_MOST = 24
#: units of date_trunc that begin and end within a day -> their length (µs)
_SHORT = {unit.name.upper(): unit.most for unit in UNITS if MINUTE <= unit.most < DAY}

_INSTANTS = ("timestamp", "timestamp_ntz", "date")
_MILLISECOND = 1_000

#: within a cell a function does not change; is the clock, moved by one length; rises
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
    #: between two instants that are as far apart the function rises; 0 where it never falls
    reach: int = 0
    #: instants computed from the clock. While the session's zone has one offset at each, the function does not fall;
    #: () where that is not known
    calm: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Moving:
    """A function of the clock. Each column `mz_s<i>` in the function stands for a row expression of a known type."""

    function: exp.Expr
    row_expressions: Sequence[exp.Expr]
    types: Sequence[str]
    #: the type of the other side
    other: str

    def unchanging(self) -> int:
        """The length (µs) of units of local time in which the function does not change; 0 where none is known."""
        return _unchanging(self.function)

    def is_moved(self) -> bool:
        """Whether the function is the clock moved by lengths, compared with an instant."""
        return self.other in ("timestamp", "timestamp_ntz", "date") and self._is_moved(self.function)

    def _is_moved(self, node: exp.Expr) -> bool:
        node = node.unnest()
        if is_mz_now(node):
            return True
        if isinstance(node, (exp.Add, exp.Sub)):
            clock, by = (node.left, node.right) if has_clock(node.left) else (node.right, node.left)
            is_ordered = isinstance(node, exp.Add) or clock is node.left
            return is_ordered and self._is_length(by.unnest()) and self._is_moved(clock)
        called = function(node)
        if called is None or called.amount is None and not called.keeps_instants:
            return False
        return self._is_moved(arguments(node)[called.moved])

    def _is_length(self, node: exp.Expr) -> bool:
        of_row = {f"`mz_s{i}`": kind for i, kind in enumerate(self.types)}.get(render(node), "")
        return isinstance(node, exp.Interval) or of_row.lower().startswith("interval")

    def lengths(self) -> list[int | None]:
        """The lengths by which the function moves the clock (µs): 0 for months, None for one that is not known."""
        return list(self._lengths().of(self.function))

    def _lengths(self) -> _Lengths:
        rows = enumerate(zip(self.row_expressions, self.types))
        return _Lengths({f"`mz_s{i}`": (row, kind.lower()) for i, (row, kind) in rows})

    def keeps_days_apart(self) -> bool:
        """Whether each length is known, has no months, and is either whole days or less than a day.

        Spark adds the days and the hours of one interval separately.
        """
        lengths, kinds = self._lengths(), [kind.lower() for kind in self.types]
        beside = {render(column) for column in self.function.find_all(exp.Column)}
        rows = [one for name, one in lengths.rows.items() if name in beside and one[1].startswith(CALENDAR)]
        return all(_keeps_days_apart(row, kind, lengths.types) for row, kind in rows) and all(
            length and (length % DAY == 0 or abs(length) < DAY and CALENDAR not in kinds) for length in self.lengths()
        )


def rising(zones: Sequence[Offsets], moving: Moving) -> Grid:
    """The cells of a function that rises everywhere."""
    unit = moving.unchanging()
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
    unit, lengths = moving.unchanging(), moving.lengths()
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
    lengths = moving.lengths()
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


@dataclass(frozen=True)
class _Lengths:
    """The lengths by which a function moves the clock (µs): 0 for months, None for one that is not known."""

    #: rendered column -> row expression, type
    rows: Mapping[str, tuple[exp.Expr, str]]

    @property
    def types(self) -> dict[str, str]:
        """SQL of a row expression -> its type."""
        return {render(row): kind for row, kind in self.rows.values()}

    def of(self, node: exp.Expr, step: int | None = None, is_number: bool = False) -> Iterator[int | None]:
        """The lengths by which a node moves the clock.

        step: the unit (µs) of the node's value, if a function makes an instant of this value as a number; else None.
        is_number: whether the value is certainly a number, and not already an instant.
        """
        node = node.unnest()
        fields, called = ordered(node), function(node)
        if fields is not None:
            yield from self.of(fields.of)
            return
        yield from self._own(node, called, step, is_number)
        if called is not None:
            step, is_number = _step(called), called.takes is Takes.INTEGER or called.makes is Makes.SECONDS
        for child in node.iter_expressions():
            if has_clock(child):
                yield from self.of(child, step, is_number)

    def _own(self, node: exp.Expr, called: Function | None, step: int | None, is_number: bool) -> Iterator[int | None]:
        if is_mz_now(node):
            if is_number and step != _MILLISECOND:
                yield None
        elif isinstance(node, (exp.Add, exp.Sub)):
            for beside in (node.left.unnest(), node.right.unnest()):
                if not has_clock(beside):
                    yield from self._beside(beside, step)
        elif called is not None:
            yield from self._of_call(node, called, step)
        elif isinstance(node, (exp.Mul, exp.Div, exp.IntDiv, exp.Mod)) and step is not None:
            yield None

    def _beside(self, node: exp.Expr, step: int | None) -> Iterator[int | None]:
        """The length of an expression that is added to the clock, or subtracted."""
        row, kind = self.rows.get(render(node), (node, ""))
        if isinstance(node, exp.Interval) or kind.startswith("interval"):
            yield _of_interval(row, kind, self.types)
        elif kind == "string":
            yield None  # of a text Spark decides whether it is a length
        elif step is not None and not kind.startswith(("timestamp", "date")):
            count = constant(row)
            yield None if count is None or count % 1 else int(count) * step or DAY

    @staticmethod
    def _of_call(node: exp.Expr, called: Function, step: int | None) -> Iterator[int | None]:
        given = arguments(node)
        if step is not None and called.type not in _INSTANTS and called.step != step:
            yield None  # a number of something else
        if called.amount is not None and called.unit is not None:
            unit = unit_of(given[called.unit].name)
            yield None if unit is None else unit.least if unit.is_fixed else 0
        if called.local is Local.ZONE:
            names = [given[at].name for at in (called.zone, called.of_zone) if at is not None]
            yield from (offset_of(name) * SECOND or DAY for name in names if is_offset(name))


def _step(called: Function) -> int | None:
    """The unit (µs) of a number that a function makes an instant of; None where the function makes no instant."""
    if called.takes is Takes.INTEGER:
        return called.step
    is_instant = called.makes is Makes.SECONDS or called.type in _INSTANTS
    return SECOND if is_instant else None  # a number that is cast to an instant counts seconds


def _of_interval(node: exp.Expr, kind: str, types: Mapping[str, str]) -> int | None:
    span = interval(node)
    if span is not None:
        return span[0] or DAY if span[0] == span[1] else _of_several(node)
    if kind == "interval day" or kind.startswith(("interval month", "interval year")):
        return 0 if may_have_months(node, kind) else DAY
    return common_length(node, types)


def _keeps_days_apart(node: exp.Expr, kind: str, types: Mapping[str, str]) -> bool:
    """Whether an interval is always whole days, or always less than a day."""
    length, span = _of_interval(node, kind, types), interval(node)
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
