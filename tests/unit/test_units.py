"""The one table of units of time, and the tables that are made of it."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.clock import instants
from dbt.adapters.sparktemporal.temporal.predicates import lengths, monotonicity, reach
from dbt.adapters.sparktemporal.temporal.sql.dialect import expression
from dbt.adapters.sparktemporal.temporal.sql.functions.row import DAY
from dbt.adapters.sparktemporal.temporal.sql.functions.units import UNITS, unit_of


def test_units_rise() -> None:
    assert list(UNITS) == sorted(UNITS, key=lambda unit: unit.most)
    assert all(unit.least <= unit.truncated <= unit.most for unit in UNITS)
    names = [name for unit in UNITS for name in unit.names]
    assert len(names) == len(set(names)) and names == [name.upper() for name in names]


@pytest.mark.parametrize(
    ("unit", "days"),
    [("week", (7, 7)), ("months", (28, 31)), ("QUARTER", (84, 93)), ("Years", (336, 372)), ("decade", None)],
)
def test_days_of_a_unit(unit: str, days: tuple[int, int] | None) -> None:
    found = unit_of(unit)
    assert (None if found is None else (found.least, found.most)) == (days and (days[0] * DAY, days[1] * DAY))


@pytest.mark.parametrize(
    ("unit", "most"),
    [("SECOND", DAY // 86_400), ("WEEK", 7 * DAY), ("MM", 31 * DAY), ("QUARTER", 92 * DAY), ("YY", 366 * DAY)],
)
def test_what_truncating_takes_off(unit: str, most: int) -> None:
    found = lengths.moved(expression(f"date_trunc('{unit}', ts)"))
    assert found is not None and found[1] == (-most, 0)


def test_tables_of_units() -> None:
    hours = [lengths.interval(expression("interval 1 hour")), monotonicity.milliseconds(expression("interval 1 hour"))]
    assert [*hours, instants.parse_duration("1 hour", "x")] == [(3_600_000_000, 3_600_000_000), 3_600_000, 3_600_000]
    assert monotonicity.milliseconds(expression("interval 5 microseconds")) == 0.005
    assert monotonicity.milliseconds(expression("interval 1 month")) is None
    assert set(monotonicity.TRUNCATED) == {u.name.upper() for u in UNITS} - {"MICROSECOND", "MILLISECOND"}
    assert reach._SPLIT == {"MINUTE": 60, "HOUR": 3_600}
    assert sorted(reach._EXACT) == [
        "MICROSECOND",
        "MILLISECOND",
        "SECOND",
    ]
    assert list(instants._UNITS_MS) == ["millisecond", "second", "minute", "hour", "day", "week"]
