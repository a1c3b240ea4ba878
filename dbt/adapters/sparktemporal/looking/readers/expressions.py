"""Expressions of a residual: Spark's text -> another engine's, each with its kind.

Only what both engines compute alike is translated; everything else is refused. An operation that would have another
type, precision or rounding there is cast to Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ...errors import Refusal
from ...temporal.predicates.lengths import interval, is_below_a_day
from ...temporal.predicates.logic import PredicateVisitor, branches_of, comparison, is_null
from ...temporal.sql.functions.row import DAY
from . import conversions, kinds
from .dialects import FLOATS, SKIPS_NULLS, Dialect, literal, quote
from .kinds import (
    BIGINT,
    BOOL,
    DATE,
    DECIMAL,
    EQUAL,
    FLOAT,
    INSTANT,
    INT,
    NUMBERS,
    TEXT,
    TRUTH,
    Kind,
    Typed,
)

_NULL_SAFE = {"=": "IS NOT DISTINCT FROM", "<>": "IS DISTINCT FROM"}
_CHOICES: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_PARTS: dict[type[exp.Expr], str] = {
    exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second", exp.Year: "year", exp.Month: "month",
    exp.Quarter: "quarter", exp.Day: "day", exp.DayOfMonth: "day",
}  # fmt: skip
_OF_A_TIME = (exp.Hour, exp.Minute, exp.Second)
#: the longest interval (µs) that is translated
_FARTHEST = 10**6 * DAY
_UTC = ("utc", "etc/utc", "gmt", "z", "+00:00")


@dataclass(frozen=True)
class Session:
    """The Spark session whose answers an engine must give, and the engine."""

    #: SQL of the instant of the read (ms)
    t: str
    #: whether Spark has ANSI mode
    ansi: bool
    #: Spark's time zone
    zone: str
    #: the SQL of the engine
    dialect: Dialect


def refusal(node: exp.Expr, why: str) -> Refusal:
    return Refusal(
        "ST801",
        f"{node.sql(dialect='spark')} in what a read evaluates",
        why,
        "the expression as a column of an inner query that reads no clock, which is stored; or a read by Spark",
    )


@dataclass
class Expressions(PredicateVisitor[str]):
    """Translates expressions of a query."""

    session: Session
    #: alias of a source -> its columns
    names: Mapping[str, Mapping[str, Kind]]
    #: translates expressions of the outer query
    above: Expressions | None = None
    #: translates other expressions, such as aggregates; gives None for an expression that it does not know
    further: Callable[[exp.Expr, Expressions], Typed | None] | None = None

    @property
    def dialect(self) -> Dialect:
        return self.session.dialect

    def of(self, node: exp.Expr) -> Typed:
        """Translate an expression. Raises Refusal if it is not known to be the same in both engines."""
        if isinstance(node, exp.Paren):
            return self.of(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        found = self._constant(node) or self._truth(node) or self._number(node) or self._branch(node)
        found = found or self._instant(node) or (self.further(node, self) if self.further else None)
        if found is None:
            raise refusal(node, f"no translation of it is known to give the same in {self.dialect.name}")
        return found

    def alike(self, nodes: list[exp.Expr], compared: bool = True) -> tuple[list[str], Kind]:
        """Translate values, cast to their common kind -> (their SQL, the kind). Raises Refusal where there is none.

        compared: whether the values are compared with each other.
        """
        found = [self.of(node) for node in nodes]
        kind = kinds.common([k for _, k in found])
        if kind is None or kind.name not in (*EQUAL, kinds.NULL) or compared and not self.compares(kind):
            raise refusal(
                nodes[0].parent or nodes[0],
                f"its operands are of types that {self.dialect.name} does not compare as Spark",
            )
        same = (k == kind or kind.name not in NUMBERS for _, k in found)
        return [sql if s else f"CAST({sql} AS {self.dialect.type(kind)})" for s, (sql, _) in zip(same, found)], kind

    def compares(self, kind: Kind) -> bool:
        """Whether the engine compares values of a kind as Spark does."""
        return kind.name != FLOAT or FLOATS not in self.dialect.lacks

    def _column(self, node: exp.Column) -> Typed:
        env: Expressions | None = self
        while env is not None:
            kind = env.names.get(node.table, {}).get(node.name)
            if kind is not None:
                return f"{quote(node.table)}.{quote(node.name)}", kind
            env = env.above
        raise refusal(node, "where it comes from is not known")

    def _constant(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.Null):
            return "NULL", Kind(kinds.NULL)
        if isinstance(node, exp.Boolean):
            return ("true" if node.this else "false"), TRUTH
        if isinstance(node, exp.Literal):
            return (literal(node.name), Kind(TEXT)) if node.is_string else conversions.number(node, self.dialect)
        if isinstance(node, exp.Anonymous) and not node.expressions:
            if node.name.lower() == "mz_now_timestamp":
                return self.dialect.instant.format(ms=self.session.t), Kind(INSTANT)
            if node.name.lower() == "mz_now_bigint":
                return f"CAST({self.session.t} AS BIGINT)", BIGINT
        return None

    # -- truth values --

    def and_(self, left: str, right: str) -> str:
        return f"({left} AND {right})"

    def or_(self, left: str, right: str) -> str:
        return f"({left} OR {right})"

    def is_true(self, node: exp.Expr) -> str:
        return self.leaf(node, False)

    def leaf(self, node: exp.Expr, inverted: bool) -> str:
        sql, kind = self.of(node)
        if kind.name not in (BOOL, kinds.NULL):
            raise refusal(node, f"Spark makes a boolean of it, in a way that {self.dialect.name} does not")
        return f"(NOT {sql})" if inverted else sql

    def _truth(self, node: exp.Expr) -> Typed | None:
        is_range = isinstance(node, exp.Between) and not node.args.get("symmetric")
        if is_range or isinstance(node, (exp.And, exp.Or, exp.Not)):
            return self.visit(node), TRUTH
        if isinstance(node, exp.Is):
            return self._is(node)
        if (found := comparison(node)) is not None:
            (one, other), _ = self.alike([found.left, found.right])
            return f"({one} {_NULL_SAFE[found.operator] if found.null_safe else found.operator} {other})", TRUTH
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            (value, *items), _ = self.alike([node.this, *node.expressions])
            return f"({value} IN ({', '.join(items)}))", TRUTH
        return None

    def _is(self, node: exp.Is) -> Typed:
        value, _ = self.of(node.this)
        if is_null(node.expression):
            return f"({value} IS NULL)", TRUTH
        if isinstance(node.expression, exp.Boolean):
            truth = "TRUE" if node.expression.this else "FALSE"
            return self.dialect.truth.format(value=self.visit(node.this), truth=truth), TRUTH
        raise refusal(node, "IS is translated for NULL, TRUE and FALSE alone")

    # -- numbers --

    def _number(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, (exp.Neg, exp.Abs)):
            value, kind = self.of(node.this)
            sql = f"(-{value})" if isinstance(node, exp.Neg) else f"abs({value})"
            return (sql, kind) if kind.name in NUMBERS else None
        operator = _ARITHMETIC.get(type(node))
        if operator is None or not isinstance(node, exp.Binary) or isinstance(node.right, exp.Interval):
            return None
        (one, a), (other, b) = self.of(node.left), self.of(node.right)
        if DECIMAL in (a.name, b.name):  # beside a decimal a whole number has the digits that are written
            a, b = conversions.beside_decimal(node.left, a), conversions.beside_decimal(node.right, b)
        result = kinds.arithmetic(type(node).__name__, a, b)
        return None if result is None else self._computed(operator, (one, a), (other, b), result)

    def _computed(self, operator: str, one: Typed, other: Typed, kind: Kind) -> Typed | None:
        a, b = (self._as_operand(value, kind) for value in (one, other))
        if a is None or b is None:
            return None
        divides, of_type = operator in "/%", self.dialect.type(kind)
        if operator == "/" and kind.name == DECIMAL:
            found = conversions.quotient(one, other, kind, self.dialect)
        else:
            found = f"({a} {operator} {b})" if kind.name == FLOAT else f"CAST({a} {operator} {b} AS {of_type})"
            if kind.name == DECIMAL and kind.digits > 18 and one[1].digits <= 18:
                # DuckDB computes with 18 digits while both operands have as few
                wide = Kind(DECIMAL, 19, one[1].scale)
                found = f"CAST(CAST({a} AS {self.dialect.type(wide)}) {operator} {b} AS {of_type})"
        if not divides or found is None:
            return None if found is None else (found, kind)
        if not self.session.ansi:
            return f"CASE WHEN {b} = 0 THEN CAST(NULL AS {of_type}) ELSE {found} END", kind
        # NULL divided by zero is NULL by ANSI rules too
        by_zero = self.dialect.raised("division by zero", of_type)
        return f"CASE WHEN {a} IS NOT NULL AND {b} = 0 THEN {by_zero} ELSE {found} END", kind

    def _as_operand(self, value: Typed, result: Kind) -> str | None:
        sql, kind = value
        if result.name == DECIMAL:
            return sql if kind.name == DECIMAL else f"CAST({sql} AS DECIMAL({kind.digits},0))"
        return sql if kind == result else conversions.cast(sql, kind, result, self.dialect)

    # -- choices --

    def _branch(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, (exp.If, exp.Case)):
            branches, default = branches_of(node)
            ifs = [(branch.this, branch.args["true"]) for branch in branches]
            if isinstance(node, exp.Case) and node.this is not None:
                ifs = [(exp.EQ(this=node.this.copy(), expression=value.copy()), then) for value, then in ifs]
            return self._case(ifs, default)
        if isinstance(node, (exp.Greatest, exp.Least)) and SKIPS_NULLS in self.dialect.lacks:
            return None
        if type(node) in _CHOICES:
            values, kind = self.alike([node.this, *node.expressions], type(node) is not exp.Coalesce)
            return f"{_CHOICES[type(node)]}({', '.join(values)})", kind
        if isinstance(node, exp.Nullif):
            (one, other), _ = self.alike([node.this, node.expression])
            value, kind = self.of(node.this)
            return f"CASE WHEN {one} = {other} THEN NULL ELSE {value} END", kind
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return self._cast(node)
        return self._concat(node) if type(node) in (exp.DPipe, exp.Concat) else None  # concat_ws is a Concat too

    def _concat(self, node: exp.Expr) -> Typed | None:
        parts = [node.left, node.right] if isinstance(node, exp.DPipe) else node.expressions
        found = [self.of(part) for part in parts]
        if any(kind.name != TEXT for _, kind in found):
            return None
        return f"({' || '.join(sql for sql, _ in found)})", Kind(TEXT)

    def _case(self, ifs: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> Typed:
        values, kind = self.alike([*(then for _, then in ifs), default or exp.Null()], compared=False)
        branches = " ".join(f"WHEN {self.visit(when)} THEN {then}" for (when, _), then in zip(ifs, values))
        return f"CASE {branches} ELSE {values[-1]} END", kind

    def _cast(self, node: exp.Cast | exp.TryCast) -> Typed | None:
        value, kind = self.of(node.this)
        to = Kind.of(node.to.sql(dialect="spark"))
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            return conversions.day(node.this.name) if to.name == DATE else None
        found = (
            self._local_date(value, kind)
            if (kind.name, to.name) == (INSTANT, DATE)
            else conversions.cast(value, kind, to, self.dialect)
        )
        return None if found is None else (found, to)

    # -- instants --

    def _instant(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.UnixMillis):
            value, kind = self.of(node.this)
            millis = self.dialect.millis
            return (millis.format(at=value), BIGINT) if kind.name == INSTANT and millis else None
        if type(node) in _PARTS:
            # sqlglot wraps the operand of parts of a date. Below parts of a time, the wrapper is the user's to_date(ts)
            wrapped = isinstance(node.this, exp.TsOrDsToDate) and type(node) not in _OF_A_TIME
            value, kind = self.of(node.this.this if wrapped else node.this)
            # a day begins later than at 0:00 where clocks are set forward at midnight
            is_local = kind.name == kinds.LOCAL or kind.name == DATE and type(node) not in _OF_A_TIME
            local = value if is_local else self._local(value, kind)
            return None if local is None else (f"CAST({_PARTS[type(node)]}({local}) AS INTEGER)", Kind(INT, 10))
        if isinstance(node, (exp.Add, exp.Sub)):
            return self._moved(node)
        return None

    def _moved(self, node: exp.Add | exp.Sub) -> Typed | None:
        """An instant plus or minus an interval of fixed length; None for anything else."""
        by = node.right
        length = interval(by) if isinstance(by, exp.Interval) else None
        if length is None or length[0] != length[1] or abs(length[0]) > _FARTHEST:
            return None
        value, kind = self.of(node.left)
        if kind.name != INSTANT or not (is_below_a_day(by) or self.session.zone.lower() in _UTC):
            return None
        micros = length[0] if isinstance(node, exp.Add) else -length[0]
        return None if micros % self.dialect.shortest else (self.dialect.moved.format(at=value, micros=micros), kind)

    def _local(self, value: str, kind: Kind) -> str | None:
        """An instant as local time; None for a value of another kind, and in a zone other than UTC."""
        is_known = kind.name == INSTANT and self.session.zone.lower() in _UTC
        return self.dialect.local.format(at=value) if is_known else None

    def _local_date(self, value: str, kind: Kind) -> str | None:
        local = self._local(value, kind)
        return None if local is None else f"CAST({local} AS DATE)"
