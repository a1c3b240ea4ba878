"""Names of the columns that generated SQL has beside a model's own."""

from __future__ import annotations

import re

_RESERVED = re.compile(
    r"mz_(from|until|diff|timestamp|bucket|key|n|copy|state|lower|upper|points|truth|spans|end|p|sign|[bhsx]\d+|"
    r"(count|sum|true)_\d+)|mzu_\w+",
    re.IGNORECASE,
)


def is_reserved(name: str) -> bool:
    """Whether generated SQL has a column of this name beside the columns that are stored."""
    return _RESERVED.fullmatch(name) is not None


def operand_column(index: int) -> str:
    """What comparison `index` of a core compares the clock with."""
    return f"mz_b{index}"


def static_column(index: int) -> str:
    """A value of a row, without the clock, that a condition reads: number `index`."""
    return f"mz_s{index}"
