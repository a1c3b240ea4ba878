"""The capture of changes: how a run finds the changes of its inputs, and how much each core must read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...config import TemporalConfig
from ...engine import chain_files
from ...engine.descriptions import TableInfo
from ...engine.model_relations import ModelRelations
from ...engine.warehouse import Warehouse
from ...errors import Refusal
from ...pushdown.sargable import Range
from ...temporal.decision import Decision, Invocation
from ...temporal.diffs import intervals_sql
from ...temporal.diffs.input_state import FilesFingerprint, Fingerprint, Tracking
from ...temporal.diffs.state import Chain, ListedFile, State
from ...temporal.ivm import delta_query
from ...temporal.ivm.stack import fingerprint_of
from ...temporal.predicates import clock_text
from ...temporal.rewrite.core import TypedCore
from ...temporal.rewrite.model import Model
from ...temporal.sql.spark import plans
from ...temporal.sql.text.dialect import render
from ...temporal.sql.text.identifiers import Identifiers
from ..observing import observe
from ..observing.altered import forget_altered
from ..observing.append_only import AppendCursor
from ..observing.manifest import Manifest
from ..observing.observe import Input
from ..views.stacked import changes as changes_of_views
from . import changes as input_changes
from . import query_fingerprint
from .changes import InputChange
from .core_delta import CoreDelta, DeltaKind, delta_of, stacked_in
from .query_fingerprint import QueryFingerprint, Routines

#: the value of the config `change_capture` by which each run reads all
_ALL = "full"

#: about how many bytes a row takes in a file
BYTES_OF_ROW = 16


@dataclass(frozen=True, kw_only=True)
class Request:
    """The facts about a decided run that the capture of its inputs needs."""

    target: ModelRelations
    config: TemporalConfig
    #: the invocation, with the settings under which the model's rows are computed
    invocation: Invocation
    #: the last commit
    old: State | None
    #: the relations of the model in its schema
    existing: tuple[str, ...]
    decision: Decision
    model: Model
    #: the plans of `asked`
    explained: str = ""

    @property
    def asked(self) -> str:
        """The SQL of the model at an instant that is the same in every run until the next restart."""
        return clock_text.written_at(self.model.written, self.model.calls, f"{self.started_at}L")

    @property
    def built_on(self) -> State | None:
        """The last commit, if the run goes on with its chains; None for a first run and a rebuild."""
        return None if self.decision.rebuilds else self.old

    @property
    def started_at(self) -> int:
        """The instant (ms) of the last rebuild; for a first run and a rebuild, the instant of this run."""
        return self.decision.as_of if self.built_on is None else self.built_on.started_at

    @property
    def own_chains(self) -> tuple[tuple[str, Chain], ...]:
        """(schema, chain) of each chain of the model that the run builds on."""
        return tuple((self.built_on.schema, chain) for chain in self.built_on.chains) if self.built_on else ()

    @property
    def clock_range(self) -> Range:
        """The instants for which the run writes."""
        return Range(self.decision.as_of, self.decision.expiration)

    def plan_of(self, warehouse: Warehouse, core: TypedCore) -> str:
        """The plans of a core's query, including the predicate, in which subqueries may read tables."""
        asked = render(intervals_sql.probe(core.core))
        return self.model.plans.get(asked) or warehouse.explain(asked)

    def remembers(self, lists: bool) -> bool:
        """Whether a commit keeps the new list of files if files changed.

        lists: keep the list even with `change_capture: full`.
        """
        return (lists or self.config.change_capture != _ALL) and not self.decision.writes_nothing


