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
| the rows of chains that were written again, where no other answer tells (`adds_up`) | a chain that lost a file |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..engine import chain_files
from ..engine.warehouse import Query
from ..pushdown.sargable import Range
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.groups_sql import NO_SIZE
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import counted, rows_for_good, size_of, store_of
from ..temporal.rewrite.core import TypedCore
from . import chain_rows
from .plan import RunPlan
from .progress import Counts, Reading, Tools

#: columns of a store's `count`
_COUNTS = 10
#: the bytes of the file that a row begins, by Spark's hidden column, and their sum
_SIZES = "*, IF(_metadata.row_index = 0, _metadata.file_size, 0L) AS mz_n"
_SIZE = "coalesce(sum(mz_n), 0)"


@dataclass(frozen=True)
class Asked:
    """The queries. `queries` has them in the order of their answers."""

    chains: Mapping[str, Query]
    added: Mapping[str, Query]
    #: asked whatever was written
    not_stored: tuple[Query, ...]
    rows: tuple[str, ...]
    standing: tuple[tuple[str, Chain], ...]
    late: tuple[Query, ...] = ()
    #: of the chains whose format lists its files
    sizes: tuple[Query, ...] = ()

    @property
    def queries(self) -> list[Query]:
        rows = [(f"SELECT {count}", 1) for count in self.rows]
        standing = chain_files.counts_of(self.standing)
        return [
            *self.chains.values(),
            *self.added.values(),
            *self.not_stored,
            *rows,
            *self.late,
            *self.sizes,
            *standing,
        ]


def asked(tools: Tools, plan: RunPlan, reading: Reading) -> Asked:
    plain = [core for core in plan.changed if not reading.sources[core.name].is_large]
    of_chains = {core.name: (_count_plain(tools, plan, core), _COUNTS) for core in plain}
    # of rows alone what leaves no trace tells also what is new
    joined = [core for core in plan.changed if reading.sources[core.name].joined and not _tells_added(plan, core)]
    added = {core.name: (f"SELECT count(*) FROM (\n{chain_rows.added(plan, core)}\n) AS mz_new", 1) for core in joined}
    left_out = not_stored(tools, plan) if asks_for_all(plan) else []
    late = ((f"SELECT count(*) FROM {plan.target.table(plan.late())}", 1),) if reading.missed else ()
    uncounted = tuple(plan.capture.uncounted.values())
    return Asked(
        of_chains, added, tuple(left_out), uncounted, _standing(tools, plan, reading), late, _sizes(tools, plan)
    )


def _sizes(tools: Tools, plan: RunPlan) -> tuple[Query, ...]:
    """Queries of the bytes of the chains that a run wrote, where the format lists its files."""
    if not _is_iceberg(tools, plan):
        return ()
    tables = [plan.target.table(plan.chain(core.name)) for core in plan.changed]
    return tuple((f"SELECT coalesce(sum(file_size_in_bytes), 0) FROM {table}.files", 1) for table in tables)


def standing(tools: Tools, plan: RunPlan) -> tuple[tuple[str, Chain], ...]:
    """(schema, chain) of each chain that the run adds to and does not read. Its rows are counted before the commit."""
    return plan.own_chains if plan.adds and tools.warehouse.stack is None else ()


def _standing(tools: Tools, plan: RunPlan, reading: Reading) -> tuple[tuple[str, Chain], ...]:
    """The standing chains whose rows must be counted now.

    If all of them were counted with the list of files, only the joined chains that `adds_up` cannot check are counted
    again.
    """
    if not plan.capture.is_counted:
        return standing(tools, plan)
    again = [c for core in plan.changed if not _sums_up(plan, core) for c in reading.sources[core.name].joined]
    return tuple((schema, chain) for schema, chain in standing(tools, plan) if chain in again)


def _sums_up(plan: RunPlan, core: TypedCore) -> bool:
    """Whether the rows of a new chain must be exactly as many as the rows of its joined chains plus the new rows."""
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
            if counts.chains[core.name].rows != rows:
                return False
    return True


