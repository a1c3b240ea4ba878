r"""Literals, as Spark's releases and settings read them.

| written | read |
|---|---|
| `'it''s'` | Spark 4: a text with a quote in it; before, and by a setting: two texts side by side |
| `'it' 's'` | one text, in every release |
| `r'\d'` | a text whose backslash escapes nothing |
| `X '1F'`, `x"1F"` | bytes |
| `x - interval 1 day -2 hours` | one interval, subtracted as a whole |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from ....errors import Refusal
from .splices import spliced

_SIDE_BY_SIDE = "spark.sql.legacy.consecutiveStringLiterals.enabled"
_NO_ESCAPES = "spark.sql.parser.escapedStringLiterals"
_QUOTED_NAMES = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")

#: the words for units in an interval of several units (`interval 1 hour 30 minutes`)
_UNITS = {
    unit + end
    for unit in ["NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]
    for end in ("", "S")
}
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)


def whole(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens with one token for each literal: adjacent texts become one, raw texts plain texts, `X '1F'` bytes."""
    found: list[Token] = []
    for before, token in zip([None, *tokens], tokens):
        last = found[-1] if found else None
        if token.token_type in _TEXTS and last is not None and before is not None:
            if before.token_type in _TEXTS:
                quote = sql[token.start] if _is_doubled(before, token, sql) else ""
                found[-1] = _spanning(TokenType.STRING, last.text + quote + token.text, last, token)
                continue
            if before.token_type == TokenType.VAR and before.text.upper() == "X":
                found[-1] = _spanning(TokenType.HEX_STRING, token.text, last, token)
                continue
        is_raw = token.token_type == TokenType.RAW_STRING
        found.append(_spanning(TokenType.STRING, token.text, token, token) if is_raw else token)
    return found


def _spanning(kind: TokenType, text: str, first: Token, last: Token) -> Token:
    return Token(kind, text, first.line, first.col, first.start, last.end, [*first.comments, *last.comments])


def _is_doubled(first: Token, second: Token, sql: str) -> bool:
    """Whether two tokens are halves of a text with a doubled quote (`'it''s'`). Raw texts have none."""
    plain = first.token_type == second.token_type == TokenType.STRING
    return plain and first.end + 1 == second.start and sql[first.end] == sql[second.start]


def _doubled(sql: str) -> Iterator[int]:
    """The offset of the second quote of each doubled quote (`'it''s'`)."""
    texts = [token for token in sqlglot.tokenize(sql, read=Spark) if token.token_type in _TEXTS]
    for first, second in pairwise(texts):
        if _is_doubled(first, second, sql):
            yield second.start


def has_doubled_quotes(sql: str) -> bool:
    """Whether a quote stands twice within a text, which releases of Spark read in two ways.

    >>> has_doubled_quotes("s = 'it''s'"), has_doubled_quotes("s = '' or s = 'it' 's'")
    (True, False)
    """
    return next(_doubled(sql), None) is not None


def as_read(sql: str, settings: Mapping[str, str], version: str) -> str:
    """A model's text, changed so that every release of Spark 4 reads it as the running Spark reads the original.

    Raises Refusal for a text that a setting of the session gives another meaning.

    >>> as_read("k = 'it''s'", {}, "3.5.9"), as_read("k = 'it''s'", {}, "4.1.4")
    ("k = 'it' 's'", "k = 'it''s'")
    """
    _refuse(sql, settings)
    if int(version.split(".")[0]) >= 4 and not _is_on(settings, _SIDE_BY_SIDE):
        return sql
    return spliced(sql, ((at, at, " ") for at in _doubled(sql)))


def _refuse(sql: str, settings: Mapping[str, str]) -> None:
    """Refuse a text that a setting of the session gives another meaning; with `_NO_ESCAPES` on, any text."""
    if _is_on(settings, _NO_ESCAPES):
        raise Refusal(
            "ST305",
            f"{_NO_ESCAPES}: true",
            "a backslash then escapes nothing, and texts that a run prints, such as names of files, would be others",
            f"{_NO_ESCAPES}: false in the profile",
        )
    tokens = sqlglot.tokenize(sql, read=Spark)
    if all(_is_on(settings, key) for key in _QUOTED_NAMES):
        for written in (sql[token.start : token.end + 1] for token in tokens if token.token_type in _TEXTS):
            if written.endswith('"'):
                raise Refusal(
                    "ST304",
                    written,
                    f"with {_QUOTED_NAMES[1]} Spark takes it for a name, and it is read as a text here",
                    "single quotes around a text, backquotes around a name",
                )


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").strip().lower() == "true"


def interval(parser: sqlglot.Parser) -> exp.Interval | None:
    """Parse an interval of several units as one literal. If there is none, return None and read no token."""
    start, parts = parser._index, []
    if parser._match(TokenType.INTERVAL):
        while (part := _unit(parser)) is not None:
            parts.append(part)
    if len(parts) > 1:
        return parser.expression(exp.Interval(this=exp.Literal.string(" ".join(parts))))
    parser._retreat(start)
    return None


def _unit(parser: sqlglot.Parser) -> str | None:
    """Parse `1 hour`, `-1 hour` or `'1' hour` as a text. If there is none, return None and read no token."""
    start, sign = parser._index, ""
    if parser._match(TokenType.DASH):
        sign = "-"
    elif parser._match(TokenType.PLUS):
        sign = "+"
    number = parser._match(TokenType.NUMBER) or (
        not sign and parser._match(TokenType.STRING) and re.fullmatch(r"[+-]?\d+(\.\d+)?", parser._prev.text)
    )
    if number:
        text = f"{sign}{parser._prev.text}"
        if parser._curr is not None and parser._curr.text.upper() in _UNITS:
            parser._advance()
            return f"{text} {parser._prev.text}"
    parser._retreat(start)
    return None
