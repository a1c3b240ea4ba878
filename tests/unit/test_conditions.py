"""What is understood of predicates over the clock, without Spark."""

from __future__ import annotations

import random
import re
from contextlib import nullcontext
from typing import cast

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.searches import SessionZone, typed_condition
from dbt.adapters.sparktemporal.temporal.clock.zones import Change, Zone
from dbt.adapters.sparktemporal.temporal.predicates.comparisons import comparisons
from dbt.adapters.sparktemporal.temporal.predicates.conditions import condition
from dbt.adapters.sparktemporal.temporal.predicates.lengths import is_below_a_day, milliseconds
from dbt.adapters.sparktemporal.temporal.predicates.monotonicity import DAYS, MOVED, NONE, OTHER, Unlistable, side
from dbt.adapters.sparktemporal.temporal.predicates.moving import Moving
from dbt.adapters.sparktemporal.temporal.predicates.ordered import ordered
from dbt.adapters.sparktemporal.temporal.predicates.reach import readings
from dbt.adapters.sparktemporal.temporal.rewrite.clock_functions import put_mz_now
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.predicates import Natural
from support.typed import by_text

COLUMNS = {"t": ["id", "k", "ts", "hi"], "u": ["id", "until"]}


def expression(text: str):
    return parse(f"SELECT {text}").expressions[0]


@by_text
def described(sql: str) -> list[tuple[str, str]]:
    return [(name, "int") for table, names in COLUMNS.items() if f" {table}" in sql for name in names]


INCREASING = [
    "mz_now()", "(mz_now())", "mz_now() + x", "x + mz_now()", "mz_now() - x", "mz_now() DIV 1000", "mz_now() / 60000",
    "-(x - mz_now())", "unix_millis(mz_now())", "date_trunc('HOUR', mz_now())",
    "CAST(mz_now() AS DATE)", "to_date(mz_now() - interval 1 hour)", "year(mz_now())", "EXTRACT(YEAR FROM mz_now())",
    "date_add(CAST(mz_now() AS DATE), k)", "add_months(mz_now(), 1)", "datediff(mz_now(), d)", "floor(mz_now() / 1000)",
    "greatest(mz_now(), x)", "timestampdiff(HOUR, x, mz_now())", "trunc(mz_now(), 'MM')", "last_day(mz_now())",
    "dateadd(CAST(mz_now() AS DATE), 7)", "date_add(DAY, 7, mz_now())", "to_unix_timestamp(mz_now())",
    "to_timestamp_ltz(mz_now())", "extract(yearofweek FROM mz_now())", "date_part('YEAROFWEEK', mz_now())",
    "datepart('yrs', mz_now())", "CAST(mz_now() AS STRING)", "coalesce(mz_now(), x)",
    "CASE WHEN k = 1 THEN mz_now() END",
    "from_utc_timestamp(mz_now(), 'CET')", "months_between(mz_now(), x)", "round((mz_now() - x) / 1000, 1)",
    "last_day(make_date(year(mz_now()), 2, 1))",
]  # fmt: skip
DECREASING = ["x - mz_now()", "-mz_now()", "mz_now() DIV -1", "datediff(d, mz_now())", "least(x, y - mz_now())",
           "timestampdiff(DAY, mz_now(), x)"]  # fmt: skip
NOT_MONOTONE = {
    "hour(mz_now())": "hour of the clock",
    "EXTRACT(HOUR FROM mz_now())": "no function of the clock that only rises",
    "EXTRACT(WEEK FROM mz_now())": "no function of the clock that only rises",
    "date_part('WEEK', mz_now())": "date_part of the clock",
    "mz_now() - mz_now()": "stands in it twice",
    "mz_now() DIV k": "not known before the row",
    "mz_now() / 0.001": "not known before the row",
    "mz_now() * 1000000": "no function of the clock that only rises",  # nanoseconds wrap around in a BIGINT
    "CAST(mz_now() AS DECIMAL(10, 0))": "as DECIMAL",  # NULL beyond its digits
    "mz_now() % 10": "no function",
    "CAST(mz_now() AS INT)": "as INT",
    "date_trunc(unit, mz_now())": "date_trunc of the clock",
    "date_format(mz_now(), 'HH')": "date_format of the clock",
    "greatest(mz_now(), x - mz_now())": "rises with the clock in one part and falls",
    "from_utc_timestamp(mz_now(), zone)": "from_utc_timestamp",
    "CASE WHEN mz_now() > x THEN mz_now() END": "the clock decides which value",
    # of fields: see test_ordered for those that are
    "month(mz_now())": "month of the clock",
    "date_format(mz_now(), 'dd-MM-yyyy')": "date_format of the clock",
    "to_date(date_format(mz_now(), 'yyyy-MM-31'))": "not in the order of texts",
    "unix_millis(date_format(mz_now(), 'yyyy'))": "not in the order of texts",
}


