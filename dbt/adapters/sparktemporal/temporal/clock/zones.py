"""The changes of a zone's UTC offset, by Spark's rules, and whether they make local time leap or go back.

    gap      23:59:59 -> 00:44:30    local time leaps; a time truncated into the gap moves on by the gap's length
    overlap  01:59:59 -> 01:00:00    local time goes back, and so do values computed from it

`mz_now() + interval 1 day` moves by a calendar day in Spark: 23, 24 or 25 hours. A minute is not always whole either:
at the gap of Monrovia above, `date_trunc('MINUTE', 00:44:45)` is 00:44:00, which is in the gap, so it becomes 01:28:30.

Spark's rules count, because Python's rules may be of another year. Python's rules only save a query: Spark is not asked
whether a zone changes (ever, or for ever) if Python says that it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..sql.text.dialect import string_literal
from .instants import FIRST_MS

_OFFSET = re.compile(r"(UTC|GMT|UT)?[+-]\d{1,2}(:?\d{2}){0,2}|Z|UTC|GMT|UT|Etc/.*", re.IGNORECASE)
#: no zone had an offset by law before _FIRST; a zone that changes after _FOR_EVER changes for ever (s)
_FIRST, _FOR_EVER, _LAST = -4_102_444_800, 3_944_678_400, 4_102_444_800
#: shorter than the 167 hours that lie between two changes of any zone at least (s)
_STEP = 6 * 86_400
#: margin around a change, in local time and instants: a day that is left out, or comes twice, and its hours (ms)
_AROUND = 2 * 86_400_000


@dataclass(frozen=True)
class Change:
    """A change of a zone's offset from `before` to `after` (s, east of Greenwich), at the second `at`."""

    at: int
    before: int
    after: int

    @property
    def ends(self) -> int:
        """Local time at the change by the old offset, as seconds. The last local time before it is a second less."""
        return self.at + self.before

    @property
    def begins(self) -> int:
        """Local time at the change by the new offset, as seconds."""
        return self.at + self.after

    def goes_back(self) -> bool:
        return self.after < self.before

    def repeats_a_date(self) -> bool:
        return self.repeats(86_400)

    def repeats(self, unit: int) -> bool:
        """Whether a unit of local time (`unit` s long) recurs after a later unit has begun."""
        return self.begins // unit < (self.ends - 1) // unit

    def splits(self, unit: int) -> bool:
        """Whether instants, truncated to a unit (s) of local time, go back at the change.

        They do where local time goes on inside a unit, not at the start of the unit, and the unit began after the gap
        began; or, at an overlap, the unit is earlier than the unit in which local time stopped.

        >>> Change(63593070, -2670, 0).splits(60), Change(1711846800, 3600, 7200).splits(3600)
        (True, False)
        """
        cut = self.begins // unit
        if not self.begins % unit:
            return False
        return cut < (self.ends - 1) // unit if self.goes_back() else cut * unit > self.ends


@dataclass(frozen=True)
class Zone:
    """A zone with all changes of its offset, in order."""

    name: str
    changes: tuple[Change, ...] = ()

    def free_of(self, breaks: Callable[[Change], bool]) -> int | None:
        """The instant (ms) from which no change satisfies `breaks`, with a margin; None if some do for ever.

        >>> new_york = Zone("x", (Change(-2717650800, -17762, -18000), Change(4092541200, -18000, -14400)))
        >>> new_york.free_of(lambda c: True), new_york.free_of(Change.goes_back), Zone("UTC").free_of(lambda c: True)
        (None, -2717478000000, -9223372036854775808)
        """
        last = max((change.at for change in self.changes if breaks(change)), default=None)
        if last is None:
            return FIRST_MS
        return None if last >= _FOR_EVER else last * 1_000 + _AROUND

    def since(self, first: int) -> tuple[int, tuple[Change, ...]]:
        """(offset (s) right before an instant (ms), changes from then on). An unknown offset is given as 900 s."""
        later = tuple(change for change in self.changes if change.at * 1_000 >= first)
        earlier = self.changes[: len(self.changes) - len(later)]
        if earlier or later:
            return earlier[-1].after if earlier else later[0].before, later
        return offset_of(self.name) if is_offset(self.name) else 900, ()

    @property
    def fixed_from(self) -> int | None:
        return self.free_of(lambda _: True)


