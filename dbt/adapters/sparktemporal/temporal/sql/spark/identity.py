"""Group rows by identity: keep apart values that compare equal but are not the same, which GROUP BY would merge.

    0.0 and -0.0            equal, and `CAST(x AS STRING)` tells them apart
    maps of equal entries   equal in any order, and `map_keys(m)[0]` tells them apart

So rows are grouped by expressions that tell such values apart, and each group gives back one value:

    GROUP BY d     ->  SELECT any_value(d) AS d … GROUP BY d, IF(d = 0 AND CAST(d AS STRING) LIKE '-%', true, NULL)
    GROUP BY m     ->  SELECT any_value(m) AS m … GROUP BY map_entries(m)

Session windows are a third kind. Spark marks a column of session windows, also in stored tables, and GROUP BY merges
sessions that overlap: `w` -> `w.start, w.end, w IS NULL`. Columns of all other types are grouped as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..text.dialect import quote
from .described_types import parsed

_WINDOW = re.compile(r"struct<start:(timestamp|timestamp_ntz),end:\1>", re.IGNORECASE)
_ZEROS, _MAPS = re.compile(r"\b(float|double)\b", re.IGNORECASE), re.compile(r"\bmap<", re.IGNORECASE)
#: Spark ends the description of a very long type so
_CUT_OFF = "more fields>"


@dataclass(frozen=True)
class Identity:
    """A GROUP BY over some columns in which a group holds only rows that are the same in every respect.

    All fields but the last are SQL.
    """

    #: the grouping expressions
    keys: tuple[str, ...]
    #: the columns themselves, over a group
    items: tuple[str, ...]
    #: hashable expressions, equal for rows that are the same
    hashed: tuple[str, ...]
    #: whether a column may be a session window. The item of such a column has lost the mark
    marked: bool


def identity(columns: Sequence[tuple[str, str]]) -> Identity:
    """The grouping of rows with these columns by identity. columns: (name, Spark type)."""
    keys: list[str] = []
    items, hashed = [], []
    for name, kind in columns:
        column = quote(name)
        apart = _told_apart(column, kind)
        keys += apart
        items.append(column if apart == [column] else f"any_value({column}) AS {column}")
        hashed.append(apart[0])
    return Identity(tuple(keys), tuple(items), tuple(hashed), any(is_window(kind) for _, kind in columns))


def is_window(spark_type: str) -> bool:
    """Whether a column of this type may be a window of time or a session."""
    return _WINDOW.fullmatch(spark_type) is not None


def negative_zero(value: str) -> str:
    """SQL: true for -0.0, NULL for any other number. Spark's hashes skip NULLs."""
    return f"IF({value} = 0 AND CAST({value} AS STRING) LIKE '-%', true, NULL)"


def keeping_marks(rows: str, source: str, names: str) -> str:
    """Rows with the marks that Spark gives columns of `source`: a UNION ALL has the marks of its first branch."""
    return f"SELECT {names}\nFROM (\n{source}\n) AS mz_marked\nWHERE false\nUNION ALL\n{rows}"


def _told_apart(column: str, kind: str) -> list[str]:
    """Expressions over a column that are equal only for values that are the same."""
    if is_window(kind):
        return [f"{column}.`start`", f"{column}.`end`", f"{column} IS NULL"]
    if kind.lower() in ("float", "double"):
        return [column, negative_zero(column)]
    if _CUT_OFF in kind:
        return [f"CAST({column} AS STRING)", column]
    if not (_ZEROS.search(kind) or _MAPS.search(kind)):
        return [column]
    entries = _entries(column, kind) if _MAPS.search(kind) else column
    if entries is None:
        return [f"CAST({column} AS STRING)", column]
    # texts of otherwise equal values differ where a zero has another sign
    return [entries, f"CAST({column} AS STRING)"] if _ZEROS.search(kind) else [entries]


def _entries(column: str, kind: str) -> str | None:
    """A value with the list of its entries in place of each map; None for an unknown type."""
    read = parsed(kind)
    return None if read is None else _in_order(column, read, 0)


def _in_order(value: str, kind: exp.Expr | None, depth: int) -> str:
    if not isinstance(kind, exp.DataType) or not any(
        part.is_type(exp.DType.MAP) for part in kind.find_all(exp.DataType)
    ):
        return value
    item = f"mz_e{depth}"
    if kind.is_type(exp.DType.ARRAY):
        return f"transform({value}, {item} -> {_in_order(item, kind.expressions[0], depth + 1)})"
    if kind.is_type(exp.DType.STRUCT):
        fields = (_in_order(f"{value}.{quote(f.name)}", f.args.get("kind"), depth) for f in kind.expressions)
        return f"IF({value} IS NULL, NULL, struct({', '.join(fields)}))"
    inner = _in_order(f"{item}.`value`", kind.expressions[1], depth + 1)
    entries = f"map_entries({value})"
    return entries if inner == f"{item}.`value`" else f"transform({entries}, {item} -> struct({item}.`key`, {inner}))"
