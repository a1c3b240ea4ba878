"""The tables at the leaves of an analyzed plan, as Spark prints them.

    Relation spark_catalog.s.t[id#0,x] y#1] parquet             tables of files and of connectors
    RelationV2[id#0, x] y#1] c.`a.b`.`t u` VERSION AS OF '7'    of other catalogs
    HiveTableRelation [`spark_catalog`.`s`.`t`, …]              of Hive's formats

Spark quotes names where necessary, and columns never. So the table is read from the end of the line, after the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..text.dialect import string_literal
from ..text.identifiers import PART, dotted, parts

_NAME = rf"{PART}(?:\.{PART})*"
_FILES = re.compile(r"Relation ([^\s\[]+)\[.*\] (?:parquet|orc|csv|json|text)\b[^\]]*$")
_PLAIN = re.compile(r"Relation ([^\s\[]+)\[.*\] \w")
_HIVE = re.compile(r"HiveTableRelation \[(`[^\]]+?`),")
#: an old Spark prints a name twice
_VERSIONED = re.compile(rf"RelationV2\[.*\] ({_NAME})(?: (?:({_NAME})|((?:VERSION|TIMESTAMP) AS OF .*)))? *$")
_PARTITION = re.compile(r"\b_partition#\d")
_INSTANT = re.compile(r"TIMESTAMP AS OF (\d+)")
_START = re.compile(r"\b(?:Relation |RelationV2\[|HiveTableRelation \[).*")


def table_of(leaf: str) -> str | None:
    """A leaf of a plan -> its table, as Spark quotes names; None for a leaf without a table or without its name.

    >>> table_of("RelationV2[id#0, x] y#1] c.`a.b`.`t] u`"), table_of("Relation c.s.t[k#0] parquet")
    ('c.`a.b`.`t] u`', 'c.s.t')
    >>> table_of("HiveTableRelation [`c`.`s`.`t`, org.Serde, Data Cols: [k#0]]"), table_of("RelationV2[id#0, of two")
    ('c.s.t', None)
    """
    for form in (_VERSIONED, _HIVE, _PLAIN):
        found = form.match(leaf)
        if found:
            return dotted(parts(found.group(1)))
    return None


def has_columns(plan: str, table: str, columns: Iterable[str]) -> bool:
    """Whether the leaves of a plan that read a table of files show these columns, in this order.

    >>> plan = "Relation c.s.t[k#0L,a,b#1] parquet"
    >>> has_columns(plan, "c.s.t", ["k", "a,b"]), has_columns(plan, "c.s.t", ["k"]), has_columns(plan, "c.s.u", ["k"])
    (True, False, True)
    """
    shown = ",".join(rf"{re.escape(column)}#\d+L?" for column in columns)
    form = re.compile(rf"Relation [^\s\[]+\[{shown}(?:,_+metadata#\d+)?\] \w")
    return all(form.match(leaf) for leaf in _START.findall(plan) if _FILES.match(leaf) and table_of(leaf) == table)


def uses_column(plan: str, table: str, column: str, fields: str = "") -> bool:
    """Whether a plan names a column of a table of files above the leaf that reads the table; a STRING, or a STRUCT.

    fields: how the names of the fields begin, where the other fields of a STRUCT do not count.

    >>> plan = "Project [k#1]\\n+- Relation c.s.t[k#1,b#10] csv"
    >>> uses_column(plan, "c.s.t", "k"), uses_column(plan, "c.s.t", "b"), uses_column(plan, "c.s.u", "k")
    (True, False, False)
    >>> plan = "Project [{} AS a#7]\\n+- Relation c.s.t[k#1,m#5] parquet"
    >>> [uses_column(plan.format(item), "c.s.t", "m", "file_b") for item in ("m#5.file_path", "m#5.file_block", "m#5")]
    [False, True, True]
    """
    leaves = [leaf for leaf in _START.findall(plan) if table_of(leaf) == table]
    ids = [one for leaf in leaves for one in re.findall(rf"[\[,]{re.escape(column)}(#\d+)", leaf)]
    end = rf"\b(?!\.(?!{fields}))" if fields else r"\b"
    return any(len(re.findall(one + end, plan)) > ids.count(one) for one in ids)


def file_tables(plan: str) -> list[str]:
    """The file-based tables that a plan reads, as catalog.schema.table."""
    return _named(leaf for leaf in _START.findall(plan) if _FILES.match(leaf))


def other_tables(plan: str) -> list[str]:
    """The tables that a plan reads, except `file_tables`."""
    files = file_tables(plan)
    return [table for table in _named(_START.findall(plan)) if table not in files]


def versions_read(plan: str) -> dict[str, tuple[str, ...]]:
    """The versioned tables that a plan reads -> the versions read, as SQL after the name; "" for the current version.

    A table is left out where its version is not known: an old Spark prints names twice, without a version, and
    Iceberg's hidden column `_partition` has the fields of all partitions, not those of one version.

    >>> versions_read("RelationV2[id#0] c.s.t\\nRelationV2[id#1] c.s.t VERSION AS OF 'it's'")
    {'c.s.t': ('', "VERSION AS OF 'it\\\\'s'")}
    >>> versions_read("RelationV2[id#0] c.s.t\\nRelationV2[id#1, _partition#2] c.s.t")
    {}
    """
    found: dict[str, list[str]] = {}
    for leaf in _START.findall(plan):
        table, versioned = table_of(leaf), _VERSIONED.match(leaf)
        if table and versioned:
            is_told = not versioned.group(2) and not _PARTITION.search(leaf)
            found.setdefault(table, []).append(_as_sql((versioned.group(3) or "").strip()) if is_told else "untold")
    return {table: tuple(sorted(set(versions))) for table, versions in found.items() if "untold" not in versions}


def _as_sql(version: str) -> str:
    """A version as Spark prints it -> SQL. Spark prints its text without escapes, and an instant in microseconds."""
    if version.startswith("VERSION AS OF '"):
        return version_as_of(version.removeprefix("VERSION AS OF '")[:-1])
    return _INSTANT.sub(r"TIMESTAMP AS OF timestamp_micros(\1L)", version)


def version_as_of(version: str) -> str:
    """The name of a branch or a tag, or the number of a snapshot -> SQL to put after the name of a table."""
    return f"VERSION AS OF {string_literal(version)}"


def _named(leaves: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(table_of, leaves))))
