"""Evaluates a predicate over the clock on the statistics of a file: can a row of the file matter, or raise an error?

    mz_now() < ts + interval 30 days, over a file     may be true:   first < try_add(max_0, interval 30 days)

For an increasing f, f([a, b]) = [f(a), f(b)] (`monotone`). An expression that is not monotone has statistics of its
own, or it can have any value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TypeVar

from sqlglot import exp

from ..temporal.predicates.logic import TRUTHS, PredicateVisitor, branches_of, comparison
from ..temporal.predicates.shifts import gives_date, is_local, moved
from ..temporal.sql.functions.calls import function
from ..temporal.sql.functions.registry import known
from ..temporal.sql.functions.row import DAY, Picks, Raises
from ..temporal.sql.text.dialect import has_clock, is_mz_now, render
from . import abstract_values, monotone
from .abstract_values import (
    ANY_TRUTH,
    ANYTHING,
    DATE,
    INSTANT,
    INTEGER,
    LENGTH,
    NO,
    YES,
    Truth,
    ValueRange,
    both,
    either,
)
from .kinds import type_of
from .sargable import DRIFT, Range

T = TypeVar("T", ValueRange, Truth)

#: an instant may be moved by so much (µs): the sum is still a BIGINT
_FARTHEST = 3_000_000 * DAY


@dataclass(frozen=True)
class Leaf:
    """A column, or an expression over the columns of one input, that has statistics. index: the number in `columns`."""

    index: int
    type: str

    @property
    def columns(self) -> tuple[str, str, str]:
        """The columns of the table of statistics: the least value, the greatest, and the number of NULLs."""
        return f"mz_min_{self.index}", f"mz_max_{self.index}", f"mz_nulls_{self.index}"


@dataclass
class MetricsEvaluator(PredicateVisitor[Truth]):
    """Evaluates a predicate over the statistics of files."""

    clock: Range
    #: rendered expression -> its statistics
    leaves: Mapping[str, Leaf]
    #: rendered column of any input -> its Spark type
    types: Mapping[str, str]
    #: whether the session's zone has always had one offset
    fixed_zone: bool
    #: offset of a mz_now() -> its kind
    calls: Mapping[int, str] = field(default_factory=dict)
    #: the expressions whose statistics would help, in the order of the predicate
    wants: dict[str, exp.Expr] = field(default_factory=dict)
    #: whether a comparison of values of two types may raise an error
    strict: bool = True

    def may_matter(self, predicate: exp.Expr) -> str:
        """SQL over statistics: whether the predicate may be TRUE for a row, or raise an error, in the clock's range."""
        found = self.visit(predicate)
        return either(found.true, found.fails)

    # -- truth values --

    def and_(self, left: Truth, right: Truth) -> Truth:
        return abstract_values.and_(left, right)

    def or_(self, left: Truth, right: Truth) -> Truth:
        return abstract_values.or_(left, right)

    def is_true(self, node: exp.Expr) -> Truth:
        return self.leaf(node, False)  # FALSE where the predicate is NULL

    def branches(self, node: exp.If | exp.Case, inverted: bool) -> Truth:
        return self._branches(node, partial(self.visit, inverted=inverted), Truth(NO, NO, YES, NO))

    def first(self, node: exp.Expr, inverted: bool) -> Truth:
        return _first([self.visit(item, inverted) for item in node.expressions])

    def leaf(self, node: exp.Expr, inverted: bool) -> Truth:
        found = self._truth(node)
        return abstract_values.not_(found) if inverted else found

    def _truth(self, node: exp.Expr) -> Truth:
        if isinstance(node, exp.Boolean):
            return Truth(YES if node.this else NO, NO if node.this else YES, NO, NO)
        if isinstance(node, exp.Null):
            return Truth(NO, NO, YES, NO)
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            return self._in(self.values(node.this), [self.values(item) for item in node.expressions])
        if isinstance(node, exp.Is):
            return self._is(node)
        found = comparison(node)
        if found is None:
            return self._leaf_truth(node)
        one, other = self.values(found.left), self.values(found.right)
        operator = "=" if found.operator == "<>" else found.operator
        truth = self._null_safe(one, other) if found.null_safe else self._compared(operator, one, other)
        return truth if operator == found.operator else abstract_values.not_(truth)

    def _leaf_truth(self, node: exp.Expr) -> Truth:
        value = self._leaf(node)
        if value.least is None:
            return replace(ANY_TRUTH, fails=value.fails)
        true, false = abstract_values.may(value.most), abstract_values.may(f"NOT {value.least}")
        return Truth(both(value.some, true), both(value.some, false), value.null, value.fails)

    def _in(self, value: ValueRange, items: list[ValueRange]) -> Truth:
        """The truth of `value IN (items)`: any truth where a cast of all to one type may change their order.

        Spark casts all items to one type first: a number beside a text to a text (1 is not '01'), a BIGINT beside a
        DOUBLE to a DOUBLE, which has fewer digits.
        """
        kinds = {v.kind for v in (value, *items)} - {abstract_values.NULL}
        if abstract_values.common_type(value, *items) is None or "float" in kinds and len(kinds) > 1:
            return ANY_TRUTH if self.strict else replace(ANY_TRUTH, fails=either(*(v.fails for v in (value, *items))))
        return reduce(abstract_values.or_, (self._compared("=", value, item) for item in items), Truth(NO, YES, NO, NO))

    def _compared(self, operator: str, a: ValueRange, b: ValueRange) -> Truth:
        found = abstract_values.compared(operator, a, b)
        if self.strict:
            return replace(found, fails=either(found.fails, abstract_values.lost(a, b)))
        return found if abstract_values.comparable(a, b) else replace(found, fails=either(a.fails, b.fails))

    def _null_safe(self, a: ValueRange, b: ValueRange) -> Truth:
        equal, lost = self._compared("=", a, b), abstract_values.lost(a, b)
        a, b = (replace(v, null=either(v.null, lost)) if v.kind == abstract_values.CONSTANT else v for v in (a, b))
        true = either(equal.true, both(a.null, b.null))
        return Truth(true, either(equal.false, both(a.null, b.some), both(a.some, b.null)), NO, equal.fails)

    def _is(self, node: exp.Is) -> Truth:
        other = node.expression.unnest()
        if isinstance(other, exp.Null):
            if isinstance(node.this.unnest(), TRUTHS):
                value = self.visit(node.this)
                return Truth(value.null, either(value.true, value.false), NO, value.fails)
            values = self.values(node.this)
            return Truth(values.null, values.some, NO, values.fails)
        if isinstance(other, exp.Boolean):
            value = self.visit(node.this)
            yes, no = (value.true, value.false) if other.this else (value.false, value.true)
            return Truth(yes, either(no, value.null), NO, value.fails)
        return ANY_TRUTH

    # -- values --

    def values(self, node: exp.Expr) -> ValueRange:
        node = node.unnest()
        if render(node) in self.leaves or render(node) in self.types:
            return self._leaf(node)
        if is_mz_now(node):
            return self._now(node)
        if isinstance(node, exp.Null):
            return ValueRange(None, None, NO, YES, NO, abstract_values.NULL)
        found = monotone.literal(node)
        if found is not None and found.type == "timestamp_ntz" and not self.fixed_zone:
            return replace(found, least=None, most=None)  # as for a column
        found = found or self._function(node)
        return found if found is not None else self._moved(node) or self._leaf(node)

    def _moved(self, node: exp.Expr) -> ValueRange | None:
        """The range of a function that moves an instant by a bounded length; None where nothing follows."""
        step, called = moved(node), function(node)
        if step is None or called is not None and called.raises is Raises.WORDS:
            return None
        a, (low, high) = self.values(step[0]), step[1]
        if a.kind != INSTANT and (a.kind != DATE or isinstance(node, (exp.Add, exp.Sub))):
            return None
        # Spark compares a text with an offset by local time
        if a.type == "timestamp_ntz" or is_local(node) or max(-low, high) > _FARTHEST:
            return None
        self._leaf(node)  # statistics of its own are wanted nonetheless
        is_date = gives_date(node)
        to = "DATE" if is_date else "TIMESTAMP_LTZ"

        def end(of: str | None, by: int) -> str | None:
            micros = f"unix_micros(CAST({of} AS TIMESTAMP_LTZ)) + {by}L"
            return None if of is None else monotone.in_known_years(of, f"CAST(timestamp_micros({micros}) AS {to})")

        kind = DATE if is_date else INSTANT
        found = monotone.of_ends(end(a.least, low - DRIFT), end(a.most, high + DRIFT), [a], kind)
        return replace(found, null=YES)

    def _leaf(self, node: exp.Expr) -> ValueRange:
        """The range of an expression by its statistics; without statistics any value. A column raises no error."""
        text = render(node)
        leaf, is_column = self.leaves.get(text), text in self.types
        kind = monotone.kind_of(leaf.type if leaf else self.types.get(text, ""))
        if not any(isinstance(n, _NOT_OF_A_ROW) for n in node.walk()) and not has_clock(node):
            self.wants.setdefault(text, node)
        if leaf is None:
            return replace(ANYTHING, fails=NO if is_column else YES, kind=kind, type=self.types.get(text, ""))
        least: str | None
        most: str | None
        least, most, nulls = leaf.columns
        if leaf.type == "timestamp_ntz" and not self.fixed_zone:  # beside an instant, local time goes back
            least = most = None
        if kind == "float":  # NaN comes last, and a value computed from NaN anywhere
            least, most = (f"IF(isnan({least}) OR isnan({most}), NULL, {end})" for end in (least, most))
        fails = NO if is_column else f"({nulls} IS NULL)"
        some, null = abstract_values.may(f"{nulls} < mz_rows"), abstract_values.may(f"{nulls} > 0")
        return ValueRange(least, most, some, null, fails, kind, leaf.type)

    def _now(self, node: exp.Expr) -> ValueRange:
        as_number = self.calls.get(node.meta.get("start", -1), "TIMESTAMP").upper() != "TIMESTAMP"

        def at(instant: int | None) -> str | None:
            return None if instant is None else f"{instant}L" if as_number else f"timestamp_millis({instant}L)"

        first, last = at(self.clock.first), at(self.clock.last)
        kind, named = (INTEGER, "bigint") if as_number else (INSTANT, "timestamp")
        return ValueRange(first, last, YES, NO, NO, kind, named)

    def _function(self, node: exp.Expr) -> ValueRange | None:
        """The range of a function, by the ranges of its arguments; None where nothing follows."""
        if isinstance(node, (exp.Add, exp.Sub)):
            return self._added(node)
        if isinstance(node, exp.Mul):
            return monotone.multiplied(self.values(node.left), self.values(node.right))
        if isinstance(node, exp.Neg):
            return monotone.negative(self.values(node.this))
        if isinstance(node, exp.IntDiv):
            return monotone.divided(self.values(node.left), node.right)
        if isinstance(node, exp.Cast):
            return monotone.cast(self.values(node.this), type_of(node), self.fixed_zone)
        if isinstance(node, exp.Case) and node.args.get("this") is not None:
            return None
        if isinstance(node, (exp.Case, exp.If)):
            return self._branches(node, self.values, ValueRange(None, None, NO, YES, NO, abstract_values.NULL))
        return self._call(node) if isinstance(node, exp.Anonymous) else None

    def _added(self, node: exp.Add | exp.Sub) -> ValueRange | None:
        a, b, by = self.values(node.left), self.values(node.right), node.right
        if isinstance(node, exp.Sub):
            return monotone.added("try_subtract", a, b, by, self.fixed_zone)
        if a.kind == LENGTH and b.kind in (INSTANT, DATE):
            a, b, by = b, a, node.left
        return monotone.added("try_add", a, b, by, self.fixed_zone)

    def _call(self, node: exp.Anonymous) -> ValueRange | None:
        given, called = node.expressions, known(node.name, len(node.expressions))
        if called.picks is Picks.FIRST:
            return _first([self.values(item) for item in given])
        if called.picks is Picks.FIRST_UNLESS:
            value, other = self.values(given[0]), self.values(given[1])
            return replace(value, null=YES, fails=self._compared("=", value, other).fails)
        if called.picks is not None:
            return monotone.extreme(called.picks, [self.values(a) for a in given])
        if len(given) != 1 and not (called.at_ends and (called.unit is None or given[called.unit].is_string)):
            return None
        return monotone.of_call(called, given, self.values(given[called.moved]), self.fixed_zone)

    def _branches(self, node: exp.Case | exp.If, of: Callable[[exp.Expr], T], empty: T) -> T:
        """CASE and IF: the union of the branches that can be reached. empty: a bare NULL, for a missing ELSE."""
        branches, default = branches_of(node)
        reached, found, fails = YES, replace(empty, null=NO), NO
        for branch in branches:
            condition = self.visit(branch.this)
            fails = either(fails, both(reached, condition.fails))
            found = found.union(of(branch.args["true"]).where(both(reached, condition.true)))
            reached = both(reached, either(condition.false, condition.null))
        found = found.union((empty if default is None else of(default)).where(reached))
        return replace(found, fails=either(found.fails, fails))


def _first(found: Sequence[T]) -> T:
    """The first of several that is not NULL, as `coalesce` gives it."""
    return reduce(lambda one, other: replace(one, null=NO).union(other.where(one.null)), found)


#: expressions of several rows
_NOT_OF_A_ROW = (exp.Query, exp.Window, exp.AggFunc)
