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
from ..errors import Refusal
from ..temporal.sql.spark.errors import Cause, spark_words
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
