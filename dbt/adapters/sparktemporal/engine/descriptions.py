"""Views and tables as Spark describes them: DESCRIBE TABLE EXTENDED and SHOW CREATE TABLE -> ViewInfo, TableInfo.

| catalog | text of a view | the statement that replaces the text in one commit |
|---|---|---|
| `spark_catalog`, views of Hive | DESCRIBE | `ALTER VIEW … AS` |
| `spark_catalog`, views of Iceberg | DESCRIBE | `CREATE OR REPLACE VIEW` |
| any other catalog, views of Iceberg | SHOW CREATE TABLE | `CREATE OR REPLACE VIEW` |
| any other catalog, views by the interface of Spark 4.2 | DESCRIBE | `ALTER VIEW … AS` |

SHOW CREATE TABLE of a catalog of Iceberg prints names of columns without quotes. Comments and properties are quoted,
with a backslash before each quote:

    CREATE VIEW lake.s.v (
      id,
      k COMMENT 'the key')
    COMMENT 'rows in the window'
    TBLPROPERTIES (
      'provider' = 'iceberg')
    AS
    SELECT * FROM s.v__live
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]

#: the verbs that replace the text of a view in one commit and keep its comment and properties
ALTER, REPLACE = "ALTER VIEW", "CREATE OR REPLACE VIEW"
#: the verb that replaces the text in a table, where a catalog has no views: see `commit_records`
UPDATE = "UPDATE"
#: the headings between columns in DESCRIBE; a column may be called `# of items`, or as a heading, and then has a type
_DETAILS = ("# Detailed Table Information", "# Detailed View Information")
_HEADINGS = (
    "# Partition Information", "# col_name", "# Partitioning", "# Clustering Information", "# Metadata Columns"
)  # fmt: skip
_NO_TYPES = ("", "data_type")
_STRING = r"'(?:[^'\\]|\\.)*'"
_PROPERTIES = re.compile(rf"TBLPROPERTIES \(\n(?:  {_STRING} = {_STRING},?\n?)+\)\nAS\n", re.DOTALL)


@dataclass(frozen=True)
class ViewInfo:
    """A view as the metastore has it."""

    text: str
    #: column -> its comment, "" for none
    comments: Mapping[str, str]
    #: the comment of the view
    comment: str | None
    #: the verb that replaces the text in one commit and keeps comment and properties. Iceberg refuses `ALTER VIEW`, and
    #: its `CREATE OR REPLACE VIEW` is one commit of metadata. Elsewhere this statement loses comment and properties
    rewrite: str = ALTER
    #: the catalog and the schema in which names of the text are looked up
    namespace: tuple[str, ...] = ()

    def has_text(self, text: str) -> bool:
        """Whether the text of the view equals `text`, spaces aside."""
        return self.text.split() == text.split()


@dataclass(frozen=True)
class TableInfo:
    """A table as the metastore has it."""

    #: (name, type)
    columns: tuple[tuple[str, str], ...]
    #: the names of the partition columns
    partitions: tuple[str, ...]
    #: other lines of DESCRIBE: name -> value
    details: Mapping[str, str]
    #: (name, value) of columns with a default
    defaults: tuple[tuple[str, str], ...] = ()

    @property
    def provider(self) -> str:
        """The format of the table in lower case; "" where the catalog tells no format."""
        return self.details.get("Provider", "").lower()


def text_of(created: str) -> str | None:
    """The statement that SHOW CREATE TABLE shows in a named catalog -> the text of the view; None for a table.

    >>> text_of("CREATE VIEW l.s.v (\\n  id)\\nTBLPROPERTIES (\\n  'a' = 'it\\\\'s',\\n  'b' = '')\\nAS\\nSELECT 1\\n")
    'SELECT 1'
    >>> text_of("CREATE TABLE l.s.t (\\n  id INT)\\nUSING iceberg\\n") is None
    True
    """
    found = _PROPERTIES.search(created) if created.startswith("CREATE VIEW ") else None
    return created[found.end() :].removesuffix("\n") if found else None


def is_view(described: Sequence[Row]) -> bool:
    """Whether the rows of DESCRIBE TABLE EXTENDED are of a view, also where they lack the view's text."""
    return any(name == "# Detailed View Information" and not value for name, value, _ in described)


def view(described: Sequence[Row], created: str | None = None) -> ViewInfo | None:
    """The view in the rows of DESCRIBE TABLE EXTENDED; None for a table, or where the text is missing.

    created: what SHOW CREATE TABLE gives for an Iceberg view in a named catalog.
    """
    found = table(described)
    details = found.details
    text = text_of(created) if created is not None else details.get("View Text")
    if not details or text is None:
        return None
    comments = {str(name): comment or "" for name, _, comment in described[: len(found.columns)]}
    is_iceberg = created is not None or "table_type=ICEBERG-VIEW" in details.get("Table Properties", "")
    return ViewInfo(text, comments, details.get("Comment"), REPLACE if is_iceberg else ALTER, _namespace(details))


def _namespace(details: Mapping[str, str]) -> tuple[str, ...]:
    """Catalog and schema in which names of a view's text are looked up."""
    there = (details.get("View Current Catalog"), details.get("View Current Namespace"))
    place = details.get("View Catalog and Namespace") or ".".join(part for part in there if part)
    return tuple(part.replace("`", "") for part in re.findall(r"`(?:[^`]|``)+`|[^.`]+", place))


def table(described: Sequence[Row]) -> TableInfo:
    """The table in the rows of DESCRIBE TABLE EXTENDED: columns, partition columns, details, defaults."""
    pairs = [(str(name), str(kind or "")) for name, kind, *_ in described]
    last = _first(pairs, ("# Column Default Values",))
    defaults = tuple((str(name), str(value)) for name, _, value in described[last + 1 :] if name)
    at = _first(pairs[:last], _DETAILS)
    head = [pair for pair in pairs[:at] if any(pair)]
    cut = _first(head, _HEADINGS)
    parts = tuple(name for name, kind in head[cut:] if not _is_heading(name, kind, _HEADINGS))
    details: dict[str, str] = {}
    for name, value in pairs[at:last]:
        details.setdefault(name, value)
    return TableInfo(tuple(head[:cut]), parts, details, defaults)


def _first(pairs: Sequence[tuple[str, str]], headings: Sequence[str]) -> int:
    """The index of the first of some headings; len(pairs) where there is none."""
    return next((i for i, (name, kind) in enumerate(pairs) if _is_heading(name, kind, headings)), len(pairs))


def _is_heading(name: str, kind: str, headings: Sequence[str]) -> bool:
    return name in headings and kind in _NO_TYPES
