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
from ..sql.dialect import fragment, has_clock, is_mz_now

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

#: functions of one argument that never fall when it rises
_RISING = frozenset(
    [
        "bigint", "ceil", "ceiling", "date", "double", "floor", "last_day", "timestamp", "timestamp_micros",
        "timestamp_millis", "timestamp_seconds", "to_date", "to_timestamp", "unix_date", "unix_micros", "unix_millis",
        "unix_seconds", "unix_timestamp", "year",
    ]
)  # fmt: skip
#: … of their first argument, the others being free of the clock
_RISING_FIRST = frozenset(["add_months", "date_add", "date_sub", "next_day", "trunc"])
#: of these the value is a date
_DATES = frozenset(["add_months", "date", "date_add", "date_sub", "last_day", "next_day", "to_date", "trunc"])
_FIXED_UNITS = frozenset(["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK"])
#: they work on local time, which goes back when daylight saving ends
_LOCAL = frozenset(["dateadd", "timestamp_ntz", "timestampadd", "to_timestamp_ntz"])


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
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Extract) and node.name.upper() in ("YEAR", "YEARS", "YR"):
        return side(node.expression).to_days().and_()
    if isinstance(node, exp.Anonymous):
        return _function(node)
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


def _function(node: exp.Anonymous) -> Side:
    name, arguments = node.name.lower(), node.expressions
    with_clock = [i for i, a in enumerate(arguments) if has_clock(a)]
    if len(with_clock) == 1:
        (at,) = with_clock
        count = len(arguments)
        rising = (
            (name in _RISING and count == 1)
            or (name in _RISING_FIRST and at == 0)
            or (name == "date_trunc" and at == 1 and isinstance(arguments[0], exp.Literal))
            or (name in ("date_part", "datepart") and at == 1 and arguments[0].name.upper() == "YEAR")
        )
        if rising:
            moves = side(arguments[at])
            if name in _DATES or name in ("year", "date_part", "datepart") or _truncates_days(name, arguments):
                moves = moves.to_days()
            elif name != "timestamp" and name != "to_timestamp":
                moves = replace(moves, months=moves._months())
            return replace(moves, truncates=_unit(name, arguments, at), dated=moves.dated or name in _DATES)
        if name in ("datediff", "date_diff") and count == 2:
            moves = side(arguments[at]).to_days()
            return moves.and_() if at == 0 else moves.turned()
        if name in ("timestampdiff", "datediff", "date_diff") and count == 3 and at > 0:
            moves = side(arguments[at]) if at == 2 else side(arguments[at]).turned()
            return moves.and_(local=(node.copy(),))
        if name in _LOCAL and count == 3 and arguments[0].name.upper() not in _FIXED_UNITS:
            raise _refusal(node, f"moved by a {arguments[0].name.lower()}, the clock goes back at the end of a month")
        if name in _LOCAL and at == count - 1:
            return side(arguments[at]).and_(local=(node.copy(),))
    if name in ("greatest", "least"):
        sides = [side(arguments[i]) for i in with_clock]
        if len({s.is_increasing for s in sides}) == 1:
            merged = Side(sides[0].is_increasing)
            for one in sides:
                merged = merged.and_(one.added, one.local)
            return merged
    raise _refusal(node, f"{name} of the clock does not only rise or only fall")


def _truncates_days(name: str, arguments: list[exp.Expr]) -> bool:
    return name == "date_trunc" and arguments[0].name.upper() in (
        "DAY",
        "WEEK",
        "MONTH",
        "MON",
        "MM",
        "QUARTER",
        "YEAR",
    )


def _unit(name: str, arguments: list[exp.Expr], at: int) -> str | None:
    if not is_mz_now(arguments[at].unnest()):
        return None
    if name == "date_trunc" and arguments[0].name.upper() in TRUNCATED:
        return arguments[0].name.upper()
    return "DAY" if name in ("date", "to_date") else None


def _cast(node: exp.Cast) -> Side:
    kind = node.to.sql(dialect="spark").upper()
    moves = side(node.this)
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "BIGINT", "DOUBLE"):
        unit = "DAY" if kind == "DATE" and is_mz_now(node.this.unnest()) else None
        if kind == "DATE":
            moves = moves.to_days()
        elif not kind.startswith("TIMESTAMP"):
            moves = replace(moves, months=moves._months())
        return replace(moves, truncates=unit, dated=moves.dated or kind == "DATE")
    if kind == "TIMESTAMP_NTZ":
        return moves.and_(local=(node.copy(),))
    raise _refusal(node, f"as {kind} the clock does not only rise or only fall")


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
