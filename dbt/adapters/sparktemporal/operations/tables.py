"""What operations show: agate tables, as everywhere in dbt, printed for people or as JSON for machines."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import agate  # type: ignore[import-untyped]  # agate has no types
from dbt_common.clients.agate_helper import Integer

Table = agate.Table
#: values of the argument `format`
FORMATS = ("table", "json")
#: wide enough for any text
_WIDE = 10_000
_KINDS: dict[type, agate.DataType] = {
    str: agate.Text(cast_nulls=False),
    int: Integer(),
    float: agate.Number(),
    bool: agate.Boolean(),
}


def table(columns: Mapping[str, type], rows: Sequence[Mapping[str, Any]]) -> agate.Table:
    """A table of some columns. columns: name -> the type of its values, any of which may be None."""
    names = list(columns)
    return agate.Table([[row.get(name) for name in names] for row in rows], names, [_KINDS[columns[n]] for n in names])


def printed(shown: agate.Table, format: str = "table") -> str:
    """A table as text: for people, or as JSON with one object for each row."""
    return _as_json(shown) if format == "json" else _as_text(shown)


def turned(shown: agate.Table) -> agate.Table:
    """A table of one row as two columns: the name and the value of each column that has one."""
    (row,) = shown.rows
    facts = [(name, _in_words(row[name])) for name in shown.column_names if row[name] is not None]
    return agate.Table(facts, ["fact", "value"], [_KINDS[str], _KINDS[str]])


def _as_text(shown: agate.Table) -> str:
    out = io.StringIO()
    shown.print_table(max_rows=None, max_columns=None, max_column_width=_WIDE, output=out)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def _as_json(shown: agate.Table) -> str:
    rows = [{name: _plain(row[name]) for name in shown.column_names} for row in shown.rows]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A number of agate as JSON writes it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _in_words(value: Any) -> str:
    if isinstance(value, Decimal) or isinstance(value, int) and not isinstance(value, bool):
        return f"{_plain(value):,}"
    return str(value)