@pytest.mark.parametrize("text", INCREASING)
def test_it_is_increasing(text: str) -> None:
    assert side(expression(text)).is_increasing


@pytest.mark.parametrize("text", DECREASING)
def test_it_is_decreasing(text: str) -> None:
    assert not side(expression(text)).is_increasing


@pytest.mark.parametrize("text", NOT_MONOTONE)
def test_it_is_not_monotone(text: str) -> None:
    with pytest.raises(Refusal, match="cannot be listed") as raised:
        side(expression(text))
    assert NOT_MONOTONE[text] in str(raised.value)


@pytest.mark.parametrize(
    ("text", "day_time", "below_a_day"),
    [
        ("interval 5 minutes", True, True), ("interval '23' hours", True, True), ("interval 24 hours", True, False),
        ("interval 1 day", True, False), ("interval -3 seconds", True, True), ("interval 2 weeks", True, False),
        ("interval '1 02:00:00' day to second", True, False), ("interval 1 month", False, False),
        ("interval '1-2' year to month", False, False), ("interval x days", False, False), ("x", False, False),
        ("interval '02:00' hour to minute", True, True), ("interval 1 day -2 hours", True, False),
        ("interval '1.5 seconds'", True, True), ("interval 2 hours -1 seconds", True, True),
    ],
)  # fmt: skip
def test_lengths_that_are_as_long_in_every_zone(text: str, day_time: bool, below_a_day: bool) -> None:
    node = expression(text)
    assert (milliseconds(node) is not None, is_below_a_day(node)) == (day_time, below_a_day)


def test_what_is_added_is_known_by_its_type() -> None:
    assert [render(n) for n in side(expression("date_trunc('DAY', mz_now() + iv)")).added] == ["iv"]
    for text in ("CAST(mz_now() AS DATE) - interval 7 days", "d - to_date(mz_now())", "last_day(mz_now()) + iv"):
        assert side(expression(text)).added == ()  # a day at a time: no hour turns it back


def test_what_does_not_depend_on_the_clock_is_computed_once() -> None:
    found = condition(expression("mz_now() < hi + interval 1 day or k = 'a' and date_trunc('DAY', mz_now()) = d"))
    assert [render(s) for s in found.row_expressions] == ["hi + INTERVAL '1' DAY", "d", "k = 'a'"]
    assert render(found.predicate) == ("mz_now() < `mz_s0` OR `mz_s2` AND date_trunc('DAY', mz_now()) = `mz_s1`")
    assert [e.index for e in found.edges] == [0]
    assert [(render(s.function), render(s.other)) for s in found.steps] == [("date_trunc('DAY', mz_now())", "`mz_s1`")]


def test_a_case_protects_what_is_computed_in_its_branches() -> None:
    found = condition(expression("case when b <> 0 then mz_now() < a div b when mz_now() > c then d end"))
    assert [render(s) for s in found.row_expressions] == [
        "CASE WHEN (b <> 0) THEN a DIV b END",
        "CASE WHEN NOT ((b <> 0) IS NOT DISTINCT FROM TRUE) THEN c END",
        "b <> 0",
        "CASE WHEN NOT ((b <> 0) IS NOT DISTINCT FROM TRUE) THEN d END",
    ]


