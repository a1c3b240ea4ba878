"""Monotone functions of ranges: for an increasing f, f([a, b]) = [f(a), f(b)].

    ts + interval 30 days, ts in [min_0, max_0]     [try_add(min_0, …), try_add(max_0, …)]

Spark computes the ends. The functions used give NULL in place of an error, or of a number that wrapped around. A NULL
end is unknown, and nothing is concluded from an unknown end. For a call that is not monotone for the kinds of its
arguments, the functions of this module give None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from sqlglot import exp

from ..temporal.predicates.constants import constant
from ..temporal.predicates.lengths import interval, is_below_a_day
from ..temporal.sql.functions.row import Function, Local, Picks, Takes
from ..temporal.sql.spark.combined_types import WHOLE
from ..temporal.sql.spark.timestamps import sql_type
from ..temporal.sql.spark.type_rules import of_literal
from ..temporal.sql.text.dialect import render
from . import abstract_values
from .abstract_values import ANYTHING, DATE, DECIMAL, INSTANT, INTEGER, LENGTH, NO, YES, ValueRange, both, either

#: the years that Spark documents
_YEARS = "BETWEEN TIMESTAMP_LTZ '0001-01-02 00:00:00Z' AND TIMESTAMP_LTZ '9999-12-30 00:00:00Z'"
#: the most days that are added to a date: far more days wrap around without an error
_MOST_DAYS = 3_000_000


def kind_of(spark_type: str) -> str:
    if spark_type in WHOLE:
        return INTEGER
    if spark_type.startswith("decimal"):
        return DECIMAL
    kinds = {"timestamp": INSTANT, "date": DATE, "timestamp_ntz": INSTANT, "float": "float", "double": "float"}
    return kinds.get(spark_type, spark_type)


def of_ends(least: str | None, most: str | None, of: Sequence[ValueRange], kind: str, named: str = "") -> ValueRange:
    """The range between computed ends. An end is NULL where Spark would raise, or the function is not monotone."""
    some, null = both(*(v.some for v in of)), either(*(v.null for v in of))
    found = ValueRange(least, most, some, null, either(*(v.fails for v in of)), kind, named)
    unknown = abstract_values.negated(found.known)
    return replace(found, null=either(null, unknown), fails=either(found.fails, unknown))


def each_end(a: ValueRange, function: Callable[[str], str], kind: str, named: str = "") -> ValueRange:
    """The range of an increasing function of a range. function: SQL of an end -> SQL of the function's value there."""
    least, most = (None if end is None else function(end) for end in (a.least, a.most))
    return of_ends(least, most, [a], kind, named)


def in_known_years(end: str, then: str) -> str:
    """SQL of the value `then` of an instant `end`; NULL if the instant is outside of the years that Spark documents."""
    return f"IF({end} {_YEARS}, {then}, NULL)"


def literal(node: exp.Expr) -> ValueRange | None:
    """The range of a constant: one value. None for an expression not known to have one value."""
    text = render(node)
    number = node.this if isinstance(node, exp.Neg) else node  # a minus is a part of the number
    if isinstance(number, exp.Literal) and (number is node or not number.is_string):
        named = of_literal(node)
        kind = abstract_values.CONSTANT if number.is_string else kind_of(named)
        return ValueRange(text, text, YES, NO, NO, kind, named)
    if isinstance(node, exp.Neg) and isinstance(node.this.unnest(), exp.Literal):
        value = literal(node.this.unnest())
        return None if value is None else replace(value, least=text, most=text)
    if isinstance(node, exp.Interval):
        span = interval(node)
        return None if span is None or span[0] != span[1] else ValueRange(text, text, YES, NO, NO, LENGTH)
    return _cast_of_literal(node) if isinstance(node, exp.Cast) else None


def _cast_of_literal(node: exp.Cast) -> ValueRange | None:
    of, to = node.this.unnest(), node.to.sql(dialect="spark").upper()
    takes = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ") if of.is_string else ("BIGINT", "INT")
    if not isinstance(of, exp.Literal) or to not in takes:
        return None
    end, named = f"TRY_CAST({render(node.this)} AS {to})", to.lower().replace("_ltz", "")
    return of_ends(end, end, [], kind_of(named), named)


def added(function: str, a: ValueRange, b: ValueRange, by: exp.Expr, fixed_zone: bool) -> ValueRange | None:
    """The range of a + b or a - b; None where not monotone. function: try_add or try_subtract. by: the node of b."""
    found = _sum(function, a, b, fixed_zone or is_below_a_day(by))
    if found is None:
        return None
    if a.least is None or a.most is None or b.least is None or b.most is None:
        return of_ends(None, None, [a, b], a.kind)
    low, high = (b.least, b.most) if function == "try_add" else (b.most, b.least)
    least, most = f"{function}({a.least}, {low})", f"{function}({a.most}, {high})"
    if found[0] == DATE:
        least, most = (
            in_known_years(end, f"IF({by} BETWEEN -{_MOST_DAYS} AND {_MOST_DAYS}, {then}, NULL)")
            for end, by, then in ((a.least, low, least), (a.most, high, most))
        )
    return of_ends(least, most, [a, b], *found)


