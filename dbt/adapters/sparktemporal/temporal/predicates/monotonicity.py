"""The clock's side of a comparison: whether it is a monotone function of the clock.

    mz_now() - interval 5 minutes <= ts          increasing: the comparison changes once
    ts - mz_now() < interval 1 hour              decreasing: the comparison changes once
    date_trunc('HOUR', mz_now()) = hour          increasing in steps: `=` holds for one interval
    extract(hour from mz_now())                  goes back at midnight: the changes cannot be listed

Spark evaluates a monotone side, and a binary search finds the millisecond of the change, whatever the function is.
Local time goes back once a year in zones with daylight saving, so a function of local time is not monotone there.

Adding a month keeps the order of dates, not of instants: 30 March 12:00 plus a month is 30 April 12:00, and the later
31 March 00:00 plus a month is 30 April 00:00.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import arguments, function
from ..sql.functions.row import DAY, SECOND, Function, Local, Picks, Takes
from ..sql.text.dialect import fragment, has_clock, is_mz_now
from ..sql.text.shapes import Shape
from .constants import constant
from .days import TRUNCATED, UNITS_OF_DAYS, counts_days
from .int_casts import cuts_double
from .logic import branches_of, values_of
from .ordered import DATE, TEXT, TIMESTAMP, Ordered, ordered

#: a side without a moved clock; a moved clock; the days of a moved clock, or days that are moved; another function of a
#: moved clock
NONE, MOVED, DAYS, OTHER = "none", "moved", "days", "other"


class Unlistable(Refusal):
    """A predicate whose changes cannot all be listed. A read can still evaluate the predicate at any instant.

    calls: the offsets of mz_now() in the predicate, where types or the zone are the reason.
    """

    def __init__(self, code: str, found: str, why: str, instead: str, calls: tuple[int, ...] = ()) -> None:
        super().__init__(code, found, why, instead)
        self.calls = calls


#: a key in the meta of a call of mz_now(): why the changes of the predicate around the call cannot be listed
UNLISTED = "mz_unlisted"


@dataclass(frozen=True)
class Side:
    """A monotone function of the clock."""

    #: True: increasing. False: decreasing
    is_increasing: bool
    #: operands that are added to the clock or subtracted. Their types decide whether the side is monotone in the
    #: session's zone, because Spark subtracts instants by local time
    added: tuple[exp.Expr, ...] = ()
    #: the unit, where the side is the bare clock truncated to a unit
    truncates: str | None = None
    #: whether the side moves by whole days, so that an hour of daylight saving cannot turn it back
    dated: bool = False
    #: how the side depends on a clock that is moved by months (NONE, MOVED, DAYS, OTHER)
    months: str = NONE
    #: whether the side's values are beginnings of days, so that added months do not turn the side back
    of_days: bool = False
    #: the instants of whose fields the side is made: its order is known in years of four digits
    of_fields: tuple[exp.Expr, ...] = ()
    #: whether the side is a text
    is_text: bool = False

    def turned(self) -> Side:
        return replace(self.and_(), is_increasing=not self.is_increasing)

    def and_(self, added: tuple[exp.Expr, ...] = ()) -> Side:
        """A function of this side, with more operands: `truncates`, `of_days` and `is_text` do not hold any more.

        Operands that are added to a date are left out, because they do not depend on the zone.
        """
        added = () if self.dated else added
        return Side(
            self.is_increasing, self.added + added, dated=self.dated, months=self._months(), of_fields=self.of_fields
        )

    def _months(self) -> str:
        """The `months` of a function of this side: NONE and DAYS stay, any other value becomes OTHER.

        A function with OTHER goes back where the moved clock goes back.
        """
        return self.months if self.months in (NONE, DAYS) else OTHER

    def to_days(self) -> Side:
        return replace(self, months=DAYS if self.months == MOVED else self.months)


def side(node: exp.Expr) -> Side:
    """A clock's side -> its monotonicity. Raises Unlistable where it is not monotone."""
    node = node.unnest()
    try:
        return _side(node)
    except Unlistable:
        fields = ordered(node)
        if fields is None:
            raise
        return _of_fields(fields)


