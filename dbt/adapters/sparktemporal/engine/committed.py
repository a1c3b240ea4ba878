"""The last commit of a model: its live view, and the state in the text of the live view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import Explained
from ..plurals import quantity
from ..temporal.clock.instants import format_instant
from ..temporal.diffs.state import Epoch, State
from ..temporal.diffs.state_text import extract, schema_of, unpacked
from ..temporal.sql.spark.errors import SparkError, spark_words
from ..temporal.sql.text import identifiers
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import Identifiers
from .descriptions import ViewInfo
from .model_relations import ModelRelations
from .warehouse import Warehouse


def read_state(warehouse: Warehouse, target: ModelRelations, existing: Iterable[str] | None = None) -> State | None:
    """The committed state of a model; None when the model was never committed.

    Raises TemporalError where `<model>__live` has no whole state.
    """
    live = live_view(warehouse, target, existing)
    return None if live is None else state_of(warehouse, target, live)


def state_of(warehouse: Warehouse, target: ModelRelations, live: ViewInfo) -> State:
    """The state in the text of a live view, or in the table that the text names."""
    named = identifiers.parts(target.schema)
    schema = ".".join(map(quote, schema_of_model(live, warehouse.catalog(), named[:-1]) or named))
    state = extract(live.text, target.model, lambda table: _packed(warehouse, f"{schema}.{quote(table)}"))
    return replace(state, schema=schema)


def schema_of_model(live: ViewInfo, catalog: str, otherwise: Sequence[str] = ()) -> list[str]:
    """The schema of a commit's tables, by its parts, with its catalog where that is not the current one (`catalog`).

    A run names the schema without the catalog that is current in the run. A view looks the name up in that catalog,
    wherever the view itself is. otherwise: the catalog if the view does not tell it. Returns [] for an unknown schema.
    """
    parts = identifiers.parts(schema_of(live.text))
    if len(parts) == 1:
        parts = [*(live.namespace[:1] or otherwise), *parts]
    return identifiers.within([*parts, ""], catalog)[:-1]


def state_before(warehouse: Warehouse, state: State, epoch: Epoch) -> State:
    """The state that a model had before a restart. Raises TemporalError where the table of that state is not whole."""
    try:
        return unpacked(_packed(warehouse, f"{state.schema}.{quote(epoch.table)}"))
    except (ValueError, KeyError, TypeError) as error:
        raise Explained(
            "ST506",
            f"{state.model} before its restart at {format_instant(epoch.until)}, of which the state is gone ({error})",
            f"what was stored for {state.model} is not known without it",
            f"an instant from {format_instant(state.since)} (since) on",
        ) from None


def _packed(warehouse: Warehouse, table: str) -> str:
    """The packed state in a table of one row. Raises ValueError where there is none."""
    name = identifiers.parts(table)[-1]
    try:
        rows = warehouse.rows(f"SELECT mz_state FROM {table}")
    except SparkError as error:  # any error about a table that is gone or damaged
        raise ValueError(f"it is in {name}, which cannot be read: {spark_words(error)}") from None
    if len(rows) != 1:
        raise ValueError(f"{name} has {quantity(len(rows), 'row')} instead of one")
    return str(rows[0][0])


def live_view(warehouse: Warehouse, target: ModelRelations, existing: Iterable[str] | None = None) -> ViewInfo | None:
    """The commit record `<model>__live`, with empty text for a table without a commit; None without such a relation.

    existing: the known relations of the schema. A DESCRIBE of a missing relation would log an error on the server.
    """
    if existing is None:  # dbt makes the schema before the first run
        existing = warehouse.beginning(target.schema, target.model + "__live")
    if f"{target.model}__live" not in Identifiers(existing):
        return None
    return warehouse.view(target.name("__live")) or ViewInfo("", {}, None)
