"""Quote a tree in messages as the author wrote it: by the piece of the model's text that it was parsed from.

    cast('7' as int) < x::int    prints as CAST('7' AS INT) < CAST(x AS INT), and is quoted as it was written

Names and literals keep their offsets in the text when trees are copied and changed. A quote is the smallest piece of
text that holds these offsets and parses as the same tree. So a tree that a rewrite has made has no quote. If a rewrite
has changed a query of the author, the quote is the author's query.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from sqlglot import Token, exp

from .grammar import tokens_of

_TEXT = "text"
#: the most tokens of a quote before its first name or literal, and after its last (`cast(x as decimal(10,2))`)
_BEFORE, _AFTER = 8, 14


class Put(NamedTuple):
    """A piece of a text, at the offsets [start, end), that stands in place of the author's words `written`."""

    start: int
    end: int
    written: str


class Text:
    """The text of a model. puts: the pieces that stand in place of the author's words."""

    def __init__(self, sql: str, puts: Sequence[Put] = ()) -> None:
        self.sql, self._puts = sql, puts

    def __deepcopy__(self, memo: object) -> Text:
        return self  # the copies of a node have one text

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens_of(self.sql)

    def written(self, start: int, end: int) -> str:
        """The author's words for the piece [start, end)."""
        found, last = "", start
        for put in self._puts:
            if put.start < end and put.end > start:
                found += self.sql[last : put.start] + put.written
                last = put.end
        return found + self.sql[last:end]


def mark(tree: exp.Expr, text: Text) -> None:
    """Tell each name and literal of a tree, in place, the text that the tree was parsed from."""
    for node in tree.walk():
        if "start" in node.meta:
            node.meta[_TEXT] = text


def quote_of(node: exp.Expr, is_same: Callable[[str], bool]) -> str | None:
    """The piece of the text that reads as a tree, in the author's words; None where there is none.

    is_same: whether a piece reads as the tree.
    """
    found = place_of(node, is_same)
    return None if found is None else found[0].written(*found[1:])


def place_of(node: exp.Expr, is_same: Callable[[str], bool]) -> tuple[Text, int, int] | None:
    """The text, and the offsets [start, end) of its piece that reads as a tree; None where there is none."""
    places = [found.meta for found in node.walk() if _TEXT in found.meta]
    if len({id(place[_TEXT]) for place in places}) != 1:
        return None
    text: Text = places[0][_TEXT]
    tokens = text.tokens
    first = bisect_left(tokens, min(place["start"] for place in places), key=lambda token: token.start)
    last = bisect_left(tokens, max(place["end"] for place in places), key=lambda token: token.end)
    reach = [(before, after) for before in range(_BEFORE + 1) for after in range(_AFTER + 1)]
    for before, after in sorted(reach, key=sum):
        piece = tokens[max(first - before, 0) : last + after + 1]
        if first >= before and last + after < len(tokens) and _is_closed(piece):
            start, end = piece[0].start, piece[-1].end + 1
            if is_same(text.sql[start:end]):
                return text, start, end
    return None


def _is_closed(tokens: Sequence[Token]) -> bool:
    """Whether each parenthesis has its partner."""
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0) if len(token.text) == token.end - token.start + 1 else 0
        if depth < 0:
            return False
    return depth == 0
