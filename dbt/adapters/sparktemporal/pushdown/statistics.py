"""Makes the SQL that collects statistics of the files of inputs.

    relation  file  size  modified  place   mz_rows  mz_min_0  mz_max_0  mz_nulls_0  ...

A row describes one file as it was: a file with another size or time is a new file. The number in the name of a column
is the number of a leaf (a measured expression), counted over all inputs. Columns of another input's leaves are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..temporal.ivm.delta_query import MOST_FILES
from ..temporal.sql.functions.calls import nondeterministic
from ..temporal.sql.functions.registry import known as known_function
from ..temporal.sql.spark.timestamps import sql_type
from ..temporal.sql.text.dialect import quote, string_literal
from .metrics_evaluator import Leaf

_KEY = "file, size, modified, place"
#: types whose least and greatest values agree with comparisons
_ORDERED = (
    "tinyint", "smallint", "int", "bigint", "decimal", "float", "double", "string", "boolean", "date", "timestamp",
    "timestamp_ntz", "interval day", "interval hour", "interval minute", "interval second", "interval year",
    "interval month",
)  # fmt: skip
_TIME = ("timestamp", "date")
#: at most so many expressions that are no times are measured of an input
MOST_LEAVES = 16
#: characters that are kept of a text; the upper end then gets the last character of Unicode
LETTERS, _LAST = 64, "decode(unhex('F48FBFBF'), 'UTF-8')"


@dataclass(frozen=True)
class Measured:
    """An input whose files have statistics."""

    relation: str
    #: the input in SQL
    source: str
    #: the field of Spark's hidden column that names a file
    file: str
    #: (name, type)
    partitions: Sequence[tuple[str, str]]
    #: SQL of the present files (file, size, modified, place)
    listing: str
    #: rendered expression -> its statistics
    leaves: Mapping[str, Leaf]

    @property
    def hidden(self) -> str:
        """Spark's hidden column with the file of a row."""
        return self.file.rpartition(".")[0]

    @property
    def by_path(self) -> bool:
        """Whether files are named by their paths: they may lie in several directories."""
        return self.file.endswith(".file_path")


def chosen(
    wants: Mapping[str, exp.Expr], types: Mapping[str, str], hints: Sequence[str], functions: frozenset[str]
) -> list[str]:
    """The expressions to measure: all times, then at most `MOST_LEAVES` others, those over hinted columns first.

    wants: text -> expression. types: text -> Spark type. hints: names of columns.
    functions: Spark's own functions. An expression that calls any other function is not measured.
    """
    hinted = {hint.lower() for hint in hints}
    kept = []
    for text, node in wants.items():
        kind = types.get(text, "")
        if not _is_ordered(kind) or nondeterministic(node) is not None:
            continue
        if not all(_depends_on_arguments_alone(n, functions) for n in node.walk() if isinstance(n, exp.Anonymous)):
            continue
        is_hinted = any(column.name.lower() in hinted for column in node.find_all(exp.Column))
        kept.append((not kind.startswith(_TIME), not is_hinted, text))
    times = [text for no_time, _, text in kept if not no_time]
    others = [text for no_time, _, text in sorted(kept, key=lambda item: item[:2]) if no_time]
    return times + others[:MOST_LEAVES]


def _is_ordered(kind: str) -> bool:
    """Whether a type has a least and a greatest value. An `interval` of months, days and microseconds has none."""
    return kind.startswith(_ORDERED) and kind != "interval" and "collate" not in kind


def _depends_on_arguments_alone(call: exp.Anonymous, functions: frozenset[str]) -> bool:
    """Whether the arguments of a call alone decide its value. functions: Spark's own functions."""
    called = known_function(call.name, len(call.expressions))
    return not isinstance(call.parent, exp.Dot) and called.name in functions and not called.depends_on


def partition_text(values: Sequence[str]) -> str:
    """SQL of a partition as text, from its values. Partitions have one text only if they have the same values.

    The lengths tell NULL from 'null', and the values ('a, b', 'c') from ('a', 'b, c').
    """
    lengths = [f"length(CAST({value} AS STRING))" for value in values]
    return f"CAST(struct({', '.join(['true', *values, *lengths])}) AS STRING)"


