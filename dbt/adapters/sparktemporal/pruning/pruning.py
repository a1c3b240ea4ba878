"""Pruning: a run skips rows of its inputs by comparisons that follow from a window, and files by their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..engine import ownership
from ..engine.warehouse import Warehouse
from ..inputs.changing.capture import Request
from ..inputs.observing.observe import Input
from ..pushdown.sargable import Range
from ..pushdown.skipping import PruningResult
from ..temporal.diffs.chains import statistics_name
from ..temporal.rewrite.core import TypedCore
from . import filters
from .audit import audit
from .files import FilePruner


@dataclass
class Pruning:
    """The pruning of one run."""

    warehouse: Warehouse
    request: Request
    #: core -> SQL that was added to the core's WHERE
    projection: dict[str, str] = field(default_factory=dict)
    #: for people: the files that are read after skipping by statistics
    notes: list[str] = field(default_factory=list)
    #: the table of statistics, "" for none
    table: str = ""
    _pruner: FilePruner | None = None

    def measure(self, inputs: Mapping[str, Input], run_id: str) -> str | None:
        """Find the statistics of the inputs' files, and with `pushdown_collect` collect those of files that have none.

        Where a measured expression raises an error for a row, the run goes on without new statistics. Returns the
        statement that collected them, or None.
        """
        run, target, config, old = self.request, self.request.target, self.request.config, self.request.old
        settings, hints = run.invocation.settings, config.pushdown_columns
        # of all cores, not only of those that are read in full now: so the same statistics are kept at each run
        pruner = FilePruner.look(self.warehouse, run.model.cores, inputs, settings, hints, run.clock_range)
        self.notes, self.table = pruner.notes, ""
        known = old.statistics if old and old.measured == pruner.read_as else ""
        if known and self.warehouse.tables(target.schema, known):
            pruner.known, self.table = target.table(known), known
        self._pruner = pruner
        if not config.pushdown_collect:
            return None
        name = statistics_name(target.model, run_id)
        using = f" {ownership.using(target, config.file_format)}"
        if not pruner.collect(target.table(name), using):
            return None
        self.table = name
        return pruner.collected

    def forget(self, run: str) -> list[str]:
        """Forget the statistics that a run made before its inputs changed -> the tables to drop."""
        self._pruner = None
        return [self.table] if self.table and run and self.table.endswith(run) else []

    def kept(self) -> tuple[str, str, int]:
        """For the commit: the table of statistics, the hash of what it depends on, and the time to collect it (ms)."""
        old = self.request.old
        if self._pruner is None or old is not None and self.table == old.statistics:
            return (old.statistics, old.measured, old.measuring) if old else ("", "", 0)
        return self.table, self._pruner.read_as if self.table else "", self._pruner.took

    def of(self, core: TypedCore, seed: str) -> tuple[TypedCore, str | None]:
        """A core without the files that cannot matter at the instants of the run, and SQL that its window implies.

        Raises TemporalError where an input would be read whole against `pushdown_required`, or where an audit finds a
        row that matters.
        """
        config, clock, bounded = self.request.config, self.request.clock_range, []
        projection = self.condition(core, clock)
        if self._skipper is not None:
            audit(self._skipper, core.name, clock, config.pushdown_audit, seed)
            self.notes += self._skipper.summary(core.name, clock)
            bounded = self._skipper.bounded(core.name, clock)
        if config.pushdown_required:
            filters.refuse_unbounded(self.warehouse, core, projection, config.pushdown_required, bounded)
        if projection is not None:
            self.projection[core.name] = projection
        return self.narrowed(core, clock), projection

    @property
    def _skipper(self) -> FilePruner | None:
        """The pruner of files, where the run skips files by their statistics."""
        return self._pruner if self.request.config.pushdown == "statistics" else None

    def left(self, cores: Sequence[str]) -> dict[str, PruningResult]:
        """Input -> the part of its files that statistics leave; {} where statistics are not used, or not known."""
        return self._skipper.left_of_inputs(cores, self.request.clock_range) if self._skipper else {}

    def rows(self, core: TypedCore) -> dict[str, int]:
        """Input -> the most rows that a core reads of it at the instants of the run, where that is known."""
        return self._skipper.rows(core.name, self.request.clock_range) if self._skipper else {}

    def condition(self, core: TypedCore, clock: Range) -> str | None:
        """SQL that the window of a core implies while the clock is in a range; None for nothing."""
        settings = self.request.invocation.settings
        return (
            None if self.request.config.pushdown == "off" else filters.projected(self.warehouse, core, settings, clock)
        )

    def narrowed(self, core: TypedCore, clock: Range) -> TypedCore:
        """A core without the files that cannot matter while the clock is in a range, by their statistics."""
        return self._skipper.narrowed(core, clock) if self._skipper else core
