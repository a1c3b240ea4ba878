"""What is stored of a core, rows or groups, and the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """groups: what groups are kept, in words, "" for rows. rows_because: why rows are, "" where nothing else could be.

    by_config: people asked for rows.

    >>> str(Kept(rows_because="config aggregates: rows", by_config=True)), str(Kept("groups are kept")), bool(Kept())
    ('rows are kept: config aggregates: rows', 'groups are kept', False)
    """

    groups: str = ""
    rows_because: str = ""
    by_config: bool = False

    def __bool__(self) -> bool:
        return bool(self.groups or self.rows_because)

    def __str__(self) -> str:
        return f"rows are kept: {self.rows_because}" if self.rows_because else self.groups
