"""Names of the helper columns in generated SQL."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

_RESERVED = re.compile(
    r"mz_(from|until|diff|timestamp|bucket|key|n|copy|state|lower|upper|points|truth|spans|end|p|sign|[bhsx]\d+|"
    r"(count|sum|true)_\d+|seq_\w+)|mzu_\w+",
    re.IGNORECASE,
)


def is_reserved(name: str) -> bool:
    """Whether generated SQL has a column of this name beside the columns that are stored."""
    return _RESERVED.fullmatch(name) is not None


def operand_column(index: int) -> str:
    """The name of the column that holds the row's side of comparison number `index` in a core."""
    return f"mz_b{index}"


def static_column(index: int) -> str:
    """The name of the column that holds row expression number `index` in a core's condition."""
    return f"mz_s{index}"


def numbered(prefix: str, first: int, taken: Container[str]) -> str:
    """The first name `<prefix><number>` that is not taken.

    >>> numbered("k_", 1, {"k_1", "k_2"})
    'k_3'
    """
    return next(name for number in count(first) if (name := f"{prefix}{number}") not in taken)
