"""Mistakes that others made when they left out parts by statistics: each keeps the part here, or finds the row.

A part is given by its rows; its statistics are computed of them, as a run does it.
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.pushdown import statistics
from dbt.adapters.sparktemporal.pushdown.metrics_evaluator import Leaf, MetricsEvaluator
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, mz_now_calls, render
from support.instants import T0
from support.sampled import each
from support.session import ALL_FUNCTIONS

TYPES = {
    "ts": "timestamp", "x": "double", "k": "int", "t": "string", "dec": "decimal(10,2)", "payload": "string",
    "d": "date", "big": "bigint", "d1": "decimal(38,18)", "d2": "decimal(38,0)", "d3": "decimal(38,10)", "f": "float",
    "ntz": "timestamp_ntz",
}  # fmt: skip
ROW = {name: f"CAST(NULL AS {kind})" for name, kind in TYPES.items()}


def relation(*rows: dict[str, str]) -> str:
    every = [", ".join({**ROW, **row}[name] for name in TYPES) for row in rows]
    return f"SELECT * FROM VALUES {', '.join(f'({row})' for row in every)} AS v({', '.join(TYPES)})"


def keeps(spark: Any, predicate: str, part: str, first: int = T0, last: int | None = T0, ansi: bool = False) -> bool:
    """Whether a part is kept. part: SQL of its rows."""
    node = expression(predicate)
    calls = {call.meta["start"]: "TIMESTAMP" for call in mz_now_calls(node)}
    probe = MetricsEvaluator(Range(first, last), {}, TYPES, True, calls, strict=ansi)
    probe.may_matter(node)
    texts = {text: n for text, n in probe.wants.items() if text in TYPES or not ansi}
    told = spark.sql(f"SELECT {', '.join(texts)} FROM ({part})").dtypes if texts else []
    known = {text: kind.replace("timestamp_ltz", "timestamp") for text, (_, kind) in zip(texts, told)}
    names = frozenset(name.lower() for (name,) in spark.sql(ALL_FUNCTIONS).collect())
    chosen = statistics.chosen(texts, known, [], names)
    leaves = {text: Leaf(i, known[text]) for i, text in enumerate(chosen)}
    found = MetricsEvaluator(Range(first, last), leaves, TYPES, True, calls, strict=ansi).may_matter(node)
    items = [
        f"min({text}) AS mz_min_{i}, max({text}) AS mz_max_{i}, count_if(({text}) IS NULL) AS mz_nulls_{i}"
        for i, text in enumerate(leaves)
    ]
    of_part = f"SELECT {', '.join(['count(*) AS mz_rows', *items])} FROM ({part})"
    ((kept,),) = spark.sql(f"SELECT {found} FROM ({of_part})").collect()
    return bool(kept)


OLD, NEW = "timestamp '2020-01-01 00:00:00'", "timestamp '2030-01-01 00:00:00'"


def test_a_window_that_is_over_is_left_out(spark: Any) -> None:
    """Else the others here would pass with everything kept."""
    assert not keeps(spark, "mz_now() < ts", relation({"ts": OLD}))
    assert keeps(spark, "mz_now() < ts", relation({"ts": OLD}, {"ts": NEW}))


@pytest.mark.parametrize("order", ["100 / k > 3 and mz_now() < ts", "mz_now() < ts and cast(t as int) = 1"])
def test_an_error_beside_what_is_false(spark: Any, order: str) -> None:
    """`mightfail(x) AND always_false(y)` is an error where errors are raised: it may be evaluated first."""
    part = relation({"ts": OLD, "k": "0", "t": "'a'"})
    assert keeps(spark, order, part, ansi=True)
    assert not keeps(spark, order, part)


def test_an_error_inside_a_range(spark: Any) -> None:
    """100 / k fails at 0, though neither the least nor the greatest k does."""
    part = relation({"ts": NEW, "k": "-5"}, {"ts": NEW, "k": "0"}, {"ts": NEW, "k": "5"})
    assert keeps(spark, "100 / k > 1000 and mz_now() < ts", part, ansi=True)


def test_months_are_not_in_order(spark: Any) -> None:
    """January 30 23:59 + 1 month is later than January 31 + 1 month: both are February 29, by their hours."""
    part = relation(
        {"ts": "timestamp '2024-01-30 23:59:59'"}, {"ts": "timestamp '2024-01-31 00:00:00'"},
    )  # fmt: skip
    at = 1_709_251_198_000  # 2024-02-29 23:59:58
    assert keeps(spark, "mz_now() < ts + interval 1 month", part, at, at)
    assert keeps(
        spark,
        "mz_now() < add_months(ts, 1)",
        relation({"ts": "timestamp '2024-01-31 00:00:00'"}),
        T0 - 2 * 86_400_000,
        None,
    )


@pytest.mark.parametrize("nan", ["double('NaN')", "-double('NaN')"])
def test_numbers_that_are_none(spark: Any, nan: str) -> None:
    """NaN of either sign is greater than all for Spark, and equal to itself; files order it otherwise."""
    for others in ([], [{"x": "-1.0D", "ts": NEW}]):
        part = relation({"x": nan, "ts": NEW}, *others)
        assert keeps(spark, "x > 5 and mz_now() < ts", part)
        assert keeps(spark, "-x > 5 and mz_now() < ts", part)
        assert keeps(spark, f"x = {nan} and mz_now() < ts", part)


def test_fields_that_only_some_rows_have(spark: Any) -> None:
    """A field of a JSON text that is missing, or of another type there, is NULL; what is there still counts."""
    at = "cast(get_json_object(payload, '$.at') as timestamp)"
    old, new, none = ("""'{"at": "2020-01-01"}'""", """'{"at": "2030-01-01"}'""", "'{}'")
    assert not keeps(spark, f"mz_now() < {at}", relation({"payload": old}, {"payload": none}))
    assert keeps(spark, f"mz_now() < {at}", relation({"payload": old}, {"payload": none}, {"payload": new}))
    assert keeps(
        spark, f"mz_now() < coalesce({at}, ts)", relation({"payload": old, "ts": OLD}, {"payload": none, "ts": NEW})
    )
    assert keeps(
        spark, f"({at}) is null and mz_now() < ts", relation({"payload": old, "ts": OLD}, {"payload": none, "ts": NEW})
    )
    mixed = relation({"payload": """'{"at": [1, 2]}'"""}, {"payload": new})
    assert keeps(spark, f"mz_now() < {at}", mixed)


def test_rounding_inside_a_range(spark: Any) -> None:
    """A function with a scale is none that rises with its argument alone: its own values are looked at."""
    part = relation({"dec": "1.25BD", "ts": NEW}, {"dec": "1.35BD", "ts": NEW})
    assert keeps(spark, "round(dec, 1) = 1.3 and mz_now() < ts", part)
    assert not keeps(spark, "round(dec, 1) = 1.5 and mz_now() < ts", part)


def test_texts_of_numbers_are_not_in_their_order(spark: Any) -> None:
    part = relation({"t": "'9'", "ts": NEW}, {"t": "'10'", "ts": NEW})
    assert keeps(spark, "t > 8 and mz_now() < ts", part) and keeps(spark, "t < 10.5 and mz_now() < ts", part)


def test_a_list_of_texts_makes_texts_of_numbers(spark: Any) -> None:
    part = relation({"k": "1", "ts": NEW})
    assert spark.sql(f"SELECT count(*) FROM ({part}) WHERE k NOT IN ('01')").collect() == [(1,)]
    assert keeps(spark, "k not in ('01') and mz_now() < ts", part)
    assert not keeps(spark, "k not in (1, 2) and mz_now() < ts", part)
    texts = relation({"t": "'m'", "ts": NEW})
    assert not keeps(spark, "t in ('a', 'b') and mz_now() < ts", texts)


@pytest.mark.parametrize(
    "predicate",
    each(
        3,
        [
            "dec not in (1, '01')",
            "coalesce(k, '01') > '10'",
            "(case when false then 'a' else k end) > '10'",
            "if(false, concat(t, 'a'), k) > '10'",
            "k < (case when t = 'a' then '10' else '9' end)",
            "k < if(t = 'a', '10', '9')",
            "'09' not in (k, 3)",
            "big in (9007199254740993, 1.5D)",
            "if(true, d, ts) < '2030-01-01 12:00:00'",
            "coalesce(9, x) < '9.5'",
        ],
    ),
)
def test_branches_and_lists_with_a_text_are_texts(spark: Any, predicate: str) -> None:
    """So '9' is after '10', and '1.00' is not 1; of two texts the least is not that of the numbers they tell.

    Each is true of the row, as Spark says; likewise where one type is made of several that are no texts.
    """
    row = {"k": "9", "dec": "1.00BD", "t": "'a'", "ts": NEW, "d": "DATE'2030-01-01'", "big": "9007199254740992"}
    assert spark.sql(f"SELECT count(*) FROM ({relation(row)}) WHERE {predicate}").collect() == [(1,)]
    assert keeps(spark, f"{predicate} and mz_now() < ts", relation(row))


def test_branches_of_one_type_are_not_given_up(spark: Any) -> None:
    part = relation({"k": "9", "t": "'m'", "ts": NEW})
    for never in ("coalesce(k, 3, null) > 9.5", "greatest(k, 2L) < 9", "coalesce(t, 'a') > 'n'"):
        assert not keeps(spark, f"{never} and mz_now() < ts", part), never


def test_a_function_of_ones_own_is_not_measured(spark: Any) -> None:
    """It may say something else tomorrow; so may what tells who asks, or when."""
    names = frozenset(["upper", "current_user"])
    texts = {
        t: expression(t) for t in ("upper(t)", "mine(t)", "concat(t, current_user())", "rand() * x", "my.upper(t)")
    }
    assert statistics.chosen(texts, dict.fromkeys(texts, "string"), [], names) == ["upper(t)"]


def test_times_are_measured_whatever_else_is(spark: Any) -> None:
    numbers = {f"c{i}": expression(f"c{i}") for i in range(40)}
    texts = {**numbers, "at": expression("at")}
    types = {**dict.fromkeys(numbers, "int"), "at": "timestamp"}
    chosen = statistics.chosen(texts, types, ["C33"], frozenset())
    assert chosen[:2] == ["at", "c33"] and len(chosen) == statistics.MOST_LEAVES + 1


def test_what_a_projection_would_raise(spark: Any) -> None:
    """An error of the SELECT list is one of rows in the window: a part with such a row is kept, so it is raised."""
    part = relation({"ts": NEW, "k": "0"})
    assert keeps(spark, "mz_now() < ts", part, ansi=True)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            spark.sql(f"SELECT 100 / k FROM ({part}) WHERE timestamp_millis({T0}L) < ts").collect()
        finally:
            spark.conf.set("spark.sql.ansi.enabled", "false")


def test_the_interpreter_names_what_it_would_know(spark: Any) -> None:
    node = expression("mz_now() < cast(t as timestamp) and k > 3")
    reader = MetricsEvaluator(Range(T0, None), {}, TYPES, True)
    reader.may_matter(node)
    assert {"CAST(t AS TIMESTAMP)", "k"} <= set(reader.wants) and all(render(n) == t for t, n in reader.wants.items())


MAY = {"d": "DATE'2024-05-05'", "ts": NEW}


def wide(**values: str) -> dict[str, str]:
    """A row of decimals, in the types of their columns."""
    return {"ts": NEW, **{name: f"CAST({value} AS {TYPES[name].upper()})" for name, value in values.items()}}


WIDE = wide(d1="0.6", d2="7", d3="8")


@pytest.mark.parametrize(
    "predicate, rows",
    each(
        3,
        [
            # a text that is no date, or no number, is NULL beside one
            ("d <=> '' or mz_now() < d", [{}]),
            ("ts <=> 'n/a' or mz_now() < ts", [{}]),
            ("k <=> '' and mz_now() < ts", [{"ts": NEW}]),
            ("not (d is distinct from '') and mz_now() < ts", [{"ts": NEW}]),
            ("(k = 'abc') is null and mz_now() < ts", [{"ts": NEW, "k": "5"}]),
            ("(d between '' and '2024-12-31') is null and mz_now() < ts", [MAY]),
            # what is not known of both ends is not known to be a value
            ("coalesce(d, cast('' as date)) is null and mz_now() < ts", [{"ts": NEW}]),
            ("greatest(d, cast('' as date)) is null and mz_now() < ts", [{"ts": NEW}]),
            (
                "case when k > 0 then cast('2024-02-30' as date) else d end is null and mz_now() < ts",
                [{**MAY, "k": "1"}],
            ),
            ("ts <=> cast('' as timestamp) and mz_now() < coalesce(ts, timestamp'2030-01-01 00:00:00')", [{}]),
            # days that wrap around
            (
                "d + k > date'2024-03-03' and mz_now() < ts",
                [{**MAY, "k": "5"}, {**MAY, "k": "2147483647"}],
            ),
            (
                "d - k < date'2024-03-03' and mz_now() < ts",
                [{"ts": NEW, "d": "DATE'1960-03-05'", "k": k} for k in ("5", "2147483647")],
            ),
            (
                "date_add(d, 2147483647) > date'2024-03-03' and mz_now() < ts",
                [{"ts": NEW, "d": "DATE'1960-03-05'"}, MAY],
            ),
            # decimals are rounded where the digits of all are too many
            ("d1 in (1, d2) and mz_now() < ts", [WIDE]),
            ("d1 in (1, cast(7 as decimal(38,0))) and mz_now() < ts", [WIDE]),
            ("if(true, d1, d2) = 0 and mz_now() < ts", [wide(d1="0.4", d2="7")]),
            (
                "coalesce(d1, d3, d2) < 0.5 and mz_now() < ts",
                [wide(d1="0.499999999999", d2="7", d3="8"), wide(d3="7", d2="8"), wide(d2="9")],
            ),
            # a number with an exponent is a DOUBLE
            ("big in (9007199254740993, 1e0) and mz_now() < ts", [{"ts": NEW, "big": "9007199254740992"}]),
            ("if(false, 1e0, d2) = 9007199254740993 and mz_now() < ts", [wide(d2="9007199254740992")]),
            # a branch that never counts still says of what type all are
            ("if(true, d + interval 1 day, ts) < '2030-01-01 12:00:00' and mz_now() < ts", [MAY]),
            (
                "if(true, ntz, ts) > '2024-01-01 00:00:00+05:00' and mz_now() < ts",
                [{"ts": NEW, "ntz": "timestamp_ntz'2023-12-31 20:00:00'"}],
            ),
            ("if(false, d2, ceil(k)) < '9.5' and mz_now() < ts", [{"ts": NEW, "k": "9"}]),
            ("if(false, x, f) > '0.1' and mz_now() < ts", [{"ts": NEW, "f": "CAST(0.1 AS FLOAT)"}]),
        ],
    ),
)
def test_what_is_made_of_two_types(spark: Any, predicate: str, rows: list[dict[str, str]]) -> None:
    """Each is true of the first row, as Spark says."""
    at_noon = predicate.replace("mz_now()", f"timestamp_millis({T0}L)")
    assert spark.sql(f"SELECT count(*) FROM ({relation(rows[0])}) WHERE {at_noon}").collect() == [(1,)], at_noon
    assert keeps(spark, predicate, relation(*rows))


def test_what_two_types_leave_out(spark: Any) -> None:
    """Nor is everything kept that is written so."""
    part = relation({"ts": NEW, "d": "DATE'2024-05-05'", "k": "5", "dec": "1.00BD"})
    for predicate in (
        "d <=> '2024-05-04'", "k = '7'", "d + k < date'2024-05-01'", "dec in (2, 3.5)", "coalesce(dec, 0.5) > 4",
        "greatest(d, date'2024-01-01') > date'2025-01-01'", "if(k > 3, d, null) < '2024-01-01'", "k > 5e0",
    ):  # fmt: skip
        assert not keeps(spark, f"{predicate} and mz_now() < ts", part), predicate


@pytest.mark.parametrize("function", ["date_add(d, 7)", "dateadd(d, 7)", "date_sub(d, -7)", "d + 7"])
def test_days_added_in_each_form(spark: Any, function: str) -> None:
    over, at_noon = "DATE'2024-02-22'", "DATE'2024-02-24'"
    assert not keeps(spark, f"mz_now() < {function}", relation({"d": over}))
    assert keeps(spark, f"mz_now() < {function}", relation({"d": over}, {"d": at_noon}))


def test_texts_and_nullif_may_be_errors(spark: Any) -> None:
    part = relation({"ts": OLD, "k": "7", "t": "'a'"})
    for predicate in ("nullif(k, t) > 5", "nullif(k, '5a') > 5", "k = '5a'"):
        assert keeps(spark, f"{predicate} and mz_now() < ts", part, ansi=True), predicate
    assert not keeps(spark, "k = '5' and mz_now() < ts", part, ansi=True)


def test_local_time_has_gaps(spark: Any) -> None:
    """01:30 on the day clocks go forward is later than 03:00, as an instant."""
    predicate = expression(
        "mz_now() < case when k = 1 then timestamp_ntz'2024-03-10 02:30:00' else timestamp_ntz'2024-03-10 03:00:00' end"
    )
    calls = {call.meta["start"]: "TIMESTAMP" for call in mz_now_calls(predicate)}
    late = Range(1_710_054_900_000, 1_710_054_900_000)  # 2024-03-10 07:15 UTC
    found = MetricsEvaluator(late, {}, TYPES, False, calls, strict=False).may_matter(predicate)
    assert spark.sql(f"SELECT {found} FROM (SELECT 1 AS mz_rows)").collect() == [(True,)]


def test_local_time_beside_an_offset(spark: Any) -> None:
    """A text with an offset, made local time, is up to 32 hours from where it is read without one."""
    predicate = expression("cast(ts as timestamp_ntz) > '2024-01-01 00:00:00-18:00'")
    reader = MetricsEvaluator(Range(T0, T0), {"ts": Leaf(0, "timestamp")}, TYPES, False, strict=True)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    try:
        at = "timestamp'2023-12-31 12:00:00Z'"
        part = f"SELECT 1L AS mz_rows, {at} AS mz_min_0, {at} AS mz_max_0, 0L AS mz_nulls_0"
        true = spark.sql(f"SELECT {render(predicate)} FROM (SELECT {at} AS ts)").collect()
        kept = spark.sql(f"SELECT {reader.may_matter(predicate)} FROM ({part})").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert true == kept == [(True,)]


def test_days_too_many_for_a_number_of_microseconds(spark: Any) -> None:
    """Of which nothing is measured, as under ANSI rules: what is asked of Spark is a statement all the same."""
    part = relation({"ts": NEW, "d": "DATE'2024-05-05'"})
    for days in (2147483647, -2147483648):
        assert keeps(spark, f"date_add(d, {days}) > date'2024-03-03' and mz_now() < ts", part, ansi=True)
