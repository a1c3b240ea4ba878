"""How what is left out of an input is said to Spark."""

from __future__ import annotations

import json

import duckdb
import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.pushdown.metrics_evaluator import Leaf
from dbt.adapters.sparktemporal.pushdown.skipping import MOST_FILES, audited, left
from dbt.adapters.sparktemporal.pushdown.statistics import Measured, chosen

PLAIN = Measured("s.t", "`s`.`t`", "_metadata.file_name", (), "", {"`ts`": Leaf(0, "timestamp")})
BY_DAY = Measured(
    "s.t",
    "`s`.`t`",
    "_metadata.file_path",
    (("Day", "date"),),
    "",
    {"`ts`": Leaf(0, "timestamp"), "`day`": Leaf(1, "date")},
)


def row(gone: list[str], kept: list[str], files: int, of_files: int, *partitions: list[str]) -> list[object]:
    lists = [json.dumps(names[:MOST_FILES]) for names in (gone, kept)]
    counts = [of_files, 10 * of_files, files, 10 * files, 2_000, 1_000, len(gone), 7 * files]
    return [*counts, *lists, *map(json.dumps, partitions)]


def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def test_few_files_are_named() -> None:
    told = left(PLAIN, row(["a", "b'c"], ["d"], 1, 3))
    assert told.condition == "NOT _metadata.file_name IN ('a', 'b\\'c')"
    assert (told.files, told.of_files, told.bytes, told.of_bytes, told.rows) == (1, 3, 10, 30, 7)


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    assert left(PLAIN, row([], ["a", "b"], 2, 2)).condition == ""


def test_of_many_files_those_that_matter_are_named_and_what_is_newer() -> None:
    told = left(PLAIN, row(names("a", MOST_FILES + 1), ["d", "e"], 2, MOST_FILES + 3))
    newer = "_metadata.file_modification_time > timestamp_millis(2000L)"
    assert told.condition == f"(_metadata.file_name IN ('d', 'e') OR {newer})"
    assert left(PLAIN, row(names("a", MOST_FILES + 1), [], 0, MOST_FILES + 1)).condition == newer


def test_of_many_that_matter_it_is_said_when_they_were_written() -> None:
    many = MOST_FILES + 1
    told = left(PLAIN, row(names("a", many), names("d", many), many, 2 * many))
    assert told.condition == "_metadata.file_modification_time >= timestamp_millis(1000L)"


def test_partitions_are_named_by_their_values() -> None:
    days = ["2024-01-01", "2024-01-02"]
    told = left(BY_DAY, row([], ["d"], 1, 3, days))
    listed = ", ".join(f"CAST('{day}' AS DATE)" for day in days)
    assert told.condition == f"(`Day` IS NULL OR `Day` NOT IN ({listed}))"
    both = left(BY_DAY, row(["x"], ["d"], 1, 4, days)).condition
    assert both == f"{told.condition} AND NOT _metadata.file_path IN ('x')"


def test_more_partitions_than_are_named_are_told_by_their_files() -> None:
    many = MOST_FILES + 1
    told = left(BY_DAY, row([], ["d"], 1, many + 1, names("p", many)))
    assert told.condition.startswith("(_metadata.file_path IN ('d') OR _metadata.file_modification_time > ")


@pytest.mark.parametrize(
    ("sizes", "share", "most_bytes", "count"),
    [
        ([], 1, 64, 0),
        ([10] * 20, 0.01, 64, 1),
        ([10] * 20, 0.2, 64, 4),
        ([10] * 20, 1, 64, 6),
        ([10] * 20, 1, 5, 1),  # each file is larger than an audit may read: one is read
        ([10] * 3, 1, 30, 3),
    ],
)
def test_an_audit_reads_one_file_at_least(sizes: list[int], share: float, most_bytes: int, count: int) -> None:
    files = ", ".join(f"('f{i}', {size}, false)" for i, size in enumerate([*sizes, 0]))
    relation = f"SELECT * FROM (VALUES {files}, ('kept', 1, true)) AS t (file, size, kept) WHERE size > 0"
    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO xxhash64(a, b) AS hash(a || b)")
        read = connection.execute(audited(relation, share, most_bytes, "a seed")).fetchall()
    assert len(read) == len(set(read)) == count and ("kept",) not in read


def test_types_without_a_least_value_are_not_measured() -> None:
    """An interval of months and days has none, and a CHAR or a collated text is not compared as its bytes are."""
    kinds = {
        "a": "int", "b": "interval", "c": "interval day to second", "d": "string collate UTF8_LCASE", "e": "char(5)"
    }  # fmt: skip
    assert chosen({name: exp.column(name) for name in kinds}, kinds, [], frozenset()) == ["a", "c"]
