"""How a run learns what its inputs did, core by core: no more than a list of files, new ones alone, or all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..config import TemporalConfig
from ..engine.warehouse import ModelRelations, Warehouse
from ..errors import Refusal
from ..temporal.decision import Decision
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.state import State
from ..temporal.ivm import delta_query
from ..temporal.ivm.upstream import said_of, stacked_name
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql import plans
from ..temporal.sql.dialect import render
from ..words import quantity
from . import fingerprint, observe, pins, stacked_views, view_expansion
from .append_only import AppendCursor
from .fingerprint import Fingerprint, Routines
from .observe import COLUMN, FILES, STACKED, VERSION, Input, InputChange

SAME, FULL = "unchanged", "full"
#: what is new of an input, by the way its state is told
NEW = {FILES: "new files", VERSION: "changes", COLUMN: "new rows", STACKED: "new chains"}


@dataclass(frozen=True)
class CoreDelta:
    """How a core is brought up to date.

    way: its inputs are as they were (SAME), `parts` yield what they got and `gone` what they lost (one of NEW), or they
    are read in full, for `why`.
    read: relation -> the part of it that decides what is written, None for all. open: the inputs of which more is read
    than what is pinned, so that what comes meanwhile would be too. pin: it was pinned: what pins a query like it.
    """

    way: str
    why: str = ""
    parts: tuple[TypedCore, ...] = ()
    gone: tuple[TypedCore, ...] = ()
    read: Mapping[str, delta_query.TableDelta | None] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    pin: Callable[[TypedCore], TypedCore] | None = None

    @property
    def is_incremental(self) -> bool:
        return self.way in NEW.values()


@dataclass
class Capture:
    """What the inputs of a model did since the last run.

    cores: by name. keeps: the files remembered are those of now. watermark: else SQL of those to remember, None to
    remember none. counts: rows read for what is written. again: what they did as of now,
    with lists of files to pin by.
    """

    warehouse: Warehouse
    inputs: Mapping[str, Input]
    changes: Mapping[str, InputChange]
    cores: Mapping[str, CoreDelta]
    read_by: str
    keeps: bool
    watermark: str | None
    counts: Mapping[str, int]
    again: Callable[[], Capture]

    @staticmethod
    def of(
        warehouse: Warehouse,
        target: ModelRelations,
        cores: Sequence[TypedCore],
        text: str,
        plan: str,
        known: Routines,
        version: str,
        decision: Decision,
        old: State | None,
        config: TemporalConfig,
        lists: bool = False,
    ) -> Capture:
        """text: the model's. plan: its plans, at an instant that is the same in every run until the next restart.

        lists: remember files where nothing else asks for it.
        """
        told, analyzed = fingerprint.of(warehouse, text, plan, known, version), plans.analyzed(plan)
        column = config.append_column
        seen = observe.observe(warehouse, analyzed, AppendCursor(column, config.lookback or 0) if column else None)
        if column and not any(now.way == COLUMN for now in seen.values()):
            raise _no_such_column(column, seen)
        below = {table: name for core in cores for table, name in _stacked(core)}
        stack = warehouse.stack
        stacked = {name: Input(name, STACKED, said_of(stack.states[name])) for name in below.values()} if stack else {}
        why = _why_full(decision, old, told, text, config.change_capture)
        files = None
        if why or old is None:
            changes = {name: InputChange(why) for name in (*seen, *stacked)}
        else:
            asked = any(now.way in (FILES, COLUMN) and old.inputs.get(name) != now.said for name, now in seen.items())
            there = asked and old.watermark and warehouse.tables(target.schema, old.watermark)
            files = target.table(old.watermark) if there else None
            changes = {name: observe.change(warehouse, now, old.inputs.get(name), files) for name, now in seen.items()}
            if stack:
                below_now = stacked.items()
                changes |= {name: observe.stacked_change(stack, now, old.inputs.get(name)) for name, now in below_now}
        seen = {name: replace(now, said=changes[name].said or now.said) for name, now in seen.items()} | stacked
        every = plans.tables_read(analyzed)
        every = None if every is None else [*every, *stacked]
        if not why and every is not None and all(name in seen and changes[name].same for name in every):
            found = {core.name: CoreDelta(SAME) for core in cores}
        else:
            found = {core.name: _of_core(warehouse, core, seen, changes, why) for core in cores}
        if any(captured.way != SAME for captured in found.values()):
            observe.refresh(warehouse, seen.values())
        keeps = not why and all(changes[name].same for name, now in seen.items() if now.listing)
        remembers = not keeps and (lists or config.change_capture != FULL) and not decision.writes_nothing
        read: dict[str, delta_query.TableDelta | None] = {}
        for captured in found.values():
            for name, added in captured.read.items():
                read[name] = added if name not in read or read[name] == added else None
        return Capture(
            warehouse,
            seen,
            changes,
            found,
            told.said,
            keeps,
            observe.watermark(seen.values(), changes, files) if remembers else None,
            observe.count_rows(warehouse, read, seen, stacked),
            lambda: Capture.of(
                warehouse, target, cores, text, plan, Routines(warehouse), version, decision, old, config, lists=True
            ),
        )

    @staticmethod
    def nothing(warehouse: Warehouse, cores: Sequence[TypedCore]) -> Capture:
        """Of a run that does not look at the inputs."""
        same = {core.name: CoreDelta(SAME) for core in cores}
        return Capture(warehouse, {}, {}, same, "", True, None, {}, lambda: Capture.nothing(warehouse, cores))

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    def look(self, listed: str | None) -> tuple[list[str], list[str]]:
        """The inputs of what was written that are no more as they were read, and those that only got more since.

        listed: the table of the files that they had, of which their states are from then on.
        """
        if all(captured.way == SAME for captured in self.cores.values()):
            return [], []
        opened = frozenset[str]().union(*(captured.open for captured in self.cores.values()))
        found = {
            name: observe.look(self.warehouse, seen, self.changes[name], name in opened, listed)
            for name, seen in self.inputs.items()
        }
        self.inputs = {name: replace(seen, said=found[name].said or seen.said) for name, seen in self.inputs.items()}
        return [name for name in found if found[name].moved], [name for name in found if found[name].grew]

    def pin(self, cores: Sequence[TypedCore], listed: str | None) -> None:
        """Read from now on what was seen of the inputs, and nothing that came since, where that can be pinned."""

        def pinned(core: TypedCore) -> TypedCore:
            return pins.pinned(self.warehouse, core, self.inputs, listed)

        found = dict(self.cores)
        for core in cores:
            captured = found[core.name]
            if captured.way == SAME:
                continue
            left = frozenset(name for name in captured.open if self.inputs[name].way not in pins.PINNED)
            try:
                if captured.is_incremental:
                    parts, gone = (tuple(map(pinned, signed)) for signed in (captured.parts, captured.gone))
                    found[core.name] = replace(captured, parts=parts, gone=gone, open=left)
                else:
                    pinned(core)
                    found[core.name] = replace(captured, pin=pinned, open=left)
            except pins.Unpinnable:
                pass
        self.cores = found

    @property
    def broken(self) -> list[str]:
        """The inputs that did what `change_capture: append` promises that they do not do, and what."""
        return [f"{name}: {change.why}" for name, change in self.changes.items() if change.broken]

    def report(self) -> list[str]:
        """A line an input: how the run learnt what it did, and why so."""
        lines = []
        for name in self.inputs:
            ways = [captured for captured in self.cores.values() if name in captured.read]
            full = next((captured for captured in ways if captured.way == FULL), None)
            new = NEW.get(self.inputs[name].way, SAME)
            way, why = (full.way, full.why) if full else (new, self.changes[name].why) if ways else (SAME, "")
            why = why.removeprefix(f"{name}: ") or self.changes[name].why
            lines.append(f"{name}: {way} ({why}), {quantity(self.counts.get(name, 0), 'row')} read")
        return lines


def _why_full(decision: Decision, old: State | None, told: Fingerprint, text: str, config: str) -> str:
    """Why nothing but reading all of every input will do; empty when each may be looked at."""
    if decision.rebuilds or old is None:
        return decision.reason
    if config == FULL:
        return "config change_capture: full"
    changed = told.change(old.read_by)
    return changed and ", ".join(stacked_views.changes(old.written, text)) or changed or told.untold


def _no_such_column(column: str, seen: Mapping[str, Input]) -> Refusal:
    by_version = [name for name, now in seen.items() if now.way == VERSION]
    told = f"; {', '.join(by_version)} tells what changed by itself" if by_version else ""
    return Refusal(
        f"append_column: {column!r}",
        f"it is a column of none of {', '.join(seen) or 'the inputs, of which there are none'}{told}",
        "a column of an input table in whose order its rows come, or change_capture: auto",
    )


def _of_core(
    warehouse: Warehouse, core: TypedCore, seen: Mapping[str, Input], changes: Mapping[str, InputChange], why: str
) -> CoreDelta:
    """What the inputs of a core did, the cheapest sound way first."""
    query = core.core.query
    # of the probe: the predicate may read tables too, by a subquery
    analyzed = plans.analyzed(warehouse.explain(render(intervals_sql.probe(core.core))))
    every = plans.tables_read(analyzed)
    every = None if every is None else [*every, *(name for _, name in _stacked(core))]
    in_full = dict.fromkeys(name for name in (seen if every is None else every) if name in seen)
    if why:
        return _in_full(why, in_full)
    if every is None or any(name not in seen for name in every):
        moves = plans.moves_by_itself(analyzed)
        why_all = "a view below has a clock or chance in it" if moves else "it reads something other than tables"
        return _in_full(why_all, in_full)
    moved = [name for name in dict.fromkeys(every) if not changes[name].same]
    if not moved:
        return CoreDelta(SAME)
    for name in moved:
        if changes[name].added is None:
            return _in_full(f"{name}: {changes[name].why}", in_full)
    found = {name: added for name in moved if (added := changes[name].added) is not None}
    plan_by_name: dict[str, str] = {}
    try:
        query = view_expansion.open_views(warehouse, query, found.__contains__, plan_by_name)
    except view_expansion.Closed as closed:
        return _in_full(f"{', '.join(moved)} changed below a view: {closed}", in_full)
    places: dict[int, delta_query.TableDelta] = {}
    read_at: list[list[str]] = []
    for place, (table, linear) in enumerate(delta_query.tables(query)):
        above = stacked_name(table)
        reads = [above] if above else plans.tables_read(view_expansion.described(warehouse, table, plan_by_name)) or []
        if reads and isinstance(table.this, exp.Func):
            return CoreDelta(FULL, f"{', '.join(moved)} changed below the function {table.name}", read=in_full)
        read_at.append(reads)
        changed = next((name for name in reads if name in found), None)
        if changed is None:
            continue
        if not linear:
            return _in_full(f"{changed} changed, and one row of it may decide about others", in_full)
        places[place] = found[changed]
    if sorted(name for reads in read_at for name in reads) != sorted(every):
        return _in_full("its predicate reads tables, or where it reads which is not told", in_full)
    signed = [(s, replace(core, core=replace(core.core, query=q))) for s, q in delta_query.added_rows(query, places)]
    for _, part in signed:
        try:
            same = (
                tuple(warehouse.describe(render(intervals_sql.probe(part.core)))[: len(core.columns)]) == core.columns
            )
        except Exception:  # a column named with the schema of its table, or a hidden one
            same = False
        if not same:
            return _in_full("its columns are named in a way that only the tables themselves have", in_full)
    parts, gone = (tuple(part for sign, part in signed if sign == wanted) for wanted in (1, -1))
    # of a place what is new alone is read, unless another place is what decides what is new
    beside = [name for at, reads in enumerate(read_at) for name in reads if set(places) - {at}]
    why = ", ".join(changes[r].why for r in moved)
    return CoreDelta(NEW[seen[moved[0]].way], why, parts, gone, found, frozenset(beside))


def _in_full(why: str, read: Mapping[str, None]) -> CoreDelta:
    return CoreDelta(FULL, why, read=read, open=frozenset(read))


def _stacked(core: TypedCore) -> list[tuple[exp.Table, str]]:
    """Where a core reads temporal views, and which."""
    probe = intervals_sql.probe(core.core)
    return [(table, name) for table in probe.find_all(exp.Table) if (name := stacked_name(table)) is not None]
