"""Commit records: what `<model>__live` is in a catalog, and the one statement that replaces its content.

| catalog | `<model>__live` | its first commit | a later one |
|---|---|---|---|
| Hive's metastore | a view | `CREATE VIEW` | `ALTER VIEW … AS` |
| of Iceberg, with views | a view | `CREATE VIEW` | `CREATE OR REPLACE VIEW` |
| others that have views, from Spark 4.2 on | a view | `CREATE VIEW` | `ALTER VIEW … AS` |
| of Iceberg without views (hadoop, glue) | a table of one row | `CREATE TABLE … AS` | `UPDATE … WHERE mz_run = …` |

Each statement is one commit of the catalog. The row of a table holds the run and the text that the view would have.
The WHERE of the UPDATE names the run before, so it finds no row where another run has committed. Iceberg refuses the
UPDATE where another run commits meanwhile, because the file that the UPDATE replaces is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..temporal.sql.text.dialect import string_literal
from .descriptions import UPDATE

#: the verbs of a first commit
CREATE_VIEW, CREATE_TABLE = "CREATE VIEW", "CREATE TABLE"
#: an UPDATE replaces the file of the row, and fails where another run replaced the file since the UPDATE read it
_PROPERTIES = {
    "format-version": "2",
    "write.update.mode": "copy-on-write",
    "write.update.isolation-level": "serializable",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}


def statement(verb: str, record: str, text: str, run: str, after: str | None) -> str:
    """The statement that commits a run. record: `<model>__live` as SQL names it. after: the run that committed before.

    >>> statement("UPDATE", "s.m__live", "SELECT 1", "r2", "r1")
    "UPDATE s.m__live SET mz_run = 'r2', mz_commit = 'SELECT 1'\\nWHERE mz_run = 'r1'"
    >>> statement("ALTER VIEW", "s.m__live", "SELECT 1", "r2", "r1")
    'ALTER VIEW s.m__live AS\\nSELECT 1'
    """
    if verb == CREATE_TABLE:
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in _PROPERTIES.items())
        row = f"SELECT {string_literal(run)} AS mz_run, {string_literal(text)} AS mz_commit"
        return f"CREATE TABLE {record} USING iceberg TBLPROPERTIES ({properties}) AS\n{row}"
    if verb == UPDATE:
        values = f"mz_run = {string_literal(run)}, mz_commit = {string_literal(text)}"
        return f"UPDATE {record} SET {values}\nWHERE mz_run = {string_literal(after or '')}"
    return f"{verb} {record} AS\n{text}"


def is_table(verb: str) -> bool:
    """Whether a commit by this verb writes to a table."""
    return verb in (CREATE_TABLE, UPDATE)


def holds_commit(columns: Sequence[tuple[str, str]]) -> bool:
    """Whether a table of these columns (name, type) is a table of commits.

    >>> holds_commit([("mz_run", "string"), ("mz_commit", "string")])
    True
    """
    return tuple(columns) == (("mz_run", "string"), ("mz_commit", "string"))
