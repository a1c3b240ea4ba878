"""Temporal predicates: which conjuncts of a WHERE compare the clock, and with what.

    mz_now() <= ts + interval 30 days and k = 'a'
      ->  static: k = 'a'          comparisons: (mz_now() <=, ts + interval 30 days)

A conjunct is TRUE or the row is out, so each may be solved alone; NULL and FALSE are the same there. Under a NOT they
are not, so NOT is first pushed down to the comparisons, which is exact in three-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from sqlglot import exp

from ...errors import Refusal
from ..sql.dialect import fragment, has_clock, is_mz_now
from .monotonicity import DAY_MS, milliseconds
from .text_instants import as_instant, has_text

#: the operator with mz_now() on its left, by node type
OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    # mz_now() is never NULL, so as a conjunct `<=>` is TRUE exactly when `=` is
    exp.NullSafeEQ: "=",
}
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.NEQ: exp.EQ,
}

#: whether the zone is known to move an instant of the clock and one of a row by as much, over so many ms
Moves = Callable[[int], bool]


def anywhere(length: int) -> bool:
    """A zone of one offset."""
    return True


@dataclass(frozen=True)
class Comparison:
    """`mz_now() <operator> <operand>`; the operand is free of mz_now().

    written: the fragment, for messages. at: where the call stands in the model's text (offset of its first letter).
    optional: a NULL operand sets no bound (`x is null or mz_now() < x`), instead of never being TRUE.
    """

    operator: str
    operand: exp.Expr
    written: str
    at: int
    optional: bool = False


def conjuncts(predicate: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a conjunction, NOT pushed down to where the clock is.

    not (mz_now() < a or k = 1)  ->  mz_now() >= a,  not k = 1
    """
    node = predicate.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    elif isinstance(node, exp.Not) and has_clock(node):
        yield from _negated(node.this.unnest(), node)
    else:
        yield node


def comparisons(conjunct: exp.Expr, moves: Moves = anywhere) -> tuple[list[Comparison], list[exp.Expr]] | None:
    """One conjunct that mentions the clock -> (comparisons with it, parts without it), all to hold together.

    None when it is something else than comparisons of a bare mz_now(): see `conditions`.
    moves: of lengths of a day and more.
    """
    written = fragment(conjunct)
    if isinstance(conjunct, exp.Between):
        if conjunct.args.get("symmetric"):
            raise Refusal(written, "BETWEEN SYMMETRIC is not read", "two comparisons joined by AND")
        value, low, high = conjunct.this, conjunct.args["low"], conjunct.args["high"]
        legs: list[exp.Expr] = [exp.GTE(this=value.copy(), expression=low.copy())]
        legs.append(exp.LTE(this=value.copy(), expression=high.copy()))
        found: list[Comparison] = []
        static: list[exp.Expr] = []
        for leg in legs:
            one = _comparison(leg, written, moves) if has_clock(leg) else None
            if one is not None:
                found.append(one)
            elif has_clock(leg):
                return None
            else:
                static.append(leg)
        return found, static
    if isinstance(conjunct, exp.In) and len(conjunct.expressions) == 1 and not has_text(conjunct.expressions):
        conjunct = exp.EQ(this=conjunct.this.copy(), expression=conjunct.expressions[0].copy())
    one = (
        _unless_null(conjunct, written, moves)
        if isinstance(conjunct, exp.Or)
        else _comparison(conjunct, written, moves)
    )
    return None if one is None else ([one], [])


def _comparison(node: exp.Expr, written: str, moves: Moves) -> Comparison | None:
    operator = OPERATORS.get(type(node))
    if operator is None or not isinstance(node, exp.Binary):
        return None
    left, right = _bare(node.left.unnest(), node.right.unnest(), moves)
    if is_mz_now(left) and not has_clock(right):
        return Comparison(operator, as_instant(right, written), written, left.meta["start"])
    right, left = _bare(right, left, moves)
    if is_mz_now(right) and not has_clock(left):
        return Comparison(MIRRORED[operator], as_instant(left, written), written, right.meta["start"])
    return None


def _bare(clock: exp.Expr, other: exp.Expr, moves: Moves) -> tuple[exp.Expr, exp.Expr]:
    """`mz_now() - interval 5 minutes` against x is mz_now() against `x + interval 5 minutes`.

    As exact as Spark's arithmetic on instants, where neither side meets a change of the zone's offset.
    """
    total = 0
    while isinstance(clock, (exp.Add, exp.Sub)) and has_clock(clock.left):
        length = milliseconds(clock.right)
        if length is None:
            break
        total += ceil(length)
        if length >= DAY_MS and not moves(total):
            break
        back = exp.Sub if isinstance(clock, exp.Add) else exp.Add
        instant = exp.cast(as_instant(other, fragment(other)), "TIMESTAMP")
        other = back(this=instant, expression=clock.right.copy())
        clock = clock.left.unnest()
    return clock, other


def _unless_null(node: exp.Or, written: str, moves: Moves) -> Comparison | None:
    """`x is null or mz_now() < x`: a window that may stay open."""
    for test, compared in ((node.left.unnest(), node.right.unnest()), (node.right.unnest(), node.left.unnest())):
        if isinstance(test, exp.Is) and isinstance(test.expression.unnest(), exp.Null) and not has_clock(test):
            one = _comparison(compared, written, moves)
            if one is not None and one.operator != "=" and test.this.unnest() == one.operand.unnest():
                return replace(one, optional=True)
    return None


def _negated(node: exp.Expr, written: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Not):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.Or):
        yield from conjuncts(exp.Not(this=exp.paren(node.left.copy())))
        yield from conjuncts(exp.Not(this=exp.paren(node.right.copy())))
    elif type(node) in _NEGATED:
        yield _NEGATED[type(node)](this=node.this.copy(), expression=node.expression.copy())
    elif not has_clock(node):
        yield exp.Not(this=exp.paren(node.copy()))
    else:
        yield written
