"""`temporal_status` and `temporal_restart`: the condition of a temporal_view, and a request to rebuild it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..config import TemporalConfig
from ..engine import session
from ..engine.committed import read_state
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..over_time.reads import committed
from ..run import fence
from ..run.commit import Commit
from ..temporal.clock.expiration import Dependence, expiry
from ..temporal.clock.instants import format_duration, format_instant, parse_duration
from ..temporal.diffs.state import Chain, State
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.text.dialect import string_literal
from ..temporal.sql.text.identifiers import Identifiers
from . import run_log, tables
from .sizes import Stored, chains_of, described, of_chains
from .times import ago, to_second

#: the columns of `temporal_status`, with the types of their values
COLUMNS: Mapping[str, type] = {
    "model": str,
    "schema": str,
    "state": str,
    "last_run": str,
    "seconds_since_last_run": float,
    "last_run_did": str,
    "started": str,
    "since": str,
    "frontier": str,
    "seconds_since_frontier": float,
    "expiration": str,
    "seconds_to_expiration": float,
    "expiration_reason": str,
    "restart_due": str,
    "seconds_to_restart": float,
    "refreshed_every": str,
    "last_refresh": str,
    "chains": int,
    "rows": int,
    "updates": int,
    "bytes": int,
    "updates_left_out": int,
    "bytes_left_out": int,
    "error": str,
}
#: what a table of several models shows to people
_NAMES = ("model", "state", "last_run", "frontier", "expiration", "left", "restart_due", "chains", "rows", "bytes")
#: fact -> its name for people, where its own name is a word of the glossary
_FOR_PEOPLE = {
    "since": "readable_from",
    "frontier": "last_change_captured",
    "seconds_since_frontier": "seconds_since_change",
}
_SHORT = {name: _FOR_PEOPLE.get(name, name).replace("_", " ") for name in _NAMES}
#: below a status, for people
WORDS = (
    "A chain is a table of rows that a run wrote. Hydrated: built by a first run. Restarted: built anew. "
    "All words: docs/glossary.md"
)
UNREADABLE, NOT_RUN, ANSWERS = "cannot be read", "has not run", "answers"
EXPIRED, RESTARTS = "expired, reads raise", "answers; the next run rebuilds it"


def ask_for_restart(warehouse: Warehouse, target: ModelRelations, run_id: str, displaced: Sequence[str]) -> None:
    """Commit, under the model's lock, that the next run rebuilds the model. Nothing else changes.

    displaced: the runs whose lock was taken over.
    """
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_restart of {state.model}")
    commit = Commit.of_operation(warehouse, target, state)
    if not commit.texts.is_table:
        for step in fence.fence(warehouse, target, displaced):
            warehouse.rows(step.sql)
    _, statements = commit.prepare(state.advanced(run=run_id, restart=True))
    commit.send(statements)


@dataclass(frozen=True)
class Asked:
    """A model that is asked about."""

    target: ModelRelations
    #: gives the config, and what the expiration depends on. Raises TemporalError for a config that is wrong
    described: Callable[[], tuple[TemporalConfig, Sequence[Dependence]]]


@dataclass(frozen=True)
class Condition:
    """What is known of a model."""

    target: ModelRelations
    #: name in `COLUMNS` -> value
    facts: dict[str, Any]
    #: None for a model that has not run, or whose state cannot be read
    state: State | None = None
    config: TemporalConfig | None = None
    inputs: Sequence[Dependence] = ()
    #: chain, as SQL names it -> its bytes, where known. Chains of other models may be here too
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: the latest runs that the target folder knows of, the last one first
    runs: Sequence[run_log.Run] = ()

    @property
    def chains(self) -> list[Stored]:
        return chains_of(self.state, self.config.file_format) if self.state and self.config else []

    @contextmanager
    def telling_errors(self) -> Iterator[None]:
        """Turn the error of a model that cannot be read into a fact, so that the other models are still shown."""
        try:
            yield
        except (TemporalError, SparkError) as error:  # of a state, a config, or a chain that is gone
            lines = (line.strip() for line in str(error).splitlines())
            self.facts.update(state=UNREADABLE, error=" ".join(filter(None, lines)))


def conditions(
    warehouse: Warehouse, asked: Sequence[Asked], clock: int, folder: Path, most_runs: int, raises: bool
) -> list[Condition]:
    """The conditions of some models. clock: ms. folder: dbt's target. raises: whether to raise the error of a model.

    Besides reading states, this asks Spark once for each schema, and once for the sizes of each 100 chains. Chains that
    these answers leave out, such as chains of another format than the config's, are asked about again.
    """
    listed: dict[str, Identifiers] = {}
    logged = run_log.runs(folder, most_runs)

    def begun(one: Asked) -> Condition:
        target, prefix = one.target, one.target.model if len(asked) == 1 else ""
        seen = Condition(target, {"model": target.model, "schema": target.plain_schema, "state": NOT_RUN})
        with nullcontext() if raises else seen.telling_errors():
            config, inputs = one.described()
            if target.schema not in listed:
                listed[target.schema] = warehouse.beginning(target.schema, prefix, "__live")
            state = read_state(warehouse, target, listed[target.schema])
            return replace(
                seen, state=state, config=config, inputs=inputs, runs=logged.get(run_log.name_of(target), ())
            )
        return seen

    found = list(map(begun, asked))
    together = of_chains(warehouse, [chain for one in found for chain in one.chains])

    def ended(seen: Condition) -> Condition:
        with nullcontext() if raises else seen.telling_errors():
            others = described(warehouse, [chain for chain in seen.chains if chain.table not in together])
            seen = replace(seen, sizes={**together, **others})
            seen.facts.update(facts_of(seen, clock))
        return seen

    return list(map(ended, found))


def facts_of(seen: Condition, clock: int) -> dict[str, Any]:
    """The facts of a model by the names of `COLUMNS`; {} for a model without a state. clock: ms."""
    state, config = seen.state, seen.config
    if state is None or config is None:
        return {}
    until, due = state.expires, config.restarts.due(state.started_at)
    due = until if due is None else due  # a model that has expired is due too
    is_over = until is not None and until < clock
    updates = sum(map(updates_of, state.chains))
    size = sum(seen.sizes.get(chain.table, 0) for chain in seen.chains)
    facts: dict[str, Any] = {
        "state": EXPIRED if is_over else RESTARTS if state.restart else ANSWERS,
        **last_run(seen.runs, state.frontier, clock),
        "started": format_instant(state.started_at),
        "since": format_instant(state.since),
        "frontier": format_instant(state.frontier),
        "seconds_since_frontier": (clock - state.frontier) / 1000,
        "chains": len(state.chains),
        "rows": sum(c.rows for c in state.chains),
        "updates": updates,
        "bytes": size,
    }
    if until is None:
        facts["expiration_reason"] = expiry(config.expiration, seen.inputs, state.refreshes).why or None
    else:
        facts |= {"expiration": format_instant(until), "seconds_to_expiration": (until - clock) / 1000}
    if due is not None:
        facts |= {"restart_due": format_instant(due), "seconds_to_restart": (due - clock) / 1000}
    if state.refreshes is not None:
        every, last = state.refreshes.every, state.refreshes.last(clock)
        facts |= {"refreshed_every": format_duration(every), "last_refresh": format_instant(last)}
    return facts | ({} if until is None else _left_out(state, updates, size))


def _left_out(state: State, updates: int, size: int) -> dict[str, int]:
    """What an expiration leaves out."""
    facts = {"updates_left_out": state.dropped}
    # the interval of a row is stored with or without its end: leaving the end out saves no row
    if all(core.sums is not None for core in state.cores):
        facts["bytes_left_out"] = size * state.dropped // max(updates, 1)
    return facts


def last_run(runs: Sequence[run_log.Run], frontier: int, clock: int) -> dict[str, Any]:
    """Facts of the last run, from the log of the target folder or from the last commit, whichever is later.

    frontier: of the last commit (ms). A run with nothing new commits nothing, so other target folders do not know of
    the run. clock: ms.
    """
    at, did = frontier, None
    if runs and run_log.ran_at(runs[0]) >= at:
        at, did = run_log.ran_at(runs[0]), ": ".join(filter(None, (runs[0].get("action"), runs[0].get("reason"))))
    return {"last_run": format_instant(at), "seconds_since_last_run": (clock - at) / 1000, "last_run_did": did}


def staleness(warehouse: Warehouse, target: ModelRelations, within: Any, clock: int, folder: Path) -> str:
    """A query: one row when the last known run of a model (see `last_run`) is longer ago than `within`.

    clock: ms. folder: dbt's target.
    """
    state, most = committed(warehouse, target), parse_duration(within, "within") or 0
    known = last_run(run_log.runs(folder, 1).get(run_log.name_of(target), ()), state.frontier, clock)
    since = int(known["seconds_since_last_run"] * 1000)
    return (
        f"SELECT {string_literal(state.model)} AS model, {string_literal(known['last_run'])} AS last_run, "
        f"{string_literal(f'{format_duration(since)} ago' if since > 0 else 'now')} AS ran\n"
        f"WHERE {str(since > most).lower()}"
    )


def as_table(facts: Sequence[Mapping[str, Any]]) -> tables.Table:
    return tables.table(COLUMNS, facts)


def for_people(shown: tables.Table) -> tables.Table:
    """The status as it is printed: all facts of one model, or a line for each of several."""
    if len(shown.rows) == 1:
        return tables.turned(shown.rename(column_names=_FOR_PEOPLE))
    rows = [{heading: _short(row, name) for name, heading in _SHORT.items()} for row in shown.rows]
    kinds = {heading: COLUMNS.get(name, str) for name, heading in _SHORT.items()}
    return tables.table(kinds, rows)


def _short(row: Mapping[str, Any], name: str) -> Any:
    """A value of the table of several models: how long ago, how much is left, and instants without milliseconds."""
    if name == "last_run":
        did = (row["last_run_did"] or "").partition(":")[0]
        seconds = row["seconds_since_last_run"]
        return None if seconds is None else ", ".join(filter(None, (ago(float(seconds)), did)))
    if name == "left":
        left = row["seconds_to_expiration"]
        return None if left is None else format_duration(int(left * 1000)) if left > 0 else "none"
    return to_second(row[name]) if name in ("frontier", "expiration", "restart_due") else row[name]


def updates_of(chain: Chain) -> int:
    """The number of updates of a chain: its rows, of which an interval with an end counts twice."""
    return chain.rows if chain.open is None else 2 * chain.rows - chain.open
