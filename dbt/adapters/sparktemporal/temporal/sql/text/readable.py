"""Errors while a model is parsed and analyzed -> refusals in words about the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot.errors import SqlglotError

from ....errors import Refusal


@contextmanager
def in_words(sql: str) -> Iterator[None]:
    """Errors of parsing and analyzing `sql` -> refusals. Errors of Spark and refusals pass unchanged."""
    try:
        yield
    except RecursionError:
        raise too_deep(sql) from None
    except SqlglotError as error:
        raise Refusal(
            "ST306",
            f"{shortened(sql)} ({str(error).splitlines()[0]})",
            "the text cannot be split into words, and nothing is guessed",
            "closed quotes, backquotes and comments",
        ) from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, TypeError) as error:
        raise Refusal(
            "ST307",
            shortened(sql),
            "reading it fails, which is a defect of dbt-sparktemporal and not of the model; nothing is written",
            "a report with this model, and meanwhile its parts as CTEs or upstream models",
        ) from error


def too_deep(sql: str) -> Refusal:
    """The refusal of a text that is nested too deeply for Python's stack."""
    return Refusal(
        "ST308",
        shortened(sql),
        f"it is nested too deeply to be read: {_depth(sql)} parentheses inside one another, or a condition of very "
        "many parts",
        "a part of it as a column of a CTE or an upstream model, or `x in (…)` for many comparisons of x",
    )


def shortened(text: str, most: int = 300) -> str:
    """A text in one line of at most `most` characters, for messages.

    >>> shortened("select\\n 1"), shortened("select 1", 7)
    ('select 1', 'sele...')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _depth(sql: str) -> int:
    depth = deepest = 0
    for character in sql:
        depth += {"(": 1, ")": -1}.get(character, 0)
        deepest = max(deepest, depth)
    return deepest
