"""The conformance cases, run through dbt: every answer at every instant, every change log.

What the reference refuses is answered too, as Spark evaluates it with the instant put in, or refused here as well.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.changes import Request, changes
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from support.cases import (
    CASES,
    REFUSED,
    create_inputs,
    create_rejected,
    is_beyond,
    model_name,
    over_rejected,
    plain,
    wanted,
)
from support.project import Project
from support.sampled import asked, each


@pytest.fixture(scope="module")
def all_cases(tmp_path_factory: pytest.TempPathFactory, spark: Any, request: pytest.FixtureRequest) -> Any:
    """Each case a model of one project, hydrated by one dbt run at an instant before all that is asked."""
    project = Project(tmp_path_factory.mktemp("cases") / "project", spark)
    wanted_ids = {case["id"] for case in asked(request, "case")}
    kept = [case for case in CASES["cases"] if case["id"] in wanted_ids and not is_beyond(case, spark)]
    start, texts = 0, create_inputs(project, kept)
    for case in kept:
        project.model(model_name(case), texts[case["id"]])
        start = min([start, *(parse_instant(c["at"]) for c in case["checks"])])
    for number in asked(request, "number"):
        project.model(f"r_{number}", over_rejected(CASES["reject"][number]["sql"], project))
    create_rejected(project)
    result = project.run("--threads", "2", now=start, check=False)
    answered = [c for c in kept if result.of(model_name(c)).status == "success"]
    reads = project.render(
        "".join(
            f"{c['id']} {t} @@ select * from {{{{ temporal_as_of(ref('{model_name(c)}'), {t}) }}}} ;;"
            for c in answered
            for t in sorted({parse_instant(x["at"]) for x in c["checks"]})
        )
    )
    parts = (read.split("@@") for read in reads.split(";;") if "@@" in read)
    yield project, result, {tuple(key.split()): sql for key, sql in parts}
    project.drop()


INSTANTS = [0, 999, 1000, 1001, 3_600_000, 3_600_501, 300_001, 86_399_999, 86_400_000, 86_700_001, 172_800_000]


@pytest.mark.parametrize("number", each(10, range(len(CASES["reject"]))), ids=lambda n: CASES["reject"][n]["why"])
def test_rejected_elsewhere(number: int, all_cases: Any) -> None:
    project, result, _ = all_cases
    sql, outcome = CASES["reject"][number]["sql"], result.of(f"r_{number}")
    if CASES["reject"][number]["why"] in REFUSED:
        assert outcome.status == "error" and "instead: " in outcome.message, outcome.message
        return
    assert outcome.status == "success", outcome.message
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", f"r_{number}")
    found, expected = [], []
    for t in INSTANTS:
        written = over_rejected(sql, project).replace("mz_now()", f"timestamp_millis({t}L)")
        expected.append(f"SELECT {t}L AS at, * FROM ({written.replace('now()', f'timestamp_millis({t}L)')})")
        found.append(f"SELECT {t}L AS at, * FROM {as_of(warehouse, target, t)}")
    assert Counter(project.rows(" UNION ALL ".join(found))) == Counter(project.rows(" UNION ALL ".join(expected)))


@pytest.mark.parametrize("case", each(10, CASES["cases"]), ids=lambda c: c["id"])
def test_case(case: dict[str, Any], all_cases: Any) -> None:
    project, result, reads = all_cases
    if is_beyond(case, project.spark):
        pytest.skip("Iceberg has no columns of intervals")
    outcome = result.of(model_name(case))
    assert outcome.status == "success", outcome.message
    instants = {parse_instant(c["at"]) for c in case["checks"]}
    found = {t: [tuple(plain(v) for v in row) for row in project.rows(reads[case["id"], str(t)])] for t in instants}
    for check in case["checks"]:
        rows, expected = found[parse_instant(check["at"])], [wanted(r) for r in check["rows"]]
        if case.get("ordered"):
            assert rows == expected, check["at"]
        else:
            assert Counter(rows) == Counter(expected), check["at"]


@pytest.mark.parametrize("case", each(9, [c for c in CASES["cases"] if "diffs" in c]), ids=lambda c: c["id"])
def test_change_log_of_rows(case: dict[str, Any], all_cases: Any) -> None:
    """As `temporal_changes` tells it; where the model is its core, the stored updates are the same."""
    project, _, _ = all_cases
    target, state = project.target(model_name(case)), project.state(model_name(case))
    as_of, until = parse_instant(case["as_of"]), parse_instant(case["diffs_until"])
    expected: Counter = Counter()
    for update in case["diffs"]:
        expected[(parse_instant(update["time"]), *wanted(update["row"]))] += update["diff"]
    told = changes(Warehouse(project.rows), target, Request(as_of, until + 1, max_changes=1_000_000))
    rows = project.rows(f"SELECT * FROM {told}")
    found = {(t, *map(plain, row)): diff for t, diff, _, *row in rows}
    assert found == {k: v for k, v in expected.items() if v} and len(found) == len(rows)
    if state.is_plain:
        stored: Counter = Counter()
        for t, diff, *row in project.rows(f"SELECT * FROM {{s}}.{model_name(case)}__diffs"):
            if t <= until:
                stored[(max(t, as_of), *map(plain, row))] += diff
        assert {k: v for k, v in stored.items() if v} == found
