"""The execution of a plan: its phases, in order.

Nothing before the commit changes what a reader sees, and the commit is one statement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ..engine.warehouse import Warehouse
from ..errors import Altered, TemporalError
from ..pruning.pruning import Pruning
from ..temporal.decision import Statement
from ..temporal.sql.spark.errors import Cause, SparkError, as_spark_errors
from . import announcing, at_function, lock, merging, publishing, rights, write_chains
from .commit import Commit
from .plan import RunPlan
from .progress import Phase, Progress, Tools

_EACH = (
    Phase("fence", write_chains.find_displaced, write_chains.fence),
    Phase("remember", write_chains.name_manifest, write_chains.remember),
    Phase("measure", write_chains.measure),
    Phase("write", write_chains.find_sources, write_chains.write, write_chains.refuse_damaged),
    Phase("look", write_chains.look),
    Phase("unwrite", write_chains.rename, write_chains.unwrite),
    Phase("undo", write_chains.observe_again, write_chains.undo),
    Phase("merge", merging.count_written, merging.merge),
    Phase("commit", publishing.prepare_commit, publishing.commit),
    Phase("publish", publishing.find_published, publishing.publish, at_function.refuse_unknown),
    Phase("clean_up", publishing.find_unnamed, publishing.clean_up),
)
PHASES = {phase.name: phase for phase in _EACH}


def order(now: Callable[[], tuple[RunPlan, Progress]]) -> Iterator[str]:
    """The phases of a run. now: gives the plan and the progress as the last phase has left them."""
    plan, _ = now()
    if not plan.writes_nothing:
        if plan.displaced:
            yield "fence"
        yield from write_chains.reading(now)
        yield "merge"
        yield "commit"
    is_quiet = plan.decision.writes_nothing
    if not is_quiet or plan.is_view_missing:
        yield "publish"
    if not is_quiet:
        yield "clean_up"


@dataclass(frozen=True)
class Step:
    """A statement that is about to be executed, and its phase."""

    phase: str
    statement: Statement


class Writer:
    """Executes the phases of a plan."""

    def __init__(self, warehouse: Warehouse, plan: RunPlan, commit: Commit) -> None:
        pruning = Pruning(warehouse, plan.target, plan.config, plan.settings)
        self.tools = Tools(warehouse, pruning, commit)
        self.plan, self.progress = plan, Progress()
        #: phase -> its seconds so far
        self.seconds: dict[str, float] = {}
        #: whether all phases were executed, so nothing must be undone
        self.finished = False
        self._sent: list[Statement] = []
        self._anew: Callable[[], Writer] | None = None
        self._token, self._locked = "", 0

    def under_lock(self, token: str, displaced: Sequence[str], anew: Callable[[], Writer] | None = None) -> None:
        """Tell the writer that the run has its lock. Nothing is written earlier.

        anew: observes and decides again, for the case that a rival has committed before the lock.
        """
        self.plan = self.plan.under(token, displaced)
        self._anew, self._token, self._locked = anew, token, self.tools.warehouse.clock()
        if anew is not None:
            self.tools = replace(self.tools, commit=replace(self.tools.commit, create_tells=True))

    def steps(
        self, execute: Callable[[str], object], tell: Callable[[str], None] = lambda line: None
    ) -> Iterator[Step]:
        """Execute the phases. Each statement is in `script`, and is yielded, before its execution.

        tell: gets a line for people at the beginning of a phase that may take long.

        In two cases the run drops what it has written, and begins again under the lock, once: a rival has committed
        after this run observed and before its lock; or a relation below the query was altered while the run read it.
        """
        with rights.in_words(self.plan.target):
            yield from self._steps(execute, tell)

    def _steps(self, execute: Callable[[str], object], tell: Callable[[str], None]) -> Iterator[Step]:
        try:
            yield from self._phases(execute, tell)
        except (TemporalError, SparkError) as error:
            if self._anew is None:
                raise
            if not isinstance(error, Altered) and not self._is_overtaken(error):
                if self._is_refused(error):
                    self.tools.commit.refuse_other(self.plan.run_id)
                raise
            self._begin_again(self._anew)
            yield from self._phases(execute, tell)

    def _is_overtaken(self, error: Exception) -> bool:
        """Whether an error comes from a rival that committed before this run had its lock.

        | | answer |
        |---|---|
        | a rival took over the lock | no: this run has lost |
        | the commit was sent, and the server may still carry it out | no: the commit must not be sent twice |
        """
        if self.finished or self.progress.state is not None and not self._is_refused(error):
            return False
        with suppress(TemporalError, SparkError):  # people should read the first error
            is_ours = lock.is_held(self.tools.warehouse, self.plan.target, self._token)
            return is_ours and self.tools.commit.is_overtaken(self.plan.run_id, self._locked)
        return False

    def _is_refused(self, error: Exception) -> bool:
        """Whether a first commit failed for sure: a relation of its name is there."""
        return self.progress.state is not None and self.plan.live_run is None and Cause.ALREADY_THERE.is_said_by(error)

    def _begin_again(self, anew: Callable[[], Writer]) -> None:
        self.progress = replace(self.progress, prepared=None)  # the server has refused a commit that was sent
        self.abandon()
        now, displaced = anew(), self.plan.displaced
        self._anew = None
        self.tools, self.progress = now.tools, now.progress
        # tables get new names: a server may still be writing a table by a statement that failed
        self.plan = now.plan.under(self.plan.run_id, displaced).renamed()

    def _phases(self, execute: Callable[[str], object], tell: Callable[[str], None]) -> Iterator[Step]:
        began = self._spent("begin", self.plan.started)
        for name in order(lambda: (self.plan, self.progress)):
            phase = PHASES[name]
            if said := announcing.line(self.plan, name):
                tell(said)
            known = len(self.progress.executed)
            self.plan, self.progress = phase.observe(self.tools, self.plan, self.progress)
            self._sent += self.progress.executed[known:]
            for statement in phase.statements(self.plan, self.progress):
                self._sent.append(statement)
                yield Step(name, statement)
                try:
                    with as_spark_errors():
                        execute(statement.sql)
                except SparkError as error:
                    phase.refuse(self.tools, self.plan, error)
                    raise
            began = self._spent(name, began)
        self.finished = True

    def _spent(self, phase: str, began: float) -> float:
        now = time.monotonic()
        self.seconds[phase] = self.seconds.get(phase, 0) + now - began
        return now

    def preview(self) -> Iterator[Step]:
        """The statements of the phases before `look`. No statement is executed, and no statistics are made."""
        now = [(self.plan, self.progress)]
        for name in order(lambda: now[-1]):
            if name == "look":
                return
            if name != "measure":
                now.append(PHASES[name].observe(self.tools, *now[-1]))
                yield from (Step(name, statement) for statement in PHASES[name].statements(*now[-1]))

    @property
    def script(self) -> str:
        """The statements so far, as target/run shows them; empty before the first statement."""
        return "\n\n".join(f"-- {sent.purpose}\n{sent.sql};" for sent in self._sent) + ("\n" if self._sent else "")

    @property
    def is_committed(self) -> bool:
        """Whether the run ended, and saw its own commit."""
        return self.finished and self.progress.state is not None

    @property
    def gave_way(self) -> bool:
        """Whether a table of the model's name was dropped for the view."""
        return self.progress.published is not None and self.progress.published.gives_way

    def abandon(self) -> None:
        """Drop the tables that a failed run has written and not committed.

        After the commit is sent nothing is dropped: the server may still carry out the commit when the client gave up.
        """
        if self.finished or self.progress.state is not None:
            return
        warehouse, plan = self.tools.warehouse, self.plan
        written = write_chains.written_by(warehouse, plan, [plan.run_id])
        for step in write_chains.drops(plan, written, "left by a run that failed"):
            warehouse.rows(step.sql)
