"""Any boolean predicate over the clock: boundaries by analysis, truth by evaluation.

    mz_now() < hi or k = 'a' and date_trunc('DAY', mz_now()) = day
      ->  row expressions     mz_s0: hi      mz_s1: k = 'a'      mz_s2: day
          predicate   mz_now() < mz_s0 or mz_s1 and date_trunc('DAY', mz_now()) = mz_s2
          edges       mz_s0: the truth may change at this instant, or a millisecond after
          steps       date_trunc('DAY', mz_now()) against mz_s2: the truth may change where the two cross

Analysis finds, for each row, a superset of the instants at which the predicate can change. Spark evaluates the
predicate at each of these instants. The row enters or leaves where the truth changes. So three-valued logic and casts
are Spark's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import cast

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import arguments, function, picks, starts_with_unit
from ..sql.functions.row import Picks
from ..sql.text.dialect import fragment, has_clock, is_mz_now, mz_now_calls, render
from ..sql.text.helper_columns import static_column
from .comparisons import Comparison
from .grid import Grid
from .lengths import moved
from .logic import branches_of
from .monotonicity import NONE, Side, Unlistable, is_below_a_day, side
from .periods_between import period_changes
from .text_instants import as_instant, refuse_words
from .time_of_day import crossings
from .together import parts_of, sequences

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


#: nodes that make truth values. A side with such a node of the clock changes where the parts of the node change
_TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Case)


#: at the edges of the truncation unit; around the days from which months lead there; by a search in cells of time
UNIT, MONTHS, CELLS = "unit", "months", "cells"
#: as an expression of the row lists them, for functions of the clock's date that go back at times
LISTED = "listed"

#: (SQL of an instant computed from the clock, the earliest allowed instant (ms), the zone)
Guard = tuple[exp.Expr, int, str]


@dataclass(frozen=True)
class Edge:
    """A bare mz_now() against the row expression `index`."""

    index: int
    comparison: Comparison


@dataclass(frozen=True)
class MonotoneComparison:
    """A monotone function of the clock against an expression without the clock, both over the row expressions.

    search and guards are known once Spark was asked for types.
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


def condition(predicate: exp.Expr) -> Condition:
    """A predicate with the clock -> its analysis. Raises Unlistable, naming the part whose changes cannot be listed."""
    return _Analysis().of(_with_cases(predicate))


def _with_cases(predicate: exp.Expr) -> exp.Expr:
    """A copy of a predicate with each IF(a, b, c) as CASE WHEN a THEN b ELSE c END."""
    around = exp.Paren(this=predicate.copy())
    for node in list(around.find_all(exp.If)):
        if not (node.arg_key == "ifs" and isinstance(node.parent, exp.Case)):
            branch = exp.If(this=node.this, true=node.args["true"])
            node.replace(exp.Case(ifs=[branch], default=node.args.get("false")))
    return cast("exp.Expr", around.this.pop())


