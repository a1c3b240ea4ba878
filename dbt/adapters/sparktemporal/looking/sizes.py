"""The sizes of the chains of many models, by one statement for each hundred chains.

An Iceberg table lists its files itself; for any other table Spark's hidden column tells them. The statement assumes
that chains have the format of the config. If a chain has another format, the statement fails, and each of the
statement's chains is described.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..engine.descriptions import TableInfo
from ..engine.warehouse import Warehouse
from ..inputs.observing.file_lists import HIDDEN, hidden_column
from ..temporal.diffs.state import State
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import Identifiers

#: the most chains that one statement asks about
_TOGETHER = 100
_ICEBERG = "iceberg"


@dataclass(frozen=True)
class Stored:
    """A chain, as the state and the config of its model describe it."""

    #: the name in SQL
    table: str
    file_format: str
    #: whether a column of the chain has the name of Spark's hidden column
    hides: bool = False


def chains_of(state: State, file_format: str) -> list[Stored]:
    """The chains of a model, taken to have the format of the config `file_format`."""
    return [
        Stored(f"{state.schema}.{quote(c.table)}", file_format, HIDDEN in Identifiers(n for n, _ in core.columns))
        for core in state.cores
        for c in core.chains
    ]


def of_chains(warehouse: Warehouse, chains: Sequence[Stored]) -> dict[str, int]:
    """table -> bytes. Left out: all chains of a failed statement, and chains that hide the column, except Iceberg's."""
    expected = {chain.table: files for chain in chains if (files := _expected(warehouse, chain)) is not None}
    tables = list(expected)
    found: dict[str, int] = {}
    for at in range(0, len(tables), _TOGETHER):
        some = tables[at : at + _TOGETHER]
        try:
            sizes = _asked(warehouse, [expected[table] for table in some])
        except SparkError as error:  # one of these has another format, or is gone
            error.expect(Cause.NOT_TAKEN)
            continue
        found |= {table: sizes.get(n, 0) for n, table in enumerate(some)}
    return found


def described(warehouse: Warehouse, chains: Iterable[Stored]) -> dict[str, int]:
    """table -> bytes, for each chain whose description says how to list its files."""
    told = {chain.table: files for chain in chains if (files := _described(warehouse, chain.table)) is not None}
    sizes = _asked(warehouse, told.values()) if told else {}
    return {table: sizes.get(n, 0) for n, table in enumerate(told)}


def _asked(warehouse: Warehouse, files: Iterable[str]) -> dict[int, int]:
    """The place of a query among `files` -> bytes. files: queries of (file, size)."""
    arms = (f"SELECT {n} AS mz_n, file, size FROM ({sql})" for n, sql in enumerate(files))
    union = "\nUNION ALL\n".join(arms)
    every = f"SELECT DISTINCT mz_n, file, size FROM (\n{union}\n) AS mz_rows"
    return {
        int(n): int(size)
        for n, size in warehouse.rows(f"SELECT mz_n, sum(size) FROM (\n{every}\n) AS mz_files GROUP BY mz_n")
    }


def _expected(warehouse: Warehouse, chain: Stored) -> str | None:
    if warehouse.writes_iceberg(chain.file_format):
        return _by_iceberg(chain.table)
    return None if chain.hides else _by_hidden(chain.table, HIDDEN)


def _described(warehouse: Warehouse, table: str) -> str | None:
    info: TableInfo = warehouse.table(table)
    if info.provider == _ICEBERG:
        return _by_iceberg(table)
    hidden = hidden_column(warehouse, table, info)
    return None if hidden is None else _by_hidden(table, hidden)


def _by_iceberg(table: str) -> str:
    return f"SELECT file_path AS file, file_size_in_bytes AS size FROM {table}.files"


def _by_hidden(table: str, hidden: str) -> str:
    return f"SELECT {hidden}.file_path AS file, {hidden}.file_size AS size FROM {table}"
