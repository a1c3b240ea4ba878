"""What dbt and its packages render for Spark: which macros are windows, and what takes their place, without Spark."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.predicates.constants import constant
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.rewrite.time_macros import write_out_time_macros
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, parse, render
from support.time_macros import ROW, WHOLE, WINDOW, Entry, dbt, entries, outcome, page, share

#: what comes back: no instant is the last at which it changes. docs/semantics.md has the reasons
COMES_BACK = {"date_part", "iso_week_of_year"}


@pytest.mark.parametrize("fixed_zone", [True, False])
def test_which_macros_are_windows(fixed_zone: bool) -> None:
    found = [(entry, *outcome(entry, fixed_zone)) for entry in entries()]
    others = [(entry, kept) for entry, kept, _ in found if kept != WINDOW]
    assert {entry.macro for entry, _ in others} == COMES_BACK
    assert {kept for _, kept in others} == {WHOLE} and not [e for e, _ in others if e.unit == "year" or e.side == ROW]
    windows, every = share(fixed_zone)
    assert windows / every > 0.95
    assert not [entry for entry, _, said in found if "assert_true" in said]


def test_the_table_of_the_docs() -> None:
    assert len(set(page())) == 1, "PYTHONPATH=tests python -m support.time_macros"


def changed(predicate: str, fixed_zone: bool = True, after_1970: bool = True) -> str:
    tree = parse(f"SELECT id FROM t WHERE {predicate}")
    write_out_time_macros(tree, lambda length: fixed_zone, after_1970)
    return render(tree.args["where"].this)


WEEK_AGO = dbt.dateadd("week", -1, "mz_now()")
MONTHS_AGO = dbt.dateadd("quarter", -1, "mz_now()")
AFTER = "timestamp_seconds(unix_seconds(CAST(ts AS TIMESTAMP_LTZ))"
UPWARDS = "timestamp_seconds(unix_seconds(CAST(ts AS TIMESTAMP_LTZ) + INTERVAL '0.999999' SECOND)"
CHANGED = {
    f"ts >= {WEEK_AGO}": f"mz_now() < {AFTER} + 604801L)",
    f"{WEEK_AGO} >= ts": f"mz_now() >= {UPWARDS} + 604800L)",
    f"not ts = {dbt.dateadd('minute', 2, 'mz_now()')}":
        f"NOT (mz_now() >= {UPWARDS} + -120L) AND mz_now() < {AFTER} + -119L))",
    f"ts between {WEEK_AGO} and mz_now()": f"((mz_now() < {AFTER} + 604801L)) AND ts <= mz_now())",
    f"ts > {dbt.dateadd('day', 'k', 'mz_now()')}":
        f"mz_now() < {UPWARDS} + (0L - CAST(CAST(k * 1 AS INT) AS BIGINT) * 86400L))",
    f"ts >= {MONTHS_AGO}": f"(mz_now() + INTERVAL '-3' MONTH) < {AFTER} + 1L)",
    f"d = cast({MONTHS_AGO} as date)": "d = CAST((mz_now()) + (INTERVAL '-3' MONTH) AS DATE)",
    f"d < {dbt.dateadd('day', 1, 'current_date()')}": None,
    f"{dbt.last_day('mz_now()', 'month')} = d":
        "CAST(CAST(date_add(date(CAST(add_months(date(date_trunc('month', mz_now())), CAST(1 * 1 AS INT)) AS "
        "TIMESTAMP_LTZ)), CAST(-1 * 1 AS INT)) AS TIMESTAMP_LTZ) AS DATE) = d",
    f"{dbt.datediff('ts', 'mz_now()', 'week')} < 2":
        "(floor((unix_date(date(mz_now())) + 4) / 7) - floor((unix_date(date(ts)) + 4) / 7)) < 2",
    "from_utc_timestamp(mz_now(), 'UTC') < ts": "mz_now() < ts",
}  # fmt: skip


@pytest.mark.parametrize("predicate", CHANGED)
def test_what_stands_in_the_place_of_a_macro(predicate: str) -> None:
    wanted = CHANGED[predicate]
    assert wanted is None or changed(predicate) == wanted


DAY_ON = "to_timestamp(to_unix_timestamp(date_add(date(mz_now()), CAST(1 AS INT)))"
SAME = f"{DAY_ON} + to_unix_timestamp(to_timestamp(mz_now()))"
KEPT = (
    "coalesce(date(a), nvl2(date(b), assert_true(NOT date(b) IS NULL), NULL)) < mz_now()",
    "coalesce(date(a), nvl2(date(a), 1, NULL)) < mz_now()",
    "ts <= to_timestamp(to_unix_timestamp(mz_now()) + 0.5)",  # a fraction of a second
    "ts <= to_timestamp(to_unix_timestamp(mz_now()) + CAST(unix_date(mz_now()) AS INT))",
    f"ts <= {SAME} - to_unix_timestamp(date(ts)))",
    f"ts <= {SAME} - to_unix_timestamp(date(mz_now() + INTERVAL '1' DAY)))",
    "from_utc_timestamp(mz_now(), 'Europe/Berlin') < ts",
)


@pytest.mark.parametrize("predicate", KEPT)
def test_what_only_looks_like_a_macro(predicate: str) -> None:
    assert changed(predicate) == predicate


def test_where_local_time_or_rounding_differs() -> None:
    """In a zone with daylight saving, and before 1970, comparisons stay, and instants of each row are listed."""
    kept = "to_timestamp(to_unix_timestamp(date_add(date(mz_now()), CAST(-1 * 7 AS INT)))"
    for fixed_zone, after_1970 in ((False, True), (True, False)):
        assert changed(f"ts >= {WEEK_AGO}", fixed_zone, after_1970).startswith(f"ts >= {kept}")
    (core,) = split(f"select id from t where ts >= {WEEK_AGO}", lambda q: [("id", "int")], lambda length: False).cores
    assert core.condition is not None and [step.search for step in core.condition.steps] == ["listed"]
    value = f"select {WEEK_AGO} as since, id from t where mz_now() < ts"
    tree = parse(value)
    write_out_time_macros(tree, lambda length: True, after_1970=True)
    assert render(tree).startswith(f"SELECT {kept}")


@pytest.mark.parametrize(
    ("text", "value"),
    [("CAST(-7 * 24 AS INT)", -168), ("CAST(1.5 * 2 AS INT)", 3), ("CAST(1 * 3000000000 AS INT)", None),
     ("CAST(70000 * 70000 AS BIGINT)", None), ("CAST(3000000000 AS INT)", None), ("k * 2", None)],
)  # fmt: skip
def test_products_of_constants(text: str, value: int | None) -> None:
    """Beyond an INT they wrap around."""
    assert constant(expression(text)) == value


def test_a_predicate_of_the_table() -> None:
    """A macro that does not know its unit would be one that is not tried."""
    by_unit = {entry.unit for entry in entries() if entry.macro == "dateadd"}
    assert len(by_unit) == 8 and Entry("today", "", "row", "cast({n} as date) = d") in entries()
