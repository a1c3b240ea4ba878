"""What an expression can be over the rows of a part: SQL over the statistics of parts, which Spark evaluates itself.

    column ts        least: min_0, most: max_0, null: nulls_0 > 0, some: nulls_0 < mz_rows
    mz_now()         least and most: the ends of the range the clock can take

What is said is never too little: `true`, wherever it cannot be known. An end that is NULL, though there are values, is
one that is not known; nothing is concluded from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

YES, NO = "true", "false"
#: kinds of values; those of a text that is a constant, and of a bare NULL
INTEGER, DECIMAL, INSTANT, DATE, LENGTH = "integer", "decimal", "instant", "date", "length"
CONSTANT, NULL = "constant", "null"


@dataclass(frozen=True)
class Values:
    """least, most: SQL of the ends, None where there is none to be known. The others are SQL of truth values.

    some: it may be a value; null: it may be NULL; fails: to evaluate it may be an error. kind: its type, roughly.
    """

    least: str | None = None
    most: str | None = None
    some: str = YES
    null: str = YES
    fails: str = YES
    kind: str = ""

    @property
    def known(self) -> str:
        """Whether both ends are known where there are values at all."""
        if self.least is None or self.most is None:
            return NO
        return either(negated(self.some), f"({self.least}) IS NOT NULL AND ({self.most}) IS NOT NULL")


@dataclass(frozen=True)
class Truth:
    """What a truth value may be: each is SQL."""

    true: str = YES
    false: str = YES
    null: str = YES
    fails: str = YES


#: anything at all, errors too
ANYTHING, ANY_TRUTH = Values(), Truth()


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
    return {YES: NO, NO: YES}.get(part, f"NOT {part}" if part.startswith("(") else f"NOT ({part})")


def may(comparison: str | None) -> str:
    """A comparison of ends; one with an end that is not known may hold."""
    return YES if comparison is None else f"coalesce({comparison}, true)"


def compared(operator: str, a: Values, b: Values) -> Truth:
    """a <operator> b, for < <= > >= and =."""
    if not comparable(a, b):
        return ANY_TRUTH
    if operator in (">", ">="):
        return compared({">": "<", ">=": "<="}[operator], b, a)
    values = both(a.some, b.some)
    null, fails = either(a.null, b.null), either(a.fails, b.fails)
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


def comparable(a: Values, b: Values) -> bool:
    """Whether the two are compared in the order of their ends: a number and a text in digits are not.

    A text that is a constant is made what the other is.
    """
    return NO in (a.some, b.some) or CONSTANT in (a.kind, b.kind) or alike(a, b)


def alike(a: Values, b: Values) -> bool:
    """Whether both stay in their order where all are made one type: IN, CASE and coalesce make texts of numbers."""
    kinds = {a.kind, b.kind}
    return NULL in kinds or any(kinds <= those for those in (_NUMBERS, _INSTANTS, _TEXTS)) or a.kind == b.kind != ""


def union(a: Values, b: Values) -> Values:
    """One of the two: the hull of what they may be.

    The ends of one that never counts are left out, and its type with them: a DATE beside a TIMESTAMP is compared with a
    text otherwise than a DATE alone.
    """
    one_type = a.kind == b.kind or NULL in (a.kind, b.kind)
    if not alike(a, b) or NO in (a.some, b.some) and not one_type:
        return Values(None, None, either(a.some, b.some), either(a.null, b.null), YES)
    return Values(
        _hull("least", a, b, a.least, b.least),
        _hull("greatest", a, b, a.most, b.most),
        either(a.some, b.some),
        either(a.null, b.null),
        either(a.fails, b.fails),
        _kind_of_both(a, b),
    )


def _kind_of_both(a: Values, b: Values) -> str:
    if NULL in (a.kind, b.kind):
        return b.kind if a.kind == NULL else a.kind
    if a.kind == b.kind != CONSTANT:
        return a.kind
    # of two constants one is the least as a text, which it need not be as what they are compared with
    wider = ("float", DECIMAL, INSTANT)
    return next((kind for kind in wider if kind in (a.kind, b.kind)), "string")


def _hull(function: str, a: Values, b: Values, x: str | None, y: str | None) -> str | None:
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


def where(condition: str, a: Values) -> Values:
    """Values that count only where a condition may hold."""
    return replace(a, some=both(condition, a.some), null=both(condition, a.null), fails=both(condition, a.fails))
