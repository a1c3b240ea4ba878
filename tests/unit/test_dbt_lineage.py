"""The relations that the text of a model may name, by dbt's graph: a table of graphs."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.graph.lineage import FEED, OF_THE_PAST, TEMPORAL, VIEW, Lineage


def node(materialized: str, *below: str, deferred: str = "") -> dict[str, Any]:
    """A node; deferred: the materialization that it has in the state."""
    found = {"schema": "dev", "config": {"materialized": materialized}, "depends_on": {"nodes": list(below)}}
    return found | {"defer_relation": {"schema": "prod", "config": {"materialized": deferred}} if deferred else None}


def lineage(**nodes: dict[str, Any]) -> Lineage:
    """Around the node `m`."""
    for name, one in nodes.items():
        one |= {"alias": name, "unique_id": name}
        if one["defer_relation"]:
            one["defer_relation"] |= {"alias": name}
    return Lineage(nodes["m"], {"nodes": nodes, "sources": {"raw": {"config": {}}}})


M = node(TEMPORAL, "a")
CASES: dict[str, tuple[Lineage, set[str], set[str]]] = {
    # name: (the graph, the temporal_views that the text of m may name, the views over some)
    "a temporal_view": (lineage(m=M, a=node(TEMPORAL, "raw")), {"dev.a"}, set()),
    "deferred": (lineage(m=M, a=node(TEMPORAL, deferred=TEMPORAL)), {"dev.a", "prod.a"}, set()),
    "through an ephemeral": (lineage(m=M, a=node("ephemeral", "b"), b=node(TEMPORAL)), {"dev.b"}, set()),
    "a view over one": (lineage(m=M, a=node(VIEW, "b"), b=node(TEMPORAL)), set(), {"dev.a"}),
    "a deferred view": (
        lineage(m=M, a=node(VIEW, "e", deferred=VIEW), e=node("ephemeral", "b"), b=node(TEMPORAL)),
        set(),
        {"dev.a", "prod.a"},
    ),
    "a view over a view": (
        lineage(m=M, a=node(VIEW, "b"), b=node(VIEW, "c"), c=node(TEMPORAL)),
        set(),
        {"dev.a"},  # that b is one the view's own text tells
    ),
    "a view over tables": (
        lineage(m=M, a=node(VIEW, "raw", "b"), b=node("table", "c"), c=node(TEMPORAL)),
        set(),
        set(),
    ),
    "a table that was a temporal_view": (lineage(m=M, a=node("table", deferred=TEMPORAL)), {"prod.a"}, set()),
    "a table that was a view": (lineage(m=M, a=node("table", "b", deferred=VIEW), b=node(TEMPORAL)), set(), {"prod.a"}),
    "a view over what was a temporal_view": (
        lineage(m=M, a=node(VIEW, "b"), b=node("table", deferred=TEMPORAL)),
        set(),
        {"dev.a"},
    ),
    "a node of another project's graph": (lineage(m=M), set(), set()),
}


@pytest.mark.parametrize("case", CASES)
def test_inputs(case: str) -> None:
    around, temporal, views = CASES[case]
    assert {one.key for one in around.inputs(TEMPORAL)} == temporal
    assert {one.key for one in around.inputs(VIEW)} == views


def test_readers() -> None:
    around = lineage(m=node(TEMPORAL), a=node(VIEW, "m"), b=node(TEMPORAL, "a"), c=node(TEMPORAL, "b"))
    assert [one.key for one in around.readers()] == ["dev.b"]


def test_who_reads_the_past() -> None:
    """A query at an earlier instant, and updates since one; not a read of now, nor a call beside another model."""
    for macro, is_back in [
        ("temporal_as_of", True), ("temporal_changes", True), ("temporal_feed", True), ("temporal_forecast", False)
    ]:  # fmt: skip
        for above in ("m", "other"):
            asks = node("table", above)
            asks["depends_on"]["macros"] = [f"macro.dbt_sparktemporal.{macro}"]
            around = lineage(m=node(TEMPORAL), other=node(TEMPORAL), asks=asks)
            found = around.macros_over()
            assert (not found.isdisjoint(OF_THE_PAST)) is (is_back and above == "m"), (macro, above)
            assert (FEED in found) is (macro == "temporal_feed" and above == "m")
