"""Pruning: a run skips rows of its inputs by comparisons that follow from a window, and files by their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..config import TemporalConfig
from ..engine import ownership
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..inputs.observing.observe import Input
from ..pushdown.sargable import Range
from ..pushdown.statistics import PruningResult
from ..temporal.diffs.chains import statistics_name
from ..temporal.diffs.state import State
from ..temporal.rewrite.core import TypedCore
from . import filters
from .files import FilePruner


@dataclass
class Pruning:
    """The pruning of one run."""

    warehouse: Warehouse
    target: ModelRelations
    config: TemporalConfig
    settings: Mapping[str, str]
    #: core -> SQL that was added to the core's WHERE
    projection: dict[str, str] = field(default_factory=dict)
    #: for people: the files that are read after skipping by statistics
    notes: list[str] = field(default_factory=list)
    #: the table of statistics, "" for none
    table: str = ""
    _pruner: FilePruner | None = None

    def measure(
        self, cores: Sequence[TypedCore], inputs: Mapping[str, Input], clock: Range, old: State | None, run: str
    ) -> str | None:
        """Find the statistics of the inputs' files, and collect the statistics of files that have none.

        A run goes on without statistics that cannot be collected. Returns the statement that collected them, or None.
        """
        pruner = FilePruner.look(
            self.warehouse, cores, inputs, self.settings, self.warehouse.version(), self.config.pushdown_columns, clock
        )
        self.notes, self.table = pruner.notes, ""
        known = old.statistics if old and old.measured == pruner.read_as else ""
        if known and self.warehouse.tables(self.target.schema, known):
            pruner.known, self.table = self.target.table(known), known
        self._pruner = pruner
        if not self.config.pushdown_collect:
            return None
        name = statistics_name(self.target.model, run)
        using = f" {ownership.using(self.target, self.config.file_format)}"
        if not pruner.collect(self.target.table(name), using):
            return None
        self.table = name
        return pruner.collected

    def forget(self, run: str) -> list[str]:
        """Forget the statistics that a run made before its inputs changed -> the tables to drop."""
        self._pruner = None
        return [self.table] if self.table and run and self.table.endswith(run) else []

    def kept(self, old: State | None) -> tuple[str, str, int]:
        """For the commit: the table of statistics, the hash of what it depends on, and the time to collect it (ms)."""
        if self._pruner is None or old is not None and self.table == old.statistics:
            return (old.statistics, old.measured, old.measuring) if old else ("", "", 0)
        return self.table, self._pruner.read_as if self.table else "", self._pruner.took

    def of(self, core: TypedCore, clock: Range, seed: str) -> tuple[TypedCore, str | None]:
        """A core without the files that cannot matter while the clock is in a range, and SQL that its window implies.

        Raises TemporalError where an input would be read whole against `pushdown_required`, or where an audit finds a
        row that matters.
        """
        projection, bounded = self.condition(core, clock), []
        if self._pruner is not None and self.config.pushdown == "statistics":
            self._pruner.audit(core.name, clock, self.config.pushdown_audit, seed)
            self.notes += self._pruner.summary(core.name, clock)
            bounded = self._pruner.bounded(core.name, clock)
        if self.config.pushdown_required:
            filters.refuse_unbounded(self.warehouse, core, projection, self.config.pushdown_required, bounded)
        if projection is not None:
            self.projection[core.name] = projection
        return self.narrowed(core, clock), projection

    def left(self, cores: Sequence[str], clock: Range) -> dict[str, PruningResult]:
        """Input -> the part of its files that statistics leave; {} where statistics are not used, or not known."""
        if self._pruner is None or self.config.pushdown != "statistics":
            return {}
        return self._pruner.left_of_inputs(cores, clock)

    def rows(self, core: TypedCore, clock: Range) -> dict[str, int]:
        """Input -> the most rows that a core reads of it while the clock is in a range, where that is known."""
        if self._pruner is None or self.config.pushdown != "statistics":
            return {}
        return self._pruner.rows(core.name, clock)

    def condition(self, core: TypedCore, clock: Range) -> str | None:
        """SQL that the window of a core implies while the clock is in a range; None for nothing."""
        return None if self.config.pushdown == "off" else filters.projected(self.warehouse, core, self.settings, clock)

    def narrowed(self, core: TypedCore, clock: Range) -> TypedCore:
        """A core without the files that cannot matter while the clock is in a range, by their statistics."""
        if self._pruner is None or self.config.pushdown != "statistics":
            return core
        return self._pruner.narrowed(core, clock)
