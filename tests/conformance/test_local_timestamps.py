"""The conformance cases in a session that takes TIMESTAMP for TIMESTAMP_NTZ: the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from support.cases import CASES, create_inputs, model_name, plain, wanted
from support.project import Project

#: a slice of every kind; the others are deep
SLICE, EACH = 12, 9


@pytest.fixture
def local(project: Project) -> Iterator[Project]:
    project.spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    yield project
    project.spark.conf.unset("spark.sql.timestampType")


@pytest.mark.first(1)
@pytest.mark.parametrize("part", range(EACH))
@pytest.mark.landing
@pytest.mark.own_catalog
def test_cases_with_local_timestamps(local: Project, part: int) -> None:
    cases, start = CASES["cases"][part::EACH], 0
    texts = create_inputs(local, cases)
    for case in cases:
        local.model(model_name(case), texts[case["id"]])
        start = min([start, *(parse_instant(c["at"]) for c in case["checks"])])
    assert len(cases) >= SLICE
    result = local.run(now=start, check=False)
    wrong = []
    for case in cases:
        outcome = result.of(model_name(case))
        if outcome.status != "success":
            # Spark's own words: unix_millis takes no local time
            if not ("unix_millis(" in case["sql"] and 'Cannot resolve "unix_millis(' in outcome.message):
                wrong.append((case["id"], outcome.message))
            continue
        target = ModelRelations(f"`{local.schema}`", model_name(case))
        for check in case["checks"]:
            sql = as_of(Warehouse(local.rows), target, parse_instant(check["at"]))
            found = [tuple(plain(v) for v in row) for row in local.rows(f"SELECT * FROM {sql}")]
            if Counter(found) != Counter(map(wanted, check["rows"])):
                wrong.append((case["id"], check["at"], found, check["rows"]))
    assert not wrong, wrong
