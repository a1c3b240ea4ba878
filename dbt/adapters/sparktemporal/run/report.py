"""The report of a run: for the log, for dbt, for run_results.json."""

from __future__ import annotations

import time
from typing import Any

from ..inputs.changing.input_reads import InputRead, as_data, input_reads, totals
from ..plurals import quantity
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.decision import ADVANCED
from . import full_reads, full_stores, unlikely_windows, ways
from .writer import Writer


def action(run: Writer) -> str:
    """The action of a run: hydrated | advanced | unchanged | restarted | waiting | checked."""
    decided = run.plan.decision.action
    return "unchanged" if decided == ADVANCED and not run.written.rows else decided


def reason(run: Writer) -> str:
    d = run.plan.decision
    return "no input changed" if d.action == ADVANCED and run.plan.capture.is_same else d.reason


def outcome(run: Writer) -> str:
    """The text that dbt prints after the model's name.

    unchanged (no input changed), 6,000 rows kept
    """
    old = run.plan.old
    if run.plan.is_noop and old is not None:
        return f"{action(run)} ({reason(run)}), {quantity(sum(chain.rows for chain in old.chains), 'row')} kept"
    return f"{action(run)}, {quantity(run.written.rows, 'row')}"


def report(run: Writer) -> dict[str, Any]:
    """The response of a run in run_results.json. `contracts.TemporalResponse` describes the fields."""
    d, reads = run.plan.decision, reads_of(run)
    return {
        "action": action(run),
        "reason": reason(run),
        "as_of": d.as_of,
        "expiration": d.expiration,
        "expiration_reason": run.plan.expiry.why,
        "seconds_to_expiration": None if d.expiration is None else (d.expiration - d.as_of) / 1000,
        "inputs": [one.line for one in reads],
        "input_reads": as_data(reads),
        **totals(reads),
        "pushdown": [
            *(f"{core}: {projection}" for core, projection in run.tools.pruning.projection.items()),
            *run.tools.pruning.notes,
        ],
        "rows_in": run.plan.capture.rows,
        "rows_written": run.written.rows,
        "rows_rewritten": _rewritten(run),
        "bytes_written": run.written.bytes,
        "updates_beyond_expiration": run.written.beyond_expiration,
        "rows_late": run.written.late,
        "chains_before": len(run.plan.old.chains) if run.plan.old else 0,
        "chains": len(state.chains) if (state := run.prepared or run.plan.old) else None,
        "aggregates": [str(core.core.kept) for core in run.plan.model.cores if core.core.kept],
        "milliseconds": _since(run.plan.started),
        "phases": {name: int(seconds * 1000) for name, seconds in run.seconds.items()},
    }


def reads_of(run: Writer) -> list[InputRead]:
    """How each input was read."""
    cores = [core.name for core in run.plan.changed if not run.plan.capture.cores[core.name].is_incremental]
    return input_reads(run.plan.capture, run.tools.pruning.left(cores) if cores else {})


def _rewritten(run: Writer) -> int:
    """How many rows of older chains were written again with the new rows."""
    return sum(chain.rows for chains in run.written.joined.values() for chain in chains)


def summary(run: Writer) -> list[str]:
    """Lines for the log: how a new text of the model is read, the action, and after an advance how each input was read.

    A run with nothing to do has only the lines about a new text, because dbt's own line says everything else.
    """
    notes = [] if run.plan.is_told else [f"temporal_view {run.plan.target.model}: {n}" for n in run.plan.model.notes]
    if run.plan.is_noop:
        return notes
    d, why = run.plan.decision, reason(run)
    what = action(run) + (f" ({why})" if why else "")
    first = f"temporal_view {run.plan.target.model}: {what} at {format_instant(d.as_of)}, {', '.join(_facts(run))}"
    lines = [] if d.rebuilds or why else [one.line for one in reads_of(run)]
    chosen = ways.choice(run.plan, run.written)
    return [
        *notes,
        f"{first}, {_since(run.plan.started) / 1000:.1f} s",
        *([f"  way {': '.join(chosen)}"] if chosen else []),
        *(f"  input {line}" for line in [*lines, *run.tools.pruning.notes]),
    ]


