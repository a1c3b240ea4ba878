"""The printed query as a whole, row by row: what it prints against the predicate as it was written.

The lemmas say why the parts are right. Here the parts are together, at rows where a calendar or a zone is not regular.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zoneinfo import available_timezones

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.clock.zones import Change, is_offset

from . import calendar
from .lemmas import LEMMAS, OPERATORS, Rises, Wrong, at, written
from .printed import windows
from .translate import Translation
from .values import DAY, V

HOUR = 3_600_000
OPERATORS_OF_COMPARISON = ("=", "<", "<=", ">", ">=", "<>", "<=>")
#: around a leap day, the ends of months and years, and before 1970 (ms)
SPECIAL = tuple(
    calendar.days_of(*day) * DAY // 1_000 + time
    for day in (
        (2024, 2, 29),
        (2024, 3, 1),
        (2023, 12, 31),
        (2024, 12, 30),
        (2024, 1, 31),
        (1969, 12, 31),
        (2023, 2, 28),
    )
    for time in (0, 12 * HOUR + 1, DAY // 1_000 - 1)
)
#: kind of a value -> the column that it is compared with
COLUMNS = {"timestamp": "a", "date": "d", "timestamp_ntz": "ntz", "int": "k", "bigint": "ms", "string": "s",
           "days": "iv", "daytime": "iv", "double": "x"}  # fmt: skip


def row_at(instant: int, other: int, zone: str = "UTC", nulls: bool = False) -> dict[str, V]:
    """A row whose values are all around an instant (ms)."""
    micros, rules = instant * 1_000, calendar.rules(zone)
    local = rules.local(micros)
    return {
        "a": V("timestamp", micros), "e": V("timestamp", other * 1_000, nulls), "d": V("date", local // DAY),
        "ntz": V("timestamp_ntz", local), "ms": V("bigint", instant), "dec": V("decimal:3", instant * 1_000 + 500),
        "k": V("int", 1, nulls), "b": V("boolean", not nulls), "iv": V("daytime", (other - instant) * 1_000),
        "s": V("string", "2024-02-29"), "x": V("double", float(instant)), "y": V("timestamp", other * 1_000),
    }  # fmt: skip


@dataclass
class Whole:
    """A predicate in a zone, as a run at `as_of` (ms) prints it. Raises Refusal where it is refused."""

    text: str
    zone: str = "UTC"
    as_of: int = 0

    def __post_init__(self) -> None:
        rules = calendar.rules(self.zone)
        self.query = Translation(rules).query(windows(written(self.text), self.zone, self.as_of))
        self.truth = at(self.text, rules)

    def check(self, row: dict[str, V], instants: Iterable[int]) -> int:
        """Compare at instants, and a millisecond around each bound that is printed. -> how many."""
        found = [(r["mz_from"].x, None if r["mz_until"].null else r["mz_until"].x) for _, r in self.query(row)]
        edges = {edge + by for pair in found for edge in pair if edge is not None for by in (-1, 0, 1)}
        looked_at = sorted(t for t in {*instants, *edges} if self.as_of <= t < 2**53)
        for t in looked_at:
            truth = self.truth(row, t)
            inside = sum(begin <= t and (end is None or t < end) for begin, end in found)
            if inside != int(bool(truth.x) and not truth.null):
                raise Wrong(f"{self.text} in {self.zone} as of {self.as_of}, at {t}: {found} of {row}")
        return len(looked_at)


def predicates_of(one: Rises) -> Iterator[str]:
    """A call that rises against a column of its type, by each operator, in a list, a BETWEEN and a NOT."""
    kind = one.kind
    clock = {"timestamp": "{n}", "date": "cast({n} as date)", "timestamp_ntz": "cast({n} as timestamp_ntz)",
             "bigint": "unix_millis({n})", "decimal:3": "(unix_millis({n}) - 0.500)"}[kind]  # fmt: skip
    if "y}" in one.call:
        call = one.call.replace("{y}", "timestamp '2024-01-31 12:00:00Z'")
    else:
        call = _replaced(one.call, "y", "e")
    call = _replaced(call, "x", clock)
    value = Translation().expression(call.replace("{n}", "a"))(row_at(SPECIAL[0], SPECIAL[1]))
    column = "dec" if value.kind.startswith("decimal") else COLUMNS[value.kind]
    if column == "ms" and not one.call.startswith(("unix_millis", "x D")):
        column = call.replace("{n}", "a")  # a number of another unit: that of the row
    for sign in OPERATORS_OF_COMPARISON:
        yield f"{call} {sign} {column}"
    yield f"{call} between {column} and {column}"
    yield f"{call} in ({column}, {call.replace('{n}', 'e')})"
    yield f"not ({call} > {column} and b)"


def _replaced(text: str, name: str, by: str) -> str:
    return re.sub(rf"\b{name}\b(?!')", lambda _: by, text)


def check_functions(step: int, rows: int) -> tuple[int, int]:
    """Each call of the lemmas, of every step-th predicate. -> (predicates, comparisons)."""
    predicates = comparisons = 0
    calls = {one.call: one for one in (*LEMMAS, *OPERATORS)}
    for number, one in enumerate(calls.values()):
        every = list(predicates_of(one))
        for text in every[number % step :: step]:
            try:
                whole = Whole(text, as_of=SPECIAL[number % len(SPECIAL)] - HOUR)
            except Refusal:
                continue
            except AssertionError as why:
                if "evaluated when the view is read" in str(why):
                    continue
                raise
            predicates += 1
            for i in range(rows):
                instant = SPECIAL[(number + 5 * i) % len(SPECIAL)]
                row = row_at(instant, SPECIAL[(number + i + 3) % len(SPECIAL)], nulls=i % 3 == 2)
                near = (instant + by for by in (-HOUR * 24, -HOUR, -1, 0, 1, HOUR, HOUR * 24, HOUR * 24 * 31))
                comparisons += whole.check(row, near)
    return predicates, comparisons


# -- zones --

#: what follows local time on the clock's side
ZONED = (
    "{n} - interval 1 day <= a", "{n} + interval 36 hours > a", "{n} - a < iv", "date_trunc('DAY', {n}) = a",
    "date_trunc('HOUR', {n}) = date_trunc('HOUR', a)", "date_trunc('MONTH', {n}) <= a", "cast({n} as date) = d",
    "cast({n} as date) < a", "date_format({n}, 'yyyy-MM-dd HH') = date_format(a, 'yyyy-MM-dd HH')",
    "timestampdiff(MINUTE, a, {n}) < 30", "dateadd(HOUR, -1, {n}) >= a", "cast({n} as timestamp_ntz) <= ntz",
    "{n} < d", "year({n}) = year(a)", "date_trunc('MINUTE', {n} - interval 1 day) <> a", "last_day({n}) >= d",
    "from_utc_timestamp({n}, '{zone}') <= ntz", "to_date(from_utc_timestamp({n}, '{zone}')) = d", "{n} <= ntz",
    "to_utc_timestamp(date_trunc('DAY', from_utc_timestamp({n}, '{zone}')), '{zone}') <= a",
)  # fmt: skip
#: those of other zones, in a session in UTC
_ELSEWHERE = "{zone}"


def check_change(zone: str, change: Change, texts: Iterable[str], rows: int = 3) -> tuple[int, int]:
    """Predicates around one change of a zone's offset. -> (accepted predicates, comparisons)."""
    accepted = comparisons = 0
    second = change.at * 1_000
    for number, text in enumerate(texts):
        session = "UTC" if _ELSEWHERE in text else zone
        as_of = second - (5 * HOUR, 26 * HOUR, 1, 90 * 60_000)[number % 4]
        try:
            whole = Whole(text.replace(_ELSEWHERE, zone), session, as_of)
        except Refusal:
            continue
        except AssertionError as why:
            if "evaluated when the view is read" in str(why):
                continue
            raise
        accepted += 1
        leap = (change.after - change.before) * 1_000
        for i in range(rows):
            instant = (
                second
                + (-1, 0, leap, -leap, 30 * 60_000, -DAY // 1_000, DAY // 1_000 + 1_800_000)[(i * 3 + number) % 7]
            )
            row = row_at(instant, instant + HOUR, zone)
            grid = {second + minutes * 60_000 for minutes in range(-200, 201, 20)} | {
                second + 24 * HOUR,
                second + 25 * HOUR,
            }
            comparisons += whole.check(row, {g + by for g in grid for by in (-1, 0)})
    return accepted, comparisons


def check_order(zone: str) -> int:
    """Each change of a zone: where the product says that it keeps an order, local time does. -> changes."""
    rules = calendar.rules(zone)
    for change in rules.changes:
        before = [change.at * 1_000_000 - by for by in (1, 1_000, 60_000_000, 3_600_000_000)]
        after = [change.at * 1_000_000 + by for by in (0, 1_000, 60_000_000, 1_800_000_000, 3_600_000_000)]
        for size, name in ((60, "MINUTE"), (3_600, "HOUR"), (86_400, "DAY")):
            made = Translation(rules).expression(f"date_trunc('{name}', a)")
            if not change.splits(size) and not change.repeats_a_date():
                values = [made({"a": V("timestamp", t)}).x for t in (*reversed(before), *after)]
                if values != sorted(values):
                    raise Wrong(f"date_trunc('{name}') in {zone} at {change}")
            if not change.repeats(size):
                units = [rules.local(t) // (size * 1_000_000) for t in (*reversed(before), *after)]
                if units != sorted(units):
                    raise Wrong(f"units of {size} s in {zone} at {change}")
        if not change.goes_back() and rules.local(before[0]) > rules.local(after[0]):
            raise Wrong(f"local time in {zone} at {change}")
    return len(rules.changes)


def zones() -> list[str]:
    """The zones of the tz database, one of each set of zones that have had the same changes."""
    found: dict[object, str] = {}
    for name in sorted(available_timezones()):
        if not is_offset(name):
            found.setdefault((calendar.rules(name).first, calendar.rules(name).changes), name)
    return list(found.values())
