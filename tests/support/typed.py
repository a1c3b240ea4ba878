"""Cores with types, and the columns of queries, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.predicates.bounds import TIMESTAMP
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import render

Columns = list[tuple[str, str]]


def by_text(columns: Callable[[str], Columns]) -> Callable[[exp.Query], Columns]:
    """A `Describe` from a function of SQL."""
    return lambda query: columns(render(query))


def over_timestamps(core: Core, columns: tuple[tuple[str, str], ...]) -> TypedCore:
    """A core whose clock is compared with instants alone. columns: of its query."""
    condition = core.condition
    if condition is not None:
        edges = (replace(e, comparison=replace(e.comparison, kind=TIMESTAMP)) for e in condition.edges)
        condition = replace(condition, edges=tuple(edges))
    comparisons = tuple(replace(c, kind=TIMESTAMP) for c in core.comparisons)
    return TypedCore(replace(core, comparisons=comparisons, condition=condition), columns)
