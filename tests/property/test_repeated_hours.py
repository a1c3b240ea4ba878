"""Values made of the fields of an instant: whether they follow the instant.

Runs in the hour that local time repeats, and beside it, where both sides of a comparison are such values: the oracle is
Spark's own evaluation, as in test_predicates. And random values, in a zone of one offset.
"""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import pytest

from dbt.adapters.sparktemporal.temporal.predicates.ordered import ordered
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression
from support.predicates import judge
from support.project import Project

#: a zone, and an instant (UTC) at which its local time goes back
BACK = {
    "Pacific/Chatham": "2026-04-04 14:00:00",
    "America/New_York": "2026-11-01 06:00:00",
    "Australia/Lord_Howe": "2026-04-04 15:00:00",
}
#: by two hours, and on days that follow the moon
MORE = {"Africa/Casablanca": "2026-02-15 02:00:00", "Antarctica/Troll": "2026-10-25 01:00:00"}
#: what is made of fields of an instant, and follows it
DAY = "(year({t}) * 100 + month({t})) * 100 + day({t})"
FORMS = [
    f"({DAY}) * cast(100 as bigint) + hour({{t}})",
    f"({DAY}) * 100L + extract(hour from {{t}})",
    f"(({DAY}) * 100L + hour({{t}})) * 100 + minute({{t}})",
    "(year({t}) * 1000 + dayofyear({t})) * 24 + hour({t})",
    "((year({t}) * 1000L + dayofyear({t})) * 24 + hour({t})) * 60 + minute({t})",
    DAY,
    "cast(date_format({t}, 'yyyyMMddHH') as bigint)",
    "date_format({t}, 'yyyy-MM-dd HH:mm')",
    "concat(date_format({t}, 'yyyyMMdd'), date_format({t}, 'HH'))",
    "cast({t} as string)",
    "date_trunc('HOUR', {t})",
    "date_trunc('MINUTE', {t} - interval 1 day)",
    "cast({t} - interval 1 day as string)",
    "(year({t}) * cast(100 as bigint) + month({t})) * (50 + 50) + day({t})",
]  # fmt: skip
SHAPES = ["{f} >= {c}", "{f} < {c} and {t} <= {n}"]


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize(
    ("zone", "back"), [*BACK.items(), *(pytest.param(*one, marks=pytest.mark.deep) for one in MORE.items())]
)
def test_a_run_in_the_hour_that_is_repeated(project: Project, zone: str, back: str) -> None:
    change = int(datetime.fromisoformat(f"{back}+00:00").timestamp()) * 1_000
    minutes = [*range(-130, 131, 10), *range(-35, 36, 5), -1_440, 1_440]
    instants = ", ".join(f"{change + m * 60_000 + ms}L" for m in sorted({*minutes}) for ms in (-1, 0, 1))
    columns = ", ".join(f"{form.format(t='ts')} AS f{i}" for i, form in enumerate(FORMS))
    rows = ", ".join(f"{change + m * 60_000 + ms}L" for m in sorted({*minutes}) for ms in (0, 30_001))
    source = (
        f"SELECT id, ts, {columns}, array({instants}) AS instants\n"
        f"FROM (SELECT id, timestamp_millis(i) AS ts FROM (SELECT posexplode(array({rows})) AS (id, i)))"
    )
    texts = [
        shape.format(f=f"f{i}", c=form.format(t="{n}"), t="ts", n="{n}")
        for i, form in enumerate(FORMS)
        for shape in SHAPES
    ]
    for minute in (-35, 15):
        accepted, _ = judge(project, zone, texts, change + minute * 60_000, source)
        # a clock moved by a day is searched in cells of a quarter of an hour there, and needs too many: refused
        refused = [text for text in texts if zone == "Pacific/Chatham" and "interval 1 day" in text]
        assert accepted == len(texts) - len(refused)


TYPES = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10, 0)", "decimal(10, 2)", "date"]
NUMBERS = ["year({t})", "month({t})", "quarter({t})", "day({t})", "dayofyear({t})", "hour({t})", "second({t})"]
PATTERNS = ["yyyy", "MM", "yyyyMM", "yyyyMMdd", "yyyy-MM-dd", "HH", "yyyyMMddHHmmss", "SSS", "SSSSSS", "-", ""]
WORDS = ["", "0", "1", "-", "2024-01-0", "a" * 15, "b" * 15]
TESTS = ["month({t}) < 7", "month({t}) = 1", "month({t}) between 3 and 12", "quarter({t}) / 3 > 1", "month({t}) > 12"]