def test_so_does_an_if_wherever_it_stands() -> None:
    """In a branch of another one, and as what a CASE is otherwise."""
    inner = "if(b <> 0, mz_now() < a div b, c)"
    for around in (f"if(c, {inner}, false)", f"case when c then false else {inner} end", f"coalesce({inner}, c)"):
        found = condition(expression(around))
        (edge,) = found.edges
        assert "WHEN (b <> 0) THEN" in render(found.row_expressions[edge.index]), around
        assert "IF(" not in render(found.predicate), around
    months = condition(expression("if(b > mz_now(), mz_now() + make_ym_interval(0, k) < if(k = 1, c, d), c)"))
    assert all(re.fullmatch(r"`mz_s\d+`", render(step.other)) for step in months.steps) and months.steps


def test_so_does_an_and_or_an_or_for_what_spark_skips() -> None:
    """Only for what may raise: ANSI rules make errors of divisions and casts."""
    found = condition(expression("b = 0 or mz_now() < a div b or b = 1 or mz_now() < c"))
    skipped = "CASE WHEN NOT ((b = 0) IS NOT DISTINCT FROM TRUE) THEN a DIV b END"
    assert [render(s) for s in found.row_expressions] == [skipped, "c", "b = 0", "b = 1"]
    found = condition(expression("b <> 0 and (c or mz_now() < a div b) or b = 0 and mz_now() < c"))
    assert render(found.row_expressions[0]) == (
        "CASE WHEN NOT ((NOT (b <> 0)) IS NOT DISTINCT FROM TRUE) THEN "
        "CASE WHEN NOT ((c) IS NOT DISTINCT FROM TRUE) THEN a DIV b END END"
    )
    found = condition(expression("exists(ps, p -> p.k <> 0 and p.lo / p.k > mz_now())"))
    assert render(found.row_expressions[0]) == "transform(ps, p -> p.lo / p.k)"


def test_constants_stay_constants() -> None:
    """Spark takes the digits of round as a constant alone."""
    (step,) = condition(expression("round(datediff(mz_now(), d), -1) > -5")).steps
    assert (render(step.function), render(step.other)) == ("round(datediff(mz_now(), `mz_s0`), -1)", "-5")


THIS_MONTH = "y = year(mz_now()) and m = month(mz_now())"


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        (THIS_MONTH, True), (f"not ({THIS_MONTH})", False), (f"not (not ({THIS_MONTH}))", True),
        (f"b or k = 1 and {THIS_MONTH}", True), (f"({THIS_MONTH}) is true", True),
        (f"({THIS_MONTH}) is not true", True), (f"({THIS_MONTH}) is false", False),
        (f"({THIS_MONTH}) is null", False), (f"({THIS_MONTH}) <=> b", False),
        (f"coalesce({THIS_MONTH}, b)", False), (f"if({THIS_MONTH}, not b, k = 1)", True),
        (f"not if({THIS_MONTH}, not b, k = 1)", True), (f"not if(b, k = 1, {THIS_MONTH})", False),
        (f"case when {THIS_MONTH} then 1 else 2 end = k", True), (f"not (b and {THIS_MONTH} and k > 3)", False),
        (f"not ({THIS_MONTH.replace('y =', 'y <=>')})", True),
        ("not ((y, m) = (year(mz_now()), month(mz_now())))", True),
    ],
)  # fmt: skip
def test_a_month_is_listed_by_its_year_where_a_null_is_as_good_as_false(text: str, listed: bool) -> None:
    """Where the year is NULL, `not (…)` holds in all months but one, year after year."""
    with nullcontext() if listed else pytest.raises(Unlistable, match="month of the clock"):
        condition(expression(text))


class Session:
    """A session without ANSI rules in a zone of one offset, or in one that changes for ever."""

    def __init__(self, changes: bool) -> None:
        self.changes = changes

    def setting(self, key: str) -> str:
        return "false"

    def fixed_from(self, name: str) -> int | None:
        return None if self.changes else 0

    def zone(self, name: str) -> Zone:
        return Zone(name, (Change(1_730_613_600, -14_400, -18_000),) if self.changes else ())