class _Analysis:
    def __init__(self) -> None:
        self._statics: list[exp.Expr] = []
        self._edges: list[Edge] = []
        self._steps: list[MonotoneComparison] = []
        self._known: dict[str, int] = {}

    def of(self, predicate: exp.Expr) -> Condition:
        self._changes(predicate, ())
        text = self._hoisted(predicate.copy(), ())
        return Condition(text, tuple(self._statics), tuple(self._edges), tuple(self._steps))

    # -- boundaries --

    def _changes(self, node: exp.Expr, guards: _Guards) -> None:
        """Record the edges and steps at which the value of a node can change with the clock."""
        node = node.unnest()
        if not has_clock(node):
            return
        if legs := legs_of(node):
            for left, right in legs:
                self._leg(node, left, right, guards)
            if isinstance(node, exp.Case):
                self._values(node, guards)
            return
        if isinstance(node, exp.Is) and isinstance(node.expression.unnest(), exp.Null) and is_side(node.this):
            return  # the clock is never NULL
        if isinstance(node, exp.Case) and node.args.get("this") is None:
            self._case(node, guards)
            return
        if isinstance(node, exp.And):
            self._conjunction(parts_of(node), guards)
            return
        _refuse_uncompared(node)
        for child in node.iter_expressions():
            self._changes(child, guards)

    def _values(self, node: exp.Case, guards: _Guards) -> None:
        branches, default = branches_of(node)
        for value in (*(branch.args["true"] for branch in branches), default):
            if value is not None:
                self._changes(value, guards)

    def _conjunction(self, parts: list[exp.Expr], guards: _Guards) -> None:
        """Record one step for each set of parts that change together.

        The changes of a part are recorded alone if the part is in no such set, or if its changes can be listed alone.
        """
        found: set[int] = set()
        for clock, other, places in sequences(parts):
            self._step(side(clock), clock, other, guards)
            found |= set(places)
        for place, part in enumerate(parts):
            if place not in found or is_listable(part):
                self._changes(part, guards)

    def _leg(self, node: exp.Expr, left: exp.Expr, right: exp.Expr, guards: _Guards) -> None:
        left, right = left.unnest(), right.unnest()
        if has_clock(left) and has_clock(right):
            self._both(node, left, right, guards)
            return
        if has_clock(left) or has_clock(right):
            clock, other = (left, right) if has_clock(left) else (right, left)
            if is_mz_now(clock):
                instant = as_instant(other, fragment(node))
                index = self._static(instant, guards)
                self._edges.append(Edge(index, Comparison("=", instant, fragment(node), clock.meta["start"])))
                return
            if self._against(node, clock, other, guards):
                return
        self._changes(left, guards)
        self._changes(right, guards)

    def _against(self, node: exp.Expr, clock: exp.Expr, other: exp.Expr, guards: _Guards) -> bool:
        """Record the changes of a comparison with a function of the clock; False where its operands need analysis."""
        listed = crossings(clock, other) or period_changes(clock, other)
        if listed is not None:
            refuse_words(other, fragment(node))  # a word beside a function of the clock is no instant
            self._listed(clock, listed, guards)
            return True
        called = function(clock)
        if called is not None and called.is_even:  # abs(x) = 5 where x is 5 or -5
            (inner,) = arguments(clock)
            negative = exp.Neg(this=exp.paren(other.copy()))
            return all(self._against(node, inner.unnest(), one, guards) for one in (other, negative))
        try:
            moves = side(clock)
        except Unlistable:
            if any(isinstance(n, _TRUTHS) and has_clock(n) for n in clock.walk()):
                return False  # the values change where the truths in them do
            raise
        if not moves.is_text:
            refuse_words(other, fragment(node))  # a word beside a function of the clock is no instant
        self._step(moves, clock, other, guards)
        return True

    def _both(self, node: exp.Expr, left: exp.Expr, right: exp.Expr, guards: _Guards) -> None:
        """Record the changes of a comparison with the clock on both sides. Raises Unlistable where they are unknown."""
        if stay_apart(left, right):
            return
        for one, other in ((left, right), (right, left)):
            values = arguments(one) if picks(one) in (Picks.FIRST, Picks.GREATEST, Picks.LEAST) else ()
            if values:
                pairs = [(value, other) for value in values]
                if picks(one) is not Picks.FIRST:  # which of them it is changes, too
                    pairs += combinations(values, 2)
                for pair in pairs:
                    self._leg(node, *pair, guards)
                return
        if is_side(left) or is_side(right):
            raise Unlistable(
                "ST321",
                fragment(node),
                "mz_now() stands on both sides, so the instants at which it changes cannot be listed",
                "mz_now() on one side and everything that is known of the row on the other",
            )
        self._changes(left, guards)
        self._changes(right, guards)

    def _step(self, moves: Side, clock: exp.Expr, other: exp.Expr, guards: _Guards) -> None:
        added = tuple(
            self._static(a, guards)
            for a in moves.added
            if not is_below_a_day(a) and not isinstance(a.unnest(), exp.Literal)
        )
        function, beside = self._hoisted(clock.copy(), guards), self._hoisted(other.copy(), guards)
        if isinstance(other, exp.Tuple) and isinstance(clock, exp.Tuple) and not isinstance(other.parent, exp.Expr):
            beside = exp.Tuple(expressions=[self._hoisted(item.copy(), guards) for item in other.expressions])
        of_fields = tuple(self._hoisted(of.copy(), guards) for of in moves.of_fields)
        self._steps.append(MonotoneComparison(function, beside, added, moves.truncates, moves.months, of_fields))

    def _listed(self, clock: exp.Expr, instants: exp.Expr, guards: _Guards) -> None:
        """Record a step that changes at instants that the row lists (ARRAY of ms). Its function is the clock's date."""
        known = exp.cast(instants, "ARRAY<BIGINT>")
        listed = exp.column(exp.to_identifier(static_column(self._static(known, guards)), quoted=True))
        date = exp.cast(next(mz_now_calls(clock)).copy(), "DATE")
        self._steps.append(MonotoneComparison(date, listed, (), search=LISTED))

    def _case(self, node: exp.Case, guards: _Guards) -> None:
        before: _Guards = guards
        for branch in node.args.get("ifs") or []:
            self._changes(branch.this, before)
            inside = before if has_clock(branch.this) else (*before, (branch.this.copy(), True))
            self._changes(branch.args["true"], inside)
            if not has_clock(branch.this):
                before = (*before, (branch.this.copy(), False))
        default = node.args.get("default")
        if default is not None:
            self._changes(default, before)

    # -- parts without the clock are computed once a row --

    def _hoisted(self, node: exp.Expr, guards: _Guards) -> exp.Expr:
        """Modify a node: columns take the place of its largest parts without the clock.

        Returns the node; or a column, where the whole node is such a part.
        """
        if not has_clock(node) and not isinstance(node, exp.If):  # a branch of a CASE is no expression
            if isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.DataType, exp.Identifier, exp.Var)):
                return node
            if is_below_a_day(node):
                return node
            return exp.column(exp.to_identifier(static_column(self._static(node, guards)), quoted=True))
        if isinstance(node, exp.Case) and node.args.get("this") is None:
            return self._hoisted_case(node, guards)
        units = starts_with_unit(node)
        for key, value in list(node.args.items()):
            if units and key == "expressions":
                node.set(key, [value[0], *(self._hoisted(v, guards) for v in value[1:])])
            elif isinstance(value, list):
                node.set(key, [self._hoisted(v, guards) if isinstance(v, exp.Expr) else v for v in value])
            elif isinstance(value, exp.Expr):
                node.set(key, self._hoisted(value, guards))
        return node

    def _hoisted_case(self, node: exp.Case, guards: _Guards) -> exp.Expr:
        """`_hoisted` for a CASE, whose conditions without the clock still protect its branches from errors."""
        before: _Guards = guards
        for branch in node.args.get("ifs") or []:
            protects = None if has_clock(branch.this) else branch.this.copy()
            branch.set("this", self._hoisted(branch.this, before))
            inside = before if protects is None else (*before, (protects, True))
            branch.set("true", self._hoisted(branch.args["true"], inside))
            if protects is not None:
                before = (*before, (protects, False))
        if node.args.get("default") is not None:
            node.set("default", self._hoisted(node.args["default"], before))
        return node

    def _static(self, node: exp.Expr, guards: _Guards) -> int:
        node = node.copy()
        for guard, holds in reversed(guards):
            test: exp.Expr = exp.paren(guard.copy())
            if not holds:
                test = exp.Not(this=exp.paren(exp.NullSafeEQ(this=test, expression=exp.true())))
            node = exp.Case(ifs=[exp.If(this=test, true=node)])
        key = render(node)
        if key not in self._known:
            self._known[key] = len(self._statics)
            self._statics.append(node)
        return self._known[key]


