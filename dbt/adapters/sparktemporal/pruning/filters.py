"""Pruning by comparisons: the comparisons that follow from a core's window, and refusals to read an input whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine.warehouse import Warehouse
from ..errors import Explained
from ..pushdown import inclusive_projection, window_types
from ..pushdown.sargable import Range
from ..temporal.diffs import intervals_sql
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark import plans
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.spark.settings import ZONE
from ..temporal.sql.text.dialect import render
from ..temporal.sql.text.identifiers import parts


def projected(warehouse: Warehouse, core: TypedCore, settings: Mapping[str, str], clock: Range) -> str | None:
    """SQL of the comparisons that follow from a core's window while the clock is in a range; None where none follows.

    The SQL is over the columns of the core's SELECT.
    """
    types = _types(warehouse, core)
    return inclusive_projection.project(core, types, clock, _is_fixed(warehouse, settings)) if types else None


def by_part(
    warehouse: Warehouse, core: TypedCore, settings: Mapping[str, str], clock: Range
) -> list[tuple[str, str | None]]:
    """Each part of a core's window: (the part as the user wrote it, SQL of the comparisons that follow from it)."""
    return inclusive_projection.by_part(core, _types(warehouse, core), clock, _is_fixed(warehouse, settings))


def _types(warehouse: Warehouse, core: TypedCore) -> dict[str, str]:
    """Rendered column of a window -> its Spark type; empty where the types are not known."""
    probe = window_types.probe(core.core)
    if probe is None or core.window_types:
        return dict(core.window_types)
    try:
        kinds = [kind.lower() for _, kind in warehouse.describe(render(probe))]
    except SparkError as error:  # only the WHERE can resolve a name: the types stay unknown
        error.expect(Cause.NOT_TAKEN)
        return {}
    return {render(column): kind for column, kind in zip(window_types.columns_of(core.core), kinds)}


def _is_fixed(warehouse: Warehouse, settings: Mapping[str, str]) -> bool:
    return warehouse.never_changed(settings[ZONE])


def refuse_unbounded(
    warehouse: Warehouse, core: TypedCore, asked: str | None, required: bool | tuple[str, ...], known: Iterable[str]
) -> None:
    """Raise TemporalError where a run would read a table whole, against `pushdown_required`.

    | | |
    |---|---|
    | asked | SQL of the comparisons that follow from the window |
    | required | names of tables that must not be read whole, True for all tables |
    | known | tables of which a run skips files by statistics |
    """
    plan = warehouse.explain(render(intervals_sql.probe(core.core, asked)))
    bounded = [f".{name.lower()}" for name, filters in plans.scans(plan) if plans.is_bounded(filters)]
    bounded += [f".{_plain(name)}" for name in known]
    for table in plans.tables_read(plans.analyzed(plan)) or ["what it reads"]:
        is_bounded = any(name.endswith(f".{_plain(table)}") for name in bounded)
        if not is_bounded and (required is True or any(_is(table, name) for name in required or ())):
            raise Explained(
                "ST409",
                f"{table}, which would be read whole",
                f"pushdown_required, and from {asked or 'the window nothing'} no comparison follows that reaches "
                "its partitions or the statistics of its files",
                "a comparison of mz_now() with one of its columns in a form that docs/pushdown.md lists "
                "(dbt run-operation temporal_explain_pushdown shows what follows), or pushdown_required without it",
            )


def refuse_unknown(inputs: Iterable[str], required: bool | tuple[str, ...]) -> None:
    """Raise TemporalError where pushdown_required names a table that is no input: such a name guards nothing."""
    known = list(inputs)
    for name in () if isinstance(required, bool) else required:
        if not any(_is(table, name) for table in known):
            raise Explained(
                "ST410",
                f"pushdown_required: [{name}]",
                "the model reads no such table, so nothing would be guarded",
                f"one of {', '.join(known) or 'its inputs, of which there are none'}",
            )


def _is(table: str, name: str) -> bool:
    """Whether a name, with or without schema and catalog, names a table."""
    return name.lower() in (table.lower(), _plain(table), _plain(table, 1))


def _plain(table: str, last: int = 2) -> str:
    """The last parts of a name, without quotes."""
    return ".".join(parts(table.lower())[-last:])
