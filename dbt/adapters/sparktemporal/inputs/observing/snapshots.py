"""Tables with versions (Iceberg, Delta): the version a run reads, and the rows added and removed between two versions.

| format | rows added and removed |
|---|---|
| Iceberg, module `iceberg` | by a scan where all snapshots append or compact, otherwise by the changelog |
| Delta, with a change data feed | by the feed |
| Delta, without a feed | by the files that blind appends added |

The scan of Iceberg is `FROM t.branch_main WITH (…)`, the changelog `FROM t.changes WITH (…)`.

A table is read in full after other changes: a rewrite with delete files, a changed schema, an expired snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ...engine.descriptions import TableInfo
from ...engine.warehouse import CHANGES_OF_DELTA, Warehouse
from ...errors import without_trace
from ...plurals import quantity
from ...temporal.diffs.input_state import DeltaVersion, IcebergScans, IcebergVersion
from ...temporal.ivm.delta_query import MOST_FILES, AddedRows
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.spark.settings import is_on
from ...temporal.sql.text.dialect import string_literal
from . import file_lists, iceberg
from .iceberg import Told

#: operations of Delta that the new files tell in full
_DELTA_APPENDS = frozenset(["WRITE", "STREAMING UPDATE"])
#: operations of Delta that the change data feed tells in full
_DELTA_WRITES = frozenset(["WRITE", "DELETE", "UPDATE", "MERGE", "STREAMING UPDATE", "OPTIMIZE"])
#: the columns that the feed has beside the columns of a table
_DELTA_FEED = ("_change_type", "_commit_version", "_commit_timestamp")


Version: TypeAlias = IcebergScans | IcebergVersion | DeltaVersion
VERSIONS = (IcebergScans, IcebergVersion, DeltaVersion)


def of(warehouse: Warehouse, name: str, info: TableInfo, read: Sequence[str] | None = None) -> Version | None:
    """The version of a table (name quoted), None for a table without versions.

    read: the versions of an Iceberg table that the query asks for, as SQL after the name; None where not known.
    """
    try:
        if info.provider == "iceberg":
            return iceberg.version_of(warehouse, name, info, read)
        if info.provider == "delta":
            unique = warehouse.rows(f"DESCRIBE DETAIL {name}")[0][1]
            latest = warehouse.rows(f"DESCRIBE HISTORY {name} LIMIT 1")[0]
            return DeltaVersion(int(latest[0]), str(unique), _commit(latest))
    except SparkError as error:  # such as a table of metadata, which has no versions of its own
        error.expect(Cause.NOT_TAKEN)
    return None


def is_in_history(warehouse: Warehouse, name: str, then: DeltaVersion) -> bool:
    """Whether the table of this name has this version in its history."""
    if str(warehouse.rows(f"DESCRIBE DETAIL {name}")[0][1]) != then.table:
        return False
    first = _history(warehouse, name, then.version, then.version)[-1]
    return (int(first[0]), _commit(first)) == (then.version, then.commit)


def at(warehouse: Warehouse, name: str, version: Version, read: str | None) -> str | None:
    """SQL for a FROM: the table at a version; None where there is no such SQL.

    read: the version of an Iceberg table that the text asks for, as SQL after the name.
    """
    if isinstance(version, DeltaVersion):
        return f"{name} VERSION AS OF {version.version}"
    return iceberg.at(warehouse, name, version, read)


def changes(warehouse: Warehouse, name: str, then: Version, now: Version, columns: Sequence[str]) -> Told:
    """(the change in words, the rows added and removed between two versions; None where the rows are not known).

    columns: the columns of the table.
    """
    try:
        why, added = _changes(warehouse, name, then, now, columns)
        return why, None if added is None else _readable(warehouse, added)
    except SparkError as error:  # whatever the connector raises: the input is read in full
        return f"what {then} became cannot be told: {' '.join(without_trace(str(error)).split())[:200]}", None


def _changes(warehouse: Warehouse, name: str, then: Version, now: Version, columns: Sequence[str]) -> Told:
    if isinstance(then, IcebergScans) and isinstance(now, IcebergScans) and then.versions == now.versions:
        return iceberg.changes(warehouse, name, then, now, columns)
    if isinstance(then, IcebergVersion) and isinstance(now, IcebergVersion):
        return iceberg.changes_by_log(warehouse, name, then, now, columns)
    if isinstance(then, DeltaVersion) and isinstance(now, DeltaVersion) and then.table == now.table:
        return _delta(warehouse, name, then, now, columns)
    return f"{then} is now {now.words}", None


def _commit(row: Sequence[Any]) -> str:
    """When a commit of DESCRIBE HISTORY was made (ms, or as the connection tells it)."""
    at = row[1]
    return str(round(at.timestamp() * 1000)) if isinstance(at, datetime) else str(at)


def _history(warehouse: Warehouse, name: str, old: int, new: int) -> list[tuple[Any, ...]]:
    """The commits of a table from a version on, the newest first.

    LIMIT counts from the newest commit, which may be newer than `new`. The list ends at the version `old`. With an
    older commit in the list, Delta might move the time of `old` to after the time of the older commit.
    """
    most = max(new - old, 0) + 1
    while True:
        rows = warehouse.rows(f"DESCRIBE HISTORY {name} LIMIT {most}")
        newest = int(rows[0][0])
        if len(rows) < most or newest - old < most:
            return rows
        most = newest - old + 1


def _delta(warehouse: Warehouse, name: str, then: DeltaVersion, now: DeltaVersion, columns: Sequence[str]) -> Told:
    old, new = then.version, now.version
    properties = {str(row[0]): str(row[1]) for row in warehouse.rows(f"SHOW TBLPROPERTIES {name}")}
    history = {int(row[0]): row for row in _history(warehouse, name, old, new)}
    if min(history) > old:
        return f"version {old} is gone from its history", None
    # a copy of the table that went its own way has the id and the versions of the table
    if old not in history or _commit(history[old]) != then.commit:
        return f"version {old} is not the commit that was read", None
    done = {version: (str(row[4]), row[11]) for version, row in history.items()}
    between = [done.get(version, ("a version that is gone", False)) for version in range(old + 1, new + 1)]
    if is_on(properties.get("delta.enableChangeDataFeed", "")):
        return _delta_feed(name, old, new, {operation for operation, _ in between}, columns)
    if not all(operation in _DELTA_APPENDS and blind for operation, blind in between):
        return f"version {old} is now {new}, and it has no change data feed", None
    return _delta_files(warehouse, name, old, new)


def _delta_feed(name: str, old: int, new: int, operations: set[str], columns: Sequence[str]) -> Told:
    """The rows added and removed, by the change data feed. operations: the kinds of the commits after `old`."""
    others = sorted(operations - _DELTA_WRITES)
    if others:
        return f"after version {old} came {', '.join(others)}", None
    taken = ", ".join(column for column in columns if column.lower() in _DELTA_FEED)
    if taken:
        return f"a column of its own is named as one of its change data feed: {taken}", None
    feed = f"{CHANGES_OF_DELTA}{string_literal(name)}, {old + 1}, {new})"
    log = f"(SELECT * EXCEPT ({', '.join(_DELTA_FEED)}) FROM {feed} WHERE _change_type IN "
    added = AddedRows(
        f"{log}('insert', 'update_postimage'))",
        f"{log}('delete', 'update_preimage'))",
        f"{name} VERSION AS OF {old}",
        # Spark looks a name up once a statement: the changes of a table would have the columns of the table
        now=f"{name} VERSION AS OF {new}",
    )
    return _span(old, new), added


def _delta_files(warehouse: Warehouse, name: str, old: int, new: int) -> Told:
    """The rows that blind appends added. Blind appends only add files."""
    hidden = file_lists.hidden_column(warehouse, name, warehouse.table(name))
    if hidden is None:
        return f"version {old} is now {new}, and its files cannot be told", None
    then, now = (f"SELECT DISTINCT {hidden}.file_path AS file FROM {name} VERSION AS OF {v}" for v in (old, new))
    added, names = warehouse.rows(
        f"SELECT count(*), concat_ws(chr(10), slice(array_sort(collect_list(file)), 1, {MOST_FILES}))\n"
        f"FROM ({now}) LEFT ANTI JOIN ({then}) USING (file)"
    )[0]
    how = f"{_span(old, new)}, append only"
    if int(added) > MOST_FILES:
        return f"{how} {quantity(int(added), 'file')}, more than are named one by one", None
    files = ", ".join(map(string_literal, filter(None, names.split("\n")))) or "''"
    came = f"(SELECT * FROM {name} VERSION AS OF {new} WHERE {hidden}.file_path IN ({files}))"
    return how, AddedRows(came, "", f"{name} VERSION AS OF {old}")


def _span(old: int, new: int) -> str:
    return f"version {new}" if new == old + 1 else f"versions {old + 1} to {new}"


def _readable(warehouse: Warehouse, added: AddedRows) -> AddedRows:
    """The given change. Raises SparkError if its rows cannot be read: a table's log may name files that are gone."""
    for source in filter(None, (added.came, added.went)):
        warehouse.rows(f"SELECT count(*) FROM {source}")
    if added.then:
        warehouse.describe(f"SELECT * FROM {added.then}")
    return added
