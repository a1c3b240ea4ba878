"""A model of numbers whose runs and readers are recorded: an order of commits has to explain what readers saw."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from support.instants import T0
from support.linearizable import Commit, Frontier, History, Outcome, Read
from support.project import Project, Result
from support.rivals import rival_run, take_over

#: each row as often as its updates in `<model>__diffs` add up to
UPDATES = """SELECT explode(array_repeat(id, n)) FROM (
  SELECT id, CAST(sum(mz_diff) AS INT) AS n FROM {s}.m__diffs GROUP BY id)"""


class Recorded:
    """A model `m` that shows each `id` of the table `events`: 0 to 9 at first."""

    def __init__(self, project: Project) -> None:
        self.project, self.history = project, History()
        #: the rows of the table: at first, and after each change
        self.inputs = [list(range(10))]

    def insert(self, *ids: int) -> None:
        self._change([*self.inputs[-1], *ids], "INTO", ids)

    def delete(self, *ids: int) -> None:
        left = [n for n in self.inputs[-1] if n not in ids]
        self._change(left, "OVERWRITE", left)

    def _change(self, rows: list[int], verb: str, ids: Iterable[int]) -> None:
        with self.history.change():
            self.inputs.append(rows)
            self.project.sql(f"INSERT {verb} {{s}}.events VALUES {', '.join(f'({n})' for n in ids)}")

    def run(self, now: int, check: bool = True, fails: Outcome = Outcome.NEVER) -> Result:
        """fails: what becomes of the commit of a run that fails."""
        with self.history.run(now) as run:
            ran = self.project.run(now=now, check=check)
        run.outcome = Outcome.DONE if ran.success else fails
        return ran

    def rival(self, now: int, by: Callable[[Project, int], Any] = take_over) -> Any:
        """A whole run by another hand."""
        with self.history.run(now):
            return by(self.project, now)

    def read(self, ask: Callable[[], Iterable[Any]] | None = None, of: str = "m", **how: int) -> None:
        """ask: the rows of the model; else the view is read. how: as of `History.read`."""
        asked = ask or (lambda: self.project.rows(f"SELECT id FROM {{s}}.{of}"))
        self.history.read(lambda: sorted(row[0] for row in asked()), of, **how)

    def read_past(self, instant: int) -> None:
        self.read(lambda: self.project.rows(f"SELECT id FROM {self.project.at('m', instant)}"), instant=instant)

    def read_rows(self) -> None:
        """The view and the updates."""
        self.read()
        self.read(lambda: self.project.rows(UPDATES), "m__diffs")

    def read_all(self) -> None:
        """The view, the updates, and the frontier of the state."""
        self.read_rows()
        self.history.read(lambda: Frontier(self.project.state().frontier))

    def unexplained(self) -> str:
        def wanted(commit: Commit, read: Read) -> list[int]:
            return sorted(self.inputs[commit.version])

        return self.history.unexplained(wanted)

    def explain(self) -> None:
        """All that was read, and what is there in the end."""
        self.read_all()
        said = self.unexplained()
        assert not said, said


def reader_beside(project: Project, runs: int) -> None:
    """A reader in a session of its own never sees an error, a missing view, half a run, or one that has gone back."""
    recorded, stop, session = Recorded(project), threading.Event(), project.spark.newSession()
    recorded.run(T0)

    def read() -> None:
        while not stop.wait(0.4):  # two cores are shared with the runs
            recorded.read(lambda: session.sql(f"SELECT id FROM {project.schema}.m").collect())

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(runs):
        recorded.insert(10 + n)
        # the same statements, most of them without what dbt does around them
        (recorded.run if n % 6 == 0 else partial(recorded.rival, by=rival_run))(T0 + 1000 * (n + 1))
    stop.set()
    reader.join()
    assert sum(isinstance(o, Read) for o in recorded.history.operations) > runs
    recorded.explain()
