"""The inclusive projection of a window: comparisons of single columns that hold wherever the window can hold.

    mz_now() < date_trunc('HOUR', ts) + interval 5 hours, mz_now() from 12:00 on     ->  ts >= 07:00
    mz_now() >= coalesce(lo, begin), mz_now() until 15:00                            ->  lo <= 15:00 or lo is null and …

The projection holds where the window holds at any instant of the range. So `window AND projection` has the same rows,
and Spark compares the projection with the statistics of partitions, files and row groups. A part that is not understood
implies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from ..temporal.predicates.clock_text import evaluated
from ..temporal.predicates.conditions import Condition
from ..temporal.predicates.lengths import interval
from ..temporal.predicates.logic import PredicateVisitor, comparison, is_boolean, is_null, values_of
from ..temporal.predicates.monotonicity import side
from ..temporal.predicates.ordered import FIRST_OF_FIELDS, YEARS_END, ordered
from ..temporal.predicates.row_expressions import index_of
from ..temporal.predicates.shifts import moved
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.text.dialect import fragment, has_clock, is_mz_now, render
from .kinds import DATE, INSTANT
from .sargable import DRIFT, LEAST, MOST, Range, Sargable, all_of, any_of, is_constant


def project(typed: TypedCore, types: Mapping[str, str], clock: Range, fixed_zone: bool) -> str | None:
    """SQL that holds for every row whose window can hold while the clock is in a range; None: no column is bounded.

    types: rendered column -> its Spark type. fixed_zone: the session's zone has always had one offset.
    """
    return all_of(found for _, found in by_part(typed, types, clock, fixed_zone))


def by_part(typed: TypedCore, types: Mapping[str, str], clock: Range, fixed_zone: bool) -> list[tuple[str, str | None]]:
    """Each part of the window: (the part as the user wrote it, SQL of the comparisons that follow from the part)."""
    sargable = Sargable(types, 0 if fixed_zone else DRIFT)
    found = [(comparison.written, sargable.compared(comparison, clock)) for comparison in typed.core.comparisons]
    condition = typed.core.condition
    if condition is not None:
        of_condition = _OfCondition(sargable, condition, typed.calls, clock)
        written = fragment(of_condition.written(condition.predicate))
        found.append((written, of_condition.visit(condition.predicate)))
    return found


@dataclass(frozen=True)
class _OfCondition(PredicateVisitor["str | None"]):
    """The projection of a predicate that is more than a conjunction."""

    sargable: Sargable
    condition: Condition
    calls: Mapping[int, str]
    clock: Range

    def and_(self, left: str | None, right: str | None) -> str | None:
        return all_of((left, right))

    def or_(self, left: str | None, right: str | None) -> str | None:
        return any_of((left, right))

    def is_true(self, node: exp.Expr) -> str | None:
        return self.leaf(node, False) or super().is_true(node)

    def leaf(self, node: exp.Expr, inverted: bool) -> str | None:
        if values := values_of(node):  # a value FALSE or NULL makes no row
            return any_of(self.visit(v, inverted) for v in values if not (is_null(v) or is_boolean(v, inverted)))
        if index_of(node) is not None:
            return self.visit(self.written(node), inverted)
        if not has_clock(node):
            return self._of_columns(node, inverted)
        found = comparison(node, inverted)
        one = None if found is None else found.by_clock
        return None if one is None else self._comparison(one.left.unnest(), one.operator, one.right.unnest())

    def _comparison(self, left: exp.Expr, operator: str, right: exp.Expr) -> str | None:
        other = self.written(right)
        if is_mz_now(left):
            kinds = [edge.comparison.kind for edge in self.condition.edges if edge.index == index_of(right)]
            return self.sargable.between(other, operator, kinds[-1], self.clock) if kinds else None
        if isinstance(left, exp.Sub) and self._spread(left.left) and not has_clock(left.right):
            return self._since(left, operator, other)
        spread = self._spread(left)
        if spread is None or self.sargable.kind(other) not in (INSTANT, DATE):
            return self._beside_fields(left, operator, other)
        return self._within(other, operator, *spread)

    def _beside_fields(self, left: exp.Expr, operator: str, other: exp.Expr) -> str | None:
        """`date_format(mz_now(), 'yyyy-MM-dd') <= ds` -> SQL that compares ds with the values at the clock's ends."""
        step = next((step for step in self.condition.steps if step.of_fields and step.function == left), None)
        if isinstance(left, exp.Tuple) and isinstance(other, exp.Tuple):
            left, other = left.expressions[0], other.expressions[0]
        kind, clock = self.sargable.types.get(render(other), ""), self.written(left)
        if step is None or not kind or _OTHER_ORDERS.search(kind) or any(clock.find_all(exp.Column)):
            return None
        fields = ordered(clock)
        if fields is None or fields.is_partial(kind) or not side(clock).is_increasing:
            return None
        found, reach = [], step.grid.reach
        for end, instant in self.clock.bounds(operator):
            at = instant - reach if end == LEAST else instant + reach
            if FIRST_OF_FIELDS <= at < YEARS_END:
                found.append(f"{render(other)} {end} {evaluated(clock, self.calls, f'{at}L')}")
        return all_of(found)

    def _since(self, left: exp.Sub, operator: str, other: exp.Expr) -> str | None:
        """SQL over ts that `mz_now() - ts < interval 5 minutes` implies."""
        spread, length, base = self._spread(left.left), interval(other), self.written(left.right.unnest())
        if spread is None or length is None or self.sargable.kind(base) != INSTANT:
            return None
        low, high = spread
        return self._within(base, operator, low - length[1], high - length[0])

    def _within(self, other: exp.Expr, operator: str, low: int, high: int) -> str | None:
        """SQL over `other` that `clock <operator> other` implies, where the clock is moved by low to high µs."""
        slack = self.sargable.slack
        moved_by = {LEAST: low - slack, MOST: high + slack}
        ends = [(end, Fraction(at * 1_000 + moved_by[end])) for end, at in self.clock.bounds(operator)]
        return all_of(self.sargable.instant(other, bound) for bound in ends)

    def _spread(self, node: exp.Expr) -> tuple[int, int] | None:
        """The least and the most distance (µs) from the clock to a function of the clock; None where not known."""
        node = node.unnest()
        if is_mz_now(node):
            return (0, 0) if self.calls.get(node.meta.get("start", -1), "").upper() == "TIMESTAMP" else None
        step = moved(self.written(node))
        if step is None or not has_clock(step[0]):
            return None
        inner = self._spread(step[0])
        if inner is None:
            return None
        slack, (low, high) = self.sargable.slack, step[1]
        return inner[0] + low - slack, inner[1] + high + slack

    def _of_columns(self, node: exp.Expr, inverted: bool) -> str | None:
        """A part without the clock -> the part, if it is `column IS …` or compares a column with constants; or None."""
        found = comparison(node, inverted)
        if found is not None:
            is_order = found.operator != "<>" and not found.null_safe
            return self._beside_constants(found.node(), found.left, [found.right]) if is_order else None
        if isinstance(node, exp.In) and not inverted and node.expressions:
            return self._beside_constants(node, node.this, node.expressions)
        is_test = isinstance(node, exp.Is) and not inverted and render(node.this.unnest()) in self.sargable.types
        return render(node) if is_test else None

    def _beside_constants(self, node: exp.Expr, compared: exp.Expr, constants: list[exp.Expr]) -> str | None:
        kind = self.sargable.types.get(render(compared.unnest()), "")
        # Spark orders NaN last; the statistics of files skip NaN
        has_order = kind != "" and not _OTHER_ORDERS.search(kind)
        return render(node) if has_order and all(map(is_constant, constants)) else None

    def written(self, node: exp.Expr) -> exp.Expr:
        return self.condition.written(node).unnest()


#: types that files keep in another order than Spark compares them
_OTHER_ORDERS = re.compile(r"\b(float|double|collate)\b")
