"""Cells of time: how long they are, and how a function of the clock changes within one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dbt.adapters.sparktemporal.temporal.clock.zones import Change
from dbt.adapters.sparktemporal.temporal.predicates.conditions import condition
from dbt.adapters.sparktemporal.temporal.predicates.grid import CONSTANT, MOVED, RISES, Grid, near, rising
from dbt.adapters.sparktemporal.temporal.predicates.moving import Moving
from dbt.adapters.sparktemporal.temporal.predicates.reach import readings
from dbt.adapters.sparktemporal.temporal.sql.functions.registry import ROWS
from dbt.adapters.sparktemporal.temporal.sql.functions.row import Function, Local, Takes
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
UTC = [(0, ())]
KOLKATA = [(19_800, ())]
#: two changes of Berlin in 2026, of one local time that is read
BERLIN = [(3_600, ()), (0, (Change(1_774_746_000, 3_600, 7_200), Change(1_792_890_000, 7_200, 3_600)))]
LORD_HOWE = [(37_800, ()), (0, (Change(1_775_314_800, 39_600, 37_800), Change(1_791_041_400, 37_800, 39_600)))]
#: the years before a zone had an offset by law
BY_THE_SUN = [(3_600, ()), (0, (Change(-2_422_054_408, 3_208, 3_600),))]
CLOCK = (expression("mz_now()"),)


def moving(text: str, *types: str, other: str = "timestamp") -> Moving:
    found = condition(expression(text))
    return Moving(found.steps[0].function, found.row_expressions, types, other)


@pytest.mark.parametrize(
    ("text", "zone", "grid"),
    [
        ("date_format(mz_now(), 'yyyy-MM-dd') <= ds", UTC, Grid(DAY, 0, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd') <= ds", KOLKATA, Grid(DAY, 19_800_000, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd HH') <= ds", KOLKATA, Grid(HOUR, 19_800_000, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd HH:mm') <= ds", UTC, Grid(MINUTE, 0, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd HH:mm:ss.SSS') <= ds", UTC, Grid()),
        ("date_format(date_trunc('DAY', mz_now()), 'yyyy-MM-dd HH:mm:ss.SSS') <= ds", UTC, Grid(DAY, 0, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd') <= ds", BERLIN, Grid(HOUR, 0, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd') <= ds", LORD_HOWE, Grid(HOUR // 2, 0, CONSTANT)),
        ("date_format(mz_now(), 'yyyy-MM-dd') <= ds", BY_THE_SUN, Grid()),
        ("datediff(mz_now() - interval 100 minutes, d) < 7", UTC, Grid(HOUR // 3, 0, CONSTANT)),
        ("date_format(from_utc_timestamp(mz_now(), '+05:45'), 'yyyyMMdd') < s", UTC, Grid(HOUR // 4, 0, CONSTANT)),
        ("cast(date_trunc('HOUR', mz_now()) as string) < s", UTC, Grid(HOUR, 0, CONSTANT)),
        ("date_trunc('SECOND', mz_now()) < s", UTC, Grid()),
        ("cast(timestamp_seconds(unix_seconds(mz_now()) + k) as date) < d", UTC, Grid()),
        ("cast(timestamp_seconds(unix_seconds(mz_now()) + 660) as date) < d", UTC, Grid(MINUTE, 0, CONSTANT)),
        (
            "cast(to_timestamp(to_unix_timestamp(mz_now()) + cast(12 * 3600 as int)) as date) < d",
            UTC,
            Grid(DAY // 2, 0, CONSTANT),
        ),
        # a number of milliseconds that Spark takes for seconds
        ("cast(to_timestamp(unix_millis(mz_now())) as date) < d", UTC, Grid()),
        ("cast(timestamp_seconds(mz_now()) as date) < d", UTC, Grid()),
        ("cast(timestamp_millis(mz_now()) as date) < d", UTC, Grid(DAY, 0, CONSTANT)),
        ("date_format(timestamp_seconds(unix_seconds(mz_now()) / 2), 'yyyy-MM-dd') < d", UTC, Grid()),
        ("from_unixtime(unix_timestamp(mz_now()) - 3600, 'yyyy-MM-dd') < d", UTC, Grid(HOUR, 0, CONSTANT)),
        ("datediff(mz_now(), d) + 5 < k", UTC, Grid(DAY, 0, CONSTANT)),
        ("unix_millis(mz_now()) < k", UTC, Grid()),
        ("(year(mz_now()), month(mz_now())) >= (y, m)", UTC, Grid(DAY, 0, CONSTANT)),
    ],
)
def test_a_function_that_rises(text: str, zone: Sequence[tuple[int, tuple[Change, ...]]], grid: Grid) -> None:
    assert rising(zone, moving(text, "bigint", "bigint")) == grid


@pytest.mark.parametrize(
    ("text", "types", "cell", "within", "is_calm"),
    [
        ("mz_now() - interval 7 days <= ts", ["interval day", "timestamp"], HOUR, MOVED, True),
        (
            "mz_now() + interval 7 days - interval 90 minutes <= ts",
            ["interval day", "timestamp"],
            HOUR // 2,
            MOVED,
            True,
        ),
        # Spark adds the day and then the hours: what is between the two may be at a change
        ("mz_now() - interval '1 20' day to hour <= ts", ["interval day to hour", "timestamp"], HOUR, MOVED, False),
        ("mz_now() - n <= ts", ["interval day", "timestamp"], HOUR, MOVED, True),
        ("dateadd(DAY, -7, mz_now()) <= ts", ["timestamp"], HOUR, MOVED, True),
        (
            "date_format(mz_now() - interval 7 days, 'yyyy-MM-dd') <= s",
            ["interval day", "string"],
            HOUR,
            CONSTANT,
            True,
        ),
        ("date_format(mz_now(), 'yyyy-MM-dd HH:mm:ss.SSS') <= s", ["string"], HOUR, RISES, True),
        ("date_format(mz_now(), 'yyyy-MM-dd HH:mm') <= s", ["string"], MINUTE, None, False),
    ],
)
def test_a_function_that_nearly_rises(
    text: str, types: list[str], cell: int, within: str | None, is_calm: bool
) -> None:
    found = near(BERLIN, BERLIN, moving(text, *types, other=types[-1]), True, CLOCK)
    if within is None:  # too many minutes are around a change: hours are looked at
        assert found is not None and (found.cell, found.within) == (HOUR, RISES)
        return
    assert found is not None and (found.cell, found.within, bool(found.calm)) == (cell, within, is_calm)
    assert found.reach % cell == 0 < found.reach <= 24 * cell


@pytest.mark.parametrize(
    ("length", "factor", "grid"),
    [
        ("k * interval 2 days", ["int"], Grid(DAY, 0, CONSTANT)),
        ("interval 1 day * (k + 1)", ["bigint"], Grid(DAY, 0, CONSTANT)),
        ("k * interval 1 day", ["decimal(3,1)"], Grid()),  # half a day has hours
        ("k * interval 1 day", ["double"], Grid()),
        ("k * interval '1 02:10' day to minute", [], Grid()),
        ("k * interval 90 minutes", [], Grid()),
        (
            "case when k > 1 then interval '02:00' hour to minute else interval 1 day end",
            [],
            Grid(2 * HOUR, 0, CONSTANT),
        ),
        ("if(k > 1, interval 1 day, interval 2 days)", [], Grid(DAY, 0, CONSTANT)),
        ("2 * if(k > 1, interval 1 hour, interval 2 days)", [], Grid()),
    ],
)
def test_lengths_that_the_row_decides(length: str, factor: list[str], grid: Grid) -> None:
    text = f"cast(mz_now() - {length} as date) <= d"
    assert rising(UTC, moving(text, "interval day to second", *factor, "date", other="date")) == grid


def test_months_have_no_calm_place() -> None:
    found = near(UTC, UTC, moving("mz_now() - interval 1 month <= ts", "interval month", "timestamp"), False, CLOCK)
    assert found == Grid(DAY, 0, MOVED, 4 * DAY)


#: functions of an instant whose value depends on local time
LOCAL = [
    (row, argument)
    for row in ROWS
    for argument in (row.increasing, row.decreasing)
    if row.local is not Local.NOTHING and argument is not None and row.takes is Takes.INSTANT and not row.parsed_as
]


@pytest.mark.parametrize(("row", "argument"), LOCAL, ids=lambda value: getattr(value, "name", value))
def test_each_function_reads_the_local_time_that_it_names(row: Function, argument: int) -> None:
    """Also that of its zones: without the reading, a change of the zone would not be searched."""
    zones = {row.zone: "Europe/Berlin", row.of_zone: "Australia/Lord_Howe"}
    unit = row.units[0] if row.units else "DAY"
    others = {row.unit: unit if row.keyword else f"'{unit}'", argument: "mz_now()"}
    others |= {at: f"'{zone}'" for at, zone in zones.items()}
    call = f"{row.name}({', '.join(others.get(at, 'mz_s0') for at in range(row.arguments or 0))})"
    found = {reading.zone for reading in readings(Moving(expression(call), [expression("k")], ["int"], ""))}
    assert found >= {zone for at, zone in zones.items() if at is not None}
    moves_alike = row.amount is not None and unit == "MICROSECOND"  # by as long in every zone
    assert bool(found) != moves_alike
