"""Turns a bound of an expression into bounds of its columns, which can be compared with statistics.

    date_trunc('HOUR', ts) + interval 5 hours >= 12:00      ts >= 07:00
    greatest(a, b) <= 15:00                                 (a <= 15:00 OR a IS NULL) AND (b <= 15:00 OR b IS NULL)

Each function moves the bound back by as much as the function can have moved its argument. An expression that is not
understood bounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from ..temporal.predicates.bounds import TIMESTAMP
from ..temporal.predicates.comparisons import Comparison
from ..temporal.predicates.constants import constant
from ..temporal.predicates.logic import is_at_least, is_at_most, is_null, mirrored, values_of
from ..temporal.predicates.shifts import moved
from ..temporal.sql.functions.calls import nondeterministic, picks
from ..temporal.sql.functions.row import SECOND, Picks
from ..temporal.sql.text.dialect import render
from .kinds import DATE, INSTANT, INTEGERS, Kinds, counter, type_of, whole_number

#: the years in which bounds are compared (µs)
_FIRST, _LAST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND
#: how far apart two offsets of one zone can be: 25.5 hours in Samoa, which skipped a day
DRIFT = 26 * 3_600 * SECOND


#: a bound: its side (at least, at most) and its place (µs of an instant, or the number itself)
LEAST, MOST = ">=", "<="
Bound = tuple[str, Fraction]


@dataclass(frozen=True)
class Range:
    """The range of instants (ms) that the clock can still take, both ends included. None: no end."""

    first: int | None
    last: int | None

    def bounds(self, operator: str) -> Iterator[tuple[str, int]]:
        """The bounds (ms) of an operand that `clock <operator> operand` implies."""
        if is_at_most(operator) and self.first is not None:
            yield LEAST, self.first
        if is_at_least(operator) and self.last is not None:
            yield MOST, self.last


@dataclass(frozen=True)
class Sargable(Kinds):
    """Derives bounds of columns from bounds of expressions."""

    #: how far local time drifts from instants (µs)
    slack: int

    def compared(self, comparison: Comparison, clock: Range) -> str | None:
        """SQL that a comparison with the bare clock implies; None where nothing follows."""
        found = self.between(comparison.operand, comparison.operator, comparison.kind, clock)
        if found is None or not comparison.optional:
            return found
        leaf = comparison.operand.unnest()
        return f"({found} OR {render(leaf)} IS NULL)" if render(leaf) in self.types else None

    def between(self, operand: exp.Expr, operator: str, kind: str, clock: Range) -> str | None:
        unit, solve = (1_000, self.instant) if kind == TIMESTAMP else (1, self.number)
        return all_of(solve(operand, (side, Fraction(at * unit))) for side, at in clock.bounds(operator))

    # -- instants --

    def instant(self, node: exp.Expr, bound: Bound) -> str | None:
        """SQL that a bound (µs) of an instant implies; a date counts as its midnight."""
        node, (side, at) = node.unnest(), bound
        leaf = self._leaf_instant(node, bound)
        if leaf is not None:
            return leaf
        if values := values_of(node):
            return self._several(node, values, lambda part: self.instant(part, bound), side)
        scale = self.made_of_number(node)
        if scale is not None:
            return self.number(node.expressions[0], (side, at / scale))
        step = moved(node) or self.days_added(node)
        if step is None or self.kind(step[0]) not in (INSTANT, DATE):
            return None
        base, (low, high) = step
        return self.instant(base, (side, at - high - self.slack if side == LEAST else at - low + self.slack))

    def _leaf_instant(self, node: exp.Expr, bound: Bound) -> str | None:
        text, (side, at) = render(node), bound
        kind = self.types.get(text, "")
        at += {LEAST: -self.slack, MOST: self.slack}[side] if kind != "timestamp" else 0
        if not _FIRST < at < _LAST:
            return None
        instant = f"timestamp_millis({floor(at / 1000) if side == LEAST else ceil(at / 1000)})"
        if kind == "timestamp":
            return f"{text} {side} {instant}"
        if kind in ("date", "timestamp_ntz"):
            return f"{text} {side} CAST({instant} AS {kind.upper()})"
        # Spark compares two constants before it reads anything
        return f"{text} {side} {instant}" if is_constant(node) and self.kind(node) in (INSTANT, DATE) else None

    # -- numbers --

    def number(self, node: exp.Expr, bound: Bound) -> str | None:
        """SQL that a bound of a number implies."""
        node, (side, at) = node.unnest(), bound
        text = render(node)
        if text in self.types:
            return self._leaf_number(text, bound)
        if constant(node) is not None:
            return f"{text} {side} {_literal(floor(at) if side == LEAST else ceil(at))}"
        if values := values_of(node):
            return self._several(node, values, lambda part: self.number(part, bound), side)
        counts = counter(node)
        if counts is not None:
            return self._counted(node.expressions[0], bound, counts.step or 1, counts.towards_zero)
        if isinstance(node, exp.Cast) and type_of(node) == "bigint":
            inner = node.this
            if self.kind(inner) in (INSTANT, DATE):
                return self._counted(inner, bound, SECOND)
            return self.number(inner, bound) if self.bits(inner) else None
        return self._arithmetic(node, bound)

    def _leaf_number(self, text: str, bound: Bound) -> str | None:
        side, at = bound
        if self.types[text] in INTEGERS:
            whole = ceil(at) if side == LEAST else floor(at)
        elif self.types[text].startswith("decimal"):  # Spark rounds a decimal beside one with other digits
            whole = floor(at) - 1 if side == LEAST else ceil(at) + 1
        else:
            return None
        return f"{text} {side} {_literal(whole)}" if abs(whole) < 2**63 else None

    def _counted(self, inner: exp.Expr, bound: Bound, scale: int, towards_zero: bool = False) -> str | None:
        """SQL that a bound of an instant, counted in units of `scale` µs, implies; None where nothing follows.

        The count is rounded down or towards zero. Nothing follows for a TIMESTAMP_NTZ, which Spark counts as UTC.
        """
        if self.kind(inner) not in (INSTANT, DATE) or self.has_local(inner):
            return None
        side, at = bound
        whole = floor(at) - towards_zero if side == LEAST else ceil(at) + 1
        return self.instant(inner, (side, whole * Fraction(scale)))

    def _arithmetic(self, node: exp.Expr, bound: Bound) -> str | None:
        """SQL that a bound of a sum, product or quotient with a constant implies. Rows that wrap around are kept."""
        side, at = bound
        bits = self.bits(node)
        if bits is None:
            return None
        if isinstance(node, exp.Neg):
            return self._unless_wrapped(node.this, (mirrored(side), -at), bits, Fraction(-1), Fraction(0))
        if isinstance(node, exp.IntDiv):
            divisor = whole_number(node.right)
            if divisor is None or divisor < 1:
                return None
            # DIV rounds towards zero
            return self.number(node.left, (side, divisor * Fraction(floor(at) - 1 if side == LEAST else ceil(at) + 1)))
        if not isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return None
        base, by = node.left, whole_number(node.right)
        if by is None and not isinstance(node, exp.Sub):
            base, by = node.right, whole_number(node.left)
        if by is None:
            return None
        if isinstance(node, exp.Mul):
            turned = side if by > 0 else mirrored(side)
            return self._unless_wrapped(base, (turned, at / by), bits, by, Fraction(0)) if by else None
        by = by if isinstance(node, exp.Add) else -by
        return self._unless_wrapped(base, (side, at - by), bits, Fraction(1), by)

    def _unless_wrapped(self, base: exp.Expr, bound: Bound, bits: int, by: Fraction, plus: Fraction) -> str | None:
        """SQL: base is in the bound, or `by * base + plus` wraps around in a type of this many bits beside the sign."""
        first, last = sorted(((-(2**bits) - plus) / by, (2**bits - 1 - plus) / by))
        (lowest, highest), (side, at) = self.reach(base), bound
        found = [self.number(base, (side, max(at, first) if side == MOST else min(at, last)))]
        if side == MOST and last < highest:
            found.append(self.number(base, (LEAST, last)))
        if side == LEAST and first > lowest:
            found.append(self.number(base, (MOST, first)))
        return any_of(found)

    # -- either --

    def _several(
        self, node: exp.Expr, values: Sequence[exp.Expr], solve: Callable[[exp.Expr], str | None], side: str
    ) -> str | None:
        """SQL for a node that gives one of several values, as CASE does. solve: gives the SQL for a value."""
        picked = picks(node)
        if picked is Picks.FIRST:
            return self._first(values, solve)
        if picked is (Picks.LEAST if side == LEAST else Picks.GREATEST):
            # each column is bounded, where it is not NULL
            columns = [a for a in values if render(a.unnest()) in self.types]
            each = ((render(a.unnest()), solve(a)) for a in columns)
            return all_of(f"({one} OR {text} IS NULL)" for text, one in each if one is not None)
        return any_of(solve(value) for value in values if not is_null(value))

    def _first(self, values: Sequence[exp.Expr], solve: Callable[[exp.Expr], str | None]) -> str | None:
        """SQL for coalesce() and its like: a value is in the bound, and the columns before this value are NULL."""
        found: list[str | None] = []
        before: list[str] = []
        for value in values:
            one = solve(value)
            found.append(one if one is None or not before else " AND ".join([one, *before]))
            text = render(value.unnest())
            before += [f"{text} IS NULL"] if text in self.types else []
        return any_of(found)


def is_constant(node: exp.Expr) -> bool:
    known = (exp.Literal, exp.Cast, exp.Paren, exp.DataType, exp.Neg, exp.Boolean)
    return all(isinstance(n, known) for n in node.walk()) and nondeterministic(node) is None


def _literal(value: int) -> str:
    return str(value) if value != -(2**63) else "(-9223372036854775807 - 1)"


def all_of(parts: Iterable[str | None]) -> str | None:
    """AND of the parts that are known; None where no part is."""
    known = list(dict.fromkeys(part for part in parts if part is not None))
    return " AND ".join(known) if known else None


def any_of(parts: Iterable[str | None]) -> str | None:
    """OR of the parts; None where a part is not known, or there is no part."""
    every = list(dict.fromkeys(parts))
    if None in every:
        return None
    known = [part for part in every if part is not None]
    return None if not known else known[0] if len(known) == 1 else f"({' OR '.join(known)})"
