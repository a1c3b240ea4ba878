"""Pruning by statistics: a run that reads an input in full skips the files in which no row can matter.

One query for each input collects the statistics of new files, and a table beside the model keeps them. A run asks this
table which files can hold a row that matters while the clock is in its range, and reads only these files.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ..engine.warehouse import Warehouse
from ..inputs.observing.observe import Input
from ..plurals import quantity
from ..pushdown import lineage, skipping, statistics
from ..pushdown.metrics_evaluator import Leaf, MetricsEvaluator
from ..pushdown.sargable import Range
from ..pushdown.skipping import PruningResult
from ..pushdown.statistics import Measured
from ..temporal.diffs.input_state import FilesFingerprint
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.spark.settings import CASE, ZONE, is_ansi, is_on
from ..temporal.sql.text.identifiers import quoted
from .measuring import hash_of, is_of, measure
from .opened_core import OpenedCore, open_core, restricted


@dataclass
class FilePruner:
    """Prunes the files of the inputs of some cores."""

    warehouse: Warehouse
    settings: Mapping[str, str]
    #: core -> its tables
    of: dict[str, OpenedCore] = field(default_factory=dict)
    #: input -> the statistics that are kept
    measured: dict[str, Measured] = field(default_factory=dict)
    #: a hash of all that statistics depend on besides the files
    read_as: str = ""
    #: for people: why something has no statistics
    notes: list[str] = field(default_factory=list)
    #: the table of statistics of an earlier run, in SQL
    known: str | None = None
    #: the table of statistics of all present files
    table: str | None = None
    #: the statement that made `table`
    collected: str | None = None
    #: how long this statement took (ms)
    took: int = 0
    _left: dict[tuple[str, Range], dict[int, tuple[Measured, PruningResult, str]]] = field(default_factory=dict)

    @staticmethod
    def look(
        warehouse: Warehouse,
        cores: Sequence[TypedCore],
        inputs: Mapping[str, Input],
        settings: Mapping[str, str],
        hints: Sequence[str],
        clock: Range,
    ) -> FilePruner:
        """A pruner that knows which expressions of the inputs are to be measured, for a clock in a range."""
        files = {name: seen for name, seen in inputs.items() if isinstance(seen.fingerprint, FilesFingerprint)}
        notes = [f"{name}: no statistics are kept of what is no table of files" for name in inputs if name not in files]
        parts = FilePruner(warehouse, settings, notes=notes)
        if is_on(settings[CASE]):
            notes.append(f"no statistics are kept while {CASE} is set")
            return parts
        if not files:
            return parts
        ansi = is_ansi(settings)
        wants: dict[str, dict[str, exp.Expr]] = {}
        types: dict[str, Mapping[str, str]] = {}
        for core in cores:
            found = open_core(warehouse, core, files, ansi, notes)
            if found is None:
                continue
            parts.of[core.name] = found
            types |= found.types
            for place, relation in found.places:
                reader = parts._evaluator(found, place, relation, clock, {})
                reader.may_matter(place.predicate)
                own = {text: node for text, node in reader.wants.items() if is_of(node, types[relation])}
                wants.setdefault(relation, {}).update(own)
        parts._measure(wants, files, types, hints)
        parts.read_as = hash_of(parts.measured, files, settings, warehouse.version())
        return parts

    def _measure(
        self,
        wants: Mapping[str, dict[str, exp.Expr]],
        files: Mapping[str, Input],
        types: Mapping[str, Mapping[str, str]],
        hints: Sequence[str],
    ) -> None:
        """Choose what is measured of each relation. wants: relation -> {SQL: expression}."""
        warehouse, ansi = self.warehouse, is_ansi(self.settings)
        functions = warehouse.system_functions()
        for relation, texts in wants.items():
            number = sum(len(one.leaves) for one in self.measured.values())
            # by FAILFAST Spark raises an error for a malformed value of the columns that it reads
            options = warehouse.table(quoted(relation)).details.get("Storage Properties", "")
            if re.search(r"\bmode=", options.lower()):
                self.notes.append(f"{relation}: no statistics are kept of a table with the option mode")
                continue
            one = measure(warehouse, files[relation], texts, types[relation], ansi, hints, functions, number)
            if one.leaves:
                self.measured[relation] = one

    def collect(self, table: str, using: str) -> bool:
        """Create `table` with the statistics of all present files, unless an earlier run's table is up to date.

        Only files without statistics are read, or all files of an input with too many such files to name. Returns
        whether the table was made. No table is made where nothing is to be measured, or an expression raises an error
        for a row, which is noted. Other errors are raised.
        """
        sql = self._statistics()
        if sql is None:
            self.table = self.known
            return False
        self.collected = f"CREATE TABLE {table}{using} AS\n{sql}"
        began = time.monotonic()
        try:
            self.warehouse.rows(self.collected)
        except SparkError as error:  # an expression that fails over a row costs only the statistics
            self.warehouse.rows(f"DROP TABLE IF EXISTS {table}")
            if self._can_be_computed():
                raise
            self.notes.append(f"no statistics were collected: {str(error).strip().splitlines()[0]}")
            return False
        self.took = int((time.monotonic() - began) * 1000)
        self.table = table
        return True

    def _can_be_computed(self) -> bool:
        """Whether Spark can compute all measured expressions. Nothing is written, so a full disk does not matter."""
        try:
            for one in self.measured.values():
                self.warehouse.rows(statistics.computed(one))
        except SparkError:  # any error of a user's expression
            return False
        return True

    def _statistics(self) -> str | None:
        every = self._types_of_leaves
        texts, changed = [], self.known is None
        for one in self.measured.values():
            where, known = "", []
            if self.known is not None:
                new, names, gone = self.warehouse.rows(statistics.unknown(one, self.known))[0]
                files = json.loads(names)
                changed = changed or int(new) > 0 or int(gone) > 0
                if len(files) == int(new):  # else there are too many to name: all files are read
                    known = [statistics.known(one, self.known)]
                    where = f" WHERE {statistics.in_files(one, files)}" if files else " WHERE false"
            texts.append(statistics.of_files(one, every, [*known, statistics.collect(one, every, where)]))
        return "\nUNION ALL\n".join(texts) if texts and changed else None

    @property
    def _types_of_leaves(self) -> dict[int, str]:
        return {leaf.index: leaf.type for one in self.measured.values() for leaf in one.leaves.values()}

    def source(self, one: Measured) -> str | None:
        """SQL for a FROM with the statistics of each present file of an input; None where there are no statistics."""
        if self.table is None and self.known is not None:
            files = statistics.of_files(one, self._types_of_leaves, [statistics.known(one, self.known)])
            return f"(\n{files}\n) AS mz_known_files"
        return self.table

    def left(self, core: str, clock: Range) -> dict[int, tuple[Measured, PruningResult, str]]:
        """Index of a table in a core's query -> (its statistics, the part left, a query of which files may matter)."""
        if (core, clock) in self._left:
            return self._left[core, clock]
        opened, found = self.of.get(core), {}
        for place, relation in opened.places if opened else ():
            one = self.measured.get(relation)
            source = self.source(one) if one else None
            if opened is None or one is None or source is None:
                continue
            may_matter = self._evaluator(opened, place, relation, clock, one.leaves).may_matter(place.predicate)
            judged = skipping.judged(one, source, may_matter)
            left = skipping.left(one, self.warehouse.rows(skipping.summed(one, judged))[0])
            found[place.index] = (one, left, judged)
        self._left[core, clock] = found
        return found

    def summary(self, core: str, clock: Range) -> list[str]:
        """For people: how many files and bytes of each input of a core are left."""
        return [
            f"{one.relation}: statistics leave {left.files:,} of {quantity(left.of_files, 'file')}, "
            f"{left.bytes:,} of {quantity(left.of_bytes, 'byte')}"
            for one, left, _ in self.left(core, clock).values()
        ]

    def rows(self, core: str, clock: Range) -> dict[str, int]:
        """Input -> the number of rows in the files that are left, where every file has statistics."""
        found: dict[str, int] = {}
        every = self.left(core, clock).values()
        unknown = {one.relation for one, left, _ in every if left.rows is None}
        for one, left, _ in every:
            if one.relation not in unknown:
                found[one.relation] = found.get(one.relation, 0) + (left.rows or 0)
        return found

    def left_of_inputs(self, cores: Sequence[str], clock: Range) -> dict[str, PruningResult]:
        """Input -> the files that pruning leaves of the input, for each input that is read at one place only."""
        every = [found for core in cores for found in self.left(core, clock).values()]
        names = [one.relation for one, _, _ in every]
        return {one.relation: left for one, left, _ in every if names.count(one.relation) == 1}

    def bounded(self, core: str, clock: Range) -> list[str]:
        """The inputs of which some files are left out wherever the core reads the input."""
        every = self.left(core, clock).values()
        whole = {one.relation for one, left, _ in every if left.files == left.of_files}
        return [one.relation for one, _, _ in every if one.relation not in whole]

    def narrowed(self, core: TypedCore, clock: Range) -> TypedCore:
        """A core without the files that cannot matter."""
        conditions = {index: left.condition for index, (_, left, _) in self.left(core.name, clock).items()}
        return restricted(self.of[core.name].core, conditions) if any(conditions.values()) else core

    def _evaluator(
        self, opened: OpenedCore, place: lineage.Place, relation: str, clock: Range, leaves: Mapping[str, Leaf]
    ) -> MetricsEvaluator:
        fixed = self.warehouse.never_changed(self.settings[ZONE])
        types = {**opened.types[relation], **place.others}
        return MetricsEvaluator(clock, leaves, types, fixed, opened.calls, strict=is_ansi(self.settings))
