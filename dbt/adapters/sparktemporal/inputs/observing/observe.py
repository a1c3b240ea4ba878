"""The inputs of a model at a run: the state of each input, and the number of rows to read."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...engine.described_tables import known
from ...engine.descriptions import TableInfo
from ...engine.warehouse import Query, Warehouse
from ...plurals import quantity
from ...temporal.diffs import chains as chain_rules
from ...temporal.diffs.input_state import FilesFingerprint, Fingerprint, RowsFingerprint, Tracking
from ...temporal.diffs.intervals_sql import by_one_task
from ...temporal.diffs.state import ListedFile
from ...temporal.ivm import delta_query
from ...temporal.ivm.delta_query import Added, AddedRows
from ...temporal.sql.spark import relations
from ...temporal.sql.spark.errors import Cause, SparkError, allowing
from ...temporal.sql.text.identifiers import quoted
from . import append_only, file_lists, refused, snapshots
from .altered import forget_altered, form_of, renewed
from .append_only import AppendCursor
from .file_lists import NAME, PATH, Compared, Summary
from .manifest import Manifest

#: rows of files rarely have fewer bytes than this
_ROW = 4
_SPARK_FILES = ("parquet", "orc", "csv", "json", "text", "avro")
#: paths that are the same as URIs
_PLAIN_PATH = "[0-9A-Za-z:/._=-]+"


@dataclass(frozen=True)
class Input:
    """A table or temporal view that a model reads, in its present state."""

    relation: str
    #: the state, as the commit keeps it
    fingerprint: Fingerprint
    #: SQL of the files, or of the latest rows, to remember (file, size, modified, place)
    listing: str = ""
    #: the hidden column with the value of `file`
    pin: str = ""
    #: whether the files were listed in their directory. Spark may still remember other files
    in_directory: bool = False
    #: the number of rows, where the listing counts them
    rows: int | None = None
    #: the columns of a table with versions
    columns: tuple[str, ...] = ()
    #: all files, where they are few
    files: tuple[ListedFile, ...] | None = None
    #: the comparison with the files of the last run, where the listing made one
    compared: Compared | None = None

    @property
    def tracking(self) -> Tracking:
        return self.fingerprint.tracking

    @property
    def is_tracked(self) -> bool:
        """Whether a table need not be read again while its state is the state of the last run.

        Not asked of temporal views. False for a checksum of rows: at the last run, other rows may have come between the
        checksum and the read.
        """
        return self.tracking in (Tracking.FILES, Tracking.VERSION, Tracking.COLUMN)


def observe(warehouse: Warehouse, plan: str, follow: AppendCursor | None = None) -> dict[str, Input]:
    """The tables an analyzed plan reads -> their states."""
    return observe_beside(warehouse, plan, follow)[0]


def observe_beside(
    warehouse: Warehouse,
    plan: str,
    follow: AppendCursor | None = None,
    remembered: Manifest | None = None,
    tables: Mapping[str, TableInfo] | None = None,
    beside: Sequence[Query] = (),
    before: Mapping[str, Fingerprint] | None = None,
) -> tuple[dict[str, Input], list[tuple[Any, ...]] | None]:
    """(table of an analyzed plan -> its state, the answers to the queries `beside`). None stands for no answers.

    Spark may still remember older lists of files: `refresh` has Spark forget these lists.

    | | |
    |---|---|
    | follow | the column in whose order rows come, in the tables that have this column |
    | remembered | the files that the tables had at the last run |
    | tables | full name of a table -> the metastore's answer, as far as known |
    | beside | other queries, asked by the statement that lists files |
    | before | the states at the last run |

    A list of files that another model of the invocation got is used if the list shows the state in `before`.
    """
    of_files = relations.file_tables(plan)
    every = dict.fromkeys([*of_files, *relations.other_tables(plan)])
    versions = relations.versions_read(plan)
    infos = {table: known(tables or {}, table) or warehouse.shared_table(quoted(table)) for table in every}
    infos |= {table: renewed(warehouse, table, info) for table, info in infos.items() if info.provider == "iceberg"}
    of_before = [t for t in of_files if not relations.has_columns(plan, t, (name for name, _ in infos[t].columns))]
    forget_altered(warehouse, of_before)
    for table, info in infos.items():
        refused.refuse_malformed(warehouse, plan, table, info)
        refused.refuse_blocks(plan, table, info)
    remembered = remembered or Manifest()
    listings: dict[str, Listing] = {}
    for table in of_files:
        if place := _directory(infos[table]):
            listing = file_lists.in_directory(place)
            shared = _shared(warehouse, listing, infos[table], (before or {}).get(table))
            listings[table] = Listing(listing, remembered.files.get(table), shared)
    answers = _answered(warehouse, listings, beside) if listings and not follow else None
    found = {
        table: _observed(
            warehouse, table, table in of_files, follow, infos[table], listings.get(table), remembered,
            versions.get(table),
        )
        for table in every
    }  # fmt: skip
    return found, answers


def _shared(warehouse: Warehouse, listing: str, info: TableInfo, before: Fingerprint | None) -> tuple[Any, ...] | None:
    """The answer that another model of the invocation got for a listing; None unless it shows the state `before`."""
    found: tuple[Any, ...] | None = warehouse.shared().find(listing)
    if found is None or before != FilesFingerprint(file_lists.summarized(found).files, form_of(info)):
        return None
    return found


def _answered(
    warehouse: Warehouse, listings: dict[str, Listing], beside: Sequence[Query]
) -> list[tuple[Any, ...]] | None:
    """Ask, by one statement, for each listing without an answer, and put the listing with its answer into `listings`.

    Returns the answers to `beside`; None if Spark does not take the statement, or cannot read a file or directory.
    """
    with allowing(Cause.NOT_TAKEN, Cause.UNREADABLE):  # after an error each list is asked for by itself
        asked = {table: listing for table, listing in listings.items() if listing.answer is None}
        shared = warehouse.shared()
        since = shared.now()
        rows = warehouse.rows_together([*(listing.query for listing in asked.values()), *beside])
        for (table, listing), row in zip(asked.items(), rows):
            listings[table] = replace(listing, answer=row)
            shared.keep(listing.sql, row, since)
        return rows[len(asked) :]
    return None


@dataclass(frozen=True)
class Listing:
    """The list of the files of a table."""

    sql: str
    #: the files at the last run
    before: Sequence[ListedFile] | None = None
    #: the row of `query`
    answer: tuple[Any, ...] | None = None

    @property
    def query(self) -> Query:
        """The query of the summary of the list. Where files were few at the last run, one task lists them."""
        return file_lists.summarizing(self.sql, by_one=self.before is not None), file_lists.SUMMARY_COLUMNS


def _directory(info: TableInfo) -> str | None:
    """The directory of a table's files; None for a table with partitions, options, a foreign format or an odd path."""
    location, options = info.details.get("Location", ""), info.details.get("Storage Properties", "[]")
    plain = info.provider in _SPARK_FILES and not info.partitions and options == "[]"
    return location if plain and re.fullmatch(_PLAIN_PATH, location) else None


