"""A predicate over the clock, interpreted over statistics: whether any row of a part can matter, or raise an error.

    mz_now() < ts + interval 30 days, over a file     may be true:   first < try_add(max_0, interval 30 days)

Functions that rise or fall with an argument take its ends to their own; products take four corners. Spark computes the
ends, by functions that give NULL instead of an error or of a number that wrapped around: then nothing is concluded. All
other functions are looked at as a whole: their own least and greatest are among the statistics, or they are anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from ..temporal.clock_side import is_below_a_day
from ..temporal.dialect import has_clock, is_mz_now, render
from . import specs
from .lengths import DATES, constant, interval, moved
from .sargable import DRIFT, Range
from .specs import ANY_TRUTH, ANYTHING, NO, YES, Truth, Values, both, either

T = TypeVar("T", Values, Truth)

INTEGER, DECIMAL, INSTANT, DATE, LENGTH = "integer", "decimal", "instant", "date", "length"

_COMPARED = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
#: the years of which Spark documents what it computes
_YEARS = "BETWEEN TIMESTAMP '0001-01-02 00:00:00Z' AND TIMESTAMP '9999-12-30 00:00:00Z'"
#: functions of an instant that never fall when it rises -> what they give; by the clock of UTC, and by local time
_OF_INSTANTS = {
    "unix_micros": INTEGER, "unix_millis": INTEGER, "unix_seconds": INTEGER, "unix_timestamp": INTEGER,
    "timestamp": INSTANT, "to_timestamp": INSTANT,
}  # fmt: skip
_OF_LOCAL_TIME = {"date": DATE, "last_day": DATE, "to_date": DATE, "unix_date": INTEGER, "year": INTEGER}
#: functions of a whole number -> how far they are computed
_OF_NUMBERS = {"timestamp_micros": 10**17, "timestamp_millis": 10**14, "timestamp_seconds": 10**11}


#: functions that are an error for words they do not know
_BY_WORDS = frozenset(["next_day", "to_utc_timestamp", "from_utc_timestamp"])


@dataclass(frozen=True)
class Leaf:
    """What statistics are kept of: a column, or an expression over the columns of one input. index: of its columns."""

    index: int
    type: str

    @property
    def columns(self) -> tuple[str, str, str]:
        """In the relation of statistics, beside mz_rows: the least, the greatest, and how many are NULL."""
        return f"mz_min_{self.index}", f"mz_max_{self.index}", f"mz_nulls_{self.index}"


@dataclass
class Interpreter:
    """leaves: what has statistics, as rendered. types: the columns, likewise, of any input. calls: where a mz_now()
    stands -> its kind. fixed_zone: the session's zone has had one offset for ever. wants: the expressions that would be
    known if there were statistics of them, as they were met. strict: to compare values of two types may be an error.
    """

    clock: Range
    leaves: Mapping[str, Leaf]
    types: Mapping[str, str]
    fixed_zone: bool
    calls: Mapping[int, str] = field(default_factory=dict)
    wants: dict[str, exp.Expression] = field(default_factory=dict)
    strict: bool = True

    def may_matter(self, predicate: exp.Expression) -> str:
        """SQL over statistics: whether a row of a part may fulfil it at an instant of the range, or raise an error."""
        found = self.truth(predicate)
        return either(found.true, found.fails)

    # -- truth values --

    def truth(self, node: exp.Expression) -> Truth:
        node = node.unnest()
        if isinstance(node, exp.Boolean):
            return Truth(YES if node.this else NO, NO if node.this else YES, NO, NO)
        if isinstance(node, exp.Null):
            return Truth(NO, NO, YES, NO)
        if isinstance(node, exp.And):
            return specs.and_(self.truth(node.left), self.truth(node.right))
        if isinstance(node, exp.Or):
            return specs.or_(self.truth(node.left), self.truth(node.right))
        if isinstance(node, exp.Not):
            return specs.not_(self.truth(node.this))
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            value = self.values(node.this)
            low, high = self.values(node.args["low"]), self.values(node.args["high"])
            return specs.and_(self._compared(">=", value, low), self._compared("<=", value, high))
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            return self._in(self.values(node.this), [self.values(item) for item in node.expressions])
        if isinstance(node, exp.NEQ):
            return specs.not_(self._compared("=", self.values(node.left), self.values(node.right)))
        if type(node) in _COMPARED:
            return self._compared(_COMPARED[type(node)], self.values(node.left), self.values(node.right))
        if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
            same = self._null_safe(self.values(node.left), self.values(node.right))
            return same if isinstance(node, exp.NullSafeEQ) else specs.not_(same)
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, (exp.Case, exp.If)) and not node.args.get("this" if isinstance(node, exp.Case) else ""):
            return self._branches(
                node, self.truth, specs.when, specs.either_truth, Truth(NO, NO, YES, NO), Truth(NO, NO, NO, NO)
            )
        if isinstance(node, exp.Anonymous) and node.name.lower() in ("coalesce", "nvl", "ifnull"):
            found = self.truth(node.expressions[0])
            for item in node.expressions[1:]:
                found = specs.either_truth(replace(found, null=NO), specs.when(found.null, self.truth(item)))
            return found
        return self._leaf_truth(node)

    def _leaf_truth(self, node: exp.Expression) -> Truth:
        value = self._leaf(node)
        if value.least is None:
            return replace(ANY_TRUTH, fails=value.fails)
        true, false = specs.may(value.most), specs.may(f"NOT {value.least}")
        return Truth(both(value.some, true), both(value.some, false), value.null, value.fails)

    def _in(self, value: Values, items: list[Values]) -> Truth:
        """All are made of one type first: beside a text a number is one, and 1 is not '01'; beside a DOUBLE a BIGINT is
        one, which has fewer digits.
        """
        kinds = {v.kind for v in (value, *items)} - {specs.NULL}
        if not all(specs.alike(value, item) for item in items) or "float" in kinds and len(kinds) > 1:
            return ANY_TRUTH if self.strict else replace(ANY_TRUTH, fails=either(*(v.fails for v in (value, *items))))
        found = Truth(NO, YES, NO, NO)
        for item in items:
            found = specs.or_(found, self._compared("=", value, item))
        return found

    def _compared(self, operator: str, a: Values, b: Values) -> Truth:
        found = specs.compared(operator, a, b)
        return found if self.strict or specs.comparable(a, b) else replace(found, fails=either(a.fails, b.fails))

    def _null_safe(self, a: Values, b: Values) -> Truth:
        equal = self._compared("=", a, b)
        true = either(equal.true, both(a.null, b.null))
        return Truth(true, either(equal.false, both(a.null, b.some), both(a.some, b.null)), NO, equal.fails)

    def _is(self, node: exp.Is) -> Truth:
        other = node.expression.unnest()
        if isinstance(other, exp.Null):
            if _is_truth(node.this):
                value = self.truth(node.this)
                return Truth(value.null, either(value.true, value.false), NO, value.fails)
            values = self.values(node.this)
            return Truth(values.null, values.some, NO, values.fails)
        if isinstance(other, exp.Boolean):
            value = self.truth(node.this)
            yes, no = (value.true, value.false) if other.this else (value.false, value.true)
            return Truth(yes, either(no, value.null), NO, value.fails)
        return ANY_TRUTH

    # -- values --

    def values(self, node: exp.Expression) -> Values:
        node = node.unnest()
        if render(node) in self.leaves or render(node) in self.types:
            return self._leaf(node)
        if is_mz_now(node):
            return self._now(node)
        if isinstance(node, exp.Null):
            return Values(None, None, NO, YES, NO, specs.NULL)
        told = self._constant(node) or self._function(node)
        return told if told is not None else self._moved(node) or self._leaf(node)

    def _moved(self, node: exp.Expression) -> Values | None:
        """An instant that goes back once a year, or by months: about where it was. Statistics of its own say more."""
        step = None if render(node) in self.leaves else moved(node)
        a = None if step is None else self.values(step[0])
        in_words = isinstance(node, exp.Anonymous) and node.name.lower() in _BY_WORDS
        is_sum_of_date = isinstance(node, (exp.Add, exp.Sub)) and a is not None and a.kind == DATE
        if step is None or a is None or a.kind not in (INSTANT, DATE) or in_words or is_sum_of_date:
            return None
        self._leaf(node)  # it is wanted nonetheless
        is_date = isinstance(node, exp.Cast) and node.to.sql(dialect="spark").upper() == "DATE"
        is_date = (
            is_date or isinstance(node, exp.Anonymous) and node.name.lower() in DATES and len(node.expressions) < 3
        )
        to = "DATE" if is_date else "TIMESTAMP"

        def at(end: str | None, by: int) -> str | None:
            micros = f"unix_micros(CAST({end} AS TIMESTAMP)) + {by}L"
            return None if end is None else f"IF({end} {_YEARS}, CAST(timestamp_micros({micros}) AS {to}), NULL)"

        low, high = step[1]
        found = self._of_ends(at(a.least, low - DRIFT), at(a.most, high + DRIFT), [a], DATE if is_date else INSTANT)
        return replace(found, null=YES)

    def _leaf(self, node: exp.Expression) -> Values:
        """What statistics say of an expression. One that is not among them may be anything; a column is no error."""
        text = render(node)
        leaf, is_column = self.leaves.get(text), text in self.types
        kind = _kind(leaf.type if leaf else self.types.get(text, ""))
        if not any(isinstance(n, _NOT_OF_A_ROW) for n in node.walk()) and not has_clock(node):
            self.wants.setdefault(text, node)
        if leaf is None:
            return replace(ANYTHING, fails=NO if is_column else YES, kind=kind)
        least, most, nulls = leaf.columns
        if leaf.type == "timestamp_ntz" and not self.fixed_zone:  # beside an instant it goes back once a year
            least = most = None
        if kind == "float":  # NaN comes after all others, and what is computed with it anywhere
            least, most = (f"IF(isnan({least}) OR isnan({most}), NULL, {end})" for end in (least, most))
        fails = NO if is_column else f"({nulls} IS NULL)"
        return Values(least, most, specs.may(f"{nulls} < mz_rows"), specs.may(f"{nulls} > 0"), fails, kind)

    def _now(self, node: exp.Expression) -> Values:
        as_number = self.calls.get(node.meta.get("start", -1), "TIMESTAMP").upper() != "TIMESTAMP"

        def at(instant: int | None) -> str | None:
            return None if instant is None else f"{instant}L" if as_number else f"timestamp_millis({instant}L)"

        first, last = at(self.clock.first), at(self.clock.last)
        return Values(first, last, YES, NO, NO, INTEGER if as_number else INSTANT)

    def _constant(self, node: exp.Expression) -> Values | None:
        text = render(node)
        if isinstance(node, exp.Literal):
            kind = specs.CONSTANT if node.is_string else INTEGER if node.name.isdigit() else DECIMAL
            return Values(text, text, YES, NO, NO, kind)
        if isinstance(node, exp.Neg) and isinstance(node.this.unnest(), exp.Literal):
            told = self._constant(node.this.unnest())
            return None if told is None else replace(told, least=text, most=text)
        if isinstance(node, exp.Interval):
            span = interval(node)
            return None if span is None or span[0] != span[1] else Values(text, text, YES, NO, NO, LENGTH)
        if isinstance(node, exp.Cast) and isinstance(node.this.unnest(), exp.Literal):
            to = node.to.sql(dialect="spark").upper()
            of_text = node.this.unnest().is_string and to in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
            if of_text or not node.this.unnest().is_string and to in ("BIGINT", "INT"):
                end = f"TRY_CAST({render(node.this)} AS {to})"
                return self._of_ends(end, end, [], _kind(to.lower()))
        return None

    def _function(self, node: exp.Expression) -> Values | None:
        """What follows of the arguments; None where nothing does."""
        if isinstance(node, exp.Add):
            return self._sum(node.left, node.right, "try_add")
        if isinstance(node, exp.Sub):
            return self._sum(node.left, node.right, "try_subtract")
        if isinstance(node, exp.Mul):
            return self._product(node)
        if isinstance(node, exp.Neg):
            return self._negative(node)
        if isinstance(node, exp.IntDiv):
            return self._quotient(node)
        if isinstance(node, exp.Cast):
            return self._cast(node)
        if isinstance(node, exp.Case) and node.args.get("this") is not None:
            return None
        if isinstance(node, (exp.Case, exp.If)):
            return self._branches(
                node,
                self.values,
                specs.where,
                specs.union,
                Values(None, None, NO, YES, NO, specs.NULL),
                Values(None, None, NO, NO, NO, specs.NULL),
            )
        return self._call(node) if isinstance(node, exp.Anonymous) else None

    def _of_ends(self, least: str | None, most: str | None, of: list[Values], kind: str) -> Values:
        """A function of what is known, of which Spark gives NULL where it would fail or be no longer monotone."""
        some, null = both(*(v.some for v in of)), either(*(v.null for v in of))
        found = Values(least, most, some, null, either(*(v.fails for v in of)), kind)
        unknown = specs.negated(found.known)
        return replace(found, null=either(null, unknown), fails=either(found.fails, unknown))

    def _sum(self, left: exp.Expression, right: exp.Expression, function: str) -> Values | None:
        a, b = self.values(left), self.values(right)
        numbers = a.kind in (INTEGER, DECIMAL) and b.kind in (INTEGER, DECIMAL)
        days = a.kind == DATE and b.kind == INTEGER
        moved = a.kind in (INSTANT, DATE) and b.kind == LENGTH and (self.fixed_zone or is_below_a_day(right))
        if function == "try_add" and a.kind == LENGTH and b.kind in (INSTANT, DATE):
            return self._sum(right, left, function)
        apart = function == "try_subtract" and a.kind == b.kind == INSTANT and self.fixed_zone
        if not (numbers or days or moved or apart):
            return None
        if None in (a.least, a.most, b.least, b.most):
            return self._of_ends(None, None, [a, b], a.kind)
        low, high = (b.least, b.most) if function == "try_add" else (b.most, b.least)
        kind = LENGTH if apart else DECIMAL if DECIMAL in (a.kind, b.kind) else INSTANT if moved else a.kind
        return self._of_ends(f"{function}({a.least}, {low})", f"{function}({a.most}, {high})", [a, b], kind)

    def _product(self, node: exp.Expression) -> Values | None:
        a, b = self.values(node.left), self.values(node.right)
        if a.kind != INTEGER or b.kind != INTEGER:
            return None
        if None in (a.least, a.most, b.least, b.most):
            return self._of_ends(None, None, [a, b], INTEGER)
        corners = dict.fromkeys(f"try_multiply({x}, {y})" for x in (a.least, a.most) for y in (b.least, b.most))
        unknown = " OR ".join(f"{c} IS NULL" for c in corners)
        listed = f"array({', '.join(corners)})"
        least, most = (f"IF({unknown}, NULL, {f}({listed}))" for f in ("array_min", "array_max"))
        return self._of_ends(least, most, [a, b], INTEGER)

    def _negative(self, node: exp.Neg) -> Values | None:
        a = self.values(node.this)
        if a.kind != INTEGER or a.least is None or a.most is None:
            return None
        # as wide as it is: 0 is an INT, and -(-128) no TINYINT
        same = f"typeof({a.least}) IN ('int', 'bigint')"
        least, most = (f"IF({same}, try_subtract(0, {end}), NULL)" for end in (a.most, a.least))
        return self._of_ends(least, most, [a], INTEGER)

    def _quotient(self, node: exp.IntDiv) -> Values | None:
        a, divisor = self.values(node.left), constant(node.right)
        if a.kind != INTEGER or divisor is None or divisor < 1 or divisor % 1:
            return None
        ends = (None if end is None else f"({end} DIV {render(node.right)})" for end in (a.least, a.most))
        return self._of_ends(*ends, [a], INTEGER)

    def _cast(self, node: exp.Cast) -> Values | None:
        a, to = self.values(node.this), node.to.sql(dialect="spark").lower()
        of_number = a.kind in (INTEGER, DECIMAL) and (to in _WHOLE or to.startswith("decimal"))
        of_instant = a.kind == INSTANT and (to in ("timestamp", "bigint") or to == "date" and self.fixed_zone)
        of_date = a.kind == DATE and to in ("date", "timestamp")
        if not (of_number or of_instant or of_date) or to == "timestamp_ntz":
            return None
        ends = (None if end is None else f"TRY_CAST({end} AS {to.upper()})" for end in (a.least, a.most))
        return self._of_ends(*ends, [a], _kind(to))

    def _call(self, node: exp.Anonymous) -> Values | None:
        name, arguments = node.name.lower(), node.expressions
        if name in ("coalesce", "nvl", "ifnull"):
            found = self.values(arguments[0])
            for item in arguments[1:]:
                found = specs.union(replace(found, null=NO), specs.where(found.null, self.values(item)))
            return found
        if name == "nullif" and len(arguments) == 2:
            value, other = self.values(arguments[0]), self.values(arguments[1])
            return replace(value, null=YES, fails=either(value.fails, other.fails))
        if name in ("greatest", "least"):
            return self._extreme(name, [self.values(a) for a in arguments])
        if len(arguments) == 1:
            return self._unary(name, arguments[0])
        if name == "date_trunc" and arguments[0].is_string and self.fixed_zone:
            a = self.values(arguments[1])
            if a.kind not in (INSTANT, DATE):
                return None
            return self._at_ends(a, lambda end: f"date_trunc({render(arguments[0])}, {end})", INSTANT)
        if name in ("date_add", "date_sub") and len(arguments) == 2 and constant(arguments[1]) is not None:
            a, by = self.values(arguments[0]), render(arguments[1])
            if a.kind == DATE or a.kind == INSTANT and self.fixed_zone:
                return self._at_ends(a, lambda end: f"{name}({end}, {by})", DATE)
        return None

    def _unary(self, name: str, argument: exp.Expression) -> Values | None:
        a = self.values(argument)
        kinds = {**_OF_INSTANTS, **(_OF_LOCAL_TIME if self.fixed_zone or a.kind == DATE else {})}
        if a.kind in (INSTANT, DATE) and name in kinds:
            return self._at_ends(a, lambda end: f"{name}({end})", kinds[name])
        if a.kind == INTEGER and name in _OF_NUMBERS:
            far = _OF_NUMBERS[name]
            ends = (f"IF({e} BETWEEN -{far}L AND {far}L, {name}({e}), NULL)" if e else None for e in (a.least, a.most))
            return self._of_ends(*ends, [a], INSTANT)
        if a.kind in (INTEGER, DECIMAL) and name in ("ceil", "ceiling", "floor"):
            return self._of_ends(*(f"{name}({e})" if e else None for e in (a.least, a.most)), [a], DECIMAL)
        return None

    def _at_ends(self, a: Values, function: Callable[[str], str], kind: str) -> Values:
        """A function of an instant, in the years that are documented."""
        ends = (None if e is None else f"IF({e} {_YEARS}, {function(e)}, NULL)" for e in (a.least, a.most))
        return self._of_ends(*ends, [a], kind)

    def _extreme(self, name: str, values: list[Values]) -> Values:
        """greatest or least, which leave NULLs out."""
        found = values[0]
        for other in values[1:]:
            if not specs.alike(found, other):
                return ANYTHING
            one = specs.union(specs.where(other.null, found), specs.where(found.null, other))
            # where both are values, the ends are those of the ends
            ends = [
                None if x is None or y is None else f"IF({x} IS NULL OR {y} IS NULL, NULL, {name}({x}, {y}))"
                for x, y in ((found.least, other.least), (found.most, other.most))
            ]
            together = Values(
                ends[0], ends[1], both(found.some, other.some), NO, either(found.fails, other.fails), found.kind
            )
            found = replace(specs.union(together, one), null=both(found.null, other.null))
        return found

    def _branches(
        self,
        node: exp.Case | exp.If,
        of: Callable[[exp.Expression], T],
        when: Callable[[str, T], T],
        union: Callable[[T, T], T],
        empty: T,
        nothing: T,
    ) -> T:
        """CASE and IF: the branches that can be reached."""
        branches = node.args.get("ifs") if isinstance(node, exp.Case) else [node]
        default = node.args.get("default" if isinstance(node, exp.Case) else "false")
        reached, found, fails = YES, nothing, NO
        for branch in branches:
            condition = self.truth(branch.this)
            fails = either(fails, both(reached, condition.fails))
            found = union(found, when(both(reached, condition.true), of(branch.args["true"])))
            reached = both(reached, either(condition.false, condition.null))
        found = union(found, when(reached, of(default) if default is not None else empty))
        return replace(found, fails=either(found.fails, fails))


def _kind(spark_type: str) -> str:
    if spark_type in _WHOLE:
        return INTEGER
    if spark_type.startswith("decimal"):
        return DECIMAL
    kinds = {"timestamp": INSTANT, "date": DATE, "timestamp_ntz": INSTANT, "float": "float", "double": "float"}
    return kinds.get(spark_type, spark_type)


#: what is of several rows, or another one each time
_NOT_OF_A_ROW = (exp.Query, exp.Subquery, exp.Window, exp.AggFunc)


def _is_truth(node: exp.Expression) -> bool:
    return isinstance(node.unnest(), (exp.Predicate, exp.Connector, exp.Not))
