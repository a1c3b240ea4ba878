"""Pruning by statistics: a run that reads an input in full skips the files in which no row can matter.

One query for each input collects the statistics of new files, and a table beside the model keeps them. A run asks this
table which files can hold a row that matters while the clock is in its range, and reads only these files. An audit
reads a sample of the skipped files, to verify the skipping.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..engine.warehouse import Warehouse
from ..errors import Explained, TemporalError
from ..inputs.observing.observe import Input
from ..plurals import quantity
from ..pushdown import lineage, statistics
from ..pushdown.metrics_evaluator import Leaf, MetricsEvaluator
from ..pushdown.sargable import Range
from ..pushdown.statistics import Measured, PruningResult
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.input_state import FilesFingerprint
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.dialect import expression, quote, render
from ..temporal.sql.text.identifiers import quoted
from .opened_core import OpenedCore, open_core, restricted

#: an audit reads at most so many bytes
AUDITED_BYTES = 64 << 20


@dataclass
class FilePruner:
    """Prunes the files of the inputs of some cores."""

    warehouse: Warehouse
    settings: Mapping[str, str]
    #: core -> its tables
    of: Mapping[str, OpenedCore]
    #: input -> the statistics that are kept
    measured: Mapping[str, Measured]
    #: input -> the types of its columns
    types: Mapping[str, Mapping[str, str]]
    #: a hash of all that statistics depend on besides the files
    read_as: str
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
        version: str,
        hints: Sequence[str],
        clock: Range,
    ) -> FilePruner:
        """A pruner that knows which expressions of the inputs are to be measured, for a clock in a range."""
        files = {name: seen for name, seen in inputs.items() if isinstance(seen.fingerprint, FilesFingerprint)}
        notes = [f"{name}: no statistics are kept of what is no table of files" for name in inputs if name not in files]
        ansi = settings["spark.sql.ansi.enabled"].lower() == "true"
        opened: dict[str, OpenedCore] = {}
        wants: dict[str, dict[str, exp.Expr]] = {}
        types: dict[str, Mapping[str, str]] = {}
        parts = FilePruner(warehouse, settings, opened, {}, types, "", notes)
        if settings["spark.sql.caseSensitive"].lower() == "true":
            notes.append("no statistics are kept while spark.sql.caseSensitive is set")
            return parts
        if not files:
            return parts
        for core in cores:
            found = open_core(warehouse, core, files, types, ansi, notes)
            if found is None:
                continue
            opened[core.name] = found
            for place, relation in found.places:
                reader = parts._evaluator(found, place, relation, clock, {})
                reader.may_matter(place.predicate)
                own = {text: node for text, node in reader.wants.items() if _is_of(node, types[relation])}
                wants.setdefault(relation, {}).update(own)
        functions = warehouse.system_functions()
        measured: dict[str, Measured] = {}
        for relation, texts in wants.items():
            number = sum(len(one.leaves) for one in measured.values())
            # Spark drops malformed rows by the columns that it reads
            options = warehouse.table(quoted(relation)).details.get("Storage Properties", "")
            if re.search(r"\bmode=", options.lower()):
                notes.append(f"{relation}: no statistics are kept of a table with the option mode")
                continue
            one = _measured(warehouse, files[relation], texts, types[relation], ansi, hints, functions, number)
            measured |= {relation: one} if one.leaves else {}
        parts.measured = measured
        parts.read_as = _hash(measured, files, settings, version)
        return parts

    def collect(self, table: str, using: str) -> bool:
        """Create `table` with the statistics of all present files, unless the table of an earlier run is up to date.

        Only files without statistics are read, or all files of an input with too many such files to name. Returns
        whether the table was made. An expression that raises an error for a row is noted, and no table is made. Other
        errors are raised.
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

    def _source(self, one: Measured) -> str | None:
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
            source = self._source(one) if one else None
            if opened is None or one is None or source is None:
                continue
            may_matter = self._evaluator(opened, place, relation, clock, one.leaves).may_matter(place.predicate)
            judged = statistics.judged(one, source, may_matter)
            left = statistics.left(one, self.warehouse.rows(statistics.summed(one, judged))[0])
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

    def audit(self, core: str, clock: Range, share: float, seed: str) -> None:
        """Read a sample of the files that are left out. Raises TemporalError where a file holds a row that matters."""
        for index, (one, left, judged) in self.left(core, clock).items():
            if left.files == left.of_files or not share:
                continue
            chosen = self.warehouse.rows(statistics.audited(judged, share, AUDITED_BYTES, seed))
            files = [str(file) for (file,) in chosen]
            if files and self._hit(core, index, one, files, clock):
                guilty = next((f for f in files if self._hit(core, index, one, [f], clock)), files[0])
                raise self._violation(core, index, one, guilty, clock)

    def _hit(self, core: str, index: int, one: Measured, files: Sequence[str], clock: Range) -> bool:
        narrowed = restricted(self.of[core].core, {index: statistics.in_files(one, files)}, alone=True)
        assert clock.first is not None
        rows = intervals_sql.wanted(replace(narrowed, columns=()), clock.first, clock.last)
        return bool(self.warehouse.rows(f"SELECT 1 FROM (\n{rows}\n) LIMIT 1"))

    def _violation(self, core: str, index: int, one: Measured, file: str, clock: Range) -> TemporalError:
        place = next(place for place, _ in self.of[core].places if place.index == index)
        names = {column: text for text, leaf in one.leaves.items() for column in leaf.columns}
        columns = [n for leaf in one.leaves.values() for n in leaf.columns]
        values = self.warehouse.rows(
            f"SELECT mz_rows{''.join(f', CAST({n} AS STRING)' for n in columns)} FROM {self._source(one)} "
            f"WHERE {statistics.is_file(one, file)}"
        )
        row = values[0] if values else ()
        known = [quantity(int(row[0]), "row")] if row else []
        known += [f"{n.split('_')[1]} of {names[n]}: {v}" for n, v in zip(columns, row[1:])]
        first, last = (None if at is None else format_instant(at) for at in (clock.first, clock.last))
        span = f"from {first} on" if last is None else f"from {first} until {last}"
        return Explained(
            "ST408",
            f"{file} of {one.relation}, which holds rows that matter {span}, though its statistics say that none can",
            f"{render(place.predicate)}; {', '.join(known)}",
            "pushdown: sargable for this model, and a report of this to the adapter's authors; nothing was committed",
        )

    def _evaluator(
        self, opened: OpenedCore, place: lineage.Place, relation: str, clock: Range, leaves: Mapping[str, Leaf]
    ) -> MetricsEvaluator:
        fixed = self.warehouse.never_changed(self.settings["spark.sql.session.timeZone"])
        types = {**self.types[relation], **place.others}
        ansi = self.settings["spark.sql.ansi.enabled"].lower() == "true"
        return MetricsEvaluator(clock, leaves, types, fixed, opened.calls, strict=ansi)