@dataclass(frozen=True)
class Capture:
    """The changes of a model's inputs since the last run. The keys of mappings are relations, unless said otherwise."""

    inputs: Mapping[str, Input]
    changes: Mapping[str, InputChange]
    #: the keys are names of cores
    cores: Mapping[str, CoreDelta]
    #: the fingerprint of the query through which the inputs are read
    meaning: QueryFingerprint
    #: SQL of the files to remember in a table; None for no table
    manifest: str | None = None
    #: the number of rows read
    counts: Mapping[str, int] = field(default_factory=dict)
    #: a query of the number of rows read of a small input, asked after the write
    uncounted: Mapping[str, str] = field(default_factory=dict)
    #: the files to remember themselves, where they are few
    files: Mapping[str, tuple[ListedFile, ...]] = field(default_factory=dict)
    #: whether the rows of `Request.own_chains` were counted, and none is missing
    is_counted: bool = False

    @staticmethod
    def nothing(cores: Sequence[TypedCore]) -> Capture:
        """The capture of a run that does not look at its inputs."""
        same = {core.name: CoreDelta(DeltaKind.SAME) for core in cores}
        return Capture({}, {}, same, QueryFingerprint((), is_bare=True))

    @property
    def read_by(self) -> tuple[str, ...]:
        """Hashes of what decides the meaning of the query: views below, plan, functions, session (see `PARTS`)."""
        return self.meaning.digest

    @property
    def is_bare(self) -> bool:
        """Whether `QueryFingerprint.is_bare` holds, and all inputs are tables of files, or temporal views."""
        of_files = (Tracking.FILES, Tracking.STACKED)
        return self.meaning.is_bare and all(now.tracking in of_files for now in self.inputs.values())

    @property
    def keeps(self) -> bool:
        """Whether the file lists that the last run stored are current, so that the commit names these lists again."""
        listed = [name for name, now in self.inputs.items() if now.listing]
        return bool(listed) and all(self.changes[name].same for name in listed)

    @cached_property
    def read(self) -> dict[str, delta_query.TableDelta | None]:
        """The part of a relation that cores read; None for all, or where two cores read different parts."""
        read: dict[str, delta_query.TableDelta | None] = {}
        for delta in self.cores.values():
            for name, added in delta.read.items():
                read[name] = added if name not in read or read[name] == added else None
        return read

    @cached_property
    def sizes(self) -> dict[str, int | None]:
        """The number of bytes read, where known."""
        return {n: input_changes.size_read(self.inputs[n], self.changes[n], part) for n, part in self.read.items()}

    @cached_property
    def few(self) -> frozenset[str]:
        """The relations of which few files are read."""
        read = self.read.items()
        return frozenset(n for n, part in read if input_changes.are_few(self.inputs[n], self.changes[n], part))

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    @property
    def rows_expected(self) -> int:
        """About how many rows are read of the inputs."""
        return sum(map(self.rows_about, self.read))

    def rows_about(self, relation: str) -> int:
        """The number of rows read of a relation, estimated from bytes where the rows are not counted."""
        return self.counts.get(relation, (self.sizes.get(relation) or 0) // BYTES_OF_ROW)

    def rows_about_for(self, core: str) -> int:
        """The number of rows read for a core, estimated as in `rows_about`.

        Where another core reads another part of a relation, the estimate is from the bytes of this core's part.
        """
        total = 0
        for name, part in self.cores[core].read.items():
            size = None
            if part != self.read[name]:
                size = input_changes.size_read(self.inputs[name], self.changes[name], part)
            total += self.rows_about(name) if size is None else size // BYTES_OF_ROW
        return total

    @property
    def is_same(self) -> bool:
        """Whether all cores stay as they are. Then no input of a core changed, and no core reads an input in full."""
        return all(delta.is_same for delta in self.cores.values())

    @property
    def broken(self) -> list[str]:
        """The inputs that broke the promise of `change_capture: append`, and how."""
        return [f"{name}: {change.why}" for name, change in self.changes.items() if change.broken]

    @property
    def read_in_full(self) -> dict[str, str]:
        """The inputs of the cores that are brought up to date by reading all, and why."""
        found: dict[str, str] = {}
        for name in self.inputs:
            deltas = [d for d in self.cores.values() if name in d.read and d.kind is DeltaKind.FULL]
            if deltas:
                found[name] = (deltas[0].why if deltas[0].cause == name else deltas[0].reason) or self.changes[name].why
        return found


def capture_inputs(
    warehouse: Warehouse,
    request: Request,
    known: Routines,
    tables: Mapping[str, TableInfo] | None = None,
    lists: bool = False,
) -> Capture:
    """Find the changes of each input since the last run.

    A statement that lists files also counts the chains that the run builds on (`Capture.is_counted`), and
    TemporalError is raised where one of these chains lost rows. Raises Refusal where `append_column` follows no input.
    known: the functions that are known already. tables: full name of an input -> the metastore's answer, as far as
    known. lists: remember files even with `change_capture: full`.
    """
    meaning = query_fingerprint.of(
        warehouse, request.model.parsed, request.explained, known, request.invocation.version
    )
    analyzed = plans.analyzed(request.explained)
    seen, is_counted = _observed(warehouse, request, analyzed, tables)
    stacked = _stacked(warehouse, request.model.cores)
    why = _why_full(request, meaning)
    changes, files = _changed(warehouse, request, seen, stacked, why)
    seen = {
        name: replace(now, fingerprint=changes[name].fingerprint or now.fingerprint) for name, now in seen.items()
    } | stacked
    found = _deltas(warehouse, request, analyzed, seen, changes, stacked, why)
    if any(not delta.is_same for delta in found.values()):
        observe.refresh(warehouse, seen.values())
    capture = Capture(seen, changes, found, meaning, is_counted=is_counted)
    if not capture.keeps and request.remembers(lists):
        manifest, entries = input_changes.to_remember(seen.values(), changes, files)
        capture = replace(capture, manifest=manifest, files=entries)
    counts, uncounted = observe.count_rows(warehouse, capture.read, seen, capture.sizes, stacked, capture.few)
    return replace(capture, counts=counts, uncounted=uncounted)


def _observed(
    warehouse: Warehouse, request: Request, analyzed: str, tables: Mapping[str, TableInfo] | None
) -> tuple[dict[str, Input], bool]:
    """(the present inputs, whether the chains that the run builds on were counted by the same statement)."""
    old, column = request.old, request.config.append_column
    remembered = None
    if (built_on := request.built_on) is not None:
        table = built_on.manifest if built_on.manifest in Identifiers(request.existing) else ""
        remembered = Manifest.of(request.target, table, built_on.files)
    follow = AppendCursor(column, request.config.lookback or 0) if column else None
    chains = request.own_chains if warehouse.stack is None else ()
    counted = chain_files.counts_of(chains)
    before = old.inputs if old is not None and remembered is not None else {}
    seen, answers = observe.observe_beside(warehouse, analyzed, follow, remembered, tables, counted, before)
    if answers is not None:
        chain_files.refuse_other_counts(request.target.model, chains, chain_files.rows_counted(answers))
    if column and not any(now.tracking is Tracking.COLUMN for now in seen.values()):
        raise _no_such_column(column, seen)
    if old is not None:
        forget_altered(warehouse, [n for n, now in seen.items() if _is_altered(now.fingerprint, old.inputs.get(n))])
    return seen, bool(answers)


def _stacked(warehouse: Warehouse, cores: Sequence[TypedCore]) -> dict[str, Input]:
    """The temporal views that the cores read."""
    if not warehouse.stack:
        return {}
    below = dict.fromkeys(name for core in cores for _, name in stacked_in(core))
    return {name: Input(name, fingerprint_of(warehouse.stack.states[name])) for name in below}


def _changed(
    warehouse: Warehouse, request: Request, seen: Mapping[str, Input], stacked: Mapping[str, Input], why: str
) -> tuple[dict[str, InputChange], Manifest | None]:
    """(the changes of each input since the last run, the files that the last run remembered, if needed).

    why: the reason to read all inputs in full; "" for none.
    """
    old, target = request.old, request.target
    if why or old is None:
        return {name: InputChange(why) for name in (*seen, *stacked)}, None
    asked = any(
        now.tracking in (Tracking.FILES, Tracking.COLUMN) and old.inputs.get(name) != now.fingerprint
        for name, now in seen.items()
    )
    is_listed = old.manifest in Identifiers(request.existing)
    is_gone = asked and old.manifest and not is_listed and not warehouse.tables(target.schema, old.manifest)
    files = Manifest.of(target, old.manifest, old.files) if asked and not is_gone else None
    changes = input_changes.readable_together(
        {name: input_changes.change(warehouse, now, old.inputs.get(name), files) for name, now in seen.items()}
    )
    if warehouse.stack:
        for name, now in stacked.items():
            changes[name] = input_changes.stacked_change(warehouse.stack, now, old.inputs.get(name))
    return changes, files


def _deltas(
    warehouse: Warehouse,
    request: Request,
    analyzed: str,
    seen: Mapping[str, Input],
    changes: Mapping[str, InputChange],
    stacked: Iterable[str],
    why: str,
) -> dict[str, CoreDelta]:
    """How each core is brought up to date. Where no input of the model changed, no core is looked at."""
    tables = plans.tables_read(analyzed)
    if not why and tables is not None and all(name in seen and changes[name].same for name in (*tables, *stacked)):
        return {core.name: CoreDelta(DeltaKind.SAME) for core in request.model.cores}
    return {
        core.name: delta_of(warehouse, core, request.plan_of(warehouse, core), seen, changes, why)
        for core in request.model.cores
    }


def _why_full(request: Request, meaning: QueryFingerprint) -> str:
    """The reason to read all inputs in full; empty for none."""
    old = request.built_on
    if old is None:
        return request.decision.reason
    if request.config.change_capture == _ALL:
        return "config change_capture: full"
    changed = meaning.change(old.read_by)
    return changed and ", ".join(changes_of_views(old.written, request.model.written)) or changed or meaning.untold


def _is_altered(now: Fingerprint, then: Fingerprint | None) -> bool:
    """Whether a table of files has other columns, another place or other options than at the last run."""
    return isinstance(now, FilesFingerprint) and isinstance(then, FilesFingerprint) and now.form != then.form


def _no_such_column(column: str, seen: Mapping[str, Input]) -> Refusal:
    by_version = [name for name, now in seen.items() if now.tracking is Tracking.VERSION]
    versions = f"; {', '.join(by_version)} tells what changed by itself" if by_version else ""
    return Refusal(
        "ST401",
        f"append_column: {column!r}",
        f"it is a column of none of {', '.join(seen) or 'the inputs, of which there are none'}{versions}",
        "a column of an input table in whose order its rows come, or change_capture: auto",
    )
