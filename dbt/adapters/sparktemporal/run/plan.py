"""The plan of a run: all that the run was given, observed and decided, from which its statements follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import other_configs
from ..engine import ownership
from ..engine.known_relations import KnownRelations
from ..engine.model_relations import ModelRelations
from ..graph.lineage import FEED
from ..inputs.changing.capture import Capture, Request
from ..inputs.observing.manifest import Manifest
from ..inputs.observing.observe import Input
from ..plurals import quantity
from ..temporal.clock.expiration import Dependence, Expiry
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.clock.schedule import Refreshes, readable_from
from ..temporal.decision import ADVANCED, hash_cores
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction
from ..temporal.diffs.input_state import Fingerprint
from ..temporal.diffs.state import Chain, State
from ..temporal.predicates.ordered import YEARS_END
from ..temporal.rewrite.core import TypedCore
from .published_view import Docs


@dataclass(frozen=True)
class Definition:
    """A model as dbt has it: the compiled SQL, the config, the docs that persist_docs asks for."""

    sql: str
    config: Mapping[str, Any] = field(default_factory=dict)
    docs: Docs = field(default_factory=Docs)


@dataclass(frozen=True)
class HostFacts:
    """What the host of a run knows around a model: its neighbours in dbt's graph, and its relations."""

    #: the temporal views that the model may read
    below: Sequence[ModelRelations] = ()
    #: the plain views between these and the model
    between: Sequence[ModelRelations] = ()
    #: the temporal views that read the model
    readers: Sequence[ModelRelations] = ()
    #: the relations that the model reads, as far as dbt knows
    inputs: Sequence[Dependence] = ()
    #: whether a relation that is no view has the model's name
    in_the_way: bool = False
    #: the relations whose names begin with the model's, as dbt listed them; None: the run asks Spark
    known: KnownRelations | None = None
    #: the names, without package, of the macros that are called by the nodes that read the model by themselves
    macros: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class RunPlan(Request):
    """One run of one temporal_view before it writes: everything observed and decided. `str` prints a table of it."""

    definition: Definition
    host_facts: HostFacts
    #: the id in the names of the run's tables. Another attempt has another id; the lock keeps the first one
    run_id: str
    expiry: Expiry
    columns: tuple[tuple[str, str], ...] = ()
    capture: Capture
    #: when the run began, by `time.monotonic` (s)
    started: float = 0.0
    #: the runs whose lock this run took over
    displaced: tuple[str, ...] = ()

    # -- what is to be done --

    @property
    def writes_nothing(self) -> bool:
        return self.decision.writes_nothing or self.is_noop

    @property
    def is_noop(self) -> bool:
        """Whether nothing is to be committed: no input changed, and the commit would say what the last one says.

        A later frontier alone is committed where a feed reads the model, or the model has refreshes.
        """
        old, d = self.old, self.decision
        if old is None or d.action != ADVANCED or self.invocation.sampled != old.sampled:
            return False
        # a feed needs each frontier, and a refresh is committed once, with the rows of its instant
        if (FEED in self.host_facts.macros or self.refreshes) and d.as_of > old.frontier:
            return False
        if self.config.store_late and old.late is None or self.config.at_function != old.at_function:
            return False
        return not self.changed and self.since() == old.since and self._says_the_same(old)

    def _says_the_same(self, old: State) -> bool:
        """Whether a commit would record the same model and the same inputs as the last one."""
        d = self.decision
        now = (d.expiration, self.expiry.offset, self.refreshes, self.model.residual, self.columns)
        then = (old.expiration, old.offset, old.refreshes, old.residual, old.columns)
        stored = [(core.name, core.stored, core.core.kept) for core in self.model.cores]
        read = (self.inputs, self.capture.read_by, self.invocation.project)
        return (
            now == then
            and self.model.written == old.written
            and stored == [(core.name, core.columns, core.kept) for core in old.cores]
            and read == (old.inputs, old.read_by, old.project)
        )

    @property
    def leaves_out(self) -> bool:
        """Whether the run counts the updates that are not stored because they are after the expiration.

        False if the expiration is only YEARS_END, where the search for the changes of a predicate ends.
        """
        return self.decision.expiration not in (None, YEARS_END - 1)

    @property
    def is_told(self) -> bool:
        """Whether an earlier run was of this text of the model, and has told the notes and warnings about the text.

        True if the last commit is of the same text, and not over a part of the inputs (--sample, --empty).
        """
        return self.old is not None and self.old.written == self.model.written and not self.old.sampled

    @property
    def changed(self) -> list[TypedCore]:
        """The cores that the run writes: their inputs changed, or are read in full."""
        return [core for core in self.model.cores if not self.capture.cores[core.name].is_same]

    @property
    def adds(self) -> bool:
        """Whether some core changed, and added and removed rows alone bring all cores up to date."""
        deltas = self.capture.cores.values()
        return not self.capture.is_same and all(delta.is_same or delta.is_incremental for delta in deltas)

    @property
    def idle(self) -> str:
        """The configs of the model that do nothing, in words; "" for none."""
        return other_configs.not_carried_out(self.definition.config)

    @property
    def core_hash(self) -> str:
        return hash_cores(self.model.cores, self.invocation.settings)

    @property
    def refreshes(self) -> Refreshes | None:
        return self.decision.refreshes

    @property
    def measures(self) -> bool:
        """Whether the run finds statistics of the inputs' files, and perhaps collects others (`Pruning.measure`)."""
        wanted = self.config.pushdown == "statistics" or bool(self.config.pushdown_collect)
        return wanted and any(not self.capture.cores[core.name].is_incremental for core in self.changed)

    @property
    def inputs(self) -> dict[str, Fingerprint]:
        """Input -> its state, as the commit keeps the state."""
        return {name: seen.fingerprint for name, seen in self.capture.inputs.items()}

    def listed(self, manifest: Manifest | None) -> dict[str, Input]:
        """The inputs, with the manifest as the list of their files."""
        inputs = self.capture.inputs
        if manifest is None:
            return dict(inputs)
        return {n: replace(i, listing=manifest.listing(n)) if i.listing else i for n, i in inputs.items()}

    # -- names --

    def under(self, run_id: str, displaced: Sequence[str]) -> RunPlan:
        """The plan with the id in the lock, and the runs that lost the lock."""
        return replace(self, run_id=run_id, displaced=tuple(displaced))

    def renamed(self) -> RunPlan:
        """The plan with a new id: later tables get other names than the tables that were written so far."""
        return replace(self, run_id=chain_rules.next_id(chain_rules.next_id(self.run_id)))

    def chain(self, core: str, merged: bool = False) -> str:
        run_id = chain_rules.next_id(self.run_id) if merged else self.run_id
        return chain_rules.chain_name(self.target.model, run_id, core)

    def late(self, merged: bool = False) -> str:
        """The name of the table of the rows that came late."""
        return chain_rules.late_name(self.target.model, chain_rules.next_id(self.run_id) if merged else self.run_id)

    @property
    def using(self) -> str:
        """The clauses of a CREATE TABLE for the format and the owner of a chain."""
        return f" {ownership.using(self.target, self.config.file_format)}"

    # -- chains --

    def old_chains(self, core: str) -> list[Chain]:
        """The chains of a core that this run builds on, largest first."""
        chains = [c for s in (self.built_on.cores if self.built_on else ()) if s.name == core for c in s.chains]
        return chain_rules.largest_first([c for c in chains if c.rows])  # a chain without rows only tells the columns

    @property
    def latest(self) -> int:
        """The latest instant that `since` may become (ms)."""
        return readable_from(self.decision.since, self.decision.as_of, self.config.retain_history, self.refreshes)

    def to_split(self, merged: Mapping[str, Sequence[Chain]]) -> dict[str, list[Chain]]:
        """Core -> its chains with too many due updates (`compaction`), where the run does not merge the core anyway."""
        cores = self.built_on.cores if self.built_on else ()
        found = {core.name: compaction.to_split(core, self.latest) for core in cores}
        return {name: chains for name, chains in found.items() if chains and name not in merged}

    def since(self, merged: Mapping[str, Sequence[Chain]] | None = None) -> int:
        """The earliest readable instant (ms) after this run. merged: core -> the chains that become one.

        | a run in which | the instant |
        |---|---|
        | a chain is split | `latest` |
        | chains that become one have SMALL_CHAIN rows or more together | `latest` |
        | a chain of SMALL_CHAIN rows or more is over: all intervals of the chain have ended | `latest` |
        | none of this happens | `decision.since` |
        """
        merged = merged or {}
        chains = [c for core in self.model.cores for c in self.old_chains(core.name)]
        rewritten = [sum(c.rows for c in several) for several in merged.values()]
        over = [c.rows for c in chains if chain_rules.is_over(c, self.latest)]
        moves = self.to_split(merged) or max([*rewritten, *over], default=0) >= chain_rules.SMALL_CHAIN
        return self.latest if moves else self.decision.since

    # -- what the commit says of the past --

    @property
    def max_restart_delay(self) -> int:
        """The longest time (ms) that a restart, once due, has waited for a run so far."""
        if self.old is None:
            return 0
        due, so_far = self.config.restarts.due(self.old.started_at), self.old.max_restart_delay
        is_late = self.decision.rebuilds and due is not None and self.decision.as_of >= due
        return max(so_far, self.decision.as_of - due) if is_late and due is not None else so_far

    def revised(self) -> int | None:
        """The instant (ms) up to which results already read may differ from results now (`State.revised`), or None."""
        old, d = self.old, self.decision
        if old is None:
            return None
        now = (self.model.residual, self.columns, self.capture.read_by)
        is_same = now == (old.residual, old.columns, old.read_by)
        if d.as_of > old.frontier and (is_same or d.rebuilds):  # a restart is read from its instant on
            return old.revised
        return max(d.as_of, old.frontier)

    def dropped(self, beyond_expiration: int | None) -> int:
        """How many updates were left out since the last restart. A run that reads a core in full counts anew.

        beyond_expiration: how many this run left out, None where it did not count.
        """
        before = self.built_on.dropped if self.built_on else 0
        if beyond_expiration is None:
            return before
        is_incremental = all(self.capture.cores[core.name].is_incremental for core in self.changed)
        return before + beyond_expiration if is_incremental else beyond_expiration

    # -- for people --

    def __str__(self) -> str:
        rows = [*self.rows()]
        first, second = (max(len(row[at]) for row in rows) for at in (0, 1))
        return "\n".join(f"{kind:{first}}  {name:{second}}  {what}".rstrip() for kind, name, what in rows)

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """The rows of the printed table: (kind, name, what was observed or decided)."""
        d = self.decision
        yield "model", self.target.name(), f"run {self.run_id}, over {self.old.run if self.old else 'nothing'}"
        does, why = ("unchanged", "nothing new") if self.is_noop else (d.action, "what the inputs did")
        yield "does", does, d.reason or why
        for what, t in (("as of", d.as_of), ("started", self.started_at), ("since", self.since())):
            yield "clock", what, format_instant(t)
        why = f" ({self.expiry.why})" if self.expiry.why else ""
        yield "clock", "expiration", ("none" if d.expiration is None else format_instant(d.expiration)) + why
        if self.refreshes is not None:
            yield "clock", "refreshed", f"every {format_duration(self.refreshes.every)}"
        for name, kind in self.columns:
            yield "column", name, kind
        yield from self._rows_of_inputs()
        yield "writes", "chains", ", ".join(core.name for core in self.changed) or "none"
        yield "writes", "manifest", self._manifest_kept()
        yield "writes", "commit", "no" if self.writes_nothing else "yes"

    def _rows_of_inputs(self) -> Iterator[tuple[str, str, str]]:
        """The rows about cores, and about changes of inputs."""
        capture = self.capture
        for core in self.model.cores:
            delta, chains = capture.cores[core.name], self.old_chains(core.name)
            rows = quantity(sum(c.rows for c in chains), "row")
            built_on = f"{quantity(len(chains), 'chain')} of {rows}" if chains else "no chains"
            yield "core", core.name, f"{delta.kind.value}{f' ({delta.reason})' if delta.why else ''}, over {built_on}"
        for name, seen in capture.inputs.items():
            change = capture.changes[name]
            yield "input", name, f"by its {seen.tracking.value}: {change.why}; {seen.fingerprint}"

    def _manifest_kept(self) -> str:
        if self.capture.keeps:
            return "kept"
        if self.capture.files:
            return "in the state"
        return "none" if self.capture.manifest is None else "new"
