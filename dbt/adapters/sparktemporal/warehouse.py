"""What a run asks of Spark, by one function that takes SQL and gives rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .temporal import roundtrip
from .temporal.dialect import quote
from .temporal.state import State, extract

Rows = Callable[[str], "list[tuple]"]

_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
)
#: what tells one version of a file from another
_FILE = "concat_ws('|', _metadata.file_path, _metadata.file_size, unix_millis(_metadata.file_modification_time))"
MISSING = re.compile(r"TABLE_OR_VIEW_NOT_FOUND|Table or view not found|NoSuchTable", re.IGNORECASE)
ALREADY_THERE = re.compile(r"ALREADY_EXISTS|already exists", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """Where a model lives. `schema` is quoted, `model` is the plain name."""

    schema: str
    model: str

    def name(self, suffix: str = "") -> str:
        return f"{self.schema}.{quote(self.model + suffix)}"

    def table(self, name: str) -> str:
        return f"{self.schema}.{quote(name)}"


class Warehouse:
    """What a run may ask: statements by one function, answers as rows of plain values."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def describe(self, sql: str) -> list[tuple[str, str]]:
        """The columns of a query as (name, type)."""
        return [(r[0], r[1]) for r in self.rows(f"DESCRIBE QUERY {sql}")]

    def explain(self, sql: str) -> str:
        return str(self.rows(f"EXPLAIN EXTENDED {sql}")[0][0])

    def clock(self) -> int:
        """The engine's clock, ms."""
        return int(self.rows("SELECT unix_millis(current_timestamp())")[0][0])

    def settings(self) -> dict[str, str]:
        """The session settings an answer depends on."""
        return {key: str(self.rows(f"SET {key}")[0][1]) for key in _SETTINGS}

    def version(self) -> str:
        return str(self.rows("SELECT version()")[0][0])

    def tables(self, schema: str, prefix: str) -> list[str]:
        """The tables and views of a schema whose name starts with prefix, whatever the case."""
        pattern = re.sub(r"[^0-9A-Za-z_]", "*", prefix)
        found = [str(r[1]) for r in self.rows(f"SHOW TABLES IN {schema} LIKE '{pattern}*'")]
        return [name for name in found if name.lower().startswith(prefix.lower())]

    def view_text(self, relation: str) -> str | None:
        """The text of a view that is there; None when it is a table."""
        rows = self.rows(f"DESCRIBE TABLE EXTENDED {relation}")
        return next((str(r[1]) for r in rows if r[0] == "View Text"), None)

    def fingerprints(self, plan: str) -> dict[str, str]:
        """relation -> what tells its content from another: the set of its files, or a checksum of its rows."""
        found = {}
        for table in roundtrip.file_tables(plan):
            name = ".".join(quote(p) for p in table.split("."))
            self.rows(f"REFRESH TABLE {name}")
            sql = f"SELECT sha2(concat_ws(',', array_sort(collect_set({_FILE}))), 224) FROM {name}"
            found[table] = "files " + str(self.rows(sql)[0][0])
        for table in roundtrip.other_tables(plan):
            name = ".".join(quote(p) for p in table.split("."))
            sql = f"SELECT concat(count(*), ' ', coalesce(sum(CAST(xxhash64(*) AS DECIMAL(38, 0))), 0)) FROM {name}"
            try:
                found[table] = "rows " + str(self.rows(sql)[0][0])
            except Exception:  # a type that has no hash: the test then cannot tell a changed input apart
                found[table] = "unknown"
        return found


def read_state(warehouse: Warehouse, target: Target, existing: Iterable[str] | None = None) -> State | None:
    """The committed state; None when the model was never committed.

    existing: what the schema is known to hold. Describing what is not there would log an error on the server.
    """
    text = live_text(warehouse, target, existing)
    return None if text is None else extract(text, target.model)


def live_text(warehouse: Warehouse, target: Target, existing: Iterable[str] | None = None) -> str | None:
    if existing is None:
        existing = warehouse.tables(target.schema, target.model + "__live")
    if f"{target.model}__live".lower() not in (name.lower() for name in existing):
        return None
    return warehouse.view_text(target.name("__live")) or ""


def run_of(text: str) -> str:
    """Which run a live view is of, without insisting that its state is whole (a full refresh replaces it)."""
    found = re.search(r'"run":"([^"]*)"', text)
    return found.group(1) if found else ""
