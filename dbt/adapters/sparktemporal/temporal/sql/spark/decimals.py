"""DECIMAL(p, s) as Spark types it: p digits, s of them behind the point."""

from __future__ import annotations

import re

#: the most digits of a DECIMAL
MOST = 38
_TYPE = re.compile(r"decimal\((\d+), ?(\d+)\)", re.IGNORECASE)


def digits(kind: str) -> tuple[int, int] | None:
    """(p, s) of a type; None for any other type.

    >>> digits("decimal(10,2)"), digits("int")
    ((10, 2), None)
    """
    found = _TYPE.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None


def of_sum(precision: int, scale: int) -> str:
    """The type of sum(x) for x of DECIMAL(precision, scale)."""
    return f"DECIMAL({min(precision + 10, MOST)},{scale})"


def of_mean(precision: int, scale: int) -> str:
    """The type of avg(x) for x of DECIMAL(precision, scale). precision: at most 34, as the type has 4 more digits."""
    return f"DECIMAL({precision + 4},{scale + 4})"


def of_both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """(p, s) of the type that has all digits of two types; None where Spark would round.

    >>> of_both((10, 2), (5, 4)), of_both((38, 0), (38, 10))
    ((12, 4), None)
    """
    scale = max(one[1], other[1])
    precision = max(one[0] - one[1], other[0] - other[1]) + scale
    return (precision, scale) if precision <= MOST else None


def combined(operator: str, one: tuple[int, int], other: tuple[int, int]) -> str:
    """The type of a sum or difference, a product, a quotient, a remainder. operator: Add, Sub, Mul, Div, Mod.

    >>> combined("Mul", (10, 2), (1, 0)), combined("Div", (10, 2), (10, 0)), combined("Mul", (38, 10), (38, 10))
    ('decimal(12,2)', 'decimal(21,13)', 'decimal(38,6)')
    """
    return "decimal({},{})".format(*fitting(*exact(operator, one, other)))


def exact(operator: str, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """(p, s) of the result, with room for all its digits, even more than 38; a quotient is rounded. See `combined`."""
    (p, s), (q, t) = one, other
    if operator == "Mul":
        return p + q + 1, s + t
    if operator == "Div":
        scale = max(6, s + q + 1)
        return p - s + t + scale, scale
    if operator == "Mod":
        return min(p - s, q - t) + max(s, t), max(s, t)
    return max(p - s, q - t) + max(s, t) + 1, max(s, t)


def fitting(precision: int, scale: int) -> tuple[int, int]:
    """(p, s) of at most 38 digits: digits behind the point give way to digits before the point, down to six."""
    if precision <= MOST:
        return precision, scale
    return MOST, max(MOST - (precision - scale), min(scale, 6))
