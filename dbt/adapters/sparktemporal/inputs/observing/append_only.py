"""Append-only tables: `change_capture: append` promises that rows are only added, in the order of one of the columns.

    ───── older: summed up ─────┤ lookback: each row remembered ├──── new ────▶
                              edge                          latest row

Each run reads the older rows once, for a checksum, and computes only with rows that are new or came late. A row that
changed, was removed, or came before the edge breaks the promise. The table is then read in full.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.descriptions import TableInfo
from ...engine.warehouse import Warehouse
from ...errors import Refusal
from ...plurals import quantity
from ...temporal.clock.instants import format_duration, format_instant
from ...temporal.diffs.input_state import ColumnFingerprint, Fingerprint
from ...temporal.ivm.delta_query import AddedRows
from ...temporal.sql.spark.errors import SparkError
from ...temporal.sql.spark.identity import negative_zero
from ...temporal.sql.text.dialect import quote

#: type of the column -> SQL of the edge: the latest value, less the lookback
_BACK = {
    "timestamp": "{value} - make_dt_interval(0, 0, 0, {ms} / 1000)",
    "timestamp_ntz": "{value} - make_dt_interval(0, 0, 0, {ms} / 1000)",
    "date": "date_sub({value}, CAST(ceil({ms} / 86400000) AS INT))",
}
_NUMBERS = ("int", "bigint", "decimal")
_NESTED = ("array", "map", "struct", "variant")
#: without these options JSON leaves out NULLs, and instants lose their microseconds and their zone
_AS_JSON = (
    "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS XXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
)


@dataclass(frozen=True)
class AppendCursor:
    """The column whose order tells which rows are new, in inputs that have this column."""

    column: str
    #: how much earlier than the latest row other rows may still come (ms)
    lookback: int

    @staticmethod
    def of(fingerprint: Fingerprint) -> AppendCursor | None:
        """The cursor in the fingerprint of an append-only table; None for the fingerprint of any other input."""
        return AppendCursor(fingerprint.by, fingerprint.back) if isinstance(fingerprint, ColumnFingerprint) else None


@dataclass(frozen=True)
class _Edge:
    """SQL conditions for the rows after an edge, and for the other rows, up to the edge."""

    column: str
    kind: str
    #: the value of the edge, as text; None where no row has a value
    at: str | None

    @property
    def after(self) -> str:
        if self.at is None:
            return f"{self.column} IS NOT NULL"
        literal = f"timestamp_micros({self.at}L)"
        return f"{self.column} > {literal if self.kind == 'timestamp' else f'CAST({self.at!r} AS {self.kind})'}"

    @property
    def up_to(self) -> str:
        return f"NOT coalesce({self.after}, false)"


def observe(
    warehouse: Warehouse, name: str, table: TableInfo, follow: AppendCursor
) -> tuple[ColumnFingerprint, str] | None:
    """A table (name quoted) -> (its fingerprint, SQL of the rows to remember); None where it has no such column.

    The rows to remember are listed in the form of files (file, size, modified, place): `file` is a hash of a row, and
    `size` is the number of rows equal to it. Raises Refusal for a column that is no instant, date, INT, BIGINT or
    DECIMAL, and for rows that have no hash.
    """
    edge = _edge(table, follow, None)
    if edge is None:
        return None
    kind = edge.kind
    latest = "max(" + edge.column + ")"
    back = _BACK.get(kind, f"CAST({{value}} - {{ms}} AS {kind})").format(value=latest, ms=follow.lookback)
    text = f"unix_micros({back})" if kind == "timestamp" else back
    at = warehouse.rows(f"SELECT CAST({text} AS STRING) FROM {name}")[0][0]
    edge = _Edge(edge.column, kind, None if at is None else str(at))
    content = content_of(table)
    try:
        rows, total = checksum(warehouse, f"{name} WHERE {edge.up_to}", content)
    except SparkError as error:  # a type without a hash, or any error of the user's view below
        raise Refusal(
            "ST404",
            f"append_column: {follow.column!r} of {name}",
            f"its rows cannot be told apart: {' '.join(str(error).split())[:200]}",
            "change_capture: auto",
        ) from None
    listing = (
        f"SELECT {_row(content)} AS file, count(*) AS size, 0L AS modified, '' AS place\n"
        f"FROM {name} WHERE {edge.after} GROUP BY 1"
    )
    after = _after(warehouse, listing)
    return ColumnFingerprint(follow.column, follow.lookback, edge.at, rows, total, *after), listing


def is_still(warehouse: Warehouse, seen: ColumnFingerprint, listing: str) -> bool:
    """Whether the rows after the edge are still as `seen`. A changed row before the edge is noticed by the next run."""
    return (seen.after, seen.after_sum) == _after(warehouse, listing)


def changes(
    warehouse: Warehouse, name: str, table: TableInfo, then: ColumnFingerprint, now: ColumnFingerprint, remembered: str
) -> tuple[str, AddedRows | None, bool]:
    """The change of a table between two states: (in words, the added rows if known, whether the promise was broken).

    remembered: SQL of the rows after the edge of `then` (file, size), "" when the list is gone.
    """
    if (then.by, then.back) != (now.by, now.back):
        return "append_column or lookback are others than before", None, False
    follow = AppendCursor(then.by, then.back)
    edge, later = _edge(table, follow, then.to), _edge(table, follow, now.to)
    if edge is None or later is None:
        return f"its column {follow.column} is gone", None, True
    content = content_of(table)
    passed = checksum(warehouse, f"{name} WHERE {edge.after} AND {later.up_to}", content)
    rows, total = now.rows - passed[0], now.sum - passed[1]
    if (rows, total) != (then.rows, then.sum):  # where the latest row went, the edge may have gone back
        back = checksum(warehouse, f"{name} WHERE {later.after} AND {edge.up_to}", content)
        rows, total = rows + back[0], total + back[1]
    if (rows, total) != (then.rows, then.sum):
        now_are = f"there are {rows:,} now" if rows != then.rows else "some changed"
        return f"of {quantity(then.rows, 'row')} up to {_shown(edge)} {now_are}", None, True
    columns = ", ".join(f"mz_row.{quote(column)}" for column, _ in table.columns)
    if not then.after:
        came = f"(SELECT {columns} FROM {name} AS mz_row WHERE {edge.after})"
        return "rows after the latest", AddedRows(came, "", f"(SELECT * FROM {name} WHERE {edge.up_to})"), False
    if not remembered:
        return "the list of the rows it had is gone", None, False
    lost, counted, known = warehouse.rows(
        f"SELECT count_if(size > coalesce(n, 0)), coalesce(sum(size), 0), {_sum('file, size')}\n"
        f"FROM ({remembered}) LEFT JOIN (SELECT {_row(content)} AS mz_file, count(*) AS n FROM {name} "
        f"WHERE {edge.after} GROUP BY 1) ON file = mz_file"
    )[0]
    if (int(counted), int(known)) != (then.after, then.after_sum):
        return "the rows remembered are not those of its state", None, False
    if int(lost):
        return f"gone or changed: {int(lost):,} of {quantity(then.after, 'row')} after {_shown(edge)}", None, True
    late = f", and those of the {format_duration(follow.lookback)} before it that came late"
    return f"rows after the latest{late}", _beyond(name, table, edge, columns, content, remembered), False


def _beyond(name: str, table: TableInfo, edge: _Edge, columns: str, content: str, remembered: str) -> AddedRows:
    """The rows after an edge that are not among the remembered rows. columns: SQL of the columns of `mz_row`."""
    file, nth = (_free(table, wanted) for wanted in ("mz_file", "mz_nth"))
    numbered = (
        f"(SELECT *, row_number() OVER (PARTITION BY {file} ORDER BY {file}) AS {nth}\n"
        f"FROM (SELECT *, {_opaque(_row(content))} AS {file} FROM {name} WHERE {edge.after})) AS mz_row"
    )
    both = f"{numbered} LEFT JOIN ({remembered}) AS mz_old ON mz_row.{file} = mz_old.file"
    came = f"(SELECT {columns} FROM {both} WHERE mz_row.{nth} > coalesce(mz_old.size, 0))"
    had = (
        f"(SELECT * FROM {name} WHERE {edge.up_to}\nUNION ALL\n"
        f"SELECT {columns} FROM {both} WHERE mz_row.{nth} <= mz_old.size)"
    )
    return AddedRows(came, "", had)


def _edge(table: TableInfo, follow: AppendCursor, at: str | None) -> _Edge | None:
    found = next(((n, kind) for n, kind in table.columns if n.lower() == follow.column.lower()), None)
    if found is None:
        return None
    name, kind = found
    if kind not in _BACK and kind.split("(")[0] not in _NUMBERS:
        raise Refusal(
            "ST405",
            f"append_column: {follow.column!r}, of type {kind}",
            "which of two rows is later is told by an instant or a number",
            "a TIMESTAMP, TIMESTAMP_NTZ or DATE column, or one of whole numbers or DECIMAL (lookback is then of ms)",
        )
    return _Edge(quote(name), kind, at)


def _free(table: TableInfo, wanted: str) -> str:
    """A name that no column of a table has."""
    taken = {column.lower() for column, _ in table.columns}
    while wanted in taken:
        wanted += "_"
    return wanted


def content_of(table: TableInfo) -> str:
    """SQL of the values by which two rows differ. Hashes skip NULLs, so each column adds whether it is NULL."""
    values = []
    for column, kind in table.columns:
        name = quote(column)
        nested = kind.split("<")[0] in _NESTED
        plain = f"CAST({name} AS BINARY)" if kind.startswith("string collate") else name
        values += [f"isnull({name})", f"to_json(struct({name}), {_AS_JSON})" if nested else plain]
        values += [negative_zero(name)] if kind in ("float", "double") else []
    return ", ".join(values)


def _row(content: str) -> str:
    """SQL of a hash of a row, of 128 bits."""
    return f"concat(hex(xxhash64({content})), '-', hex(xxhash64('mz', {content})))"


def _opaque(value: str) -> str:
    """SQL of the same value, hidden from Spark's planner.

    Without this, planning time doubles with each column that a SELECT above renames, as `value` is made of all columns.
    """
    return f"IF(spark_partition_id() < 0, NULL, {value})"


def checksum(warehouse: Warehouse, source: str, content: str) -> tuple[int, int]:
    rows, total = warehouse.rows(f"SELECT count(*), {_sum(content)} FROM {source}")[0]
    return int(rows), int(total)


def _sum(content: str) -> str:
    return f"coalesce(sum(CAST(xxhash64({content}) AS DECIMAL(38, 0))), 0)"


def _after(warehouse: Warehouse, listing: str) -> tuple[int, int]:
    """(the number, a checksum) of the remembered rows, for the fingerprint."""
    rows, total = warehouse.rows(f"SELECT coalesce(sum(size), 0), {_sum('file, size')} FROM ({listing})")[0]
    return int(rows), int(total)


def _shown(edge: _Edge) -> str:
    if edge.at is None:
        return "the beginning"
    return f"{edge.column} {format_instant(int(edge.at) // 1000) if edge.kind == 'timestamp' else edge.at}"
