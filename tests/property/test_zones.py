"""Predicates around the changes of time zones, from the first local time by law on, and shifts that lead there.

The oracle is Spark's own evaluation, as in test_predicates. A predicate may be refused, and a row that is moved further
back than can be answered for is an error; what is accepted is right.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.clock import zones
from dbt.adapters.sparktemporal.temporal.clock.zones import Change, Zone
from support.predicates import GUARDED, Grammar, judge, rows
from support.project import Project
from support.sampled import each

#: leaps that are no whole minute or hour, dates that come twice or never, offsets that were given up, and plain ones
ZONES = [
    "Africa/Monrovia", "America/Juneau", "Asia/Kolkata", "America/New_York", "Asia/Manila", "Pacific/Apia",
    "America/St_Johns", "Australia/Lord_Howe", "Europe/Amsterdam", "Asia/Tokyo", "America/Caracas", "Africa/Casablanca",
    "Asia/Kathmandu", "America/Sao_Paulo", "Europe/Dublin", "Antarctica/Casey", "+05:30", "Etc/GMT+9", "UTC",
]  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Zoned(Grammar):
    """What follows local time on the clock's side. back: the age of a change (s) at the clock. near: local times."""

    def __init__(self, rng: random.Random, zone: str, back: int, near: list[str]) -> None:
        super().__init__(rng, fixed_zone=False)
        self.zone, self.back, self.near = zone, back, near

    def length(self) -> str:
        days = self.back // 86_400 + self.rng.choice([-1, 0, 0, 1])
        return self.rng.choice(
            [
                f"interval {days} days",
                f"interval {days * 24 + self.rng.choice([0, 1, 13])} hours",
                f"interval '{days} {self.rng.randrange(24)}:30' day to minute",
                f"interval {round(days / 365.2425)} years",
                f"interval {round(days / 30.436875)} months",
                "interval 1 day",
                "interval 90 minutes",
                f"make_dt_interval({days}, coalesce(k, 0))",
                f"make_ym_interval(0, {round(days / 30.436875)} + coalesce(k, 0))",
                "iv",
            ]
        )

    def short(self) -> str:
        """A unit that is as long everywhere, and how many of it, around as many as are in a day."""
        unit, day = self.rng.choice([("HOUR", 24), ("MINUTE", 1_440), ("SECOND", 86_400), ("MILLISECOND", 86_400_000)])
        count = self.rng.choice([1, 15, day - 1, day - 1, day, day + 1, self.rng.randrange(day)])
        return f"{unit}, {self.rng.choice(['', '-'])}{count}"

    def comparison(self) -> str:
        rng = self.rng
        op, instant, length = rng.choice(["<", "<=", ">", ">=", "=", "<>"]), self.instant(), self.length()
        local = rng.choice(self.near) + rng.choice(["", ".999"])
        clock = rng.choice(["{n}", f"{{n}} - {length}", f"{{n}} + {length}", "{n} - interval 90 minutes"])
        far = f"timestamp_millis(unix_millis({{n}}) - {self.back}000L)"
        clock = rng.choice([clock, clock, clock, "{n}", far])
        pattern = rng.choice(["yyyy-MM-dd", "yyyy-MM", "yyyyMMdd HH", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss.SSS"])
        other = rng.choice(["+05:30", "-03:15", "Asia/Kathmandu", self.zone])
        unit = rng.choice(["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"])
        forms = [
            f"{clock} {op} {instant}",
            f"date_trunc('{unit}', {clock}) {op} {instant}",
            f"date_trunc('{unit}', {clock}) {op} date_trunc('{unit}', {instant})",
            f"date_trunc('{unit}', {{n}}) {op} date_trunc('{unit}', a)",
            f"date_trunc('{unit}', {{n}}) {op} a",
            f"cast({clock} as date) {op} d",
            f"date_add({clock}, k) {op} {rng.choice(['d', 'a'])}",
            f"year({clock}) {op} year(a)",
            f"last_day({clock}) {op} d",
            f"trunc({clock}, 'MM') {op} d",
            f"datediff({clock}, d) {op} k",
            f"cast({clock} as timestamp_ntz) {op} {rng.choice(['ntz', 'a'])}",
            f"cast({{n}} as timestamp_ntz) - {length} {op} {rng.choice(['ntz', 'a'])}",
            f"dateadd({rng.choice(['DAY', 'HOUR'])}, coalesce(k, 0) - {self.back // 86_400}, {{n}}) {op} a",
            f"timestampdiff({rng.choice(['HOUR', 'DAY', 'MONTH'])}, a, {clock}) {op} k",
            f"{rng.choice(['dateadd', 'timestampadd'])}({self.short()}, {{n}}) {op} {instant}",
            f"date_trunc('{unit}', dateadd({self.short()}, {{n}})) {op} a",
            f"{{n}} - a {op} iv",
            f"{{n}} {op} {instant}",
            f"{{n}} {op} to_utc_timestamp(a, '{self.zone}')",
            f"date_format({clock}, '{pattern}') {op} date_format(a, '{pattern}')",
            f"date_format(from_utc_timestamp({{n}}, '{other}'), '{pattern}') {op} date_format(a, '{pattern}')",
            f"{{n}} {op} make_timestamp(year(a), month(a), day(a), hour(a), minute(a), 30)",
            f"{{n}} between {instant} and a + {length}",
            f"cast({rng.choice([clock, 'a'])} as timestamp_ntz) {op} '{local}'",
            f"cast({clock} as timestamp_ntz) in ('{local}', '{rng.choice(self.near)}')",
        ]
        return rng.choice(forms)


def jumps(zone: Zone) -> list[Change]:
    return list(zone.changes) or [Change(-800_000_000, 0, 0), Change(1_700_000_000, 0, 0)]


def text_of(second: int) -> str:
    return f"{EPOCH + timedelta(seconds=second):%Y-%m-%d %H:%M:%S}"


def drive(project: Project, zone: str, seed: int, rounds: int, each: int) -> int:
    rng = random.Random(f"{zone} {seed}")
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    known = jumps(Warehouse(project.rows).zone(zone))
    accepted = 0
    for _ in range(rounds):
        change = rng.choice(known)
        days = rng.choice([0, 0, *((c.at - change.at) // 86_400 for c in known), (1_750_000_000 - change.at) // 86_400])
        landing = change.at + max(days, 0) * 86_400  # from there so many days lead to the change
        as_of = (landing - rng.choice([86_400, 3_600, 1_800, 5])) * 1_000 - rng.choice([0, 1, 999])
        near = [change.at + s for s in (0, 45, -1_800, 1_000, 3_000, 5_400)]
        around = [text_of(s) for s in (*near, landing, landing + rng.choice([-1, 45, 1_000, 3_600]))]
        local = [text_of(at + change.before + s) for at in (change.at, landing) for s in (-1_800, 0, 1_000, 3_600)]
        grammar = Zoned(rng, zone, max(days, 0) * 86_400, local)
        texts: list[str] = []
        while len(texts) < each:
            text = grammar.predicate(rng.choice([0, 0, 0, 1]))
            if "{n}" in text:
                texts.append(text)
        grid = ", ".join(f"{(landing + s) * 1_000}L" for s in (*range(-7_200, 7_201, 300), -86_400, 86_400, 10, 50, 70))
        source = rows(rng, around, f"{as_of}L")
        source = f"SELECT * EXCEPT (instants), concat(instants, array({grid})) AS instants FROM ({source})"
        accepted += judge(project, zone, texts, as_of, source)[0]
    return accepted


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [2, 8])
def test_zones(project: Project, count: int) -> None:
    accepted = [drive(project, zone, 12, rounds=1, each=8 if zone == ZONES[0] else 4) for zone in ZONES[:count]]
    assert sum(accepted) > count, accepted


#: zone -> clock, predicate, and where a row lies; what is accepted is compared, the others are told so in these words
EARLIER = "goes back, or leaps, until"
KOLKATA = "Asia/Kolkata", "2026-10-14 17:00:00"
KNOWN = [
    (*KOLKATA, "{n} - interval 81 years <= a", "1945-10-14 17:20:00", ""),
    (*KOLKATA, "{n} - interval 29585 days <= a", "1945-10-14 17:20:00", ""),
    (*KOLKATA, "{n} - interval 70 years <= a", "1956-10-14 17:20:00", ""),
    (*KOLKATA, "{n} - make_ym_interval(81, 0 * id) <= a", "1945-10-14 17:20:00", GUARDED),
    (*KOLKATA, "date_trunc('DAY', {n} - make_dt_interval(29585 + 0 * id)) <= a",
     "1945-10-14 17:20:00", GUARDED),
    (*KOLKATA, "{n} - make_ym_interval(70, 0 * id) <= a", "1956-10-14 17:20:00", ""),
    ("Asia/Kolkata", "1941-09-30 18:00:00", "{n} - interval 1 day <= a", "1941-09-30 18:40:00", ""),
    ("Asia/Kolkata", "1941-09-30 18:00:00", "date_trunc('HOUR', {n}) <= a", "1941-09-30 18:40:00", ""),
    ("America/New_York", "1883-11-18 16:00:00", "date_trunc('HOUR', {n}) <= a", "1883-11-18 17:01:00", ""),
    ("America/New_York", "1883-11-18 16:00:00", "cast({n} as timestamp_ntz) <= a", "1883-11-18 17:01:00", "goes back"),
    ("America/New_York", "1883-11-20 17:00:00", "date_trunc('HOUR', {n}) <= a", "1883-11-20 18:01:00", ""),
    ("America/Juneau", "1867-10-18 12:00:00", "cast({n} as date) = d", "1867-10-19 12:00:00", EARLIER),
    ("America/Juneau", "1867-10-18 12:00:00", "{n} < d", "1867-10-19 12:00:00", ""),
    ("Africa/Monrovia", "1972-01-07 00:40:00", "date_trunc('MINUTE', {n}) <= a", "1972-01-07 00:44:50", EARLIER),
    ("Africa/Monrovia", "1972-01-07 00:40:00", "{n} <= date_trunc('MINUTE', a)", "1972-01-07 00:44:50", ""),
    ("Pacific/Apia", "2011-12-29 12:00:00", "cast({n} as date) >= d", "2011-12-31 10:00:00", ""),
    ("Europe/Berlin", "2026-10-20 00:00:00", "{n} - interval 1 day <= a", "2026-10-25 01:30:00", ""),
    ("Europe/Berlin", "2026-10-20 00:00:00", "date_format(from_utc_timestamp({n}, '+05:30'), 'yyyy-MM-dd HH:mm') <="
     " date_format(a, 'yyyy-MM-dd HH:mm')", "2026-10-25 00:10:00", ""),
    ("Europe/Berlin", "2026-10-25 00:00:00", "a >= dateadd(HOUR, -1, {n})", "2026-10-25 00:30:00", ""),
    ("Europe/Berlin", "2026-10-25 00:00:00", "{n} - 2 * interval 1 hour < a", "2026-10-25 01:00:00", ""),
    ("Europe/Berlin", "2026-10-25 20:00:00", "dateadd(HOUR, -k - 20, {n}) <= a", "2026-10-25 01:30:00", ""),
    ("Europe/Berlin", "2026-10-20 00:00:00", "dateadd(DAY, -1, {n}) <= a", "2026-10-25 01:30:00", ""),
    # the date there changes at midnight there
    ("UTC", "2024-03-01 12:00:00",
     "cast(convert_timezone('UTC', 'Europe/Berlin', cast(a as timestamp_ntz)) as date) <= "
     "cast(convert_timezone('UTC', 'Europe/Berlin', cast({n} as timestamp_ntz)) as date)", "2024-03-31 23:30:00", ""),
    ("Asia/Kolkata", "2024-03-01 12:00:00",
     "d < cast(convert_timezone('Australia/Lord_Howe', cast({n} as timestamp_ntz)) as date)",
     "2024-04-06 15:00:00", ""),
    # the days alone lead into the hour that is left out
    ("Europe/Berlin", "2026-10-10 00:00:00",
     "{n} - case when id >= 0 then interval '200 20' day to hour else interval 1 hour end <= a",
     "2026-03-28 05:20:00", ""),
    ("Europe/Berlin", "2026-10-20 00:00:00", "{n} - '2026-03-01' < iv", "2026-10-25 01:30:00", GUARDED),
    ("Europe/Berlin", "2026-10-20 00:00:00", "{n} - interval 1 month <= a", "2026-09-25 01:30:00", ""),
    ("Australia/Lord_Howe", "2026-04-20 14:00:00", "{n} - interval 1 month > a", "2026-04-04 15:00:00", ""),
    ("America/St_Johns", "2001-04-20 00:00:00", "{n} - interval 1 month > a", "2001-04-01 03:31:00", "goes back"),
    ("Australia/Lord_Howe", "2026-04-04 14:00:00", "timestampadd(MINUTE, -15, {n}) < a", "2026-04-04 15:00:00", ""),
    ("America/New_York", "2026-11-01 05:00:00", "date_trunc('HOUR', date_add(SECOND, 86399, {n})) <= a",
     "2026-11-01 06:30:00", ""),
    ("America/New_York", "2026-11-01 05:00:00", "timestampdiff(SECOND, a, {n}) < 3", "2026-11-01 06:30:00", ""),
    # Spark's optimizer would compare the clock with the constants as instants
    ("America/New_York", "2026-11-01 04:00:00",
     "cast({n} as timestamp_ntz) in ('2026-11-01 01:30:00', '2026-11-01 01:00:00')", "2026-11-01 06:30:00", ""),
]  # fmt: skip


@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize(("zone", "clock", "text", "row", "told"), each(4, KNOWN))
def test_known_jumps(project: Project, zone: str, clock: str, text: str, row: str, told: str) -> None:
    as_of = int(datetime.fromisoformat(f"{clock}+00:00").timestamp()) * 1_000
    source = rows(random.Random(zone), [row], f"{as_of}L")
    if told in ("", GUARDED):
        assert judge(project, zone, [text], as_of, source) == (1, int(told == GUARDED))
        return
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    project.spark.sql(source).createOrReplaceTempView("mz_rows")
    warehouse = Warehouse(project.rows)
    with pytest.raises(Refusal) as raised:
        understand(
            warehouse,
            f"SELECT id FROM mz_rows WHERE {text.format(n='mz_now()')}",
            warehouse.settings(),
            warehouse.version(),
            as_of,
        )
    assert told in str(raised.value) and "local time" in str(raised.value), raised.value


#: a unit, and how many of it are a day
UNITS = {"MICROSECOND": 86_400_000_000, "MILLISECOND": 86_400_000, "SECOND": 86_400, "MINUTE": 1_440, "HOUR": 24}


@pytest.mark.landing
@pytest.mark.usefixtures("small_plans")
def test_lengths_that_are_as_long_in_every_zone(project: Project) -> None:
    """Around each change of 2023 to 2026, by the millisecond. A day is not, and goes back; so do differences."""
    fixed, falling = [], ["timestampadd(DAY, 1, t)", "dateadd(WEEK, 1, t)"]
    for unit, count in UNITS.items():
        for n in (1, count // 96 or 1, count - 1, count, 40 * count):
            wanted = n * 86_400_000_000 // count
            forms = [
                f"{f}({unit}, {sign}{n}, t)" for f in ("dateadd", "timestampadd", "date_add") for sign in ("", "-")
            ]
            forms += [f"t {sign} {n} * interval 1 {unit}" for sign in ("+", "-") if n < count < 2**31]
            fixed += [f"abs(unix_micros({form}) - unix_micros(t)) <=> {wanted}L" for form in forms]
        falling += [f"t + {count} * interval 1 {unit}"] if count < 2**31 else []
        falling += [f"timestampdiff({unit}, timestamp'2023-01-01 00:40:00', t)"]
    near = {s * 60_000 * m + d for s in (1, -1) for m in (*range(0, 60, 5), 1_440, 1_500, 10_080) for d in (-1, 0, 1)}
    for zone in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe"):
        project.spark.conf.set("spark.sql.session.timeZone", zone)
        rules = Warehouse(project.rows).zone(zone).changes
        changes = [change.at for change in rules if 1_672_531_200 < change.at < 1_798_761_600]
        assert len(changes) == 8
        instants = ", ".join(f"{c * 1_000 + d}L" for c in changes for d in sorted(near))
        rows = f"SELECT timestamp_millis(i) AS t FROM (SELECT explode(array({instants})) AS i)"
        assert set(project.rows(f"SELECT {', '.join(f'bool_and({one})' for one in fixed)} FROM ({rows})")[0]) == {True}
        falls = ", ".join(f"{one} < lag({one}) OVER (ORDER BY t) AS c{i}" for i, one in enumerate(falling))
        found = ", ".join(f"bool_or(c{i})" for i in range(len(falling)))
        assert set(project.rows(f"SELECT {found} FROM (SELECT {falls} FROM ({rows}))")[0]) == {True}, zone


@pytest.mark.usefixtures("small_plans")
def test_the_rules_are_those_of_the_engine(project: Project) -> None:
    """Also of zones that Python does not know, and of changes a week apart."""
    warehouse, java = Warehouse(project.rows), project.spark._jvm.java.time
    for zone in ("Africa/Casablanca", "SystemV/EST5", "America/Boa_Vista"):
        assert warehouse.zone(zone).changes == rules_of(java, zone), zone
    assert warehouse.zone("+05:30").changes == () and warehouse.fixed_from("Asia/Kolkata") == -763_972_200_000
    assert warehouse.fixed_from("Europe/Berlin") is None and not warehouse.never_changed("Asia/Tokyo")


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
def test_the_rules_of_all_zones(project: Project) -> None:
    warehouse, java = Warehouse(project.rows), project.spark._jvm.java.time
    for zone in java.ZoneId.getAvailableZoneIds():
        assert warehouse.zone(zone).changes == rules_of(java, zone), zone


def rules_of(jvm: Any, zone: str) -> tuple[Change, ...]:
    """What Java says, asked for one change after the other."""
    found, rules = [], jvm.ZoneId.of(zone).getRules()
    instant = jvm.Instant.ofEpochSecond(zones._FIRST)
    while (change := rules.nextTransition(instant)) is not None and change.toEpochSecond() < zones._LAST:
        offsets = change.getOffsetBefore().getTotalSeconds(), change.getOffsetAfter().getTotalSeconds()
        found.append(Change(change.toEpochSecond(), *offsets))
        instant = change.getInstant()
    return tuple(found)


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(10))
def test_all_zones(project: Project, part: int) -> None:
    every = sorted(project.spark._jvm.java.time.ZoneId.getAvailableZoneIds())
    for zone in [*every[part::10], *ZONES]:
        drive(project, zone, 100 + part, rounds=4, each=8)
