"""SQL of a core that is kept per group: real updates, one for a group and an instant at which its sums change.

    keys…, mz_timestamp, mz_diff (rows), mz_sum_1 …      the group at t is the sum of its updates with mz_timestamp <= t

A group whose rows are gone has the sum 0 in every column, and is no group. Times are BIGINT milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import updates
from .aggregates import COUNT, minus, whole
from .core import TypedCore
from .dialect import quote
from .updates import Columns, indent

_DAMAGED = "raise_error('the diffs retract a row more often than it was added')"


@dataclass(frozen=True)
class GroupStore:
    """columns: the keys. sums: the other diff columns (name, type)."""

    columns: Columns
    sums: Columns

    @property
    def _keys(self) -> str:
        return "".join(f"{quote(n)}, " for n, _ in self.columns)

    def _summed(self) -> str:
        return "".join(f", {quote(n)}" for n, _ in self.sums)

    def wanted(self, typed: TypedCore, as_of: int, expiration: int | None) -> str:
        """The updates of the core's groups at this run, none before `as_of`, none past `expiration`."""
        assert typed.core.groups is not None
        values = ""
        for s in typed.core.groups.sums:
            total = f"sum(IF(mz_sign > 0, {s.value}, {minus(s.value, s.type)}))"
            values += f",\n    {whole(total, s.type)} AS {quote(s.name)}"
        rows = updates.wanted(typed, as_of, expiration)
        return self._changed(
            f"  SELECT {self._keys}mz_timestamp, sum(mz_sign) AS mz_diff{values}\n"
            f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_windows\n"
            f"  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign\n"
            f"  WHERE mz_timestamp IS NOT NULL\n"
            f"  GROUP BY {self._keys}mz_timestamp"
        )

    def stored(self, tables: Sequence[str], since: int, expiration: int | None) -> str:
        """The updates of chains, advanced to `since`."""
        late = f" WHERE mz_timestamp <= {expiration}L" if expiration is not None else ""
        return "\nUNION ALL\n".join(
            f"SELECT {self._keys}greatest(mz_timestamp, {since}L) AS mz_timestamp, mz_diff{self._summed()}\n"
            f"FROM {table}{late}"
            for table in tables
        )

    def consolidated(self, diffs: str) -> str:
        """Updates of one group and instant added up, zeros gone."""
        sums = "".join(f", {whole(f'sum({quote(n)})', t)} AS {quote(n)}" for n, t in self.sums)
        return self._changed(
            f"  SELECT {self._keys}mz_timestamp, sum(mz_diff) AS mz_diff{sums}\n"
            f"  FROM (\n{indent(diffs, 4)}\n  ) AS mz_all\n"
            f"  GROUP BY {self._keys}mz_timestamp"
        )

    def _changed(self, diffs: str) -> str:
        changed = " OR ".join(f"{quote(n)} <> 0" for n, _ in (("mz_diff", ""), *self.sums))
        return f"SELECT *\nFROM (\n{diffs}\n) AS mz_sums\nWHERE {changed}"

    def difference(self, wanted: str, stored: str) -> str:
        """Wanted updates minus stored ones."""
        taken = "".join(f", {minus(quote(n), t)} AS {quote(n)}" for n, t in self.sums)
        return self.consolidated(
            f"SELECT {self._keys}mz_timestamp, mz_diff{self._summed()} FROM (\n{indent(wanted, 2)}\n) AS mz_wanted\n"
            f"UNION ALL\n"
            f"SELECT {self._keys}mz_timestamp, -mz_diff{taken} FROM (\n{indent(stored, 2)}\n) AS mz_stored"
        )

    def create(self, table: str, rows: str, using: str) -> str:
        """The one statement that writes a chain, sorted by time: what a read does not reach yet can be skipped."""
        in_order = f"SELECT * FROM (\n{indent(rows, 2)}\n) AS mz_chain\nSORT BY mz_timestamp"
        return f"CREATE TABLE {table}{using} AS\n{in_order}"

    def count(self, table: str) -> str:
        return f"SELECT count(*), count_if(mz_diff < 0), min(mz_timestamp), max(mz_timestamp), NULL, NULL FROM {table}"

    def as_updates(self, tables: Sequence[str]) -> str:
        """Chains as consolidated updates (mz_timestamp, mz_diff, keys..., sums...)."""
        names = "".join(f", {quote(n)}" for n, _ in (*self.columns, *self.sums))
        if not tables:
            typed = "".join(f", CAST(NULL AS {t}) AS {quote(n)}" for n, t in (*self.columns, *self.sums))
            return f"SELECT CAST(NULL AS BIGINT) AS mz_timestamp, CAST(NULL AS BIGINT) AS mz_diff{typed}\nWHERE false"
        every = "\nUNION ALL\n".join(f"SELECT mz_timestamp, mz_diff{names} FROM {table}" for table in tables)
        return f"SELECT mz_timestamp, mz_diff{names}\nFROM (\n{indent(self.consolidated(every), 2)}\n) AS mz_updates"

    def read(self, tables: Sequence[str], corrected: bool, t: str) -> str:
        """The groups at t: keys, how many rows each has, its sums."""
        if not tables:
            typed = ", ".join(f"CAST(NULL AS {k}) AS {quote(n)}" for n, k in self._out)
            return f"SELECT {typed} WHERE false"
        sums = "".join(f", sum({quote(n)}) AS {quote(n)}" for n, _ in self.sums)
        rows = "\nUNION ALL\n".join(
            f"SELECT {self._keys}mz_timestamp, mz_diff{self._summed()} FROM {table}" for table in tables
        )
        group = f"\n  GROUP BY {self._keys[:-2]}" if self.columns else ""
        # a group of fewer rows than none would mean damaged chains: raise, never show it
        number = f"CASE WHEN {COUNT} > 0 THEN {COUNT} ELSE CAST({_DAMAGED} AS BIGINT) END AS {COUNT}"
        return (
            f"SELECT {self._keys}{number}{self._summed()}\n"
            f"FROM (\n  SELECT {self._keys}sum(mz_diff) AS {COUNT}{sums}\n"
            f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_chains\n  WHERE mz_timestamp <= {t}{group}\n"
            f"  HAVING sum(mz_diff) <> 0\n) AS mz_groups"
        )

    @property
    def _out(self) -> Columns:
        return (*self.columns, (COUNT, "bigint"), *self.sums)

    def times(self, table: str) -> str:
        """The instants at which a chain changes something, as a query of one column."""
        return f"SELECT mz_timestamp AS t FROM {table}"

    def wrong(self, expiration: int | None) -> tuple[str, str, str]:
        """What no update can be: in words, its detail, its condition."""
        late = f" OR mz_timestamp > {expiration}" if expiration is not None else ""
        return (
            "an update without an instant, or past the expiration",
            "concat('at ', mz_timestamp, ' x ', mz_diff)",
            f"mz_timestamp IS NULL OR mz_diff IS NULL{late}",
        )


def shrinking(typed: TypedCore, as_of: int) -> str:
    """A query: how many rows there are with a window, and about how many groups."""
    assert typed.core.groups is not None
    keys = ", ".join(quote(n) for n, _ in typed.stored)
    rows = updates.wanted(typed, as_of, None)
    return f"SELECT count(*), approx_count_distinct(struct({keys}))\nFROM (\n{indent(rows, 2)}\n) AS mz_windows"
