"""Translate the literals, casts and quotients that other engines can compute as Spark does."""

from __future__ import annotations

import re
from datetime import date

from sqlglot import exp

from .dialects import QUOTIENTS, Dialect, literal
from .kinds import BOOL, DATE, DECIMAL, DOUBLE, INT, NULL, NUMBERS, OTHER, TEXT, Kind, Typed


def number(node: exp.Literal, dialect: Dialect) -> Typed | None:
    """A literal of a number. None for an exponent, for too many digits, and for a number that ends with a point."""
    text = node.name
    if text.isdigit():
        for digits, most in ((10, 2**31), (20, 2**63)):
            if int(text) < most:
                kind = Kind(INT, digits)
                return f"CAST({text} AS {dialect.type(kind)})", kind
        return None
    found = re.fullmatch(r"0*(\d*)\.(\d+)", text)
    if found is None or len(found[1] + found[2]) > 38:
        return None
    kind = Kind(DECIMAL, max(len(found[1] + found[2]), 1), len(found[2]))
    return f"CAST({text} AS {dialect.type(kind)})", kind


def day(text: str) -> Typed | None:
    """A text that is cast to a date; None unless it is a day of the years 1000 to 2999, written as `2024-02-29`."""
    try:
        known = re.fullmatch(r"[12]\d{3}-\d{2}-\d{2}", text) and date.fromisoformat(text)
    except ValueError:  # no day of the calendar
        known = None
    return (f"DATE {literal(text)}", Kind(DATE)) if known else None


def beside_decimal(node: exp.Expr, kind: Kind) -> Kind:
    """The kind of an operand beside a decimal. An integer literal, also a negative one, has the digits it shows."""
    node = node.unnest()
    node = node.this if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) else node
    is_number = isinstance(node, exp.Literal) and not node.is_string and kind.name == INT
    return Kind(INT, len(node.name.lstrip("0")) or 1) if is_number else kind


def cast(value: str, kind: Kind, to: Kind, dialect: Dialect) -> str | None:
    """A cast that all engines do alike, exact or rounded half up; None for other casts.

    An overflow is an error, also where Spark without ANSI rules gives NULL or another number.
    """
    if kind == to and kind.name != NULL:
        return value
    # DuckDB divides the digits by a power of ten, which rounds twice; a text is rounded once
    if kind.name == DECIMAL and to == DOUBLE:
        return f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
    to_same = to.name != OTHER if kind.name == NULL else to.name in _CASTS.get(kind.name, ())
    if not to_same and not (to == DOUBLE and kind.name in NUMBERS):
        return None
    return f"CAST({value} AS {dialect.type(to)})"


_CASTS = {INT: (INT, DECIMAL, TEXT), DECIMAL: (DECIMAL,), BOOL: (INT, TEXT)}


def quotient(one: Typed, other: Typed, kind: Kind, dialect: Dialect) -> str | None:
    """A quotient of decimals, rounded half up. DuckDB itself divides decimals as doubles.

    None for too many digits, for a result of too small a scale, and for an engine that lacks QUOTIENTS.
    The digits of the operands, without signs, are whole numbers a and b. The digits of the result are
    (2 * a * 10^n + b) // (2 * b), where n is the scale of the result, plus the scale of b, minus the scale of a.
    """
    (a, left), (b, right) = one, other
    more = kind.scale + right.scale - left.scale
    if QUOTIENTS in dialect.lacks or more < 0 or left.digits + more > 36 or right.digits > 36:
        return None
    up, down = f"(abs({_digits(a)}) * CAST('1{'0' * more}' AS HUGEINT))", f"abs({_digits(b)})"
    whole = f"((2 * {up} + {down}) // (2 * {down}))"
    sign = f"CASE WHEN ({a} < 0) <> ({b} < 0) THEN '-' ELSE '' END"
    if not kind.scale:
        return f"CAST({sign} || CAST({whole} AS VARCHAR) AS {dialect.type(kind)})"
    unit = f"CAST('1{'0' * kind.scale}' AS HUGEINT)"
    after = f"lpad(CAST({whole} % {unit} AS VARCHAR), {kind.scale}, '0')"
    return f"CAST({sign} || CAST({whole} // {unit} AS VARCHAR) || '.' || {after} AS {dialect.type(kind)})"


def _digits(value: str) -> str:
    """All digits of an exact number, as a whole number."""
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"
