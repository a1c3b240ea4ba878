"""Random predicates over random rows: the intervals of each against Spark's own evaluation, around every boundary.

The oracle is the predicate as written with the instant put in by `str.format`, evaluated by Spark row by row.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from datetime import datetime, timedelta

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from support.predicates import ZONES, Elements, Grammar, Natural, compared, judge, rows
from support.project import Project
from support.seeds import a_seed
from support.session import COMPILED, INTERPRETED

BATCH = 10
PLAIN = ["b", "k = 1", "k is null", "a < e", "not b", "ms % 2 = 0", "true", "cast(null as boolean)"]


class Months(Grammar):
    """Months beside the clock, where they lead several days to one: they go back there."""

    def comparison(self) -> str:
        rng = self.rng
        op, instant = rng.choice(["<", "<=", ">", ">=", "=", "<>", "<=>"]), self.instant()
        months = rng.choice(["1 month", "13 months", "1 year", "'1-2' year to month", "-3 months"])
        length = rng.choice([f"interval {months}", "make_ym_interval(0, k)"])
        sign = rng.choice("+-")
        forms = [
            f"{{n}} {sign} {length} {op} {instant}",
            f"{{n}} {sign} {length} {op} {instant}",
            f"{length} + {{n}} {op} {instant}",
            f"{rng.choice(['coalesce', 'greatest', 'least'])}(e, {{n}} {sign} {length}) {op} {instant}",
            f"if(b, {{n}}, {{n}} {sign} {length}) {op} {instant}",
            f"cast({{n}} {sign} {length} as date) {op} d",
            f"date_trunc('{rng.choice(['DAY', 'MONTH', 'YEAR'])}', {{n}} {sign} {length}) {op} {instant}",
            f"year({{n}} {sign} {length}) {op} year(a)",
            f"date_trunc('{rng.choice(['DAY', 'MONTH', 'QUARTER', 'YEAR'])}', {{n}}) {sign} {length} {op} {instant}",
            f"date_trunc('MONTH', {{n}}) - interval 1 month {op} date_trunc('MONTH', {instant})",
            f"{rng.choice(['dateadd', 'timestampadd'])}({rng.choice(['MONTH', 'QUARTER', 'YEAR'])}, "
            f"{rng.choice([1, -1, 5])}, {{n}}) {op} {instant}",
            f"timestampdiff(MONTH, {instant}, {{n}}) {op} k",
        ]
        return rng.choice(forms)


#: around these a month and more lead from up to four days to one
MONTH_ENDS = {
    "UTC": ["2024-01-31 12:00:00", "2024-02-29 23:59:59.999", "2023-02-28 23:00:00", "2024-03-31 00:00:00"],
    "Asia/Kolkata": ["2024-03-31 18:30:00", "2024-02-29 18:29:59.999", "2024-01-30 18:30:00", "2024-04-30 07:00:00"],
}


#: around these local time goes forth and back, months and years end
NATURAL_ZONES = {
    "UTC": ["2024-02-29 23:59:59.999", "2024-12-31 12:00:00", "2024-03-31 00:00:00", "2023-02-28 12:00:00"],
    "Europe/Berlin": ["2024-03-31 01:00:00", "2024-10-27 00:30:00", "2024-10-27 01:30:00", "2023-12-31 23:00:00"],
    "Asia/Kolkata": ["2024-03-31 18:30:00", "2024-02-29 18:29:59.999"],
    "Australia/Lord_Howe": ["2024-04-06 15:00:00", "2024-10-05 15:30:00", "2024-04-06 14:59:59.999"],
}


def drive(
    project: Project,
    count: int,
    seed: int,
    depth: int,
    zones: dict[str, list[str]] = ZONES,
    grammar_of: type[Grammar] = Grammar,
    natural: bool = False,
) -> list[str]:
    """Compare so many predicates. natural: those that become no window are left out. -> those that became one."""
    spark, rng = project.spark, random.Random(seed)
    warehouse = Warehouse(project.rows)
    done, windows = 0, []
    while done < count:
        zone = rng.choice(list(zones))
        spark.conf.set("spark.sql.session.timeZone", zone)
        settings = warehouse.settings()
        instant = f"unix_millis(timestamp '{rng.choice(zones[zone])} UTC') - {rng.choice([0, 1, 10**9])}L"
        ((as_of,),) = project.rows(f"SELECT {instant}")
        spark.sql(rows(rng, zones[zone], f"{as_of}L", natural)).coalesce(1).createOrReplaceTempView("mz_rows")
        spark.catalog.cacheTable("mz_rows")
        grammar = grammar_of(rng, fixed_zone=zone != "America/New_York")
        predicates: list[str] = []
        while len(predicates) < min(BATCH, count - done):
            text = grammar.predicate(rng.randrange(depth + 1))
            if re.search(r"\{[nm]\}", text):
                predicates.append(text)
        queries = []
        for number, text in enumerate(predicates):
            written = f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()', m='mz_now()')}"
            done += 1
            try:
                model = understand(warehouse, written, settings, "4.1", as_of)
            except Refusal:
                if not natural:
                    raise
                continue
            if natural and model.notes:
                continue
            windows.append(text)
            last = as_of + rng.choice([0, 10**8, 10**10]) if rng.random() < 0.5 else None
            queries.append(compared(warehouse, number, text, model, as_of, last))
        if not queries:
            continue
        every = "\nUNION ALL\n".join(queries)
        differs = "coalesce(touching, false) OR found <> CAST(wanted AS INT)"
        one_task = f"SELECT /*+ COALESCE(1) */ * FROM ({every}) WHERE {differs}"  # each task is sent all of it
        wrong = spark.sql(f"SELECT * FROM ({one_task}) ORDER BY q, id, t LIMIT 1").collect()
        told = [f"{predicates[r.q]}\n  {spark.table('mz_rows').where(f'id = {r.id}').first()}\n  {r}" for r in wrong]
        assert not wrong, f"{zone}, as of {as_of}\n" + "\n".join(told)
        spark.catalog.uncacheTable("mz_rows")
    return windows


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize("count", [10, pytest.param(24, marks=pytest.mark.deep)])
def test_random_predicates(project: Project, count: int) -> None:
    drive(project, count, a_seed(), depth=4)


#: lengths of days and hours that the row decides, one of them beside months
OF_ROWS = (
    "k * interval '1 02:10' day to minute", "cast(k / 4 as decimal(9, 2)) * interval 1 day", "interval 1 day * (k / 3)",
    "case when k > 1 then interval '02:00' hour to minute else interval 1 day end", "k * interval 1 day",
    "if(k > 1, interval 1 day, interval '1 02:10' day to minute)", "2 * if(k > 1, interval 1 hour, interval 1 day)",
    "make_interval(0, 0, 0, 0, k)", "k * make_interval(0, 0, 0, 1, 2)", "make_interval(0, k, 0, k)",
)  # fmt: skip


class OfRows(Grammar):
    """Dates of the clock, moved by such a length."""

    def __init__(self, rng: random.Random, fixed_zone: bool) -> None:
        super().__init__(rng, fixed_zone)
        self.lengths = itertools.cycle(OF_ROWS)

    def predicate(self, depth: int) -> str:
        moved = f"{{n}} {self.rng.choice('+-')} {next(self.lengths)}"
        forms = (f"cast({moved} as date) {{op}} d", f"datediff({moved}, a) {{op}} 0", f"to_date({moved}) {{op}} d")
        return self.rng.choice(forms).replace("{op}", self.rng.choice(["=", "<=", ">", "<>"]))


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_lengths_that_the_row_decides(project: Project, zone: str) -> None:
    drive(project, 2 * len(OF_ROWS), a_seed(), depth=0, zones={zone: ZONES[zone]}, grammar_of=OfRows)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
def test_months_at_their_ends(project: Project) -> None:
    drive(project, 8, a_seed(), depth=1, zones=MONTH_ENDS, grammar_of=Months)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [6, 60])
def test_natural_predicates(project: Project, count: int) -> None:
    """Formats, partitions, zones, ages and open values, as people write them: nearly all are windows, and right."""
    windows = drive(project, count, a_seed(), 0, NATURAL_ZONES, Natural, natural=True)
    print(f"{len(windows)} of {count} natural predicates are windows")
    assert len(windows) >= 0.8 * count


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
def test_a_search_in_a_search(project: Project) -> None:
    """Spark resolves nested lambdas in more passes than it allows by default."""
    moved = "{n} - make_interval(0, 0, 0, k)"
    text = f"(year(a) = year({moved}) and month(a) = month({moved}) and day(a) = day({moved}))"
    as_of = 1_710_909_800_000
    source = rows(random.Random(3), NATURAL_ZONES["Asia/Kolkata"], f"{as_of}L", True)
    assert judge(project, "Asia/Kolkata", [text], as_of, source) == (1, 0)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.first(1)
@pytest.mark.parametrize(("count", "depth"), [(10, 0), (60, 1)])
def test_elements_of_arrays(project: Project, count: int, depth: int) -> None:
    """The clock in a lambda, over arrays with NULLs, without elements, and NULL: most are windows, and right."""
    windows = drive(project, count, a_seed(), depth, NATURAL_ZONES, Elements, natural=True)
    print(f"{len(windows)} of {count} predicates of elements are windows")
    assert len(windows) >= 0.6 * count


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
def test_an_element_that_is_null_counts_by_the_setting(project: Project) -> None:
    """Under a NOT, NULL and FALSE differ."""
    texts = [f"not exists({a}, x -> x >= {{n}})" for a in ("array(a, e, null)", "array(e)", "if(b, array(a), null)")]
    as_of = 1_710_909_800_000
    for three in ("true", "false"):
        project.spark.conf.set("spark.sql.legacy.followThreeValuedLogicInArrayExists", three)
        source = rows(random.Random(3), NATURAL_ZONES["UTC"], f"{as_of}L", True)
        assert judge(project, "UTC", texts, as_of, source) == (len(texts), 0)


#: a month and an hour around: each of up to four days leads to the last day of February
ENDS = (
    "coalesce(e, {n} - interval 1 month) >= a", "greatest(a, {n} - interval 1 month) = a",
    "if(b, {n}, {n} - interval 1 month) < a", "least(e, {n} - interval 1 month) > a",
)  # fmt: skip


def month_ends(as_of: int) -> str:
    """Rows and instants at the same times of the day, around a month's end and the change to daylight saving.

    Of half the rows the instant e is NULL.
    """
    times = ("00:00:00", "01:00:00", "02:00:00", "02:30:00", "03:00:00", "06:00:00")
    days = [
        f"{month}-{day}" for month in ("03", "10", "11") for day in (27, 28, 29, 30, 31) if (month, day) != ("11", 31)
    ]
    looked_at = [
        f"unix_millis(timestamp '2023-{day} {time}') + s" for day in [*days, "04-01", "04-26"] for time in times
    ]
    values = [f"timestamp '2023-{day} {time}'" for day in ("02-28", "09-28", "09-30", "10-29") for time in times]
    instants = f"flatten(transform(array(-1L, 0L, 1L), s -> array({', '.join(looked_at)})))"
    several = rows(random.Random(5), ["2023-02-28 06:00:00"], f"{as_of}L")
    return (
        f"SELECT 2 * p + n AS id, x AS a, IF(n = 0, NULL, x + interval 9 days) AS e, d, ntz, ms, dec, k, b, iv, "
        f"{instants} AS instants FROM ({several}) LATERAL VIEW posexplode(array({', '.join(values)})) v AS p, x "
        f"LATERAL VIEW explode(array(0, 1)) w AS n WHERE id = 3"
    )


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize(("zone", "texts"), [("UTC", ENDS)])
def test_a_month_at_its_end(project: Project, zone: str, texts: tuple[str, ...]) -> None:
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    for at in ("2023-03-01 12:00:00", "2023-10-29 00:40:00"):
        ((as_of,),) = project.rows(f"SELECT unix_millis(timestamp '{at} UTC')")
        assert judge(project, zone, list(texts), as_of, month_ends(as_of)) == (len(texts), 0)


#: a month alone beside the clock, where local time goes back and forth
MONTHS_ALONE = (
    "{n} - interval 1 month >= a", "{n} - interval 1 month = a or {n} < e", "interval 1 month + {n} < d",
    "not ({n} - interval 13 months <= a)", "{n} - make_ym_interval(0, k) between a and ntz",
    "dateadd(MONTH, -1, {n}) <> a",
)  # fmt: skip


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe"])
def test_a_month_alone_with_daylight_saving(project: Project, zone: str) -> None:
    """Rows around each change, and those a month before and after."""
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    changes = [datetime.fromisoformat(at) for at in NATURAL_ZONES[zone][:2]]
    source = [str(at + timedelta(days=days)) for at in changes for days in (-31, -30, 0, 30, 31)]
    ((as_of,),) = project.rows("SELECT unix_millis(timestamp '2024-01-20 12:00:00 UTC')")
    source_rows = rows(random.Random(a_seed()), source, f"{as_of}L")
    assert judge(project, zone, list(MONTHS_ALONE), as_of, source_rows) == (len(MONTHS_ALONE), 0)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize("text", ENDS)
def test_with_daylight_saving_a_read_filters_them(project: Project, text: str) -> None:
    project.spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    project.spark.sql(month_ends(0)).createOrReplaceTempView("mz_rows")
    warehouse = Warehouse(project.rows)
    written = f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()')}"
    model = understand(warehouse, written, warehouse.settings(), "4.1", 1_698_540_000_000)
    assert any("evaluated when the view is read" in note for note in model.notes), model.notes


#: whole units of a difference; 3000000000 is beyond an INT, and at 2147483647 the cast stays
CUT = (
    "int((unix_timestamp({n}) - unix_timestamp(a)) / 60) < 16",
    "int((unix_timestamp({n}) - unix_timestamp(a)) / 60) = 0",
    "cast((unix_timestamp(a) - unix_timestamp({n})) / 7 as int) >= k",
    "cast(({m} - ms) / 60000 as int) between -1 and k",
    "not (int((unix_millis({n}) - ms) / 3000) <= k)",
    "int((unix_timestamp({n}) - unix_timestamp(a)) / 60) < 2147483647",
    "int((unix_timestamp({n}) - unix_timestamp(a)) / 60) < 3000000000",
    "int((unix_timestamp({n}) - unix_timestamp(a)) / 60) <=> k or {n} < e",
    "cast(round((unix_timestamp({n}) - unix_timestamp(e)) / 3600) as int) in (k, 2, null)",
    "cast(months_between({n}, a) as int) = k",
)
FAR = ["0001-01-01 00:00:00", "9999-12-31 00:00:00", "5800-01-01 00:00:00"]


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize(("ansi", "far"), [("true", []), ("false", FAR)])
def test_whole_units_as_an_int(project: Project, ansi: str, far: list[str]) -> None:
    """Also where an INT is too small: there the cast keeps its last value, and with ANSI rules the query raises."""
    rng = random.Random(a_seed())
    project.spark.conf.set("spark.sql.ansi.enabled", ansi)
    ((as_of,),) = project.rows("SELECT unix_millis(timestamp '2024-02-28 12:00:00 UTC')")
    source = rows(rng, [*NATURAL_ZONES["UTC"], *far], f"{as_of}L")
    assert judge(project, "UTC", list(CUT), as_of, source) == (len(CUT), 0)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_whole_months_until_an_instant(project: Project, zone: str) -> None:
    """From the clock on they do not only fall: at midnight Spark counts up to the day before or the day after."""
    texts = [
        "timestampdiff(MONTH, {n}, a) < 1", "datediff(MONTH, {n}, a) = k", "date_diff(QUARTER, {n}, a) >= k",
        "timestampdiff(YEAR, {n}, a) <> k", "not (timestampdiff(MONTH, {n}, a) + k > 0)",
        "timestampdiff(MONTH, a, {n}) = k",
    ]  # fmt: skip
    ends = ["2024-03-01 12:00:00", "2023-02-28 12:34:56.789", "2024-02-29 22:59:59.999", "2024-12-31 01:00:00"]
    around = "array(a + make_interval(0, 0, 0, d), date_trunc('DAY', a) + make_interval(0, 0, 0, d))"
    source = (
        f"SELECT *, flatten(transform(sequence(-100, 70), d -> flatten(transform({around}, "
        "t -> array(unix_millis(t) - 1, unix_millis(t), unix_millis(t) + 1))))) AS instants FROM ("
        "SELECT row_number() OVER (ORDER BY a, k) AS id, a, k FROM VALUES "
        f"{', '.join(f'(timestamp_ltz {at!r})' for at in ends)} AS t(a), VALUES (-1), (0), (1), (2) AS u(k))"
    )
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    ((as_of,),) = project.rows("SELECT unix_millis(timestamp '2022-12-01 12:00:00')")
    # with daylight saving a read evaluates all but the last
    assert judge(project, zone, texts, as_of, source) == (len(texts) if zone == "UTC" else 1, 0)


@pytest.mark.usefixtures("small_plans")
def test_an_int_of_a_decimal_is_no_window(project: Project) -> None:
    """It wraps around: the text does not tell, and the type does."""
    warehouse = Warehouse(project.rows)
    project.spark.sql(rows(random.Random(3), ZONES["UTC"], "0L")).createOrReplaceTempView("mz_rows")
    wrapped = "CAST((mz_now() - dec) / 60000 AS INT) < 16"
    model = understand(warehouse, f"SELECT id FROM mz_rows WHERE {wrapped}", warehouse.settings(), "4.1", 0)
    assert any(f"over all rows of its inputs: {wrapped}" in note for note in model.notes), model.notes
    model = understand(
        warehouse, f"SELECT id FROM mz_rows WHERE {wrapped} and mz_now() < e", warehouse.settings(), "4.1", 0
    )
    assert [len(core.core.comparisons) for core in model.cores] == [1] and len(model.notes) == 1


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(20))
def test_many_natural_predicates(project: Project, part: int) -> None:
    windows = drive(project, 500, a_seed() + part, 0, NATURAL_ZONES, Natural, natural=True)
    print(f"{len(windows)} of 500 natural predicates are windows")


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(20))
def test_five_thousand_predicates(project: Project, part: int) -> None:
    """Every other part with the code that Spark generates for expressions."""
    for key, value in (INTERPRETED if part % 2 else COMPILED).items():
        project.spark.conf.set(key, value)
    drive(project, 250, a_seed() + part, depth=6)


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
def test_forty_ors(project: Project) -> None:
    """Windows of a row joined by OR, and the same at a depth of their own: compiled and run."""
    warehouse = Warehouse(project.rows)
    project.spark.sql(rows(random.Random(3), ZONES["UTC"], "0L")).createOrReplaceTempView("mz_rows")
    windows = [f"({{n}} >= a + interval {i} hours and {{m}} < ms + {i} * 3600000 + 1000)" for i in range(40)]
    nested = "true"
    for window in windows:
        nested = f"({window} or k = 1 and {nested})"
    queries = []
    for number, text in enumerate((" or ".join(windows), nested)):
        written = f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()', m='mz_now()')}"
        began = time.perf_counter()
        split(written, lambda _: [("id", "int")])
        print(f"40 ORs split in {time.perf_counter() - began:.3f} s")
        model = understand(warehouse, written, warehouse.settings(), "4.1", 0)
        assert len(intervals_sql.desired(model.cores[0], 0, None)) < 40 * len(text)
        queries.append(compared(warehouse, number, text, model, 0, None))
    every = " UNION ALL ".join(queries)
    found = project.rows(f"SELECT count(*), count_if(found <> INT(wanted) OR touching) FROM ({every})")
    assert found[0][0] > 500 and found[0][1] == 0
