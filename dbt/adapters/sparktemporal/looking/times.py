"""Format times for people: how long ago, how long from now."""

from __future__ import annotations

import re


def to_second(instant: str | None) -> str | None:
    """The text of an instant without milliseconds.

    >>> to_second("2024-03-01 12:00:00.250 UTC")
    '2024-03-01 12:00:00 UTC'
    """
    return instant and re.sub(r"\.\d{3} UTC$", " UTC", instant)


def ago(seconds: float) -> str:
    """A length of time before now, for people.

    >>> ago(0.2), ago(299), ago(7200), ago(-60)
    ('now', '4 min ago', '2 h ago', 'in 60 s')
    """
    return "now" if not int(seconds) else f"in {length(-seconds)}" if seconds < 0 else f"{length(seconds)} ago"


def length(seconds: float) -> str:
    """A length of time, in the largest unit that it holds at least twice.

    >>> length(1), length(119), length(120), length(7_199), length(86_400), length(2 * 86_400 + 1)
    ('1 s', '119 s', '2 min', '119 min', '24 h', '2 days')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