def refresh(warehouse: Warehouse, seen: Iterable[Input]) -> None:
    """Have Spark list anew the files of each input whose directory the run listed, so that Spark reads all files."""
    for now in seen:
        if now.in_directory:
            warehouse.rows(f"REFRESH TABLE {quoted(now.relation)}")


def observe_files(warehouse: Warehouse, plan: str) -> dict[str, str]:
    """The tables an analyzed plan reads -> the number of their files and bytes in words, or why it is not known."""
    of_files = relations.file_tables(plan)
    found = {}
    for table in dict.fromkeys([*of_files, *relations.other_tables(plan)]):
        found[table] = size(warehouse, quoted(table), table in of_files)
    return found


def size(warehouse: Warehouse, table: str, of_files: bool = True) -> str:
    """The number of files and bytes of a table (as SQL names it) in words, or why it is not known."""
    info = warehouse.table(table)
    if of_files and info.provider in _SPARK_FILES:
        hidden = file_lists.hidden_column(warehouse, table, info)
        if hidden is None:
            return "a table with a column _metadata, whose files are not listed"
        listing = file_lists.by_rows(table, info.partitions, info.provider, hidden)
        asked = f"SELECT count(*), coalesce(sum(size), 0) FROM (SELECT DISTINCT file, size FROM ({listing}))"
    elif info.provider == "iceberg":
        asked = f"SELECT count(*), coalesce(sum(file_size_in_bytes), 0) FROM {table}.files"
    else:
        return f"a {info.details.get('Provider', 'table')} table, whose files are not listed"
    count, total = warehouse.rows(asked)[0]
    return f"{quantity(int(count), 'file')}, {quantity(int(total), 'byte')}"


def _observed(
    warehouse: Warehouse,
    table: str,
    of_files: bool,
    follow: AppendCursor | None,
    info: TableInfo,
    listed: Listing | None,
    remembered: Manifest,
    versions: Sequence[str] | None,
) -> Input:
    """A table in its present state.

    | | |
    |---|---|
    | info | the metastore's answer |
    | listed | the list of the files in the table's directory; None where the directory does not tell the files |
    | remembered | the files of the last run |
    | versions | the versions that the query asks for, as SQL after the name; None where not known |
    """
    name = quoted(table)
    version = snapshots.of(warehouse, name, info, versions)
    if version is not None:
        columns = tuple(column for column, _ in info.columns)
        return Input(table, version, columns=columns)
    if follow:
        warehouse.rows(f"REFRESH TABLE {name}")
        followed = append_only.observe(warehouse, name, info, follow)
        if followed is not None:
            return Input(table, *followed)
    hidden = file_lists.hidden_column(warehouse, name, info) if of_files and info.provider in _SPARK_FILES else None
    if hidden is None:
        warehouse.rows(f"REFRESH TABLE {name}")  # a session remembers the files of tables of Hive too
        return Input(table, _checksum(warehouse, name, info))
    return _of_files(warehouse, table, info, hidden, listed, remembered)


