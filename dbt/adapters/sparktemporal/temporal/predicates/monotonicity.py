"""The clock's side of a comparison: whether it is a monotone function of the clock.

    mz_now() - interval 5 minutes <= ts          is_increasing with the clock: the comparison changes once
    ts - mz_now() < interval 1 hour              falls with it: likewise
    date_trunc('HOUR', mz_now()) = hour          a step function: is_increasing too, so `=` holds for one interval
    extract(hour from mz_now())                  goes back at midnight: its changes cannot be listed

Of a monotone side it does not matter what the function is: Spark evaluates it, and a search by halves finds the very
millisecond. Local time goes back once a year in zones with daylight saving, and what follows it is not monotone there.

Months are monotone by the day only: 30 March 12:00 and a month is 30 April 12:00, 31 March 00:00 and a month is
30 April 00:00.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import exp

from ...errors import Refusal
from ..sql.calls import arguments, function
from ..sql.dialect import fragment, has_clock, is_mz_now
from ..sql.functions.row import Function, Local, Picks

DAY_MS = 86_400_000
_UNITS = {
    "microsecond": 0.001, "millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": DAY_MS,
    "week": 604_800_000,
}  # fmt: skip

#: units of date_trunc -> one of it
TRUNCATED = {
    "SECOND": "1 SECOND", "MINUTE": "1 MINUTE", "HOUR": "1 HOUR", "DAY": "1 DAY", "WEEK": "7 DAYS", "MONTH": "1 MONTH",
    "QUARTER": "3 MONTHS", "YEAR": "1 YEAR",
}  # fmt: skip
#: … of those, and of their short names, the ones that are made of whole days
_OF_DAYS = ("DAY", "WEEK", "MONTH", "MON", "MM", "QUARTER", "YEAR")

#: the bare clock or nothing of months; the clock moved by something; a day or more of that; something else made of it
NONE, MOVED, DAYS, OTHER = "none", "moved", "days", "other"


class Unlistable(Refusal):
    """The instants at which a predicate changes cannot be listed. It can still be evaluated at each."""


@dataclass(frozen=True)
class Side:
    """A monotone function of the clock.

    added: what is added to it or taken from it, whose type decides whether it is monotone in the session's zone (Spark
    takes instants from each other by local time). local: parts that are monotone only without daylight saving.
    truncates: the unit, when it is the bare clock truncated to one and nothing else. dated: it moves a day at a time,
    so that an hour of daylight saving cannot turn it back. months: how far it is right if what is added are months.
    """

    is_increasing: bool
    added: tuple[exp.Expr, ...] = ()
    local: tuple[exp.Expr, ...] = ()
    truncates: str | None = None
    dated: bool = False
    months: str = NONE

    def turned(self) -> Side:
        return Side(not self.is_increasing, self.added, self.local, dated=self.dated, months=self._months())

    def and_(self, added: tuple[exp.Expr, ...] = (), local: tuple[exp.Expr, ...] = ()) -> Side:
        """More than a truncation; added to a date, nothing depends on the zone."""
        added = () if self.dated else added
        return Side(self.is_increasing, self.added + added, self.local + local, dated=self.dated, months=self._months())

    def _months(self) -> str:
        """Anything else than a day that is made of moved instants goes back where they do."""
        return self.months if self.months in (NONE, DAYS) else OTHER

    def to_days(self) -> Side:
        return replace(self, months=DAYS if self.months == MOVED else self.months)


def side(node: exp.Expr) -> Side:
    """A clock's side -> how it moves, or a refusal that says why it does not."""
    node = node.unnest()
    if is_mz_now(node):
        return Side(is_increasing=True)
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = node.left, node.right
        if has_clock(left) and has_clock(right):
            raise _refusal(node, "mz_now() stands in it twice")
        if has_clock(left):
            moves = side(left).and_(added=(right.copy(),))
            return replace(moves, months=MOVED) if is_mz_now(left.unnest()) else moves
        if isinstance(node, exp.Add):
            moves = side(right).and_(added=(left.copy(),))
            return replace(moves, months=MOVED) if is_mz_now(right.unnest()) else moves
        return side(right).turned().and_(added=(left.copy(),))
    if isinstance(node, exp.Neg):
        return side(node.this).turned()
    if isinstance(node, (exp.Div, exp.IntDiv)) and has_clock(node.left) and not has_clock(node.right):
        return _scaled(side(node.left), node.right, node)
    called = function(node)
    if called is not None:
        return _call(node, called)
    raise _refusal(node, "it is no function of the clock that only rises or only falls")


