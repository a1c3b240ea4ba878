"""Queries of one row each that count what a run has read and written; the run sends them in its phase `look`.

A *joined* chain is an old chain whose rows a run writes again, with the new rows, into one new chain.

| asked | for |
|---|---|
| the rows of each new chain that is not in buckets | the state |
| the bytes of each new chain | run_results.json |
| how many rows of a new chain are new, where the chain has the rows of joined chains too | the log |
| how many of the rows that were read left nothing stored | the log, and the state |
| how many rows were read, where the input is small | the log |
| how many rows came late, where they are kept | the log, and the state |
| the rows of old chains that the run builds on, where no other answer tells (`_standing`) | a chain that lost a file |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from ..engine import chain_files
from ..engine.warehouse import Query
from ..pushdown.sargable import Range
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.groups_sql import NO_SIZE
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import CountedChain, counted_chain, store_of
from ..temporal.rewrite.core import TypedCore
from . import chain_rows
from .plan import RunPlan
from .progress import Counts, Reading, Tools

#: columns of a store's `count`
_COUNTS = 9
#: the bytes of the file that a row begins, by Spark's hidden column, and their sum
_SIZES = "*, IF(_metadata.row_index = 0, _metadata.file_size, 0L) AS mz_n"
_SIZE = "coalesce(sum(mz_n), 0)"


def asked(tools: Tools, plan: RunPlan, reading: Reading) -> list[list[Query]]:
    """The queries of the table above, in the order in which `answered` reads their answers."""
    apart = _counted_apart(plan, reading)
    return [
        [(_count_plain(tools, plan, core), _COUNTS) for core in _plain(plan, reading)],
        [(f"SELECT count(*) FROM (\n{chain_rows.added(plan, core)}\n) AS mz_new", 1) for core in apart],
        not_stored(tools, plan) if asks_for_all(plan) else [],
        [(count, 1) for count in plan.capture.uncounted.values()],
        [(f"SELECT count(*) FROM {plan.target.table(plan.late())}", 1)] if reading.missed else [],
        _sizes(tools, plan),
        chain_files.counts_of(_standing(tools, plan, reading)),
    ]


def _plain(plan: RunPlan, reading: Reading) -> list[TypedCore]:
    """The cores whose chain is not in buckets."""
    return [core for core in plan.changed if not reading.sources[core.name].is_large]


def _counted_apart(plan: RunPlan, reading: Reading) -> list[TypedCore]:
    """The cores with joined chains whose new rows need a query of their own.

    For a core of rows whose inputs lost no row, `not_stored` tells the new rows too.
    """
    return [core for core in plan.changed if reading.sources[core.name].joined and not _tells_added(plan, core)]


def _sizes(tools: Tools, plan: RunPlan) -> list[Query]:
    """Queries of the bytes of the chains that a run wrote, where the format lists its files."""
    if not tools.warehouse.writes_iceberg(plan.config.file_format):
        return []
    tables = [plan.target.table(plan.chain(core.name)) for core in plan.changed]
    return [(f"SELECT coalesce(sum(file_size_in_bytes), 0) FROM {table}.files", 1) for table in tables]


def standing(tools: Tools, plan: RunPlan) -> tuple[tuple[str, Chain], ...]:
    """(schema, chain) of each old chain that may be counted after the write; () where all are counted before it."""
    return plan.own_chains if plan.adds and tools.warehouse.stack is None else ()


def _standing(tools: Tools, plan: RunPlan, reading: Reading) -> tuple[tuple[str, Chain], ...]:
    """The chains of `standing` to count in the phase `look`.

    All chains, unless the capture of the inputs counted all; then only joined chains that `adds_up` cannot check.
    """
    if not plan.capture.is_counted:
        return standing(tools, plan)
    again = [c for core in plan.changed if not _sums_up(plan, core) for c in reading.sources[core.name].joined]
    return tuple((schema, chain) for schema, chain in standing(tools, plan) if chain in again)


def _sums_up(plan: RunPlan, core: TypedCore) -> bool:
    """Whether `adds_up` can check a core: `not_stored` tells the new rows, and no old chain has corrections."""
    old = plan.old_chains(core.name)
    return _tells_added(plan, core) and not any(chain.negative for chain in old)


def adds_up(plan: RunPlan, reading: Reading, counts: Counts) -> bool:
    """Whether each new chain has all rows of its joined chains and all new rows, as far as counts tell (`_sums_up`).

    A new chain has fewer rows where a joined chain lost files, or where rows of a joined chain ended before `since`.
    """
    for core in plan.changed:
        joined = reading.sources[core.name].joined
        if joined and _sums_up(plan, core):
            rows = sum(chain.rows for chain in joined) + counts.added[core.name]
            if counts.found[core.name].chain.rows != rows:
                return False
    return True


def answered(
    tools: Tools,
    plan: RunPlan,
    reading: Reading,
    asked: Sequence[Sequence[Query]],
    answers: Sequence[Sequence[Any]],
) -> tuple[RunPlan, Counts]:
    """The plan with the numbers of rows read, and the counts. Raises TemporalError for a chain that lost a file."""
    left: Iterator[Sequence[Any]] = iter(answers)
    chains, new, left_out, read, late, sizes, standing = ([*islice(left, len(queries))] for queries in asked)
    chain_files.refuse_other_counts(
        plan.target.model, _standing(tools, plan, reading), chain_files.rows_counted(standing)
    )
    found = {
        core.name: counted_chain(plan.chain(core.name), [row], None) for core, row in zip(_plain(plan, reading), chains)
    }
    added = {core.name: int(row[0]) for core, row in zip(_counted_apart(plan, reading), new)}
    added |= _added(plan, reading, left_out) if left_out else {}
    bytes_of = {core.name: int(row[0]) for core, row in zip(plan.changed, sizes)}
    counts = {**plan.capture.counts, **{name: int(row[0]) for name, row in zip(plan.capture.uncounted, read)}}
    missed = sum(int(row[0]) for row in late) if reading.missed else None
    plan = replace(plan, capture=replace(plan.capture, counts=counts))
    return plan, Counts(found, added, left_out, missed, bytes_of)


def _added(plan: RunPlan, reading: Reading, left_out: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Core -> the number of new rows in its new chain, for cores with joined chains, as far as `not_stored` tells."""
    added, rows = {}, iter(left_out)
    for core in filter(partial(_is_asked_about, plan), plan.changed):
        delta = plan.capture.cores[core.name]
        of_core = list(islice(rows, len(delta.inserts) if delta.is_incremental else 1))
        if reading.sources[core.name].joined and _tells_added(plan, core):
            added[core.name] = sum(int(stored) for *_, stored in of_core)
    return added


