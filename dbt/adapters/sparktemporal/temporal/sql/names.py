"""Names of the columns that generated SQL has beside a model's own."""

from __future__ import annotations


def operand_column(index: int) -> str:
    """What comparison `index` of a core compares the clock with."""
    return f"mz_b{index}"


def static_column(index: int) -> str:
    """A value of a row, without the clock, that a condition reads: number `index`."""
    return f"mz_s{index}"
