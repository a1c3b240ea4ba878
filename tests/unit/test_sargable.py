"""What comparisons with the clock imply of single columns."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.pushdown.sargable import Range, Sargable
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression
from support.instants import DAY

TYPES = {
    "ts": "timestamp", "a": "timestamp", "b": "timestamp", "d": "date", "n": "timestamp_ntz", "ms": "bigint",
    "s": "int", "dec": "decimal(20,3)", "k": "string", "p.at": "timestamp",
}  # fmt: skip
FIRST, LAST = 100 * DAY, 101 * DAY


def at(ms: int) -> str:
    return f"timestamp_millis({ms})"


#: operator and operand beside the clock, its kind, what follows
CASES = [
    ("<=", "ts + interval 30 days", "timestamp", f"ts >= {at(70 * DAY)}"),
    (">", "ts + interval 30 days", "timestamp", f"ts <= {at(71 * DAY)}"),
    ("=", "ts", "timestamp", f"ts >= {at(FIRST)} AND ts <= {at(LAST)}"),
    ("<", "interval 1 hour + p.at", "timestamp", f"p.at >= {at(FIRST - 3_600_000)}"),
    ("<", "date_trunc('HOUR', ts) + interval '5' hours", "timestamp", f"ts >= {at(FIRST - 5 * 3_600_000)}"),
    (">=", "date_trunc('HOUR', ts)", "timestamp", f"ts <= {at(LAST + 3_600_000)}"),
    (">=", "cast(ts as date)", "timestamp", f"ts <= {at(LAST + DAY)}"),
    ("<", "ts - interval '1 02:00' day to minute", "timestamp", f"ts >= {at(FIRST + 26 * 3_600_000)}"),
    ("<", "ts + interval 1 month", "timestamp", f"ts >= {at(69 * DAY)}"),
    (">", "ts + interval 1 month", "timestamp", f"ts <= {at(LAST - 28 * DAY)}"),
    ("<", "ts + 3 * interval 1 day", "timestamp", f"ts >= {at(97 * DAY)}"),
    ("<", "dateadd(DAY, 7, ts)", "timestamp", f"ts >= {at(93 * DAY)}"),
    ("<", "d", "timestamp", f"d >= CAST({at(FIRST)} AS DATE)"),
    ("<", "d + 7", "timestamp", f"d >= CAST({at(93 * DAY)} AS DATE)"),
    ("<", "dateadd(d, 7)", "timestamp", f"d >= CAST({at(93 * DAY)} AS DATE)"),
    (">", "dateadd(ts, -7)", "timestamp", f"ts <= {at(109 * DAY)}"),
    ("<", "dateadd(d, s)", "timestamp", None),
    ("<", "date_add(d, 7)", "timestamp", f"d >= CAST({at(93 * DAY)} AS DATE)"),
    ("<", "n", "timestamp", f"n >= CAST({at(FIRST)} AS TIMESTAMP_NTZ)"),
    ("<", "timestamp_seconds(s)", "timestamp", f"s >= {FIRST // 1000}"),
    ("<", "to_utc_timestamp(ts, 'America/New_York')", "timestamp", f"ts >= {at(98 * DAY)}"),
    ("<", "ms + 5000", "bigint", f"ms >= {FIRST - 5000}"),
    (">=", "ms + 5000", "bigint", f"(ms <= {LAST - 5000} OR ms >= 9223372036854770807)"),
    ("<", "ms - 5000", "bigint", f"(ms >= {FIRST + 5000} OR ms <= -9223372036854770808)"),
    (">", "-ms", "bigint", f"(ms >= {-LAST} OR ms <= -9223372036854775807)"),
    ("<", "s * 1000L", "bigint", f"s >= {FIRST // 1000}"),
    ("<", "unix_seconds(ts) * 1000", "bigint", f"ts >= {at(FIRST)}"),
    ("<", "unix_millis(ts)", "bigint", f"ts >= {at(FIRST)}"),
    (">=", "unix_seconds(ts)", "bigint", f"ts <= {at((LAST + 1) * 1000)}"),
    # rounded towards zero; local time, as if it was UTC
    ("<", "unix_timestamp(ts) * 1000", "bigint", f"ts >= {at(FIRST - 1000)}"),
    ("<", "unix_timestamp(n) * 1000", "bigint", None),
    ("<", "cast(ms + 1e3 as bigint)", "bigint", None),
    ("<", "dec", "decimal", f"dec >= {FIRST - 1}"),
    ("<", "case when k = 'a' then a end", "timestamp", f"a >= {at(FIRST)}"),
    ("<", "if(k = 'a', a, b)", "timestamp", f"(a >= {at(FIRST)} OR b >= {at(FIRST)})"),
    ("<", "nullif(a, b)", "timestamp", f"a >= {at(FIRST)}"),
    ("<", "greatest(a, b)", "timestamp", f"(a >= {at(FIRST)} OR b >= {at(FIRST)})"),
    ("<", "least(a, b)", "timestamp", f"(a >= {at(FIRST)} OR a IS NULL) AND (b >= {at(FIRST)} OR b IS NULL)"),
    ("<", "coalesce(a, b)", "timestamp", f"(a >= {at(FIRST)} OR b >= {at(FIRST)} AND a IS NULL)"),
    # an int that wraps around can be anything
    ("<", "s * 1000", "bigint", "(s >= 2147484 OR s <= -2147484)"),
    # what is not understood
    ("<", "cast(k as timestamp)", "timestamp", None),
    ("<", "dec + 1", "decimal", None),
    # Spark takes the whole part of 1.5, and rounds a month and a half to two
    (">=", "dateadd(HOUR, 1.5, ts)", "timestamp", None),
    (">=", "ts + interval '1' month * 1.5", "timestamp", None),
    (">=", "ts + interval '1' day * 1.5", "timestamp", f"ts <= {at(LAST - 36 * 3_600_000)}"),
    ("<", "ms % 1000", "bigint", None),
    ("<", "abs(ms)", "bigint", None),
    ("<", "ts + make_interval(1)", "timestamp", None),
    ("<", "coalesce(a, cast(k as timestamp))", "timestamp", None),
    ("<>", "ts", "timestamp", None),
    # before year 1 there is nothing to leave out
    ("<", "ts + interval 900000 days", "timestamp", None),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{operator} {operand}" for operator, operand, *_ in CASES])
def test_what_a_comparison_implies(case: tuple[str, str, str, str | None]) -> None:
    operator, operand, kind, wanted = case
    assert Sargable(TYPES, 0).between(expression(operand), operator, kind, Range(FIRST, LAST)) == wanted


def test_daylight_saving_leaves_room() -> None:
    """A calendar day is 23, 24 or 25 hours there."""
    found = Sargable(TYPES, 25 * 3_600_000_000).between(
        expression("ts + interval 1 day"), "<", "timestamp", Range(FIRST, LAST)
    )
    assert found == f"ts >= {at(99 * DAY - 25 * 3_600_000)}"


def test_no_end_implies_no_upper_bound() -> None:
    sargable = Sargable(TYPES, 0)
    assert sargable.between(expression("ts"), ">=", "timestamp", Range(FIRST, None)) is None
    assert sargable.between(expression("ts"), "=", "timestamp", Range(FIRST, None)) == f"ts >= {at(FIRST)}"
