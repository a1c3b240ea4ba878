"""The views of a model in the schema `views_in`, for chains in a catalog without views.

The commit is the table `<model>__live` in the schema of the model. These views follow the commit, one statement each:

| view | is |
|---|---|
| `<model>__live` | the text of the commit |
| `<model>` | the thin view over it, with docs |
| `<model>__diffs` | the readable updates |
| `<model>__late` | the rows that came late, with `store_late` |

A view of the commit before still answers as that commit did, from chains that stay for `diffs_retention`. Each run,
even one with nothing new, compares the texts, and replaces views that a killed run left outdated.
"""

from __future__ import annotations

from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..temporal.decision import Statement
from ..temporal.diffs.state import State
from ..temporal.sql.text.identifiers import Identifiers
from . import published_view
from .published_view import Docs
from .standing_views import StandingViews


def publish(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    text: str,
    updates: str,
    late: str | None,
    docs: Docs,
    retyped: bool,
) -> list[Statement]:
    """The statements that bring the views up to date.

    | | |
    |---|---|
    | text | the text of the commit |
    | updates | the text of `<model>__diffs` |
    | late | the text of `<model>__late`; None for no change, or for no view where the state has no late rows |
    | retyped | whether a column has another type than before |
    """
    outside = target.outside
    if outside is None:
        return []
    views = StandingViews(warehouse, outside, Identifiers(warehouse.tables(outside.schema, outside.model)))
    steps = views.changed("the commit, for readers", "__live", text, mark=False)
    steps += published_view.publish(outside, state.columns, docs, views.find(), retyped)
    steps += views.changed("the updates, readable", "__diffs", updates)
    return steps if late is None and state.late is not None else steps + views.late(late)


def drop(warehouse: Warehouse, target: ModelRelations) -> list[Statement]:
    """The statements that drop the views."""
    outside = target.outside
    if outside is None:
        return []
    views = StandingViews(warehouse, outside, Identifiers(warehouse.tables(outside.schema, outside.model)))
    return [
        Statement("a view for readers", f"DROP VIEW IF EXISTS {outside.name(suffix)}")
        for suffix in ("", "__diffs", "__late", "__live")
        if views.has(suffix)
    ]
