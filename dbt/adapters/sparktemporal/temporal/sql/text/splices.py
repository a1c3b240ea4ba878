"""Put other words in place of pieces of a text.

The rest of the text stays as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable


def spliced(text: str, pieces: Iterable[tuple[int, int, str]]) -> str:
    """A text with new words in place of some pieces. pieces: (start, end, new words), in the order of the text.

    >>> spliced("a b c", [(2, 3, "x"), (5, 5, ".")])
    'a x c.'
    """
    out, last = [], 0
    for start, end, new in pieces:
        out += [text[last:start], new]
        last = end
    return "".join(out) + text[last:]
