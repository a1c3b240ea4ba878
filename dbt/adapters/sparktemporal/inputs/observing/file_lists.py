"""Lists of the files of tables as SQL (file, size, modified, place): how they are made, compared and remembered.

Spark's `binaryFile` source lists a directory (path, size, time) and opens no file. For a table with partitions, options
or odd paths, a hidden column of the table tells the files. Spark then opens every file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...pushdown.statistics import partition_text
from ...temporal.diffs.input_state import FileSummary
from ...temporal.diffs.intervals_sql import by_one_task
from ...temporal.diffs.state import ListedFile
from ...temporal.ivm.delta_query import MOST_FILES
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.spark.settings import CASE, is_on
from ...temporal.sql.text.dialect import quote, string_literal

COLUMNS = "file, size, modified, place"
#: fields of the hidden column that tell a file: in one directory, and anywhere
NAME, PATH = "file_name", "file_path"
#: formats of which the hidden column has a row_index
NUMBERED = ("parquet",)
#: the most tasks that list a directory, and so the most files of a manifest. Spark would make a task for each file of
#: 128 MB, although no file is opened: 10,000 such files took 40 s instead of 1 s
_TASKS = 64
#: all rows go to one task, which the last aggregate needs anyway. Without this, each listing task would write a block
#: for each of the 200 partitions of a shuffle: a comparison of 10,000 files took three to five times as long
_TOGETHER = "/*+ REPARTITION(1) */"
#: names that are the same in a path and in a URI
_PLAIN_NAME = "^[0-9A-Za-z._=-]+$"
#: the hidden column of a table of files, unless a column has this name
HIDDEN = "_metadata"
_FILES = "ARRAY<STRUCT<file: STRING, size: BIGINT, modified: BIGINT, place: STRING>>"


def hidden_column(warehouse: Warehouse, name: str, table: TableInfo) -> str | None:
    """The name of the hidden column that tells the file of a row of a table (name quoted).

    The name is `_metadata`, without a check that Spark knows the column. If the table has a column of this name, the
    hidden one begins with more underscores, and Spark is asked: None where Spark does not know the hidden column.
    """
    columns = [column for column, _ in table.columns]
    if (hidden := hidden_name([column.lower() for column in columns])) == HIDDEN:
        return hidden
    if is_on(warehouse.setting(CASE)):
        hidden = hidden_name(columns)
    try:
        kind = warehouse.describe(f"SELECT {hidden} FROM {name}")[0][1]
    except SparkError as error:  # no such column in this format
        error.expect(Cause.NOT_TAKEN)
        return None
    return hidden if kind.startswith("struct<file_path:string,file_name:string,") else None


def hidden_name(columns: Sequence[str]) -> str:
    """The name of the hidden column of a table with these columns."""
    hidden = HIDDEN
    while hidden in columns:
        hidden = f"_{hidden}"
    return hidden


def in_directory(location: str) -> str:
    """SQL of the files in a directory. `place` is "", or the path of a file in a folder below or with an odd name."""
    name = "substring_index(path, '/', -1)"
    right_in_it = f"path = concat({string_literal(location + '/')}, {name}) AND {name} RLIKE '{_PLAIN_NAME}'"
    return (
        f"SELECT /*+ COALESCE({_TASKS}) */ {name} AS file, length AS size, unix_millis(modificationTime) AS modified,\n"
        f"  IF({right_in_it}, '', path) AS place\n"
        f"FROM binaryFile.`{location}`"
    )


def by_rows(name: str, partitions: Sequence[str], provider: str, hidden: str = HIDDEN) -> str:
    """SQL of the files of a table, each with its partition, by the hidden column of the first row of each file.

    `place` is the partition as text. A file is listed once for each partition that it is in. In formats without row
    numbers all rows are looked at, and counted (mz_rows).
    """
    values = [f"mz_p{i}" for i, _ in enumerate(partitions)]
    of_rows = "".join(f", {quote(p)} AS {value}" for p, value in zip(partitions, values))
    place = partition_text(values)
    first, count, together = "", ", count(*) AS mz_rows", ""
    if provider in NUMBERED:
        first, count, together = f" WHERE {hidden}.row_index = 0", "", f"{_TOGETHER} "
    return (
        f"SELECT file, size, unix_millis(mz_at) AS modified, {place} AS place{count}\n"
        f"FROM (\n"
        f"  SELECT {together}{hidden}.file_path AS file, {hidden}.file_size AS size,\n"
        f"    {hidden}.file_modification_time AS mz_at{of_rows}\n"
        f"  FROM {name}{first}\n"
        f")\n"
        f"GROUP BY {', '.join(['file, size, mz_at', *values])}"
    )


#: columns of the queries of `summarizing` and `comparing`
SUMMARY_COLUMNS, COMPARED_COLUMNS = 6, 11
#: a list of at most so many files is told file by file
_FEW = 100


@dataclass(frozen=True)
class Summary:
    """The summary of a list of files. Different lists have different summaries."""

    files: FileSummary
    #: how many files have a place
    placed: int
    #: the rows of all files, 0 where they are not counted
    rows: int
    #: the files, where they are few and Spark's text of each can be parsed
    entries: tuple[ListedFile, ...] | None


def summary(warehouse: Warehouse, listing: str, rows: str = "0") -> Summary:
    return summarized(warehouse.rows(summarizing(listing, rows))[0])


def summarizing(listing: str, rows: str = "0", by_one: bool = False) -> str:
    """A query of one row that sums up a list, for `summarized`.

    rows: SQL of the number of rows in all files. by_one: whether one task makes the list, as for few files.
    """
    listing = by_one_task(listing) if by_one else listing
    entry = f"concat_ws('|', {COLUMNS})"
    asked = f"count(*), coalesce(sum(size), 0), count_if(place <> ''), {_hash(entry)}, coalesce({rows}, 0)"
    asked += f", {_entries(entry)}"
    return f"SELECT {asked}\nFROM ({listing})"


def summarized(row: Sequence[Any]) -> Summary:
    count, size, placed, content, held, entries = row
    files = FileSummary(int(count), int(size), str(content))
    return Summary(files, int(placed), int(held), _taken_apart(entries))


@dataclass(frozen=True)
class Compared:
    """The comparison of an earlier list and the present one. A file that is in more partitions now has changed."""

    #: how many files are gone or changed
    gone: int
    #: how many files are new
    new: int
    #: how many files there were
    had: int
    before: FileSummary
    now: FileSummary
    #: the new files; None where they are too many to be named one by one
    files: tuple[ListedFile, ...] | None
    #: the entries of the present list, as in `Summary`
    entries: tuple[ListedFile, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(file for file, *_ in self.files or ()))


def compare(warehouse: Warehouse, listing: str, before: str) -> Compared:
    """The comparison of two lists. listing: SQL of the present list. before: SQL of the earlier list."""
    return compared(warehouse.rows(comparing(listing, before))[0])


def compare_few(before: Sequence[ListedFile], now: Summary) -> Compared | None:
    """The comparison of two short lists, equal to that of `compare`. None where `now.entries` is None."""
    if now.entries is None:
        return None
    was, is_ = _by_file(before), _by_file(now.entries)
    new = tuple(sorted(entry for entry in now.entries if entry[0] not in was))
    return Compared(
        gone=sum(is_.get(file) != texts for file, texts in was.items()),
        new=len(is_.keys() - was.keys()),
        had=len(was),
        before=FileSummary(len(before), sum(size for _, size, _, _ in before), _hash_of(was)),
        now=FileSummary(len(now.entries), sum(size for _, size, _, _ in now.entries), _hash_of(is_)),
        files=new if len(new) <= MOST_FILES else None,
        entries=now.entries,
    )


def _by_file(entries: Sequence[ListedFile]) -> dict[str, str]:
    """File -> the texts of its entries."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(entry[0], []).append("|".join(map(str, entry)))
    return {file: ",".join(sorted(texts)) for file, texts in found.items()}


