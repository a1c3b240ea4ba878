"""Temporal predicates: which conjuncts of a WHERE compare the clock, and with what.

    mz_now() <= ts + interval 30 days and k = 'a'
      ->  static: k = 'a'          comparisons: (mz_now() <=, ts + interval 30 days)

A conjunct is TRUE or the row is out, so each may be solved alone; NULL and FALSE are the same there. Under a NOT they
are not, so NOT is first pushed down to the comparisons, which is exact in three-valued logic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ..errors import Refusal
from .dialect import fragment, is_mz_now, mz_now_calls

#: the operator with mz_now() on its left, by node type
OPERATORS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    # mz_now() is never NULL, so as a conjunct `<=>` is TRUE exactly when `=` is
    exp.NullSafeEQ: "=",
}
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.NEQ: exp.EQ,
}
_WAY_OUT = (
    "comparisons of a bare mz_now() (=, <, <=, >, >=, BETWEEN) with expressions over the row, joined by AND; "
    "a union of such SELECTs in separate models where an OR is needed"
)


@dataclass(frozen=True)
class Comparison:
    """`mz_now() <operator> <operand>`; the operand is free of mz_now().

    written: the fragment, for messages. at: where the call stands in the model's text (offset of its first letter).
    """

    operator: str
    operand: exp.Expression
    written: str
    at: int


def has_clock(node: exp.Expression) -> bool:
    return next(mz_now_calls(node), None) is not None


def conjuncts(predicate: exp.Expression) -> Iterator[exp.Expression]:
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


def comparisons(conjunct: exp.Expression) -> tuple[list[Comparison], list[exp.Expression]]:
    """One conjunct that mentions the clock -> (comparisons with it, parts without it), all to hold together."""
    written = fragment(conjunct)
    if isinstance(conjunct, exp.Between):
        if conjunct.args.get("symmetric"):
            raise Refusal(written, "BETWEEN SYMMETRIC is not read", "two comparisons joined by AND")
        value, low, high = conjunct.this, conjunct.args["low"], conjunct.args["high"]
        legs = [exp.GTE(this=value.copy(), expression=low.copy())]
        legs.append(exp.LTE(this=value.copy(), expression=high.copy()))
        found: list[Comparison] = []
        static: list[exp.Expression] = []
        for leg in legs:
            if has_clock(leg):
                found.append(_comparison(leg, written))
            else:
                static.append(leg)
        return found, static
    if isinstance(conjunct, exp.In) and len(conjunct.expressions) == 1:
        equal = exp.EQ(this=conjunct.this.copy(), expression=conjunct.expressions[0].copy())
        return [_comparison(equal, written)], []
    return [_comparison(conjunct, written)], []


def _comparison(node: exp.Expression, written: str) -> Comparison:
    operator = OPERATORS.get(type(node))
    if operator is None:
        kind = "a comparison with `<>`" if isinstance(node, exp.NEQ) else "not a comparison of mz_now() itself"
        if isinstance(node, exp.Or):
            kind = "an OR around the clock"
        raise Refusal(written, f"it is {kind}, which is not covered yet", _WAY_OUT)
    left, right = node.left.unnest(), node.right.unnest()
    if is_mz_now(left) and not has_clock(right):
        return Comparison(operator, right.copy(), written, left.meta["start"])
    if is_mz_now(right) and not has_clock(left):
        return Comparison(MIRRORED[operator], left.copy(), written, right.meta["start"])
    both = has_clock(left) and has_clock(right)
    why = "mz_now() stands on both sides" if both else "mz_now() is inside an expression"
    raise Refusal(
        written,
        f"{why}, which is not covered yet",
        "a bare mz_now() on one side and everything else on the other: "
        "`mz_now() <= ts + interval 5 minutes` for `mz_now() - interval 5 minutes <= ts`",
    )


def _negated(node: exp.Expression, written: exp.Expression) -> Iterator[exp.Expression]:
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
        raise Refusal(fragment(written), "this negation makes an OR, which is not covered yet", _WAY_OUT)