def collect(one: Measured, every: Mapping[int, str], where: str) -> str:
    """A query: the statistics of the files of an input.

    every: index -> type, of the leaves of all inputs. where: a WHERE that selects files, or "".
    """
    parts = [f"mz_p{i}" for i, _ in enumerate(one.partitions)] if one.by_path else []
    of_rows = "".join(f", {quote(name)} AS {part}" for part, (name, _) in zip(parts, one.partitions))
    place = partition_text(parts) if one.by_path else "''"
    by_index = {leaf.index: text for text, leaf in one.leaves.items()}
    values = "".join(f",\n    {text} AS mz_e{index}" for index, text in by_index.items())
    items = []
    for index, kind in every.items():
        low, high, nulls = f"min(mz_e{index})", f"max(mz_e{index})", f"count_if(mz_e{index} IS NULL)"
        if index not in by_index:
            low, high, nulls = (
                f"CAST(NULL AS {sql_type(kind)})",
                f"CAST(NULL AS {sql_type(kind)})",
                "CAST(NULL AS BIGINT)",
            )
        elif kind == "string":
            cut = f"concat(left({high}, {LETTERS}), {_LAST})"
            high = f"IF(length({high}) <= {LETTERS}, {high}, IF({cut} >= {high}, {cut}, NULL))"
            low = f"left({low}, {LETTERS})"
        items += [f"{value} AS {name}" for value, name in zip((low, high, nulls), Leaf(index, kind).columns)]
    measured = "".join(f",\n  {item}" for item in items)
    return (
        f"SELECT {string_literal(one.relation)} AS relation, file, size, unix_millis(mz_at) AS modified,\n"
        f"  {place} AS place, count(*) AS mz_rows{measured}\n"
        f"FROM (\n"
        f"  SELECT {one.file} AS file, {one.hidden}.file_size AS size,\n"
        f"    {one.hidden}.file_modification_time AS mz_at{of_rows}{values}\n"
        f"  FROM {one.source}{where}\n"
        f") AS mz_files\n"
        f"GROUP BY {', '.join(['file, size, mz_at', *parts])}"
    )


def computed(one: Measured) -> str:
    """A query that computes every measured expression of an input, to find whether one raises an error."""
    return f"SELECT count(*) FROM {one.source} WHERE xxhash64({', '.join(one.leaves)}) = 0"


def of_files(one: Measured, every: Mapping[int, str], known: Sequence[str]) -> str:
    """A query: the present files of an input, each with its statistics. known: queries of statistics."""
    columns = [name for index, kind in every.items() for name in Leaf(index, kind).columns]
    listed = "".join(f", {name}" for name in ("mz_rows", *columns))
    every_known = "\nUNION ALL\n".join(f"SELECT {_KEY}{listed} FROM (\n{query}\n)" for query in known)
    return (
        f"SELECT {string_literal(one.relation)} AS relation, {_KEY}{listed}\n"
        f"FROM (SELECT {_KEY} FROM ({one.listing})) AS mz_now\n"
        f"LEFT JOIN (\n{every_known}\n) AS mz_known USING ({_KEY})"
    )


def known(one: Measured, table: str) -> str:
    """A query: the rows of a table of statistics about one input, without the rows that lack statistics."""
    return f"SELECT * FROM {table} WHERE relation = {string_literal(one.relation)} AND mz_rows IS NOT NULL"


def unknown(one: Measured, table: str) -> str:
    """A query of one row: the number of new files, the first of their names (JSON), the number of files that are gone.

    A file that was measured and has no rows is not new.
    """
    looked_at = f"SELECT {_KEY}, true AS is_known FROM {table} WHERE relation = {string_literal(one.relation)}"
    return (
        f"SELECT count_if(is_known IS NULL),\n"
        f"  to_json(slice(array_sort(collect_list(IF(is_known IS NULL, file, NULL))), 1, {MOST_FILES})),\n"
        f"  count_if(is_there IS NULL)\n"
        f"FROM (SELECT *, true AS is_there FROM ({one.listing}))\n"
        f"FULL OUTER JOIN ({looked_at}) USING ({_KEY})"
    )


def in_files(one: Measured, files: Sequence[str]) -> str:
    return f"{one.file} IN ({', '.join(map(string_literal, files))})"


def is_file(one: Measured, file: str) -> str:
    """A condition over a table of statistics: the row is about this file of the input."""
    return f"relation = {string_literal(one.relation)} AND file = {string_literal(file)}"
