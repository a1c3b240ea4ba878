"""Split a predicate whose changes cannot all be listed: a part decides which rows are stored, a part is for reads.

    mz_now() < hi and (hour(mz_now()) = 9 and mz_now() < a or mz_now() < b)
      ->  stored: mz_now() < hi, mz_now() < a or mz_now() < b       read: hour(mz_now()) = 9 and mz_now() < a or …

The stored part is TRUE wherever the predicate is TRUE. Both parts together are TRUE exactly where the predicate is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from ..sql.functions.calls import makes_several_rows, picks
from ..sql.functions.row import Picks
from ..sql.text.dialect import VerbatimSpark, fragment, has_clock, is_mz_now, mz_now_calls
from .comparisons import Moves, comparisons, conjuncts
from .conditions import condition, is_side, legs_of
from .logic import both_bounds, branches_of, negated
from .monotonicity import UNLISTED, Unlistable, side
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
        found.reasons.append(f"{why.found}: {why.why}")
        weaker = _weaker(conjunct, moves)
        if weaker is not None and _is_exact(weaker, moves):
            found.stored.extend(part for part in conjuncts(weaker) if not _is(part, True))
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


def _is_exact(node: exp.Expr, moves: Moves) -> bool:
    return _why_not(node, moves) is None


def _weaker(node: exp.Expr, moves: Moves) -> exp.Expr | None:
    """A predicate that is TRUE wherever `node` is TRUE; None where only TRUE itself qualifies."""
    node = node.unnest()
    if _is_exact(node, moves):
        return node.copy()
    if isinstance(node, exp.And):
        return _both(_weaker(node.left, moves), _weaker(node.right, moves))
    if isinstance(node, exp.Or):
        return _either(_weaker(node.left, moves), _weaker(node.right, moves))
    if isinstance(node, exp.Not):
        turned = negated(node.this.unnest())
        return None if turned is None else _weaker(turned, moves)
    if isinstance(node, exp.Between):
        return _weaker(both_bounds(node), moves)
    if isinstance(node, exp.If) or isinstance(node, exp.Case) and node.args.get("this") is None:
        return _branches(*branches_of(node), moves)
    if picks(node) is Picks.FIRST:
        parts = [_weaker(part, moves) for part in node.expressions]
        found = parts[0]
        for part in parts[1:]:
            found = _either(found, part)
        return found
    if isinstance(node, (exp.Is, exp.EQ, exp.NullSafeEQ)) and _is(node.expression, True):
        return _weaker(node.this, moves)
    return None


def _branches(branches: list[exp.Expr], default: exp.Expr | None, moves: Moves) -> exp.Expr | None:
    """A predicate that is TRUE wherever a CASE is TRUE. A branch with an unlistable condition may be taken or not."""
    if not branches:
        return exp.false() if default is None else _weaker(default, moves)
    first = branches[0]
    value, rest = _weaker(first.args["true"], moves), _branches(branches[1:], default, moves)
    if not _is_exact(first.this, moves):
        return _either(value, rest)
    if value is None and rest is None:
        return None
    taken = exp.If(this=first.this.copy(), true=exp.true() if value is None else value)
    return exp.Case(ifs=[taken], default=exp.true() if rest is None else rest)


def _both(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    if left is None or right is None:
        return right if left is None else left
    return exp.and_(left, right, dialect=VerbatimSpark)


def _either(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    if left is None or right is None:
        return None
    if _is(left, False) or _is(right, False):
        return right if _is(left, False) else left
    return exp.or_(left, right, dialect=VerbatimSpark)


def _is(node: exp.Expr, value: bool) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Boolean) and bool(node.this) is value
