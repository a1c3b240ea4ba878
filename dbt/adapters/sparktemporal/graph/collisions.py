"""Collisions of names: models of one project whose relations would replace each other.

a  a__live  a__diffs  a__lock  a__diffs_<run> ...           the relations of a temporal_view a
   a__live                                                  another model

With `views_in` the views of all schemas are in one schema, so there temporal_views of different schemas collide too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Refusal
from ..temporal.diffs.chains import is_relation_of, is_view_of
from ..temporal.sql.text.identifiers import folded

_WITH_RELATIONS = ("model", "seed", "snapshot")


@dataclass(frozen=True)
class Named:
    """A node of dbt's graph with a relation."""

    unique_id: str
    schema: str
    alias: str
    is_temporal: bool

    @staticmethod
    def of(node: Any) -> Named | None:
        """A model, seed or snapshot of a manifest or of dbt's graph -> Named; None for ephemeral and other nodes."""

        def get(of: Any, name: str) -> Any:
            return of.get(name) if isinstance(of, Mapping) else getattr(of, name, None)

        materialized = get(get(node, "config"), "materialized")
        if str(get(node, "resource_type")) not in _WITH_RELATIONS or materialized == "ephemeral":
            return None
        return Named(get(node, "unique_id"), get(node, "schema"), get(node, "alias"), materialized == "temporal_view")


def refuse_collisions(node: Any, nodes: Iterable[Any], views_in: str | None) -> None:
    """Raise Refusal where `node` and one of `nodes`, at least one a temporal_view, have a relation of the same name.

    views_in: see `ModelRelations`.
    """
    mine = Named.of(node)
    if mine is None:
        return
    for other in map(Named.of, nodes):
        if other is None or other.unique_id == mine.unique_id:
            continue
        is_beside = folded(other.schema) == folded(mine.schema)
        for view, model in ((mine, other), (other, mine)):
            if not view.is_temporal:
                continue
            if views_in and not is_beside and model.is_temporal and is_view_of(view.alias, model.alias):
                raise Refusal(
                    "ST201",
                    f"{mine.unique_id} and {other.unique_id}, both with a view {model.alias} in {views_in}, the "
                    "views_in of the profile",
                    f"the temporal_view {view.alias} has a relation of that name, and each would replace the other's "
                    "(names are compared without case)",
                    "another name or alias for one of them; or views_in: none, or no views_in where the catalog has "
                    "views",
                )
            if is_beside and is_relation_of(view.alias, model.alias):
                raise Refusal(
                    "ST201",
                    f"{mine.unique_id} and {other.unique_id}, both with a relation {model.schema}.{model.alias}",
                    f"the temporal_view {view.alias} has a relation of that name, and each would replace the other's "
                    "(names are compared without case)",
                    "another name, alias or schema for one of them",
                )
