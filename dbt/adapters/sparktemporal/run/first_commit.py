"""Choose where a new model commits: in a view, or in a table where the catalog has no views.

In a named catalog, each invocation probes once for each schema whether views can be made (`view_probe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.commit_records import CREATE_TABLE, CREATE_VIEW
from ..engine.descriptions import ALTER, REPLACE
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import ForeignRelation, Refusal
from ..temporal.diffs.state_text import is_commit
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words
from ..temporal.sql.text.identifiers import Identifiers
from . import view_probe

_WITHOUT = (
    "Or in the profile views_in: <catalog>.<schema>, a schema that has views, in which the views then are; or "
    "views_in: none, and {{ temporal_read(ref('m')) }} in what reads the model m"
)
#: further advice where Iceberg's client did not ask the server, because the server had not told that it has views
_UNTOLD = (
    "Or, where the server has views and does not tell so (Nessie 0.99 is such a server), the setting "
    "spark.sql.catalog.{}.view-endpoints-supported=true of the session"
)


def first_commit(warehouse: Warehouse, target: ModelRelations) -> str:
    """The statement of a model's first commit: CREATE_VIEW or CREATE_TABLE. Raises Refusal if neither works."""
    if not warehouse.catalog_is_named():
        return CREATE_VIEW
    why = warehouse.once(f"views of {target.schema}", lambda: _refusal_of_a_view(warehouse, target))
    if not why:
        return CREATE_VIEW
    catalog = warehouse.catalog()
    found = f"schema {target.schema} of the catalog {catalog}, which has no views"
    if target.views_in is None:
        instead = [view_probe.WITH_VIEWS, _WITHOUT, *([_UNTOLD.format(catalog)] if "endpoint" in why else [])]
        raise Refusal("ST516", found, f"a temporal_view is a view. Spark's words: {why}", ". ".join(instead))
    if not warehouse.catalog_is_icebergs():
        raise Refusal(
            "ST517",
            found,
            "where there are no views, a commit is an UPDATE of a row, and only Iceberg's is known",
            view_probe.WITH_VIEWS,
        )
    if target.outside is not None:
        _refuse_others(warehouse, target.outside)
    return CREATE_TABLE


def refuse_grants(target: ModelRelations, config: Mapping[str, Any]) -> None:
    """Refuse grants of a model without a view in dbt's schema."""
    if config.get("grants"):
        raise Refusal(
            "ST518",
            f"grants of {target.model}, in a catalog without views",
            "dbt grants on a relation of the model's schema, and none is there",
            "no grants config for this model; GRANT by a post-hook, or by whoever keeps the catalog",
        )


def _refusal_of_a_view(warehouse: Warehouse, target: ModelRelations) -> str:
    """Why a catalog makes no view; "" where it makes one."""
    replace = REPLACE if warehouse.catalog_is_icebergs() else ALTER
    error = view_probe.refusal_of_commits(warehouse, target, replace)
    if error is None:
        return ""
    error.expect(Cause.NO_VIEWS)
    return spark_words(str(error))


def _refuse_others(warehouse: Warehouse, outside: ModelRelations) -> None:
    """Refuse `views_in` where its schema cannot be listed, or where relations of others have the names of the views."""
    try:
        there = Identifiers(warehouse.tables(outside.schema, outside.model))
    except SparkError as error:
        raise Refusal(
            "ST519",
            f"views_in: {outside.schema} in the profile",
            f"the views of {outside.model} cannot be there. Spark's words: {spark_words(str(error))}",
            "a schema that exists, with its catalog",
        ) from None
    names = [name for suffix in ("__live", "", "__diffs", "__late") if (name := f"{outside.model}{suffix}") in there]
    live = warehouse.view(outside.name("__live")) if f"{outside.model}__live" in there else None
    if names and (live is None or not is_commit(live.text, outside.model)):
        raise ForeignRelation(outside.table(names[0]), outside.model)
