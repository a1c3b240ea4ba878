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

from ..engine.committed import schema_of_model
from ..engine.descriptions import ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import ForeignRelation, Refusal
from ..temporal.decision import Statement
from ..temporal.diffs.chains import VIEWS
from ..temporal.diffs.state import State
from ..temporal.diffs.state_text import is_commit
from ..temporal.sql.spark.errors import SparkError, spark_words
from ..temporal.sql.text.identifiers import Identifiers, dotted, folded, parts, within
from . import published_view
from .published_view import Docs
from .standing_views import StandingViews


def _standing(warehouse: Warehouse, target: ModelRelations) -> StandingViews | None:
    """The relations with the names of the views, whoever made them; None without `views_in`."""
    outside = target.outside
    if outside is None:
        return None
    return StandingViews(warehouse, outside, Identifiers(warehouse.tables(outside.schema, outside.model)))


def refuse_others(warehouse: Warehouse, target: ModelRelations) -> None:
    """Refuse `views_in` where its schema cannot be listed, or where relations of others have the names of the views.

    Two models of one name, of two schemas or catalogs, would replace each other's views, and readers of the one would
    get the rows of the other.
    """
    try:
        views = _standing(warehouse, target)
    except SparkError as error:
        raise Refusal(
            "ST519",
            f"views_in: {target.views_in} in the profile",
            f"the views of {target.model} cannot be there. Spark's words: {spark_words(str(error))}",
            "a schema that exists, with its catalog",
        ) from None
    suffix = next((one for one in ("__live", "", *VIEWS) if views is not None and views.has(one)), None)
    if views is None or suffix is None:
        return
    live = views.find("__live")
    if live is None or not is_commit(live.text, target.model):
        raise ForeignRelation(views.target.name(suffix), target.model)
    if (owner := _other_owner(warehouse, target, live)) is not None:
        raise Refusal(
            "ST201",
            f"{target.model} in the schema {target.plain_schema} and {target.model} in the schema "
            f"{owner or 'unknown'}, both with a view {views.target.name('__live')}, by views_in of the profile",
            f"the temporal_view {target.model} has a relation of that name, and each would replace the other's "
            "(names are compared without case)",
            "another views_in for this target, or another name or alias for one of the models. If that model is gone: "
            f"DROP VIEW {views.target.name('__live')}, and the others of its name",
        )


def _other_owner(warehouse: Warehouse, target: ModelRelations, live: ViewInfo) -> str | None:
    """The schema of the model whose commit a view shows, "" for an unknown one; None if that model is `target`."""
    catalog = warehouse.catalog()
    owner, own = dotted(schema_of_model(live, catalog)), within([*parts(target.schema), ""], catalog)[:-1]
    return None if folded(owner) == folded(dotted(own)) else owner


def publish(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    text: str,
    updates: str,
    late: str | None,
    docs: Docs,
) -> list[Statement]:
    """The statements that bring the views up to date.

    | | |
    |---|---|
    | text | the text of the commit |
    | updates | the text of `<model>__diffs` |
    | late | the text of `<model>__late`; None for no change, or for no view where the state has no late rows |
    """
    views = _standing(warehouse, target)
    if views is None:
        return []
    steps = views.changed("the commit, for readers", "__live", text, mark=False)
    steps += published_view.publish(views.target, state.columns, docs, views.find())
    steps += views.changed("the updates, readable", "__diffs", updates)
    return steps if late is None and state.late is not None else steps + views.late(late)


def drop(warehouse: Warehouse, target: ModelRelations) -> list[Statement]:
    """The statements that drop the views; none where the views are of a model of another schema."""
    views = _standing(warehouse, target)
    live = views.find("__live") if views is not None else None
    if views is None or live is None or not is_commit(live.text, target.model):
        return []
    if _other_owner(warehouse, target, live) is not None:
        return []
    return [
        Statement("a view for readers", f"DROP VIEW IF EXISTS {views.target.name(suffix)}")
        for suffix in ("", *reversed(VIEWS))
        if views.has(suffix)
    ]
