"""The inputs of a model at a run: the state of each, and what it got since another run read it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from ..engine.chain_files import is_unreadable
from ..engine.warehouse import TableInfo, Warehouse
from ..temporal.diffs.fingerprints import (
    ColumnFingerprint,
    FilesFingerprint,
    Fingerprint,
    RowsFingerprint,
    Tracking,
)
from ..temporal.ivm import delta_query
from ..temporal.ivm.delta_query import Added, AddedChains, AddedRows
from ..temporal.ivm.upstream import Stack
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
    place): its files, or its latest rows; pin: the hidden column that is `file`. rows: how many it holds, where that
    was told on the way. columns: of a table with versions.
    """

    relation: str
    fingerprint: Fingerprint
    listing: str = ""
    pin: str = ""
    rows: int | None = None
    columns: tuple[str, ...] = ()

    @property
    def tracking(self) -> Tracking:
        return self.fingerprint.tracking

    @property
    def is_tracked(self) -> bool:
        """Whether equal states mean equal rows, and its rows can be known to be of one state."""
        return self.tracking in (Tracking.FILES, Tracking.VERSION, Tracking.COLUMN)


@dataclass(frozen=True)
class InputChange:
    """What an input did since a run read it: nothing (`same`), more rows (`added`), or what only its rows tell.

    broken: it did what `change_capture: append` promises that it does not do. fingerprint: of the state that `added`
    leads to, where the files were listed anew for it; files: what they added to the list, as JSON.
    """

    why: str
    same: bool = False
    added: delta_query.TableDelta | None = None
    broken: bool = False
    fingerprint: Fingerprint | None = None
    files: str = ""


@dataclass(frozen=True)
class Look:
    """An input after it was read. moved: what it was is gone; grew: it is there, and more. fingerprint: of it then."""

    moved: bool = False
    grew: bool = False
    fingerprint: Fingerprint | None = None


def observe(warehouse: Warehouse, plan: str, follow: AppendCursor | None = None) -> dict[str, Input]:
    """The tables an analyzed plan reads -> their states. Spark may still remember older lists of files: `refresh`.

    follow: the column in whose order rows come, in the tables that have it.
    """
    of_files = relations.file_tables(plan)
    every = dict.fromkeys([*of_files, *relations.other_tables(plan)])
    return {table: _observe(warehouse, table, table in of_files, follow) for table in every}


def refresh(warehouse: Warehouse, seen: Iterable[Input]) -> None:
    """Have Spark list the files again that were listed past it, so that it reads all of them."""
    for now in seen:
        if now.tracking is Tracking.FILES and now.pin.endswith(NAME):
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
    told = warehouse.table(table)
    provider = told.details.get("Provider", "").lower()
    if of_files and provider in _SPARK_FILES:
        hidden = file_lists.hidden_column(warehouse, table, told)
        if hidden is None:
            return "a table with a column _metadata, whose files are not listed"
        listing = file_lists.by_rows(table, told.partitions, provider, hidden)
        asked = f"SELECT count(*), coalesce(sum(size), 0) FROM (SELECT DISTINCT file, size FROM ({listing}))"
    elif provider == "iceberg":
        asked = f"SELECT count(*), coalesce(sum(file_size_in_bytes), 0) FROM {table}.files"
    else:
        return f"a {told.details.get('Provider', 'table')} table, whose files are not listed"
    count, total = warehouse.rows(asked)[0]
    return f"{quantity(int(count), 'file')}, {quantity(int(total), 'byte')}"


def _observe(warehouse: Warehouse, table: str, of_files: bool, follow: AppendCursor | None = None) -> Input:
    name = quoted(table)
    told = warehouse.table(name)
    provider = told.details.get("Provider", "").lower()
    version = snapshots.of(warehouse, name, provider)
    if version is not None:
        columns = tuple(column for column, _ in told.columns)
        return Input(table, version, columns=columns)
    if follow:
        warehouse.rows(f"REFRESH TABLE {name}")
        followed = append_only.observe(warehouse, name, told, follow)
        if followed is not None:
            return Input(table, *followed)
    hidden = file_lists.hidden_column(warehouse, name, told) if of_files and provider in _SPARK_FILES else None
    if hidden is None:
        warehouse.rows(f"REFRESH TABLE {name}")  # a session remembers the files of tables of Hive too
        return Input(table, _checksum(warehouse, name, told))
    location, options = told.details.get("Location", ""), told.details.get("Storage Properties", "[]")
    form = repr((told.columns, told.partitions, provider, location, options))
    if told.defaults:  # old files have the value a column had when it was added, which only a new table changes
        form += repr((told.defaults, told.details.get("Created Time")))
    read_as = hashlib.sha256(form.encode()).hexdigest()[:8]
    if not told.partitions and options == "[]" and re.fullmatch(_PLAIN_PATH, location):
        listing = file_lists.in_directory(location)
        try:
            summary, odd, _ = file_lists.summary(warehouse, listing)
        except Exception:  # a table without a directory has no files in one
            odd = 1
        if not odd:
            return Input(table, FilesFingerprint(summary, read_as), listing, f"{hidden}.{NAME}")
    warehouse.rows(f"REFRESH TABLE {name}")
    listing = file_lists.by_rows(name, told.partitions, provider, hidden)
    counted = provider not in file_lists.NUMBERED
    summary, _, rows = file_lists.summary(warehouse, listing, "sum(mz_rows)" if counted else "0")
    fingerprint = FilesFingerprint(summary, read_as)
    return Input(table, fingerprint, listing, f"{hidden}.{PATH}", rows if counted else None)