def _count_plain(tools: Tools, plan: RunPlan, core: TypedCore) -> str:
    source, size = _sized(tools, plan, core, plan.target.table(plan.chain(core.name)))
    few = f"({intervals_sql.by_one_task(f'SELECT * FROM {source}')})"
    return store_of(core).count(few if chain_rows.is_tiny(plan, core) else source, False, size)


def _sized(tools: Tools, plan: RunPlan, core: TypedCore, table: str) -> tuple[str, str]:
    """(SQL of a chain for a FROM, an aggregate of its size in bytes; the aggregate may be `NO_SIZE`).

    The size comes from a hidden column that only Spark's own tables have. In a catalog other than `spark_catalog`, a
    table of the format `parquet` need not be one of Spark's own tables.
    """
    columns = [name.lower() for name, _ in core.stored]
    if plan.config.file_format != "parquet" or "_metadata" in columns or tools.warehouse.catalog_is_named():
        return table, NO_SIZE
    return f"(SELECT {_SIZES} FROM {table}) AS mz_sized", _SIZE


def _tells_added(plan: RunPlan, core: TypedCore) -> bool:
    """Whether `not_stored` tells how many rows of a chain are new."""
    return core.sums is None and not plan.capture.cores[core.name].deletes


def asks_for_all(plan: RunPlan) -> bool:
    """Whether the run sends the queries of `not_stored` even if it has written no rows."""
    is_incremental = any(plan.capture.cores[core.name].is_incremental for core in plan.changed)
    return is_incremental or plan.leaves_out and plan.decision.rebuilds


def tells_beyond(plan: RunPlan, core: TypedCore) -> bool:
    """Whether the chain of a rebuild tells how many updates after the expiration are not stored.

    Where every window ends, a row that is stored without an end ends after the expiration. So the chain is counted, and
    the inputs are not read again.
    """
    return (
        plan.decision.rebuilds
        and plan.leaves_out
        and not plan.capture.cores[core.name].is_incremental
        and intervals_sql.always_ends(core)
    )


def _is_asked_about(plan: RunPlan, core: TypedCore) -> bool:
    """Whether `not_stored` asks about a core.

    For a core that was read in full, `not_stored` asks only when updates after the expiration are left out, because the
    query reads the inputs once more.
    """
    return (plan.capture.cores[core.name].is_incremental or plan.leaves_out) and not tells_beyond(plan, core)


def not_stored(tools: Tools, plan: RunPlan) -> list[Query]:
    """Queries about the rows that were read and left nothing stored, for each core or each part with new rows.

    Each has one row of three counts: updates after the expiration, windows that were over, rows that are stored.
    """
    expiration, queries = plan.decision.expiration, []
    for core in filter(partial(_is_asked_about, plan), plan.changed):
        delta = plan.capture.cores[core.name]
        # a full read is asked only about rows that leave after the expiration, new rows also about coming too late
        later, whole = None, core
        if not delta.is_incremental and expiration is not None:
            later = tools.pruning.condition(core, Range(expiration, None))
            whole = tools.pruning.narrowed(core, Range(expiration, None))
        tiny = chain_rows.is_tiny(plan, core)
        for part in delta.inserts if delta.is_incremental else (whole,):
            queries.append((intervals_sql.not_stored(part, plan.decision.as_of, expiration, later, tiny), 3))
    return queries


def count(tools: Tools, plan: RunPlan, core: TypedCore, table: str, since: int | None) -> CountedChain:
    """Count a table that was written. since: as given to the store's `create`."""
    source, size = _sized(tools, plan, core, plan.target.table(table))
    return counted_chain(table, tools.warehouse.rows(store_of(core).count(source, since is not None, size)), since)
