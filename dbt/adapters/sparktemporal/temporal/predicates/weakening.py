"""Split a predicate whose changes cannot all be listed: a part decides which rows are stored, a part is for reads.

    mz_now() < hi and (hour(mz_now()) = 9 and mz_now() < a or mz_now() < b)
      ->  stored: mz_now() < hi, mz_now() < a or mz_now() < b       read: hour(mz_now()) = 9 and mz_now() < a or …

The stored part is TRUE wherever the predicate is TRUE. Both parts together are TRUE exactly where the predicate is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from sqlglot import exp

from ..sql.functions.calls import makes_several_rows
from ..sql.text.dialect import brief, fragment, has_clock, is_mz_now, mz_now_calls
from ..sql.text.grammar import VerbatimSpark
from .comparisons import Moves, comparisons, conjuncts
from .conditions import condition
from .logic import PredicateVisitor, branches_of, is_boolean, legs_of, not_
from .monotonicity import UNLISTED, Unlistable, is_side, side
from .text_instants import as_instant, refuse_words


@dataclass(frozen=True)
class Weakened:
    """A predicate in two lists of conjuncts."""

    #: these decide which rows are stored; some have no clock
    stored: list[exp.Expr] = field(default_factory=list)
    #: a read evaluates these
    read: list[exp.Expr] = field(default_factory=list)
    #: for each conjunct of `read`: why its changes cannot be listed
    reasons: list[str] = field(default_factory=list)


def weaken(predicate: exp.Expr, moves: Moves) -> Weakened:
    """Split a predicate into the stored part and the part of a read. moves: see `comparisons.Moves`."""
    found = Weakened()
    for conjunct in conjuncts(predicate):
        why = None if makes_several_rows(conjunct) else _why_not(conjunct, moves)
        if why is None:
            found.stored.append(conjunct.copy())
            continue
        _refuse_text(conjunct)
        found.read.append(conjunct.copy())
        found.reasons.append(f"{brief(why.found)}: {why.why}")
        weaker = _Weaker(moves).visit(conjunct)
        if weaker is not None and _why_not(weaker, moves) is None:
            found.stored.extend(part for part in conjuncts(weaker) if not is_boolean(part, True))
    return found


def _why_not(node: exp.Expr, moves: Moves) -> Unlistable | None:
    """The reason why the changes of a predicate cannot be listed; None where they can."""
    for call in mz_now_calls(node):
        if UNLISTED in call.meta:
            return Unlistable(*call.meta[UNLISTED])
    if not has_clock(node):
        return None
    try:
        if comparisons(node, moves) is None:
            condition(node)
    except Unlistable as refusal:
        return refusal
    return None


def _refuse_text(predicate: exp.Expr) -> None:
    """Refuse text beside the clock that is no instant: a read would evaluate the text as its own clock, or as NULL."""
    for node in predicate.walk():
        for left, right in legs_of(node):
            for clock, other in ((left.unnest(), right), (right.unnest(), left)):
                if is_mz_now(clock):
                    as_instant(other, fragment(node))
                elif has_clock(clock) and is_side(clock) and not side(clock).is_text:
                    refuse_words(other, fragment(node))


@dataclass(frozen=True)
class _Weaker(PredicateVisitor["exp.Expr | None"]):
    """Weakens a predicate: the result is TRUE wherever the predicate is TRUE; None where only TRUE itself would do."""

    moves: Moves

    def visit(self, node: exp.Expr, inverted: bool = False) -> exp.Expr | None:
        written = not_(node) if inverted else node.unnest().copy()
        return written if _why_not(written, self.moves) is None else super().visit(node, inverted)

    def leaf(self, node: exp.Expr, inverted: bool) -> exp.Expr | None:
        return None

    def and_(self, left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
        if left is None or right is None:
            return right if left is None else left
        return exp.and_(left, right, dialect=VerbatimSpark)

    def or_(self, left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
        if left is None or right is None:
            return None
        if is_boolean(left, False) or is_boolean(right, False):
            return right if is_boolean(left, False) else left
        return exp.or_(left, right, dialect=VerbatimSpark)

    def first(self, node: exp.Expr, inverted: bool) -> exp.Expr | None:
        return reduce(self.or_, (self.visit(value, inverted) for value in node.expressions))

    def branches(self, node: exp.If | exp.Case, inverted: bool) -> exp.Expr | None:
        return self._taken(*branches_of(node), inverted)

    def _taken(self, branches: list[exp.Expr], default: exp.Expr | None, inverted: bool) -> exp.Expr | None:
        """Weaken a CASE. A branch whose condition is unlistable counts as taken and as not taken."""
        if not branches:
            return exp.false() if default is None else self.visit(default, inverted)
        first = branches[0]
        value, rest = self.visit(first.args["true"], inverted), self._taken(branches[1:], default, inverted)
        if _why_not(first.this, self.moves) is not None:
            return self.or_(value, rest)
        if value is None and rest is None:
            return None
        taken = exp.If(this=first.this.copy(), true=exp.true() if value is None else value)
        return exp.Case(ifs=[taken], default=exp.true() if rest is None else rest)