#: the conditions of the CASEs around a node, each with whether it is TRUE or not TRUE there
_Guards = tuple[tuple[exp.Expr, bool], ...]


def legs_of(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
    """The pairs of operands that a node compares; empty for a node that is no comparison."""
    if isinstance(node, _COMPARED):
        return [(node.left, node.right)]
    if isinstance(node, exp.Between):
        return [(node.this, node.args["low"]), (node.this, node.args["high"])]
    if isinstance(node, exp.In) and node.expressions:
        return [(node.this, item) for item in node.expressions]
    if isinstance(node, exp.Case) and node.args.get("this") is not None:
        return [(node.this, branch.this) for branch in node.args.get("ifs") or []]
    return []


def is_side(node: exp.Expr) -> bool:
    try:
        side(node)
    except Refusal:
        return False
    return True


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
        _Analysis().of(node.copy())
    except Unlistable:
        return False
    return True


def stay_apart(left: exp.Expr, right: exp.Expr) -> bool:
    """Whether two functions of the clock compare the same way at all times: `mz_now() + interval 1 day > mz_now()`."""
    spans = []
    for one in (left, right):
        base, by = (one, (0, 0)) if is_mz_now(one) else moved(one) or (one, (0, 0))
        if not is_mz_now(base.unnest()):
            return False
        spans.append(by)
    (low, high), (least, most) = sorted(spans, key=lambda span: span != (0, 0))
    return (low, high) == (0, 0) and (least > 0 or most < 0 or (least, most) == (0, 0))


def _around(node: exp.Expr) -> exp.Expr:
    return node.parent if node.parent is not None and not isinstance(node.parent, exp.Where) else node
