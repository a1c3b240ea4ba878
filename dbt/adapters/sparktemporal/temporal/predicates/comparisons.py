"""Temporal predicates: the conjuncts of a WHERE that compare the clock, and their operands.

    mz_now() <= ts + interval 30 days and k = 'a'
      ->  static: k = 'a'          comparisons: (mz_now() <=, ts + interval 30 days)

A row needs every conjunct to be TRUE, so each conjunct is solved by itself, and NULL counts as FALSE. Under a NOT,
NULL and FALSE differ. Each NOT is therefore pushed down to the comparisons first, which is exact in three-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from sqlglot import exp

from ...errors import Refusal
from ..sql.text.dialect import fragment, has_clock, is_mz_now, shown_as
from .lengths import DAY_MS, milliseconds
from .logic import both_bounds, comparison, is_null, not_
from .text_instants import as_instant, has_text
from .together import joined

#: tells whether the zone moves the clock and an instant of a row by the same length, for a length in ms
Moves = Callable[[int], bool]


def anywhere(length: int) -> bool:
    """`Moves` for a zone of one offset: always True, since such a zone moves all instants by the same length."""
    return True


@dataclass(frozen=True)
class Comparison:
    """A comparison `mz_now() <operator> <operand>`. The operand has no mz_now().

    A comparison with NULL is never TRUE, unless the comparison is optional: then a NULL operand sets no bound.
    """

    operator: str
    operand: exp.Expr
    #: the fragment of the query, for messages
    written: str
    #: the offset of the call in the model's text
    at: int
    #: a NULL operand sets no bound (`x is null or mz_now() < x`)
    optional: bool = False
    #: the kind of the operand, see `bounds.operand_kind`; "" before Spark was asked for the type
    kind: str = ""


def conjuncts(predicate: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a conjunction. Each NOT above a clock is pushed down to the comparisons.

    not (mz_now() < a or k = 1)  ->  mz_now() >= a,  not k = 1

    Comparisons that change together are one part, see `together`.
    """
    yield from joined(list(_parts(predicate)))


def conjuncts_of(select: exp.Select) -> list[exp.Expr]:
    """The conjuncts of the WHERE of a SELECT."""
    where = select.args.get("where")
    return list(conjuncts(where.this)) if where is not None else []


def _parts(predicate: exp.Expr, inverted: bool = False) -> Iterator[exp.Expr]:
    node = predicate.unnest()
    if isinstance(node, exp.Not) and has_clock(node):
        yield from _parts(node.this, not inverted)
    elif isinstance(node, exp.Or if inverted else exp.And):
        yield from _parts(node.left, inverted)
        yield from _parts(node.right, inverted)
    else:
        yield _negated(predicate) if inverted else node


def _negated(predicate: exp.Expr) -> exp.Expr:
    """The negation of a part: `mz_now() > x` for `mz_now() <= x`.

    A NOT stands around a part whose opposite operator is <>, and around a part that is no comparison with the clock.
    """
    node = predicate.unnest()
    found = comparison(node, inverted=True)
    written = predicate.parent if isinstance(predicate.parent, exp.Not) else not_(predicate)
    if found is not None and found.operator != "<>" and has_clock(node):
        return shown_as(found.node(), written)
    return written


def comparisons(conjunct: exp.Expr, moves: Moves = anywhere) -> tuple[list[Comparison], list[exp.Expr]] | None:
    """A conjunct with a clock -> (its comparisons with the clock, its parts without the clock), all joined by AND.

    A comparison has mz_now() by itself on one side; a length that is added there moves to the other side. The
    result is None for another function of the clock, for <>, and for an OR that is not `x IS NULL OR …`: `conditions`
    reads these conjuncts. `moves` is called only with lengths of a day and more.
    """
    written = fragment(conjunct)
    if isinstance(conjunct, exp.Between):
        return _of_between(conjunct, written, moves)
    if isinstance(conjunct, exp.In) and len(conjunct.expressions) == 1:
        (item,) = conjunct.expressions
        # beside a moved clock Spark may compare texts in a list
        if (is_mz_now(conjunct.this.unnest()) or is_mz_now(item.unnest())) and not has_text([item]):
            conjunct = exp.EQ(this=conjunct.this.copy(), expression=item.copy())
    one = (
        _unless_null(conjunct, written, moves)
        if isinstance(conjunct, exp.Or)
        else _comparison(conjunct, written, moves)
    )
    return None if one is None else ([one], [])


def _of_between(node: exp.Between, written: str, moves: Moves) -> tuple[list[Comparison], list[exp.Expr]] | None:
    if node.args.get("symmetric"):
        raise Refusal("ST320", written, "BETWEEN SYMMETRIC is not read", "two comparisons joined by AND")
    legs = list(conjuncts(both_bounds(node)))
    static = [leg for leg in legs if not has_clock(leg)]
    found = [one for leg in legs if has_clock(leg) and (one := _comparison(leg, written, moves)) is not None]
    return (found, static) if len(found) + len(static) == len(legs) else None


def _comparison(node: exp.Expr, written: str, moves: Moves) -> Comparison | None:
    found = comparison(node)
    if found is None or found.operator == "<>":
        return None
    for one in found.both_ways:
        clock, other = bare(one.left.unnest(), one.right.unnest(), moves)
        if is_mz_now(clock) and not has_clock(other):
            # mz_now() is never NULL, so as a conjunct `<=>` is TRUE exactly when `=` is
            return Comparison(one.operator, as_instant(other, written), written, clock.meta["start"])
    return None


def bare(clock: exp.Expr, other: exp.Expr, moves: Moves) -> tuple[exp.Expr, exp.Expr]:
    """Both sides of a comparison, after the lengths beside the clock moved to the other side.

    `mz_now() - interval 5 minutes` against x becomes mz_now() against `x + interval 5 minutes`. Spark's arithmetic on
    instants makes the two equal where neither side meets a change of the zone's offset.
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
    """The comparison of `x is null or mz_now() < x`, a window that may stay open; None for any other OR."""
    for test, compared in ((node.left.unnest(), node.right.unnest()), (node.right.unnest(), node.left.unnest())):
        if isinstance(test, exp.Is) and is_null(test.expression) and not has_clock(test):
            one = _comparison(compared, written, moves)
            if one is not None and one.operator != "=" and test.this.unnest() == one.operand.unnest():
                return replace(one, optional=True)
    return None
