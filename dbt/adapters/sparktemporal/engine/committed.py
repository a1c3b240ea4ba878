"""What a model committed: its live view, and the state in the text of that view."""

from __future__ import annotations

from collections.abc import Iterable

from ..temporal.diffs.state import State
from ..temporal.diffs.state_text import extract
from ..temporal.sql.identifiers import Identifiers
from ..temporal.sql.spark_errors import spark_words
from ..words import quantity
from .descriptions import ViewInfo
from .model_relations import ModelRelations
from .warehouse import Warehouse


def read_state(warehouse: Warehouse, target: ModelRelations, existing: Iterable[str] | None = None) -> State | None:
    """The committed state of a model; None when the model was never committed."""
    live = live_view(warehouse, target, existing)
    return None if live is None else state_of(warehouse, target, live.text)


def state_of(warehouse: Warehouse, target: ModelRelations, text: str) -> State:
    """The state in the text of a live view, or in the table that the text names."""

    def load(table: str) -> str:
        try:
            rows = warehouse.rows(f"SELECT mz_state FROM {target.table(table)}")
        except Exception as error:  # any error of Spark about a table that is gone or damaged
            raise ValueError(f"it is in {table}, which cannot be read: {spark_words(error)}") from None
        if len(rows) != 1:
            raise ValueError(f"{table} has {quantity(len(rows), 'row')} instead of one")
        return str(rows[0][0])

    return extract(text, target.model, load)


def live_view(warehouse: Warehouse, target: ModelRelations, existing: Iterable[str] | None = None) -> ViewInfo | None:
    """The commit record; None when there is none, without text when a table stands in its place.

    existing: the known relations of the schema. A DESCRIBE of a missing relation would log an error on the server.
    """
    if existing is None:  # dbt makes the schema before the first run
        existing = warehouse.beginning(target.schema, target.model + "__live")
    if f"{target.model}__live" not in Identifiers(existing):
        return None
    return warehouse.view(target.name("__live")) or ViewInfo("", {}, None)
