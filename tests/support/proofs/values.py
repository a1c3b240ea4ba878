"""Values of Spark: a kind, a whole number (or what else stands for the value), and whether the value is NULL.

| kind | stands for the value |
|---|---|
| timestamp | µs since 1970 in UTC |
| timestamp_ntz | µs since 1970, of local time |
| date | days since 1970 |
| int, bigint | the number |
| decimal:s | the number, times 10 to the power of s |
| days, daytime, months, calendar | the length: µs; µs; months; (months, days, µs) |
| double, string, boolean, array, struct | as Python has them |
| void | a NULL without a type |

A number is one of Python, or a term of z3: the operations here take both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import z3

SECOND, DAY = 1_000_000, 86_400_000_000


class Unproved(Exception):
    """SQL without a meaning here: nothing about it is proved."""


class V(NamedTuple):
    kind: str
    x: Any
    null: Any = False


NULL = V("void", 0, True)


def is_term(x: Any) -> bool:
    return isinstance(x, z3.ExprRef)


def no(a: Any) -> Any:
    return z3.Not(a) if is_term(a) else not a


def both(*parts: Any) -> Any:
    terms = [part for part in parts if part is not True]
    if any(part is False for part in terms):
        return False
    return True if not terms else terms[0] if len(terms) == 1 else z3.And(*terms)


def either(*parts: Any) -> Any:
    return no(both(*map(no, parts)))


def ite(test: Any, a: Any, b: Any) -> Any:
    if test is True or test is False:
        return a if test else b
    if a is b:
        return a
    return z3.If(test, a, b)


def chosen(test: Any, a: V, b: V) -> V:
    """`a` where the test holds, else `b`."""
    if test is True or test is False:
        return a if test else b
    kind = a.kind if b.kind == "void" else b.kind if a.kind == "void" else wider(a.kind, b.kind)
    a, b = as_kind(a, kind), as_kind(b, kind)
    if kind == "struct":
        return V(kind, {name: chosen(test, a.x[name], b.x[name]) for name in a.x}, ite(test, a.null, b.null))
    return V(kind, ite(test, a.x, b.x), ite(test, a.null, b.null))


def truth(a: V) -> Any:
    """Whether a boolean is TRUE."""
    return both(no(a.null), a.x)


def div(a: Any, n: int) -> Any:
    """Rounded down. n > 0."""
    return a / n if is_term(a) else a // n


def mod(a: Any, n: int) -> Any:
    return a % n


def towards_zero(a: Any, n: int) -> Any:
    return ite(a >= 0, div(a, n), -div(-a, n))


def wrapped(a: Any, bits: int) -> Any:
    """As a whole number of so many bits wraps around."""
    half = 1 << (bits - 1)
    inside = both(a >= -half, a < half)
    return ite(inside, a, mod(a + half, 2 * half) - half)


def scale_of(kind: str) -> int:
    return int(kind.partition(":")[2])


NUMBERS = ("int", "bigint", "decimal", "double")


def is_number(kind: str) -> bool:
    return kind.partition(":")[0] in NUMBERS


def wider(one: str, other: str) -> str:
    """The kind to which Spark casts both sides of a comparison, or the branches of a CASE."""
    if one == other:
        return one
    pair = {one, other}
    if "void" in pair:
        return (pair - {"void"}).pop()
    if is_number(one) and is_number(other):
        if "double" in pair:
            return "double"
        if any(kind.startswith("decimal") for kind in pair):
            return f"decimal:{max(scale_of(kind) if kind.startswith('decimal') else 0 for kind in pair)}"
        return "bigint"
    for instants in (("timestamp", "timestamp_ntz"), ("timestamp", "date"), ("timestamp_ntz", "date")):
        if pair == {*instants}:
            return instants[0]
    if pair == {"days", "daytime"}:
        return "daytime"
    if "string" in pair and pair & {"timestamp", "date", "timestamp_ntz"}:
        return (pair - {"string"}).pop()
    raise Unproved(f"{one} beside {other}")


def as_kind(a: V, kind: str) -> V:
    """A number as a wider kind. Instants are cast by `functions`."""
    if a.kind == kind or a.kind == "void":
        return a if a.kind == kind else V(kind, {"struct": {}, "boolean": False}.get(kind, 0), a.null)
    if kind == "double":
        x = z3.ToReal(a.x) if is_term(a.x) else float(a.x)
        return V(kind, x / 10 ** scale_of(a.kind) if a.kind.startswith("decimal") else x, a.null)
    if kind.startswith("decimal"):
        by = scale_of(kind) - (scale_of(a.kind) if a.kind.startswith("decimal") else 0)
        return V(kind, a.x * 10**by, a.null)
    if {a.kind, kind} <= {"int", "bigint"} or {a.kind, kind} == {"days", "daytime"}:
        return V(kind, a.x, a.null)
    raise Unproved(f"{a.kind} as {kind}")
