"""The conformance cases in which the input itself changes: one dbt run an instant of change, one model a case.

What is stored is compared as updates where the model is its core; where a residual stands above it, the view is read at
every instant that matters and the expected updates are added up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.changes import Request, changes
from dbt.adapters.sparktemporal.over_time.reads import as_of
from support.cases import CASES, create, literal, model_name, plain, relation_sql
from support.project import Project
from support.sampled import asked, each

STREAMS = CASES["diff_cases"]


def first(case: dict[str, Any]) -> int:
    """The instant of the first run: the as-of of the case, else of its first update."""
    return case.get("as_of", min(u["time"] for u in case["updates"]))


def input_at(case: dict[str, Any], instant: int) -> list[list[Any]]:
    rows: Counter = Counter()
    for update in case["updates"]:
        if update["time"] <= instant:
            rows[tuple(update["row"])] += update["diff"]
    assert min(rows.values(), default=0) >= 0
    return [list(row) for row in rows.elements()]


def replace_input(project: Project, case: dict[str, Any], rows: list[list[Any]]) -> None:
    table = f"{project.schema}.{case['id']}_t"
    if not project.spark.catalog.tableExists(table):
        create(project, f"{case['id']}_t", case["columns"], rows)
        return
    types = case["columns"].values()
    values = ["SELECT " + ", ".join(literal(v, t) for v, t in zip(row, types)) for row in rows]
    nothing = "SELECT " + ", ".join(f"CAST(NULL AS {t})" for t in types) + " WHERE false"
    project.spark.sql(f"INSERT OVERWRITE {table} {' UNION ALL '.join(values) or nothing}")


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory, spark: Any, request: pytest.FixtureRequest) -> Any:
    """The streams to their end, side by side; the refusals of the first run by model."""
    project = Project(tmp_path_factory.mktemp("streams") / "project", spark)
    runs: dict[int, list[dict]] = defaultdict(list)
    for case in asked(request, "case"):
        start = first(case)
        config: dict[str, str] = {"retain_history": "1 day"}
        if "expiration" in case:
            config["expiration"] = f"{case['expiration'] - start} milliseconds"
        project.model(model_name(case), relation_sql(case, {"t": f"{project.schema}.{case['id']}_t"}), **config)
        for instant in {start, *(u["time"] for u in case["updates"] if u["time"] > start)}:
            runs[instant].append(case)
    refused: dict[str, str] = {}
    for instant, cases in sorted(runs.items()):
        for case in cases:
            replace_input(project, case, input_at(case, instant))
        chosen = [model_name(case) for case in cases]
        result = project.run("--threads", "2", "-s", *chosen, now=instant, check=False)
        refused |= {r.node.name: r.message for r in result.results if r.status != "success"}
    yield project, refused
    project.drop()


def view_at(project: Project, case: dict[str, Any], instants: list[int]) -> dict[int, Counter]:
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model_name(case))
    found: dict[int, Counter] = {t: Counter() for t in instants}
    sides = (f"SELECT {t} AS mz_t, * FROM {as_of(warehouse, target, t)}" for t in instants)
    for t, *row in project.rows(" UNION ALL ".join(sides)):
        found[t][tuple(map(plain, row))] += 1
    return found


def output_changes(project: Project, case: dict[str, Any], up_to: int) -> dict:
    """The updates of the output, as temporal_changes tells them."""
    request = Request(first(case), up_to)
    found: Counter = Counter()
    sql = changes(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model_name(case)), request)
    for t, diff, _, *row in project.rows(f"SELECT * FROM {sql}"):
        found[(t, *map(plain, row))] += diff
    return dict(found)


@pytest.mark.parametrize("case", each(10, STREAMS), ids=lambda c: c["id"])
def test_stream(case: dict[str, Any], driven: Any) -> None:
    project, refused = driven
    name = model_name(case)
    assert name not in refused, refused.get(name)
    until = case.get("until", 10**6)
    expected: Counter = Counter()
    for update in case["expect"]:
        expected[(update["time"], *map(plain, update["row"]))] += update["diff"]

    state = project.state(name)
    assert state.expiration == case.get("expiration")
    assert output_changes(project, case, min(until, (state.expiration or until) + 1)) == dict(expected)
    if state.residual == f"SELECT * FROM {state.cores[0].placeholder}":
        stored: Counter = Counter()
        for t, diff, *row in project.rows(f"SELECT * FROM {{s}}.{name}__diffs"):
            if t < until:
                stored[(max(t, first(case)), *map(plain, row))] += diff
        assert {k: v for k, v in stored.items() if v} == dict(expected)
        return
    changes = {first(case), *(u["time"] for u in case["updates"]), *(u["time"] for u in case["expect"])}
    instants = sorted({t + d for t in changes for d in (-1, 0, 1) if first(case) <= t + d < until})
    for t, rows in view_at(project, case, instants).items():
        total: Counter = Counter()
        for (time, *row), diff in expected.items():
            if time <= t:
                total[tuple(row)] += diff
        assert rows == {k: v for k, v in total.items() if v}, t
