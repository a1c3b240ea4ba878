"""Data skipping: the SQL that judges the files of an input by their statistics, and selects the files to read.

Files are left out by name, or by the value of a partition, so a file without statistics is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ..temporal.ivm.delta_query import MOST_FILES
from ..temporal.sql.text.dialect import quote, string_literal
from .metrics_evaluator import Leaf
from .statistics import LETTERS, Measured

#: types of partition columns whose values differ as texts
_NAMED = ("tinyint", "smallint", "int", "bigint", "date", "string", "boolean")


def judged(one: Measured, table: str, may_matter: str) -> str:
    """A query: the files of an input, with their partitions as texts, and whether each may matter (kept).

    table: from `of_files`. A file is named by its path alone, so a file in two partitions is kept in both or in none.
    """
    parts = "".join(f", CAST({_leaf(one, name).columns[0]} AS STRING) AS mz_p{i}" for i, name, _ in _partitions(one))
    kept = f"mz_rows IS NULL OR coalesce({may_matter}, true)"
    kept = f"bool_or({kept}) OVER (PARTITION BY file)" if one.by_path and one.partitions else kept
    return (
        f"SELECT file, size, modified{parts}, mz_rows, mz_rows IS NULL AS unknown,\n"
        f"  {kept} AS kept\n"
        f"FROM {table} WHERE relation = {string_literal(one.relation)}"
    )


def _leaf(one: Measured, column: str) -> Leaf:
    return one.leaves[quote(column.lower())]


def _partitions(one: Measured) -> list[tuple[int, str, str]]:
    """The partition columns by whose values files can be left out: (number, name, type)."""
    named = [(i, name, kind) for i, (name, kind) in enumerate(one.partitions) if kind in _NAMED]
    return [part for part in named if quote(part[1].lower()) in one.leaves]


@dataclass(frozen=True)
class PruningResult:
    """The part of an input that is read after pruning: `files` of `of_files`, and `bytes` of `of_bytes`."""

    files: int
    bytes: int
    of_files: int
    of_bytes: int
    #: the rows in the files that are read; None where a file has no statistics, or there is no file
    rows: int | None
    #: SQL over the input that selects the files, "" for all files
    condition: str = ""


def summed(one: Measured, relation: str) -> str:
    """A query of one row over judged files: counts, and the names from which `left` makes a condition.

    These are the files left out, the files kept, and the partitions without a file to keep. Partitions are named only
    where every file has statistics: a file without statistics may lie in any partition. The files of a named partition
    are not named one by one.
    """
    parts = _partitions(one)
    named = [f"length(mz_p{i}) < {LETTERS} AND NOT bool_or(kept) OVER (PARTITION BY mz_p{i})" for i, _, _ in parts]
    by_partition = f"NOT bool_or(unknown) OVER () AND ({' OR '.join(named)})" if named else "false"
    files = ", ".join(
        f"to_json(slice(array_sort(collect_list(IF({which}, file, NULL))), 1, {MOST_FILES}))"
        for which in ("NOT kept AND NOT mz_by_partition", "kept")
    )
    values = "".join(
        f",\n  (SELECT to_json(slice(array_sort(collect_list(value)), 1, {MOST_FILES + 1})) FROM "
        f"(SELECT mz_p{i} AS value FROM mz_judged GROUP BY mz_p{i} HAVING NOT bool_or(kept) AND length(mz_p{i}) < "
        f"{LETTERS}) WHERE NOT EXISTS (SELECT 1 FROM mz_judged WHERE unknown))"
        for i, _, _ in parts
    )
    return (
        f"WITH mz_judged AS (\n"
        f"SELECT *, coalesce({by_partition}, false) AS mz_by_partition\nFROM (\n{relation}\n))\n"
        f"SELECT count(*), coalesce(sum(size), 0), count_if(kept), coalesce(sum(IF(kept, size, 0)), 0),\n"
        f"  coalesce(max(modified), 0), coalesce(min(IF(kept, modified, NULL)), 0),\n"
        f"  count_if(NOT kept AND NOT mz_by_partition), IF(bool_or(unknown), NULL, sum(IF(kept, mz_rows, 0))),\n"
        f"  {files}{values}\n"
        f"FROM mz_judged"
    )


def left(one: Measured, row: Sequence[object]) -> PruningResult:
    """The row of `summed` -> the files that are left, with the condition that selects them."""
    of_files, of_bytes, files, size, newest, oldest, others = (int(str(v)) for v in row[:7])
    rows = None if row[7] is None else int(str(row[7]))
    gone, kept = (json.loads(str(v)) for v in row[8:10])
    parts = []
    for (_, name, kind), value in zip(_partitions(one), row[10:]):
        values = json.loads(str(value or "[]"))
        if len(values) > MOST_FILES:  # too many partitions to name: their files are named, or selected by time
            others = of_files - files
        elif values:
            listed = ", ".join(f"CAST({string_literal(v)} AS {kind.upper()})" for v in values)
            parts.append(f"({quote(name)} IS NULL OR {quote(name)} NOT IN ({listed}))")
    if others:
        if others <= min(MOST_FILES, len(gone)):
            parts.append(f"NOT {one.file} IN ({', '.join(map(string_literal, gone))})")
        elif files <= MOST_FILES:
            newer = f"{one.hidden}.file_modification_time > timestamp_millis({newest}L)"
            listed = ", ".join(map(string_literal, kept))
            parts.append(f"({one.file} IN ({listed}) OR {newer})" if kept else newer)
        else:
            parts.append(f"{one.hidden}.file_modification_time >= timestamp_millis({oldest}L)")
    return PruningResult(files, size, of_files, of_bytes, rows, " AND ".join(parts))


def audited(relation: str, share: float, most_bytes: int, seed: str) -> str:
    """A query: a random share of the files that are left out, up to a number of bytes and of files; at least one file.

    relation: from `judged`.
    """
    return (
        f"SELECT file FROM (\n"
        f"  SELECT file, row_number() OVER by_chance AS mz_nth, sum(size) OVER by_chance AS mz_upto,\n"
        f"    count(*) OVER () AS mz_all\n"
        f"  FROM (SELECT *, xxhash64(file, {string_literal(seed)}) AS mz_hash FROM (\n{relation}\n  ) WHERE NOT kept)\n"
        f"  WINDOW by_chance AS (ORDER BY mz_hash, file ROWS UNBOUNDED PRECEDING)\n"
        f") WHERE mz_nth <= ceil({share!r} * mz_all) AND mz_nth <= {MOST_FILES}\n"
        f"AND (mz_nth = 1 OR mz_upto <= {most_bytes})"
    )