def _sum(function: str, a: ValueRange, b: ValueRange, is_fixed: bool) -> tuple[str, str] | None:
    """The kind and the type of a sum or a difference; None where the ends of a and b do not give its ends.

    is_fixed: the length b is the same in every zone, or the zone has one offset.
    """
    numbers = (INTEGER, DECIMAL)
    if a.kind in numbers and b.kind in numbers:
        return (INTEGER, a.type if a.type == b.type else "") if DECIMAL not in (a.kind, b.kind) else (DECIMAL, "")
    if a.kind == DATE and b.kind == INTEGER:
        return DATE, a.type
    if a.kind in (INSTANT, DATE) and b.kind == LENGTH and is_fixed:
        return INSTANT, a.type if a.type == "timestamp" else ""
    # the difference of two instants is by local time, which goes back once a year
    if function == "try_subtract" and a.kind == b.kind == INSTANT and is_fixed:
        return LENGTH, ""
    return None


def multiplied(a: ValueRange, b: ValueRange) -> ValueRange | None:
    if a.kind != INTEGER or b.kind != INTEGER:
        return None
    if a.least is None or a.most is None or b.least is None or b.most is None:
        return of_ends(None, None, [a, b], INTEGER)
    corners = dict.fromkeys(f"try_multiply({x}, {y})" for x, y in product((a.least, a.most), (b.least, b.most)))
    unknown = " OR ".join(f"{c} IS NULL" for c in corners)
    least, most = (f"IF({unknown}, NULL, {f}(array({', '.join(corners)})))" for f in ("array_min", "array_max"))
    return of_ends(least, most, [a, b], INTEGER)


def negative(a: ValueRange) -> ValueRange | None:
    if a.kind != INTEGER or a.least is None or a.most is None:
        return None
    # 0 is an INT: the type of the sum is that of the argument only for INT and BIGINT
    same = f"typeof({a.least}) IN ('int', 'bigint')"
    least, most = (f"IF({same}, try_subtract(0, {end}), NULL)" for end in (a.most, a.least))
    return of_ends(least, most, [a], INTEGER)


def divided(a: ValueRange, by: exp.Expr) -> ValueRange | None:
    """The range of a DIV by a positive constant whole number; None for any other DIV."""
    divisor = constant(by)
    if a.kind != INTEGER or divisor is None or divisor < 1 or divisor % 1:
        return None
    return each_end(a, lambda end: f"({end} DIV {render(by)})", INTEGER)


def cast(a: ValueRange, to: str, fixed_zone: bool) -> ValueRange | None:
    to = to.replace("_ltz", "")
    of_number = a.kind in (INTEGER, DECIMAL) and (to in WHOLE or to.startswith("decimal"))
    of_instant = a.kind == INSTANT and (to in ("timestamp", "bigint") or to == "date" and fixed_zone)
    of_date = a.kind == DATE and to in ("date", "timestamp")
    if not (of_number or of_instant or of_date):
        return None
    return each_end(a, lambda end: f"TRY_CAST({end} AS {sql_type(to).upper()})", kind_of(to), to)


def of_call(called: Function, given: Sequence[exp.Expr], a: ValueRange, fixed_zone: bool) -> ValueRange | None:
    """The range of a call that increases with one argument, the others constant; None where nothing follows.

    a: the range of the argument with which the call increases.
    """
    if not called.at_ends or called.increasing is None or not _is_constant(called, given):
        return None

    def call(end: str) -> str:
        texts = [end if i == called.increasing else render(argument) for i, argument in enumerate(given)]
        return f"{called.name}({', '.join(texts)})"

    if called.takes is Takes.NUMBER:
        return each_end(a, call, DECIMAL) if a.kind in (INTEGER, DECIMAL) else None
    kind = kind_of(called.type)
    named = called.type if kind in (INSTANT, DATE) else ""
    if called.takes is Takes.INTEGER:
        far = called.farthest
        within = f"BETWEEN -{far}L AND {far}L"
        found = each_end(a, lambda end: f"IF({end} {within}, {call(end)}, NULL)", kind, named)
        return found if a.kind == INTEGER else None
    has_zone = called.local is not Local.NOTHING and not (a.kind == DATE and kind != INSTANT)
    if a.kind not in (INSTANT, DATE) or has_zone and not fixed_zone:
        return None
    return each_end(a, lambda end: in_known_years(end, call(end)), kind, named)


def _is_constant(called: Function, given: Sequence[exp.Expr]) -> bool:
    """Whether the other argument, an amount or a unit, is a constant for which Spark may compute the function."""
    if called.amount is not None:
        count = constant(given[called.amount])
        return count is not None and abs(count) <= _MOST_DAYS
    return called.unit is None or given[called.unit].is_string


def extreme(picked: Picks, values: Sequence[ValueRange]) -> ValueRange:
    """The range of greatest or least, which skip NULLs."""
    name = picked.name.lower()
    found = values[0]
    for other in values[1:]:
        if abstract_values.common_type(found, other) is None:
            return ANYTHING
        one = found.where(other.null).union(other.where(found.null))
        # where both are values: greatest([a, b], [c, d]) = [greatest(a, c), greatest(b, d)]
        least, most = (
            abstract_values.end_of_both(name, x, y) for x, y in ((found.least, other.least), (found.most, other.most))
        )
        fails = either(found.fails, other.fails)
        together = ValueRange(least, most, both(found.some, other.some), NO, fails, one.kind, one.type)
        found = replace(together.union(one), null=both(found.null, other.null))
    return found
