"""The form in which a core is stored, rows or groups, and the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """The form in which a core is stored.

    >>> str(Kept(rows_because="config aggregates: rows", by_config=True)), str(Kept("groups are kept")), bool(Kept())
    ('rows are kept: config aggregates: rows', 'groups are kept', False)
    """

    #: the groups in words, "" for rows
    groups: str = ""
    #: the reason for rows, "" where groups are impossible anyway
    rows_because: str = ""
    #: whether people asked for rows
    by_config: bool = False

    def __bool__(self) -> bool:
        return bool(self.groups or self.rows_because)

    def __str__(self) -> str:
        return f"rows are kept: {self.rows_because}" if self.rows_because else self.groups