@pytest.mark.parametrize("number", ["2026120100", "-5"])
def test_a_text_of_the_clock_beside_a_number_that_is_written(number: str) -> None:
    """Spark casts the text to an INT, which is NULL from the year 2147 on."""
    utc = SessionZone(cast("Warehouse", Session(False)), "UTC", 1_730_000_000_000)
    with pytest.raises(Refusal, match="Spark makes NULL of some of these texts"):
        typed_condition(condition(expression(f"date_format(mz_now(), 'yyyyMMddHH') > {number}")), ["int"], utc)
    typed_condition(condition(expression("date_format(mz_now(), 'yyyyMMdd') > 20261201")), [], utc)


@pytest.mark.parametrize(
    ("text", "utc", "new_york"),
    [
        ("s in (date_trunc('HOUR', mz_now()), 'x')", "", "same an hour later"),
        ("date_trunc('HOUR', mz_now()) in (s, ts)", "", "same an hour later"),
        ("mz_now() in ('2024-03-01', ts)", "", "same an hour later"),
        ("cast(mz_now() as date) in (s, '2024-03-01')", "", ""), ("date_trunc('HOUR', mz_now()) in (ts, ts)", "", ""),
        ("year(mz_now()) in (s, '2024')", "", ""),
        ("mz_now() - interval 1 hour in (s)", "", "same an hour later"),
        ("coalesce(s, mz_now()) >= ts", "", "a text of mz_now()"),
        ("if(b, s, mz_now()) < ts", "", "a text of mz_now()"),
        ("coalesce(ts, mz_now()) >= ts", "", ""), ("coalesce(s, cast(mz_now() as date)) >= ts", "", ""),
        ("coalesce(s, mz_now()) >= s", "a text of mz_now()", "a text of mz_now()"),
        ("coalesce(s, datediff(mz_now(), ts)) < s", "a text of mz_now()", "a text of mz_now()"),
        ("coalesce(s, date_format(mz_now(), 'yyyy-MM-dd')) >= s", "", ""),
    ],
)  # fmt: skip
def test_where_spark_makes_a_text_of_the_clock(text: str, utc: str, new_york: str) -> None:
    """In lists and choices with texts. Such a text may be two instants, and in the year 10000 it begins with a plus."""
    for zone, told in (("UTC", utc), ("America/New_York", new_york)):
        judged = condition(expression(text))
        rows = map(render, judged.row_expressions)
        types = ["boolean" if r == "b" else "timestamp" if r == "ts" or "AS TIMESTAMP" in r else "string" for r in rows]
        session = SessionZone(cast("Warehouse", Session(zone != "UTC")), zone, 1_730_000_000_000)
        with pytest.raises(Refusal, match=re.escape(told)) if told else nullcontext():
            typed_condition(judged, types, session)


def test_a_list_beside_a_moved_clock_stays_a_list() -> None:
    """Its only item may be a text."""
    lists = {"mz_now() in (s)": True, "s in (mz_now())": True, "mz_now() - interval 1 hour in (s)": False}
    assert {text: comparisons(expression(text)) is not None for text in lists} == lists


def test_forty_ors_are_linear() -> None:
    found = condition(expression(" or ".join(f"mz_now() between a{n} and b{n}" for n in range(40))))
    assert len(found.edges) == len(found.row_expressions) == 80
    assert len(render(found.predicate)) < 80 * 60


