"""Iceberg tables: the snapshot a scan reads, and the rows added and removed between two snapshots.

The snapshot, the schema under which it is read, and the table's mapping of names (for files without ids of columns)
decide the rows. Nothing else in the metadata does: tags, other branches, properties, sort orders, statistics and specs
of partitions may change. Iceberg's own description of a scan names the snapshot and the schema:

    IcebergScan(table=c.s.t, schemaId=2, snapshotId=6331723377519219047, branch=side, filters=, …)

The number of a schema stands for the ids of its columns: a column dropped and added again has another id. (With
`clean_expired_metadata`, `expire_snapshots` removes schemas, and Iceberg may then reuse their numbers.)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...plurals import quantity
from ...temporal.diffs.input_state import Fingerprint, IcebergScans, IcebergVersion, Scan
from ...temporal.ivm.delta_query import AddedRows
from ...temporal.sql.text import identifiers
from ...temporal.sql.text.dialect import quote

#: (the change in words, or why it is not known; the rows that were added and removed, None where not known)
Told = tuple[str, AddedRows | None]
#: the description of a scan, in Iceberg from 1.11 for Spark 4.1 on
_SCAN = re.compile(r"\bIcebergScan\(table=.*?, schemaId=(\d+), snapshotId=(\d+|null), branch=(.*?), filters=, ")
_MAPPING = "schema.name-mapping.default="
#: another name for the table: where a statement has one name with several options, Spark takes the first options
_MAIN = "branch_main"
#: the columns that the table of changes has beside the columns of a table
_LOG = ("_change_type", "_change_ordinal", "_commit_snapshot_id")


def version_of(
    warehouse: Warehouse, name: str, info: TableInfo, read: Sequence[str] | None
) -> IcebergScans | IcebergVersion:
    """The version of a table (name quoted): its scans, or, where these are not known, the whole table's version.

    read: the versions that the query asks for, as SQL after the name; None where not known. Raises Spark's error for a
    table without versions, such as a table of metadata.
    """
    properties = info.details.get("Table Properties", "")
    if read and "format-version=" in properties:  # a table of metadata has none
        scans = [_scan(warehouse, name, version) for version in read]
        told = tuple(scan for scan in scans if scan is not None)
        if len(told) == len(scans):
            return IcebergScans(told, _mapping(properties))
    refs = warehouse.rows(f"SELECT name, snapshot_id FROM {name}.refs")
    snapshots = tuple(sorted((str(ref), int(snapshot)) for ref, snapshot in refs))
    return IcebergVersion(snapshots, _commits(warehouse, name)[-1][0])


def at(warehouse: Warehouse, name: str, version: IcebergScans | IcebergVersion, read: str | None) -> str | None:
    """SQL for a FROM: the snapshot of `version` that a text reads; None where no SQL reads this snapshot.

    read: the version that the text asks for, as SQL.
    """
    scans = version.scans if isinstance(version, IcebergScans) else ()
    return next((_at(warehouse, name, scan) for scan in scans if scan.version == read), None)


def is_read_otherwise(then: Fingerprint, now: Fingerprint | None) -> bool:
    """Whether a snapshot gives other rows now, because the schema or the mapping of names changed."""
    return isinstance(then, IcebergScans) and isinstance(now, IcebergScans) and then.reading != now.reading


def changes(warehouse: Warehouse, name: str, then: IcebergScans, now: IcebergScans, columns: Sequence[str]) -> Told:
    """(the change in words, the rows added and removed between two versions; None where the rows are not known).

    columns: the columns of the table.
    """
    if is_read_otherwise(then, now):
        return "its schema changed", None
    old, new = then.scans[0], now.scans[0]
    is_fixed = bool(new.version) and new.branch is None
    if len(now.scans) > 1 or is_fixed or old.branch != new.branch or old.snapshot is None or new.snapshot is None:
        return f"{then} is now {now.words}", None
    before = _at(warehouse, name, replace(new, snapshot=old.snapshot)) or ""
    return _between(warehouse, _table(name, new), old.snapshot, new.snapshot, before, columns, new.version)


def changes_by_log(
    warehouse: Warehouse, name: str, then: IcebergVersion, now: IcebergVersion, columns: Sequence[str]
) -> Told:
    """`changes` for versions without known scans, from the commits that the table remembers.

    The rows are known only if each commit in between made a snapshot, all under one schema.
    """
    old, new = then.only_main, now.only_main
    if old is None or new is None:
        return f"{then} is now {now.words}", None
    commits = _commits(warehouse, name)
    files = [file for file, _, _ in commits]
    if then.metadata not in files or now.metadata not in files:
        return f"snapshot {old} is of a time it no longer remembers", None
    between = commits[files.index(then.metadata) : files.index(now.metadata) + 1]
    if any(before == after for (_, before, _), (_, after, _) in zip(between, between[1:])):
        return "a commit made no snapshot, and its schema may be another one", None
    if len({schema for _, _, schema in between}) > 1:
        return "its schema changed", None
    return _between(warehouse, name, old, new, f"{name} VERSION AS OF {old}", columns, "")


def _between(
    warehouse: Warehouse, name: str, old: int, new: int, before: str, columns: Sequence[str], version: str
) -> Told:
    """The rows added and removed between two snapshots.

    before: SQL of the rows at the old snapshot, "" where no SQL reads them.
    """
    parents = {int(at): (parent, operation) for at, parent, operation in warehouse.rows(
        f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots"
    )}  # fmt: skip
    at, operations = new, []
    while at != old:
        if at not in parents:
            return f"snapshot {at}, which came after snapshot {old}, is expired", None
        parent, operation = parents[at]
        if parent is None:
            alone = ", or the catalog tells the last snapshot alone" if len(parents) == 1 else ""
            return f"snapshot {old} was rolled back, or is of a table that was replaced{alone}", None
        operations.append(operation)
        at = int(parent)
    span = f"WITH (`start-snapshot-id` = '{old}', `end-snapshot-id` = '{new}')"
    how = quantity(len(operations), "snapshot")
    if set(operations) <= {"append", "replace"}:
        return f"{how}, append only", AddedRows(f"{name}.{_MAIN} {span}", "", before, version, name)
    taken = ", ".join(column for column in columns if column.lower() in _LOG)
    if taken:
        return f"{how}, and a column of its own is named as one of its changelog: {taken}", None
    # Iceberg fails on a filter of this column; upper() keeps Spark from handing the filter to Iceberg
    log = f"(SELECT * EXCEPT ({', '.join(_LOG)}) FROM {name}.changes {span} WHERE upper("
    came, went = (f"{log}_change_type) IN ('{one}', '{two}'))" for one, two in (
        ("INSERT", "UPDATE_AFTER"), ("DELETE", "UPDATE_BEFORE")
    ))  # fmt: skip
    return how, AddedRows(came, went, before, version, name)


def _scan(warehouse: Warehouse, name: str, version: str) -> Scan | None:
    """The scan of a table at a version; None where Spark does not tell, or the version is gone."""
    found = _SCAN.findall(warehouse.ask(f"EXPLAIN SELECT * FROM {name} {version}".rstrip()))
    if len(found) != 1:
        return None
    ((schema, snapshot, branch),) = found
    number = None if snapshot == "null" else int(snapshot)
    return Scan(version, number, int(schema), None if branch == "null" else branch)


def _at(warehouse: Warehouse, name: str, scan: Scan) -> str | None:
    """SQL for a FROM: the rows of a scan, by the number of the snapshot. None where the snapshot is gone.

    A snapshot by number is read under the schema of its commit: None where the scan has another schema.
    """
    table, version = _table(name, scan), f"VERSION AS OF {scan.snapshot}"
    found = None if scan.snapshot is None else _scan(warehouse, table, version)
    return f"{table} {version}" if found is not None and found.schema == scan.schema else None


def _table(name: str, scan: Scan) -> str:
    """The name of a table without its branch: `s.t` for `s.t.branch_side`. Other names stay."""
    *table, last = identifiers.parts(name)
    return ".".join(map(quote, table)) if not scan.version and last == f"branch_{scan.branch}" else name


def _mapping(properties: str) -> str:
    """The properties of a table, as DESCRIBE shows them -> a hash of the mapping of names, "" without one.

    >>> _mapping('[a=b,schema.name-mapping.default=[ ],z=1]') == _mapping('[schema.name-mapping.default=[ ],z=2]') != ""
    True
    """
    _, found, value = properties.partition(_MAPPING)
    with suppress(ValueError):  # then all that follows counts
        value = value[: json.JSONDecoder().raw_decode(value)[1]]
    return hashlib.sha256(value.encode()).hexdigest()[:8] if found else ""


def _commits(warehouse: Warehouse, name: str) -> list[tuple[str, int, int]]:
    """The commits that a table remembers, the latest last: (file of metadata, snapshot, schema)."""
    rows = warehouse.rows(f"SELECT file, latest_snapshot_id, latest_schema_id FROM {name}.metadata_log_entries")
    return [(str(file).rpartition("/")[2].removesuffix(".metadata.json"), at, schema) for file, at, schema in rows]
