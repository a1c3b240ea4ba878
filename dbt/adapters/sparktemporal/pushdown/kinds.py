"""Kinds of expressions over columns: an instant, a date or a number, and the reach of a whole number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ..temporal.predicates.constants import constant
from ..temporal.predicates.logic import is_null, values_of
from ..temporal.predicates.shifts import gives_date, is_local, moved
from ..temporal.sql.functions.calls import function
from ..temporal.sql.functions.row import DAY, Function, Takes
from ..temporal.sql.text.dialect import is_mz_now, render

INSTANT, DATE, NUMBER = "instant", "date", "number"

INTEGERS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


@dataclass(frozen=True)
class Kinds:
    """The kinds of expressions over columns of known types."""

    #: rendered column -> its Spark type
    types: Mapping[str, str]

    def kind(self, node: exp.Expr) -> str | None:
        """Whether an expression is an instant, a date or a number; None where that is not known."""
        node = node.unnest()
        column = self.types.get(render(node))
        if column is not None:
            return _kind_of_column(column)
        if is_mz_now(node) or self.made_of_number(node) is not None:
            return INSTANT
        if isinstance(node, exp.Cast) and (to := type_of(node)) in _TIMES:
            of = node.this.unnest()
            is_instant = self.kind(of) in (INSTANT, DATE) or isinstance(of, exp.Literal) and of.is_string
            return None if not is_instant else DATE if to == "date" else INSTANT
        if values := values_of(node):
            kinds = {self.kind(value) for value in values if not is_null(value)}
            return kinds.pop() if len(kinds) == 1 else INSTANT if kinds == {INSTANT, DATE} else None
        if self.bits(node) is not None or constant(node) is not None:
            return NUMBER
        return self._kind_of_moved(node)

    def _kind_of_moved(self, node: exp.Expr) -> str | None:
        days = self.days_added(node)
        step = moved(node) or days
        inner = None if step is None else self.kind(step[0])
        if inner not in (INSTANT, DATE):
            return None
        return DATE if gives_date(node) or inner == DATE and days is not None else INSTANT

    def days_added(self, node: exp.Expr) -> tuple[exp.Expr, tuple[int, int]] | None:
        """`day + 7` -> the date, and the least and the most that is added (µs); None for any other node."""
        if isinstance(node, (exp.Add, exp.Sub)) and self.kind(node.left) == DATE:
            days = whole_number(node.right)
            if days is not None and self.bits(node.right) is not None:
                length = int(days) * DAY * (1 if isinstance(node, exp.Add) else -1)
                return node.left, (length, length)
        return None

    def made_of_number(self, node: exp.Expr) -> int | None:
        called = function(node)
        if called is None or called.takes is not Takes.INTEGER or called.step is None:
            return None
        return called.step if self.kind(node.expressions[0]) == NUMBER else None

    def reach(self, node: exp.Expr) -> tuple[Fraction, Fraction]:
        """The least and the greatest value that an expression of whole numbers can have."""
        node = node.unnest()
        if isinstance(node, exp.IntDiv):
            divided = constant(node.right)
            if divided is not None and divided >= 1:
                least, most = self.reach(node.left)
                return least / int(divided), most / int(divided)
        counts = counter(node)
        largest = Fraction(2 ** (self.bits(node) or 63), (counts.step if counts else None) or 1)
        return -largest, largest - 1

    def bits(self, node: exp.Expr) -> int | None:
        """The bits of a whole number's type, without the sign; None for other types, and for narrowing casts."""
        node = node.unnest()
        text = render(node)
        if text in self.types:
            return INTEGERS.get(self.types[text])
        if isinstance(node, exp.Literal):
            value = None if node.is_string or "e" in node.name.lower() else whole_number(node)
            return None if value is None else 31 if abs(value) < 2**31 else 63
        if isinstance(node, exp.Cast):
            to, of = type_of(node), self.bits(node.this)
            return INTEGERS[to] if to in INTEGERS and of is not None and of <= INTEGERS[to] else None
        if isinstance(node, exp.Neg):
            return self.bits(node.this)
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            left, right = self.bits(node.left), self.bits(node.right)
            return None if left is None or right is None else max(left, right)
        if isinstance(node, exp.IntDiv):
            return 63 if self.bits(node.left) and self.bits(node.right) else None
        return 63 if counter(node) is not None else None

    def has_local(self, node: exp.Expr) -> bool:
        """Whether a part of an expression is a TIMESTAMP_NTZ."""
        return any(is_local(n) or self.types.get(render(n)) == "timestamp_ntz" for n in node.walk())


_TIMES = ("date", "timestamp", "timestamp_ltz", "timestamp_ntz")


def type_of(node: exp.Cast) -> str:
    return node.to.sql(dialect="spark").lower()


def _kind_of_column(spark_type: str) -> str | None:
    if spark_type in _TIMES:
        return DATE if spark_type == "date" else INSTANT
    return NUMBER if spark_type in INTEGERS or spark_type.startswith("decimal") else None


def whole_number(node: exp.Expr) -> Fraction | None:
    """The value of a constant whole number; None for any other node."""
    value = constant(node)
    return None if value is None or value % 1 else Fraction(int(value))


def counter(node: exp.Expr) -> Function | None:
    """A function that gives an instant as a whole number; None for any other node."""
    called = function(node) if isinstance(node, exp.Anonymous) else None
    return called if called is not None and called.takes is Takes.INSTANT and called.step is not None else None
