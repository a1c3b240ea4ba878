"""What dbt and its packages render for Spark, against Spark itself, around changes of zones and ends of months.

The clock stands in the macro, or a column of the row does. Rows lie so many units away, to the millisecond.
"""

from __future__ import annotations

import random
from datetime import datetime

import pytest

from support.predicates import judge
from support.project import Project
from support.seeds import a_seed
from support.time_macros import WINDOW, Macros, entries, outcome, source

#: zone -> instants near which rows lie: changes of its offset, and the ends of its days and months
ZONES = {
    "UTC": ["2024-02-29 23:59:59.999", "2024-12-31 12:00:00", "2024-03-31 00:00:00", "2023-10-31 23:59:59.5",
            "2024-03-31 02:30:00", "2024-10-27 02:30:00"],
    "Europe/Berlin": ["2024-03-31 01:00:00", "2024-10-27 00:30:00", "2024-10-27 01:30:00", "2023-10-28 22:00:00",
                      "2024-02-29 22:59:59.999", "2024-10-26 21:59:59.5"],
    "Asia/Kolkata": ["2024-03-31 18:30:00", "2024-02-29 18:29:59.999"],
    "Australia/Lord_Howe": ["2024-04-06 15:00:00", "2024-10-05 15:30:00", "2024-04-06 13:15:00",
                            "2024-02-29 13:29:59.999"],
}  # fmt: skip
PARTS = 48
#: one part after the other, and each in all zones: the first PARTS are each macro in one of the zones. A landing tries
#: half of these
SLICES = [(zone, (part + 12 * at) % PARTS) for part in range(PARTS) for at, zone in enumerate(ZONES)]


def millis(clock: str) -> int:
    return int(datetime.fromisoformat(f"{clock}+00:00").timestamp() * 1_000)


def compare(project: Project, zone: str, texts: list[str], clock: str, around: list[str]) -> int:
    """-> how many predicates are windows; one that is wrong fails."""
    as_of = millis(clock)
    project.spark.conf.set("spark.sql.session.timeZone", zone)
    rows = source(random.Random(f"{zone} {texts}"), around, f"{as_of}L")
    return sum(judge(project, zone, texts[i : i + 6], as_of, rows)[0] for i in range(0, len(texts), 6))


@pytest.mark.usefixtures("small_plans")
@pytest.mark.quick(1)
@pytest.mark.first(PARTS // 2)
@pytest.mark.parametrize(("zone", "part"), SLICES)
def test_macros(project: Project, zone: str, part: int) -> None:
    tried = [entry for entry in entries() if "{n}" in entry.text][part::PARTS]
    windows = [outcome(entry, zone in ("UTC", "Asia/Kolkata"))[0] == WINDOW for entry in tried]
    texts = [entry.text for entry in tried]
    assert compare(project, zone, texts, "2023-10-20 05:00:00.001", ZONES[zone]) == sum(windows)


#: zones whose days begin at one o'clock at times, that left out a day, or gave up daylight saving; and a clock of 1969
OTHERS = {
    "America/Havana": ("2024-02-01 00:00:00", ["2024-03-10 05:00:00", "2024-11-03 05:00:00", "2024-11-03 04:30:00"]),
    "Asia/Beirut": ("2024-02-01 00:00:00", ["2024-03-30 22:00:00", "2024-10-26 21:00:00", "2024-10-26 20:30:00"]),
    "Pacific/Apia": ("2011-11-20 00:00:00", ["2011-12-30 10:00:00", "2011-12-30 09:59:59.999", "2012-03-31 14:00:00"]),
    "America/Sao_Paulo": ("2018-10-01 00:00:00", ["2018-11-04 03:00:00", "2019-02-17 02:00:00"]),
    "Etc/UTC": ("1969-11-25 00:00:00.500", ["1969-12-31 23:59:59.5", "1970-01-01 00:00:00", "1969-11-30 12:00:00.25"]),
}


@pytest.mark.landing
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("zone", [*ZONES, *OTHERS])
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.deep] if seed else []) for seed in range(8)])
def test_random_predicates(project: Project, zone: str, seed: int) -> None:
    clock, around = OTHERS.get(zone) or ("2023-10-20 05:00:00.001", ZONES[zone])
    grammar = Macros(random.Random(f"{zone} {seed} {a_seed()}"), fixed_zone=False)
    texts = [text for _ in range(60) if "{n}" in (text := grammar.predicate(grammar.rng.choice([0, 0, 0, 1])))][:18]
    assert compare(project, zone, texts, clock, around) >= 12