def turns(changes: Iterable[Change]) -> tuple[int, ...]:
    """The times of day (ms after midnight, local) of some changes: where local time stops, and where it goes on.

    With each time come the times that lie the length of the change earlier and later; they may be outside of a day.

    >>> [turn / 3_600_000 for turn in turns([Change(1711846800, 3600, 7200), Change(1729990800, 7200, 3600)])]
    [1.0, 2.0, 3.0, 4.0]
    """
    found = set()
    for change in changes:
        shift = change.after - change.before
        for local in (change.ends, change.begins):
            found |= {local % 86_400 + by for by in (-shift, 0, shift)}
    return tuple(second * 1_000 for second in sorted(found))


def is_offset(name: str) -> bool:
    """Whether the name of a zone is a fixed offset.

    >>> is_offset("UTC"), is_offset("+05:30"), is_offset("Etc/GMT+3"), is_offset("Asia/Kolkata")
    (True, True, True, False)
    """
    return _OFFSET.fullmatch(name.strip()) is not None


def offset_of(name: str) -> int:
    """The offset (s) of a zone whose name is a fixed offset.

    >>> offset_of("UTC"), offset_of("+05:30"), offset_of("Etc/GMT+3"), offset_of("UTC-1")
    (0, 19800, -10800, -3600)
    """
    found = re.search(r"([+-])(\d{1,2}):?(\d{2})?:?(\d{2})?$", name.strip())
    if found is None:
        return 0
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    east = (found[1] == "+") != name.strip().lower().startswith("etc/")
    return (hours * 3_600 + minutes * 60 + seconds) * (1 if east else -1)


@lru_cache(maxsize=64)
def is_known_to_change(name: str, for_ever: bool) -> bool:
    """Whether Python knows that a zone's offset ever changes, or (`for_ever`) that it goes on changing for ever.

    >>> is_known_to_change("Asia/Kolkata", False), is_known_to_change("Asia/Kolkata", True)
    (True, False)
    >>> is_known_to_change("Europe/Berlin", True), is_known_to_change("no such zone", False)
    (True, False)
    """
    try:
        info = ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    start = datetime(1970, 1, 1, tzinfo=timezone.utc)
    seconds = range(_FOR_EVER if for_ever else _FIRST, _LAST, _STEP)
    return len({(start + timedelta(seconds=s)).astimezone(info).utcoffset() for s in seconds}) > 1


def changes_query(name: str) -> str:
    """A query of one JSON text, the changes of a zone by Spark's rules. It reads no table and starts no task."""

    def offset(second: str) -> str:
        return f"unix_seconds(from_utc_timestamp(timestamp_seconds({second}), {string_literal(name)})) - {second}"

    halves = _STEP.bit_length()
    middle = "shiftright(b.lo + b.hi, 1)"
    return (
        f"SELECT to_json(transform(filter(sequence({_FIRST}L, {_LAST}L, {_STEP}L),\n"
        f"  t -> {offset('t')} <> {offset(f'(t + {_STEP}L)')}),\n"
        f"  t -> aggregate(sequence(1, {halves}), named_struct('lo', t, 'hi', t + {_STEP}L), (b, i) -> CASE\n"
        f"    WHEN b.hi - b.lo <= 1 THEN b\n"
        f"    WHEN {offset(middle)} = {offset('b.lo')} THEN named_struct('lo', {middle}, 'hi', b.hi)\n"
        f"    ELSE named_struct('lo', b.lo, 'hi', {middle}) END,\n"
        f"    b -> array(b.hi, {offset('b.lo')}, {offset('b.hi')}))))"
    )


def zone_of(name: str, answer: str) -> Zone:
    """The answer to `changes_query` -> a zone.

    >>> zone_of("x", "[[5,0,3600]]").changes
    (Change(at=5, before=0, after=3600),)
    """
    return Zone(name, tuple(Change(*map(int, change)) for change in json.loads(answer)))
