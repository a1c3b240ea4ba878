"""Which model the operations mean by a name: versions, aliases, packages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.graph.nodes import every, named
from support.instants import T0
from support.project import Project


def node(package: str, name: str, version: Any = None, kind: str = "temporal_view", **more: Any) -> dict[str, Any]:
    suffix = "" if version is None else f".v{version}"
    return {
        "unique_id": f"model.{package}.{name}{suffix}",
        "resource_type": "model",
        "package_name": package,
        "name": name,
        "version": version,
        "alias": name if version is None else f"{name}_v{version}",
        "schema": "s",
        "config": {"materialized": kind},
        **more,
    }


GRAPH = {
    "nodes": {
        n["unique_id"]: n
        for n in (
            node("p", "ver", 1, latest_version=2),
            node("p", "ver", 2, latest_version=2),
            node("p", "ver", 3, latest_version=2),
            node("p", "old", 1, latest_version=2),
            node("p", "old", 2, "table", latest_version=2),
            node("p", "same"),
            node("q", "same"),
            node("p", "a", alias="b"),
            node("p", "b"),
            node("p", "c", alias="called", schema="t"),
            node("q", "d", alias="called", schema="u"),
            node("p", "eph", kind="ephemeral"),
            node("p", "plain", kind="table"),
            {**node("p", "tested"), "resource_type": "test", "unique_id": "test.p.tested"},
        )
    }
}

MEANT = {
    "ver": "model.p.ver.v2",
    "ver.v1": "model.p.ver.v1",
    "ver_v2": "model.p.ver.v2",
    "ver.3": "model.p.ver.v3",
    "p.ver": "model.p.ver.v2",
    "p.ver.v3": "model.p.ver.v3",
    "model.p.ver.v1": "model.p.ver.v1",
    "old.v1": "model.p.old.v1",
    "p.same": "model.p.same",
    "q.same": "model.q.same",
    "model.q.same": "model.q.same",
    "a": "model.p.a",
    "b": "model.p.b",  # a name before an alias
    "t.called": "model.p.c",
    "q.called": "model.q.d",
}

REFUSED = {
    "same": ("which is 2 temporal_views", "p.same or q.same"),
    "called": ("which is 2 temporal_views", "p.c or q.d"),
    "old": ("model 'old', a table", "instead: p.old.v1"),
    "old_v2": ("model 'old_v2', a table", "instead: p.old.v1"),
    "eph": ("model 'eph', an ephemeral", "the operation is about an enabled temporal_view"),
    "plain": ("model 'plain', a table", "instead: p.a or p.b or p.c or q.d or p.old.v1 or 5 more"),
    "tested": ("no enabled model of this project", "instead: p.a or "),
    "ver.v9": ("no enabled model of this project", "instead: p.ver.v1 or p.ver.v2 or p.ver.v3"),
}


@pytest.mark.parametrize("name", MEANT)
def test_meant(name: str) -> None:
    assert named(name, GRAPH)["unique_id"] == MEANT[name]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(TemporalError) as raised:
        named(name, GRAPH)
    for words in ("found: ", "why: ", "instead: ", *REFUSED[name]):
        assert words in str(raised.value)


def test_every() -> None:
    assert [n["unique_id"] for n in every(GRAPH)][-3:] == ["model.p.ver.v1", "model.p.ver.v2", "model.p.ver.v3"]


@pytest.mark.landing
@pytest.mark.metastore
def test_operations_on_a_version(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(10)")
    sql = f"select id from {project.schema}.events where mz_now() >= timestamp_millis(id)"
    project.model("ver_v1", sql)
    project.model("ver_v2", sql + " and id < 5")
    versions = [{"v": 1}, {"v": 2}]
    project.write("models/s.yml", json.dumps({"models": [{"name": "ver", "latest_version": 1, "versions": versions}]}))
    project.run(now=T0)

    def asked(operation: str, model: str) -> str:
        return project.dbt("run-operation", operation, "--args", json.dumps({"model": model})).text

    for name, alias in {"ver": "ver_v1", "ver.v2": "ver_v2", "ver_v2": "ver_v2", "proj.ver.v2": "ver_v2"}.items():
        assert re.search(rf"\| model +\| {alias} ", asked("temporal_status", name))
        assert re.search(rf"\| model +\| {alias} +\| a rebuild", asked("temporal_explain_pushdown", name))
    asked("temporal_restart", "ver.v2")
    assert "diffs_after" in asked("temporal_consolidate", "ver_v2")
    result = project.run(now=T0 + 1)
    assert [r.message for r in sorted(result.results, key=lambda r: r.node.alias)] == [
        "OK unchanged (no input changed), 10 rows kept",
        "OK restarted, 5 rows",
    ]
