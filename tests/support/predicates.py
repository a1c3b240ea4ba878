"""Random predicates of the clock, rows for them, and intervals against the truth of a predicate."""

from __future__ import annotations

import random
from functools import partial

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.pruning import filters
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.run.analyze import Model, understand
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql
from support.project import Project

ROWS = 12
#: zone -> instants around which rows lie: month ends, leap days, both changes to and from daylight saving
ZONES = {
    "UTC": ["2024-02-29 23:59:59.999", "2024-12-31 12:00:00", "1969-12-31 23:59:59.5", "2024-03-10 07:00:00"],
    "America/New_York": ["2024-03-10 07:00:00", "2024-11-03 05:59:59.999", "2024-11-03 06:30:00"],
    "Asia/Kolkata": ["2024-03-31 18:30:00", "2024-02-29 18:29:59.999"],
}
SHIFTS = [0, 0, 1, -1, 999, 3_600_000, -3_600_000, 86_400_000, 31 * 86_400_000]
#: every value of a row that a predicate may compare with the clock, ms
VALUES = (
    "unix_millis(a), unix_millis(e), unix_millis(cast(d AS timestamp)), unix_millis(cast(ntz AS timestamp)), ms, "
    "cast(floor(dec) AS BIGINT)"
)
#: after any instant that is looked at (ms)
NEVER = 2**62
Rng = random.Random
#: what a row is told that moves the clock to before a change of the zone
GUARDED = "leads a row to before"
#: intervals that are as long in each zone, and those that are not
_SHORT = ("90 minutes", "1 millisecond", "23 hours", "1 hour 30 minutes", "2 hours -1 seconds")
_LONG = ("1 day", "1 month", "13 months", "40 days", "1 year 1 month", "1 day -2 hours")


