"""Whether local time only goes forward in a session's zone.

In a zone with daylight saving local time goes back once a year, so whatever is computed on it does too:
`mz_now() + interval 1 day` is a calendar day in Spark, of 23, 24 or 25 hours, and `interval 1 month` likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(UTC|GMT|UT)?[+-]\d{1,2}(:?\d{2}){0,2}|Z|UTC|GMT|UT|Etc/.*", re.IGNORECASE)
_YEARS = 15  # of rules that are known; what a parliament decides later, no program knows


def has_fixed_offset(zone: str, since: int) -> bool:
    """Whether a zone keeps one offset from `since` (ms), and from 1970, on: intervals reach back from the clock.

    >>> has_fixed_offset("UTC", 0), has_fixed_offset("+05:30", 0), has_fixed_offset("Europe/Berlin", 1704067200000)
    (True, True, False)
    >>> has_fixed_offset("Asia/Kolkata", 1704067200000), has_fixed_offset("no such zone", 0)
    (True, False)
    """
    info = _zone(zone)
    if info is None:
        return _OFFSET.fullmatch(zone.strip()) is not None
    return len({day.astimezone(info).utcoffset() for day in _weeks(min(since, 0), until=since)}) == 1


def never_changed(zone: str, since: int) -> bool:
    """Whether a zone has had one offset from 1830 on, before any had one by law, as far as is known after `since` (ms).

    >>> never_changed("UTC", 0), never_changed("Asia/Kolkata", 0), never_changed("Pacific/Port_Moresby", 0)
    (True, False, False)
    """
    info = _zone(zone)
    if info is None:
        return _OFFSET.fullmatch(zone.strip()) is not None
    return len({day.astimezone(info).utcoffset() for day in _weeks(-(2**42), until=since)}) == 1


def dates_go_back(zone: str, since: int) -> bool:
    """Whether local time ever goes back over midnight from `since` (ms) on, so that a date comes twice.

    >>> dates_go_back("America/St_Johns", 978307200000), dates_go_back("America/St_Johns", 1704067200000)
    (True, False)
    >>> dates_go_back("America/Havana", 978307200000), dates_go_back("Europe/Berlin", 978307200000)
    (False, False)
    """
    info = _zone(zone)
    weeks = list(_weeks(since)) if info is not None else []
    for before, after in zip(weeks, weeks[1:]):
        if before.astimezone(info).utcoffset() == after.astimezone(info).utcoffset():
            continue
        while after - before > _INSTANT:
            middle = before + (after - before) / 2
            if middle.astimezone(info).utcoffset() == before.astimezone(info).utcoffset():
                before = middle
            else:
                after = middle
        if before.astimezone(info).date() > after.astimezone(info).date():
            return True
    return False


_INSTANT = timedelta(milliseconds=1)


def _zone(zone: str) -> ZoneInfo | None:
    if _OFFSET.fullmatch(zone.strip()):
        return None
    try:
        return ZoneInfo(zone.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _weeks(since: int, until: int | None = None) -> Iterator[datetime]:
    """A day a week, from `since` to some years after `until` (ms)."""
    start, last = (min(max(t, -(2**42)), 2**46) for t in (since, since if until is None else until))
    days = (last - start) // 86_400_000 + 366 * _YEARS
    return (
        datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=start, days=n) for n in range(0, days, 7)
    )