def look(warehouse: Warehouse, seen: Input, change: InputChange, is_open: bool, listed: str | None) -> Look:
    """An input after it was read, as far as that is told.

    is_open: more was read of it than what is pinned, so nothing may have been added. listed: the table of its files,
    which are its state where it was read in full.
    """
    then = seen.fingerprint
    if isinstance(then, ColumnFingerprint):
        return Look(moved=not append_only.is_still(warehouse, then, seen.listing))
    if seen.tracking is Tracking.VERSION:
        is_still = not is_open or _observe(warehouse, seen.relation, False).fingerprint == then
        return Look(grew=not is_still)
    if not isinstance(then, FilesFingerprint):  # chains are never written again; nothing tells that rows changed
        return Look()
    if seen.pin.endswith(PATH):
        warehouse.rows(f"REFRESH TABLE {quoted(seen.relation)}")
    if listed is None:
        return Look(moved=file_lists.summary(warehouse, seen.listing)[0] != then.files)
    found = file_lists.compare(warehouse, seen.listing, remembered(seen.relation, listed))
    if (change.same or change.added is not None) and found.before != then.files:  # what was remembered is damaged
        return Look(moved=found.now != then.files)
    if found.gone or is_open and found.new:
        return Look(moved=found.gone > 0, grew=not found.gone)
    return Look(fingerprint=replace(then, files=found.before))


def change(warehouse: Warehouse, seen: Input, then: Fingerprint | None, manifest: str | None) -> InputChange:
    """What an input did since it had a fingerprint. manifest: the table of the files it had then."""
    now = seen.fingerprint
    if then is None:
        return InputChange("not read before")
    if not seen.is_tracked:
        return InputChange("only its rows tell whether it changed")
    if now == then:
        return InputChange("no change", same=True)
    if isinstance(now, snapshots.VERSIONS) and isinstance(then, snapshots.VERSIONS):
        why, delta = snapshots.changes(warehouse, quoted(seen.relation), then, now, seen.columns)
        return InputChange(why, added=delta)
    before = ""
    if manifest is not None:
        before = remembered(seen.relation, manifest)
    if isinstance(now, ColumnFingerprint):
        if not isinstance(then, ColumnFingerprint):
            return InputChange("it was not followed by append_column before")
        name = quoted(seen.relation)
        why, rows, broken = append_only.changes(warehouse, name, warehouse.table(name), then, now, before)
        return InputChange(why, added=rows, broken=broken)
    if not (isinstance(now, FilesFingerprint) and isinstance(then, FilesFingerprint)):
        return InputChange(f"{then} is now {now}")
    if now.form != then.form:
        return InputChange("its columns, place or options changed")
    if not before:
        return InputChange("the list of the files it had is gone")
    return _change_of_files(warehouse, seen, then, before)


def _change_of_files(warehouse: Warehouse, seen: Input, then: FilesFingerprint, before: str) -> InputChange:
    """before: SQL of the files that the input had."""
    try:
        found = file_lists.compare(warehouse, seen.listing, before)
    except Exception as error:
        if not is_unreadable(error):
            raise
        return InputChange("the list of the files it had cannot be read")
    if found.before != then.files:
        return InputChange("the files remembered are not those of its state")
    if found.gone:
        return InputChange(f"gone or changed: {found.gone:,} of {quantity(found.had, 'file')}")
    if not found.new:
        return InputChange("no change", same=True, fingerprint=then)
    if found.files is None:
        return InputChange(f"{quantity(found.new, 'new file')}, more than are named one by one")
    return InputChange(
        f"{quantity(found.new, 'new file')} of {found.had + found.new:,}",
        added=Added(seen.pin, found.names),
        fingerprint=replace(then, files=found.now),
        files=found.files,
    )


def stacked_change(stack: Stack, seen: Input, then: Fingerprint | None) -> InputChange:
    """What a temporal view that is read did since it had a fingerprint."""
    if seen.fingerprint == then:
        return InputChange("no change", same=True)
    why, is_told = stack.change(seen.relation, then)
    return InputChange(why, added=AddedChains(stack) if is_told else None)


def manifest(seen: Iterable[Input], changes: Mapping[str, InputChange], before: str | None) -> str | None:
    """SQL of what is remembered of all inputs (relation, file, size, modified, place).

    Where new files alone are read these are exactly they, beside those that were remembered. before: their table.
    """
    parts = []
    for now in seen:
        if not now.listing:
            continue
        change, listing = changes[now.relation], now.listing
        if before is not None and now.tracking is Tracking.FILES and (change.same or change.files):
            listing = remembered(now.relation, before)
            listing += f"\nUNION ALL\n{file_lists.named(change.files)}" if change.files else ""
        parts.append(f"SELECT {string_literal(now.relation)} AS relation, {COLUMNS} FROM ({listing})")
    return "\nUNION ALL\n".join(parts) or None


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