def _of_files(
    warehouse: Warehouse, table: str, info: TableInfo, hidden: str, listed: Listing | None, remembered: Manifest
) -> Input:
    """A table of files in a format of Spark. hidden: the hidden column that tells the files."""
    name = quoted(table)
    before = remembered.files.get(table)
    if listed is not None:
        with allowing(Cause.NOT_TAKEN, Cause.UNREADABLE):  # a table without a directory has no files in one
            found = file_lists.summarized(listed.answer or warehouse.rows(listed.query[0])[0])
            if not found.placed:
                return replace(_by(found, table, info, listed.sql, f"{hidden}.{NAME}", before), in_directory=True)
    warehouse.rows(f"REFRESH TABLE {name}")
    listing, pin = file_lists.by_rows(name, info.partitions, info.provider, hidden), f"{hidden}.{PATH}"
    if info.provider not in file_lists.NUMBERED:
        found = file_lists.summary(warehouse, listing, "sum(mz_rows)")
        return replace(_by(found, table, info, listing, pin, before), rows=found.rows)
    if remembered.table:
        with allowing(Cause.NOT_TAKEN, Cause.UNREADABLE):  # without a readable manifest the list is made alone, below
            # a list opens every file, so one statement makes the list and compares it
            both = file_lists.compare(warehouse, listing, remembered.listing(table))
            fingerprint = FilesFingerprint(both.now, form_of(info))
            return Input(table, fingerprint, listing, pin, files=both.entries, compared=both)
    return _by(file_lists.summary(warehouse, listing), table, info, listing, pin, before)


def _by(
    found: Summary, table: str, info: TableInfo, listing: str, pin: str, before: Sequence[ListedFile] | None
) -> Input:
    """A table with the summary of its list of files as its state."""
    compared = None if before is None else file_lists.compare_few(before, found)
    fingerprint = FilesFingerprint(found.files, form_of(info))
    return Input(table, fingerprint, listing, pin, files=found.entries, compared=compared)


def count_rows(
    warehouse: Warehouse,
    read: Mapping[str, delta_query.TableDelta | None],
    seen: Mapping[str, Input],
    sizes: Mapping[str, int | None],
    stacked: Container[str],
    few: Container[str],
) -> tuple[dict[str, int], dict[str, str]]:
    """(relation -> the number of rows to read, small relation -> a query of this number).

    The number of a small relation decides nothing, so it is asked later. The rows of chains are known without a query.
    sizes: bytes read of each relation, where known. few: relations of which few files are read.
    """
    counts: dict[str, int] = {}
    if stack := warehouse.stack:
        counts = {name: stack.count(name, added is not None) for name, added in read.items() if name in stacked}
    counts |= {name: known for name, added in read.items() if added is None and (known := seen[name].rows) is not None}
    most = _ROW * chain_rules.LARGE_CHAIN
    asked = [name for name in read if name not in counts]
    small = [name for name in asked if (size := sizes.get(name)) is not None and size < most]
    large = {name: f"({_count(name, read[name])})" for name in asked if name not in small}
    if large:
        counts |= dict(zip(large, map(int, warehouse.rows(f"SELECT {', '.join(large.values())}")[0])))
    return counts, {name: _count(name, read[name], by_one=name in few) for name in small}


def _count(name: str, added: delta_query.TableDelta | None, by_one: bool = False) -> str:
    """A query of the number of rows to read.

    Each scalar subquery is a job of Spark, so only a sum of two counts is made of scalar subqueries.
    """
    if isinstance(added, AddedRows):
        both = [f"SELECT count(*) FROM {source}" for source in (added.came, added.went) if source]
        return both[0] if len(both) == 1 else f"SELECT {' + '.join(f'({one})' for one in both)}"
    where = f" WHERE {added.condition}" if isinstance(added, Added) else ""
    rows = f"{quoted(name)}{where}"
    rows = f"({by_one_task(f'SELECT 1 FROM {rows}')})" if by_one else rows
    return f"SELECT count(*) FROM {rows}"


def _checksum(warehouse: Warehouse, name: str, table: TableInfo) -> RowsFingerprint:
    try:
        return RowsFingerprint(*append_only.checksum(warehouse, name, append_only.content_of(table)))
    except SparkError as error:  # a type that has no hash: only the number of rows then tells a changed input
        error.expect(Cause.NOT_TAKEN)
        return RowsFingerprint(int(warehouse.rows(f"SELECT count(*) FROM {name}")[0][0]), None)
