"""One run of one temporal_view: the statements that follow from what was observed.

The materialization sequences it: begin, then write, merge, commit, publish, clean up. Each returns the statements of
that phase; nothing before the commit changes what a reader sees, and the commit is one statement.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ..config import TemporalConfig
from ..engine import ownership
from ..engine.warehouse import ModelRelations, ViewInfo, Warehouse, live_view, read_state, run_of
from ..errors import TemporalError
from ..inputs import upstream
from ..inputs.capture import SAME, Capture
from ..inputs.observe import Input, remembered
from ..pruning import filters
from ..pruning.pruning import Pruning
from ..pushdown.sargable import Range
from ..temporal.clock.expiration import NEVER, Expiry
from ..temporal.clock.schedule import Refreshes
from ..temporal.decision import ADVANCED, Decision, Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction, intervals_sql
from ..temporal.diffs.state import Chain, CoreState, State
from ..temporal.diffs.stores import counted, store_of
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.identifiers import Identifiers
from ..words import quantity
from . import published_view
from .analyze import Model
from .commit import ViewTexts

#: of each attempt to read inputs that change meanwhile: how long to wait after it (s)
PAUSES = (0.2, 0.5, 1.0, 2.0, 0.0)


@dataclass
class Run:
    """A run in progress. Built by `begin`; its phases are called in order by the materialization."""

    warehouse: Warehouse
    target: ModelRelations
    config: TemporalConfig
    id: str  # of its tables; the lock bears the first one
    clock: int
    old: State | None
    before: str | None  # the run that was live when this one began
    existing: list[str]
    decision: Decision
    model: Model
    columns: list[tuple[str, str]]
    core_hash: str
    settings: dict[str, str]
    capture: Capture
    sampled: bool
    docs: published_view.Docs
    project: str
    pruning: Pruning
    texts: ViewTexts
    expiry: Expiry = NEVER
    refreshes: Refreshes | None = None
    readers: Sequence[ModelRelations] = ()  # the temporal views over this one
    in_the_way: bool = False  # dbt knows of a relation of the model's name that is no view
    unmarked: bool = False  # its readable updates bear no mark, as those of earlier versions
    displaced: Sequence[str] = ()  # runs whose lock this one took over
    started: float = field(default_factory=time.monotonic)
    new_chains: dict[str, Chain] = field(default_factory=dict)
    state: State | None = None
    beyond_expiration: int | None = None  # updates of what was read, None when not counted
    late: int | None = None  # windows that were over when their rows came, of new rows alone
    seconds: dict[str, float] = field(default_factory=dict)  # by phase
    finished: bool = False
    gave_way: bool = False  # a table of the model's name was dropped for the view
    script: list[str] = field(default_factory=list)

    # -- phases --

    @property
    def phases(self) -> Iterator[str]:
        """The names of the methods to call, in order. What an input did meanwhile makes the run write again."""
        began = self.started
        for name in chain(["begin"], self._phases()):
            if name != "begin":
                yield name
            self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - began
            began = time.monotonic()
        self.finished = True

    def _phases(self) -> Iterator[str]:
        if self.decision.writes_nothing:
            if self.in_the_way or self.target.model not in Identifiers(self.existing):
                yield "publish"  # a run was killed between its commit and the view
            return
        if self.is_noop:
            yield from ("publish", "clean_up")
            return
        if self.displaced:
            yield "fence"
        for pause in PAUSES:
            if not self._is_seen:
                yield from self._see()
            listed = self.target.table(self._lists) if self._lists else None
            if self._is_busy:
                self.capture.pin(self._changed, listed)
            yield "write"
            moved, grew = self.capture.look(listed)
            self._moving = [*moved, *grew]
            if not self._moving:
                yield from ("merge", "commit", "publish", "clean_up")
                return
            if grew and not moved and not self._is_busy:
                yield "unwrite"
            else:
                time.sleep(pause)
                yield "undo"
            self._is_busy = True
        yield "give_up"

    def _see(self) -> Iterator[str]:
        """What is known of the inputs' files before they are read."""
        self._lists = self._measured = ""
        if self.capture.watermark is not None:
            yield "remember"
        if self._read_in_full and self.pruning.measures:
            yield "measure"
        self._is_seen = True

    @property
    def writes_nothing(self) -> bool:
        return self.decision.writes_nothing or self.is_noop

    def is_current(self) -> bool:
        """Whether the commit is still the one this run began at."""
        live = live_view(self.warehouse, self.target, self._there(self.before))
        return (None if live is None else run_of(live.text)) == self.before

    @property
    def is_noop(self) -> bool:
        """Whether nothing is to be committed: no input changed, and the commit would say what the last one says."""
        old, d = self.old, self.decision
        if old is None or d.action != ADVANCED or self.sampled != old.sampled or not self.capture.keeps:
            return False
        said = {name: seen.said for name, seen in self.capture.inputs.items()}
        now = (d.expiration, self.expiry.offset, self.refreshes, self.model.residual, tuple(self.columns))
        then = (old.expiration, old.offset, old.refreshes, old.residual, old.columns)
        stored = [(core.name, core.stored, core.core.kept) for core in self.model.cores]
        same = (
            now == then
            and self.model.written == old.written
            and stored == [(core.name, core.columns, core.kept) for core in old.cores]
        )
        told = (said, self.capture.read_by, self.project) == (old.inputs, old.read_by, old.project)
        return same and told and not self._changed and self._since == old.since

    def fence(self) -> list[Statement]:
        """What a run wrote whose lock was taken over: should it still go on, it cannot commit without it."""
        # read again: it may have committed since this run began
        live = read_state(self.warehouse, self.target)
        return self._written_by(self.displaced, live, "left by a run whose lock was taken over")

    def abandon(self) -> list[Statement]:
        """What a run that failed wrote and did not commit.

        Once the commit is sent its fate is the server's, which may still carry it out when the client has given up.
        """
        if self.finished or self.state is not None:
            return []
        return self._written_by([self.id], read_state(self.warehouse, self.target), "left by a run that failed")

    def _written_by(self, runs: Sequence[str], state: State | None, why: str) -> list[Statement]:
        named = Identifiers(state.tables if state else ())
        tables = self.warehouse.tables(self.target.schema, self.target.model)
        of_them = [t for t in tables if any(chain_rules.is_of_run(self.target.model, t, run) for run in runs)]
        return [Statement(why, f"DROP TABLE IF EXISTS {self.target.table(t)}") for t in of_them if t not in named]

    def remember(self) -> list[Statement]:
        """The files of the inputs: a later run tells by them what is new, and this one asks for no more lists."""
        assert self.capture.watermark is not None
        self._lists = chain_rules.watermark_name(self.target.model, self.id)
        head = f"CREATE TABLE {self.target.table(self._lists)}{self._using} AS"
        return [Statement("the files of the inputs", f"{head}\n{self.capture.watermark}")]

    def measure(self) -> list[Statement]:
        """What is known of the inputs' files, and is not yet."""
        # of all cores, whichever of them are read in full now: what is measured stays the same
        clock = Range(self.decision.as_of, self.decision.expiration)
        self._measured = self.id
        collected = self.pruning.measure(self.model.cores, self._listed, clock, self.old, self.id)
        self.script += [f"-- what is known of the inputs' files\n{collected};"] if collected else []
        return []

    def write(self) -> list[Statement]:
        """One CTAS a core whose inputs changed: all that is wanted, what new files bring, or the corrections."""
        steps = []
        filters.refuse_unknown(self.capture.inputs, self.config.pushdown_required)
        for core in self._changed:
            store, as_of, expiration = store_of(core), self.decision.as_of, self.decision.expiration
            what = "intervals" if core.sums is None else "updates of groups"
            captured, old = self.capture.cores[core.name], self._old_chains(core.name)
            if captured.is_incremental:
                purpose = f"{what} of new rows"
                parts, gone = (
                    "\nUNION ALL\n".join(store.wanted(part, as_of, expiration) for part in signed)
                    for signed in (captured.parts, captured.gone)
                )
                several = len(captured.parts) > 1 and core.sums is not None
                rows = store.difference(parts, gone) if gone else store.consolidated(parts) if several else parts
            else:
                purpose = f"wanted {what} minus stored ones" if old else f"all {what}"
                narrowed, implied = self.pruning.of(core, Range(as_of, expiration), self.id)
                narrowed = captured.pin(narrowed) if captured.pin else narrowed
                rows = store.wanted(narrowed, as_of, expiration, implied)
                rows = store.difference(rows, self._stored(core, old, as_of)) if old else rows
            create = self._create(core, self._chain(core.name), rows, as_of if self._writes_much(core) else None)
            steps.append(Statement(f"{core.name}: {purpose} -> a new chain", self.warehouse.data(create)))
        return steps

    def unwrite(self) -> list[Statement]:
        """What was written may hold rows that came meanwhile: it goes, and is read again without them."""
        tables = [self._chain(core.name) for core in self._changed]
        self.id = chain_rules.next_id(chain_rules.next_id(self.id))
        return [Statement("read while an input grew", f"DROP TABLE IF EXISTS {self.target.table(t)}") for t in tables]

    def undo(self) -> list[Statement]:
        """What was written is of inputs that changed meanwhile: it goes, and the run learns anew what they did."""
        tables = [self._chain(core.name) for core in self._changed]
        tables += [self._lists] if self._lists else []
        tables += self.pruning.forget(self._measured)
        self._is_seen = False
        self.capture, self.id = self.capture.again(), chain_rules.next_id(chain_rules.next_id(self.id))
        return [
            Statement("read while an input changed", f"DROP TABLE IF EXISTS {self.target.table(t)}") for t in tables
        ]

    def give_up(self) -> list[Statement]:
        raise TemporalError(
            f"found: inputs of {self.target.model} that changed during each of {len(PAUSES)} attempts to read them\n"
            f"why: what is stored must be of one state of each input\n"
            f"instead: dbt run -s {self.target.model} when nothing writes to {', '.join(self._moving)}"
        )

    def merge(self) -> list[Statement]:
        """Count what was written. Beside a chain that is hardly larger it becomes one with it."""
        steps = []
        for core in self._changed:
            name = self._chain(core.name)
            written = self._count(core, name, self._writes_much(core))
            if not written.rows:
                steps.append(Statement(f"{core.name}: nothing changed", f"DROP TABLE {self.target.table(name)}"))
                continue
            self.new_chains[core.name] = written
            old = self._old_chains(core.name)
            count = chain_rules.taken_in([c.rows for c in old], written.rows)
            if count:
                self._merged[core.name] = [*old[len(old) - count :], written]
        for core in self.model.cores:
            merged = self._merged.get(core.name)
            if merged:
                rows = store_of(core).merged(self._stored(core, merged, self._since), merged)
                since = self._since if _is_large(merged) else None
                create = self._create(core, self._chain(core.name, merged=True), rows, since)
                steps.append(Statement(f"{core.name}: {quantity(len(merged), 'chain')} -> one", create))
        for name, chains in self._to_peel.items():
            core = next(core for core in self.model.cores if core.name == name)
            due = [compaction.due_rows(c, c.source(self.target.schema), self._since) for c in chains]
            store = store_of(core)
            rows = store.consolidated(store.stored(due, self._since, self.decision.expiration))
            create = self._create(core, self._chain(name, merged=True), rows, None)
            steps.append(Statement(f"{name}: what is due of {quantity(len(chains), 'chain')} -> one", create))
        self._count_not_stored()
        return steps

    def commit(self) -> list[Statement]:
        """The one statement that publishes: everything before it is invisible, everything after is tidying."""
        cores = []
        for core in self.model.cores:
            live, gone = self._old_chains(core.name), self._merged.get(core.name, [])
            new = self.new_chains.get(core.name)
            if gone:
                merged = self._count(core, self._chain(core.name, merged=True), _is_large(gone))
                new = merged if merged.rows else None
            elif core.name in self._to_peel:
                base = self._count(core, self._chain(core.name, merged=True), False)
                live, gone = self._peeled(core.name, live), []
                live += [base] if base.rows else []
            gone = [*gone, *(c for c in live if chain_rules.is_over(c, self._since))]
            live = [c for c in [*live, *([new] if new else [])] if c not in gone]
            chains = tuple(chain_rules.largest_first(live))
            cores.append(CoreState(core.name, core.stored, chains, core.sums, core.core.kept))
        watermark = self._lists
        if self.capture.keeps and self.old is not None:
            watermark = self.old.watermark
        statistics, measured, measuring = self.pruning.kept(self.old)
        swept = self._sweep([*(c.table for core in cores for c in core.chains), watermark, statistics])
        self._drops = list(swept.drop)
        state = State(
            model=self.target.model,
            schema=self.target.schema,
            run=self.id,
            since=self._since,
            frontier=self.decision.as_of,
            started_at=self.decision.started_at,
            offset=self.expiry.offset,
            expiration=self.decision.expiration,
            core_hash=self.core_hash,
            residual=self.model.residual,
            columns=tuple(self.columns),
            cores=tuple(cores),
            written=self.model.written,
            kinds=self.model.calls,
            inputs={name: seen.said for name, seen in self.capture.inputs.items()},
            settings=self.settings,
            retired=self._retired(cores, swept.retired),
            sampled=self.sampled,
            project=self.project,
            read_by=self.capture.read_by,
            watermark=watermark,
            statistics=statistics,
            measured=measured,
            measuring=measuring,
            refreshes=self.refreshes,
            dropped=self._dropped,
            gap=self.gap,
        )
        committed = self._expect(self.before, "before")
        self.state, steps = self.texts.commit(state, committed.rewrite if committed else "CREATE VIEW")
        return steps

    def publish(self) -> list[Statement]:
        """The thin view and the readable updates, when they are not as they should be."""
        state = self.state or self.old
        assert state is not None
        live = self._expect(self.id, "after") if self.state else None
        names = Identifiers(self.existing)
        stands = self.target.model in names
        there = self.warehouse.view(self.target.name()) if stands else None
        self.gave_way = stands and there is None
        # same names, other types: a view remembers the types it was made with
        retyped = self.old is not None and self.old.columns != state.columns
        steps = published_view.publish(self.target, list(state.columns), self.docs, there, retyped)
        if self.gave_way:  # a view cannot take a table's place in one statement: all else stands before
            steps.insert(0, Statement("the table of that name gives way", f"DROP TABLE IF EXISTS {self.target.name()}"))
        readable = self.texts.updates(state.cores[0], state.schema)
        verb, name = "CREATE VIEW", self.target.name("__diffs")
        if f"{self.target.model}__diffs" in names:
            updates_now = live or self.warehouse.view(name)
            if live is None and updates_now and updates_now.text.split() == readable.split():
                return steps
            verb = updates_now.rewrite if updates_now else verb
        mark = ownership.marked(self.target)
        if self.unmarked and verb == "ALTER VIEW":
            steps.append(Statement("whose the updates are", f"ALTER VIEW {name} SET {mark}"))
        clause = "" if verb == "ALTER VIEW" else f" {mark}"
        readable_updates = Statement("the updates, readable", f"{verb} {name}{clause} AS\n{readable}")
        return [readable_updates, *steps] if self.gave_way else [*steps, readable_updates]

    def clean_up(self) -> list[Statement]:
        """Drops of chains that nothing has named for diffs_retention."""
        if self.state is None:
            self._drops = list(self._sweep(self.old.tables if self.old else ()).drop)
        return [Statement("no longer read", f"DROP TABLE IF EXISTS {self.target.table(t)}") for t in self._drops]

    @property
    def rows_written(self) -> int:
        """Of stored intervals: each stands for one update or two."""
        return sum(c.rows for c in self.new_chains.values())

    # -- helpers --

    _merged: dict[str, list[Chain]] = field(default_factory=dict)  # by core: what became one
    _drops: list[str] = field(default_factory=list)
    _moving: list[str] = field(default_factory=list)  # the inputs that changed during the last attempt
    _is_busy: bool = False  # they did during some attempt: what is read is pinned to what was seen
    _is_seen: bool = False  # their files are remembered and measured
    _lists: str = ""  # the table of their files
    _measured: str = ""  # the id under which they were measured

    @property
    def _to_peel(self) -> dict[str, list[Chain]]:
        """By core: the chains of which too much is due, where they are not merged anyway."""
        if self.old is None or self.decision.rebuilds:
            return {}
        found = {core.name: compaction.to_peel(core, self._latest) for core in self.old.cores}
        return {name: chains for name, chains in found.items() if chains and name not in self._merged}

    def _peeled(self, core: str, live: list[Chain]) -> list[Chain]:
        """The chains of a core with what is due taken out of some."""
        kept = []
        for c in live:
            if c in self._to_peel[core] and compaction.is_due(c, self._since):
                continue
            if c in self._to_peel[core]:
                rows = self.warehouse.rows(compaction.left(c.source(self.target.schema), self._since))
                c = compaction.peeled(c, self._since, [(int(begins), int(count)) for begins, count in rows])
            kept += [c] if c.rows else []
        return kept

    @property
    def _changed(self) -> list[TypedCore]:
        return [core for core in self.model.cores if self.capture.cores[core.name].way != SAME]

    @property
    def _read_in_full(self) -> list[TypedCore]:
        return [core for core in self._changed if not self.capture.cores[core.name].is_incremental]

    @property
    def _listed(self) -> dict[str, Input]:
        """The inputs, whose files are listed by what is remembered of them now."""
        seen, table = dict(self.capture.inputs), self.target.table(self._lists)
        if not self._lists:
            return seen
        return {n: replace(s, listing=remembered(n, table)) if s.listing else s for n, s in seen.items()}

    def _sweep(self, named: Sequence[str]) -> chain_rules.Sweep:
        retention = self.config.diffs_retention
        return chain_rules.sweep(
            self.target.model,
            self.existing,
            self.old,
            named,
            self.clock,
            retention,
            lambda: upstream.held(self.warehouse, self.target, self.readers),
            lambda table: ownership.is_marked(self.warehouse, self.target, table),
        )

    def _retired(self, cores: list[CoreState], retired: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        """Also what this very run wrote and merged away at once."""
        live = {c.table for core in cores for c in core.chains}
        mine = [c.table for c in self.new_chains.values() if c.table not in live]
        return (*retired, *((t, self.clock) for t in mine))

    def _chain(self, core: str, merged: bool = False) -> str:
        run_id = chain_rules.next_id(self.id) if merged else self.id
        return chain_rules.chain_name(self.target.model, run_id, core)

    def _create(self, core: TypedCore, table: str, rows: str, since: int | None) -> str:
        return store_of(core).create(self.target.table(table), rows, self._using, since)

    @property
    def _using(self) -> str:
        return f" USING {self.config.file_format} {ownership.marked(self.target)}"

    def _writes_much(self, core: TypedCore) -> bool:
        """Whether what is read for a core, less what is stored already when that is all, may make a large chain."""
        captured = self.capture.cores[core.name]
        left = (
            {}
            if captured.is_incremental
            else self.pruning.rows(core, Range(self.decision.as_of, self.decision.expiration))
        )
        most = sum(left.get(name, self.capture.counts[name]) for name in captured.read)
        known = 0 if captured.is_incremental else sum(c.rows for c in self._old_chains(core.name))
        return most - known >= chain_rules.LARGE_CHAIN

    def _stored(self, core: TypedCore, chains: Sequence[Chain], since: int) -> str:
        tables = [c.source(self.target.schema) for c in chains]
        bucketed = [self.target.table(c.table) for c in chains if c.bucketed]
        return store_of(core).stored(tables, since, self.decision.expiration, bucketed)

    def _old_chains(self, core: str) -> list[Chain]:
        """Largest first."""
        if self.old is None or self.decision.rebuilds:
            return []
        chains = [c for s in self.old.cores if s.name == core for c in s.chains]
        return chain_rules.largest_first([c for c in chains if c.rows])  # one without rows only tells the columns

    @property
    def _since(self) -> int:
        """The earliest instant that can be read after this run: it moves on when that makes large chains smaller."""
        chains = [c for core in self.model.cores for c in self._old_chains(core.name)]
        rewritten = [sum(c.rows for c in merged) for merged in self._merged.values()]
        over = [c.rows for c in chains if chain_rules.is_over(c, self._latest)]
        moves = self._to_peel or max([*rewritten, *over], default=0) >= chain_rules.SMALL_CHAIN
        return self._latest if moves else self.decision.since

    @property
    def _latest(self) -> int:
        return max(self.decision.since, self.decision.as_of - (self.config.retain_history or 0))

    def _count(self, core: TypedCore, table: str, bucketed: bool) -> Chain:
        rows = self.warehouse.rows(store_of(core).count(self.target.table(table), bucketed))
        return counted(table, rows, bucketed)

    def _count_not_stored(self) -> None:
        """What of the rows that were read leaves no trace; of new rows also those that came too late."""
        expiration, is_incremental = (
            self.decision.expiration,
            any(self.capture.cores[c.name].is_incremental for c in self._changed),
        )
        if not (is_incremental or expiration is not None and (self.new_chains or self.decision.rebuilds)):
            return
        counts = []
        for core in self._changed:
            captured = self.capture.cores[core.name]
            # of all rows only what leaves after the expiration is asked for, of new ones also what came too late
            later, whole = None, core
            if not captured.is_incremental and expiration is not None:
                later = self.pruning.condition(core, Range(expiration, None))
                whole = self.pruning.narrowed(core, Range(expiration, None))
            for part in captured.parts or (whole,):
                counts += self.warehouse.rows(intervals_sql.not_stored(part, self.decision.as_of, expiration, later))
        self.beyond_expiration = None if expiration is None else sum(int(beyond) for beyond, _ in counts)
        if all(self.capture.cores[core.name].is_incremental and core.core.condition is None for core in self._changed):
            self.late = sum(int(late) for _, late in counts)

    @property
    def gap(self) -> int:
        """How much later than it was due a restart came at most, so far (ms): it waits for a run."""
        if self.old is None:
            return 0
        due = self.config.restarts.due(self.old.started_at)
        is_late = self.decision.rebuilds and due is not None and self.decision.as_of >= due
        return max(self.old.gap, self.decision.as_of - due) if is_late and due is not None else self.old.gap

    @property
    def _dropped(self) -> int:
        """How many updates were left out since the last restart: what is read in part adds to it, all says it anew."""
        before = self.old.dropped if self.old and not self.decision.rebuilds else 0
        is_incremental = all(self.capture.cores[core.name].is_incremental for core in self._changed)
        return before + (self.beyond_expiration or 0) if is_incremental else self.beyond_expiration or before

    def _there(self, run: str | None) -> list[str] | None:
        """What the schema is known to hold when the commit of a run is: a statement less."""
        return None if run is None else [f"{self.target.model}__live"]

    def _expect(self, run: str | None, when: str) -> ViewInfo | None:
        """The commit record, of the run it should be of."""
        live = live_view(self.warehouse, self.target, self._there(run))
        current = None if live is None else run_of(live.text)
        if current != run:
            raise TemporalError(
                f"found: {self.target.model}__live is of run {current}, {run} was expected {when} the commit\n"
                f"why: another run committed meanwhile; what this one wrote may be of an older state\n"
                f"instead: dbt run -s {self.target.model}, one run at a time"
            )
        return live


def _is_large(chains: list[Chain]) -> bool:
    return sum(c.rows for c in chains) >= chain_rules.LARGE_CHAIN
