"""Combine types as Spark does: for the branches of a CASE, for a sum, for a product.

date, timestamp -> timestamp       decimal(10,2) * int -> decimal(21,2)       date - date -> interval day
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ..functions.types import CALENDAR, DAYS, MONTHS
from ..text.grammar import NUMBER
from . import decimals

#: the type of NULL
VOID = "void"
WHOLE = ("tinyint", "smallint", "int", "bigint")
BROKEN = ("float", "double")
TIMES = ("date", "timestamp_ntz", "timestamp")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
#: a type of intervals has some fields of one of these two, one after the other
FIELDS = (("year", "month"), ("day", "hour", "minute", "second"))


# -- intervals -------------------------------------------------------------------------------------------------------


def fields_of(kind: str) -> tuple[tuple[str, ...], int, int] | None:
    """A type of intervals -> (the item of `FIELDS` with its fields, the index of its first field, of its last field).

    None for any other type.
    """
    words = kind.split()
    for fields in FIELDS:
        if words[:1] == ["interval"] and len(words) > 1 and words[1] in fields:
            return fields, fields.index(words[1]), fields.index(words[-1])
    return None


def _of_fields(one: str, other: str) -> str | None:
    """The interval type with the fields of both types; None if there is none."""
    a, b = fields_of(one), fields_of(other)
    if a is None or b is None or a[0] is not b[0]:
        return None
    first, last = a[0][min(a[1], b[1])], a[0][max(a[2], b[2])]
    return f"interval {first}" if first == last else f"interval {first} to {last}"


# -- one type for several values -------------------------------------------------------------------------------------


def common(kinds: Sequence[str | None]) -> str | None:
    """The common type of several values, as of the branches of a CASE; None if it is not known.

    >>> common(["int", "void", "bigint"]), common(["date", "timestamp"]), common(["int", "timestamp"])
    ('bigint', 'timestamp', None)
    """
    found: str | None = VOID
    for kind in kinds:
        found = None if found is None or kind is None else _wider(found, kind)
    return found


def _wider(one: str, other: str) -> str | None:
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if one in TIMES and other in TIMES:
        return max(one, other, key=TIMES.index)
    if "string" in (one, other):
        rest = one if other == "string" else other
        return "string" if is_number(rest) or rest in TIMES else None
    return _number(one, other) or _of_fields(one, other)


def _number(one: str, other: str) -> str | None:
    """The type that holds the numbers of both types; None if one is no number, or if Spark would round."""
    order = (*WHOLE, *BROKEN)
    if one in order and other in order:
        return max(one, other, key=order.index)
    if is_number(one) and is_number(other):
        if one in BROKEN or other in BROKEN:
            return "double"
        a, b = digits(one), digits(other)
        both = a and b and decimals.of_both(a, b)
        return f"decimal({both[0]},{both[1]})" if both else None
    return None


def is_number(kind: str) -> bool:
    return kind in (*WHOLE, *BROKEN) or decimals.digits(kind) is not None


def digits(kind: str) -> tuple[int, int] | None:
    """(precision, scale) of a whole number or a DECIMAL; None for any other type."""
    return (_DIGITS[kind], 0) if kind in _DIGITS else decimals.digits(kind)


# -- operators -------------------------------------------------------------------------------------------------------


def of_two(node: exp.Binary, left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    if isinstance(node, exp.DPipe):
        return "string" if not left.startswith("array") and "binary" not in (left, right) else None
    if isinstance(node, exp.IntDiv):
        return "bigint"
    if isinstance(node, (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)):
        return _number(left, right) if left in WHOLE and right in WHOLE else None
    if isinstance(node, (exp.Add, exp.Sub)):
        return _of_sum(node, left, right)
    if isinstance(node, (exp.Mul, exp.Div)):
        for length, number in ((left, right), (right, left)):
            if _is_length(length) and is_number(number):
                return scaled(length) if length is left or isinstance(node, exp.Mul) else None
        return _of_product(node, left, right)
    return _of_numbers(node, left, right) if isinstance(node, exp.Mod) else None


def _is_length(kind: str) -> bool:
    return kind == CALENDAR or fields_of(kind) is not None


def scaled(length: str) -> str:
    """The type of an interval times a number."""
    found = fields_of(length)
    return length if found is None else (MONTHS, DAYS)[FIELDS.index(found[0])]


def _of_sum(node: exp.Expr, left: str, right: str) -> str | None:
    is_difference = isinstance(node, exp.Sub)
    if is_difference and left in TIMES and right in TIMES:
        return "interval day" if left == right == "date" else DAYS
    if left in TIMES or right in TIMES and not is_difference:
        time, by = (left, right) if left in TIMES else (right, left)
        return _moved(time, by)
    if left == right == CALENDAR:
        return CALENDAR
    return _of_fields(left, right) or _of_numbers(node, left, right)


def _moved(time: str, by: str) -> str | None:
    """The type of a date or an instant moved by a length."""
    if time == "date" and by in ("tinyint", "smallint", "int"):
        return time
    if not _is_length(by):
        return None
    is_of_days = by in (CALENDAR, "interval day") or by.startswith(("interval year", "interval month"))
    return "timestamp" if time == "date" and not is_of_days else time


def _of_product(node: exp.Expr, left: str, right: str) -> str | None:
    """The type of a product or a quotient. A quotient of whole numbers is a DOUBLE."""
    if isinstance(node, exp.Div) and not (decimals.digits(left) or decimals.digits(right)):
        return "double" if counts(left) and counts(right) else None
    return _of_numbers(node, left, right)


def counts(kind: str) -> bool:
    """Whether arithmetic takes values of this type: numbers, and texts."""
    return is_number(kind) or kind == "string"


def _of_numbers(node: exp.Expr, left: str, right: str) -> str | None:
    """The type of numbers combined; a text counts as a DOUBLE."""
    if not (counts(left) and counts(right)):
        return None
    if "string" in (left, right):
        return "double"
    if not (decimals.digits(left) or decimals.digits(right)) or left in BROKEN or right in BROKEN:
        return _number(left, right)
    operands = (node.args.get("this"), node.args.get("expression"))
    a, b = (_digits_of(kind, operand) for kind, operand in zip((left, right), operands))
    return None if a is None or b is None else decimals.combined(type(node).__name__, a, b)


def _digits_of(kind: str, operand: exp.Expr | None) -> tuple[int, int] | None:
    """(precision, scale) of an operand beside a DECIMAL. A whole literal has the digits it shows, except a TINYINT."""
    shown = None if operand is None or kind not in WHOLE[1:] else literal_digits(operand)
    return digits(kind) if shown is None else (len(shown.lstrip("0")) or 1, 0)


def literal_digits(node: exp.Expr) -> str | None:
    """The digits of a literal of a whole number, without minus and suffix; None for any other node.

    >>> [literal_digits(node) for node in (exp.Literal.number(-7), exp.Neg(this=exp.paren("7")), exp.column("a"))]
    ['7', None, None]
    """
    node = node.unnest()
    node = node.this if isinstance(node, exp.Neg) else node
    node = node.this if isinstance(node, exp.Cast) and NUMBER in node.meta else node
    return node.name if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() else None