def is_side(node: exp.Expr) -> bool:
    """Whether a node is a monotone function of the clock."""
    try:
        side(node)
    except Unlistable:
        return False
    return True


def _of_fields(fields: Ordered) -> Side:
    of, is_text, of_days = side(fields.of), fields.type == TEXT, fields.step == DAY // SECOND
    return replace(
        of.to_days() if of_days else of.and_(),
        truncates=None,
        dated=fields.type == DATE,
        of_days=of_days and fields.type in (DATE, TIMESTAMP),
        of_fields=(*of.of_fields, fields.of),
        is_text=is_text,
    )


def number_side(node: exp.Expr) -> Side:
    """`side`; raises Unlistable for a text, which Spark casts to a number or an instant with another order."""
    found = side(node)
    if found.is_text:
        raise not_listable(node, "it is a text here, and not in the order of texts")
    return found


def _side(node: exp.Expr) -> Side:
    if is_mz_now(node):
        return Side(is_increasing=True)
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = node.left, node.right
        if has_clock(left) and has_clock(right):
            raise not_listable(node, "mz_now() stands in it twice")
        if has_clock(left):
            return _moved(left, by=right)
        if isinstance(node, exp.Add):
            return _moved(right, by=left)
        return number_side(right).turned().and_(added=(left.copy(),))
    if isinstance(node, exp.Neg):
        return number_side(node.this).turned()
    if isinstance(node, (exp.Div, exp.IntDiv)) and has_clock(node.left) and not has_clock(node.right):
        return _scaled(number_side(node.left), node.right, node)
    if isinstance(node, (exp.Case, exp.If)):
        return _rounded(node) or _chosen(node)
    called = function(node)
    if called is not None:
        return _call(node, called)
    raise not_listable(node, "it is no function of the clock that only rises or only falls")


#: rounded away from zero, as dbt-spark's datediff has it
_ROUNDED = Shape("CASE WHEN mz_a < mz_b THEN ceil(mz_x) ELSE floor(mz_x) END")


def _rounded(node: exp.Case | exp.If) -> Side | None:
    """The side of a number that is rounded down until the clock passes a value, and up from then on.

    A falling number is rounded up until then, and down from then on. None for any other node.
    """
    found = _ROUNDED.match(node)
    if found is not None and has_clock(found["mz_a"]) is not has_clock(found["mz_b"]):
        rounded, is_later = number_side(found["mz_x"]), has_clock(found["mz_b"])
        passes = side(found["mz_b" if is_later else "mz_a"])
        if (passes.is_increasing is is_later) is rounded.is_increasing:
            months = NONE if rounded.months == passes.months == NONE else OTHER
            return replace(rounded, added=rounded.added + passes.added, months=months)
    return None


def _chosen(node: exp.Case | exp.If) -> Side:
    """The side of a CASE or IF whose conditions lack the clock: for each row it is one function of the clock."""
    tests = [branch.this for branch in branches_of(node)[0]]
    if any(map(has_clock, tests)) or isinstance(node, exp.Case) and node.this and has_clock(node.this):
        raise not_listable(node, "the clock decides which value it has")
    return _one_of(node, values_of(node))


def _one_of(node: exp.Expr, values: Sequence[exp.Expr]) -> Side:
    """The side of a choice among values. Raises Unlistable unless the values with the clock all rise or all fall."""
    sides = [side(value) for value in values if has_clock(value)]
    if len({(s.is_increasing, s.is_text) for s in sides}) != 1:
        raise not_listable(node, "it rises with the clock in one part and falls in another")
    added, of_fields = (tuple(x for one in sides for x in getattr(one, name)) for name in ("added", "of_fields"))
    months = max((one._months() for one in sides), key=(NONE, DAYS, OTHER).index)
    return Side(sides[0].is_increasing, added, months=months, of_fields=of_fields, is_text=sides[0].is_text)


