"""The places of instants among given ones, as Spark's SQL says and as counting says."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.over_time.sequenced.axis import Axis

DAY = 86_400_000
GIVEN = {
    "one": [5],
    "even": [10, 20, 30],
    "with holes": [0, 31 * DAY, 59 * DAY, 90 * DAY, 120 * DAY],
    "odd": [0, 1, 7_919, 86_400_001],
    "twice": [3, 1, 3, 2],
}


@pytest.mark.parametrize("given", GIVEN)
def test_places(spark: SparkSession, given: str) -> None:
    axis = Axis.of(GIVEN[given])
    assert axis is not None
    every = sorted(set(GIVEN[given]))
    asked = sorted({t + d for t in every for d in (-1, 0, 1)} | {-(10**15), 10**15})
    items = f"t, {axis.place('t')} AS place, {axis.reached('t')} AS reached"
    rows = spark.sql(f"SELECT {items} FROM VALUES {', '.join(f'({t}L)' for t in asked)} AS v(t)").collect()
    found = {row.t: (row.place, row.reached) for row in rows}
    assert found == {t: (sum(e < t for e in every), next((e for e in every if e >= t), None)) for t in asked}


def test_too_many_odd_instants() -> None:
    assert Axis.of([n * n * 7_919 + n for n in range(300)]) is None
    assert Axis.of(range(10_000)) is not None
