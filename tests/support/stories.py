"""Stories: the tables, the model and the steps of a test as data. All stories of a module live in one project.

    "new_files": Story(
        "create table {t} as select ...",                        its tables and views, each name in braces
        "select id from {t} where mz_now() < hi",
        [Step(told="hydrated"), Step("insert into {t} ...", "new files (1 new file of 2)"), Step(told="unchanged")],
    )

A step is SQL, one run of dbt for the models of all stories, and what is expected of this run. After each run each model
is its query as written: the names and types of its columns, and its rows at the instant of the run and at the instants
of the story.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.instants import T0
from support.project import Project, Result, inputs_of

#: from one step to the next (ms)
PACE = 1000


@dataclass(frozen=True)
class Step:
    change: str = ""
    #: words of dbt's line of the run, or of how the run read its inputs
    told: str | tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    tables: str
    model: str
    steps: Sequence[Step] = (Step(),)
    config: Mapping[str, Any] = field(default_factory=dict)
    #: how the first cores are kept after the first run; None: whichever way
    kept: Sequence[str] | None = None
    #: instants (ms after T0) at which the model is compared beside that of the run
    instants: Sequence[int] = (500, 1_500, 5_000, 60_000)


def live(project: Project, stories: Mapping[str, Story]) -> None:
    """Live all stories step by step. The error names the story, the step, the instant and the rows."""
    placed = {name: _Placed(project, name, story) for name, story in stories.items()}
    for name, story in stories.items():
        project.sql(placed[name].sql(story.tables))
        project.model(name, placed[name].sql(story.model), **story.config)
    wrong: list[str] = []
    for number in range(max(len(story.steps) for story in stories.values())):
        due = {name: story.steps[number] for name, story in stories.items() if number < len(story.steps)}
        for name, step in due.items():
            project.sql(placed[name].sql(step.change))
        now = T0 + number * PACE
        ran = project.run("-s", *due, now=now, check=False)
        for name, step in due.items():
            found = [*placed[name].untold(ran, step), *placed[name].differences(ran, now)]
            if number == 0 and not found:
                found += placed[name].unkept()
            wrong += [f"{name}, step {number} ({step.change or 'a run'}): {one}" for one in found]
    assert not wrong, "\n" + "\n".join(wrong)


@dataclass(frozen=True)
class _Placed:
    """A story with the names of its tables in a project."""

    project: Project
    name: str
    story: Story

    def sql(self, text: str) -> str:
        """The text with the table's names: `{t}` of the story `a` is `<schema>.a_t`."""
        return re.sub(r"\{(\w+)\}", rf"{self.project.schema}.{self.name}_\1", text)

    def untold(self, ran: Result, step: Step) -> Iterator[str]:
        told = ran.of(self.name)
        if str(told.status) != "success":
            yield f"{told.status}, {told.message}"
            return
        said = f"{told.message} | {inputs_of(told)}"
        for words in [step.told] if isinstance(step.told, str) else step.told:
            if words not in said:
                yield f"{words!r} is not told: {said}"

    def unkept(self) -> Iterator[str]:
        kept = [str(core.kept) for core in self.project.state(self.name).cores]
        if self.story.kept is not None and kept[: len(self.story.kept)] != list(self.story.kept):
            yield f"is kept as {kept}"

    def differences(self, ran: Result, now: int) -> Iterator[str]:
        """What the model and its query as written do not share: columns, and rows by instant."""
        if str(ran.of(self.name).status) != "success":
            return
        instants = sorted({now, *(T0 + t for t in self.story.instants if T0 + t > now)})
        query = self.sql(self.story.model)
        kinds = self.project.spark.table(f"{self.project.schema}.{self.name}").dtypes
        expected = self.project.spark.sql(query.replace("mz_now()", f"timestamp_millis({now}L)")).dtypes
        if kinds != expected:
            yield f"the columns are {kinds}, not {expected}"
        shown = {t: f"SELECT * FROM {read}" for t, read in self.project.at_each(self.name, instants).items()}
        written = {t: query.replace("mz_now()", f"timestamp_millis({t}L)") for t in instants}
        found, wanted = self._rows(shown), self._rows(written)
        for t in instants:
            missing, beyond = wanted[t] - found[t], found[t] - wanted[t]
            if missing or beyond:
                yield f"at T0 + {t - T0} ms: without {sorted(missing.elements())}, with {sorted(beyond.elements())}"

    def _rows(self, queries: Mapping[int, str]) -> dict[int, Counter[str]]:
        each = " UNION ALL ".join(f"SELECT {t}L, to_json(struct(*)) FROM ({query})" for t, query in queries.items())
        found: dict[int, Counter[str]] = {t: Counter() for t in queries}
        for t, row in self.project.rows(each):
            found[t][row] += 1
        return found
