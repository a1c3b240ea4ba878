"""The one table of units of time, and the tables that are made of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dbt.adapters.sparktemporal.temporal.clock import instants
from dbt.adapters.sparktemporal.temporal.predicates import days, lengths, reach
from dbt.adapters.sparktemporal.temporal.predicates.conditions import condition
from dbt.adapters.sparktemporal.temporal.predicates.interval_units import common_length
from dbt.adapters.sparktemporal.temporal.predicates.moving import Moving
from dbt.adapters.sparktemporal.temporal.predicates.shifts import moved
from dbt.adapters.sparktemporal.temporal.sql.functions.row import DAY
from dbt.adapters.sparktemporal.temporal.sql.functions.units import UNITS, unit_of
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression


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
    found = moved(expression(f"date_trunc('{unit}', ts)"))
    assert found is not None and found[1] == (-most, 0)


def test_tables_of_units() -> None:
    hours = [lengths.interval(expression("interval 1 hour")), lengths.milliseconds(expression("interval 1 hour"))]
    assert [*hours, instants.parse_duration("1 hour", "x")] == [(3_600_000_000, 3_600_000_000), 3_600_000, 3_600_000]
    assert lengths.milliseconds(expression("interval 5 microseconds")) == Fraction(5, 1_000)
    assert lengths.milliseconds(expression("interval 1 month")) is None
    assert set(days.TRUNCATED) == {u.name.upper() for u in UNITS} - {"MICROSECOND", "MILLISECOND"}
    assert reach._SPLIT == {"MINUTE": 60, "HOUR": 3_600}
    assert sorted(reach._EXACT) == [
        "MICROSECOND",
        "MILLISECOND",
        "SECOND",
    ]
    assert list(instants._UNITS_MS) == ["millisecond", "second", "minute", "hour", "day", "week"]


@pytest.mark.parametrize(
    ("text", "is_days"),
    [
        ("k * interval 1 week", True),
        ("f * interval 1 week", False),
        ("(k + 1) * interval 1 week", False),  # of a type that nobody told
        ("interval '48' hours * k", True),
        ("k * interval '1 02:10' day to minute", False),
        ("k * interval 90 minutes", False),
        ("make_interval(0, 0, 0, k)", True),
        ("make_interval(0, 0, 0, k, -1)", False),
    ],
)
def test_intervals_of_whole_days(text: str, is_days: bool) -> None:
    types = {"k": "int", "f": "decimal(3,1)"}
    assert (common_length(expression(text), "interval", types) == DAY) is is_days


#: unit -> how many of it are a day
IN_A_DAY = {unit.name: DAY // unit.most for unit in UNITS if unit.most <= DAY}
INTERVAL = "interval day to second"


def local_of(side: str, kind: str = "int") -> list[str]:
    """The local time that a side reads, where its row expressions have a type."""
    (step,) = condition(expression(f"{side} <= ts")).steps
    found = condition(expression(f"{side} <= ts")).row_expressions
    return [r.written for r in reach.readings(Moving(step.function, found, [kind] * len(found), "timestamp"))]


@pytest.mark.parametrize("unit", IN_A_DAY)
def test_what_is_as_long_in_every_zone_reads_no_local_time(unit: str) -> None:
    most, is_day = IN_A_DAY[unit] - 1, unit == "day"
    for count in (1, -1, "k", "CAST(-40 AS BIGINT)", most + 1, f"-{15 * most + 15}"):  # however many hours there are
        for name in ("timestampadd", "dateadd", "date_add"):
            assert bool(local_of(f"{name}({unit}, {count}, mz_now())")) == is_day, count
    for factor in (most, -most):
        assert local_of(f"mz_now() - {factor} * interval 1 {unit}", INTERVAL) == []
    assert local_of(f"mz_now() - {most + 1} * interval 1 {unit}", INTERVAL) != []
    assert local_of(f"mz_now() - {min(most, 3)} * interval 1 {unit}", "interval") != []  # keeps days beside hours


def test_other_lengths_read_local_time() -> None:
    for side in (
        "timestampadd(DAYOFYEAR, 1, mz_now())",
        "dateadd(WEEK, 1, mz_now())",
        "timestampadd(DAY, k, mz_now())",
    ):
        assert local_of(side) != [], side
    for unit in ("MICROSECOND", "SECOND", "HOUR", "DAY", "MONTH", "YEAR"):  # by local time, whatever the unit
        assert local_of(f"timestampdiff({unit}, a, mz_now())") != []
    assert local_of("mz_now() - case when k then interval 1 hour else interval 90 minutes end", INTERVAL) == []
    assert local_of("mz_now() - case when k then interval 1 hour else interval 1 day end", INTERVAL) != []
    assert local_of("mz_now() - '2024-10-01'") != []  # Spark makes an instant of the text, and the difference is local


def test_how_far_back_a_constant_length_reads() -> None:
    side = expression("date_trunc('HOUR', dateadd(HOUR, `mz_s0`, dateadd(DAY, `mz_s1`, mz_now())))")
    found = reach.readings(Moving(side, (expression("-5"), expression("-3")), ("int", "int"), ""))
    assert [r.back for r in found] == [0, 3 * DAY // 1_000 + 1, 3 * DAY // 1_000 + 1 + 5 * 3_600_000 + 1]
