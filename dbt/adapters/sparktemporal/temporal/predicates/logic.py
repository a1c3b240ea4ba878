"""The one walk over boolean predicates, and their rewrites one level at a time, exact in three-valued logic.

not (a < b or c)      a >= b and not c
a between b and c     a >= b and a <= c
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from sqlglot import exp

from ..sql.functions.calls import picks
from ..sql.functions.row import Picks

T = TypeVar("T")


class PredicateVisitor(ABC, Generic[T]):
    """Gives each predicate a meaning of type T. NOT and BETWEEN become the other forms first."""

    def visit(self, node: exp.Expr) -> T:
        node = node.unnest()
        if isinstance(node, exp.And):
            return self.and_(self.visit(node.left), self.visit(node.right))
        if isinstance(node, exp.Or):
            return self.or_(self.visit(node.left), self.visit(node.right))
        if isinstance(node, exp.Not):
            return self.not_(node)
        if isinstance(node, exp.Between):
            return self.visit(both_bounds(node))
        if isinstance(node, (exp.Is, exp.EQ, exp.NullSafeEQ)) and is_boolean(node.expression, True):
            return self.is_true(node)
        if isinstance(node, exp.If) or isinstance(node, exp.Case) and node.args.get("this") is None:
            return self.branches(node)
        return self.first(node) if picks(node) is Picks.FIRST else self.leaf(node)

    @abstractmethod
    def and_(self, left: T, right: T) -> T: ...

    @abstractmethod
    def or_(self, left: T, right: T) -> T: ...

    @abstractmethod
    def leaf(self, node: exp.Expr) -> T:
        """The meaning of a predicate that is none of the other forms."""

    @abstractmethod
    def branches(self, node: exp.If | exp.Case) -> T:
        """The meaning of IF or of CASE WHEN, whose branches are predicates."""

    @abstractmethod
    def first(self, node: exp.Expr) -> T:
        """The meaning of `coalesce` of predicates."""

    def not_(self, node: exp.Not) -> T:
        turned = negated(node.this.unnest())
        return self.leaf(node) if turned is None else self.visit(turned)

    def is_true(self, node: exp.Expr) -> T:
        """The meaning of `p IS TRUE` or `p = TRUE`: by default the meaning of p, TRUE where the form is TRUE."""
        return self.visit(node.this)


_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GTE, exp.LTE: exp.GT, exp.EQ: exp.NEQ}
_OPPOSITE |= {other: one for one, other in _OPPOSITE.items()}


def negated(node: exp.Expr) -> exp.Expr | None:
    """The negation of a node, with NOT pushed down one level; None for a node into which NOT cannot be pushed.

    >>> from ..sql.text.dialect import expression, render
    >>> render(negated(expression("a < b or c")))
    'NOT (a < b) AND NOT (c)'
    >>> render(negated(expression("a between b and c")))
    'a < b OR a > c'
    """
    if isinstance(node, exp.Not):
        inner: exp.Expr = node.this.copy()
        return inner
    if isinstance(node, exp.And):
        return exp.Or(this=_not(node.left), expression=_not(node.right))
    if isinstance(node, exp.Or):
        return exp.And(this=_not(node.left), expression=_not(node.right))
    if type(node) in _OPPOSITE:
        return _compared(_OPPOSITE[type(node)], node, node.expression)
    if isinstance(node, exp.Between):
        return exp.Or(
            this=_compared(exp.LT, node, node.args["low"]), expression=_compared(exp.GT, node, node.args["high"])
        )
    if isinstance(node, (exp.If, exp.Case)) and not (isinstance(node, exp.Case) and node.args.get("this")):
        return _negated_branches(node)
    return None


def _negated_branches(node: exp.If | exp.Case) -> exp.Case:
    branches, default = branches_of(node)
    ifs = [exp.If(this=branch.this.copy(), true=_not(branch.args["true"])) for branch in branches]
    return exp.Case(ifs=ifs, default=None if default is None else _not(default))


def branches_of(node: exp.If | exp.Case) -> tuple[list[exp.Expr], exp.Expr | None]:
    """The branches of a CASE or an IF, and what stands in its ELSE."""
    if isinstance(node, exp.If):
        return [node], node.args.get("false")
    return node.args.get("ifs") or [], node.args.get("default")


def values_of(node: exp.Expr) -> list[exp.Expr]:
    """The values, besides NULL, that a CASE, an IF or a choosing function may have; empty for any other node."""
    if isinstance(node, (exp.Case, exp.If)):
        branches, default = branches_of(node)
        return [*(branch.args["true"] for branch in branches), *([] if default is None else [default])]
    picked = picks(node)
    return [] if picked is None else node.expressions[:1] if picked is Picks.FIRST_UNLESS else list(node.expressions)


def both_bounds(node: exp.Between) -> exp.And:
    """BETWEEN as two comparisons."""
    low, high = node.args["low"], node.args["high"]
    return exp.And(this=_compared(exp.GTE, node, low), expression=_compared(exp.LTE, node, high))


def is_boolean(node: exp.Expr, value: bool) -> bool:
    """Whether a node is the literal TRUE, or FALSE."""
    node = node.unnest()
    return isinstance(node, exp.Boolean) and bool(node.this) is value


def _compared(operator: type[exp.Expr], node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """A new comparison of the operand of `node`. Both operands are copied: a node of a tree has one parent."""
    return operator(this=node.this.copy(), expression=other.copy())


def _not(node: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.paren(node.copy()))
