"""Schedules: the refreshes of a model, and its restarts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...errors import Refusal

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AT = re.compile(r"(?:([a-z]+)\s+)?(\d{1,2}):(\d{2})(?:\s+([A-Za-z0-9_+/-]+))?", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Refreshes:
    """The refreshes of a model: anchor, anchor + every, … (ms), in both directions. Content is constant in between.

        ----[anchor)---------[+ every)---[also)------[+ 2 every)----

    also: extra refreshes, ascending. A run whose instant is not on the schedule adds this instant.
    """

    MOST_ALSO: ClassVar[int] = 100

    every: int
    anchor: int
    also: tuple[int, ...] = ()

    @staticmethod
    def of_json(fields: Mapping[str, Any] | None) -> Refreshes | None:
        return Refreshes(**{**fields, "also": tuple(fields.get("also", ()))}) if fields else None

    def with_refresh(self, t: int, since: int) -> Refreshes:
        """The schedule with a refresh at t (ms). If t is new, `also` keeps the last MOST_ALSO from `since` to t.

        Refreshes after t are left out: the run at t, with an earlier clock, replaces the runs that added them.
        """
        if t == self.last(t):
            return replace(self, also=tuple(one for one in self.also if one <= t))
        return replace(self, also=(*(one for one in self.also if since <= one <= t), t)[-self.MOST_ALSO :])

    def known_from(self, since: int) -> int:
        """The instant (ms) from which all refreshes are known: `since`, or later if `also` is full."""
        return max(since, self.also[0]) if len(self.also) == self.MOST_ALSO else since

    def last(self, t: int) -> int:
        """The refresh at or before an instant (ms)."""
        return max([t - (t - self.anchor) % self.every, *(one for one in self.also if one <= t)])

    def next(self, t: int) -> int:
        """The refresh at or after an instant (ms)."""
        return min([t + (self.anchor - t) % self.every, *(one for one in self.also if one >= t)])

    def last_sql(self, t: str) -> str:
        """SQL: the refresh at or before an instant. t: SQL of BIGINT, ms."""
        regular = f"({t} - pmod({t} - {self.anchor}L, {self.every}L))"
        arms = "".join(f" WHEN {t} >= {one}L THEN {one}L" for one in reversed(self.also))
        return f"greatest({regular}, CASE{arms} END)" if arms else regular

    def next_sql(self, t: str) -> str:
        """SQL: the refresh at or after an instant, which is the first to show a change at the instant."""
        regular = f"({t} + pmod({self.anchor}L - {t}, {self.every}L))"
        arms = "".join(f" WHEN {t} <= {one}L THEN {one}L" for one in self.also)
        return f"least({regular}, CASE{arms} END)" if arms else regular


def readable_from(since: int, now: int, retention: int | None, refreshes: Refreshes | None) -> int:
    """The first instant (ms) that is readable after a run at `now` (ms) has dropped the past.

    since: the first readable instant before that run (ms). retention: the length of the past that stays (ms), None for
    nothing. With refreshes, the content at the last refresh before that past stays too.
    """
    past = now - (retention or 0)
    return max(since, refreshes.last(past) if refreshes else past)


@dataclass(frozen=True)
class TimeOfWeek:
    """A local time of one day of the week (0 is Monday), or of every day (None)."""

    weekday: int | None
    hour: int
    minute: int
    zone: str

    def __str__(self) -> str:
        day = "" if self.weekday is None else f"{_DAYS[self.weekday].capitalize()} "
        return f"{day}{self.hour:02}:{self.minute:02} {self.zone}"

    @property
    def period(self) -> int:
        """The time between two of these instants (ms), changes of the zone's offset aside."""
        return (1 if self.weekday is None else 7) * 86_400_000

    @staticmethod
    def parse(text: object, name: str) -> TimeOfWeek:
        """A time of day in words -> TimeOfWeek. Raises a Refusal for other text. name: the config, for the message.

        >>> TimeOfWeek.parse("Sunday 03:00 Europe/Berlin", "restart_at")
        TimeOfWeek(weekday=6, hour=3, minute=0, zone='Europe/Berlin')
        >>> TimeOfWeek.parse("03:30", "restart_at")
        TimeOfWeek(weekday=None, hour=3, minute=30, zone='UTC')
        """
        found = _AT.fullmatch(str(text).strip())
        day = (found.group(1) or "").lower() if found else ""
        days = [number for number, word in enumerate(_DAYS) if day and len(day) >= 3 and word.startswith(day)]
        zone = found.group(4) or "UTC" if found else ""
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            found = None
        if not found or bool(day) != bool(days) or int(found.group(2)) > 23 or int(found.group(3)) > 59:
            raise Refusal(
                "ST118",
                f"{name}: {text!r}",
                "it is not a time of day, with or without a day of the week and a time zone",
                f'{name}: "Sunday 03:00", or {name}: "03:00 Europe/Berlin"; without a zone it is UTC',
            )
        return TimeOfWeek(days[0] if days else None, int(found.group(2)), int(found.group(3)), zone)

    def last(self, t: int) -> int:
        """The last of these instants at or before t (ms). A local time in a gap counts later by the gap's length."""
        local = (_EPOCH + timedelta(milliseconds=t)).astimezone(ZoneInfo(self.zone))
        day = local.date() + timedelta(days=1)
        while True:
            if self.weekday is None or day.weekday() == self.weekday:
                moment = datetime(day.year, day.month, day.day, self.hour, self.minute, tzinfo=ZoneInfo(self.zone))
                instant = (moment - _EPOCH) // timedelta(milliseconds=1)
                if instant <= t:
                    return instant
            day -= timedelta(days=1)


@dataclass(frozen=True)
class Restarts:
    """The scheduled restarts of a model: `every` ms after its start, or at the last `at` before that."""

    every: int | None = None
    at: TimeOfWeek | None = None
    words: str = ""

    def due(self, started_at: int) -> int | None:
        """The instant (ms) from which a run restarts a model that started at `started_at` (ms); None for never."""
        if self.every is None:
            return None
        latest = started_at + self.every
        instant = self.at.last(latest) if self.at else latest
        return instant if instant > started_at else latest