def _hash_of(by_file: Mapping[str, str]) -> str:
    """The hash that `_hash` gives for a list of files. by_file: file -> the texts of its entries."""
    return hashlib.sha256(",".join(sorted(by_file.values())).encode()).hexdigest()[:16]


def comparing(listing: str, before: str) -> str:
    """A query of one row that compares two lists, for `compared`. before: SQL of the earlier list."""
    both = (
        f"SELECT {_TOGETHER} *\n"
        f"FROM (\nSELECT {COLUMNS}, true AS is_new FROM ({listing})\n"
        f"UNION ALL\nSELECT {COLUMNS}, false FROM ({before})\n)"
    )
    entry = f"concat_ws('|', {COLUMNS})"
    of_file = (
        f"SELECT file,\n"
        f"  concat_ws(',', array_sort(collect_list(IF(is_new, NULL, {entry})))) AS was,\n"
        f"  concat_ws(',', array_sort(collect_list(IF(is_new, {entry}, NULL)))) AS is,\n"
        f"  collect_list(IF(is_new, struct({COLUMNS}), NULL)) AS entries,\n"
        f"  count_if(NOT is_new) AS old_entries, sum(IF(is_new, 0, size)) AS old_size,\n"
        f"  count_if(is_new) AS new_entries, sum(IF(is_new, size, 0)) AS new_size\n"
        f"FROM (\n{both}\n)\n"
        f"GROUP BY file"
    )
    was, now = "nullif(was, '')", "nullif(is, '')"
    return (
        f"SELECT count_if(was <> '' AND is <> was), count_if(was = ''), count_if(was <> ''),\n"
        f"  coalesce(sum(old_entries), 0), coalesce(sum(old_size), 0), {_hash(was)},\n"
        f"  coalesce(sum(new_entries), 0), coalesce(sum(new_size), 0), {_hash(now)},\n"
        f"  to_json(slice(flatten(array_sort(collect_list(IF(was = '', entries, NULL)))), 1, {MOST_FILES + 1})),\n"
        f"  {_entries(now)}\n"
        f"FROM (\n{of_file}\n)"
    )


