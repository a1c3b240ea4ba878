"""Values made of the fields of one instant: numbers, and texts whose characters stand at known places.

    year(t) * 100 + 3                      100 times the year, plus 3
    date_format(t, 'yyyy-MM')              a number of four digits, `-`, a number of two digits

A value is computed for one day of a year: month and day are known numbers, the year and the time of day are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

#: the years in which the order of such values is proved: a year has four digits there
FIRST_YEAR, LAST_YEAR = 1001, 8999
#: what a value counts: 1, the year, hour, minute, second, and fraction of a second (µs); the least and most of each
ONE, YEAR, HOUR, MINUTE, SECOND, FRACTION = range(6)
_LEAST = (1, FIRST_YEAR, 0, 0, 0, 0)
_MOST = (1, LAST_YEAR, 23, 59, 59, 999_999)
#: the types of numbers: a sum has the greater type of its parts
INT, LONG, DOUBLE = range(3)
#: type -> the limit below which Spark keeps a number: beyond, an INT and a BIGINT wrap around, a DOUBLE drops digits
_LIMITS = {INT: 2**31, LONG: 2**62, DOUBLE: 2**43}
#: a DOUBLE below its limit holds each multiple of 1 / _PARTS
_PARTS = 2**10


class NoForm(Exception):
    """An expression is not understood as a value of the fields of one instant."""


@dataclass(frozen=True)
class Number:
    """A linear combination of 1, the year, hour, minute, second and fraction; `of` has the coefficients.

    A DOUBLE is the nearest one to this number. So it keeps the order, but a sum of such DOUBLEs need not.
    """

    of: tuple[int | Fraction, ...]
    #: INT, LONG or DOUBLE
    type: int = INT

    @property
    def whole(self) -> int:
        """The value of a constant whole number. Raises NoForm for any other number."""
        if any(self.of[1:]) or self.of[ONE] % 1:
            raise NoForm
        return int(self.of[ONE])

    @property
    def constant(self) -> int | Fraction:
        if any(self.of[1:]):
            raise NoForm
        return self.of[ONE]

    @property
    def is_whole(self) -> bool:
        return all(n % 1 == 0 for n in self.of)

    @property
    def is_exact(self) -> bool:
        """Whether a DOUBLE holds each value as it is."""
        return all(n * _PARTS % 1 == 0 for n in self.of) and self._is_within(_LIMITS[DOUBLE])

    def extreme(self, most: bool) -> int | Fraction:
        return sum(n * (high if (n > 0) == most else low) for n, low, high in zip(self.of, _LEAST, _MOST) if n)

    def plus(self, other: Number, times: int = 1) -> Number:
        return Number(tuple(a + times * b for a, b in zip(self.of, other.of)), max(self.type, other.type))

    def times(self, factor: int | Fraction, type_: int = INT) -> Number:
        return Number(tuple(n * factor for n in self.of), max(self.type, type_))

    def kept(self) -> Number:
        """The number itself. Raises NoForm where Spark may wrap it around, drop digits, or fail."""
        if not self._is_within(_LIMITS[self.type]):
            raise NoForm
        return self

    def _is_within(self, limit: int) -> bool:
        return -limit <= self.extreme(False) and self.extreme(True) < limit


def number(value: Fraction | int, type_: int = INT) -> Number:
    return Number((value, 0, 0, 0, 0, 0), type_)


_COUNTED = [Number(tuple(int(place == at) for at in range(6))) for place in range(6)]


def counted(place: int) -> Number:
    """The year, hour, minute, second or fraction as a `Number`. place: YEAR, HOUR, MINUTE, SECOND or FRACTION."""
    return _COUNTED[place]


@dataclass(frozen=True)
class Block:
    """A piece of a text: a literal, or a number with leading zeros."""

    #: the number of bytes; 0 for the end of an instant's text, whose length varies
    width: int
    number: Number | None = None
    text: str = ""

    @property
    def value(self) -> Number:
        """The piece as a number: pieces of one width compare as their numbers do."""
        return number(int.from_bytes(self.text.encode(), "big")) if self.number is None else self.number

    @property
    def template(self) -> str:
        """The text of a literal, the digits of a constant, or a letter (y, h, m, s, f, else ?) for each digit."""
        if self.number is None:
            return self.text
        at = [i for i in range(1, 6) if self.number.of[i]]
        if not at:
            return str(self.number.whole).zfill(self.width)
        alone = len(at) == 1 and 0 < self.number.of[at[0]] <= 1 and (at[0] == YEAR or not self.number.of[ONE])
        return ("?yhmsf"[at[0]] if alone else "?") * self.width


Text = tuple[Block, ...]


def literal(text: str) -> Text:
    return (Block(len(text.encode()), None, text),) if text else ()


def digits(value: Number, width: int = 1) -> Text:
    """A number as text of at least `width` digits. Raises NoForm unless its values are whole, >= 0, of one length.

    The text of a DOUBLE is not its digits: 2024.0, or 2.0240311E7.
    """
    least, most = value.extreme(False), value.extreme(True)
    if (
        value.type == DOUBLE
        or not value.is_whole
        or least < 0
        or len(str(int(most))) > max(width, len(str(int(least))))
    ):
        raise NoForm
    return (Block(max(width, len(str(int(most)))), value),)


def cut(text: Text, start: int, length: int) -> Text:
    """`length` characters of a text from place `start` on. The first place is 1.

    Raises NoForm for a place before the first, where only a part of a number would remain, and beyond the known places
    of a text that may be longer. A text of a known length gives what it has.
    """
    found: list[Block] = []
    at = 1
    if start < 1 or text and not text[-1].width and start + length - 1 > sum(len(block.template) for block in text):
        raise NoForm
    for block in text:
        size = len(block.template)
        first, last = max(start - at, 0), min(start + length - at, size)
        at += size
        if first >= last:
            continue
        if block.number is not None and (first, last) != (0, size):
            raise NoForm
        found += [block] if block.number is not None else literal(block.text[first:last])
    return tuple(found)


#: a letter of a pattern -> (the field, how many of the letter may stand together)
_LETTERS = {
    "y": ("year", (1, 4)), "M": ("month", (1, 2)), "d": ("day", (1, 2)), "D": ("doy", (1, 3)),
    "H": ("hour", (1, 2)), "m": ("minute", (1, 2)), "s": ("second", (1, 2)), "S": ("fraction", (3, 6)),
    "Q": ("quarter", (1, 2)), "q": ("quarter", (1, 2)),
}  # fmt: skip
_PIECES = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<plain>[^A-Za-z'\[\]{}#]+)")


def pieces(pattern: str) -> Iterator[tuple[str, str, int]]:
    """The pieces of a pattern: ("", the text, 0) of a literal, (the field, its letter, number of letters) of others.

    Raises NoForm for an unknown letter, or an unknown number of letters.

    >>> list(pieces("yyyy-MM"))
    [('year', 'y', 4), ('', '-', 0), ('month', 'M', 2)]
    """
    at = 0
    while at < len(pattern):
        piece = _PIECES.match(pattern, at)
        if piece is None:
            raise NoForm
        at = piece.end()
        letters = piece.group("letters")
        if letters is None:
            quoted = piece.group("quoted")
            plain = piece.group("plain") if quoted is None else quoted.replace("''", "'") or "'"
            yield "", plain, 0
            continue
        field, widths = _LETTERS.get(letters[0], ("", ()))
        if len(letters) not in widths:
            raise NoForm
        yield field, letters[0], len(letters)


#: what Spark's casts read: a date, perhaps with a time
_PATTERN_OF_CASTS = re.compile(
    r"(?P<year>y{4})(-(?P<month>\d\d)(-(?P<day>\d\d)"
    r"([ T](?P<hour>hh|\d\d):(?P<minute>mm|\d\d)(:(?P<second>ss|\d\d)(\.(?P<fraction>f+|\d+))?)?)?)?)?"
)
_TEMPLATES = {"year": "y{4}", "month": r"\d\d", "day": r"\d\d", "hour": r"hh|\d\d", "minute": r"mm|\d\d",
              "second": r"ss|\d\d", "fraction": r"f+|\d+"}  # fmt: skip
#: the days of each month of a common year
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def read(text: Text, pattern: str | None, month: int, day: int) -> Number | None:
    """The date or instant that Spark reads from a text, as a number in the same order. None: perhaps Spark reads none.

    pattern: None for a cast. month, day: the month and day of the instant whose fields make up the text.
    Raises NoForm for a pattern that is not understood.
    """
    compiled = _PATTERN_OF_CASTS if pattern is None else _reading(pattern)
    found = compiled.fullmatch("".join(block.template for block in text))
    if found is None:
        return None
    parts = found.groupdict()
    year = text[0].number or counted(YEAR)
    months, days = (int(parts.get(name) or 1) for name in ("month", "day"))
    if not is_day(year, months, days, month, day):
        return None
    time = [(parts.get(name) or "", at) for name, at in (("hour", HOUR), ("minute", MINUTE), ("second", SECOND))]
    if any(part.isdigit() and int(part) > _MOST[at] for part, at in time):
        return None
    clock = [counted(at) if part.isalpha() else number(int(part or 0)) for part, at in time]
    return instant(year, months, days, clock, counted(FRACTION) if (parts.get("fraction") or "").isalpha() else None)


def is_day(year: Number, month: int, day: int, of_month: int, of_day: int) -> bool:
    """Whether year, month and day are a date, whatever the year is.

    29 February counts as a date only as the day (of_month, of_day) of the instant from which the year comes.
    """
    if not 1 <= month <= 12:
        return False
    same = (month, day) == (of_month, of_day) and year == counted(YEAR)
    return same or 1 <= day <= DAYS[month - 1]


def instant(year: Number, month: int, day: int, clock: Sequence[Number], fraction: Number | None = None) -> Number:
    """The instant as a number: instants compare as their numbers do. clock: hour, minute and second."""
    total = year.times(10_000).plus(number(100 * month + day))
    for part in clock:
        total = total.times(100).plus(part)
    return total.times(10**6).plus(fraction or number(0))


def day_of(instant: Number) -> Number:
    """The day of an instant, at midnight."""
    time = 10**12
    return Number((instant.of[ONE] // time * time, instant.of[YEAR], 0, 0, 0, 0))


def _reading(pattern: str) -> re.Pattern[str]:
    found = ""
    for field, word, width in pieces(pattern):
        if field and (field not in _TEMPLATES or f"(?P<{field}>" in found or field != "year" and width < 2):
            raise NoForm
        found += f"(?P<{field}>{_TEMPLATES[field]})" if field else re.escape(word)
    if not found.startswith("(?P<year>"):
        raise NoForm
    return re.compile(found)
