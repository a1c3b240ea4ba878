"""The value of an expression over the fields of one instant, on one day of a year.

year(t) * 100 + month(t)                                        on 10 March: 100 times the year, plus 3
case when month(t) >= 7 then year(t) + 1 else year(t) end       on 10 March: the year
date_format(t, 'yyyy-MM')                                       on 10 March: the year, `-`, 3 in two digits
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sqlglot import exp

from ..sql.functions.calls import arguments, function
from ..sql.functions.row import Function, Makes
from ..sql.text.dialect import has_clock, is_mz_now, render
from . import blocks
from .blocks import (
    DOUBLE,
    FRACTION,
    HOUR,
    INT,
    LONG,
    MINUTE,
    SECOND,
    YEAR,
    Block,
    NoForm,
    Number,
    Text,
    counted,
    number,
)


@dataclass(frozen=True)
class Dated:
    """A date or an instant, as a number: dates and instants compare as their numbers do."""

    of: Number
    type: str


@dataclass(frozen=True)
class Several:
    """Values that are compared one after the other."""

    of: tuple[Value, ...]


Value = Number | Dated | Several | Text | bool
TIMES = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "fraction": FRACTION}
#: a unit of date_trunc -> the month in which it begins
_BEGINS: dict[str, Callable[[int], int]] = {
    "YEAR": lambda month: 1,
    "QUARTER": lambda month: (month - 1) // 3 * 3 + 1,
    **dict.fromkeys(("MONTH", "MON", "MM", "DAY", "HOUR", "MINUTE"), lambda month: month),
}
MIDNIGHT = [number(0)] * 3


@dataclass
class Used:
    """The instants and the fields that an expression was found to use."""

    #: the instants, by their text
    of: dict[str, exp.Expr] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    #: the `facts` of each node, by its id: they are asked for once for each day. The node stays, so that no other node
    #: gets its id
    known: dict[int, tuple[exp.Expr, tuple[Function | None, bool, bool]]] = field(default_factory=dict)
    #: what is in `of`: (id of the node, whether the field is of the time of day)
    instants: set[tuple[int, bool]] = field(default_factory=set)
    #: the instants of numbers of seconds, by the id of the number
    made: dict[int, exp.Expr] = field(default_factory=dict)
    #: the types of the values of each CASE, by the ids of the CASE and of the value; None where not known
    cases: dict[int, dict[int, object]] = field(default_factory=dict)

    def facts(self, node: exp.Expr) -> tuple[Function | None, bool, bool]:
        """(function of a node, whether the node has the clock, whether the node is made of fields)."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = (node, (function(node), has_clock(node), is_made(node)))
        return found[1]

    def seconds(self, count: exp.Expr) -> exp.Expr:
        """The instant `count` seconds after 1970; each call with the same node gives the same instant."""
        made = exp.Anonymous(this="timestamp_seconds", expressions=[count.copy()])
        return self.made.setdefault(id(count), made)

    def instant(self, of: exp.Expr, is_time: bool) -> None:
        """Record the instant of which a field is used. is_time: the field is of the time of day.

        For any other field, calls that cut an instant to a date are skipped, and their argument is recorded. Raises
        NoForm where there is no such instant.
        """
        key = (id(of), is_time)
        if key in self.instants:
            return
        self.instants.add(key)
        of = of.unnest()
        while not is_time and (called := function(of)) is not None and called.truncates_to_date:
            of = arguments(of)[called.moved].unnest()
        if not has_clock(of) or is_made(of):
            raise NoForm
        self.of[render(of)] = of

    def has_one_type(self) -> bool:
        """Whether the values of each CASE have one type, so that Spark casts none of them."""
        return all(len({*types.values()} | {None}) == 2 and None not in types.values() for types in self.cases.values())


@dataclass(frozen=True)
class Day:
    """A day of a year, or (month 0) a week of an ISO year."""

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


@dataclass(frozen=True)
class Rules:
    """The rules that compute a node, or a call with the clock, from the values of its parts."""

    #: subclasses before their classes
    nodes: Mapping[type[exp.Expr], Callable[[Evaluation, Any], Value]]
    calls: Mapping[Makes, Callable[[Evaluation, Function, list[exp.Expr]], Value]]


