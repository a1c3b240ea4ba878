"""Units of time: the length of each, and the names that date_trunc has for it.

All lengths are whole microseconds. A day counts 24 hours here.
"""

from __future__ import annotations

from dataclasses import dataclass

from .row import DAY, SECOND

MINUTE, HOUR = 60 * SECOND, 3_600 * SECOND


@dataclass(frozen=True)
class Unit:
    """One unit of time. An interval of n units counts as n times `least` to n times `most` long, also for months."""

    name: str
    #: the least length of an interval of one unit (µs)
    least: int
    #: the most length of an interval of one unit (µs)
    most: int
    #: the most that date_trunc takes off (µs)
    truncated: int
    #: one unit as Spark writes an interval; "" for a unit that is not longer than a millisecond of the clock
    interval: str = ""
    #: other names that date_trunc takes
    short: tuple[str, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether all intervals of one such unit have the same length."""
        return self.least == self.most

    @property
    def names(self) -> tuple[str, ...]:
        """The names that date_trunc takes, in upper case."""
        return (self.name.upper(), *self.short)


def _fixed(name: str, length: int, interval: str = "") -> Unit:
    return Unit(name, length, length, length, interval)


#: from the shortest to the longest. A year counts as twelve of the shortest to twelve of the longest months
UNITS = (
    _fixed("microsecond", 1),
    _fixed("millisecond", 1_000),
    _fixed("second", SECOND, "1 SECOND"),
    _fixed("minute", MINUTE, "1 MINUTE"),
    _fixed("hour", HOUR, "1 HOUR"),
    _fixed("day", DAY, "1 DAY"),
    _fixed("week", 7 * DAY, "7 DAYS"),
    Unit("month", 28 * DAY, 31 * DAY, 31 * DAY, "1 MONTH", ("MON", "MM")),
    Unit("quarter", 3 * 28 * DAY, 3 * 31 * DAY, 92 * DAY, "3 MONTHS"),
    Unit("year", 12 * 28 * DAY, 12 * 31 * DAY, 366 * DAY, "1 YEAR", ("YYYY", "YY")),
)
_BY_NAME = {unit.name: unit for unit in UNITS}


def unit_of(name: str) -> Unit | None:
    """The unit of a word of an interval, in any case, with or without `s`; None for any other word.

    >>> unit_of("Hours").most, unit_of("decade")
    (3600000000, None)
    """
    return _BY_NAME.get(name.lower().rstrip("s"))
