"""Days, months and zones, by arithmetic of whole numbers. Days and seconds count from 1970; weeks begin on Monday."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from dbt.adapters.sparktemporal.temporal.clock.zones import Change, Zone, is_offset, offset_of

from .values import DAY, SECOND, Unproved, is_term

#: days of 400 years, after which the calendar repeats
CYCLE = 146_097
#: zones have no change before, and are looked at until then (s)
FIRST, LAST = -4_102_444_800, 4_102_444_800


@lru_cache(maxsize=2 * CYCLE)
def civil(days: int) -> tuple[int, int, int]:
    """(year, month, day)."""
    era, of_era = divmod(days + 719_468, CYCLE)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def days_of(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * CYCLE + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def length(year: int, month: int) -> int:
    leaps = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leaps else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def plus_months(days: int, months: int) -> int:
    year, month, day = civil(days)
    whole = year * 12 + month - 1 + months
    year, month = whole // 12, whole % 12 + 1
    return days_of(year, month, min(day, length(year, month)))


def last_day(days: int) -> int:
    year, month, _ = civil(days)
    return days_of(year, month, length(year, month))


def monday(days: int) -> int:
    return days - (days + 3) % 7


def week(days: int) -> tuple[int, int]:
    """(year of the week, number of the week)."""
    thursday = monday(days) + 3
    year = civil(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def truncated(days: int, unit: str) -> int | None:
    """The first day of a unit; None for a word that is no such unit."""
    year, month, _ = civil(days)
    if unit == "WEEK":
        return monday(days)
    if unit in ("MONTH", "MON", "MM"):
        return days_of(year, month, 1)
    if unit == "QUARTER":
        return days_of(year, (month - 1) // 3 * 3 + 1, 1)
    return days_of(year, 1, 1) if unit in ("YEAR", "YYYY", "YY") else None


@dataclass(frozen=True)
class Rules:
    """The offset of a zone at each instant. Offsets are in seconds, instants and local times in µs."""

    name: str
    first: int
    changes: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", [change.at for change in self.changes])

    def offset(self, micros: int) -> int:
        if not self.changes:
            return self.first
        if is_term(micros):
            raise Unproved(f"an instant of any time in {self.name}")
        found = bisect_right(self._at, micros // SECOND)  # type: ignore[attr-defined]
        return self.changes[found - 1].after if found else self.first

    def local(self, micros: int) -> int:
        return micros + self.offset(micros) * SECOND

    def instant(self, local: int, preferred: int | None = None) -> int:
        """Of two instants the one with the preferred offset, else the earlier one. In a gap, later by its length."""
        if not self.changes:
            return local - self.first * SECOND
        if is_term(local):
            raise Unproved(f"a local time of any time in {self.name}")
        second = local // SECOND
        for change in self.changes[max(bisect_right(self._at, second - 200_000) - 1, 0) :]:  # type: ignore[attr-defined]
            if change.at > second + 200_000:
                break
            if change.after < change.before and change.begins <= second < change.ends:
                return local - (change.after if preferred == change.after else change.before) * SECOND
            if change.ends <= second < change.begins:
                return local - change.before * SECOND
        guess = local - self.offset(local - self.offset(local) * SECOND) * SECOND
        for _ in range(3):
            if self.local(guess) == local:
                return guess
            guess = local - self.offset(guess) * SECOND
        raise AssertionError((self.name, local))

    def date(self, micros: int) -> int:
        local = self.local(micros)
        return local / DAY if is_term(local) else local // DAY

    def midnight(self, days: int) -> int:
        return self.instant(days * DAY)


UTC = Rules("UTC", 0)


@lru_cache(maxsize=700)
def rules(name: str) -> Rules:
    """A zone by the tz database that Python has, up to the year 2100."""
    if is_offset(name):
        return Rules(name, offset_of(name))
    info, epoch = ZoneInfo(name), datetime(1970, 1, 1, tzinfo=timezone.utc)

    def at(second: int) -> int:
        offset = (epoch + timedelta(seconds=second)).astimezone(info).utcoffset()
        assert offset is not None
        return int(offset.total_seconds())

    found, step = [], 6 * 86_400
    for low in range(FIRST, LAST, step):
        low_offset, high = at(low), low + step
        if (after := at(high)) != low_offset:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if at(middle) == low_offset else (low, middle)
            found.append(Change(high, low_offset, after))
    return Rules(name, at(FIRST), tuple(found))


def zone(name: str) -> Zone:
    """The same, as the product has it."""
    return Zone(name, rules(name).changes)