def answered(plan: RunPlan, reading: Reading, asked: Asked, answers: Sequence[Sequence[Any]]) -> tuple[RunPlan, Counts]:
    """The plan with the numbers of rows read, and the counts. Raises TemporalError for a chain that lost a file."""
    left: Iterator[Sequence[Any]] = iter(answers)
    of_chains = dict(zip(asked.chains, islice(left, len(asked.chains))))
    found = {name: counted(plan.chain(name), [row], None) for name, row in of_chains.items()}
    sizes = {name: size_of([row]) for name, row in of_chains.items()}
    for_good = {name: rows_for_good([row]) for name, row in of_chains.items()}
    added = {name: int(row[0]) for name, row in zip(asked.added, islice(left, len(asked.added)))}
    left_out = tuple(islice(left, len(asked.not_stored)))
    added |= _added(plan, reading, left_out) if left_out else {}
    counts = dict(plan.capture.counts)
    counts |= {name: int(row[0]) for name, row in zip(plan.capture.uncounted, islice(left, len(asked.rows)))}
    missed = sum(int(row[0]) for row in islice(left, len(asked.late)))
    if asked.sizes:
        sizes = dict(zip((core.name for core in plan.changed), (int(row[0]) for row in islice(left, len(asked.sizes)))))
    chain_files.refuse_other_counts(plan.target.model, asked.standing, chain_files.rows_counted(left))
    plan = replace(plan, capture=replace(plan.capture, counts=counts))
    return plan, Counts(found, for_good, added, left_out, missed, sizes)


def _added(plan: RunPlan, reading: Reading, left_out: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Core -> the number of new rows in its new chain, for cores with joined chains, as far as `not_stored` tells."""
    added, rows = {}, iter(left_out)
    for core in plan.changed:
        delta = plan.capture.cores[core.name]
        if tells_beyond(plan, core):
            continue
        of_core = list(islice(rows, len(delta.inserts) if delta.is_incremental else 1))
        if reading.sources[core.name].joined and _tells_added(plan, core):
            added[core.name] = sum(int(stored) for *_, stored in of_core)
    return added


def _count_plain(tools: Tools, plan: RunPlan, core: TypedCore) -> str:
    source, size = _sized(tools, plan, core, plan.target.table(plan.chain(core.name)))
    few = f"({intervals_sql.by_one_task(f'SELECT * FROM {source}')})"
    return store_of(core).count(few if chain_rows.is_tiny(plan, core) else source, False, size)


def _is_iceberg(tools: Tools, plan: RunPlan) -> bool:
    """Whether chains are Iceberg tables; all tables of an Iceberg catalog are, whatever their format."""
    return plan.config.file_format == "iceberg" or tools.warehouse.catalog_is_icebergs()


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

    Where every window ends, a row that is stored without an end ends after the expiration. So the chain is counted,
    and the inputs are not read again.
    """
    return (
        plan.decision.rebuilds
        and plan.leaves_out
        and not plan.capture.cores[core.name].is_incremental
        and intervals_sql.always_ends(core)
    )


def not_stored(tools: Tools, plan: RunPlan) -> list[Query]:
    """Queries about the rows that were read and left nothing stored."""
    expiration, queries = plan.decision.expiration, []
    for core in plan.changed:
        delta = plan.capture.cores[core.name]
        if tells_beyond(plan, core):
            continue
        # of all rows only what leaves after the expiration is asked for, of new ones also what came too late
        later, whole = None, core
        if not delta.is_incremental and expiration is not None:
            later = tools.pruning.condition(core, Range(expiration, None))
            whole = tools.pruning.narrowed(core, Range(expiration, None))
        tiny = chain_rows.is_tiny(plan, core)
        for part in delta.inserts if delta.is_incremental else (whole,):
            queries.append((intervals_sql.not_stored(part, plan.decision.as_of, expiration, later, tiny), 3))
    return queries


def count(tools: Tools, plan: RunPlan, core: TypedCore, table: str, since: int | None) -> Chain:
    """Count a table that was written -> its Chain, for the state. since: as given to the store's `create`."""
    return counted(table, parts_of(tools, plan, core, table, since), since)


def parts_of(tools: Tools, plan: RunPlan, core: TypedCore, table: str, since: int | None) -> list[tuple[Any, ...]]:
    """Run a store's `count` over a table that was written -> the rows of the answer."""
    source, size = _sized(tools, plan, core, plan.target.table(table))
    return tools.warehouse.rows(store_of(core).count(source, since is not None, size))
