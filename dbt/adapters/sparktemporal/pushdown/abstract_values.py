"""Abstract values: what an expression can be over the rows of a file, as SQL over the statistics of files.

    column ts        least: min_0, most: max_0, null: nulls_0 > 0, some: nulls_0 < mz_rows
    mz_now()         least and most: the ends of the range the clock can take

Every answer errs on the safe side: `true` where the statistics do not tell. An end that is NULL although there are
values is unknown, and nothing is concluded from an unknown end. Spark evaluates the SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..temporal.predicates.logic import mirrored, opposite
from ..temporal.sql.spark import decimals
from ..temporal.sql.spark.combined_types import digits
from ..temporal.sql.spark.timestamps import sql_type

YES, NO = "true", "false"
#: kinds of values; CONSTANT: a text that is a constant, NULL: a bare NULL
INTEGER, DECIMAL, INSTANT, DATE, LENGTH = "integer", "decimal", "instant", "date", "length"
CONSTANT, NULL = "constant", "null"


@dataclass(frozen=True)
class ValueRange:
    """The values that an expression may have over the rows of a file. All fields but the last two are SQL."""

    #: None where not known
    least: str | None = None
    #: None where not known
    most: str | None = None
    #: whether there may be a value
    some: str = YES
    #: whether there may be a NULL
    null: str = YES
    #: whether the evaluation may raise an error
    fails: str = YES
    #: a rough type
    kind: str = ""
    #: the Spark type, "" where not known
    type: str = ""

    @property
    def known(self) -> str:
        """SQL: whether both ends are known, where there are values."""
        if self.least is None or self.most is None:
            return NO
        return either(negated(self.some), f"(({self.least}) IS NOT NULL AND ({self.most}) IS NOT NULL)")

    def where(self, condition: str) -> ValueRange:
        """The range, over the rows alone for which a condition (SQL) may hold."""
        some, null, fails = (both(condition, part) for part in (self.some, self.null, self.fails))
        return replace(self, some=some, null=null, fails=fails)

    def union(self, other: ValueRange) -> ValueRange:
        """The hull of two ranges, for a value that is in one of them.

        A range without values adds no ends. Its type still matters: Spark compares a DATE beside a TIMESTAMP with a
        text in another way than a DATE alone.
        """
        one_type = self.type == other.type != "" or NULL in (self.kind, other.kind)
        some, null, common = either(self.some, other.some), either(self.null, other.null), common_type(self, other)
        if common is None or NO in (self.some, other.some) and not one_type:
            return ValueRange(None, None, some, null, YES)
        least = _hull("least", self, other, self.least, other.least)
        most = _hull("greatest", self, other, self.most, other.most)
        return ValueRange(least, most, some, null, either(self.fails, other.fails), *common)


@dataclass(frozen=True)
class Truth:
    """The truth values that a predicate may have over the rows of a file. Each field is SQL."""

    true: str = YES
    false: str = YES
    null: str = YES
    fails: str = YES

    def where(self, condition: str) -> Truth:
        """The truth values, over the rows alone for which a condition (SQL) may hold."""
        return Truth(*(both(condition, part) for part in (self.true, self.false, self.null, self.fails)))

    def union(self, other: Truth) -> Truth:
        """The truth values that either of two predicates may have."""
        one, two = ((of.true, of.false, of.null, of.fails) for of in (self, other))
        return Truth(*map(either, one, two))


#: any value, or an error
ANYTHING, ANY_TRUTH = ValueRange(), Truth()


def both(*parts: str) -> str:
    """SQL: the AND of conditions, without the conditions that always hold."""
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
    """SQL: whether a comparison of ends may hold. With an unknown end it may."""
    return YES if comparison is None else f"coalesce({comparison}, true)"


def compared(operator: str, a: ValueRange, b: ValueRange) -> Truth:
    """The truth of `a <operator> b`, for < <= > >= and =."""
    if not comparable(a, b):
        return ANY_TRUTH
    if operator in (">", ">="):
        return compared(mirrored(operator), b, a)
    values = both(a.some, b.some)
    null, fails = either(a.null, b.null, lost(a, b)), either(a.fails, b.fails)
    if operator == "=":
        apart = [_ends(a.most, "<", b.least), _ends(b.most, "<", a.least)]
        true = both(*(negated(f"coalesce({e}, false)") for e in apart if e is not None))
        ends = (a.least, a.most, b.least, b.most)
        one = None if None in ends else f"({a.least} = {a.most} AND {b.least} = {b.most} AND {a.least} = {b.least})"
        false = YES if one is None else f"NOT coalesce({one}, false)"
        return Truth(both(values, true), both(values, false), null, fails)
    true, false = may(_ends(a.least, operator, b.most)), may(_ends(a.most, opposite(operator), b.least))
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


#: kinds that Spark compares with each other, and whose values keep their order in such a comparison
_NUMBERS, _INSTANTS = frozenset([INTEGER, DECIMAL, "float"]), frozenset([INSTANT, DATE])
_TEXTS = frozenset(["string", CONSTANT])


def comparable(a: ValueRange, b: ValueRange) -> bool:
    """Whether Spark compares a and b in the order of their ends. False for a number and a column of texts.

    Spark casts a constant text to the type of the other side.
    """
    return NO in (a.some, b.some) or CONSTANT in (a.kind, b.kind) or common_type(a, b) is not None


def lost(a: ValueRange, b: ValueRange) -> str:
    """SQL: whether a constant text may be NULL (under ANSI rules: an error) when cast to the type of the other side."""
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


def common_type(*values: ValueRange) -> tuple[str, str] | None:
    """The kind and the type of values after Spark casts them to one type; None where the cast may change their order.

    The type is "" where not known. IN, CASE and coalesce cast numbers beside texts to texts, and round decimals that
    have too many digits for one type.
    """
    found = values[0].kind, values[0].type
    for other in values[1:]:
        common = _common(found, (other.kind, other.type))
        if common is None:
            return None
        found = common
    return found


def _common(a: tuple[str, str], b: tuple[str, str]) -> tuple[str, str] | None:
    (kind, named), (other, of_other) = a, b
    kinds = {kind, other}
    if NULL in kinds:
        return b if kind == NULL else a
    if kind == other == "" or kind != other and not any(kinds <= those for those in (_NUMBERS, _INSTANTS, _TEXTS)):
        return None
    # the lesser of two constant texts need not be the lesser one after the cast to the type of the other side
    wider = next((one for one in ("float", DECIMAL, INSTANT) if one in kinds), "string")
    wider = kind if kind == other != CONSTANT else wider
    if wider != DECIMAL:
        return wider, named if named == of_other else ""
    one, two = _digits(*a), _digits(*b)
    common = None if one is None or two is None else decimals.of_both(one, two)
    return None if common is None else (DECIMAL, f"decimal({common[0]},{common[1]})")


def _digits(kind: str, named: str) -> tuple[int, int] | None:
    """The digits of a number, and how many of them are after the point; None where not known."""
    return digits(named or ("bigint" if kind == INTEGER else ""))


def _hull(function: str, a: ValueRange, b: ValueRange, x: str | None, y: str | None) -> str | None:
    if a.some == NO:
        return y
    if b.some == NO:
        return x
    joined = end_of_both(function, x, y)
    if joined is None or a.some == YES and b.some == YES:
        return joined
    return f"CASE WHEN NOT ({b.some}) THEN {x} WHEN NOT ({a.some}) THEN {y} ELSE {joined} END"


def end_of_both(function: str, x: str | None, y: str | None) -> str | None:
    """SQL of the `least` or `greatest` of two ends; NULL where an end is NULL, None where an end is None.

    Such an end is unknown. Spark's functions alone would skip a NULL.
    """
    return None if x is None or y is None else f"IF({x} IS NULL OR {y} IS NULL, NULL, {function}({x}, {y}))"
