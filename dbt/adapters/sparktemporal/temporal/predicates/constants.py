"""The exact values of constant numbers."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

#: a DOUBLE has no larger exponent
_MOST_DIGITS = 400
#: whole numbers: type -> digits of the largest, in base 2
_BITS = {"INT": 31, "BIGINT": 63}


def constant(node: exp.Expr) -> Fraction | None:
    """The exact value of a constant number, also in quotes; None for any other expression.

    >>> from ..sql.text.dialect import expression
    >>> constant(expression("-10000000000000000000000000001")), constant(expression("1e999")), constant(expression("a"))
    (Fraction(-10000000000000000000000000001, 1), None, None)
    """
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Mul):  # an INT may wrap around
        left, right = constant(node.left), constant(node.right)
        return left * right if left is not None and right is not None and abs(left * right) < 2**31 else None
    if isinstance(node, exp.Cast) and (bits := _BITS.get(node.to.sql(dialect="spark").upper())):
        inner = constant(node.this)
        return inner if inner is not None and not inner % 1 and abs(inner) < 2**bits else None
    return number_in(node.name) if isinstance(node, exp.Literal) else None


def number_in(text: str) -> Fraction | None:
    """The number in a text; None for any other text, and for a number far beyond the range of a DOUBLE."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        return None
    return Fraction(found) if found.is_finite() and abs(found.adjusted()) <= _MOST_DIGITS else None
