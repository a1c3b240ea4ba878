"""How the rows of a core are kept: as intervals, a row each, or as updates of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import updates
from .core import TypedCore
from .groups import GroupStore
from .state import CoreState
from .updates import Columns


@dataclass(frozen=True)
class IntervalStore:
    """Row level; see `updates`. The same methods as `GroupStore`."""

    columns: Columns

    def wanted(self, typed: TypedCore, as_of: int, expiration: int | None) -> str:
        return updates.wanted(typed, as_of, expiration)

    def stored(self, tables: Sequence[str], since: int, expiration: int | None) -> str:
        return updates.stored(tables, self.columns, since, expiration)

    def consolidated(self, diffs: str) -> str:
        return updates.consolidated(diffs, self.columns)

    def difference(self, wanted: str, stored: str) -> str:
        return updates.difference(wanted, stored, self.columns)

    def create(self, table: str, rows: str, using: str) -> str:
        return updates.create_chain(table, rows, using)

    def count(self, table: str) -> str:
        return (
            "SELECT count(*), count_if(mz_diff < 0), min(mz_from), max(mz_from), min(mz_until), max(mz_until) "
            f"FROM {table}"
        )

    def as_updates(self, tables: Sequence[str]) -> str:
        return updates.as_updates(tables, self.columns)

    def read(self, tables: Sequence[str], corrected: bool, t: str) -> str:
        return updates.read(tables, self.columns, corrected, t)

    def times(self, table: str) -> str:
        return f"SELECT mz_from AS t FROM {table} UNION ALL SELECT mz_until FROM {table}"

    def wrong(self, expiration: int | None) -> tuple[str, str, str]:
        late = f" OR mz_from > {expiration} OR mz_until > {expiration}" if expiration is not None else ""
        return (
            "an interval that is empty, unsigned, or past the expiration",
            "concat('[', mz_from, ', ', coalesce(CAST(mz_until AS STRING), 'open'), ') x ', mz_diff)",
            f"mz_from IS NULL OR mz_diff IS NULL OR abs(mz_diff) <> 1 OR mz_until <= mz_from{late}",
        )


Store = IntervalStore | GroupStore


def store_of(core: CoreState | TypedCore) -> Store:
    columns = core.columns if isinstance(core, CoreState) else core.stored
    return IntervalStore(columns) if core.sums is None else GroupStore(columns, core.sums)
