"""Histories of runs and readers, and a checker: does an order of commits explain all that the readers saw?

A history is a list of operations, each with the tick at which its client sent it and the tick at which the client had
its answer. The checker looks for an order of the commits such that

- an operation that ended before another one began stands before it,
- each read shows the rows of the last commit before it, whole; at an instant in the past those of the commit of then,
- each commit covers a version of the input that was there while its run was at work, and none is older than the commit
  before; the frontier never goes back,
- a run that succeeded has committed, or has found its input covered; one that failed cleanly never commits; one that
  was killed commits at any later tick, or never.

The search is that of Wing and Gong with the memory of Lowe, as in porcupine: an operation may be next if no other one
ended before it began, and no pair (operations done, commits) is looked at twice. A read changes nothing, so a read that
fits is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from math import inf
from typing import Any, NamedTuple


class Outcome(Enum):
    """What the client of a run knows of its commit."""

    DONE = "succeeds"
    MAYBE = "is killed"
    NEVER = "fails"


class Commit(NamedTuple):
    """What readers see from a commit on."""

    #: ms
    frontier: int
    #: how many changes of the input the commit covers
    version: int


class Frontier(NamedTuple):
    """The answer of a read of the state."""

    at: int


class Failed(NamedTuple):
    """The answer of a read that ended with an error: no commit explains it."""

    error: str


@dataclass(eq=False)
class Operation:
    """invoked, ended: the ticks at which the client began and ended."""

    invoked: int
    ended: float = field(default=inf, kw_only=True)

    @property
    def returned(self) -> float:
        """The tick before which the operation took effect."""
        return self.ended


@dataclass(eq=False)
class Change(Operation):
    """The input becomes its next version."""


@dataclass(eq=False)
class Run(Operation):
    """A run of the model as of an instant (ms)."""

    as_of: int
    outcome: Outcome = Outcome.DONE

    @property
    def returned(self) -> float:
        return inf if self.outcome is Outcome.MAYBE else self.ended

    def __str__(self) -> str:
        return f"a run as of {self.as_of} {self.outcome.value}"


@dataclass(eq=False)
class Read(Operation):
    """A read of a relation. instant: which the reader asked for (ms); None for its clock, after all runs."""

    of: str
    instant: int | None = None
    answer: Any = None

    def __str__(self) -> str:
        asked = "" if self.instant is None else f" as of {self.instant}"
        return f"a read of {self.of}{asked} saw {self.answer!r}"


#: (a commit, a read) -> the answer that the read has to have
Wanted = Callable[[Commit, Read], Any]


class History:
    """Operations in the order in which they began. Several threads may record."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._ticks = count()

    def tick(self) -> int:
        return next(self._ticks)

    @contextmanager
    def _recorded(self, operation: Operation) -> Iterator[None]:
        self.operations.append(operation)
        try:
            yield
        finally:
            operation.ended = self.tick()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Changes of the input come one after the other."""
        with self._recorded(Change(self.tick())):
            yield

    @contextmanager
    def run(self, as_of: int, outcome: Outcome = Outcome.DONE) -> Iterator[Run]:
        """The outcome may be told until the check."""
        run = Run(self.tick(), as_of, outcome)
        with self._recorded(run):
            yield run

    def read(self, ask: Callable[[], Any], of: str = "m", instant: int | None = None, began: int | None = None) -> Any:
        """What `ask` answers; every error counts. began: the tick, of a query that was planned earlier."""
        read = Read(self.tick() if began is None else began, of, instant)
        with self._recorded(read):
            try:
                read.answer = ask()
            except Exception as error:
                read.answer = Failed(f"{type(error).__name__}: {str(error)[:300]}")
        return read.answer

    def unexplained(self, wanted: Wanted) -> str:
        """In words how far an order comes that explains most; "" where one explains all.

        Relations are looked at one by one: `<model>__diffs` follows the commit a moment later.
        """
        relations = dict.fromkeys(o.of for o in self.operations if isinstance(o, Read))
        assert relations, "nobody has read anything"
        return "\n".join(filter(None, (_Search(self.operations, of, wanted).unexplained() for of in relations)))


class _Search:
    """Of the reads of one relation."""

    def __init__(self, operations: Sequence[Operation], of: str, wanted: Wanted) -> None:
        self.of, self.wanted = of, wanted
        self.changes = [o for o in operations if isinstance(o, Change)]
        steps = [o for o in operations if self._counts(o)]
        self.steps: list[Operation] = sorted(steps, key=lambda o: o.invoked)
        self.instants = {o.instant for o in steps if isinstance(o, Read) and o.instant is not None}

    def _counts(self, operation: Operation) -> bool:
        if isinstance(operation, Run):
            return operation.outcome is not Outcome.NEVER
        return isinstance(operation, Read) and operation.of == self.of and operation.ended < inf

    def unexplained(self) -> str:
        needed = sum(1 << at for at, step in enumerate(self.steps) if step.returned < inf)
        stack: list[tuple[int, tuple[Commit, ...]]] = [(0, ())]
        seen, best = set(stack), stack[0]
        while stack:
            done, commits = stack.pop()
            done = self._without_obsolete(self._with_reads(done, commits), commits)
            if done & needed == needed:
                return ""
            best = max(best, (done, commits), key=lambda state: state[0].bit_count())
            for at, step in self._next(done):
                for after in self._after(step, commits) if isinstance(step, Run) else ():
                    if (state := (done | 1 << at, self._shown(after))) not in seen:
                        seen.add(state)
                        stack.append(state)
        return self._told(*best)

    def _next(self, done: int) -> list[tuple[int, Operation]]:
        """The steps before which no other one has to be."""
        left = [(at, step) for at, step in enumerate(self.steps) if not done >> at & 1]
        first = min((step.returned for _, step in left), default=inf)
        return [(at, step) for at, step in left if step.invoked < first]

    def _with_reads(self, done: int, commits: tuple[Commit, ...]) -> int:
        """With all reads that fit now."""
        while fits := [at for at, step in self._next(done) if isinstance(step, Read) and self._fits(step, commits)]:
            done |= sum(1 << at for at in fits)
        return done

    def _without_obsolete(self, done: int, commits: tuple[Commit, ...]) -> int:
        """Without the runs that were killed, and whose input is older by now than what is committed."""
        version = commits[-1].version if commits else 0
        obsolete = (at for at, step in enumerate(self.steps) if step.returned == inf and isinstance(step, Run))
        return done | sum(1 << at for at in obsolete if not done >> at & 1 and self._seen(self.steps[at])[-1] < version)

    def _shown(self, commits: tuple[Commit, ...]) -> tuple[Commit, ...]:
        """The commits that some read may show: the last one, and of each instant in the past the one of then."""
        then = {max((at for at, c in enumerate(commits) if c.frontier <= t), default=-1) for t in self.instants}
        return tuple(c for at, c in enumerate(commits) if at in then or at == len(commits) - 1)

    def _fits(self, read: Read, commits: tuple[Commit, ...]) -> bool:
        return not isinstance(read.answer, Failed) and read.answer == self._wanted(read, commits)

    def _wanted(self, read: Read, commits: tuple[Commit, ...]) -> Any:
        """Updates up to a frontier are final: of a past instant the commit of then decides."""
        if isinstance(read.answer, Frontier):
            return Frontier(commits[-1].frontier) if commits else None
        then = [c for c in commits if read.instant is None or c.frontier <= read.instant]
        return self.wanted(then[-1], read) if then else None

    def _after(self, run: Run, commits: tuple[Commit, ...]) -> Iterator[tuple[Commit, ...]]:
        """The commits after a run: none of its own where its input was covered."""
        seen = self._seen(run)
        last = commits[-1] if commits else Commit(run.as_of, 0)
        for version in seen[max(0, last.version - seen.start) :]:
            yield (*commits, Commit(max(run.as_of, last.frontier), version))
        if commits and last.version in seen:
            yield commits

    def _seen(self, run: Operation) -> range:
        """The versions of the input that were there while a run was at work."""
        return range(
            sum(c.ended < run.invoked for c in self.changes), 1 + sum(c.invoked < run.ended for c in self.changes)
        )

    def _told(self, done: int, commits: tuple[Commit, ...]) -> str:
        so_far = ", ".join(f"input {c.version} at {c.frontier}" for c in commits) or "nothing"
        lines = [f"no order of commits explains what readers of {self.of} saw. With the commits ({so_far}), next are:"]
        for _, step in self._next(done):
            answers = isinstance(step, Read) and not isinstance(step.answer, Failed)
            expected = f", not {self._wanted(step, commits)!r}" if answers else ""
            lines.append(f"  {step.invoked}–{step.ended} {step}{expected}")
        return "\n".join(lines)
