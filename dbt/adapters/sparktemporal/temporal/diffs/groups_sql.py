"""SQL of a core that is kept per group: updates, one for each group and instant at which its sums change.

    keys…, mz_timestamp, mz_diff (rows), mz_sum_1 …      the group at t is the sum of its updates with mz_timestamp <= t

A group without rows has the sum 0 in every column, and is gone. Times are BIGINT milliseconds.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from ..rewrite.core import TypedCore
from ..rewrite.linear_aggregates import COUNT, minus, whole
from ..sql.text.dialect import quote
from . import buckets, intervals_sql
from .intervals_sql import Columns, indent
from .state import Chain

#: SQL of the number of rows of a group
NUMBER = f"CASE WHEN {COUNT} > 0 THEN {COUNT} ELSE CAST({intervals_sql.DAMAGED} AS BIGINT) END AS {COUNT}"
#: in the place of a size that is not asked for
NO_SIZE = "CAST(NULL AS BIGINT)"
#: up to so many updates, or rows below an aggregation, are read by one task
FEW_UPDATES = 250_000


def first_parts(parts: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The first buckets (beginning, rows) of a chain: enough to decide how the chain is read and compacted."""
    kept, total = [], 0
    for begins, rows in parts:
        if total - parts[0][1] > max(FEW_UPDATES, parts[0][1]):
            break
        kept.append((begins, rows))
        total += rows
    return tuple(kept)


def near_until(chains: Sequence[Chain]) -> int | None:
    """The instant (ms) up to which few updates are due; None when many are due at any instant."""
    parts = sorted(part for c in chains for part in (c.parts or ((c.min_from or 0, c.rows),)))
    total = 0
    for begins, rows in parts:
        total += rows
        if total > FEW_UPDATES:
            return begins - 1 if begins > parts[0][0] else None
    return buckets.NEVER


