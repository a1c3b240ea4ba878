"""Find the temporal_view in dbt's graph that a name means.

| written | means |
|---|---|
| `ver` | the model; if it has versions the latest one, as with `ref('ver')` |
| `ver.v2`, `ver_v2`, `ver.2` | that version |
| `alias`, `package.alias`, `schema.alias` | the model with that alias, where no model has that name |
| `package.ver`, `package.ver.v2`, `model.package.ver.v2` | the model of that package |
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Explained, TemporalError
from .lineage import TEMPORAL, Node, materialized

#: the most names that an error suggests
_SHOWN = 5


def named(name: str, graph: Mapping[str, Any]) -> Node:
    """The node of the one temporal_view that a name means. Raises an error that lists the names to choose from."""
    models = [n for n in graph.get("nodes", {}).values() if n["resource_type"] == "model"]
    meant: list[Node] = []
    # dbt's own names take precedence over aliases
    for spellings in (_names, _versions, _aliases):
        meant = [n for n in models if str(name) in spellings(n)]
        if meant:
            break
    found = [n for n in _latest(meant) if materialized(n) == TEMPORAL]
    if len(found) == 1:
        return found[0]
    if found:
        choices = sorted(map(_full_name, found))
        raise Explained(
            "ST702",
            f"model {name!r}, which is {len(found)} temporal_views",
            "the operation is about one temporal_view",
            " or ".join(choices),
        )
    raise _is_none(name, meant, graph)


def _is_none(name: str, meant: Sequence[Node], graph: Mapping[str, Any]) -> TemporalError:
    """The error about a name that means no temporal_view. meant: the models with that name, if any."""
    kind = materialized(_latest(meant)[0]) if meant else None
    what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" if kind else "no enabled model of this project"
    others = sorted(_full_name(n) for n in meant if materialized(n) == TEMPORAL)
    return Explained(
        "ST706",
        f"model {name!r}, {what}",
        "the operation is about an enabled temporal_view",
        " or ".join(others) or _suggested(name, graph),
    )


def _suggested(name: str, graph: Mapping[str, Any]) -> str:
    """The temporal_views to choose from: those with a similar name, else some of all."""
    names = [_full_name(node) for node in every(graph)]
    like = difflib.get_close_matches(str(name), {one.partition(".")[2] for one in names}, n=_SHOWN)
    close = [one for one in names if one.partition(".")[2] in like]
    shown = close or names[:_SHOWN]
    more = f" or {len(names) - len(shown)} more" if not close and len(names) > len(shown) else ""
    return " or ".join(shown) + more if shown else "a model with materialized='temporal_view', of which there is none"


def every(graph: Mapping[str, Any]) -> list[Node]:
    """The nodes of all temporal_views, by name."""
    models = (n for n in graph.get("nodes", {}).values() if n["resource_type"] == "model")
    found = [n for n in models if materialized(n) == TEMPORAL]
    return sorted(found, key=lambda n: (n["name"], str(n.get("version") or "")))


def _names(node: Node) -> set[str]:
    return {node["name"], f"{node.get('package_name')}.{node['name']}"}


def _versions(node: Node) -> set[str]:
    """The spellings of one version of a model; for a model without versions its id."""
    ids = {str(node.get("unique_id"))}
    version = node.get("version")
    if version is None:
        return ids
    short = {f"{node['name']}{suffix}" for suffix in (f".v{version}", f"_v{version}", f".{version}")}
    return {*ids, *short, *(f"{node.get('package_name')}.{one}" for one in short)}


def _aliases(node: Node) -> set[str]:
    alias = node.get("alias") or node["name"]
    return {alias, f"{node.get('package_name')}.{alias}", f"{node.get('schema')}.{alias}"}


def _latest(nodes: Sequence[Node]) -> list[Node]:
    """The latest version of each model; all nodes of a model whose latest version is not among the nodes."""
    several: dict[tuple[Any, Any], list[Node]] = {}
    for node in nodes:
        several.setdefault((node.get("package_name"), node["name"]), []).append(node)
    kept: list[Node] = []
    for versions in several.values():
        last = [n for n in versions if str(n.get("version")) == str(n.get("latest_version"))]
        kept += last if len(versions) > 1 and last else versions
    return kept


def _full_name(node: Node) -> str:
    version = "" if node.get("version") is None else f".v{node['version']}"
    return f"{node.get('package_name')}.{node['name']}{version}"
