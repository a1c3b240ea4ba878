"""The two forms in which a core is stored, with one set of methods: intervals of rows, and updates of groups."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from ..rewrite.core import TypedCore
from ..sql.spark.identity import identity, keeping_marks
from ..sql.text.dialect import quote
from . import buckets, intervals_read, intervals_sql
from .groups_sql import NO_SIZE, GroupStore, first_parts
from .intervals_sql import Columns, indent
from .state import Chain, CoreState


@dataclass(frozen=True)
class IntervalStore:
    """Rows as signed intervals, see `intervals_sql`. The methods are those of `GroupStore`."""

    columns: Columns

    @property
    def times_and_sums(self) -> Columns:
        """The columns of a chain beside the columns of the rows."""
        return (*intervals_sql.TIMES, ("mz_diff", "BIGINT"))

    @property
    def _names(self) -> str:
        return "".join(f"{quote(n)}, " for n, _ in self.columns)

    def desired(self, typed: TypedCore, as_of: int, expiration: int | None, projection: str | None = None) -> str:
        return intervals_sql.desired(typed, as_of, expiration, projection)

    def stored(self, tables: Sequence[str], since: int, expiration: int | None, bucketed: Container[str] = ()) -> str:
        """The intervals of chains, cut to `since` … `expiration` (ms). An end after the expiration becomes NULL."""
        until, late = intervals_sql.cut_at(expiration)
        return "\nUNION ALL\n".join(
            f"SELECT {self._names}greatest(mz_from, {since}L) AS mz_from, {until}, mz_diff\n"
            f"FROM {table}\n"
            f"WHERE (mz_until IS NULL OR mz_until > {since}L){late}"
            + (f" AND mz_bucket > {since}L" if table in bucketed else "")
            for table in tables
        )

    def consolidated(self, diffs: str) -> str:
        """Sum equal signed intervals; a sum of n becomes |n| rows with mz_diff 1 or -1, and no row for 0.

        With one row for each copy, the read of a chain without corrections is a plain filter.
        """
        same = identity(self.columns)
        items, keys = ("".join(f"{part}, " for part in parts) for parts in (same.items, same.keys))
        summed = (
            f"SELECT {self._names}mz_from, mz_until, CAST(sign(mz_n) AS BIGINT) AS mz_diff\n"
            f"FROM (\n"
            f"  SELECT {items}mz_from, mz_until, sum(mz_diff) AS mz_n\n"
            f"  FROM (\n{indent(diffs, 4)}\n  ) AS mz_all\n"
            f"  GROUP BY {keys}mz_from, mz_until\n"
            f"  HAVING sum(mz_diff) <> 0\n"
            f") AS mz_sums\n"
            f"LATERAL VIEW explode(array_repeat(0, CAST(abs(mz_n) AS INT))) mz_copies AS mz_copy"
        )
        return keeping_marks(summed, diffs, f"{self._names}mz_from, mz_until, mz_diff") if same.marked else summed

    def merged(self, diffs: str, chains: Sequence[Chain]) -> str:
        """Merged chains. Without corrections nothing cancels, so there is no shuffle."""
        return self.consolidated(diffs) if any(chain.negative for chain in chains) else diffs

    def difference(self, wanted: str, stored: str) -> str:
        """Wanted intervals minus stored intervals, as corrections."""
        return self.consolidated(
            f"SELECT {self._names}mz_from, mz_until, mz_diff FROM (\n{indent(wanted, 2)}\n) AS mz_wanted\n"
            f"UNION ALL\n"
            f"SELECT {self._names}mz_from, mz_until, -mz_diff FROM (\n{indent(stored, 2)}\n) AS mz_stored"
        )

    def create(self, table: str, diffs: str, using: str, since: int | None = None) -> str:
        bucket = None if since is None else buckets.ends("mz_until", since)
        return intervals_sql.create_chain(table, diffs, using, "mz_until, mz_from", bucket)

    def count(self, table: str, bucketed: bool = False, size: str = NO_SIZE) -> str:
        """A query of statistics, one row for the chain. `counted_chain` reads the columns by place.

        rows | corrections | first and last mz_from | last mz_until | NULL | open | rows that stay for good | bytes

        The places are those of `GroupStore.count`. An open interval has no end, so the row of an open interval stays
        for good: `open` and `rows that stay for good` are the same number.
        """
        return (
            "SELECT count(*), count_if(mz_diff < 0), min(mz_from), max(mz_from), max(mz_until), NULL,\n"
            f"  count_if(mz_until IS NULL), count_if(mz_until IS NULL), {size}\nFROM {table}"
        )

    def as_updates(self, tables: Sequence[str]) -> str:
        """Chains as consolidated updates (mz_timestamp, mz_diff, columns...): one row for each data and instant."""
        if not tables:
            return intervals_sql.no_rows((*intervals_sql.UPDATE, *self.columns))
        names = "".join(f", {quote(n)}" for n, _ in self.columns)
        pairs = "\nUNION ALL\n".join(
            f"SELECT mz_from AS mz_timestamp, mz_diff{names} FROM {table}\n"
            f"UNION ALL\n"
            f"SELECT mz_until, -mz_diff{names} FROM {table} WHERE mz_until IS NOT NULL"
            for table in tables
        )
        same = identity(self.columns)
        items, keys = ("".join(f", {part}" for part in parts) for parts in (same.items, same.keys))
        return (
            f"SELECT mz_timestamp, sum(mz_diff) AS mz_diff{items}\n"
            f"FROM (\n{indent(pairs, 2)}\n) AS mz_updates\n"
            f"GROUP BY mz_timestamp{keys}\n"
            f"HAVING sum(mz_diff) <> 0"
        )

    def read(
        self, chains: Sequence[Chain], schema: str, t: str, earliest: int, splits: bool = True, joins: bool = True
    ) -> str:
        return intervals_read.read(chains, schema, self.columns, t, earliest, splits, joins)

    def times(self, table: str) -> str:
        return f"SELECT mz_from AS t FROM {table} UNION ALL SELECT mz_until FROM {table}"

    def violations(self, chain: Chain) -> tuple[str, str, str]:
        placed = ""
        if chain.edges_from is not None:
            placed = f" OR mz_bucket <> {buckets.ends('mz_until', chain.edges_from)}"
        elif chain.bucketed:
            placed = f" OR mz_bucket < coalesce(mz_until, {buckets.NEVER}L)"
        return (
            "an interval that is empty, unsigned, or in a bucket that is not its own",
            "concat('[', mz_from, ', ', coalesce(CAST(mz_until AS STRING), 'open'), ') x ', mz_diff)",
            f"mz_from IS NULL OR mz_diff IS NULL OR abs(mz_diff) <> 1 OR mz_until <= mz_from{placed}",
        )


Store = IntervalStore | GroupStore


def store_of(core: CoreState | TypedCore) -> Store:
    columns = core.columns if isinstance(core, CoreState) else core.stored
    return IntervalStore(columns) if core.sums is None else GroupStore(columns, core.sums)


@dataclass(frozen=True)
class CountedChain:
    """A chain whose rows were counted."""

    chain: Chain
    #: the rows that are in the view after all updates of the chain, if the chain has no corrections
    for_good: int
    #: the bytes of the chain, where its `count` asked for them
    size: int | None


def counted_chain(table: str, parts: Sequence[Sequence[Any]], since: int | None) -> CountedChain:
    """A chain, from the rows of a store's `count`: one row, or one for each bucket (none for an empty chain).

    since: the instant (ms) from which the buckets of the chain grow; None for a chain without buckets.
    """
    found = [[None if value is None else int(value) for value in part] for part in parts]

    def over(choose: Callable[..., int | None], column: int) -> int | None:
        return choose((part[column] for part in found if part[column] is not None), default=None)

    chain = Chain(
        table,
        rows=sum(part[0] or 0 for part in found),
        negative=sum(part[1] or 0 for part in found),
        min_from=over(min, 2),
        max_from=over(max, 3),
        max_until=over(max, 4),
        bucketed=since is not None,
        edges_from=since,
        open=None if not found or found[0][6] is None else sum(part[6] or 0 for part in found),
        parts=first_parts(sorted((part[5], part[0] or 0) for part in found if part[5] is not None)),
    )
    sizes = [part[8] for part in found if part[8] is not None]
    return CountedChain(chain, sum(part[7] or 0 for part in found), sum(sizes) if sizes else None)
