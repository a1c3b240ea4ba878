"""The table of Spark's functions, and how to ask it."""

from __future__ import annotations

from collections.abc import Callable

from . import aggregates, choices, nondeterministic, others, times
from .row import CAST, Function

ROWS: tuple[Function, ...] = (*times.ROWS, *choices.ROWS, *aggregates.ROWS, *nondeterministic.ROWS)
#: rows of casts alone: Spark has no function of the name of the type
_CASTS = {row.name: row for row in ROWS if row.parsed_as == CAST}
_BY_CALL = {(row.name, row.arguments): row for row in ROWS if row.parsed_as != CAST}
_BY_CLASS = {row.parsed_as: row for row in _BY_CALL.values() if row.parsed_as}
#: names of functions that have a row
KNOWN = frozenset(name for name, _ in _BY_CALL)
#: names that some version of Spark has itself
SPARKS = KNOWN | others.NAMES | others.WORDS
#: names that every version of Spark has itself
BUILTIN = SPARKS - others.YOUNGER


def known(name: str, arguments: int) -> Function:
    """The facts about a call, by its name and number of arguments. For any other call, a row without facts.

    >>> known("LAST_DAY", 1).type, known("last_day", 2).type, known("date_add", 2).type, known("date_add", 3).type
    ('date', '', 'date', '')
    """
    name = name.lower()
    return _BY_CALL.get((name, arguments)) or _BY_CALL.get((name, None)) or Function(name, arguments)


def of_class(name: str) -> Function | None:
    """The function that is parsed as a class of its own, by the name of the class; None for any other class."""
    return _BY_CLASS.get(name)


def cast_to(spark_type: str) -> Function:
    """The facts about a cast, by the function that has the name of the type; Spark has one for most types.

    >>> cast_to("DATE") is known("date", 1), cast_to("TIMESTAMP_LTZ").name, cast_to("array<int>").is_monotone
    (True, 'timestamp', False)
    """
    name = spark_type.lower().replace("_ltz", "")
    return _CASTS.get(name) or known(name, 1)


def names(which: Callable[[Function], object]) -> frozenset[str]:
    """The names of functions that satisfy `which` by their general row, or by any row where there is no general row.

    A general row holds for any number of arguments that has no row of its own.

    >>> sorted(names(lambda row: row.window))
    ['session_window', 'window']
    """
    return frozenset(row.name for row in ROWS if which(row) and (row.arguments is None or not _has_general(row)))


def _has_general(row: Function) -> bool:
    return (row.name, None) in _BY_CALL
