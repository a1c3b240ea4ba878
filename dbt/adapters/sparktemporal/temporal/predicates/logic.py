"""Predicates: comparisons in one form, and one walk over AND, OR and NOT, exact in three-valued logic.

    not (a < b or c)      a >= b and not c
    a between b and c     a >= b and a <= c

An operator is the set of signs of `left - right` with which a comparison is TRUE. So the negation has the other signs,
and the mirrored comparison has the opposite ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlglot import exp

from ..sql.functions.calls import picks
from ..sql.functions.row import Picks
from ..sql.text.dialect import has_clock

T = TypeVar("T")

#: nodes that make truth values, beside CASE and calls
TRUTHS = (exp.Predicate, exp.Connector, exp.Not)

_SIGNS = {"<": {-1}, "<=": {-1, 0}, "=": {0}, ">=": {0, 1}, ">": {1}, "<>": {-1, 1}}
#: node -> (operator, whether two NULLs are equal)
_NODES: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.LT: ("<", False), exp.LTE: ("<=", False), exp.EQ: ("=", False), exp.GTE: (">=", False), exp.GT: (">", False),
    exp.NEQ: ("<>", False), exp.NullSafeEQ: ("=", True), exp.NullSafeNEQ: ("<>", True),
}  # fmt: skip


def _operator(signs: set[int]) -> str:
    return next(operator for operator, own in _SIGNS.items() if own == signs)


def mirrored(operator: str) -> str:
    """The operator of the same comparison with its sides exchanged.

    >>> mirrored("<"), mirrored(">="), mirrored("=")
    ('>', '<=', '=')
    """
    return _operator({-sign for sign in _SIGNS[operator]})


def opposite(operator: str) -> str:
    """The operator of the negation.

    >>> opposite("<"), opposite(">="), opposite("=")
    ('>=', '<', '<>')
    """
    return _operator({-1, 0, 1} - _SIGNS[operator])


def holds(left: Any, operator: str, right: Any) -> bool:
    """Whether a comparison of two numbers is true."""
    return (left > right) - (left < right) in _SIGNS[operator]


def is_at_most(operator: str) -> bool:
    """Whether `left <operator> right` implies that left is not above right."""
    return 1 not in _SIGNS[operator]


def is_at_least(operator: str) -> bool:
    """Whether `left <operator> right` implies that left is not below right."""
    return -1 not in _SIGNS[operator]


@dataclass(frozen=True)
class Compared:
    """A comparison `left <operator> right`."""

    left: exp.Expr
    #: < <= = >= > or <>
    operator: str
    right: exp.Expr
    #: whether two NULLs are equal, so that the comparison is never NULL
    null_safe: bool = False

    @property
    def both_ways(self) -> tuple[Compared, Compared]:
        """The comparison as it is, and with its sides exchanged."""
        return self, Compared(self.right, mirrored(self.operator), self.left, self.null_safe)

    @property
    def by_clock(self) -> Compared | None:
        """The comparison with the clock on the left; None unless one side has the clock and the other one has not."""
        return next((one for one in self.both_ways if has_clock(one.left) and not has_clock(one.right)), None)

    def node(self) -> exp.Expr:
        """The comparison as a new tree. Both operands are copied: a node of a tree has one parent."""
        kind = next(kind for kind, form in _NODES.items() if form == (self.operator, self.null_safe))
        return kind(this=self.left.copy(), expression=self.right.copy())


def comparison(node: exp.Expr, inverted: bool = False) -> Compared | None:
    """A comparison, or its negation; None for any other node.

    >>> from ..sql.text.dialect import expression, render
    >>> render(comparison(expression("a < b"), inverted=True).node())
    'a >= b'
    """
    if type(node) not in _NODES or not isinstance(node, exp.Binary):
        return None
    operator, null_safe = _NODES[type(node)]
    return Compared(node.left, opposite(operator) if inverted else operator, node.right, null_safe)


def legs_of(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
    """The pairs of operands that a node compares; empty for a node that compares nothing."""
    if isinstance(node, exp.Between):
        return [(node.this, node.args["low"]), (node.this, node.args["high"])]
    if isinstance(node, exp.In):
        return [(node.this, item) for item in node.expressions]
    if isinstance(node, exp.Case) and node.args.get("this") is not None:
        return [(node.this, branch.this) for branch in node.args.get("ifs") or []]
    found = comparison(node)
    return [] if found is None else [(found.left, found.right)]


class PredicateVisitor(ABC, Generic[T]):
    """Gives each predicate a meaning of type T.

    `inverted` says that the negation of a node is meant: NOT turns the flag, and exchanges AND and OR below. BETWEEN
    is visited as two comparisons, `p IS TRUE` as p. Other forms are leaves, unless a visitor has a meaning for one.
    """

    def visit(self, node: exp.Expr, inverted: bool = False) -> T:
        node = node.unnest()
        if isinstance(node, exp.Not):
            return self.visit(node.this, not inverted)
        if isinstance(node, (exp.And, exp.Or)):
            join = self.or_ if isinstance(node, exp.And) is inverted else self.and_
            return join(self.visit(node.left, inverted), self.visit(node.right, inverted))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return self.visit(both_bounds(node), inverted)
        if isinstance(node, (exp.Is, exp.EQ, exp.NullSafeEQ)) and is_boolean(node.expression, True) and not inverted:
            return self.is_true(node)
        if isinstance(node, exp.If) or isinstance(node, exp.Case) and node.args.get("this") is None:
            return self.branches(node, inverted)
        return self.first(node, inverted) if picks(node) is Picks.FIRST else self.leaf(node, inverted)

    @abstractmethod
    def and_(self, left: T, right: T) -> T: ...

    @abstractmethod
    def or_(self, left: T, right: T) -> T: ...

    @abstractmethod
    def leaf(self, node: exp.Expr, inverted: bool) -> T:
        """The meaning of a predicate that is none of the other forms, see `comparison`."""

    def branches(self, node: exp.If | exp.Case, inverted: bool) -> T:
        """The meaning of IF or of CASE WHEN, whose branches are predicates."""
        return self.leaf(node, inverted)

    def first(self, node: exp.Expr, inverted: bool) -> T:
        """The meaning of `coalesce` of predicates."""
        return self.leaf(node, inverted)

    def is_true(self, node: exp.Expr) -> T:
        """The meaning of `p IS TRUE` or `p = TRUE`: by default the meaning of p, which is TRUE for the same rows."""
        return self.visit(node.this)


def parts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conjuncts of a predicate, as they are written."""
    node = node.unnest()
    return [*parts_of(node.left), *parts_of(node.right)] if isinstance(node, exp.And) else [node]


def not_(node: exp.Expr) -> exp.Expr:
    """The negation of a copy of a node."""
    return exp.Not(this=exp.paren(node.copy()))


def branches_of(node: exp.Expr) -> tuple[list[exp.Expr], exp.Expr | None]:
    """The branches of a CASE or an IF, and the value of its ELSE or None."""
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
    low, high = (Compared(node.this, operator, node.args[end]) for operator, end in ((">=", "low"), ("<=", "high")))
    return exp.And(this=low.node(), expression=high.node())


def is_boolean(node: exp.Expr, value: bool) -> bool:
    """Whether a node is the literal TRUE, or FALSE."""
    node = node.unnest()
    return isinstance(node, exp.Boolean) and bool(node.this) is value


def is_null(node: exp.Expr) -> bool:
    """Whether a node is the literal NULL."""
    return isinstance(node.unnest(), exp.Null)
