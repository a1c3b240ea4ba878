"""dbt's graph around one model: what the model reads, what reads it, and the relations that dbt names them by.

With --defer dbt resolves a ref() to the relation of another state, or to the model's own relation. The choice depends
on --favor-state, on the selection, and on which relations exist. So a node has both relations here: the compiled text
of a model names the relation that dbt chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..engine.model_relations import ModelRelations
from ..temporal.sql.text.dialect import quote

Node = Mapping[str, Any]

TEMPORAL, VIEW, EPHEMERAL = "temporal_view", "view", "ephemeral"

#: the macro that reads each change of a model
FEED = "temporal_feed"
#: the macros that read a model at earlier instants
OF_THE_PAST = ("temporal_as_of", "temporal_at", "temporal_changes", "temporal_diffs", FEED)


def materialized(node: Node) -> str | None:
    found: str | None = (node.get("config") or {}).get("materialized")
    return found


def relations(node: Node) -> Iterator[tuple[str | None, ModelRelations]]:
    """(materialization, relation) of each relation to which dbt may resolve a node: the node's own and the deferred."""
    for one in (node, node.get("defer_relation")):
        if one:
            yield materialized(one), ModelRelations(quote(one["schema"]), one["alias"])


class Lineage:
    """The neighbours of a model in dbt's graph."""

    def __init__(self, model: Node, graph: Mapping[str, Any]) -> None:
        self.model, self._nodes = model, graph.get("nodes", {})
        self._known = {**graph.get("sources", {}), **self._nodes}
        self._over_temporal: dict[str, bool] = {}

    def reads(self, node: Node | None = None) -> dict[str, Node]:
        """The sources and nodes that a node reads by itself (by default the model), by their ids."""
        names = (self.model if node is None else node).get("depends_on", {}).get("nodes", [])
        return {name: self._known[name] for name in names if name in self._known}

    def inputs(self, kind: str) -> list[ModelRelations]:
        """The relations of a kind that the model's text may name: temporal_views, or views over temporal_views."""
        return [
            relation
            for name, node in self._named(self.model, set())
            for is_of, relation in relations(node)
            if is_of == kind and (kind == TEMPORAL or self._is_over_temporal(name))
        ]

    def _named(self, node: Node, seen: set[str]) -> Iterator[tuple[str, Node]]:
        """(id, node) for each node whose relation is named by a node's text, or by that of its ephemeral models."""
        for name, below in self.reads(node).items():
            if name in seen or name not in self._nodes:
                continue
            seen.add(name)
            if materialized(below) == EPHEMERAL:
                yield from self._named(below, seen)
            else:
                yield name, below

    def _is_over_temporal(self, name: str) -> bool:
        """Whether a node reads a temporal_view, by itself or through views and ephemeral models."""
        if name not in self._over_temporal:
            self._over_temporal[name] = any(
                kind == TEMPORAL or kind in (VIEW, EPHEMERAL) and self._is_over_temporal(one)
                for one, node in self.reads(self._known[name]).items()
                for kind in (materialized(node), materialized(node.get("defer_relation") or {}))
            )
        return self._over_temporal[name]

    def readers(self) -> list[ModelRelations]:
        """The temporal views that read the model, by themselves or through views and ephemeral models."""
        found, queue, seen = [], [self.model.get("unique_id")], set()
        while queue:
            name = queue.pop()
            for child, node in self._nodes.items():
                if child in seen or name not in node.get("depends_on", {}).get("nodes", []):
                    continue
                seen.add(child)
                if materialized(node) == TEMPORAL:
                    found.append(ModelRelations(quote(node["schema"]), node["alias"]))
                elif materialized(node) in (VIEW, EPHEMERAL):
                    queue.append(child)
        return found

    def macros_over(self) -> frozenset[str]:
        """The names, without package, of the macros that are called by the nodes that read the model by themselves."""
        above = (node.get("depends_on", {}) for node in self._nodes.values())
        reading = (depends for depends in above if self.model.get("unique_id") in depends.get("nodes", []))
        return frozenset(macro.rpartition(".")[2] for depends in reading for macro in depends.get("macros", []))
