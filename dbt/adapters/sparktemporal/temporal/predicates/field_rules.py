"""Rules that compute the value of an expression on one day. The expression is made of fields of an instant.

A rule gets the values of the parts of the expression. The first rules are for nodes of arithmetic, of texts and of
CASE. The others are for functions, by `Function.makes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ..sql.functions.row import Function, Makes
from . import blocks
from .blocks import DOUBLE, INT, LONG, YEAR, Block, NoForm, Number, number
from .fields import MIDNIGHT, Dated, Evaluation, Rules, Several, Value, as_number
from .logic import PredicateVisitor, branches_of, comparison, holds, is_null, values_of

_WORDS = {
    "year": "YEAR Y YEARS YR YRS", "yearofweek": "YEAROFWEEK", "quarter": "QUARTER QTR",
    "month": "MONTH MON MONS MONTHS", "week": "WEEK W WEEKS", "day": "DAY D DAYS", "doy": "DOY",
    "hour": "HOUR H HOURS HR HRS", "minute": "MINUTE M MIN MINS MINUTES",
}  # fmt: skip
_UNITS = {word: name for name, words in _WORDS.items() for word in words.split()}


# -- nodes --


def _literal(_: Evaluation, node: exp.Literal) -> Value:
    if node.is_string:
        return blocks.literal(node.name)
    if not node.name.isdigit() or int(node.name) >= 2**63:  # a DECIMAL
        raise NoForm
    return number(int(node.name), LONG if int(node.name) >= 2**31 else INT)


def _suffixed(at: Evaluation, node: exp.Cast) -> Value:
    """The value of a cast of a constant. A number with a suffix is such a cast: `5L` is CAST(5 AS BIGINT)."""
    return as_number(at.of(node.this), node.to.sql(dialect="spark").lower())


def _operands(at: Evaluation, node: exp.Binary) -> tuple[Number, Number]:
    """Both sides of an operation. Raises NoForm where a side is a DOUBLE that is not the number itself."""
    both = at.number(node.left), at.number(node.right)
    if (isinstance(node, exp.Div) or any(side.type == DOUBLE for side in both)) and not all(s.is_exact for s in both):
        raise NoForm
    return both


def _sum(at: Evaluation, node: exp.Binary) -> Value:
    left, right = _operands(at, node)
    return left.plus(right, -1 if isinstance(node, exp.Sub) else 1).kept()


def _product(at: Evaluation, node: exp.Binary) -> Value:
    left, right = _operands(at, node)
    if any(left.of[1:]):
        left, right = right, left
    return right.times(left.constant, left.type).kept()


def _quotient(at: Evaluation, node: exp.Binary) -> Value:
    left, right = _operands(at, node)
    if right.whole < 1:
        raise NoForm
    if isinstance(node, exp.Div):
        return left.times(Fraction(1, right.whole), DOUBLE)
    if left.whole < 0 or left.type == DOUBLE:
        raise NoForm
    found = left.whole // right.whole if isinstance(node, exp.IntDiv) else left.whole % right.whole
    return number(found, max(left.type, right.type))


def _case(at: Evaluation, node: exp.Expr) -> Value:
    if node.args.get("this") is not None and not isinstance(node, exp.If):
        raise NoForm
    branches, default = branches_of(node)
    value = next((branch.args["true"] for branch in branches if at.holds(branch.this)), default)
    return at.chosen(node, [one for one in values_of(node) if not is_null(one)], value)


def _several(at: Evaluation, node: exp.Expr) -> Value:
    return Several(tuple(map(at.of, node.expressions)))


@dataclass(frozen=True)
class _Holds(PredicateVisitor[bool]):
    """Whether a predicate holds on the day. No part is NULL."""

    at: Evaluation

    def and_(self, left: bool, right: bool) -> bool:
        return left and right

    def or_(self, left: bool, right: bool) -> bool:
        return left or right

    def branches(self, node: exp.Expr, inverted: bool) -> bool:
        return self.at.holds(node) is not inverted

    def leaf(self, node: exp.Expr, inverted: bool) -> bool:
        found = comparison(node, inverted)
        if found is not None:
            return self._compare(found.left, found.operator, found.right)
        if not isinstance(node, exp.In) or not node.expressions:
            raise NoForm
        return any(self._compare(node.this, "=", item) for item in node.expressions) is not inverted

    def _compare(self, left: exp.Expr, operator: str, right: exp.Expr) -> bool:
        """Whether a comparison of two numbers holds. Raises NoForm for two fractions, one of them an inexact DOUBLE."""
        both = [self.at.number(side).kept() for side in (left, right)]
        if not (any(side.is_whole for side in both) or all(side.is_exact for side in both)):
            raise NoForm
        return holds(both[0].constant, operator, both[1].constant)


_NODES: dict[type[exp.Expr], Callable[[Evaluation, Any], Value]] = {
    exp.Literal: _literal,
    exp.Cast: _suffixed,
    exp.Neg: lambda at, node: at.number(node.this).times(-1).kept(),
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.IntDiv: _quotient,
    exp.Mod: _quotient,
    exp.DPipe: lambda at, node: at.text(node.left) + at.text(node.right),
    exp.Case: _case,
    exp.If: _case,
    exp.Tuple: _several,
    **dict.fromkeys((exp.Connector, exp.Not, exp.Predicate), lambda at, node: _Holds(at).visit(node)),
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
    clock = [at.number(part) for part in given[3:]] or MIDNIGHT
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
    text, width = at.text(given[0]), at.number(given[1]).whole
    if len(text) != 1 or not text[0].number or not 0 < text[0].width <= width or len(given) != 3:
        raise NoForm
    if _string(given[2]) != "0":
        raise NoForm
    return blocks.digits(text[0].number, width)


def _replaced(at: Evaluation, called: Function, given: list[exp.Expr]) -> Value:
    """A text with some characters replaced. Raises NoForm unless only its literal parts can change."""
    old, new = _string(given[1]), _string(given[2]) if len(given) == 3 else ""
    is_plain = re.fullmatch(r"[-/:_ ]", old) is not None
    if not (is_plain or called.name.startswith("regexp") and old in (r"[^0-9]", r"\D")) or re.search(r"[\d$\\]", new):
        raise NoForm
    found: list[Block] = []
    for block in at.text(given[0]):
        text = block.text.replace(old, new) if is_plain else re.sub(r"[^0-9]", new, block.text)
        found += [block] if block.number is not None else blocks.literal(text)
    if found and not found[-1].width:  # a fraction begins with a dot, and a time with a space
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


RULES = Rules(_NODES, _MAKES)