class Grammar:
    """Predicates as text, with {n} for the clock beside instants and {m} beside numbers."""

    def __init__(self, rng: Rng, fixed_zone: bool) -> None:
        self.rng, self.fixed = rng, fixed_zone

    def predicate(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.15:
            return self.rng.choice([self.comparison, self.comparison, self.comparison, self.plain])()
        sub = partial(self.predicate, depth - 1)
        forms = [
            lambda: f"({sub()} and {sub()})",
            lambda: f"({sub()} or {sub()})",
            lambda: f"({sub()} and {sub()} or {sub()})",
            lambda: f"not ({sub()})",
            lambda: f"(({sub()}) is {self.rng.choice(['', 'not '])}{self.rng.choice(['null', 'true', 'false'])})",
            lambda: f"(({sub()}) <=> ({sub()}))",
            lambda: f"(({sub()}) is distinct from ({self.plain()}))",
            lambda: f"(case when {sub()} then {sub()} else {sub()} end)",
            lambda: f"(case when {self.plain()} then {sub()} when {sub()} then {self.plain()} end)",
            lambda: f"if({sub()}, {sub()}, {self.plain()})",
            lambda: f"coalesce({sub()}, {sub()})",
            lambda: f"(if({sub()}, 1, k) = k)",
        ]
        return self.rng.choice(forms)()

    def plain(self) -> str:
        return self.rng.choice(
            ["b", "k = 1", "k is null", "a < e", "not b", "ms % 2 = 0", "true", "cast(null as boolean)"]
        )

    def comparison(self) -> str:
        rng = self.rng
        op, instant, number = rng.choice(["<", "<=", ">", ">=", "=", "<>", "<=>"]), self.instant(), self.number()
        forms = [
            lambda: f"{{n}} {op} {instant}",
            lambda: f"{instant} {op} {{n}}",
            lambda: f"{{m}} {op} {number}",
            lambda: f"{number} {op} {{m}}",
            lambda: f"{{n}} {rng.choice(['', 'not '])}between {instant} and {self.instant()}",
            lambda: f"{{m}} in ({number}, {self.number()}, {self.number()})",
            lambda: f"{{n}} not in ({instant}, {self.instant()})",
            lambda: f"({instant} is null or {{n}} < {instant})",
            lambda: f"{{n}} - interval {rng.choice(_SHORT)} {op} {instant}",
            lambda: f"{{m}} + k {op} {number}",
            lambda: f"{number} - {{m}} {op} k * 1000",
            lambda: f"{{m}} div 1000 {op} ms div 1000",
            lambda: f"unix_millis({{n}}) {op} ms",
            lambda: f"date_trunc('{self.unit()}', {{n}}) {op} date_trunc('{self.unit()}', {instant})",
            lambda: f"date_trunc('{self.unit()}', {{n}}) {op} {instant}",
            lambda: f"cast({{n}} as date) {op} {rng.choice(['d', 'cast(a as date)'])}",
            lambda: f"datediff({{n}}, d) {op} k",
            lambda: f"{rng.choice(['date_add', 'dateadd'])}(cast({{n}} as date), k) {op} d",
            lambda: f"year({{n}}) {op} year({instant})",
            lambda: f"extract(YEAROFWEEK FROM {{n}}) {op} extract(YEAROFWEEK FROM {instant})",
            lambda: f"cast({{n}} as date) - interval {rng.choice(['7 days', '1 month'])} {op} {rng.choice(['d', 'a'])}",
            lambda: f"d - cast({{n}} as date) {op} iv",
            lambda: f"(case {{m}} when ms then true when {number} then b end)",
        ]
        if self.fixed:
            forms += [
                lambda: f"{instant} - {{n}} {op} iv",
                lambda: f"{{n}} - a {op} interval '1' hour",
                lambda: f"{{n}} - interval {rng.choice(_LONG)} {op} {instant}",
                lambda: f"{{n}} + iv {op} {instant}",
                lambda: f"{{n}} + interval 1 month {op} {instant}",
                lambda: f"timestampdiff(HOUR, {instant}, {{n}}) {op} k",
                lambda: f"add_months(cast({{n}} as date), k) {op} d",
            ]
        return rng.choice(forms)()

    def instant(self) -> str:
        moved = [f"date_trunc('{self.unit()}', a)", "e - interval '1 02:30' day to minute", "d + 3", "date_sub(a, 2)"]
        of_more = ["greatest(a, e)", "least(e, a)", "if(k = 1, a, e)", "timestamp_millis(ms)", "a + interval 1 month"]
        plain = ["a", "a", "e", "d", "ntz", "a + interval 1 day", "coalesce(a, e)", "a - iv"]
        return self.rng.choice([*plain, *plain, *moved, *of_more])

    def number(self) -> str:
        made = ["ms + 5000", "100 * (ms div 100)", "unix_millis(a) - 1", "-k", "unix_seconds(e) * 1000"]
        plain = ["ms", "ms", "dec", "ms + k", "cast(dec as bigint)", "k"]
        return self.rng.choice([*plain, *plain, *made])

    def unit(self) -> str:
        return self.rng.choice(["HOUR", "DAY", "WEEK", "MONTH", "MINUTE", "QUARTER", "YEAR", "SECOND"])


def rows(rng: Rng, around: list[str], as_of: str) -> str:
    """VALUES of an id, instants near each other and near what is special in the zone, numbers, NULLs.

    instants: those at which every predicate is looked at, ms.
    """

    def near(base: str) -> str:
        if rng.random() < 0.1:
            return "null"
        micros = rng.choice([*SHIFTS, rng.randrange(10**8)]) * 1000 + rng.choice([0, 0, 0, 1, 500, 999])
        return f"timestamp_micros(unix_micros({base}) + {micros})"

    out = []
    for number in range(ROWS):
        base = f"timestamp '{rng.choice(around)} UTC'"
        k = rng.choice(["null", "0", "1", "-1", "2", "30"])
        hours = rng.choice(["null", "0", "1", "-25", "36", "720"])
        out.append(
            f"({number}, {near(base)}, {near(base)}, cast({near(base)} as date), cast({near(base)} as timestamp_ntz), "
            f"unix_millis({near(base)}), cast(unix_millis({near(base)}) as decimal(20, 3)) + "
            f"{rng.choice(['0', '0.5', '0.001', '-0.999'])}, {k}, {rng.choice(['true', 'false', 'null'])}, "
            f"make_dt_interval(0, {hours}))"
        )
    shifts = f"array(-1L, 0L, 1L, {rng.randrange(-(10**8), 10**8)}L)"
    values = f"filter(array({VALUES}), v -> v IS NOT NULL)"
    around_values = f"flatten(transform({values}, v -> transform({shifts}, s -> v + s)))"
    return (
        f"SELECT *, concat({around_values}, array({as_of}, {as_of} + 1, 4102444800000L)) AS instants "
        f"FROM VALUES {', '.join(out)} AS v(id, a, e, d, ntz, ms, dec, k, b, iv)"
    )


def compared(warehouse: Warehouse, number: int, text: str, model: Model, as_of: int, last: int | None) -> str:
    """A query: where membership by intervals differs from the predicate's truth, or intervals touch.

    Up to the last instant that is asked for. Rows that are out all the while are left out early, by single columns.
    """
    (core,) = model.cores
    assert core.core.first_call is not None and not model.notes, (text, model.notes)
    truth = text.format(n="timestamp_millis(t)", m="t")
    projection = filters.projected(warehouse, core, warehouse.settings(), Range(as_of, last))
    spans = intervals_sql.wanted(core, as_of, last, projection)
    edges = "flatten(transform(spans, s -> array(s.f - 1, s.f, s.f + 1, s.u - 1, s.u, s.u + 1)))"
    return (
        f"SELECT {number} AS q, id, t, ({truth}) IS TRUE AS wanted, spans,\n"
        f"  coalesce(aggregate(spans, 0, (n, s) -> n + INT(s.f <= t AND (s.u IS NULL OR s.u > t))), 0) AS found,\n"
        f"  exists(spans, s -> exists(spans, o -> o.u = s.f)) AS touching\n"
        f"FROM mz_rows LEFT JOIN (\n"
        f"  SELECT id AS of, collect_list(named_struct('f', mz_from, 'u', mz_until)) AS spans\n"
        f"  FROM (\n{spans}\n  ) GROUP BY id\n) ON of = id\n"
        f"LATERAL VIEW explode(array_distinct(concat(instants, coalesce({edges}, array())))) x AS t\n"
        f"WHERE t BETWEEN {as_of}L AND {NEVER if last is None else last}L"
    )


def judge(project: Project, zone: str, texts: list[str], as_of: int, source: str) -> tuple[int, int]:
    """-> how many predicates were accepted, and how many of those met a row that leads too far; a wrong one fails."""
    spark, warehouse = project.spark, Warehouse(project.rows)
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.sql(source).coalesce(1).createOrReplaceTempView("mz_rows")
    settings, accepted, guarded = warehouse.settings(), 0, 0
    queries = []
    for number, text in enumerate(texts):
        written = f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()', m='mz_now()')}"
        try:
            model = understand(warehouse, written, settings, "4.1", as_of)
        except Refusal:
            continue
        if model.notes:  # a read filters it, which is tested elsewhere
            continue
        accepted += 1
        queries.append((text, compared(warehouse, number, text, model, as_of, None)))
    differs = "coalesce(touching, false) OR found <> CAST(wanted AS INT)"
    batches = [queries]
    while batches:
        batch = batches.pop()
        every = "\nUNION ALL\n".join(query for _, query in batch)
        if not batch:
            continue
        try:
            found = spark.sql(f"SELECT /*+ COALESCE(1) */ * FROM ({every}) WHERE {differs} LIMIT 1").collect()
        except Exception as error:
            if GUARDED not in str(error):
                raise
            guarded += len(batch) == 1
            batches += [[query] for query in batch] if len(batch) > 1 else []
            continue
        for row in found:
            shown = spark.table("mz_rows").where(f"id = {row.id}").drop("instants").collect()[0]
            raise AssertionError(f"{zone}, as of {as_of}: {texts[row.q]}\n  {shown}\n  {row}")
    return accepted, guarded
