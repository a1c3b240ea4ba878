"""The clock: whole milliseconds since 1970-01-01 00:00:00 UTC, and lengths of time on it.

`mz_timestamp` is such an instant as a BIGINT. All numbers here are milliseconds.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from ...errors import Refusal
from ..sql.functions.units import UNITS

LAST_MS = 2**63 - 1
FIRST_MS = -(2**63)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: unit -> its length (ms), from the shortest to the longest
_UNITS_MS = {unit.name: unit.most // 1_000 for unit in UNITS if unit.is_fixed and unit.most >= 1_000}
#: the longest length: from any clock of today it leads to a year that Python and Spark know
_LONGEST_MS = 366_000 * 86_400_000
_PAIR = re.compile(r"\s*(\d+)\s*([a-z]+?)s?(?=[\s\d,]|$),?", re.IGNORECASE)


def parse_duration(text: object, name: str) -> int | None:
    """A day-time length in words -> milliseconds; zero (off) and None -> None. Raises a Refusal for other text.

    name: the config, for the message.

    >>> parse_duration("22 days", "expiration")
    1900800000
    >>> parse_duration("1 hour 30 minutes", "expiration")
    5400000
    >>> parse_duration("0", "expiration") is None
    True
    """
    if text is None:
        return None
    words = re.sub(r"^\s*interval\s+", "", str(text).strip(), flags=re.IGNORECASE)
    words = words.replace("'", "").strip()
    if re.fullmatch(r"0+", words):
        return None
    total, at = 0, 0
    while at < len(words):
        pair = _PAIR.match(words, at)
        unit = pair and pair.group(2).lower()
        if pair and unit in _UNITS_MS:
            total += int(pair.group(1)) * _UNITS_MS[unit]
        if not pair or unit not in _UNITS_MS or total > _LONGEST_MS:
            raise Refusal(
                "ST114",
                f"{name}: {text!r}",
                "it is not a length of time in whole weeks, days, hours, minutes, seconds or milliseconds"
                + (" (months and years have no fixed length)" if unit in ("month", "year") else "")
                + (" (a length of time cannot be negative)" if "-" in words else "")
                + (" (a length of time is a thousand years at most)" if total > _LONGEST_MS else ""),
                f"""{name}: "22 days", {name}: "1 hour 30 minutes", or {name}: "0" for off""",
            )
        at = pair.end()
    if total == 0:
        if words:
            return None
        raise Refusal("ST115", f"{name}: {text!r}", "it is empty", f"""{name}: "22 days", or {name}: "0" for off""")
    return total


def parse_instant(value: object, name: str = "instant") -> int:
    """An instant -> milliseconds since the epoch. Text without an offset is UTC; whole numbers are milliseconds.

    Raises a Refusal for another value, and for parts of a millisecond. name: the name of the value, for the message.

    >>> parse_instant("2024-03-01 12:00:00.250")
    1709294400250
    >>> parse_instant("2024-03-01T13:00:00+01:00") == parse_instant(1709294400000)
    True
    """
    if isinstance(value, bool):
        raise _not_an_instant(value, name)
    if isinstance(value, int):
        moment: int = value
    elif isinstance(value, datetime):
        moment = _of_datetime(value, name)
    elif isinstance(value, date):
        moment = _of_datetime(datetime(value.year, value.month, value.day), name)
    else:
        text = str(value).strip()
        if re.fullmatch(r"[+-]?\d{1,19}", text):
            moment = int(text)
        else:
            # Python 3.10 reads neither a final Z nor fractions of 1 or 2 digits
            iso = re.sub(r"[zZ]$|\s*UTC$", "+00:00", text)
            fraction = re.search(r"\.(\d+)", iso)
            if fraction:
                if fraction.group(1)[3:].strip("0"):
                    raise Refusal(
                        "ST116",
                        f"{name}: {value!r}",
                        "the clock counts whole milliseconds",
                        "at most three digits after the second",
                    )
                digits = fraction.group(1)[:3].ljust(3, "0")
                iso = iso[: fraction.start()] + f".{digits}000" + iso[fraction.end() :]
            try:
                moment = _of_datetime(datetime.fromisoformat(iso), name)
            except ValueError:
                raise _not_an_instant(value, name) from None
    if not FIRST_MS <= moment <= LAST_MS:
        raise _not_an_instant(value, name)
    return moment


def format_instant(ms: int) -> str:
    """Milliseconds -> text for people, UTC.

    >>> format_instant(1709294400250)
    '2024-03-01 12:00:00.250 UTC'
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms since the epoch"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d} UTC"


def format_duration(ms: int) -> str:
    """Milliseconds -> text for people, with at most two units. Milliseconds are shown only below one second.

    >>> format_duration(5_400_000), format_duration(12_345)
    ('1 hour 30 minutes', '12 seconds')
    """
    words: list[str] = []
    for unit, size in reversed(_UNITS_MS.items()):
        count, ms = divmod(ms, size)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
        if words and (len(words) == 2 or unit == "second"):
            break
    return " ".join(words) or "0 milliseconds"


def _of_datetime(moment: datetime, name: str) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    if micros % 1000:
        raise Refusal(
            "ST116",
            f"{name}: {moment.isoformat()}",
            "the clock counts whole milliseconds",
            "an instant without microseconds",
        )
    return micros // 1000


def _not_an_instant(value: object, name: str) -> Refusal:
    return Refusal(
        "ST117",
        f"{name}: {value!r}",
        "it is not an instant",
        '"2024-03-01 12:00:00" (UTC), "2024-03-01T12:00:00+01:00", or milliseconds since the epoch',
    )
