"""The value of an expression over the fields of one instant, on one day of a year.

year(t) * 100 + month(t)                                        on 10 March: 100 years and 3
case when month(t) >= 7 then year(t) + 1 else year(t) end       on 10 March: the year
date_format(t, 'yyyy-MM')                                       on 10 March: the year, `-`, 3 in two digits
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Function, Makes
from ..sql.text.dialect import has_clock, is_mz_now, render
from . import blocks
from .blocks import FRACTION, HOUR, MINUTE, SECOND, YEAR, Block, NoForm, Number, Text, counted, number


@dataclass(frozen=True)
class Dated:
    """A date or an instant: a number that orders alike."""

    of: Number
    type: str


@dataclass(frozen=True)
class Several:
    """Values that are compared one after the other."""

    of: tuple[Value, ...]


Value = Number | Dated | Several | Text | bool
TIMES = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "fraction": FRACTION}
_WORDS = {
    "year": "YEAR Y YEARS YR YRS", "yearofweek": "YEAROFWEEK", "quarter": "QUARTER QTR",
    "month": "MONTH MON MONS MONTHS", "week": "WEEK W WEEKS", "day": "DAY D DAYS", "doy": "DOY",
    "hour": "HOUR H HOURS HR HRS", "minute": "MINUTE M MIN MINS MINUTES",
}  # fmt: skip
_UNITS = {word: name for name, words in _WORDS.items() for word in words.split()}
#: a unit of date_trunc -> the month in which it begins
_BEGINS: dict[str, Callable[[int], int]] = {
    "YEAR": lambda month: 1,
    "QUARTER": lambda month: (month - 1) // 3 * 3 + 1,
    **dict.fromkeys(("MONTH", "MON", "MM", "DAY", "HOUR", "MINUTE"), lambda month: month),
}
#: the types of texts
_TEXTS = ("string", "text")
_MIDNIGHT = [number(0)] * 3


@dataclass
class Used:
    """What an expression was found to be made of."""

    #: the instants, by their text
    of: dict[str, exp.Expr] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    #: what is known of each node, by its id: it is asked for once for each day
    known: dict[int, tuple[Function | None, bool, bool]] = field(default_factory=dict)
    #: the instant of a field, by the id of the node
    instants: dict[tuple[int, bool], exp.Expr] = field(default_factory=dict)
    #: the instants of numbers of seconds, by the id of the number
    made: dict[int, exp.Expr] = field(default_factory=dict)

    def facts(self, node: exp.Expr) -> tuple[Function | None, bool, bool]:
        """(its function, whether it has the clock, whether it is made of fields)."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = (function(node), has_clock(node), is_made(node))
        return found

    def seconds(self, count: exp.Expr) -> exp.Expr:
        """The instant so many seconds after 1970: one node, however often it is asked for."""
        made = exp.Anonymous(this="timestamp_seconds", expressions=[count.copy()])
        return self.made.setdefault(id(count), made)

    def instant(self, of: exp.Expr, is_time: bool) -> None:
        """Note the instant of a field. Where the time of day does not matter, it is that of its date."""
        key = (id(of), is_time)
        if key in self.instants:
            return
        self.instants[key] = of
        of = of.unnest()
        while not is_time and (called := function(of)) is not None and called.truncates_to_date:
            of = arguments(of)[called.moved].unnest()
        if not has_clock(of) or is_made(of):
            raise NoForm
        self.of[render(of)] = of