class Evaluation:
    """The values of the parts of an expression on one day."""

    def __init__(self, day: Day, used: Used, rules: Rules) -> None:
        self.day, self.used, self.rules = day, used, rules

    def of(self, node: exp.Expr) -> Value:
        node = node.unnest()
        called, clock, _ = self.used.facts(node)
        if called is not None and clock:
            return self._call(node, called)
        evaluate = next((evaluate for kind, evaluate in self.rules.nodes.items() if isinstance(node, kind)), None)
        if evaluate is None:
            raise NoForm
        return evaluate(self, node)

    def number(self, node: exp.Expr) -> Number:
        value = self.of(node)
        if not isinstance(value, Number):
            raise NoForm
        return value

    def text(self, node: exp.Expr) -> Text:
        """The value of a node as text: of a text, a whole number, or a date or an instant by itself (see `is_made`).

        Raises NoForm for any other value, and for a number whose digits are not known (see `blocks.digits`).
        """
        _, clock, made = self.used.facts(node)
        if clock and not made and not _is_text(node):
            return self._as_text(node)
        value = self.of(node)
        if isinstance(value, Number):
            return blocks.digits(value)
        if not isinstance(value, tuple):
            raise NoForm
        return value

    def chosen(self, node: exp.Expr, values: Sequence[exp.Expr], value: exp.Expr | None) -> Value:
        """The value that a CASE has on the day. The types of all its values are recorded, see `Used.has_one_type`."""
        types = self.used.cases.setdefault(id(node), dict.fromkeys(map(id, values)))
        for other in values:
            with suppress(NoForm):  # perhaps the value is none on this day
                types[id(other)] = types[id(other)] or _kind(self.of(other))
        if value is None:
            raise NoForm
        return self.of(value)

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
            return self.rules.calls[called.makes](self, called, given)
        if called.type == "timestamp" and called.unit is not None:
            return self._truncated(given[called.unit].name.upper(), given[called.moved])
        if len(given) != 1:
            raise NoForm
        to = node.to.sql(dialect="spark").lower() if isinstance(node, exp.Cast) else called.name
        if called.type in ("date", "timestamp") and called.moves is not None:
            return self._as_instant(given[0], called)
        return self._as_text(given[0]) if to == "string" else as_number(self.of(given[0]), to)

    def _as_instant(self, node: exp.Expr, called: Function) -> Value:
        """A cast to a date or an instant: of an expression made of fields, or of the instant itself to a date."""
        if self.used.facts(node)[2] and (called.keeps_instants or called.truncates_to_date):
            return self.read(self.of(node), None, called.type)
        if not called.truncates_to_date:
            raise NoForm
        month, day = self.whole(node, "month", "day")
        return Dated(blocks.instant(self.field(node, "year"), month, day, MIDNIGHT), "date")

    def _truncated(self, unit: str, of: exp.Expr) -> Value:
        if unit not in _BEGINS:
            raise NoForm
        month = _BEGINS[unit](self.whole(of, "month")[0])
        day = self.whole(of, "day")[0] if unit in ("DAY", "HOUR", "MINUTE") else 1
        clock = [self.field(of, "hour") if unit in ("HOUR", "MINUTE") else number(0)]
        clock += [self.field(of, "minute") if unit == "MINUTE" else number(0), number(0)]
        return Dated(blocks.instant(self.field(of, "year"), month, day, clock), "timestamp")

    def read(self, value: Value, pattern: str | None, to: str) -> Dated:
        """A text, a date or an instant as a value of type `to`. Raises NoForm where Spark may read none."""
        found = value.of if isinstance(value, Dated) else None
        if isinstance(value, tuple):
            found = blocks.read(value, pattern, self.day.month, self.day.day)
        if found is None:
            raise NoForm
        return Dated(blocks.day_of(found) if to == "date" else found, to)

    def _as_text(self, node: exp.Expr) -> Text:
        """A cast to text: of an expression made of fields, of a date, or of an instant."""
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
            if name == "fraction":  # the digits that are left out are cut off
                found += (Block(width, self.field(of, name).times(Fraction(1, 10 ** (6 - width)))),)
            else:
                found += blocks.digits(self.field(of, name), width) if name else blocks.literal(word)
        return found


def is_made(node: exp.Expr) -> bool:
    """Whether an expression is made of fields of an instant; False for an instant by itself."""
    for part in node.walk():
        called = function(part)
        is_one = (
            isinstance(part, (exp.DPipe, exp.Case, exp.If, exp.Substring))
            or called is not None
            and (called.makes or called.name == "string")
        )
        if is_one and has_clock(part):
            return True
    return False


def _type_of(node: exp.Expr) -> str:
    """The type of an expression: date, timestamp, or either of the two; "" where another type is possible."""
    node = node.unnest()
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.right.unnest(), exp.Interval):
        return {"date": "either"}.get(base := _type_of(node.left), base)
    called = function(node)
    if is_mz_now(node):
        return "timestamp"
    return called.type if called is not None and called.type in ("date", "timestamp") else ""


def _is_text(node: exp.Expr) -> bool:
    """Whether a node is a cast to text."""
    called = function(node.unnest())
    return called is not None and called.name == "string"


def _kind(value: Value) -> object:
    """The type of a value; of the numbers, only a DOUBLE is told from the others."""
    if isinstance(value, Several):
        return tuple(map(_kind, value.of))
    if isinstance(value, Number):
        return value.type == DOUBLE, Number
    return value.type if isinstance(value, Dated) else type(value)


def of_digits(text: Text) -> Number:
    """The number that a text of digits spells. Raises NoForm for any other text."""
    if not text or not all(block.width and (block.number or is_digits(block.text)) for block in text):
        raise NoForm
    total = number(0, LONG)
    for block in text:
        total = total.times(10**block.width).plus(block.number or number(int(block.text)))
    return total


def is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def as_number(value: Value, to: str) -> Number:
    """A number or a text of digits as a number of type `to`, or as its floor or ceiling."""
    if isinstance(value, tuple):
        value = of_digits(value)
        if not value.is_whole:  # digits of a fraction that is cut off
            raise NoForm
    if not isinstance(value, Number):
        raise NoForm
    if to == "double":
        return Number(value.of, DOUBLE)
    if to in ("floor", "ceil", "ceiling"):
        return number((floor if to == "floor" else ceil)(value.kept().constant), LONG)
    if to not in ("int", "bigint"):
        raise NoForm
    if not value.kept().is_whole:
        value = number(int(value.constant))
    return Number(value.of, INT if to == "int" else LONG).kept()