def compared(row: Sequence[Any]) -> Compared:
    gone, new, had, *summaries, files, entries = row
    then, now = (FileSummary(int(n), int(size), str(content)) for n, size, content in (summaries[:3], summaries[3:]))
    named = tuple((one["file"], one["size"], one["modified"], one["place"]) for one in json.loads(files))
    told = named if len(named) <= MOST_FILES else None
    return Compared(int(gone), int(new), int(had), then, now, told, _taken_apart(entries))


def named(files: Sequence[ListedFile]) -> str:
    """SQL of a list of files."""
    listed = json.dumps([dict(zip(("file", "size", "modified", "place"), entry)) for entry in files])
    return f"SELECT inline(from_json({string_literal(listed)}, '{_FILES}'))"


def _entries(entry: str) -> str:
    """SQL: the first entries of a list as JSON."""
    return f"to_json(slice(array_sort(collect_list({entry})), 1, {_FEW + 1}))"


def _taken_apart(entries: str) -> tuple[ListedFile, ...] | None:
    """The entries of a short list. None for a long list, and where a name contains the separator."""
    found = [entry.split("|") for entry in json.loads(entries)]
    if len(found) > _FEW or any(len(entry) != 4 for entry in found):
        return None
    return tuple((file, int(size), int(modified), place) for file, size, modified, place in found)


def _hash(entry: str) -> str:
    """SQL: a hash of the entries of a list, in 16 hex digits."""
    return f"left(sha2(concat_ws(',', array_sort(collect_list({entry}))), 256), 16)"
