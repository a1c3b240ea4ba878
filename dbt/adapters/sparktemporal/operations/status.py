"""`temporal_status` and `temporal_restart`: the condition of a temporal_view, and a request to rebuild it."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import TemporalConfig
from ..engine import session
from ..engine.warehouse import ModelRelations, Warehouse, read_state
from ..inputs.file_lists import hidden_column
from ..run.commit import Commit
from ..temporal.clock.expiration import Dependence, expiry
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.diffs.state import Chain
from ..words import quantity
from .reads import committed


def ask_for_restart(warehouse: Warehouse, target: ModelRelations, run_id: str) -> None:
    """Commit, under the model's lock, that the next run rebuilds the model. Nothing else changes."""
    state = committed(warehouse, target)
    session.refuse_other(warehouse, state, f"temporal_restart of {state.model}")
    commit = Commit.of_operation(warehouse, target, state)
    commit.send(commit.prepare(state.advanced(run=run_id, restart=True)))


def status(
    warehouse: Warehouse, target: ModelRelations, config: TemporalConfig, inputs: Sequence[Dependence], clock: int
) -> list[str]:
    """Lines about the instants and the stored rows of a model. clock: the engine's (ms)."""
    state = read_state(warehouse, target)
    if state is None:
        return [f"{target.model}: has not run"]
    lines = [f"{target.model}"]

    def say(word: str, what: str) -> None:
        lines.append(f"  {word:12} {what}")

    def instant(t: int) -> str:
        away = f"in {format_duration(t - clock)}" if t >= clock else f"{format_duration(clock - t)} ago"
        return f"{format_instant(t)}, {away}"

    say("started", instant(state.started_at))
    say("frontier", instant(state.frontier))
    why = expiry(config.expiration, inputs, state.refreshes).why
    if state.answers_until is None:
        say("expiration", "none" + (f" ({why})" if why else ""))
    else:
        say("expiration", instant(state.answers_until) + ("" if state.answers_until >= clock else ": reads raise"))
    due = config.restarts.due(state.started_at)
    if state.restart:
        say("restart", "at the next run, by temporal_restart")
    elif due is None:
        say("restart", "when it has expired" if state.expiration is not None else "none")
    else:
        say("restart", f"at the first run from {instant(due)}")
    if state.refreshes is not None:
        last = instant(state.refreshes.last(clock))
        say("refreshed", f"every {format_duration(state.refreshes.every)}, last at {last}")
    updates = sum(map(_updates, state.chains))
    rows = sum(c.rows for c in state.chains)
    size = _bytes(warehouse, [f"{target.schema}.`{c.table}`" for c in state.chains])
    stored, kept, chains = quantity(updates, "update"), quantity(rows, "row"), quantity(len(state.chains), "chain")
    say("stored", f"{stored} in {kept} of {chains}, {quantity(size, 'byte')}")
    if state.expiration is not None:
        # the interval of a row is stored with or without its end: leaving the end out saves no row
        grouped = all(core.sums is not None for core in state.cores)
        saved = f", about {quantity(size * state.dropped // max(updates, 1), 'byte')}" if grouped else ""
        say("left out", f"{quantity(state.dropped, 'update')} after the expiration{saved}")
    return lines


def _updates(chain: Chain) -> int:
    """The number of updates of a chain: an interval stands for two, or for one where it has no end."""
    return chain.rows if chain.open is None else 2 * chain.rows - chain.open


def _bytes(warehouse: Warehouse, tables: Sequence[str]) -> int:
    """The size of the files of some tables, by Iceberg's own list of files, or else by Spark's hidden column."""
    sizes = [sizes for table in tables if (sizes := _sizes(warehouse, table)) is not None]
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
