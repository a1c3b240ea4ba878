"""What a run makes of the history of a Delta table, as the history is when the run asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.inputs.observing import snapshots
from dbt.adapters.sparktemporal.temporal.diffs.input_state import DeltaVersion


class Table:
    """A table with a change data feed. A commit is the time when it was made."""

    def __init__(self, commits: dict[int, str], meanwhile: int = 0) -> None:
        """meanwhile: so many commits come before each of the first three questions."""
        self.commits, self.meanwhile, self.asked = dict(commits), meanwhile, 0

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("SHOW TBLPROPERTIES"):
            return [("delta.enableChangeDataFeed", "true")]
        if not sql.startswith("DESCRIBE HISTORY"):
            return [(0,)] if sql.startswith("SELECT count(*)") else []
        self.asked += 1
        for _ in range(self.meanwhile if self.asked <= 3 else 0):
            self.commits[max(self.commits) + 1] = "later"
        newest = sorted(self.commits.items(), reverse=True)[: int(sql.rpartition(" ")[2])]
        return [(version, at, None, None, "WRITE", *[None] * 6, True) for version, at in newest]

    def changes(self, then: int, now: int) -> str:
        read, shown = DeltaVersion(then, "id", f"at {then}"), DeltaVersion(now, "id", f"at {now}")
        return snapshots.changes(Warehouse(self.rows), "t", read, shown, ["id"])[0]


def commits(first: int, last: int) -> dict[int, str]:
    return {version: f"at {version}" for version in range(first, last + 1)}


@pytest.mark.parametrize("meanwhile", [0, 1, 7])
def test_commits_that_come_meanwhile_are_of_the_next_run(meanwhile: int) -> None:
    table = Table(commits(0, 5), meanwhile)
    assert table.changes(3, 5) == "versions 4 to 5"
    assert table.asked == (4 if meanwhile else 1)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (commits(0, 2) | {3: "other", 4: "at 4"}, "version 3 is not the commit that was read"),
        (commits(4, 4), "version 3 is gone from its history"),
        (commits(0, 2), "version 3 is not the commit that was read"),
    ],
)
def test_another_history_is_read_in_full(there: dict[int, str], why: str) -> None:
    assert Table(there).changes(3, 4) == why
