"""`temporal_status` and `temporal_restart`: the condition of a temporal_view, and a request to rebuild it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config import TemporalConfig
from ..engine import session
from ..engine.committed import read_state
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..inputs.observing.file_lists import hidden_column
from ..over_time.reads import committed
from ..run.commit import Commit
from ..temporal.clock.expiration import Dependence, expiry
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.diffs.state import Chain
from ..temporal.sql.spark.errors import SparkError
from . import tables

#: the columns of `temporal_status`, with the types of their values
COLUMNS: Mapping[str, type] = {
    "model": str,
    "schema": str,
    "state": str,
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
#: what a table of several models shows to people, with its headings
_NAMES = ("model", "state", "since", "frontier", "expiration", "left", "restart_due", "chains", "rows", "bytes")
_SHORT = {name: name.replace("_", " ") for name in _NAMES}
UNREADABLE, NOT_RUN, ANSWERS = "cannot be read", "has not run", "answers"
EXPIRED, RESTARTS = "expired, reads raise", "answers; the next run rebuilds it"


def ask_for_restart(warehouse: Warehouse, target: ModelRelations, run_id: str) -> None:
    """Commit, under the model's lock, that the next run rebuilds the model. Nothing else changes."""
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_restart of {state.model}")
    commit = Commit.of_operation(warehouse, target, state)
    commit.send(commit.prepare(state.advanced(run=run_id, restart=True)))


def status(
    warehouse: Warehouse, target: ModelRelations, config: TemporalConfig, inputs: Sequence[Dependence], clock: int
) -> dict[str, Any]:
    """The facts of a model, by the names of `COLUMNS`. clock: the engine's (ms)."""
    facts: dict[str, Any] = {"model": target.model, "schema": target.plain_schema}
    state = read_state(warehouse, target)
    if state is None:
        return {**facts, "state": NOT_RUN}
    until, due = state.answers_until, config.restarts.due(state.started_at)
    due = until if due is None else due  # a model that has expired is due too
    is_over = until is not None and until < clock
    updates = sum(map(updates_of, state.chains))
    size = size_of(warehouse, [target.table(c.table) for c in state.chains])
    facts |= {
        "state": EXPIRED if is_over else RESTARTS if state.restart else ANSWERS,
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
        facts["expiration_reason"] = expiry(config.expiration, inputs, state.refreshes).why or None
    else:
        facts |= {"expiration": format_instant(until), "seconds_to_expiration": (until - clock) / 1000}
    if due is not None:
        facts |= {"restart_due": format_instant(due), "seconds_to_restart": (due - clock) / 1000}
    if state.refreshes is not None:
        every, last = state.refreshes.every, state.refreshes.last(clock)
        facts |= {"refreshed_every": format_duration(every), "last_refresh": format_instant(last)}
    if state.expiration is not None:
        facts["updates_left_out"] = state.dropped
        # the interval of a row is stored with or without its end: leaving the end out saves no row
        if all(core.sums is not None for core in state.cores):
            facts["bytes_left_out"] = size * state.dropped // max(updates, 1)
    return facts


def of_each(target: ModelRelations, asked: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The facts of one of several models. The error of an unreadable model is a fact, so the other models are shown."""
    try:
        return asked()
    except (
        TemporalError,
        SparkError,
    ) as error:  # of a state, a config, or a chain that is gone
        lines = (line.strip() for line in str(error).splitlines())
        error_line = " ".join(filter(None, lines))
        return {"model": target.model, "schema": target.plain_schema, "state": UNREADABLE, "error": error_line}


def as_table(facts: Sequence[Mapping[str, Any]]) -> tables.Table:
    return tables.table(COLUMNS, facts)


def for_people(shown: tables.Table) -> tables.Table:
    """The status as it is printed: all facts of one model, or a line for each of several."""
    if len(shown.rows) == 1:
        return tables.turned(shown)
    rows = [{heading: _short(row, name) for name, heading in _SHORT.items()} for row in shown.rows]
    kinds = {heading: COLUMNS.get(name, str) for name, heading in _SHORT.items()}
    return tables.table(kinds, rows)


def _short(row: Mapping[str, Any], name: str) -> Any:
    if name != "left":
        return row[name]
    left = row["seconds_to_expiration"]
    return None if left is None else format_duration(int(left * 1000)) if left > 0 else "none"


def updates_of(chain: Chain) -> int:
    """The number of updates of a chain: an interval stands for two, or for one where it has no end."""
    return chain.rows if chain.open is None else 2 * chain.rows - chain.open


def size_of(warehouse: Warehouse, names: Sequence[str]) -> int:
    """The size of the files of some tables, by Iceberg's own list of files, or else by Spark's hidden column."""
    sizes = [sizes for table in names if (sizes := _sizes(warehouse, table)) is not None]
    if not sizes:
        return 0
    union = "\nUNION ALL\n".join(sizes)
    return int(warehouse.rows(f"SELECT coalesce(sum(size), 0) FROM (\n{union}\n)")[0][0])


def _sizes(warehouse: Warehouse, table: str) -> str | None:
    info = warehouse.table(table)
    if info.details.get("Provider", "").lower() == "iceberg":
        return f"SELECT file_size_in_bytes AS size FROM {table}.files"
    hidden = hidden_column(warehouse, table, info)
    if hidden is None:
        return None
    files = f"SELECT DISTINCT {hidden}.file_path AS file, {hidden}.file_size AS size FROM {table}"
    return f"SELECT size FROM ({files}) AS mz_files"
