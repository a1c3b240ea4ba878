"""Checks that chains have all their rows: Spark can silently read a table of which some files are gone.

One statement counts the rows of all chains from the footers of their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import Explained, TemporalError, without_trace
from ..plurals import quantity
from ..temporal.diffs.chains import SMALL_CHAIN, rows_held
from ..temporal.diffs.intervals_sql import by_one_task
from ..temporal.diffs.state import Chain
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words
from ..temporal.sql.text.dialect import quote
from .warehouse import Query, Warehouse


def refuse_incomplete(warehouse: Warehouse, model: str, chains: Sequence[tuple[str, Chain]]) -> None:
    """Raise TemporalError where a chain does not have the rows of its commit, or a file of the chain cannot be read.

    chains: (schema, chain) of each; the schema as in SQL.
    """
    if not chains:
        return
    try:
        found = rows_counted(warehouse.rows_together(counts_of(chains)))
    except SparkError as error:
        error.expect(Cause.UNREADABLE, Cause.NO_RELATION)
        what = "that are gone" if Cause.NO_RELATION.is_said_by(error) else "with a file that cannot be read"
        raise _error(model, f"chains {what}: {spark_words(without_trace(str(error)))}") from None
    refuse_other_counts(model, chains, found)


def counts_of(chains: Sequence[tuple[str, Chain]]) -> list[Query]:
    """For each chain a query of the number of its rows."""
    tables = [f"{schema}.{quote(chain.table)}" for schema, chain in chains]
    if sum(rows_held(chain)[0] for _, chain in chains) < SMALL_CHAIN:
        tables = [f"({by_one_task(f'SELECT 1 FROM {table}')})" for table in tables]
    return [(f"SELECT count(*) FROM {table}", 1) for table in tables]


def rows_counted(answers: Iterable[Sequence[Any]]) -> list[int]:
    """The answers to `counts_of` -> the number of rows of each chain."""
    return [int(rows) for (rows,) in answers]


def refuse_other_counts(model: str, chains: Sequence[tuple[str, Chain]], found: Sequence[int]) -> None:
    """Raise TemporalError where a chain has fewer rows than its commit says, or more where that count is exact."""
    for (_, chain), rows in zip(chains, found):
        held, exact = rows_held(chain)
        if rows < held or exact and rows != held:
            raise _error(model, f"{chain.table} with {rows:,} of {quantity(held, 'committed row')}")


def _error(model: str, found: str) -> TemporalError:
    return Explained(
        "ST505",
        found,
        "the rows in missing files are lost, and a run on the remaining rows would be wrong",
        f"the files put back, or dbt run --full-refresh -s {model}",
    )