class Values:
    """Random values made of fields of {t}."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def any(self, *made: Any) -> str:
        return str(self.random.choice(made)())

    def number(self, depth: int) -> str:
        pick, n = self.random.choice, self.random.choice((1, 2, 3, 7, 10, 12, 100, 7998))
        if depth == 0:
            return pick([*NUMBERS, *NUMBERS[:2], f"{n}", f"{n}L", f"{n}D"])
        inner, same = self.number(depth - 1), self.number(depth - 1)
        return self.any(
            lambda: f"({inner} {pick('+-')} {same})",
            lambda: f"({inner} - {n} * {self.number(0)})",
            lambda: f"({inner} {pick(['*', '/', '/', 'div', '%'])} {n})",
            lambda: f"{pick(['cast', 'try_cast'])}({inner} as {pick(TYPES[:-1])})",
            lambda: f"{pick(['floor', 'ceil', 'round', 'bigint', 'int', 'double', '-'])}({inner})",
            lambda: f"cast({self.text(depth - 1)} as {pick(TYPES[:-1])})",
            lambda: self.case(inner, same),
        )

    def text(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick([f"date_format({{t}}, '{pick(PATTERNS)}')", f"'{pick(WORDS)}'", "cast({t} as string)"])
        inner, same, number = self.text(depth - 1), self.text(depth - 1), self.number(depth - 1)
        return self.any(
            lambda: f"cast({number} as string)",
            lambda: f"concat({inner}, {pick([same, number])})",
            lambda: f"({number} || {inner})",
            lambda: f"lpad({pick([inner, number])}, {pick([2, 4, 6])}, '0')",
            lambda: f"substr({inner}, {pick([0, 1, 3])}, {pick([0, 2, 4])})",
            lambda: f"replace({inner}, '-', '{pick(['', '/'])}')",
            lambda: self.case(inner, pick([same, number])),
        )

    def time(self, depth: int) -> str:
        pick = self.random.choice
        hours = f"make_timestamp(year({{t}}), month({{t}}), day({{t}}), hour({{t}}), {self.number(0)}, 0)"
        made = pick(
            [hours, "make_date(year({t}), month({t}), day({t}))", f"make_date(year({{t}}), {self.number(1)}, 1)"]
        )
        return self.any(
            lambda: made,
            lambda: f"{pick(['date', 'last_day', 'to_timestamp'])}({made})",
            lambda: f"date_trunc('{pick(['YEAR', 'MONTH', 'DAY', 'HOUR'])}', {{t}})",
            lambda: f"cast({self.text(depth)} as {pick(['date', 'timestamp'])})",
            lambda: self.case(made, pick(["date({t})", "date_trunc('DAY', {t})"])),
        )

    def case(self, one: str, other: str) -> str:
        return f"case when {self.random.choice(TESTS)} then {one} else {other} end"

    def whole(self) -> str:
        """A value that begins with the year, or is of any form: most of them rise, or nearly so."""
        depth = self.random.choice((1, 2, 3))
        return self.any(
            lambda: f"year({{t}}) * {self.random.choice((1, 4, 12, 100, 1000))} + {self.number(depth)}",
            lambda: f"concat(year({{t}}), {self.text(depth)})",
            lambda: f"concat(date_format({{t}}, 'yyyyMMdd'), {self.text(depth)})",
            lambda: f"({self.time(depth)}, {self.any(lambda: self.number(depth), lambda: self.text(depth))})",
            lambda: self.case(self.number(depth), self.number(depth)),
            lambda: self.number(depth),
            lambda: self.text(depth),
            lambda: self.time(depth),
        )


@pytest.mark.landing
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 12))])
def test_what_is_said_to_rise_never_falls(spark: Any, small_plans: Any, seed: int) -> None:
    """Neither is it NULL. The instants are some of each day of four years, and each second of some hours."""
    for key, value in {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}.items():
        spark.conf.set(key, value)
    values = Values(seed)
    drawn = {values.whole() for _ in range(300)}
    rising = sorted(text for text in drawn if ordered(expression(text.format(t="mz_now()"))) is not None)
    assert len(rising) > 10
    first = int(datetime.fromisoformat("2023-01-01T00:00:00+00:00").timestamp()) * 1_000
    spark.range(1_461).selectExpr(
        f"explode(transform(array(0, 1, 3599999, 3600000, 43261001, 86399999), x -> x + id * 86400000 + {first})) AS i"
    ).union(spark.range(8_000).selectExpr(f"id * 997 + {first} + 86400000 AS i")).createOrReplaceTempView("instants")
    for at in range(0, len(rising), 25):
        some = [text.format(t="t") for text in rising[at : at + 25]]
        columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate(some))
        falls = ", ".join(f"sum(int(c{i} < p{i} OR c{i} IS NULL)) AS f{i}" for i in range(len(some)))
        before = ", ".join(f"lag(c{i}) OVER (ORDER BY t) AS p{i}" for i in range(len(some)))
        found = spark.sql(
            f"SELECT {falls} FROM (SELECT *, {before} FROM (SELECT t, {columns} FROM "
            "(SELECT DISTINCT timestamp_millis(i) AS t FROM instants)))"
        ).collect()[0]
        assert [(text, n) for text, n in zip(some, found) if n] == []
