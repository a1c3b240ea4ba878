"""The results of operations: agate tables, as everywhere in dbt, printed for people or as JSON for machines."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from textwrap import wrap
from typing import Any

import agate  # type: ignore[import-untyped]  # agate has no types
from agate import Table as Table
from dbt_common.clients.agate_helper import Integer

#: values of the argument `format`
FORMATS = ("table", "json")
#: the most characters of a text in one row; a longer text takes several rows
_WIDTH = 100
_KINDS: dict[type, agate.DataType] = {
    str: agate.Text(cast_nulls=False),
    int: Integer(),
    float: agate.Number(),
    bool: agate.Boolean(),
}


def table(columns: Mapping[str, type], rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of some columns. columns: name -> the type of its values, any of which may be None."""
    names = list(columns)
    return Table([[row.get(name) for name in names] for row in rows], names, [_KINDS[columns[n]] for n in names])


def printed(shown: Table, format: str = "table") -> str:
    """A table as text: for people, or as JSON with one object for each row."""
    if format != "json":
        return _as_text(shown)
    rows = [{name: _plain(row[name]) for name in shown.column_names} for row in shown.rows]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def turned(shown: Table) -> Table:
    """A table of one row, turned to a row for each column: the column's name, its value. None is left out."""
    (row,) = shown.rows
    facts = [(name, _in_words(row[name])) for name in shown.column_names if row[name] is not None]
    return Table(facts, ["fact", "value"], [_KINDS[str], _KINDS[str]])


def _as_text(shown: Table) -> str:
    out = io.StringIO()
    _folded(shown).print_table(max_rows=None, max_columns=None, max_column_width=_WIDTH, output=out)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def _folded(shown: Table) -> Table:
    """A table with each long text in several rows. Where any text is long, all values become text."""
    if all(not isinstance(value, str) or len(value) <= _WIDTH for row in shown.rows for value in row):
        return shown
    rows: list[list[str]] = []
    for row in shown.rows:
        cells = [wrap(value, _WIDTH) if isinstance(value, str) else [_in_words(value)] for value in row]
        height = max(map(len, cells))
        rows += [list(line) for line in zip(*(cell + [""] * (height - len(cell)) for cell in cells))]
    return Table(rows, shown.column_names, [_KINDS[str]] * len(shown.column_names))


def _plain(value: Any) -> Any:
    """A number of agate as JSON writes it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _in_words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal) or isinstance(value, int) and not isinstance(value, bool):
        return f"{_plain(value):,}"
    return str(value)
