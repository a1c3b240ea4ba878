"""Make the session forget tables that another session altered. Such a table has another hash of its form, `form_of`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...errors import Altered
from ...temporal.sql.spark.errors import Cause, allowing
from ...temporal.sql.text.identifiers import dotted, parts, quoted


def renewed(warehouse: Warehouse, table: str, info: TableInfo) -> TableInfo:
    """The description of an Iceberg table after a refresh. info: the description that the session remembers, maybe old.

    Raises Altered where the columns changed, because the plan of the model has the old columns.
    """
    for remembered in (table, dotted(parts(table)[:-1])):  # t.branch_side, t.snapshots: parts of the table t
        with allowing(Cause.NOT_TAKEN):
            warehouse.rows(f"REFRESH TABLE {quoted(remembered)}")
            break
    now = warehouse.table(quoted(table))
    if now.columns != info.columns:
        raise _altered([table])
    return now


def _altered(tables: Sequence[str]) -> Altered:
    return Altered(
        "ST403",
        f"{', '.join(tables)} with other columns, or in another place, than before",
        "another session may have altered the table, and this session's plans may be of what it was",
        "the same command again, since the session has forgotten what the table was",
    )


def form_of(info: TableInfo) -> str:
    """A hash of a table's columns, partitions, format, place, options, defaults of columns and time of creation.

    A column that was added with a default has this value in older files, also after the default was dropped. Nothing
    tells the value then, and only a new table changes it.
    """
    details = info.details
    location, options = details.get("Location", ""), details.get("Storage Properties", "[]")
    form = repr((info.columns, info.partitions, info.provider, location, options))
    form += repr((info.defaults, details.get("Created Time")))
    return hashlib.sha256(form.encode()).hexdigest()[:8]


def forget_altered(warehouse: Warehouse, tables: Iterable[str]) -> None:
    """Make the session forget altered tables. Raise Altered if the session forgets a table for the first time."""
    if told := [table for table in tables if warehouse.forget(quoted(table))]:
        raise _altered(told)
