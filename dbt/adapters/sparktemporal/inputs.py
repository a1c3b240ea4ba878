"""The inputs of a model at a run: the state of each, and what it got since another run read it.

The files of a table are listed without reading them: Spark's `binaryFile` source gives path, size and time of what lies
in a directory. Where a table has partitions or options its own `_metadata` is asked, which opens every file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from . import appended, versions
from .appended import Follow
from .temporal import capture, roundtrip
from .temporal.capture import MOST_FILES, Added, AddedChains, AddedRows
from .temporal.dialect import quote, string_literal
from .temporal.stacked import Stack
from .warehouse import TableInfo, Warehouse

FILES, VERSION, COLUMN, ROWS, STACKED = "files", "version", appended.WAY, "rows", "chains"
#: formats of which `_metadata.row_index` is known
_NUMBERED = ("parquet",)
_SPARK_FILES = ("parquet", "orc", "csv", "json", "text", "avro")
#: what is written the same in a path and in a URI
_PLAIN_NAME, _PLAIN_PATH = "^[0-9A-Za-z._=-]+$", "[0-9A-Za-z:/._=-]+"
_COLUMNS = "file, size, modified, place"


@dataclass(frozen=True)
class Input:
    """A table that a model reads, as it is now.

    way: how its state is told: by its `files`, by the `version` of an Iceberg or Delta table, by the `chains` of a
    temporal view, by a `column` in whose order rows come, or by a checksum of its `rows`, which nothing else tells.
    said: that state, as the commit keeps it. listing: SQL of what is to be remembered of it (file, size, modified,
    place): its files, or its latest rows; pin: the column of `_metadata` that is `file`. rows: how many it holds, where
    that was told on the way.
    """

    relation: str
    way: str
    said: str
    listing: str = ""
    pin: str = ""
    rows: int | None = None

    @property
    def told(self) -> bool:
        """Whether equal states mean equal rows, and its rows can be known to be of one state."""
        return self.way in (FILES, VERSION, COLUMN)


@dataclass(frozen=True)
class Change:
    """What an input did since a run read it: nothing (`same`), more rows (`added`), or what only its rows tell.

    broken: it did what `change_capture: append` promises that it does not do.
    """

    why: str
    same: bool = False
    added: capture.Change | None = None
    broken: bool = False


def observe(warehouse: Warehouse, plan: str, follow: Follow | None = None) -> dict[str, Input]:
    """The tables an analyzed plan reads -> their states. Spark reads no older list of their files afterwards.

    follow: the column in whose order rows come, in the tables that have it.
    """
    of_files = roundtrip.file_tables(plan)
    every = dict.fromkeys([*of_files, *roundtrip.other_tables(plan)])
    return {table: _observe(warehouse, table, table in of_files, follow) for table in every}


def observe_files(warehouse: Warehouse, plan: str) -> dict[str, str]:
    """The tables an analyzed plan reads -> how many files they have and of how many bytes, in words."""
    of_files = roundtrip.file_tables(plan)
    found = {}
    for table in dict.fromkeys([*of_files, *roundtrip.other_tables(plan)]):
        found[table] = size(warehouse, quoted(table), table in of_files)
    return found


def size(warehouse: Warehouse, table: str, of_files: bool = True) -> str:
    """How many files a table (as SQL names it) has and of how many bytes, in words."""
    told = warehouse.table(table)
    provider = told.details.get("Provider", "").lower()
    if of_files and provider in _SPARK_FILES:
        asked = f"SELECT count(*), coalesce(sum(size), 0) FROM ({_scan(table, told.partitions, provider)})"
    elif provider == "iceberg":
        asked = f"SELECT count(*), coalesce(sum(file_size_in_bytes), 0) FROM {table}.files"
    else:
        return f"a {told.details.get('Provider', 'table')} table, whose files are not listed"
    count, total = warehouse.rows(asked)[0]
    return f"{count} files, {int(total):,} bytes"


def _observe(warehouse: Warehouse, table: str, of_files: bool, follow: Follow | None = None) -> Input:
    name = quoted(table)
    told = warehouse.table(name)
    provider = told.details.get("Provider", "").lower()
    version = versions.of(warehouse, name, provider)
    if version:
        return Input(table, VERSION, f"{VERSION} {version}")
    if follow:
        warehouse.rows(f"REFRESH TABLE {name}")
        told_by = appended.observe(warehouse, name, told, follow)
        if told_by:
            return Input(table, COLUMN, *told_by)
    if not (of_files and provider in _SPARK_FILES):
        return Input(table, ROWS, f"{ROWS} {_checksum(warehouse, name, told)}")
    location, options = told.details.get("Location", ""), told.details.get("Storage Properties", "[]")
    form = repr((told.columns, told.partitions, provider, location, options))
    read_as = hashlib.sha256(form.encode()).hexdigest()[:8]
    if not told.partitions and options == "[]" and re.fullmatch(_PLAIN_PATH, location):
        listing = _directory(location)
        try:
            summary, odd, _ = _summary(warehouse, listing)
        except Exception:  # a table without a directory has no files in one
            odd = 1
        if not odd:
            warehouse.rows(f"REFRESH TABLE {name}")
            return Input(table, FILES, f"{FILES} {summary} as {read_as}", listing, "_metadata.file_name")
    warehouse.rows(f"REFRESH TABLE {name}")
    listing = _scan(name, told.partitions, provider)
    counted = provider not in _NUMBERED
    summary, _, rows = _summary(warehouse, listing, "sum(mz_rows)" if counted else "0")
    said = f"{FILES} {summary} as {read_as}"
    return Input(table, FILES, said, listing, "_metadata.file_path", rows if counted else None)


def is_still(warehouse: Warehouse, seen: Input) -> bool:
    """Whether an input is as it was seen, as far as that is told."""
    if seen.way == STACKED:  # its chains are never written again
        return True
    if seen.way == FILES:
        if seen.pin == "_metadata.file_path":
            warehouse.rows(f"REFRESH TABLE {quoted(seen.relation)}")
        return seen.said.startswith(f"{FILES} {_summary(warehouse, seen.listing)[0]} as ")
    if seen.way == COLUMN:
        return appended.is_still(warehouse, seen.said, seen.listing)
    return seen.way == ROWS or _observe(warehouse, seen.relation, False).said == seen.said


def change(warehouse: Warehouse, now: Input, said: str | None, watermark: str | None) -> Change:
    """What an input did since its state was `said`. watermark: the table of the files it had then."""
    if said is None:
        return Change("not read before")
    if not now.told:
        return Change("nothing but its rows tells whether it changed")
    if now.said == said:
        return Change("no change", same=True)
    if now.way == VERSION and said.startswith(VERSION):
        name = quoted(now.relation)
        why, told = versions.changes(warehouse, name, *(s.removeprefix(f"{VERSION} ") for s in (said, now.said)))
        return Change(why, added=told)
    before = ""
    if watermark is not None:
        before = remembered(now.relation, watermark)
    if now.way == COLUMN and said.startswith(COLUMN):
        name = quoted(now.relation)
        why, added, broken = appended.changes(warehouse, name, warehouse.table(name), said, now.said, before)
        return Change(why, added=added, broken=broken)
    if now.way == COLUMN:
        return Change("it was not followed by append_column before")
    if now.way != FILES or not said.startswith(FILES):
        return Change(f"{said} is now {now.said}")
    if now.said.split(" as ")[1] != said.split(" as ")[1]:
        return Change("its columns, place or options changed")
    if not before:
        return Change("the list of the files it had is gone")
    sql = (
        f"SELECT count_if(is_new IS NULL), count_if(is_old IS NULL), count(*),\n"
        f"  concat_ws(chr(10), slice(array_sort(collect_list(IF(is_old IS NULL, file, NULL))), 1, {MOST_FILES})),\n"
        f"  {_hash('is_old')}\n"
        f"FROM (SELECT {_COLUMNS}, true AS is_new FROM ({now.listing}))\n"
        f"FULL OUTER JOIN (SELECT *, true AS is_old FROM ({before})) USING ({_COLUMNS})"
    )
    gone, new, every, names, content = warehouse.rows(sql)[0]
    if f" {content} as " not in said:
        return Change("the files remembered are not those of its state")
    if int(gone):
        return Change(f"{gone} of {int(every) - int(new)} files are gone or changed")
    if int(new) > MOST_FILES:
        return Change(f"{new} new files, more than are named one by one")
    return Change(f"{new} new files of {every}", added=Added(now.pin, tuple(names.split("\n"))))


def stacked_change(stack: Stack, now: Input, said: str | None) -> Change:
    """What a temporal view that is read did since its state was `said`."""
    if now.said == said:
        return Change("no change", same=True)
    why, told = stack.change(now.relation, said)
    return Change(why, added=AddedChains(stack) if told else None)


def watermark(inputs: Iterable[Input]) -> str | None:
    """SQL of the files of all inputs (relation, file, size, modified, place)."""
    parts = [
        f"SELECT {string_literal(i.relation)} AS relation, {_COLUMNS} FROM ({i.listing})" for i in inputs if i.listing
    ]
    return "\nUNION ALL\n".join(parts) or None


def remembered(relation: str, watermark: str) -> str:
    """SQL of what a table remembers of an input (file, size, modified, place)."""
    return f"SELECT {_COLUMNS} FROM {watermark} WHERE relation = {string_literal(relation)}"


def count_rows(
    warehouse: Warehouse,
    read: Mapping[str, capture.Change | None],
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


def _counts(name: str, added: capture.Change | None) -> list[str]:
    if isinstance(added, AddedRows):
        return [f"(SELECT count(*) FROM {source})" for source in (added.came, added.went) if source]
    where = f" WHERE {added.condition}" if isinstance(added, Added) else ""
    return [f"(SELECT count(*) FROM {quoted(name)}{where})"]


def quoted(table: str) -> str:
    return ".".join(quote(part) for part in table.split("."))


def _directory(location: str) -> str:
    """The files right in a directory; below it, or with other names, they have a place."""
    name = "substring_index(path, '/', -1)"
    right_in_it = f"path = concat({string_literal(location + '/')}, {name}) AND {name} RLIKE '{_PLAIN_NAME}'"
    return (
        f"SELECT {name} AS file, length AS size, unix_millis(modificationTime) AS modified,\n"
        f"  IF({right_in_it}, '', path) AS place\n"
        f"FROM binaryFile.`{location}`"
    )


def _scan(name: str, partitions: Sequence[str], provider: str) -> str:
    """The files of a table and the partition each is in, by what Spark says of the first row of each.

    Of files whose rows have no numbers all are looked at, and counted (mz_rows). What is told in words is made once for
    each file.
    """
    values = [f"mz_p{i}" for i, _ in enumerate(partitions)]
    of_rows = "".join(f", {quote(p)} AS {value}" for p, value in zip(partitions, values))
    place = f"CAST(struct({', '.join(['true', *values])}) AS STRING)"
    first, count = (" WHERE _metadata.row_index = 0", "") if provider in _NUMBERED else ("", ", count(*) AS mz_rows")
    return (
        f"SELECT file, size, unix_millis(mz_at) AS modified, {place} AS place{count}\n"
        f"FROM (\n"
        f"  SELECT _metadata.file_path AS file, _metadata.file_size AS size, _metadata.file_modification_time AS mz_at"
        f"{of_rows}\n"
        f"  FROM {name}{first}\n"
        f")\n"
        f"GROUP BY {', '.join(['file, size, mz_at', *values])}"
    )


def _summary(warehouse: Warehouse, listing: str, rows: str = "0") -> tuple[str, int, int]:
    """How many files, their bytes and a hash of the list; how many of them have a place; how many rows there are."""
    asked = f"count(*), coalesce(sum(size), 0), count_if(place <> ''), {_hash('true')}, coalesce({rows}, 0)"
    count, size, placed, content, held = warehouse.rows(f"SELECT {asked}\nFROM ({listing})")[0]
    return f"{count}, {size} bytes, {content}", int(placed), int(held)


def _hash(condition: str) -> str:
    """SQL: what tells the files for which a condition holds from others, in 16 hex digits."""
    file = f"concat_ws('|', {_COLUMNS})"
    return f"left(sha2(concat_ws(',', array_sort(collect_list(IF({condition}, {file}, NULL)))), 256), 16)"


def _checksum(warehouse: Warehouse, name: str, table: TableInfo) -> str:
    try:
        count, total = appended.checksum(warehouse, name, appended.content_of(table))
        return f"{count}, sum {total}"
    except Exception:  # a type that has no hash: a test then cannot tell a changed input from another
        return f"{warehouse.rows(f'SELECT count(*) FROM {name}')[0][0]}"
