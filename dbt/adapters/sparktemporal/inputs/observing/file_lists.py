"""Lists of the files of tables as SQL (file, size, modified, place): how they are made, compared and remembered.

Spark's `binaryFile` source gives path, size and time of what lies in a directory, and opens nothing. Where a table has
partitions or options, Spark is asked by a hidden column of the table itself, which opens every file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...temporal.diffs.input_state import FileSummary
from ...temporal.diffs.intervals_sql import by_one_task
from ...temporal.diffs.state import ListedFile
from ...temporal.ivm.delta_query import MOST_FILES
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.text.dialect import quote, string_literal

COLUMNS = "file, size, modified, place"
#: fields of the hidden column that tell a file: in one directory, and anywhere
NAME, PATH = "file_name", "file_path"
#: formats of which the hidden column has a row_index
NUMBERED = ("parquet",)
#: the tasks that list a directory, and so the files of a manifest, at most. Spark would make a task of each file of
#: 128 MB, although none is opened: 10,000 of them took 40 s in place of one
_TASKS = 64
#: rows of files go to one task, which the last aggregate needs anyway. Each of the tasks that list would else write a
#: block for each of the 200 partitions of a shuffle: of 10,000 files a comparison took three to five times as long
_TOGETHER = "/*+ REPARTITION(1) */"
#: what is written the same in a path and in a URI
_PLAIN_NAME = "^[0-9A-Za-z._=-]+$"
_FILES = "ARRAY<STRUCT<file: STRING, size: BIGINT, modified: BIGINT, place: STRING>>"


def hidden_column(warehouse: Warehouse, name: str, table: TableInfo) -> str | None:
    """The column by which Spark tells the file of a row of a table (name quoted); None where it has none.

    It is `_metadata`. Where a table has a column of that name, Spark puts underscores before its own.
    """
    columns = [column for column, _ in table.columns]
    hidden = "_metadata"
    if not any(column.lower() == hidden for column in columns):
        return hidden
    if str(warehouse.rows("SET spark.sql.caseSensitive")[0][1]).lower() != "true":
        columns = [column.lower() for column in columns]
    while hidden in columns:
        hidden = f"_{hidden}"
    try:
        kind = warehouse.describe(f"SELECT {hidden} FROM {name}")[0][1]
    except SparkError as error:  # no such column in this format
        error.expect(Cause.NOT_TAKEN)
        return None
    return hidden if kind.startswith("struct<file_path:string,file_name:string,") else None


def in_directory(location: str) -> str:
    """The files right in a directory; below it, or with other names, they have a place."""
    name = "substring_index(path, '/', -1)"
    right_in_it = f"path = concat({string_literal(location + '/')}, {name}) AND {name} RLIKE '{_PLAIN_NAME}'"
    return (
        f"SELECT /*+ COALESCE({_TASKS}) */ {name} AS file, length AS size, unix_millis(modificationTime) AS modified,\n"
        f"  IF({right_in_it}, '', path) AS place\n"
        f"FROM binaryFile.`{location}`"
    )


def by_rows(name: str, partitions: Sequence[str], provider: str, hidden: str = "_metadata") -> str:
    """The files of a table and the partition each is in, by what Spark says of the first row of each.

    Of files whose rows have no numbers all are looked at, and counted (mz_rows). What is told in words is made once for
    each file. A file is listed once for each partition that it is in.
    """
    values = [f"mz_p{i}" for i, _ in enumerate(partitions)]
    of_rows = "".join(f", {quote(p)} AS {value}" for p, value in zip(partitions, values))
    place = f"CAST(struct({', '.join(['true', *values])}) AS STRING)"
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
SUMMARY_COLUMNS, COMPARED_COLUMNS = 6, 12
#: so many files of a list are told one by one
_FEW = 100


@dataclass(frozen=True)
class Summary:
    """What tells a list from others. placed: how many of its files have a place; rows: of all files.

    entries: its files, where they are few and Spark's text of each can be taken apart.
    """

    files: FileSummary
    placed: int
    rows: int
    entries: tuple[ListedFile, ...] | None


def summary(warehouse: Warehouse, listing: str, rows: str = "0") -> Summary:
    return summarized(warehouse.rows(summarizing(listing, rows))[0])


def summarizing(listing: str, rows: str = "0", by_one: bool = False) -> str:
    """A query of one row, for `summarized`. by_one: by one task, of few files in a directory."""
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
    """Two lists, one from before and one from now. A file that is in more partitions than before has changed.

    gone: files that are gone or changed; new: that were not there; had: that were there. before, now: summaries.
    files: the new ones, as JSON; None where they are more than are named one by one. placed, entries: as in Summary.
    """

    gone: int
    new: int
    had: int
    before: FileSummary
    now: FileSummary
    files: str | None
    placed: int
    entries: tuple[ListedFile, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one["file"] for one in json.loads(self.files or "[]")))


def compare(warehouse: Warehouse, listing: str, before: str) -> Compared:
    """The list as it is, and SQL of the one from before."""
    return compared(warehouse.rows(comparing(listing, before))[0])


def compare_few(before: Sequence[ListedFile], now: Summary) -> Compared | None:
    """A list as it is, and the one from before, both short: what `compare` says of them. None where `now` is long."""
    if now.entries is None:
        return None
    was, is_ = _by_file(before), _by_file(now.entries)
    new = sorted(entry for entry in now.entries if entry[0] not in was)
    return Compared(
        gone=sum(is_.get(file) != texts for file, texts in was.items()),
        new=len(is_.keys() - was.keys()),
        had=len(was),
        before=FileSummary(len(before), sum(size for _, size, _, _ in before), _hash_of(was)),
        now=FileSummary(len(now.entries), sum(size for _, size, _, _ in now.entries), _hash_of(is_)),
        files=as_json(new) if len(new) <= MOST_FILES else None,
        placed=now.placed,
        entries=now.entries,
    )


def _by_file(entries: Sequence[ListedFile]) -> dict[str, str]:
    """File -> the texts of its entries."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(entry[0], []).append("|".join(map(str, entry)))
    return {file: ",".join(sorted(texts)) for file, texts in found.items()}