def _moved(clock: exp.Expr, by: exp.Expr) -> Side:
    """The side of `clock` plus or minus `by`, which may be an interval of months."""
    base = number_side(clock)
    moves = base.and_(added=(by.copy(),))
    if is_mz_now(clock.unnest()):
        return replace(moves, months=MOVED)
    return replace(moves, months=DAYS) if base.of_days and moves.months == NONE else moves


def _call(node: exp.Expr, called: Function) -> Side:
    given = arguments(node)
    with_clock = [i for i, a in enumerate(given) if has_clock(a)]
    if called.picks in (Picks.GREATEST, Picks.LEAST, Picks.FIRST):
        return _one_of(node, given)
    unit = "" if called.unit is None else given[called.unit].name.upper()
    is_nothing = called.amount is not None and constant(given[called.amount]) == 0
    holds = not called.units or unit in called.units or is_nothing
    if called.takes is Takes.DOUBLE and not cuts_double(node):
        raise _refusal_of_call(node, called)
    # which part of local time decides has to be known
    is_known = called.local is not Local.UNIT or isinstance(given[called.unit or 0], exp.Literal)
    is_monotone = len(with_clock) == 1 and with_clock[0] in (called.increasing, called.decreasing)
    zones = [given[at] for at in (called.zone, called.of_zone) if at is not None]
    if is_monotone and holds and is_known and all(zone.is_string for zone in zones):
        return _monotone(node, called, given[with_clock[0]], with_clock[0] == called.decreasing, unit)
    if len(with_clock) == 1 and not holds and called.amount is not None:
        raise not_listable(node, f"moved by a {unit.lower()}, the clock goes back at the end of a month")
    raise _refusal_of_call(node, called)


def _refusal_of_call(node: exp.Expr, called: Function) -> Unlistable:
    if isinstance(node, exp.Cast):
        side(node.this)
        as_type = node.to.sql(dialect="spark").upper()
        return not_listable(node, f"as {as_type} the clock does not only rise or only fall")
    if not isinstance(node, exp.Anonymous):
        return not_listable(node, "it is no function of the clock that only rises or only falls")
    return not_listable(node, f"{called.name} of the clock does not only rise or only fall")


def _monotone(node: exp.Expr, called: Function, argument: exp.Expr, is_decreasing: bool, unit: str) -> Side:
    """The side of a call that is monotone in `argument`. unit: the unit that the call names, or ""."""
    moves, of_days = number_side(argument), called.local is Local.UNIT and unit in UNITS_OF_DAYS
    if counts_days(node):
        moves = moves.to_days()
    if is_decreasing:
        moves = moves.turned()
    elif not called.keeps_instants:
        moves = replace(moves, months=moves._months())
    truncates = None
    if is_mz_now(argument.unnest()):
        if called.local is Local.UNIT:
            truncates = unit if unit in TRUNCATED else None
        elif called.truncates_to_date:
            truncates = "DAY"
    return replace(moves, truncates=truncates, dated=moves.dated or called.type == "date", of_days=of_days)


def _scaled(moves: Side, divisor: exp.Expr, node: exp.Expr) -> Side:
    """The side of a division by a literal n or -n, n >= 1. By a smaller n the result may wrap around in a BIGINT."""
    divisor = divisor.unnest()
    negative = isinstance(divisor, exp.Neg)
    number = divisor.this if negative else divisor
    if not isinstance(number, exp.Literal) or number.is_string or float(number.name) < 1:
        raise not_listable(node, "whether it rises or falls with the clock is not known before the row")
    return moves.turned() if negative else moves.and_()


def not_listable(node: exp.Expr, why: str) -> Unlistable:
    """The error for a function of the clock whose changes are not known before a read."""
    return Unlistable(
        "ST324",
        fragment(node),
        f"{why}, so the instants at which it changes cannot be listed",
        "a comparison of mz_now() with an expression over the row; or, where no window is meant, the function in an "
        "outer SELECT's list, where it is that of the instant of the read",
    )