SCOPES = {
    "or": ("select id from t where mz_now() < ts or k = 1", ["c0"], "SELECT * FROM mz_core_c0", 0),
    "open window": ("select id from t where hi is null or mz_now() < hi", ["< hi?"], "SELECT * FROM mz_core_c0", 0),
    "not this one": ("select id from t where hi is null or mz_now() < ts", ["c0"], "SELECT * FROM mz_core_c0", 0),
    "arithmetic": (
        "select id from t where ts >= mz_now() - interval 5 minutes",
        ["<= CAST(ts AS TIMESTAMP) + INTERVAL '5' MINUTES"],
        "SELECT * FROM mz_core_c0",
        0,
    ),
    "union": (
        "select id from t where mz_now() < ts union all select id from u where mz_now() < until",
        ["< ts", "< until"],
        "SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1",
        0,
    ),
    "having": (
        "select k, count(*) as n from t group by k having mz_now() < max(ts)",
        ["< `mz_having_0`"],
        "SELECT * FROM mz_core_c0",
        0,
    ),
    "having, over groups in a window": (
        "select k, count(*) as n from t where mz_now() < hi group by k having mz_now() < max(ts)",
        ["< hi"],
        "SELECT `t`.`k`, coalesce(sum(`t`.`mz_n`), 0L) AS n FROM mz_core_c0 AS `t` GROUP BY `t`.`k` "
        "HAVING mz_now() < max(`t`.`ts`)",
        1,
    ),
    "having, below a window": (
        "select k, sum(count(*)) over () as n from t group by k having mz_now() < max(ts)",
        [],
        "SELECT k, sum(count(*)) OVER () AS n FROM mz_core_c0 AS `t` GROUP BY k HAVING mz_now() < max(ts)",
        1,
    ),
    "filter": (
        "select count(*) filter (where mz_now() < ts) as n, max(k * if(mz_now() < hi, 1, 0)) as k, mz_now() as seen "
        "from t",
        [],
        "SELECT count(*) FILTER(WHERE mz_now() < ts) AS n, max(k * IF(mz_now() < hi, 1, 0)) AS k, mz_now() AS seen "
        "FROM mz_core_c0 AS `t`",
        2,
    ),
    "in the list": (
        "select id, mz_now() as seen from t where mz_now() < ts",
        ["< ts"],
        "SELECT id, mz_now() AS seen FROM mz_core_c0 AS `t`",
        0,
    ),
    "outer join": (
        "select t.id from t left join u on mz_now() < u.until",
        [],
        "SELECT t.id FROM mz_core_c0 AS `t` LEFT JOIN mz_core_c1 AS `u` ON mz_now() < u.until",
        1,
    ),
    "lambda": (
        "select id from t where exists(hi, ts -> ts > mz_now())",
        ["c0"],
        "SELECT * FROM mz_core_c0",
        0,
    ),
    "over another": (
        "select id from (select distinct id, ts from t where mz_now() < ts) x where mz_now() > ts",
        ["< ts"],
        "SELECT id FROM (SELECT `id`, `ts` FROM mz_core_c0) AS x WHERE mz_now() > ts",
        1,
    ),
    "over another, by a CTE": (
        "with w as (select id, ts from t where mz_now() < ts), d as (select distinct id from w) "
        "select a.id from w a join d using (id) where mz_now() > a.ts",
        ["< ts"],
        "WITH w AS (SELECT * FROM mz_core_c0), d AS (SELECT DISTINCT id FROM w) "
        "SELECT a.id FROM w AS a JOIN d USING (id) WHERE mz_now() > a.ts",
        1,
    ),
}


@pytest.mark.parametrize("name", SCOPES)
def test_where_the_clock_may_stand(name: str) -> None:
    sql, compared, residual, notes = SCOPES[name]
    found = split(sql, described)
    told = []
    for core in found.cores:
        if core.condition is not None:
            told.append(core.name)
        told += [f"{c.operator} {render(c.operand)}{'?' * c.optional}" for c in core.comparisons]
    assert told == compared
    assert render(found.residual) == residual
    assert len(found.notes) == notes


def test_elements_of_an_array() -> None:
    """What names the variable stays in the lambda; the clock may change the truth at each element."""
    sql = "select id from t where exists(ps, TS -> ts.lo + ts.n * step < mz_now() - interval 1 hour and ts.k = k)"
    condition = split(sql, described).cores[0].condition
    assert render(condition.predicate) == (
        "exists(`mz_s1`, TS -> ts.lo + ts.n * `mz_s2` < mz_now() - INTERVAL '1' HOUR AND ts.k = `mz_s3`)"
    )
    assert [render(row) for row in condition.row_expressions] == [
        "transform(ps, ts -> CAST(ts.lo + ts.n * step AS TIMESTAMP) + INTERVAL '1' HOUR)", "ps", "step", "k",
    ]  # fmt: skip
    assert [(edge.index, edge.of_elements) for edge in condition.edges] == [(0, True)]


