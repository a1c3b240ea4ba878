"""Clones: views with the rows and columns of another relation, as `dbt clone` makes them (`select * from prod.m`)."""

from __future__ import annotations

from ..temporal.sql.text import statements
from ..temporal.sql.text.identifiers import dotted, folded
from .descriptions import ViewInfo
from .model_relations import ModelRelations
from .warehouse import Warehouse


def shown(warehouse: Warehouse, relation: ModelRelations, info: ViewInfo | None) -> ModelRelations | None:
    """The relation that a view clones; None for a view that is no clone, and for a view over the model's `__live`.

    None also for a name without a catalog that Spark looks up in another catalog than the current one.
    info: the view; None for a table, which clones nothing.
    """
    catalog = warehouse.catalog()
    names = statements.same_rows_as(info.text, catalog) if info is not None else None
    if info is None or names is None or folded(names[-1]) == folded(f"{relation.model}__live"):
        return None
    if len(names) == 2 and len(info.namespace) > 1 and folded(info.namespace[0]) != folded(catalog):
        return None
    return ModelRelations.of(dotted(names), catalog)


def model_shown(warehouse: Warehouse, relation: ModelRelations) -> ModelRelations | None:
    """The temporal_view that a relation is or clones, directly or through other clones; None for any other relation."""
    found: ModelRelations | None = relation
    while found is not None:
        there = warehouse.beginning(found.schema, found.model)
        if f"{found.model}__live" in there:
            return found
        info = warehouse.view(found.name()) if found.model in there else None
        found = shown(warehouse, found, info)
    return None