def _facts(run: Writer) -> list[str]:
    """The facts of a run, in the order of the log."""
    d = run.plan.decision
    facts = [f"{quantity(run.plan.capture.rows, 'row')} in", f"{quantity(run.written.rows, 'row')} stored"]
    if _rewritten(run):
        facts.append(f"written again with {quantity(_rewritten(run), 'row')} of earlier runs")
    if run.written.late:
        kept = f", kept in {run.plan.target.model}__late" if run.written.missed is not None else ""
        facts.append(f"{quantity(run.written.late, 'row')} came after the window was over{kept}")
    if d.rebuilds:
        facts += dict.fromkeys(str(core.core.kept) for core in run.plan.model.cores if core.core.kept)
    if run.plan.expiry.offset is None and run.plan.config.expiration is not None:
        facts.append(run.plan.expiry.why)
    if d.expiration is not None and run.plan.leaves_out:
        beyond = run.written.beyond_expiration
        dropped = f", {quantity(beyond, 'update')} after that not stored" if beyond else ""
        facts.append(f"expires {format_instant(d.expiration)}{dropped}")
    if run.gave_way:
        facts.append("the table of that name is dropped")
    return facts


def warnings(run: Writer) -> list[str]:
    """Warnings of broken promises of inputs, idle configs, costly stores and reads, unlikely windows, expiration."""
    model = run.plan.target.model
    broken = [
        f"temporal_view {model}: not as change_capture: append promises, {what}. So all of it was read; where that is "
        "no exception, a longer lookback or change_capture: auto"
        for what in run.plan.capture.broken
    ]
    whole, idle = full_stores.warning(run.plan, run.prepared, run.written), _idle(run)
    others = (full_reads.warning(run.plan), _has_expired(run), _expires_soon(run), _runs_too_seldom(run))
    return [*broken, *filter(None, [idle, whole]), *unlikely_windows.warnings(run), *filter(None, others)]


def _runs_too_seldom(run: Writer) -> str:
    """The warning where the model can expire before a restart that is as late as the latest so far; "" for none."""
    offset, restart, delay = run.plan.expiry.offset, run.plan.config.restart_every, run.plan.max_restart_delay
    if offset is None or restart is None or offset > restart + delay:
        return ""
    every, late, both = (format_duration(ms) for ms in (restart, delay, restart + delay))
    return (
        f"temporal_view {run.plan.target.model} can expire before it is restarted: restart_every {every} + {late}, as "
        f"late as a restart came so far, = {both}, and its expiration is {format_duration(offset)} after one. A longer "
        "expiration, or runs more often"
    )


def _idle(run: Writer) -> str:
    """The warning of configs that do nothing, when the model is built; "" for none."""
    idle = run.plan.idle if run.plan.decision.rebuilds else ""
    return f"temporal_view {run.plan.target.model}: {idle}" if idle else ""


def _has_expired(run: Writer) -> str:
    """The warning where the model expired while its run was under way; "" for none."""
    d, took = run.plan.decision, _since(run.plan.started)
    if d.expiration is None or run.plan.invocation.pinned or d.as_of + took < d.expiration:
        return ""
    return (
        f"temporal_view {run.plan.target.model} expired at {format_instant(d.expiration)}, while its run took "
        f"{format_duration(took)}: reads of it raise now. A longer expiration, then dbt run --full-refresh "
        f"-s {run.plan.target.model}"
    )


def _expires_soon(run: Writer) -> str:
    d = run.plan.decision
    if d.expiration is None or d.rebuilds or 5 * (d.expiration - d.as_of) >= d.expiration - run.plan.started_at:
        return ""
    return (
        f"temporal_view {run.plan.target.model} expires at {format_instant(d.expiration)}, in "
        f"{format_duration(d.expiration - d.as_of)}: reads after that raise. To renew it: a restart_every that is due "
        f"earlier, or dbt run --full-refresh -s {run.plan.target.model}"
    )


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