def test_days_of_the_calendar_stay_on_the_clocks_side() -> None:
    sql = "select id from t where mz_now() - interval 1 day <= ts"
    assert split(sql, described, moves=lambda _: True).cores[0].condition is None
    (step,) = split(sql, described, moves=lambda _: False).cores[0].condition.steps
    assert render(step.function) == "mz_now() - `mz_s0`" and step.added == (0,)


OTHER_CLOCKS = {
    "select now() from t": "select mz_now() from t",
    "select CURRENT_DATE(), x.now, a as now, `now`": "select CAST(mz_now() AS DATE), x.now, a as now, `now`",
    "select `Now`(), `now` ( ), `system`.`builtin`.`now`(), 'now'": "select mz_now(), mz_now(), mz_now(), 'now'",
    "select 'now()', unix_timestamp(x) -- now()": "select 'now()', unix_timestamp(x) -- now()",
    "select unix_timestamp()": "select unix_seconds(mz_now())",
    "select system.builtin.now(), d.now(), c.builtin.now()": "select mz_now(), d.now(), c.builtin.now()",
    "select builtin.current_date from t as builtin": "select builtin.current_date from t as builtin",
}


@pytest.mark.parametrize("sql", OTHER_CLOCKS)
def test_other_clocks(sql: str) -> None:
    assert put_mz_now(sql)[0] == OTHER_CLOCKS[sql]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("date_trunc('hour', mz_now())", "HOUR"), ("CAST(mz_now() AS DATE)", "DAY"), ("to_date(mz_now())", "DAY"),
        ("date_trunc('hour', mz_now()) + interval 1 hour", None), ("unix_millis(date_trunc('hour', mz_now()))", None),
        ("datediff(CAST(mz_now() AS DATE), d)", None), ("EXTRACT(YEAR FROM date_trunc('DAY', mz_now()))", None),
        ("date_trunc('DECADE', mz_now())", None), ("CAST(date_trunc('hour', mz_now()) AS DATE)", None),
        ("date_trunc('hour', mz_now() - x)", None), ("mz_now()", None),
    ],
)  # fmt: skip
def test_the_bare_clock_truncated(text: str, unit: str | None) -> None:
    assert side(expression(text)).truncates == unit


@pytest.mark.parametrize("name", ["current_date", "CURRENT_TIMESTAMP", "localtimestamp"])
def test_a_bare_name_may_be_a_column(name: str) -> None:
    with pytest.raises(Refusal, match="a column of that name") as raised:
        put_mz_now(f"select id from t where {name} < ts")
    assert f"instead: {name}() for the clock" in str(raised.value)


def test_a_schema_may_have_the_name_of_sparks() -> None:
    with pytest.raises(Refusal, match="builtin may be a schema"):
        put_mz_now("select `builtin`.`now`() from t")
    with pytest.raises(Refusal, match="builtin may be a schema") as raised:
        put_mz_now("select builtin.now() from t")
    assert "instead: mz_now(), now(), or the name of the schema with its catalog" in str(raised.value)


def test_months_beside_the_beginnings_of_days() -> None:
    """They keep the order of days. Beside hours they do not: 30 March 12:00 and 31 March 00:00 have a month before."""
    for unit, months in {"DAY": DAYS, "MONTH": DAYS, "YEAR": DAYS, "HOUR": NONE}.items():
        assert side(expression(f"date_trunc('{unit}', mz_now()) - interval 1 month")).months == months
    assert side(expression("date_trunc('DAY', mz_now()) - interval 1 hour + x")).months == DAYS
    assert side(expression("mz_now() - interval 1 month")).months == MOVED
    for around in ("coalesce(a, {})", "greatest({}, a)", "if(k, mz_now(), {})", "case when k then {} else a end"):
        assert side(expression(around.format("mz_now() - interval 1 month"))).months == OTHER
        assert side(expression(around.format("CAST(mz_now() - interval 1 month AS DATE)"))).months == DAYS


#: a number, written in other ways
OTHERWISE = ("{n}L", "cast({n} as bigint)", "({n})", "({n} + 0)", "bigint({n})", "-(-{n})", "({n} * 1)", "int('{n}')")


