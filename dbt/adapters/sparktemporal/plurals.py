"""Numbers with their nouns, for messages."""

from __future__ import annotations


def quantity(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is 1.

    >>> quantity(1, "new file"), quantity(0, "row"), quantity(1507, "row")
    ('1 new file', '0 rows', '1,507 rows')
    """
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def size(number: int) -> str:
    """A number of bytes, in the largest unit that it holds at least once.

    >>> size(0), size(1), size(2048), size(5_368_709_120)
    ('0 bytes', '1 byte', '2.0 KB', '5.0 GB')
    """
    if number < 1024:
        return quantity(number, "byte")
    power = min(number.bit_length() // 10 - (number.bit_length() % 10 == 0), 4)
    return f"{number / 1024**power:,.1f} {'KMGT'[power - 1]}B"
