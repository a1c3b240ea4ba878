"""The cases of cases.yaml for statistics: whether a part may be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt.adapters.sparktemporal.pushdown.metrics_evaluator import Leaf, MetricsEvaluator
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.temporal.clock.instants import parse_instant
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, mz_now_calls, render

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())["prune_cases"]


def part(stats: dict[str, Any], rows: int) -> str:
    """The statistics of a part as a relation."""
    items = [f"{rows}L AS mz_rows"]
    for index, told in enumerate(stats.values()):
        unknown = told.get("unknown", False)
        for name in ("min", "max"):
            value = None if unknown or told[name] is None else f"'{told[name]}'"
            items.append(f"CAST({value or 'NULL'} AS {told['type'].upper()}) AS mz_{name}_{index}")
        items.append(f"CAST({'NULL' if unknown else told['nulls']} AS BIGINT) AS mz_nulls_{index}")
    return f"SELECT {', '.join(items)}"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_prune_case(case: dict[str, Any], spark: Any) -> None:
    predicate = expression(case["predicate"])
    of_numbers = any(told["type"] == "bigint" for told in case["stats"].values())
    calls = {c.meta["start"]: "BIGINT" if of_numbers else "TIMESTAMP" for c in mz_now_calls(predicate)}
    types = {name: told["type"] for name, told in case["stats"].items()}
    leaves = {name: Leaf(index, types[name]) for index, name in enumerate(types)}
    clock = Range(*(None if at is None else parse_instant(at) for at in case["now"]))
    may_matter = MetricsEvaluator(clock, leaves, types, True, calls).may_matter(predicate)
    ((found,),) = spark.sql(f"SELECT {may_matter} FROM ({part(case['stats'], case['rows'])})").collect()
    assert found is (case["expect"] == "keep"), (render(predicate), may_matter)


def test_they_are_all_there() -> None:
    assert len(CASES) >= 23 and {case["expect"] for case in CASES} == {"keep", "discard"}