@dataclass(frozen=True)
class GroupStore:
    """Diffs of groups. columns: the keys. sums: the columns of sums (name, type)."""

    columns: Columns
    sums: Columns

    @property
    def times_and_sums(self) -> Columns:
        """The columns of a chain beside the keys."""
        return (*intervals_sql.UPDATE, *self.sums)

    @property
    def _keys(self) -> str:
        return "".join(f"{quote(n)}, " for n, _ in self.columns)

    def _summed(self) -> str:
        return "".join(f", {quote(n)}" for n, _ in self.sums)

    def desired(self, typed: TypedCore, as_of: int, expiration: int | None, projection: str | None = None) -> str:
        """The updates of the core's groups from `as_of` to `expiration` (ms), computed from all rows of a query."""
        assert typed.core.groups is not None
        values = ""
        for s in typed.core.groups.sums:
            total = f"sum(IF(mz_sign > 0, {s.value}, {minus(s.value, s.type)}))"
            values += f",\n    {whole(total, s.type)} AS {quote(s.name)}"
        rows = intervals_sql.desired(typed, as_of, expiration, projection)
        return self._changed(
            f"  SELECT {self._keys}mz_timestamp, sum(mz_sign) AS mz_diff{values}\n"
            f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_windows\n"
            f"  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign\n"
            f"  WHERE mz_timestamp IS NOT NULL\n"
            f"  GROUP BY {self._keys}mz_timestamp"
        )

    def stored(self, tables: Sequence[str], since: int, expiration: int | None, bucketed: Container[str] = ()) -> str:
        """The updates of chains up to the expiration (ms); an update before `since` (ms) is moved to `since`."""
        late = f" WHERE mz_timestamp <= {expiration}L" if expiration is not None else ""
        return "\nUNION ALL\n".join(
            f"SELECT {self._keys}greatest(mz_timestamp, {since}L) AS mz_timestamp, mz_diff{self._summed()}\n"
            f"FROM {table}{late}"
            for table in tables
        )

    def consolidated(self, diffs: str) -> str:
        """Updates summed by group and instant, without zeros."""
        sums = "".join(f", {whole(f'sum({quote(n)})', t)} AS {quote(n)}" for n, t in self.sums)
        return self._changed(
            f"  SELECT {self._keys}mz_timestamp, sum(mz_diff) AS mz_diff{sums}\n"
            f"  FROM (\n{indent(diffs, 4)}\n  ) AS mz_all\n"
            f"  GROUP BY {self._keys}mz_timestamp"
        )

    def merged(self, diffs: str, chains: Sequence[Chain]) -> str:
        return self.consolidated(diffs)

    def _changed(self, diffs: str) -> str:
        changed = " OR ".join(f"{quote(n)} <> 0" for n, _ in (("mz_diff", ""), *self.sums))
        return f"SELECT *\nFROM (\n{diffs}\n) AS mz_sums\nWHERE {changed}"

    def difference(self, wanted: str, stored: str) -> str:
        """Wanted updates minus stored updates."""
        taken = "".join(f", {minus(quote(n), t)} AS {quote(n)}" for n, t in self.sums)
        return self.consolidated(
            f"SELECT {self._keys}mz_timestamp, mz_diff{self._summed()} FROM (\n{indent(wanted, 2)}\n) AS mz_wanted\n"
            f"UNION ALL\n"
            f"SELECT {self._keys}mz_timestamp, -mz_diff{taken} FROM (\n{indent(stored, 2)}\n) AS mz_stored"
        )

    def create(self, table: str, rows: str, using: str, since: int | None = None) -> str:
        """The one statement that writes a chain, sorted by time, so that reads skip the row groups of the future.

        since: for a large chain, which is partitioned by buckets from this instant (ms) on.
        """
        bucket = None if since is None else buckets.begins("mz_timestamp", since)
        return intervals_sql.create_chain(table, rows, using, "mz_timestamp", bucket)

    def count(self, table: str, bucketed: bool = False, size: str = NO_SIZE) -> str:
        """A query of statistics, one row for the chain or for each bucket; `stores.counted_chain` reads them by place.

        updates | negative ones | first and last mz_timestamp | NULL | mz_bucket or NULL | NULL | sum of mz_diff | bytes
        """
        bucket = "mz_bucket" if bucketed else "NULL"
        return (
            "SELECT count(*), count_if(mz_diff < 0), min(mz_timestamp), max(mz_timestamp), "
            f"CAST(NULL AS BIGINT), {bucket}, CAST(NULL AS BIGINT), sum(mz_diff), "
            f"{size}\nFROM {table}" + ("\nGROUP BY mz_bucket" if bucketed else "")
        )

    def as_updates(self, tables: Sequence[str]) -> str:
        """Chains as consolidated updates (mz_timestamp, mz_diff, keys..., sums...)."""
        names = "".join(f", {quote(n)}" for n, _ in (*self.columns, *self.sums))
        if not tables:
            return intervals_sql.no_rows((*intervals_sql.UPDATE, *self.columns, *self.sums))
        every = "\nUNION ALL\n".join(f"SELECT mz_timestamp, mz_diff{names} FROM {table}" for table in tables)
        return f"SELECT mz_timestamp, mz_diff{names}\nFROM (\n{indent(self.consolidated(every), 2)}\n) AS mz_updates"

    def read(
        self, chains: Sequence[Chain], schema: str, t: str, earliest: int, splits: bool = True, joins: bool = True
    ) -> str:
        """The groups at t: keys, number of rows, sums.

        While few updates are due, one task reads them all, because a shuffle would take longer.
        """
        if not chains:
            return intervals_sql.no_rows((*self.columns, (COUNT, "BIGINT"), *self.sums))
        sums = "".join(f", sum({quote(n)}) AS {quote(n)}" for n, _ in self.sums)
        names = f"{self._keys}mz_diff{self._summed()}"
        due = "\nUNION ALL\n".join(
            f"SELECT {names}\nFROM {c.source(schema)}\nWHERE mz_timestamp <= {t}"
            + (f" AND mz_bucket <= {t}" if c.bucketed else "")
            for c in chains
        )
        near = near_until(chains)
        if near is not None:
            arms = [intervals_sql.by_one_task(due)]
            if near < buckets.NEVER:
                arms[0] += f"\nWHERE {t} <= {near}L"
                arms.append(f"SELECT *\nFROM (\n{indent(due, 2)}\n) AS mz_many\nWHERE {t} > {near}L")
            due = "\nUNION ALL\n".join(arms)
        group = f"\n  GROUP BY {self._keys[:-2]}" if self.columns else ""
        return groups_at(due, f"{self._keys}{NUMBER}{self._summed()}", self._keys, sums, group)

    def times(self, table: str) -> str:
        """A query of one column: the instants at which a chain changes the view."""
        return f"SELECT mz_timestamp AS t FROM {table}"

    def violations(self, chain: Chain) -> tuple[str, str, str]:
        """A check of stored updates: (violation in words, SQL of its detail, SQL of its condition).

        Updates after the expiration are no violation: a chain may be older than an expiration that was shortened.
        """
        placed = " OR mz_bucket > mz_timestamp" if chain.bucketed else ""
        return (
            "an update without an instant, or in a bucket that is not its own",
            "concat('at ', mz_timestamp, ' x ', mz_diff)",
            f"mz_timestamp IS NULL OR mz_diff IS NULL{placed}",
        )


def groups_at(due: str, shown: str, keys: str, sums: str, group: str) -> str:
    """A query that adds up the updates `due` of each group, and leaves out groups without rows.

    | | |
    |---|---|
    | shown | the SELECT list over the sums |
    | keys | the columns of the group key, before the number of rows |
    | sums | the sums, after the number of rows |
    | group | the GROUP BY, "" for one group |
    """
    return (
        f"SELECT {shown}\n"
        f"FROM (\n  SELECT {keys}sum(mz_diff) AS {COUNT}{sums}\n"
        f"  FROM (\n{indent(due, 4)}\n  ) AS mz_chains{group}\n"
        f"  HAVING sum(mz_diff) <> 0\n) AS mz_groups"
    )


def aggregation_stats(typed: TypedCore, as_of: int) -> str | None:
    """A query of three statistics of the rows with a window; None if there is nothing to ask.

    The statistics are the number of rows, the approximate number of groups (NULL where Spark cannot tell), and the
    largest `Sum.room_used` (NULL without such a sum).
    """
    assert typed.core.groups is not None
    wide = [s.room_used for s in typed.core.groups.sums if s.wide]
    is_countable = bool(typed.stored) and not any(
        "map<" in kind.lower() for _, kind in typed.stored
    )  # Spark cannot hash maps
    if not (is_countable or wide):
        return None
    keys = ", ".join(quote(n) for n, _ in typed.stored)
    groups = f"approx_count_distinct(struct({keys}))" if is_countable else "NULL"
    room = f"greatest({', '.join(wide)})" if len(wide) > 1 else wide[0] if wide else "NULL"
    rows = intervals_sql.desired(typed, as_of, None)
    return f"SELECT count(*), {groups}, {room}\nFROM (\n{indent(rows, 2)}\n) AS mz_windows"
