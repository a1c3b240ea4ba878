"""Numbers with their nouns, for messages."""

from __future__ import annotations


def quantity(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> quantity(1, "new file"), quantity(0, "row"), quantity(1507, "row"), quantity(2, "entry", "entries")
    ('1 new file', '0 rows', '1,507 rows', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
