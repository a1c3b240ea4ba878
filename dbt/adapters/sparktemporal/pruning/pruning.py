"""What a run leaves out of all that its inputs hold: by what a window implies, and by what is known of their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..config import TemporalConfig
from ..engine.ownership import marked
from ..engine.warehouse import ModelRelations, Warehouse
from ..inputs.observe import Input
from ..pushdown.sargable import Range
from ..temporal.diffs.chains import statistics_name
from ..temporal.diffs.state import State
from ..temporal.rewrite.core import TypedCore
from . import filters
from .files import FilePruner


@dataclass
class Pruning:
    """Of one run. implied: by core, what its rows were asked for by. notes: what statistics left of the inputs, and of
    what nothing is known. table: that of the statistics, "" for none."""

    warehouse: Warehouse
    target: ModelRelations
    config: TemporalConfig
    settings: Mapping[str, str]
    implied: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    table: str = ""
    _parts: FilePruner | None = None

    @property
    def measures(self) -> bool:
        return self.config.pushdown == "statistics" or bool(self.config.pushdown_collect)

    def measure(
        self, cores: Sequence[TypedCore], inputs: Mapping[str, Input], clock: Range, old: State | None, run: str
    ) -> str | None:
        """Look at what statistics of the inputs' files are kept, and collect those of files nobody has measured.

        Where they cannot be collected, nothing is left out by them: that is no reason for a run to fail. Returns the
        statement that collected them.
        """
        parts = FilePruner.look(
            self.warehouse, cores, inputs, self.settings, self.warehouse.version(), self.config.pushdown_columns, clock
        )
        self.notes, self.table = parts.notes, ""
        known = old.statistics if old and old.measured == parts.read_as else ""
        if known and self.warehouse.tables(self.target.schema, known):
            parts.known, self.table = self.target.table(known), known
        self._parts = parts
        if not self.config.pushdown_collect:
            return None
        name = statistics_name(self.target.model, run)
        using = f" USING {self.config.file_format} {marked(self.target)}"
        if not parts.collect(self.target.table(name), using):
            return None
        self.table = name
        return parts.collected

    def forget(self, run: str) -> list[str]:
        """What a run made of statistics, when its inputs changed meanwhile."""
        self._parts = None
        return [self.table] if self.table and run and self.table.endswith(run) else []

    def kept(self, old: State | None) -> tuple[str, str, int]:
        """The table of statistics to be named by the commit, what it knows, and how long that took (ms)."""
        if self._parts is None or old is not None and self.table == old.statistics:
            return (old.statistics, old.measured, old.measuring) if old else ("", "", 0)
        return self.table, self._parts.read_as if self.table else "", self._parts.took

    def of(self, core: TypedCore, clock: Range, seed: str) -> tuple[TypedCore, str | None]:
        """A core without the files that cannot matter while the clock is in a range, and what its window implies.

        An error where an input that must not be read whole would be, or where an audit finds a file that matters.
        """
        implied, bounded = self.condition(core, clock), []
        if self._parts is not None and self.config.pushdown == "statistics":
            self._parts.audit(core.name, clock, self.config.pushdown_audit, seed)
            self.notes += self._parts.told(core.name, clock)
            bounded = self._parts.bounded(core.name, clock)
        if self.config.pushdown_required:
            filters.refuse_unbounded(self.warehouse, core, implied, self.config.pushdown_required, bounded)
        if implied is not None:
            self.implied[core.name] = implied
        return self.narrowed(core, clock), implied

    def rows(self, core: TypedCore, clock: Range) -> dict[str, int]:
        """How many rows of its inputs a core is made of at most while the clock is in a range, where that is known."""
        if self._parts is None or self.config.pushdown != "statistics":
            return {}
        return self._parts.rows(core.name, clock)

    def condition(self, core: TypedCore, clock: Range) -> str | None:
        """What the window of a core implies of its columns while the clock is in a range."""
        return None if self.config.pushdown == "off" else filters.implied(self.warehouse, core, self.settings, clock)

    def narrowed(self, core: TypedCore, clock: Range) -> TypedCore:
        """A core without the files that cannot matter while the clock is in a range, by their statistics."""
        if self._parts is None or self.config.pushdown != "statistics":
            return core
        return self._parts.narrowed(core, clock)
