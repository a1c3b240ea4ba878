"""What is passed to a run-operation: a mistake is refused with the command line to type."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Undefined

from dbt.adapters.sparktemporal.engine.descriptions import ViewInfo
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking.arguments import checked
from dbt.adapters.sparktemporal.looking.run_operations import RunOperations
from dbt.adapters.sparktemporal.over_time.changes import FEWER_INSTANTS, FEWER_READS

MACROS = sorted((Path(__file__).parents[2] / "macros").glob("*.sql"))
NODE = {"resource_type": "model", "name": "late", "package_name": "p", "config": {"materialized": "temporal_view"}}
GRAPH = {"nodes": {"model.p.late": NODE}}
OF_ONE = ("temporal_consolidate", "temporal_restart", "temporal_explain", "temporal_explain_pushdown")
TAKES = {
    "temporal_explain": "model and full_refresh and format",
    "temporal_report": "model and path and hours",
}


def refused(operation: str, given: dict[str, Any], others: dict[str, Any], graph: dict[str, Any] = GRAPH) -> str:
    with pytest.raises(Refusal) as raised:
        checked(operation, given, others, graph)
    return str(raised.value)


@pytest.mark.parametrize("operation", OF_ONE)
@pytest.mark.parametrize("model", [None, "", Undefined(name="model")])
def test_without_a_model(operation: str, model: Any) -> None:
    assert refused(operation, {"model": model}, {}) == (
        f"ST702 found: {operation} without the argument model\n"
        "why: the operation is about one temporal_view\n"
        f"instead: dbt run-operation {operation} --args '{{model: late}}'"
    )


def test_a_project_without_temporal_views() -> None:
    assert "--args '{model: recent_events}'" in refused("temporal_restart", {"model": None}, {}, {"nodes": {}})


@pytest.mark.parametrize("operation", (*OF_ONE, "temporal_status", "temporal_report"))
def test_an_argument_that_is_unknown(operation: str) -> None:
    assert refused(operation, {"model": "late"}, {"modle": "late"}) == (
        f"ST701 found: argument 'modle' of {operation}\n"
        f"why: it takes {TAKES.get(operation, 'model and format')}\n"
        f"instead: dbt run-operation {operation} --args '{{model: late}}'"
    )


@pytest.mark.parametrize(
    ("given", "others", "found"),
    [
        ({"dry_run": "maybe", "schemas": None}, {}, "dry_run: 'maybe'\nwhy: this is neither true nor false"),
        ({"dry_run": True, "schemas": [1]}, {}, "schemas: [1]\nwhy: the argument is a list of names"),
        ({"dry_run": True, "schemas": 7}, {}, "schemas: 7\nwhy: the argument is a list of names"),
        (
            {"dry_run": True, "schemas": None},
            {"model": "m"},
            "argument 'model' of temporal_drop\nwhy: it takes",
        ),
    ],
)
def test_temporal_drop(given: dict[str, Any], others: dict[str, Any], found: str) -> None:
    told = refused("temporal_drop", given, others)
    assert f"found: {found}" in told
    assert "instead: dbt run-operation temporal_drop --args '{dry_run: true, schemas: [old_schema]}'" in told


@pytest.mark.parametrize(
    ("operation", "given", "found", "shown"),
    [
        ("temporal_status", {"format": "xml"}, "format: 'xml'\nwhy: the argument is table or json", "format: json"),
        ("temporal_explain", {"full_refresh": "so"}, "full_refresh: 'so'", "full_refresh: true"),
        ("temporal_report", {"hours": 0}, "hours: 0\nwhy: it is a number from 1 to 240", "hours: 24"),
        ("temporal_report", {"hours": True}, "hours: True", "hours: 24"),
        ("temporal_report", {"path": ""}, "path: ''\nwhy: the argument names a file", "path: report.html"),
    ],
)
def test_the_other_arguments(operation: str, given: dict[str, Any], found: str, shown: str) -> None:
    told = refused(operation, {"model": "late", **given}, {})
    assert f"found: {found}" in told
    assert f"instead: dbt run-operation {operation} --args '{{model: late, {shown}}}'" in told


@pytest.mark.parametrize("model", ["late", "late.v2", "an_alias", "p.late"])
def test_the_model_that_was_given_stands_in_the_command(model: str) -> None:
    """Else a pasted command would restart another one."""
    graph = {"nodes": {**GRAPH["nodes"], "model.p.a": {**NODE, "name": "a"}}}
    assert f"--args '{{model: {model}}}'" in refused("temporal_restart", {"model": model}, {"fromat": "json"}, graph)
    assert "--args '{model: late}'" in refused("temporal_restart", {"model": None}, {"modle": "late"}, graph)


def test_what_is_right() -> None:
    assert checked("temporal_status", {"model": None}, {}, GRAPH) == {"model": None}
    assert checked("temporal_restart", {"model": "late"}, {}, GRAPH) == {"model": "late"}
    schemas = {"dry_run": False, "schemas": "old"}
    assert checked("temporal_drop", schemas, {}, GRAPH) == {"dry_run": False, "schemas": ["old"]}


@pytest.mark.parametrize(
    ("kind", "is_left"),
    [("temporal_view", False), ("table", False), ("view", False), ("incremental", False), ("ephemeral", True)],
)
def test_a_model_of_another_kind_leaves_nothing_before_it_runs(kind: str, is_left: bool) -> None:
    """Until then the temporal_view answers: it gives way when the other relation stands."""
    live = 'SELECT /* mz_state: {"format":2,"model":"m","project":"shop"} */ 1'
    config = SimpleNamespace(credentials=SimpleNamespace(schema="s", views_schema=None), project_name="shop")
    found = SimpleNamespace(tables=lambda schema, suffix: ["m__live"], view=lambda name: ViewInfo(live, {}, None))

    class Operations(RunOperations):
        _warehouse: Any = found

    operations = Operations()
    operations.config, operations.list_schemas = config, lambda database: ["s"]
    node = {"resource_type": "model", "schema": "S", "alias": "m", "config": {"materialized": kind}}
    left = operations.temporal_leftovers({"nodes": {"a": node}})
    assert [one["target"].model for one in left] == ["m"] * is_left and all(one["mine"] for one in left)


@pytest.mark.parametrize("advice", [FEWER_INSTANTS, FEWER_READS])
def test_what_is_advised_is_an_argument_of_the_macro(advice: dict[str, str]) -> None:
    signatures = re.findall(r"\{%-? macro (temporal_\w+)\(([^%]*)\) %\}", "".join(map(Path.read_text, MACROS)))
    arguments = {macro: set(re.findall(r"(\w+)=", signature)) for macro, signature in signatures}
    for macro, words in advice.items():
        named = {name for found in re.findall(r"(\w+)=|`(\w+)`|\b([a-z]+_\w+)", words) for name in found if name}
        assert named <= {*arguments[macro], *arguments}, macro
