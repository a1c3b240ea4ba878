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
    """The type of a sum."""
    return f"DECIMAL({min(precision + 10, MOST)},{scale})"


def of_mean(precision: int, scale: int) -> str:
    """The type of a mean that has room for its digits."""
    return f"DECIMAL({precision + 4},{scale + 4})"


def of_both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int] | None:
    """(p, s) of the type that has all digits of two types; None where Spark would round.

    >>> of_both((10, 2), (5, 4)), of_both((38, 0), (38, 10))
    ((12, 4), None)
    """
    scale = max(one[1], other[1])
    precision = max(one[0] - one[1], other[0] - other[1]) + scale
    return (precision, scale) if precision <= MOST else None