@dataclass(frozen=True)
class Day:
    """A day of a year, or (month 0) a week of a year of weeks."""

    month: int
    day: int
    number: int

    def of(self, name: str) -> Number:
        if (name in ("yearofweek", "week")) != (self.month == 0):
            raise NoForm  # a week is in no month, and no part of a week is known
        if name in ("year", "yearofweek"):
            return counted(YEAR)
        if name in TIMES:
            return counted(TIMES[name])
        return number({"quarter": (self.month + 2) // 3, "month": self.month, "day": self.day}.get(name, self.number))


class Evaluation:
    """The values of the parts of an expression on one day."""

    def __init__(self, day: Day, used: Used) -> None:
        self.day, self.used = day, used

    def of(self, node: exp.Expr) -> Value:
        node = node.unnest()
        called, clock, _ = self.used.facts(node)
        if called is not None and clock:
            return self._call(node, called)
        evaluate = next((evaluate for kind, evaluate in _NODES.items() if isinstance(node, kind)), None)
        if evaluate is None:
            raise NoForm
        return evaluate(self, node)

    def number(self, node: exp.Expr) -> Number:
        value = self.of(node)
        if not isinstance(value, Number):
            raise NoForm
        return value

    def text(self, node: exp.Expr) -> Text:
        """A text, or what Spark casts to a text."""
        _, clock, made = self.used.facts(node)
        if clock and not made and not _is_text(node):
            return self._as_text(node)
        value = self.of(node)
        if isinstance(value, Number):
            return blocks.digits(value)
        if not isinstance(value, tuple):
            raise NoForm
        return value

    def holds(self, node: exp.Expr) -> bool:
        value = self.of(node)
        if not isinstance(value, bool):
            raise NoForm
        return value

    def field(self, of: exp.Expr, name: str) -> Number:
        value = self.day.of(name)
        self.used.instant(of, name in TIMES)
        self.used.fields.add(name)
        return value

    def whole(self, of: exp.Expr, *names: str) -> list[int]:
        return [self.field(of, name).whole for name in names]

    # -- calls --

    def _call(self, node: exp.Expr, called: Function) -> Value:
        given = list(arguments(node))
        if isinstance(node, exp.Substring):
            given = [node.this, node.args.get("start") or exp.null(), node.args.get("length") or exp.null()]
        if called.makes is not None:
            return _MAKES[called.makes](self, called, given)
        if called.type == "timestamp" and called.unit is not None:
            return self._truncated(given[called.unit].name.upper(), given[called.moved])
        if len(given) != 1:
            raise NoForm
        to = node.to.sql(dialect="spark").lower() if isinstance(node, exp.Cast) else called.name
        if called.type in ("date", "timestamp") and called.moves is not None:
            return self._as_instant(given[0], called)
        return self._as_text(given[0]) if to == "string" else as_number(self.of(given[0]), to)

    def _as_instant(self, node: exp.Expr, called: Function) -> Value:
        """A cast to a date or an instant: of a text, or of the instant itself."""
        if self.used.facts(node)[2]:
            return self.read(self.of(node), None, called.type)
        if not called.truncates_to_date:
            raise NoForm
        month, day = self.whole(node, "month", "day")
        return Dated(blocks.instant(self.field(node, "year"), month, day, _MIDNIGHT), "date")

    def _truncated(self, unit: str, of: exp.Expr) -> Value:
        if unit not in _BEGINS:
            raise NoForm
        month = _BEGINS[unit](self.whole(of, "month")[0])
        day = self.whole(of, "day")[0] if unit in ("DAY", "HOUR", "MINUTE") else 1
        clock = [self.field(of, "hour") if unit in ("HOUR", "MINUTE") else number(0)]
        clock += [self.field(of, "minute") if unit == "MINUTE" else number(0), number(0)]
        return Dated(blocks.instant(self.field(of, "year"), month, day, clock), "timestamp")

    def read(self, value: Value, pattern: str | None, to: str) -> Dated:
        """A text as a date or an instant."""
        if isinstance(value, Dated):
            return Dated(value.of, to)
        found = blocks.read(value, pattern, self.day.month, self.day.day) if isinstance(value, tuple) else None
        if found is None:
            raise NoForm
        return Dated(found, to)

    def _as_text(self, node: exp.Expr) -> Text:
        """A cast to text: of what is made of fields, or of a date or an instant."""
        if self.used.facts(node)[2]:
            return self.text(node)
        type_ = _type_of(node)
        if type_ == "date":
            return self.pattern(node, "yyyy-MM-dd")
        if type_ == "timestamp":
            return (*self.pattern(node, "yyyy-MM-dd HH:mm:ss"), self._end(node, "fraction"))
        if type_ != "either":
            raise NoForm
        return (*self.pattern(node, "yyyy-MM-dd"), self._end(node, "hour", "minute", "second", "fraction"))

    def _end(self, of: exp.Expr, *names: str) -> Block:
        value = number(0)
        for name in names:
            value = value.times(10**6).plus(self.field(of, name))
        return Block(0, value)

    def pattern(self, of: exp.Expr, pattern: str) -> Text:
        found: Text = ()
        for name, word, width in blocks.pieces(pattern):
            if name == "fraction":
                found += (Block(width, self.field(of, name)),)
            else:
                found += blocks.digits(self.field(of, name), width) if name else blocks.literal(word)
        return found


def is_made(node: exp.Expr) -> bool:
    """Whether an expression is made of fields of an instant, and is no instant that others are of."""
    for part in node.walk():
        called = function(part)
        is_one = (
            isinstance(part, (exp.DPipe, exp.Case, exp.If, exp.Substring))
            or called is not None
            and (called.makes or called.name in _TEXTS)
        )
        if is_one and has_clock(part):
            return True
    return False


def _type_of(node: exp.Expr) -> str:
    """date, timestamp, or either of them; "" where it may be another type."""
    node = node.unnest()
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.right.unnest(), exp.Interval):
        return {"date": "either"}.get(base := _type_of(node.left), base)
    called = function(node)
    if is_mz_now(node):
        return "timestamp"
    return called.type if called is not None and called.type in ("date", "timestamp") else ""


def _is_text(node: exp.Expr) -> bool:
    """Whether it is a cast to text."""
    called = function(node.unnest())
    return called is not None and called.name in _TEXTS


def as_number(value: Value, to: str) -> Number:
    if isinstance(value, tuple):
        if any(block.number is None and not block.text.isdigit() or not block.width for block in value):
            raise NoForm
        total = number(0, to == "bigint")
        for block in value:
            piece = number(int(block.text)) if block.number is None else block.number
            total = total.times(10**block.width).plus(piece)
        value = total.kept()
    if not isinstance(value, Number):
        raise NoForm
    if to in ("floor", "ceil", "ceiling"):
        return number((floor if to == "floor" else ceil)(value.constant))
    if to in ("int", "integer") and value.extreme(True) < 2**31 and all(n % 1 == 0 for n in value.of):
        return Number(value.of)
    if to == "int":
        return number(int(value.constant))
    if to not in ("bigint", "double"):
        raise NoForm
    return Number(value.of, True)


# -- nodes --


def _literal(_: Evaluation, node: exp.Literal) -> Value:
    if node.is_string:
        return blocks.literal(node.name)
    if not node.name.isdigit():
        raise NoForm
    return number(int(node.name), int(node.name) >= 2**31)


def _suffixed(at: Evaluation, node: exp.Cast) -> Value:
    """A cast without the clock: a number with a suffix."""
    return as_number(at.of(node.this), node.to.sql(dialect="spark").lower())


def _product(at: Evaluation, node: exp.Binary) -> Value:
    left, right = at.number(node.left), at.number(node.right)
    if any(left.of[1:]):
        left, right = right, left
    return right.times(left.constant, left.is_long).kept()


def _quotient(at: Evaluation, node: exp.Binary) -> Value:
    left, right = at.number(node.left), at.number(node.right).whole
    if right < 1:
        raise NoForm
    if isinstance(node, exp.Div):
        return left.times(Fraction(1, right), True)
    if left.whole < 0:
        raise NoForm
    return number(left.whole // right if isinstance(node, exp.IntDiv) else left.whole % right, left.is_long)


def _case(at: Evaluation, node: exp.Expr) -> Value:
    if node.args.get("this") is not None and not isinstance(node, exp.If):
        raise NoForm
    for branch in [node] if isinstance(node, exp.If) else node.args["ifs"]:
        if at.holds(branch.this):
            return at.of(branch.args["true"])
    default = node.args.get("false" if isinstance(node, exp.If) else "default")
    if default is None:
        raise NoForm
    return at.of(default)


def _several(at: Evaluation, node: exp.Expr) -> Value:
    return Several(tuple(map(at.of, node.expressions)))


_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt,
    exp.GTE: operator.ge,
}  # fmt: skip


def _comparison(at: Evaluation, node: exp.Binary) -> Value:
    return _COMPARED[type(node)](at.number(node.left).constant, at.number(node.right).constant)


def _between(at: Evaluation, node: exp.Expr) -> Value:
    low, high = (at.number(node.args[end]).constant for end in ("low", "high"))
    return low <= at.number(node.this).constant <= high


def _in(at: Evaluation, node: exp.Expr) -> Value:
    if not node.expressions:
        raise NoForm
    return at.number(node.this).constant in [at.number(item).constant for item in node.expressions]


#: subclasses before their classes
_NODES: dict[type[exp.Expr], Callable[[Evaluation, Any], Value]] = {
    exp.Literal: _literal,
    exp.Cast: _suffixed,
    exp.Neg: lambda at, node: at.number(node.this).times(-1).kept(),
    exp.Add: lambda at, node: at.number(node.left).plus(at.number(node.right)).kept(),
    exp.Sub: lambda at, node: at.number(node.left).plus(at.number(node.right), -1).kept(),
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.IntDiv: _quotient,
    exp.Mod: _quotient,
    exp.DPipe: lambda at, node: at.text(node.left) + at.text(node.right),
    exp.Case: _case,
    exp.If: _case,
    exp.Tuple: _several,
    exp.And: lambda at, node: at.holds(node.left) and at.holds(node.right),
    exp.Or: lambda at, node: at.holds(node.left) or at.holds(node.right),
    exp.Not: lambda at, node: not at.holds(node.this),
    exp.Between: _between,
    exp.In: _in,
    **dict.fromkeys(_COMPARED, _comparison),
}


# -- functions --


def _of_field(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    if called.field:
        return at.field(given[0], called.field)
    name = _UNITS.get(given[called.unit or 0].name.upper())
    if name is None:
        raise NoForm
    return at.field(given[called.moved], name)


def _string(node: exp.Expr) -> str:
    if not node.is_string:
        raise NoForm
    return node.name


def _of_seconds(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    pattern = _string(given[1]) if len(given) > 1 else "yyyy-MM-dd HH:mm:ss"
    return at.pattern(at.used.seconds(given[0]), pattern)


def _of_date(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    year, (month, day) = at.number(given[0]), (at.number(part).whole for part in given[1:3])
    if year.of[YEAR] != 1 or not blocks.is_day(year, month, day, at.day.month, at.day.day):
        raise NoForm
    clock = [at.number(part) for part in given[3:]] or _MIDNIGHT
    if any(part.extreme(False) < 0 or part.extreme(True) >= most for part, most in zip(clock, (24, 60, 60))):
        raise NoForm
    return Dated(blocks.instant(year, month, day, clock), "date" if called.makes is Makes.DATE else "timestamp")


def _parsed(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    return at.read(at.text(given[0]), _string(given[1]), "date" if called.name.endswith("date") else "timestamp")


def _joined(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    return tuple(block for part in given for block in at.text(part))


def _cut(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    if called.makes is Makes.BEGINNING:
        return blocks.cut(at.text(given[0]), 1, at.number(given[1]).whole)
    if len(given) != 3:
        raise NoForm
    return blocks.cut(at.text(given[0]), at.number(given[1]).whole or 1, at.number(given[2]).whole)


def _padded(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    piece, *more = at.text(given[0])
    width = at.number(given[1]).whole
    is_number = not more and piece.number is not None and 0 < piece.width <= width
    if not is_number or len(given) != 3 or _string(given[2]) != "0":
        raise NoForm
    return blocks.digits(piece.value, width)


def _replaced(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    """What is replaced has to be in the literal parts alone."""
    old, new = _string(given[1]), _string(given[2]) if len(given) == 3 else ""
    is_plain = re.fullmatch(r"[-/:_ ]", old) is not None
    if not (is_plain or called.name.startswith("regexp") and old in (r"[^0-9]", r"\D")) or re.search(r"[\d$\\]", new):
        raise NoForm
    found: list[Block] = []
    for block in at.text(given[0]):
        text = block.text.replace(old, new) if is_plain else re.sub(r"[^0-9]", new, block.text)
        found += [block] if block.number is not None else blocks.literal(text)
    if not found[-1].width:  # a fraction begins with a dot, and a time with a space
        raise NoForm
    return tuple(found)


_MAKES: dict[Makes, Callable[[Evaluation, Function, list[exp.Expr]], Value]] = {
    Makes.FIELD: _of_field,
    Makes.FORMAT: lambda at, called, given: at.pattern(given[0], _string(given[1])),
    Makes.SECONDS: _of_seconds,
    Makes.DATE: _of_date,
    Makes.TIMESTAMP: _of_date,
    Makes.PARSED: _parsed,
    Makes.JOINED: _joined,
    Makes.CUT: _cut,
    Makes.BEGINNING: _cut,
    Makes.PADDED: _padded,
    Makes.REPLACED: _replaced,
    Makes.STRUCT: lambda at, called, given: Several(tuple(map(at.of, given))),
}
