"""What an expression can be over the rows of a part: SQL over the statistics of parts, which Spark evaluates itself.

    column ts        least: min_0, most: max_0, null: nulls_0 > 0, some: nulls_0 < mz_rows
    mz_now()         least and most: the ends of the range the clock can take

What is said is never too little: `true`, wherever it cannot be known. An end that is NULL, though there are values, is
one that is not known; nothing is concluded from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..temporal.sql.timestamps import sql_type

YES, NO = "true", "false"
#: kinds of values; those of a text that is a constant, and of a bare NULL
INTEGER, DECIMAL, INSTANT, DATE, LENGTH = "integer", "decimal", "instant", "date", "length"
CONSTANT, NULL = "constant", "null"


@dataclass(frozen=True)
class ValueRange:
    """least, most: SQL of the ends, None where there is none to be known. The others are SQL of truth values.

    some: it may be a value; null: it may be NULL; fails: to evaluate it may be an error. kind: its type, roughly; type:
    exactly, "" where that is not known.
    """

    least: str | None = None
    most: str | None = None
    some: str = YES
    null: str = YES
    fails: str = YES
    kind: str = ""
    type: str = ""

    @property
    def known(self) -> str:
        """Whether both ends are known where there are values at all."""
        if self.least is None or self.most is None:
            return NO
        return either(negated(self.some), f"(({self.least}) IS NOT NULL AND ({self.most}) IS NOT NULL)")


@dataclass(frozen=True)
class Truth:
    """What a truth value may be: each is SQL."""

    true: str = YES
    false: str = YES
    null: str = YES
    fails: str = YES


#: anything at all, errors too
ANYTHING, ANY_TRUTH = ValueRange(), Truth()


def both(*parts: str) -> str:
    """AND, with what is certain left out."""
    kept = list(dict.fromkeys(p for p in parts if p != YES))
    if NO in kept:
        return NO
    return f"({' AND '.join(kept)})" if len(kept) > 1 else kept[0] if kept else YES


def either(*parts: str) -> str:
    kept = list(dict.fromkeys(p for p in parts if p != NO))
    if YES in kept:
        return YES
    return f"({' OR '.join(kept)})" if len(kept) > 1 else kept[0] if kept else NO


def negated(part: str) -> str:
    return {YES: NO, NO: YES}.get(part, f"NOT ({part})")


def may(comparison: str | None) -> str:
    """A comparison of ends; one with an end that is not known may hold."""
    return YES if comparison is None else f"coalesce({comparison}, true)"


def compared(operator: str, a: ValueRange, b: ValueRange) -> Truth:
    """a <operator> b, for < <= > >= and =."""
    if not comparable(a, b):
        return ANY_TRUTH
    if operator in (">", ">="):
        return compared({">": "<", ">=": "<="}[operator], b, a)
    values = both(a.some, b.some)
    null, fails = either(a.null, b.null, lost(a, b)), either(a.fails, b.fails)
    if operator == "=":
        apart = [_ends(a.most, "<", b.least), _ends(b.most, "<", a.least)]
        true = both(*(negated(f"coalesce({e}, false)") for e in apart if e is not None))
        ends = (a.least, a.most, b.least, b.most)
        one = None if None in ends else f"({a.least} = {a.most} AND {b.least} = {b.most} AND {a.least} = {b.least})"
        false = YES if one is None else f"NOT coalesce({one}, false)"
        return Truth(both(values, true), both(values, false), null, fails)
    beyond = {"<": ">=", "<=": ">"}[operator]
    true, false = may(_ends(a.least, operator, b.most)), may(_ends(a.most, beyond, b.least))
    return Truth(both(values, true), both(values, false), null, fails)


def _ends(a: str | None, operator: str, b: str | None) -> str | None:
    return None if a is None or b is None else f"{a} {operator} {b}"


def and_(a: Truth, b: Truth) -> Truth:
    null = either(both(a.null, either(b.true, b.null)), both(b.null, either(a.true, a.null)))
    return Truth(both(a.true, b.true), either(a.false, b.false), null, either(a.fails, b.fails))


def not_(a: Truth) -> Truth:
    return Truth(a.false, a.true, a.null, a.fails)


def or_(a: Truth, b: Truth) -> Truth:
    return not_(and_(not_(a), not_(b)))


def either_truth(a: Truth, b: Truth) -> Truth:
    """One of the two."""
    return Truth(either(a.true, b.true), either(a.false, b.false), either(a.null, b.null), either(a.fails, b.fails))


def when(condition: str, a: Truth) -> Truth:
    """A truth that counts only where a condition may hold."""
    return Truth(both(condition, a.true), both(condition, a.false), both(condition, a.null), both(condition, a.fails))


#: kinds of values that Spark compares by one of them, in the order of both
_NUMBERS, _INSTANTS = frozenset([INTEGER, DECIMAL, "float"]), frozenset([INSTANT, DATE])
_TEXTS = frozenset(["string", CONSTANT])
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10}
#: that a DECIMAL of Spark has at most
MOST_DIGITS = 38


def comparable(a: ValueRange, b: ValueRange) -> bool:
    """Whether the two are compared in the order of their ends: a number and a text in digits are not.

    A text that is a constant is made what the other is.
    """
    return NO in (a.some, b.some) or CONSTANT in (a.kind, b.kind) or alike(a, b)


def lost(a: ValueRange, b: ValueRange) -> str:
    """Whether a text that is a constant may be NULL (under ANSI rules: an error) when it is made what the other is."""
    text, other = (a, b) if a.kind == CONSTANT else (b, a)
    if text.kind != CONSTANT or other.kind in (*_TEXTS, NULL):
        return NO
    types = {
        INTEGER: [other.type or "tinyint"], DECIMAL: [other.type, "double"], "float": [other.type or "float"],
        INSTANT: ["date", "timestamp"], DATE: ["date", "timestamp"],
    }.get(other.kind)  # fmt: skip
    ends = dict.fromkeys(end for end in (text.least, text.most) if end is not None)
    if types is None or not ends:
        return YES
    return either(*(f"(TRY_CAST({end} AS {sql_type(to).upper()}) IS NULL)" for end in ends for to in types if to))


def alike(a: ValueRange, b: ValueRange) -> bool:
    """Whether both stay in their order where all are made one type: IN, CASE and coalesce make texts of numbers, and
    round decimals where their digits are too many for one.
    """
    kinds = {a.kind, b.kind}
    if NULL in kinds:
        return True
    ordered = any(kinds <= those for those in (_NUMBERS, _INSTANTS, _TEXTS)) or a.kind == b.kind != ""
    return ordered and _type_of_both(a, b) is not None


def all_alike(values: Sequence[ValueRange]) -> bool:
    """The same of several."""
    found = values[0]
    for other in values[1:]:
        if not alike(found, other):
            return False
        found = replace(found, kind=_kind_of_both(found, other), type=_type_of_both(found, other) or "")
    return True


def _type_of_both(a: ValueRange, b: ValueRange) -> str | None:
    """The type that both are made; "" where it is not known, None where a decimal may be rounded in it."""
    if NULL in (a.kind, b.kind):
        return b.type if a.kind == NULL else a.type
    if DECIMAL not in (a.kind, b.kind) or "float" in (a.kind, b.kind):
        return a.type if a.type == b.type else ""
    digits = [_digits(v) for v in (a, b)]
    known = [d for d in digits if d is not None]
    if len(known) < 2:
        return None
    whole, scale = max(d[0] for d in known), max(d[1] for d in known)
    return f"decimal({whole + scale},{scale})" if whole + scale <= MOST_DIGITS else None


def _digits(value: ValueRange) -> tuple[int, int] | None:
    """Of a number: before the point and after it."""
    if value.kind == INTEGER:
        return _WHOLE_DIGITS.get(value.type, 20), 0
    told = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", value.type)
    return (int(told[1]) - int(told[2]), int(told[2])) if told else None


def union(a: ValueRange, b: ValueRange) -> ValueRange:
    """One of the two: the hull of what they may be.

    The ends of one that never counts are left out, and its type with them: a DATE beside a TIMESTAMP is compared with a
    text otherwise than a DATE alone.
    """
    one_type = a.type == b.type != "" or NULL in (a.kind, b.kind)
    if not alike(a, b) or NO in (a.some, b.some) and not one_type:
        return ValueRange(None, None, either(a.some, b.some), either(a.null, b.null), YES)
    return ValueRange(
        _hull("least", a, b, a.least, b.least),
        _hull("greatest", a, b, a.most, b.most),
        either(a.some, b.some),
        either(a.null, b.null),
        either(a.fails, b.fails),
        _kind_of_both(a, b),
        _type_of_both(a, b) or "",
    )


def _kind_of_both(a: ValueRange, b: ValueRange) -> str:
    if NULL in (a.kind, b.kind):
        return b.kind if a.kind == NULL else a.kind
    if a.kind == b.kind != CONSTANT:
        return a.kind
    # of two constants one is the least as a text, which it need not be as what they are compared with
    wider = ("float", DECIMAL, INSTANT)
    return next((kind for kind in wider if kind in (a.kind, b.kind)), "string")


def _hull(function: str, a: ValueRange, b: ValueRange, x: str | None, y: str | None) -> str | None:
    if a.some == NO:
        return y
    if b.some == NO:
        return x
    if x is None or y is None:
        return None
    # least and greatest leave NULL out, and NULL is not known
    joined = f"IF({x} IS NULL OR {y} IS NULL, NULL, {function}({x}, {y}))"
    if a.some == YES and b.some == YES:
        return joined
    return f"CASE WHEN NOT ({b.some}) THEN {x} WHEN NOT ({a.some}) THEN {y} ELSE {joined} END"


def where(condition: str, a: ValueRange) -> ValueRange:
    """Values that count only where a condition may hold."""
    return replace(a, some=both(condition, a.some), null=both(condition, a.null), fails=both(condition, a.fails))
