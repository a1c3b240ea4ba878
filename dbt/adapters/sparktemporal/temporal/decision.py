"""Decide what a run does (hydrate, advance, restart, check or wait) from all that the run observed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import Explained
from .clock import expiration as expirations
from .clock.expiration import Expiry
from .clock.instants import format_duration, format_instant
from .clock.schedule import Refreshes, Restarts
from .diffs.state import State
from .diffs.stores import store_of
from .rewrite.core import TypedCore
from .sql.spark.settings import differences

#: a run's clock may lag the frontier by less than this (ms); the run then uses `DecisionContext.earliest`
CLOCK_SKEW_MS = 60_000

HYDRATED, ADVANCED, RESTARTED = "hydrated", "advanced", "restarted"
CHECKED, WAITING = "checked", "waiting"


@dataclass(frozen=True)
class Statement:
    """One statement and its purpose."""

    purpose: str
    sql: str


@dataclass(frozen=True)
class Invocation:
    """The invocation of dbt and the session that a run is in."""

    #: the instant of the invocation (ms)
    as_of: int
    #: the engine's clock when the run of the model began, also for the names of tables of a run without a lock (ms)
    engine_now: int
    #: the settings of the session that decide rows
    settings: Mapping[str, str]
    #: Spark's version
    version: str
    full_refresh: bool = False
    #: whether dbt reads a sample of each input (--empty, --sample)
    sampled: bool = False
    project: str = ""
    #: whether people gave the instant, and so may give it again; else it is the clock's
    pinned: bool = True

    @property
    def now(self) -> int:
        """The instant of the invocation (ms); where no instant was given, the clock, which goes on while dbt runs."""
        return self.as_of if self.pinned else max(self.as_of, self.engine_now)


@dataclass(frozen=True)
class Decision:
    """The action of a run, and its instants (ms)."""

    #: hydrated | advanced | restarted, or, with nothing written, checked | waiting
    action: str
    reason: str
    as_of: int
    since: int
    expiration: int | None
    #: the schedule from this run on, in which as_of is a refresh
    refreshes: Refreshes | None = None
    #: whether the run could go on with what is stored, and rebuilds because that costs less
    by_cost: bool = False

    @property
    def rebuilds(self) -> bool:
        return self.action in (HYDRATED, RESTARTED)

    @property
    def writes_nothing(self) -> bool:
        return self.action in (CHECKED, WAITING)


@dataclass(frozen=True)
class DecisionContext:
    """The grounds of a decision besides the committed state: the current model, its inputs, and the invocation."""

    invocation: Invocation
    expiry: Expiry
    restarts: Restarts
    #: the changes of all that decides the stored rows, in words (`changed_rows`); "" for none
    changed: str = ""
    #: the last instant (ms) that a run can compute, None for no limit: the earliest expiration of the temporal views
    #: that the model reads, or the end of the searched years if that is earlier
    known_until: int | None = None
    #: the first instant (ms) at which these temporal views know their content; None without such views
    inputs_from: int | None = None
    #: None for a model without refreshes
    refreshes: Refreshes | None = None

    def keeps_refreshes(self, state: State) -> bool:
        """Whether the model has refreshes, on the schedule of the last commit."""
        return self.refreshes is not None and self.refreshes == state.refreshes

    def earliest(self, state: State) -> int:
        """The first instant (ms) that a run may use: after the frontier, because updates up to the frontier are final.

        A pinned clock, and an unchanged schedule of refreshes, may use the frontier itself again.
        """
        return state.frontier if self.invocation.pinned or self.keeps_refreshes(state) else state.frontier + 1

    def known(self, as_of: int) -> int:
        """The first instant (ms) from as_of on at which all temporal views that the model reads have an answer."""
        return as_of if self.inputs_from is None else max(as_of, self.inputs_from)

    def last_refresh(self, state: State | None) -> int:
        """The instant of the run (ms): the last refresh, or the clock if there are no refreshes or the schedule is new.

        A new schedule takes effect at the clock, because up to the clock readers saw the refreshes of the old schedule.
        """
        if self.refreshes is None or state is not None and not self.keeps_refreshes(state):
            return self.invocation.as_of
        return self.refreshes.last(self.invocation.as_of)


def decide(model: str, state: State | None, context: DecisionContext) -> Decision:
    """The decision of one run of a model. state: the last commit, None before the first run.

    Raises TemporalError for a clock a minute or more before the frontier, except in a full refresh and for CHECKED.
    """
    clock, invocation = context.last_refresh(state), context.invocation
    is_late = state is not None and state.frontier - invocation.now >= CLOCK_SKEW_MS
    if invocation.full_refresh:
        if state is not None and not invocation.pinned and not is_late:
            clock = max(clock, context.earliest(state))
        return rebuild(context, RESTARTED if state else HYDRATED, "--full-refresh", clock)
    if state is None:
        return rebuild(context, HYDRATED, "first run", clock)
    if invocation.sampled and not state.sampled:
        kept = "a sample of the inputs changes nothing of what was captured"
        return Decision(CHECKED, kept, state.frontier, state.since, state.expiration, state.refreshes)
    if is_late:
        raise Explained(
            "ST503",
            f"the clock at {format_instant(invocation.now)}, {format_duration(state.frontier - invocation.now)} before "
            f"the last change captured by {model}, {format_instant(state.frontier)}",
            "updates up to the last change captured are final",
            f"a clock (or var temporal_now) from then on, or dbt run --full-refresh -s {model}",
        )
    as_of = max(clock, context.earliest(state))
    is_waiting = context.keeps_refreshes(state) and as_of <= state.frontier
    as_of = as_of if is_waiting else context.known(as_of)
    expires, why_not = expirations.after_change(state.started_at, state.offset, context.expiry, as_of)
    expires = expirations.earliest(expires, context.known_until)
    if why := _why_rebuild(state, context, as_of) or why_not or _other_expiration(state, expires, as_of):
        return rebuild(context, RESTARTED, why, as_of)
    if is_waiting and context.refreshes is not None:
        following = format_instant(context.refreshes.next(as_of + 1))
        why = f"refreshed every {format_duration(context.refreshes.every)}, next at {following}"
        return Decision(WAITING, why, as_of, state.since, state.expiration, context.refreshes)
    # readers saw earlier instants by another schedule
    since = state.since if context.refreshes == state.refreshes else as_of
    if context.refreshes is None:
        return Decision(ADVANCED, "", as_of, since, expires)
    refreshes = context.refreshes.with_refresh(as_of, since)
    return Decision(ADVANCED, "", as_of, refreshes.known_from(since), expires, refreshes)


def rebuild(context: DecisionContext, action: str, reason: str, as_of: int) -> Decision:
    """The decision of a run that writes all rows anew at `as_of` (ms), or when its inputs have an answer, if later."""
    as_of = context.known(as_of)
    expires = expirations.earliest(context.expiry.at(as_of), context.known_until)
    refreshes = context.refreshes and context.refreshes.with_refresh(as_of, as_of)
    return Decision(action, reason, as_of, as_of, expires, refreshes)


def _why_rebuild(state: State, context: DecisionContext, as_of: int) -> str:
    """The reason to rebuild the stored rows; "" where the run goes on with them."""
    if state.sampled:
        return "the last run read a sample"
    if context.changed:
        return context.changed
    if state.expiration is not None and as_of > state.expiration:
        return f"expired at {format_instant(state.expiration)}"
    if state.restart:
        return "temporal_restart"
    due = context.restarts.due(state.started_at)
    return context.restarts.words if due is not None and as_of >= due else ""


def _other_expiration(state: State, expires: int | None, as_of: int) -> str:
    """The reason to rebuild because the inputs expire later than the stored rows, or before `as_of`; "" for none."""
    if state.expiration is not None and (expires is None or expires > state.expiration):
        return "what it reads expires later than before"
    return "what it reads expires earlier than before" if expires is not None and as_of > expires else ""


def changed_rows(
    state: State, cores: Sequence[TypedCore], settings: Mapping[str, str], changes: Sequence[str] = ()
) -> str:
    """The changes, since a state, of all that decides the rows in the chains, in words; "" for none.

    changes: the known changes of the model's text, in words.
    """
    if state.core_hash == hash_cores(cores, settings):
        return ""
    return ", ".join([*differences(settings, state.settings), *changes]) or "its stored query changed"


def hash_cores(cores: Sequence[TypedCore], settings: Mapping[str, str]) -> str:
    """A hash of all that decides the rows in the chains, in 16 hex digits.

    The SQL that computes the windows is part of it: where a version of this adapter computes them otherwise, models
    are rebuilt.
    """
    parts = [
        [
            typed.core.name,
            [c.kind for c in typed.core.comparisons],
            typed.columns,
            store_of(typed).desired(typed, 0, None),
        ]
        for typed in cores
    ]
    text = json.dumps([parts, dict(settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
