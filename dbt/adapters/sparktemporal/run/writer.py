"""Execute a plan: send the statements of its phases, and undo the run or begin again when a statement fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..engine.warehouse import Warehouse
from ..errors import Altered, TemporalError
from ..pruning.pruning import Pruning
from ..temporal.decision import Statement
from ..temporal.diffs.chains import first_id
from ..temporal.sql.spark.errors import Cause, SparkError, as_spark_errors
from . import announcing, fence, lock, rights
from .commit import Commit
from .phases import phases
from .plan import RunPlan
from .progress import Progress, Tools, Written
from .publishing import GIVES_WAY


@dataclass(frozen=True)
class Step:
    """A statement that is about to be executed, and its phase."""

    phase: str
    statement: Statement


class Writer(Progress):
    """Executes the phases of a plan."""

    def __init__(self, warehouse: Warehouse, plan: RunPlan, commit: Commit) -> None:
        super().__init__(Tools(warehouse, Pruning(warehouse, plan), commit), plan)
        #: phase -> its seconds so far
        self.seconds: dict[str, float] = {}
        #: until when the time is counted, by `time.monotonic` (s); None before the first phase
        self._counted: float | None = None
        #: whether all phases were executed, so nothing must be undone
        self.finished = False
        self._anew: Callable[[], Writer] | None = None
        self._locked = 0

    def under_lock(self, token: str, displaced: Sequence[str], anew: Callable[[], Writer] | None = None) -> None:
        """Tell the writer that the run has its lock. Nothing is written earlier.

        anew: observes and decides again, for the case that a rival has committed before the lock.
        """
        self.plan = self.plan.under(token, displaced)
        self._anew, self._locked = anew, self.tools.warehouse.clock()

    def steps(
        self, execute: Callable[[str], object], tell: Callable[[str], None] = lambda line: None
    ) -> Iterator[Step]:
        """Execute the phases. Each statement is in `script`, and is yielded, before its execution.

        execute: sends SQL. tell: gets a line for people at the beginning of a phase that may take long.

        In two cases the run drops what it has written, and begins again under the lock, once: a rival has committed
        after this run observed and before its lock; or a relation below the query was altered while the run read it.
        """
        with rights.in_words(self.plan.target):
            yield from self._steps(execute, tell)

    def _steps(self, execute: Callable[[str], object], tell: Callable[[str], None]) -> Iterator[Step]:
        try:
            yield from self._phases(execute, tell)
        except (TemporalError, SparkError) as error:
            if self._anew is None or not (isinstance(error, Altered) or self._is_overtaken(error)):
                if self._is_refused(error):
                    self.tools.commit.refuse_other(self.plan.run_id)
                raise
            self._begin_again(self._anew)
            yield from self._steps(execute, tell)

    def _is_overtaken(self, error: Exception) -> bool:
        """Whether an error comes from a rival that committed before this run had its lock.

        | | answer |
        |---|---|
        | a rival took over the lock | no: this run has lost |
        | the commit was sent, and the server may still carry it out | no: the commit must not be sent twice |
        """
        if self.finished or self.prepared is not None and not self._is_refused(error):
            return False
        with suppress(TemporalError, SparkError):  # people should read the first error
            is_ours = lock.is_held(self.tools.warehouse, self.plan.target, first_id(self.plan.run_id))
            return is_ours and self.tools.commit.is_overtaken(self.plan.run_id, self._locked)
        return False

    def _is_refused(self, error: Exception) -> bool:
        """Whether a first commit failed for sure: a relation of its name is there."""
        return self.prepared is not None and self.tools.commit.after is None and Cause.ALREADY_THERE.is_said_by(error)

    def _begin_again(self, anew: Callable[[], Writer]) -> None:
        self.prepared = None  # the server has refused a commit that was sent
        self.abandon()
        now, displaced = anew(), self.plan.displaced
        self._anew = None
        self.tools, self.written = now.tools, Written()
        # tables get new names: a server may still be writing a table by a statement that failed
        self.plan = now.plan.under(self.plan.run_id, displaced).renamed()

    def _phases(self, execute: Callable[[str], object], tell: Callable[[str], None]) -> Iterator[Step]:
        steps, phase = phases(self), "begin"
        try:
            step = next(steps, None)
            while step is not None:
                if isinstance(step, str):
                    self._spent(phase)
                    phase = step
                    if said := announcing.line(self.plan, phase):
                        tell(said)
                    step = next(steps, None)
                    continue
                self.sent.append(step)
                yield Step(phase, step)
                try:
                    with as_spark_errors():
                        execute(step.sql)
                except SparkError as error:
                    steps.throw(error)
                step = next(steps, None)
        finally:
            self._spent(phase)
        self.finished = True

    def _spent(self, phase: str) -> None:
        """Count the time since the phase before, or since the beginning of the run, as time of a phase."""
        now, before = time.monotonic(), self.plan.started if self._counted is None else self._counted
        self.seconds[phase] = self.seconds.get(phase, 0) + now - before
        self._counted = now

    def preview(self) -> Iterator[Step]:
        """The statements of the phases before `look`. No statement is executed, and no statistics are made."""
        phase = ""
        for step in phases(self, is_preview=True):
            if isinstance(step, Statement):
                yield Step(phase, step)
            elif step == "look":
                return
            else:
                phase = step

    @property
    def script(self) -> str:
        """The statements so far, as target/run shows them; empty before the first statement."""
        return "\n\n".join(f"-- {sent.purpose}\n{sent.sql};" for sent in self.sent) + ("\n" if self.sent else "")

    @property
    def gave_way(self) -> bool:
        """Whether the run dropped a table that had the model's name."""
        return any(sent.purpose == GIVES_WAY for sent in self.sent)

    @property
    def is_in_table(self) -> bool:
        """Whether the commits of the model go to a table, so that the model has no view in its schema."""
        return self.tools.commit.texts.is_table

    @property
    def is_committed(self) -> bool:
        """Whether the run ended, and saw its own commit."""
        return self.finished and self.prepared is not None

    def abandon(self) -> None:
        """Drop the tables that a failed run has written and not committed.

        After the commit is sent nothing is dropped: the server may still carry out the commit when the client gave up.
        """
        if self.finished or self.prepared is not None:
            return
        warehouse, target = self.tools.warehouse, self.plan.target
        written = fence.written_by(warehouse, target, [self.plan.run_id])
        for step in fence.drops(target, written, "left by a run that failed"):
            warehouse.rows(step.sql)