def _hash_of(by_file: Mapping[str, str]) -> str:
    """What `_hash` says of the same texts."""
    return hashlib.sha256(",".join(sorted(by_file.values())).encode()).hexdigest()[:16]


def comparing(listing: str, before: str) -> str:
    """A query of one row, for `compared`."""
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
        f"  count_if(is_new) AS new_entries, sum(IF(is_new, size, 0)) AS new_size,\n"
        f"  count_if(is_new AND place <> '') AS placed\n"
        f"FROM (\n{both}\n)\n"
        f"GROUP BY file"
    )
    now = "nullif(is, '')"
    return (
        f"SELECT count_if(was <> '' AND is <> was), count_if(was = ''), count_if(was <> ''),\n"
        f"  coalesce(sum(old_entries), 0), coalesce(sum(old_size), 0), {_hash('nullif(was, ' + repr('') + ')')},\n"
        f"  coalesce(sum(new_entries), 0), coalesce(sum(new_size), 0), {_hash(now)},\n"
        f"  to_json(slice(flatten(array_sort(collect_list(IF(was = '', entries, NULL)))), 1, {MOST_FILES + 1})),\n"
        f"  coalesce(sum(placed), 0), {_entries(now)}\n"
        f"FROM (\n{of_file}\n)"
    )


def compared(row: Sequence[Any]) -> Compared:
    gone, new, had, *summaries, files, placed, entries = row
    named = len(json.loads(files)) <= MOST_FILES
    then, now = (FileSummary(int(n), int(size), str(content)) for n, size, content in (summaries[:3], summaries[3:]))
    told = files if named else None
    return Compared(int(gone), int(new), int(had), then, now, told, int(placed), _taken_apart(entries))


def named(files: str) -> str:
    """SQL of a list of files given as JSON."""
    return f"SELECT inline(from_json({string_literal(files)}, '{_FILES}'))"


def as_json(files: Sequence[ListedFile]) -> str:
    """A list of files for `named`."""
    return json.dumps([dict(zip(("file", "size", "modified", "place"), entry)) for entry in files])


def _entries(entry: str) -> str:
    """SQL: the first entries of a list as JSON."""
    return f"to_json(slice(array_sort(collect_list({entry})), 1, {_FEW + 1}))"


def _taken_apart(entries: str) -> tuple[ListedFile, ...] | None:
    """The entries of a short list. None for a long one, and where a name has the separator in it."""
    found = [entry.split("|") for entry in json.loads(entries)]
    if len(found) > _FEW or any(len(entry) != 4 for entry in found):
        return None
    return tuple((file, int(size), int(modified), place) for file, size, modified, place in found)


def _hash(entry: str) -> str:
    """SQL: what tells the entries of a list from others, in 16 hex digits."""
    return f"left(sha2(concat_ws(',', array_sort(collect_list({entry}))), 256), 16)"
