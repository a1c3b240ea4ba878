"""Tables that keep versions: Iceberg's snapshots, Delta's log. Which one a run reads, and what came and went since.

Iceberg   incremental scan of appended snapshots, else the changelog table     Spark 4: `FROM t WITH (option = value)`
Delta     the change data feed, where a table has it; else the files that blind appends added

What one of them cannot tell (a rewrite with delete files, a changed schema, an expired snapshot) is read in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..engine.warehouse import Warehouse
from ..errors import without_trace
from ..temporal.diffs.fingerprints import DeltaVersion, IcebergVersion
from ..temporal.ivm.delta_query import MOST_FILES, AddedRows
from ..temporal.sql.dialect import string_literal
from ..words import quantity
from . import file_lists

#: what a version of Delta may have done for its change data feed to tell all of it
_DELTA_APPENDS = frozenset(["WRITE", "STREAMING UPDATE"])
_DELTA_WRITES = frozenset(["WRITE", "DELETE", "UPDATE", "MERGE", "STREAMING UPDATE", "OPTIMIZE"])
#: what the tables of changes add to the columns of a table
_ICEBERG_LOG = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
_DELTA_FEED = ("_change_type", "_commit_version", "_commit_timestamp")


Version: TypeAlias = IcebergVersion | DeltaVersion
VERSIONS = (IcebergVersion, DeltaVersion)


def of(warehouse: Warehouse, name: str, provider: str) -> Version | None:
    """The version of a table (name quoted), None for tables that have none.

    Iceberg: the snapshots of all branches and tags, and the file of metadata, which also changes with the schema.
    """
    try:
        if provider == "iceberg":
            refs = warehouse.rows(f"SELECT name, snapshot_id FROM {name}.refs")
            snapshots = tuple(sorted((str(ref), int(snapshot)) for ref, snapshot in refs))
            return IcebergVersion(snapshots, _metadata(warehouse, name)[-1][0])
        if provider == "delta":
            unique = warehouse.rows(f"DESCRIBE DETAIL {name}")[0][1]
            return DeltaVersion(int(warehouse.rows(f"DESCRIBE HISTORY {name} LIMIT 1")[0][0]), str(unique))
    except Exception:  # such as a table of metadata, which has no versions of its own
        pass
    return None


def at(warehouse: Warehouse, name: str, version: Version) -> str | None:
    """What stands in a FROM for a table as of a version that it had a moment ago; None where none does.

    A snapshot of Iceberg is read under the schema of its commit, so it must be the commit that made it.
    """
    if isinstance(version, DeltaVersion):
        return f"{name} VERSION AS OF {version.version}"
    snapshot, file = version.main, version.metadata
    if snapshot is None or str(warehouse.rows("SET spark.wap.branch")[0][1]) != "<undefined>":
        return None
    commits = _metadata(warehouse, name)
    until = [at for at, (of_commit, _) in enumerate(commits) if of_commit == file]
    made = [at for at, (_, of_commit) in enumerate(commits) if of_commit == snapshot]
    whole = bool(commits) and (commits[0][0].startswith("00000-") or commits[0][0] == "v1")
    is_of_commit = bool(until and made) and made[0] == until[0] and (made[0] > 0 or whole)
    return f"{name} VERSION AS OF {snapshot}" if is_of_commit else None


def changes(
    warehouse: Warehouse, name: str, then: Version, now: Version, columns: Sequence[str]
) -> tuple[str, AddedRows | None]:
    """What a table got and lost between two of its versions, and in words why so or why not. columns: it has."""
    try:
        if isinstance(then, IcebergVersion) and isinstance(now, IcebergVersion):
            if then.only_main is not None and now.only_main is not None:
                return _iceberg(warehouse, name, then, now, then.only_main, now.only_main, columns)
        elif isinstance(then, DeltaVersion) and isinstance(now, DeltaVersion) and then.table == now.table:
            return _delta(warehouse, name, then.version, now.version, columns)
    except Exception as error:  # whatever the connector raises: the input is read in full
        return f"what {then} became cannot be told: {' '.join(without_trace(str(error)).split())[:200]}", None
    return f"{then} is now {now.words}", None


def _metadata(warehouse: Warehouse, name: str) -> list[tuple[str, int]]:
    """The commits of an Iceberg table, as far as it remembers: file of metadata, snapshot."""
    rows = warehouse.rows(f"SELECT timestamp, file, latest_snapshot_id FROM {name}.metadata_log_entries")
    return [(str(file).rpartition("/")[2].removesuffix(".metadata.json"), at) for _, file, at in sorted(rows)]


def _iceberg(
    warehouse: Warehouse,
    name: str,
    then: IcebergVersion,
    now: IcebergVersion,
    old: int,
    new: int,
    columns: Sequence[str],
) -> tuple[str, AddedRows | None]:
    commits = _metadata(warehouse, name)
    files = [file for file, _ in commits]
    if then.metadata not in files or now.metadata not in files:
        return f"snapshot {old} is of a time it no longer remembers", None
    between = commits[files.index(then.metadata) : files.index(now.metadata) + 1]
    if any(before == after for (_, before), (_, after) in zip(between, between[1:])):
        return "its schema or its properties changed", None
    parents = {int(at): (parent, operation) for at, parent, operation in warehouse.rows(
        f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots"
    )}  # fmt: skip
    at, operations = new, []
    while at != old:
        if parents.get(at, (None, ""))[0] is None:
            return f"snapshot {old} is expired, or was rolled back", None
        operations.append(parents[at][1])
        at = int(parents[at][0])
    span = f"WITH (`start-snapshot-id` = '{old}', `end-snapshot-id` = '{new}')"
    before = f"{name} VERSION AS OF {old}"
    how = quantity(len(operations), "snapshot")
    if set(operations) <= {"append", "replace"}:
        return f"{how}, append only", _readable(warehouse, AddedRows(f"{name} {span}", "", before))
    taken = _taken(columns, _ICEBERG_LOG)
    if taken:
        return f"{how}, and a column of its own is named as one of its changelog: {taken}", None
    # upper(): Iceberg fails on a filter of this column that it is given to apply
    log = f"(SELECT * EXCEPT ({', '.join(_ICEBERG_LOG)}) FROM {name}.changes {span} WHERE upper("
    came, went = (f"{log}_change_type) IN ('{one}', '{two}'))" for one, two in (
        ("INSERT", "UPDATE_AFTER"), ("DELETE", "UPDATE_BEFORE")
    ))  # fmt: skip
    return how, _readable(warehouse, AddedRows(came, went, before))


def _delta(warehouse: Warehouse, name: str, old: int, new: int, columns: Sequence[str]) -> tuple[str, AddedRows | None]:
    properties = {str(row[0]): str(row[1]) for row in warehouse.rows(f"SHOW TBLPROPERTIES {name}")}
    history = warehouse.rows(f"DESCRIBE HISTORY {name} LIMIT {new - old}")
    done = {int(row[0]): (str(row[4]), row[11]) for row in history}
    between = [done.get(version, ("a version that is gone", False)) for version in range(old + 1, new + 1)]
    if properties.get("delta.enableChangeDataFeed", "").lower() != "true":
        if not all(operation in _DELTA_APPENDS and blind for operation, blind in between):
            return f"version {old} is now {new}, and it has no change data feed", None
        return _delta_files(warehouse, name, old, new)
    others = sorted({operation for operation, _ in between} - _DELTA_WRITES)
    if others:
        return f"after version {old} came {', '.join(others)}", None
    taken = _taken(columns, _DELTA_FEED)
    if taken:
        return f"a column of its own is named as one of its change data feed: {taken}", None
    feed = f"table_changes({string_literal(name)}, {old + 1}, {new})"
    log = f"(SELECT * EXCEPT ({', '.join(_DELTA_FEED)}) FROM {feed} WHERE _change_type IN "
    added = AddedRows(
        f"{log}('insert', 'update_postimage'))",
        f"{log}('delete', 'update_preimage'))",
        f"{name} VERSION AS OF {old}",
    )
    return _span(old, new), _readable(warehouse, added)


def _delta_files(warehouse: Warehouse, name: str, old: int, new: int) -> tuple[str, AddedRows | None]:
    """What blind appends added: they take no file away and change none."""
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
    return how, _readable(warehouse, AddedRows(came, "", f"{name} VERSION AS OF {old}"))


def _span(old: int, new: int) -> str:
    return f"version {new}" if new == old + 1 else f"versions {old + 1} to {new}"


def _taken(columns: Sequence[str], names: Sequence[str]) -> str:
    """The columns of a table that have one of some names, in words."""
    return ", ".join(column for column in columns if column.lower() in names)


def _readable(warehouse: Warehouse, added: AddedRows) -> AddedRows:
    """What can be read; else Spark's error. Files of an old version may be gone though its log tells of them."""
    for source in filter(None, (added.came, added.went)):
        warehouse.rows(f"SELECT count(*) FROM {source}")
    warehouse.describe(f"SELECT * FROM {added.then}")
    return added
