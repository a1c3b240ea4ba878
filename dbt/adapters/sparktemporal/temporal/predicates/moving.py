"""The lengths by which a function moves the clock: intervals, numbers that count units, offsets of zones.

    mz_now() - interval 7 days              7 days
    mz_now() - make_interval(0, 0, 0, n)    days
    unix_timestamp(mz_now()) + 60           a minute

These lengths decide the cells of a `grid`: offsets of zones change only at the ends of cells, for the clock and for the
moved clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ..clock.zones import is_offset, offset_of
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Function, Local, Makes, Takes
from ..sql.functions.types import CALENDAR
from ..sql.functions.units import unit_of
from ..sql.text.dialect import has_clock, is_mz_now, render
from .constants import constant
from .interval_units import common_length, keeps_days_apart
from .ordered import ordered
from .row_expressions import index_of, written

_INSTANTS = ("timestamp", "timestamp_ntz", "date")
_MILLISECOND = 1_000


@dataclass(frozen=True)
class Moving:
    """A function of the clock. Each column `mz_s<i>` in the function stands for a row expression of a known type."""

    function: exp.Expr
    row_expressions: Sequence[exp.Expr]
    types: Sequence[str]
    #: the type of the other side
    other: str

    def row(self, node: exp.Expr) -> tuple[exp.Expr, str]:
        """(the row expression that a column stands for, its type in lower case); (node, "") for any other node."""
        index = index_of(node)
        return (node, "") if index is None else (self.row_expressions[index], self.types[index].lower())

    def written(self, node: exp.Expr) -> exp.Expr:
        """A copy of a part of the function with the row expressions in place of their columns."""
        return written(node, self.row_expressions)

    @cached_property
    def _types(self) -> dict[str, str]:
        """SQL of a row expression -> its type."""
        return {render(row): kind.lower() for row, kind in zip(self.row_expressions, self.types)}

    def is_moved(self) -> bool:
        """Whether the function is the clock moved by lengths, compared with an instant."""
        return self.other in _INSTANTS and self._is_moved(self.function)

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
        return isinstance(node, exp.Interval) or self.row(node)[1].startswith("interval")

    @cached_property
    def lengths(self) -> list[int | None]:
        """A divisor (µs) of each length by which the function moves the clock: 0 for months, None where not known."""
        return list(self._lengths(self.function))

    def keeps_days_apart(self) -> bool:
        """Whether each length is known and has no months, and no interval may have both days and hours.

        Spark adds the days and the hours of one interval separately.
        """
        rows = [one for one in map(self.row, self.function.find_all(exp.Column)) if one[1].startswith(CALENDAR)]
        has_calendar = CALENDAR in self._types.values()
        return all(keeps_days_apart(row, kind, self._types) for row, kind in rows) and all(
            length and (length % DAY == 0 or abs(length) < DAY and not has_calendar) for length in self.lengths
        )

    def _lengths(self, node: exp.Expr, step: int | None = None, is_number: bool = False) -> Iterator[int | None]:
        """The lengths by which a node moves the clock.

        step: the unit (µs) of the node's value, if a function makes an instant of this value as a number; else None.
        is_number: whether the value is certainly a number, and not already an instant.
        """
        node = node.unnest()
        fields, called = ordered(node), function(node)
        if fields is not None:
            yield from self._lengths(fields.of)
            return
        yield from self._own(node, called, step, is_number)
        if called is not None:
            step, is_number = _step(called), called.takes is Takes.INTEGER or called.makes is Makes.SECONDS
        for child in node.iter_expressions():
            if has_clock(child):
                yield from self._lengths(child, step, is_number)

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
        row, kind = self.row(node)
        if isinstance(node, exp.Interval) or kind.startswith("interval"):
            yield common_length(row, kind, self._types)
        elif kind == "string":
            yield None  # Spark decides whether a text is a length
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