@pytest.mark.parametrize("number", range(10))
def test_what_is_made_of_fields_stays_so_beside_the_columns(number: int) -> None:
    """A search sees columns in place of row expressions: the order of fields is known there as in the text."""
    rng, known = random.Random(number), 0
    grammar = Natural(rng, fixed_zone=False)
    for _ in range(100):
        text = rng.choice([grammar.format, grammar.partition, grammar.number, grammar.parts, grammar.made])()
        outside = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])\d+\b")
        text = outside.sub(lambda found: _otherwise(rng, found.group()), text).format(
            n="mz_now()", m="unix_millis(mz_now())"
        )
        try:
            found = condition(expression(put_mz_now(text)[0]))
        except Refusal:
            continue
        for step in found.steps:
            of_text = fields_in(found.written(step.function))
            assert fields_in(step.function) == of_text, text
            known += len(of_text)
    assert known > 20


def _otherwise(rng: random.Random, literal: str) -> str:
    return literal if literal[0] in "'\"" or rng.random() < 0.5 else rng.choice(OTHERWISE).replace("{n}", literal)


def fields_in(node: exp.Expr) -> set[tuple[int, str, frozenset[str]]]:
    """What is known of the parts of a function that are made of fields."""
    return {(one.step, one.type, one.partial) for part in node.walk() if (one := ordered(part)) is not None}


@pytest.mark.parametrize(
    ("length", "kind"),
    {
        "interval 7 days": "interval day", "interval -7 days": "interval day", "interval 2 weeks": "interval day",
        "interval '26' hour": "interval hour", "interval 90 minutes": "interval minute",
        "interval '1 02:00' day to minute": "interval day to minute", "interval '1.5' second": "interval second",
        "interval 1 month": "interval month", "interval 1 year": "interval year", "interval 1 quarter": "interval",
        "interval '1-2' year to month": "interval year to month",
        "interval '-1-2' year to month": "interval year to month",
        "interval 1 day 2 hours": "interval", "interval 1 month 3 days": "interval", "interval '2 days'": "interval",
    }.items(),
)  # fmt: skip
def test_a_length_in_the_text_is_that_of_a_column(length: str, kind: str) -> None:
    """Fields of the moved clock keep a literal, and other functions have a column in its place."""
    fields = "date_format(mz_now() - {}, 'yyyy-MM-dd HH')"
    kept = Moving(expression(fields.format(length)), (), (), "string")
    hoisted = Moving(expression(fields.format("`mz_s0`")), (expression(length),), (kind,), "string")
    assert (kept.lengths, kept.keeps_days_apart()) == (hoisted.lengths, hoisted.keeps_days_apart())
    found = [[(reading.back, reading.at is None) for reading in readings(moving)] for moving in (kept, hoisted)]
    assert found[0] == found[1] and len(found[0]) in (1, 3)


def test_what_always_compares_alike_has_no_changes() -> None:
    for text in ("mz_now() + interval 1 day > mz_now()", "to_timestamp(mz_now()) = mz_now()"):
        found = condition(expression(f"({text})").unnest())
        assert (found.edges, found.steps) == ((), ())
    local = ("cast(mz_now() as timestamp_ntz) < mz_now()", "mz_now() > to_timestamp_ntz(mz_now())")
    for text in (*local, "mz_now() + interval 1 day -24 hours = mz_now()"):
        with pytest.raises(Refusal, match="both sides"):
            condition(expression(f"({text})").unnest())


@pytest.mark.parametrize(
    "side",
    ["case when k then {} else {} end", "greatest({}, {})", "coalesce({}, {})", "if(k, {}, {})"],
)
def test_a_choice_between_a_date_and_an_instant_reads_local_time(side: str) -> None:
    values = ("cast(mz_now() as date)", "mz_now()")
    for both in (values, values[::-1]):
        clock = expression(f"{side.format(*both)} - interval 1 day")
        found = [reading.written for reading in readings(Moving(clock, (), (), "timestamp"))]
        assert found.count(render(clock)) == 2  # of the instant, and of the instant a day earlier