def is_below_a_day(node: exp.Expr) -> bool:
    """A literal that moves an instant by as much in every zone: Spark counts whole days by the calendar."""
    length = milliseconds(node)
    return length is not None and length < DAY_MS


def milliseconds(node: exp.Expr) -> float | None:
    """The length of a day-time literal, roughly and without sign; None for anything else.

    `interval '2 02:00' day to minute` is as long as three days, to be safe.
    """
    node = node.unnest()
    if not isinstance(node, exp.Interval):
        return None
    unit, value = node.args.get("unit"), node.this
    if isinstance(value, exp.Neg):
        value = value.this
    if not isinstance(value, exp.Literal):
        return None
    if isinstance(unit, exp.IntervalSpan):
        spans = (unit.this.name.lower(), unit.expression.name.lower())
        first = re.match(r"\s*[+-]?\s*(\d+)", value.name)
        if first is None or not all(s in _UNITS for s in spans):
            return None
        return max(_UNITS[spans[0]] * (int(first[1]) + 1), DAY_MS)
    size = _UNITS.get(unit.name.lower().rstrip("s")) if unit is not None else None
    try:
        return None if size is None else abs(float(value.name)) * size
    except ValueError:
        return None


def _call(node: exp.Expr, called: Function) -> Side:
    given = arguments(node)
    with_clock = [i for i, a in enumerate(given) if has_clock(a)]
    if called.picks in (Picks.GREATEST, Picks.LEAST):
        sides = [side(given[i]) for i in with_clock]
        if len({s.is_increasing for s in sides}) == 1:
            merged = Side(sides[0].is_increasing)
            for one in sides:
                merged = merged.and_(one.added, one.local)
            return merged
    unit = "" if called.unit is None else given[called.unit].name.upper()
    holds = not called.units or unit in called.units
    # which part of local time decides has to be known
    is_known = called.local is not Local.UNIT or isinstance(given[called.unit or 0], exp.Literal)
    is_monotone = len(with_clock) == 1 and with_clock[0] in (called.increasing, called.decreasing)
    if is_monotone and holds and is_known:
        return _monotone(node, called, given[with_clock[0]], with_clock[0] == called.decreasing, unit)
    if len(with_clock) == 1 and not holds and called.amount is not None:
        raise _refusal(node, f"moved by a {unit.lower()}, the clock goes back at the end of a month")
    if isinstance(node, exp.Cast):
        side(node.this)
        as_type = node.to.sql(dialect="spark").upper()
        raise _refusal(node, f"as {as_type} the clock does not only rise or only fall")
    if not isinstance(node, exp.Anonymous):
        raise _refusal(node, "it is no function of the clock that only rises or only falls")
    raise _refusal(node, f"{called.name} of the clock does not only rise or only fall")


def _monotone(node: exp.Expr, called: Function, argument: exp.Expr, falls: bool, unit: str) -> Side:
    """A function that is monotone in an argument, whose side is known."""
    moves = side(argument)
    if called.by_date or called.local is Local.UNIT and unit in _OF_DAYS:
        moves = moves.to_days()
    if falls:
        moves = moves.turned()
    elif not called.keeps_instants:
        moves = replace(moves, months=moves._months())
    if called.local is Local.TIME:
        moves = moves.and_(local=(node.copy(),))
    truncates = None
    if is_mz_now(argument.unnest()):
        if called.local is Local.UNIT:
            truncates = unit if unit in TRUNCATED else None
        elif called.truncates_to_date:
            truncates = "DAY"
    return replace(moves, truncates=truncates, dated=moves.dated or called.type == "date")


def _scaled(moves: Side, divisor: exp.Expr, node: exp.Expr) -> Side:
    """Division by a literal of 1 or more. (A product, or a smaller divisor, may wrap around in a BIGINT.)"""
    divisor = divisor.unnest()
    negative = isinstance(divisor, exp.Neg)
    number = divisor.this if negative else divisor
    if not isinstance(number, exp.Literal) or number.is_string or float(number.name) < 1:
        raise _refusal(node, "whether it rises or falls with the clock is not known before the row")
    return moves.turned() if negative else moves.and_()


def _refusal(node: exp.Expr, why: str) -> Unlistable:
    return Unlistable(
        fragment(node),
        f"{why}, so the instants at which it changes cannot be listed",
        "a comparison of mz_now() with an expression over the row; or, where no window is meant, the function in an "
        "outer SELECT's list, where it is that of the instant of the read",
    )
