"""Any boolean predicate over the clock: boundaries by analysis, truth by evaluation.

    mz_now() < hi or k = 'a' and date_trunc('DAY', mz_now()) = day
      ->  row expressions     mz_s0: hi      mz_s1: day      mz_s2: k = 'a'
          predicate   mz_now() < mz_s0 or mz_s2 and date_trunc('DAY', mz_now()) = mz_s1
          edges       mz_s0: the truth may change at this instant, or a millisecond after
          steps       date_trunc('DAY', mz_now()) against mz_s1: the truth may change where the two cross

Analysis finds, for each row, a superset of the instants at which the predicate can change. Spark evaluates the
predicate at each of these instants. The row enters or leaves where the truth changes. So three-valued logic and casts
are Spark's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import cast

from sqlglot import exp

from ..sql.functions.calls import arguments, function, picks
from ..sql.functions.row import Picks
from ..sql.text.dialect import fragment, has_clock, is_mz_now, mz_now_calls, shown_as
from .comparisons import Comparison
from .elements import Variable
from .grid import Grid
from .lengths import is_below_a_day
from .logic import TRUTHS, PredicateVisitor, is_boolean, is_null, legs_of, values_of
from .monotonicity import NONE, Side, Unlistable, is_side, side
from .periods_between import period_changes
from .row_expressions import RowExpressions, written
from .shifts import is_local, moved
from .text_instants import as_instant, refuse_words
from .time_of_day import crossings
from .together import sequences

#: a side of a comparison with such a node of the clock changes where the parts of the node change
_CHANGING = (*TRUTHS, exp.Case)


#: how changes are found: at the edges of the unit; around the days that months lead to the value; in cells of time
UNIT, MONTHS, CELLS = "unit", "months", "cells"
#: an expression of the row lists the changes, of functions of the clock's date that go back at times
LISTED = "listed"

#: (an instant computed from the clock, the earliest allowed instant (ms), the zone)
Guard = tuple[exp.Expr, int, str]


@dataclass(frozen=True)
class Edge:
    """A bare mz_now() against the row expression `index`."""

    index: int
    comparison: Comparison
    #: whether the row expression is an array, and the clock is compared with each element
    of_elements: bool = False


@dataclass(frozen=True)
class MonotoneComparison:
    """A monotone function of the clock against an expression without the clock, both over the row expressions.

    search, turns, grid and guards are filled in after Spark was asked for types. Only the search `LISTED` is set
    earlier, by the analysis. With `LISTED` nothing is compared: `other` is the list of the instants of change.
    """

    function: exp.Expr
    other: exp.Expr
    #: the row expressions whose type decides whether the function is monotone in the session's zone
    added: tuple[int, ...]
    #: the unit, where the function is the bare clock truncated
    truncates: str | None = None
    #: see `Side`
    months: str = NONE
    #: the instants of whose fields the function is made: their years have four digits
    of_fields: tuple[exp.Expr, ...] = ()
    #: how its changes are found: `UNIT`, `MONTHS` or `CELLS`; `LISTED` with the list as the other side
    search: str = ""
    #: for MONTHS: the times of day (ms) at which the zone's offset may change, for the clock or for the moved clock
    turns: tuple[int, ...] = ()
    #: the cells of time
    grid: Grid = Grid()
    #: instants of the row that must not be before another instant, see `reach`
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True)
class Condition:
    """The analysis of a predicate, as above. predicate and steps are over mz_now() and columns mz_s<index>."""

    predicate: exp.Expr
    row_expressions: tuple[exp.Expr, ...]
    edges: tuple[Edge, ...]
    steps: tuple[MonotoneComparison, ...]

    def written(self, node: exp.Expr) -> exp.Expr:
        """A copy of a part of the predicate with the row expressions in place of their columns."""
        return written(node, self.row_expressions)


def condition(predicate: exp.Expr) -> Condition:
    """A predicate with the clock -> its analysis. Raises Unlistable, naming the part whose changes cannot be listed."""
    return _Analysis().of(_with_cases(predicate))


def _with_cases(predicate: exp.Expr) -> exp.Expr:
    """A copy of a predicate with each IF(a, b, c) as CASE WHEN a THEN b ELSE c END."""
    around = exp.Paren(this=predicate.copy())
    for node in list(around.find_all(exp.If)):
        if not (node.arg_key == "ifs" and isinstance(node.parent, exp.Case)):
            branch = exp.If(this=node.this, true=node.args["true"])
            node.replace(shown_as(exp.Case(ifs=[branch], default=node.args.get("false")), node))
    return cast("exp.Expr", around.this.pop())


@dataclass(frozen=True)
class _Analysis(PredicateVisitor[None]):
    """Records the edges and steps at which the value of a node can change: the same for a node and its negation."""

    rows: RowExpressions = field(default_factory=RowExpressions)
    edges: list[Edge] = field(default_factory=list)
    steps: list[MonotoneComparison] = field(default_factory=list)
    #: whether FALSE and NULL of the node count alike
    alike: bool = True

    def of(self, predicate: exp.Expr) -> Condition:
        self.visit(predicate)
        text = self.rows.hoisted(predicate.copy())
        return Condition(text, tuple(self.rows.of.values()), tuple(self.edges), tuple(self.steps))

    def visit(self, node: exp.Expr, inverted: bool = False) -> None:
        node = node.unnest()
        if not has_clock(node):
            return
        if legs := legs_of(node):
            for left, right in legs:
                replace(self, alike=False)._leg(node, left, right)
            for value in values_of(node):  # of a CASE that compares
                self.visit(value, inverted)
        elif isinstance(node, (exp.And, exp.Or)):
            replace(self, alike=self.alike and not inverted)._connected(node)
        else:
            super().visit(node, inverted)

    def and_(self, left: None, right: None) -> None: ...

    def or_(self, left: None, right: None) -> None: ...

    def leaf(self, node: exp.Expr, inverted: bool) -> None:
        if isinstance(node, exp.Is) and is_null(node.expression) and is_side(node.this):
            return  # the clock is never NULL
        _refuse_uncompared(node)
        variable = Variable.of(node)
        if variable is not None:
            replace(self, rows=self.rows.in_lambda(node, variable), alike=False).visit(node.expressions[1].this)
            return
        of_parts = replace(self, alike=isinstance(node, exp.Is) and is_boolean(node.expression, True))
        for child in node.iter_expressions():
            of_parts.visit(child)

    def is_true(self, node: exp.Expr) -> None:
        replace(self, alike=True).visit(node.this)

    def branches(self, node: exp.If | exp.Case, inverted: bool) -> None:
        alike = self.alike and not inverted
        for part, key, rows in self.rows.arms(node):
            replace(self, rows=rows, alike=alike or key == "this").visit(part.args[key])

    def _connected(self, node: exp.Connector) -> None:
        """Record one step for each sequence of the operands of an AND, such as a year and a month (see `together`).

        An operand in no sequence is recorded by itself; so is one of a sequence whose own changes can be listed. Where
        the year is NULL, an AND is FALSE in each month that differs, and NULL in the others, for ever. So sequences
        count where FALSE and NULL are alike, or where no operand but the last can be NULL.
        """
        operands = [(holder.args[key].unnest(), rows) for holder, key, rows in self.rows.operands(node)]
        parts, found = [part for part, _ in operands], set[int]()
        for clock, other, places in sequences(parts) if isinstance(node, exp.And) else ():
            if self.alike or all(isinstance(parts[place], exp.NullSafeEQ) for place in places[:-1]):
                replace(self, rows=operands[max(places)][1])._step(side(clock), clock, other)
                found |= set(places)
        for place, (part, rows) in enumerate(operands):
            if place not in found or is_listable(part):
                replace(self, rows=rows).visit(part)

    def _leg(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> None:
        left, right = left.unnest(), right.unnest()
        if has_clock(left) and has_clock(right):
            self._both(node, left, right)
            return
        if has_clock(left) or has_clock(right):
            clock, other = (left, right) if has_clock(left) else (right, left)
            if (variable := self.rows.variable) and (self.rows.is_of_element(left) or self.rows.is_of_element(right)):
                array, compared = variable.compared(node, clock, other)
                self.edges.append(Edge(replace(self.rows, variable=None).index(array), compared, of_elements=True))
                return
            if is_mz_now(clock):
                instant = as_instant(other, fragment(node))
                index = self.rows.index(instant)
                self.edges.append(Edge(index, Comparison("=", instant, fragment(node), clock.meta["start"])))
                return
            if self._against(node, clock, other):
                return
        self.visit(left)
        self.visit(right)

    def _against(self, node: exp.Expr, clock: exp.Expr, other: exp.Expr) -> bool:
        """Record the changes of a comparison with a function of the clock; False where its operands need analysis."""
        listed = crossings(clock, other) or period_changes(clock, other)
        if listed is not None:
            refuse_words(other, fragment(node))  # a word beside a function of the clock is no instant
            self._listed(clock, listed)
            return True
        called = function(clock)
        if called is not None and called.is_even:  # abs(x) = 5 where x is 5 or -5
            (inner,) = arguments(clock)
            negative = exp.Neg(this=exp.paren(other.copy()))
            return all(self._against(node, inner.unnest(), one) for one in (other, negative))
        try:
            moves = side(clock)
        except Unlistable:
            if any(isinstance(n, _CHANGING) and has_clock(n) for n in clock.walk()):
                return False  # the values change where the truths in them do
            raise
        if not moves.is_text:
            refuse_words(other, fragment(node))  # a word beside a function of the clock is no instant
        self._step(moves, clock, other)
        return True

    def _both(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> None:
        """Record the changes of a comparison with the clock on both sides. Raises Unlistable where they are unknown."""
        if stay_apart(left, right):
            return
        for one, other in ((left, right), (right, left)):
            values = arguments(one) if picks(one) in (Picks.FIRST, Picks.GREATEST, Picks.LEAST) else ()
            if values:
                pairs = [(value, other) for value in values]
                if picks(one) is not Picks.FIRST:  # which of the values the function gives changes, too
                    pairs += combinations(values, 2)
                for pair in pairs:
                    self._leg(node, *pair)
                return
        if is_side(left) or is_side(right):
            raise Unlistable(
                "ST321",
                fragment(node),
                "mz_now() stands on both sides, so the instants at which it changes cannot be listed",
                "mz_now() on one side and everything that is known of the row on the other",
            )
        self.visit(left)
        self.visit(right)

    def _step(self, moves: Side, clock: exp.Expr, other: exp.Expr) -> None:
        added = tuple(
            self.rows.index(a) for a in moves.added if not is_below_a_day(a) and not isinstance(a.unnest(), exp.Literal)
        )
        function, beside = self.rows.hoisted(clock.copy()), self.rows.hoisted(other.copy())
        if isinstance(other, exp.Tuple) and isinstance(clock, exp.Tuple) and not isinstance(other.parent, exp.Expr):
            beside = exp.Tuple(expressions=[self.rows.hoisted(item.copy()) for item in other.expressions])
        of_fields = tuple(self.rows.hoisted(of.copy()) for of in moves.of_fields)
        self.steps.append(MonotoneComparison(function, beside, added, moves.truncates, moves.months, of_fields))

    def _listed(self, clock: exp.Expr, instants: exp.Expr) -> None:
        """Record a step whose changes an ARRAY of the row lists (ms).

        The function of the step, CAST(mz_now() AS DATE), is not searched. `searches` takes from the function that the
        changes depend on the clock's local date, and refuses a zone in which this date goes back.
        """
        listed = self.rows.column(exp.cast(instants, "ARRAY<BIGINT>"))
        date = exp.cast(next(mz_now_calls(clock)).copy(), "DATE")
        self.steps.append(MonotoneComparison(date, listed, (), search=LISTED))


def _refuse_uncompared(node: exp.Expr) -> None:
    if is_mz_now(node):
        raise Unlistable(
            "ST322",
            fragment(_around(node)),
            "mz_now() is a value here and not compared, so the instants at which it matters cannot be listed",
            "a comparison of mz_now() with an expression over the row",
        )
    if isinstance(node, exp.Query):
        raise Unlistable(
            "ST323",
            fragment(node),
            "the clock is compared in a subquery of a predicate that is more than a conjunction",
            "a join with a derived table that holds the comparison",
        )


def is_listable(node: exp.Expr) -> bool:
    """Whether all changes of a predicate can be listed."""
    try:
        _Analysis().visit(node)
    except Unlistable:
        return False
    return True


def stay_apart(left: exp.Expr, right: exp.Expr) -> bool:
    """Whether two functions of the clock are known to keep one order: `mz_now() + interval 1 day > mz_now()`."""
    spans = []
    if is_local(left.unnest()) is not is_local(right.unnest()):
        return False  # in the hour that local time repeats, Spark casts it to the earlier of two instants
    lengths = [length for one in (left, right) for length in one.find_all(exp.Interval)]
    if any(length.args.get("unit") is None and not is_below_a_day(length) for length in lengths):
        return False  # `1 day -24 hours` is an hour where daylight saving begins
    for one in (left, right):
        base, by = (one, (0, 0)) if is_mz_now(one) else moved(one) or (one, (0, 0))
        if not is_mz_now(base.unnest()):
            return False
        spans.append(by)
    (low, high), (least, most) = sorted(spans, key=lambda span: span != (0, 0))
    return (low, high) == (0, 0) and (least > 0 or most < 0 or (least, most) == (0, 0))


def _around(node: exp.Expr) -> exp.Expr:
    return node.parent if node.parent is not None and not isinstance(node.parent, exp.Where) else node
