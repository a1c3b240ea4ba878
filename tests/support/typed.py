"""Cores with types, without Spark."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.sparktemporal.temporal.predicates.bounds import TIMESTAMP
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore


def over_timestamps(core: Core, columns: tuple[tuple[str, str], ...]) -> TypedCore:
    """A core whose clock is compared with instants alone. columns: of its query."""
    condition = core.condition
    if condition is not None:
        edges = (replace(e, comparison=replace(e.comparison, kind=TIMESTAMP)) for e in condition.edges)
        condition = replace(condition, edges=tuple(edges))
    comparisons = tuple(replace(c, kind=TIMESTAMP) for c in core.comparisons)
    return TypedCore(replace(core, comparisons=comparisons, condition=condition), columns)