def _measured(
    warehouse: Warehouse,
    seen: Input,
    wants: dict[str, exp.Expr],
    types: Mapping[str, str],
    ansi: bool,
    hints: Sequence[str],
    functions: frozenset[str],
    number: int,
) -> Measured:
    """The statistics of an input: the wanted expressions that can be measured, and its partition columns."""
    table = warehouse.table(quoted(seen.relation))
    partitions = [(name, types.get(quote(name.lower()), "")) for name in table.partitions]
    for name, _ in partitions:
        text = quote(name.lower())
        wants.setdefault(text, expression(text))
    kinds = _types(warehouse, seen.relation, wants, types, ansi)
    kept = statistics.chosen(wants, kinds, hints, functions)
    leaves = {text: Leaf(number + i, kinds[text]) for i, text in enumerate(kept)}
    return Measured(seen.relation, quoted(seen.relation), seen.pin, partitions, seen.listing, leaves)


def _hash(
    measured: Mapping[str, Measured], files: Mapping[str, Input], settings: Mapping[str, str], version: str
) -> str:
    """A hash of all that statistics depend on besides the files: expressions, how tables are read, settings, Spark."""
    form = {name: [(t, leaf.index, leaf.type) for t, leaf in m.leaves.items()] for name, m in measured.items()}
    read_as = {name: one.form for name in measured if isinstance(one := files[name].fingerprint, FilesFingerprint)}
    payload = json.dumps([form, read_as, dict(settings), version], sort_keys=True)
    return hashlib.sha256(payload.encode()).hexdigest()[:16]


def _is_of(node: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether all columns of an expression are of one table, and there is at least one."""
    columns = [quote(column.parts[0].name.lower()) for column in node.find_all(exp.Column)]
    return bool(columns) and all(name in types for name in columns)


def _types(
    warehouse: Warehouse, relation: str, texts: Mapping[str, exp.Expr], types: Mapping[str, str], ansi: bool
) -> dict[str, str]:
    """The type of each expression over a table; an expression without a known type is left out.

    Under ANSI rules only columns get a type, because another expression may raise an error when Spark computes it.
    """
    computed = [text for text in texts if text not in types and not ansi]
    found = {text: types[text] for text in texts if text in types}
    if computed:
        items = ", ".join(f"{text} AS mz_x{i}" for i, text in enumerate(computed))
        try:
            described = warehouse.describe(f"SELECT {items} FROM {quoted(relation)}")
            found |= {text: kind for text, (_, kind) in zip(computed, described)}
        except SparkError as error:  # a name that means something elsewhere
            error.expect(Cause.NOT_TAKEN)
    return found
