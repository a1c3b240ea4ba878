"""The inputs of a model at a run: the state of each, and what it got since another run read it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from ..engine.warehouse import TableInfo, Warehouse
from ..temporal.diffs.fingerprints import (
    FilesFingerprint,
    Fingerprint,
    RowsFingerprint,
    Tracking,
)
from ..temporal.ivm import delta_query
from ..temporal.ivm.delta_query import Added, AddedRows
from ..temporal.sql import identifiers, relations
from ..temporal.sql.dialect import quote, string_literal
from ..words import quantity
from . import append_only, file_lists, snapshots
from .append_only import AppendCursor
from .file_lists import COLUMNS, NAME, PATH

_SPARK_FILES = ("parquet", "orc", "csv", "json", "text", "avro")
#: what is written the same in a path and in a URI
_PLAIN_PATH = "[0-9A-Za-z:/._=-]+"


@dataclass(frozen=True)
class Input:
    """A table that a model reads, as it is now.

    fingerprint: its state, as the commit keeps it. listing: SQL of what is to be remembered (file, size, modified,
    place): its files, or its latest rows; pin: the hidden column that is `file`. in_directory: its files are listed
    past Spark, which may still remember others. rows: how many it holds, where the listing counts them. columns: of a
    table with versions.
    """

    relation: str
    fingerprint: Fingerprint
    listing: str = ""
    pin: str = ""
    in_directory: bool = False
    rows: int | None = None
    columns: tuple[str, ...] = ()

    @property
    def tracking(self) -> Tracking:
        return self.fingerprint.tracking

    @property
    def is_tracked(self) -> bool:
        """Whether equal states mean equal rows, and its rows can be known to be of one state."""
        return self.tracking in (Tracking.FILES, Tracking.VERSION, Tracking.COLUMN)


def observe(warehouse: Warehouse, plan: str, follow: AppendCursor | None = None) -> dict[str, Input]:
    """The tables an analyzed plan reads -> their states. Spark may still remember older lists of files: `refresh`.

    follow: the column in whose order rows come, in the tables that have it.
    """
    of_files = relations.file_tables(plan)
    every = dict.fromkeys([*of_files, *relations.other_tables(plan)])
    return {table: observed(warehouse, table, table in of_files, follow) for table in every}


def refresh(warehouse: Warehouse, seen: Iterable[Input]) -> None:
    """Have Spark list the files again that were listed past it, so that it reads all of them."""
    for now in seen:
        if now.in_directory:
            warehouse.rows(f"REFRESH TABLE {quoted(now.relation)}")


def observe_files(warehouse: Warehouse, plan: str) -> dict[str, str]:
    """The tables an analyzed plan reads -> how many files they have and of how many bytes, in words."""
    of_files = relations.file_tables(plan)
    found = {}
    for table in dict.fromkeys([*of_files, *relations.other_tables(plan)]):
        found[table] = size(warehouse, quoted(table), table in of_files)
    return found


def size(warehouse: Warehouse, table: str, of_files: bool = True) -> str:
    """How many files a table (as SQL names it) has and of how many bytes, in words."""
    info = warehouse.table(table)
    provider = info.details.get("Provider", "").lower()
    if of_files and provider in _SPARK_FILES:
        hidden = file_lists.hidden_column(warehouse, table, info)
        if hidden is None:
            return "a table with a column _metadata, whose files are not listed"
        listing = file_lists.by_rows(table, info.partitions, provider, hidden)
        asked = f"SELECT count(*), coalesce(sum(size), 0) FROM (SELECT DISTINCT file, size FROM ({listing}))"
    elif provider == "iceberg":
        asked = f"SELECT count(*), coalesce(sum(file_size_in_bytes), 0) FROM {table}.files"
    else:
        return f"a {info.details.get('Provider', 'table')} table, whose files are not listed"
    count, total = warehouse.rows(asked)[0]
    return f"{quantity(int(count), 'file')}, {quantity(int(total), 'byte')}"


def observed(warehouse: Warehouse, table: str, of_files: bool, follow: AppendCursor | None = None) -> Input:
    name = quoted(table)
    info = warehouse.table(name)
    provider = info.details.get("Provider", "").lower()
    version = snapshots.of(warehouse, name, provider)
    if version is not None:
        columns = tuple(column for column, _ in info.columns)
        return Input(table, version, columns=columns)
    if follow:
        warehouse.rows(f"REFRESH TABLE {name}")
        followed = append_only.observe(warehouse, name, info, follow)
        if followed is not None:
            return Input(table, *followed)
    hidden = file_lists.hidden_column(warehouse, name, info) if of_files and provider in _SPARK_FILES else None
    if hidden is None:
        warehouse.rows(f"REFRESH TABLE {name}")  # a session remembers the files of tables of Hive too
        return Input(table, _checksum(warehouse, name, info))
    location, options = info.details.get("Location", ""), info.details.get("Storage Properties", "[]")
    form = repr((info.columns, info.partitions, provider, location, options))
    if info.defaults:  # old files have the value a column had when it was added, which only a new table changes
        form += repr((info.defaults, info.details.get("Created Time")))
    read_as = hashlib.sha256(form.encode()).hexdigest()[:8]
    if not info.partitions and options == "[]" and re.fullmatch(_PLAIN_PATH, location):
        listing = file_lists.in_directory(location)
        try:
            summary, odd, _ = file_lists.summary(warehouse, listing)
        except Exception:  # a table without a directory has no files in one
            odd = 1
        if not odd:
            return Input(table, FilesFingerprint(summary, read_as), listing, f"{hidden}.{NAME}", in_directory=True)
    warehouse.rows(f"REFRESH TABLE {name}")
    listing = file_lists.by_rows(name, info.partitions, provider, hidden)
    counted = provider not in file_lists.NUMBERED
    summary, _, rows = file_lists.summary(warehouse, listing, "sum(mz_rows)" if counted else "0")
    fingerprint = FilesFingerprint(summary, read_as)
    return Input(table, fingerprint, listing, f"{hidden}.{PATH}", rows=rows if counted else None)


def remembered(relation: str, manifest: str) -> str:
    """SQL of what a table remembers of an input (file, size, modified, place)."""
    return f"SELECT {COLUMNS} FROM {manifest} WHERE relation = {string_literal(relation)}"


def count_rows(
    warehouse: Warehouse,
    read: Mapping[str, delta_query.TableDelta | None],
    seen: Mapping[str, Input],
    stacked: Container[str] = (),
) -> dict[str, int]:
    """relation -> how many rows it holds, or what was added to it does. Of chains that is known."""
    counts: dict[str, int] = {}
    if warehouse.stack is not None:
        counts = {
            name: warehouse.stack.count(name, added is not None) for name, added in read.items() if name in stacked
        }
    counts |= {name: known for name, added in read.items() if added is None and (known := seen[name].rows) is not None}
    plain = {name: added for name, added in read.items() if name not in counts}
    if plain:
        asked = ", ".join(" + ".join(_counts(name, added)) for name, added in plain.items())
        counts |= dict(zip(plain, map(int, warehouse.rows(f"SELECT {asked}")[0])))
    return counts


def _counts(name: str, added: delta_query.TableDelta | None) -> list[str]:
    if isinstance(added, AddedRows):
        return [f"(SELECT count(*) FROM {source})" for source in (added.came, added.went) if source]
    where = f" WHERE {added.condition}" if isinstance(added, Added) else ""
    return [f"(SELECT count(*) FROM {quoted(name)}{where})"]


def quoted(table: str) -> str:
    return ".".join(map(quote, identifiers.parts(table)))


def _checksum(warehouse: Warehouse, name: str, table: TableInfo) -> RowsFingerprint:
    try:
        return RowsFingerprint(*append_only.checksum(warehouse, name, append_only.content_of(table)))
    except Exception:  # a type that has no hash: a test then cannot tell a changed input from another
        return RowsFingerprint(int(warehouse.rows(f"SELECT count(*) FROM {name}")[0][0]), None)
