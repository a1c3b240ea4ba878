"""One run of one temporal_view: the statements that follow from what was observed.

The materialization sequences it: begin, then write, merge, commit, publish, clean up. Each returns the statements of
that phase; nothing before the commit changes what a reader sees, and the commit is one statement.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from . import thin
from .config import TemporalConfig
from .errors import TemporalError
from .model import Model
from .temporal import chains as chain_rules
from .temporal import reading, updates
from .temporal.clock import format_instant
from .temporal.core import TypedCore
from .temporal.plan import ADVANCED, CHECKED, Decision, Step
from .temporal.state import Chain, CoreState, State, embed
from .temporal.stores import counted, store_of
from .warehouse import Target, ViewInfo, Warehouse, live_view, run_of

PHASES = ("write", "merge", "commit", "publish", "clean_up")


@dataclass
class Run:
    """A run in progress. Built by `begin`; its phases are called in order by the materialization."""

    warehouse: Warehouse
    target: Target
    config: TemporalConfig
    id: str
    clock: int
    old: State | None
    before: str | None  # the run that was live when this one began
    existing: list[str]
    decision: Decision
    model: Model
    columns: list[tuple[str, str]]
    core_hash: str
    settings: dict[str, str]
    inputs: dict[str, str]
    plan: str
    sampled: bool
    docs: thin.Docs
    project: str
    started: float = field(default_factory=time.monotonic)
    new_chains: dict[str, Chain] = field(default_factory=dict)
    state: State | None = None
    beyond_expiration: int | None = None  # updates of the inputs as they are, None when not counted
    script: list[str] = field(default_factory=list)

    # -- phases --

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of the methods to call, in order."""
        return () if self.decision.action == CHECKED else PHASES

    def write(self) -> list[Step]:
        """One CTAS a core: all wanted intervals when rebuilding, else the corrections."""
        steps = []
        for core in self.model.cores if not self.unchanged else ():
            store = store_of(core)
            rows = store.wanted(core, self.decision.as_of, self.decision.expiration)
            old = self._old_tables(core.name)
            if old and not self.decision.rebuilds:
                kept = store.stored(old, self.decision.as_of, self.decision.expiration, self._bucketed(core.name))
                rows = store.difference(rows, kept)
            table = self._chain(core.name)
            what = "intervals" if core.sums is None else "updates of groups"
            purpose = f"all {what}" if not old or self.decision.rebuilds else f"wanted {what} minus stored ones"
            create = self._create(core, table, rows, self.decision.as_of if self._writes_much() else None)
            steps.append(Step(f"{core.name}: {purpose} -> a new chain", create))
        return steps

    def merge(self) -> list[Step]:
        """Count what was written; above the cap, all chains of a core become one."""
        steps = []
        for core in self.model.cores if not self.unchanged else ():
            written = self._count(core, self._chain(core.name), self._writes_much())
            if written.rows:
                self.new_chains[core.name] = written
            else:
                steps.append(Step(f"{core.name}: nothing changed", f"DROP TABLE {self.target.table(written.table)}"))
        if self.decision.expiration is not None and (self.new_chains or self.decision.rebuilds):
            self.beyond_expiration = self._count_beyond()
        for core in self.model.cores:
            live = self._live_chains(core.name)
            if len(live) > chain_rules.CHAIN_CAP:
                store, tables = store_of(core), [self.target.table(c.table) for c in live]
                bucketed = [self.target.table(c.table) for c in live if c.bucketed]
                kept = store.stored(tables, self._since(), self.decision.expiration, bucketed)
                merged, since = self._chain(core.name, merged=True), self._since() if _is_large(live) else None
                create = self._create(core, merged, store.consolidated(kept), since)
                steps.append(Step(f"{core.name}: {len(live)} chains -> one", create))
        return steps

    def commit(self) -> list[Step]:
        """The one statement that publishes: everything before it is invisible, everything after is tidying."""
        cores, since = [], self.decision.since
        for core in self.model.cores:
            live = self._live_chains(core.name)
            if len(live) > chain_rules.CHAIN_CAP:
                merged = self._count(core, self._chain(core.name, merged=True), _is_large(live))
                live = [merged] if merged.rows else []
                since = self._since()
            cores.append(CoreState(core.name, core.stored, tuple(live), core.sums, core.core.kept))
        swept = chain_rules.sweep(
            self.target.model,
            self.existing,
            self.old,
            [c.table for core in cores for c in core.chains],
            self.clock,
            self.config.diffs_retention,
        )
        self._drops = list(swept.drop)
        self.state = State(
            model=self.target.model,
            schema=self.target.schema,
            run=self.id,
            since=since,
            frontier=self.decision.as_of,
            started_at=self.decision.started_at,
            offset=self.config.expiration,
            expiration=self.decision.expiration,
            core_hash=self.core_hash,
            residual=self.model.residual,
            columns=tuple(self.columns),
            cores=tuple(cores),
            written=self.model.written,
            kinds=self.model.calls,
            inputs=self.inputs,
            settings=self.settings,
            retired=self._retired(cores, swept.retired),
            sampled=self.sampled,
            project=self.project,
            plan=self.plan,
        )
        text = embed(self.state, reading.live_view(self.state))
        live = self._expect(self.before, "before")
        verb = live.rewrite if live else "CREATE VIEW"
        return [Step("commit", f"{verb} {self.target.name('__live')} AS\n{text}")]

    def publish(self) -> list[Step]:
        """The thin view and the readable updates, when they are not as they should be."""
        assert self.state is not None
        live = self._expect(self.id, "after")
        names = list(map(str.lower, self.existing))
        there = self.warehouse.view(self.target.name()) if self.target.model.lower() in names else None
        # same names, other types: a view remembers the types it was made with
        retyped = self.old is not None and self.old.columns != self.state.columns
        steps = thin.publish(self.target, self.columns, self.docs, there, retyped)
        verb = live.rewrite if live and f"{self.target.model}__diffs".lower() in names else "CREATE VIEW"
        readable = store_of(self.state.cores[0]).as_updates(reading.tables_of(self.state))
        steps.append(Step("the updates, readable", f"{verb} {self.target.name('__diffs')} AS\n{readable}"))
        return steps

    def clean_up(self) -> list[Step]:
        """Drops of chains that nothing has named for diffs_retention."""
        return [Step("no longer read", f"DROP TABLE IF EXISTS {self.target.table(t)}") for t in self._drops]

    @property
    def unchanged(self) -> bool:
        """Whether the inputs are known to be as the last run read them: then what they bring is stored already."""
        old = self.old
        told = self.plan != "" and all(said.split()[2:4] == ["in", "files"] for said in self.inputs.values())
        same = old is not None and old.plan == self.plan and old.inputs == self.inputs
        return told and same and self.decision.action == ADVANCED

    @property
    def action(self) -> str:
        """hydrated | advanced | unchanged | restarted | checked."""
        return "unchanged" if self.decision.action == ADVANCED and not self.rows_written else self.decision.action

    @property
    def reason(self) -> str:
        return "no input changed" if self.unchanged else self.decision.reason

    def outcome(self) -> str:
        """What dbt prints behind the model's name."""
        return f"{self.action}, {self.rows_written} rows"

    def report(self) -> dict[str, Any]:
        """What happened, for run_results.json. Instants and lengths in ms; rows are of inputs and of diffs."""
        d = self.decision
        return {
            "action": self.action,
            "reason": self.reason,
            "as_of": d.as_of,
            "expiration": d.expiration,
            "rows_in": self.rows_in,
            "rows_written": self.rows_written,
            "updates_beyond_expiration": self.beyond_expiration,
            "chains": len(self.state.chains) if self.state else None,
            "aggregates": [core.core.kept for core in self.model.cores if core.core.kept],
            "milliseconds": int((time.monotonic() - self.started) * 1000),
        }

    def summary(self) -> str:
        """One line for the log."""
        d = self.decision
        what = self.action + (f" ({self.reason})" if self.reason else "")
        said = [f"{self.rows_in} rows in", f"{self.rows_written} diffs written"]
        if d.rebuilds:
            said += [core.core.kept for core in self.model.cores if core.core.kept]
        if d.expiration is not None:
            dropped = f", {self.beyond_expiration} updates after that not stored" if self.beyond_expiration else ""
            said.append(f"expires {format_instant(d.expiration)}{dropped}")
        return (
            f"temporal_view {self.target.model}: {what} at {format_instant(d.as_of)}, {', '.join(said)}, "
            f"{time.monotonic() - self.started:.1f} s"
        )

    @property
    def rows_written(self) -> int:
        """Of stored intervals: each stands for one update or two."""
        return sum(c.rows for c in self.new_chains.values())

    @property
    def rows_in(self) -> int:
        """Of all inputs together, as the fingerprints counted them."""
        return _rows(self.inputs)

    # -- helpers --

    _drops: list[str] = field(default_factory=list)

    def _retired(self, cores: list[CoreState], retired: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        """Also what this very run wrote and merged away at once."""
        live = {c.table for core in cores for c in core.chains}
        mine = [c.table for c in self.new_chains.values() if c.table not in live]
        return (*retired, *((t, self.clock) for t in mine))

    def _chain(self, core: str, merged: bool = False) -> str:
        run = self.id[:-1] + ("f" if self.id[-1] != "f" else "0") if merged else self.id
        return chain_rules.chain_name(self.target.model, run, core)

    def _create(self, core: TypedCore, table: str, rows: str, since: int | None) -> str:
        return store_of(core).create(self.target.table(table), rows, f" USING {self.config.file_format}", since)

    def _writes_much(self) -> bool:
        """Whether what the inputs hold, or hold more than before, makes a large chain."""
        known = 0 if self.old is None or self.decision.rebuilds else _rows(self.old.inputs)
        return self.rows_in - known >= chain_rules.LARGE_CHAIN

    def _bucketed(self, core: str) -> list[str]:
        return [self.target.table(c.table) for c in self._old_chains(core) if c.bucketed]

    def _old_chains(self, core: str) -> list[Chain]:
        if self.old is None or self.decision.rebuilds:
            return []
        return [c for s in self.old.cores if s.name == core for c in s.chains]

    def _old_tables(self, core: str) -> list[str]:
        return [self.target.table(c.table) for c in self._old_chains(core)]

    def _live_chains(self, core: str) -> list[Chain]:
        new = self.new_chains.get(core)
        return self._old_chains(core) + ([new] if new else [])

    def _since(self) -> int:
        return max(self.decision.since, self.decision.as_of - (self.config.retain_history or 0))

    def _count(self, core: TypedCore, table: str, bucketed: bool) -> Chain:
        rows = self.warehouse.rows(store_of(core).count(self.target.table(table), bucketed))
        return counted(table, rows, bucketed)

    def _count_beyond(self) -> int:
        assert self.decision.expiration is not None
        counts = [updates.beyond(core, self.decision.as_of, self.decision.expiration) for core in self.model.cores]
        return sum(int(row[0]) for sql in counts for row in self.warehouse.rows(sql))

    def _expect(self, run: str | None, when: str) -> ViewInfo | None:
        """The commit record, of the run it should be of."""
        live = live_view(self.warehouse, self.target)
        current = None if live is None else run_of(live.text)
        if current != run:
            raise TemporalError(
                f"found: {self.target.model}__live is of run {current}, {run} was expected {when} the commit\n"
                f"why: another run committed meanwhile; what this one wrote may be of an older state\n"
                f"instead: dbt run -s {self.target.model}, one run at a time"
            )
        return live


def _rows(inputs: dict[str, str]) -> int:
    """Of all inputs together, as their fingerprints counted them."""
    return sum(int(said.split()[0]) for said in inputs.values())


def _is_large(chains: list[Chain]) -> bool:
    return sum(c.rows for c in chains) >= chain_rules.LARGE_CHAIN
