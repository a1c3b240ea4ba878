"""A core: a part of a model whose rows are stored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..errors import Refusal
from .dialect import fragment
from .functions import nondeterministic
from .predicates import Comparison

PLACEHOLDER = "mz_core_"


@dataclass(frozen=True)
class Core:
    """`query` is free of the clock and yields the columns to store; `comparisons` decide when a row is in."""

    name: str
    query: exp.Query
    comparisons: tuple[Comparison, ...] = ()

    @property
    def placeholder(self) -> str:
        """The table name under which the residual reads this core."""
        return PLACEHOLDER + self.name


def is_placeholder(table: exp.Expression) -> bool:
    return isinstance(table, exp.Table) and not table.db and table.name.startswith(PLACEHOLDER)


# ---- the temporal SELECT -------------------------------------------------------------------------------------------


def refuse_nondeterministic(query: exp.Expression) -> None:
    node = nondeterministic(query)
    if node is not None:
        raise Refusal(
            fragment(node),
            "it gives another value at every run, so rows would be retracted and added again for no reason",
            "the value as a column of an upstream table",
        )
