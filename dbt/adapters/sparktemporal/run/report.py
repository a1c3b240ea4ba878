"""What a run says of itself: to the log, to dbt, to run_results.json."""

from __future__ import annotations

import time
from typing import Any

from ..inputs.capture import SAME
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.decision import ADVANCED
from ..words import quantity
from .run import Run


def action(run: Run) -> str:
    """hydrated | advanced | unchanged | restarted | checked."""
    return "unchanged" if run.decision.action == ADVANCED and not run.rows_written else run.decision.action


def reason(run: Run) -> str:
    quiet = run.decision.action == ADVANCED and all(c.way == SAME for c in run.capture.cores.values())
    return "no input changed" if quiet else run.decision.reason


def outcome(run: Run) -> str:
    """What dbt prints behind the model's name."""
    return f"{action(run)}, {quantity(run.rows_written, 'row')}"


def report(run: Run) -> dict[str, Any]:
    """What happened, for run_results.json. Instants and lengths in ms; rows are of inputs and of diffs."""
    d = run.decision
    return {
        "action": action(run),
        "reason": reason(run),
        "as_of": d.as_of,
        "expiration": d.expiration,
        "expiration_reason": run.expiry.why,
        "inputs": run.capture.report(),
        "pushdown": [*(f"{core}: {implied}" for core, implied in run.pruning.implied.items()), *run.pruning.notes],
        "rows_in": run.capture.rows,
        "rows_written": run.rows_written,
        "updates_beyond_expiration": run.beyond_expiration,
        "rows_late": run.late,
        "chains_before": len(run.old.chains) if run.old else 0,
        "chains": len(state.chains) if (state := run.state or run.old) else None,
        "aggregates": [core.core.kept for core in run.model.cores if core.core.kept],
        "milliseconds": _since(run.started),
        "phases": {name: int(seconds * 1000) for name, seconds in run.seconds.items()},
    }


def summary(run: Run) -> list[str]:
    """Lines for the log: what was done, and how each input was read."""
    d, why = run.decision, reason(run)
    what = action(run) + (f" ({why})" if why else "")
    said = [f"{quantity(run.capture.rows, 'row')} in", f"{quantity(run.rows_written, 'diff')} written"]
    if run.late:
        said.append(f"{quantity(run.late, 'row')} came after the window was over")
    if d.rebuilds:
        said += [core.core.kept for core in run.model.cores if core.core.kept]
    if run.expiry.offset is None and run.config.expiration is not None:
        said.append(run.expiry.why)
    if d.expiration is not None:
        dropped = (
            f", {quantity(run.beyond_expiration, 'update')} after that not stored" if run.beyond_expiration else ""
        )
        said.append(f"expires {format_instant(d.expiration)}{dropped}")
    if run.gave_way:
        said.append("the table of that name is dropped")
    first = f"temporal_view {run.target.model}: {what} at {format_instant(d.as_of)}, {', '.join(said)}, "
    lines = [] if d.rebuilds or why else run.capture.report()
    return [f"{first}{_since(run.started) / 1000:.1f} s", *(f"  input {line}" for line in [*lines, *run.pruning.notes])]


def warnings(run: Run) -> list[str]:
    """What people should do something about: costly reads, promises that are not kept, an expiration that is near."""
    model = run.target.model
    broken = [
        f"temporal_view {model}: not as change_capture: append promises, {told}. So all of it was read; where that is "
        "no exception, a longer lookback or change_capture: auto"
        for told in run.capture.broken
    ]
    # once, when it is built: what it says stays so
    costly = [f"temporal_view {model}: {told}" for told in run.model.warnings if run.decision.rebuilds]
    return [*broken, *costly, *filter(None, [_expires_soon(run), _runs_too_seldom(run)])]


def _runs_too_seldom(run: Run) -> str:
    """A restart waits for a run: as late as one came so far, the next may come after the expiration."""
    offset, restart = run.expiry.offset, run.config.restart_every
    if offset is None or restart is None or offset > restart + run.gap:
        return ""
    every, late, both = (format_duration(ms) for ms in (restart, run.gap, restart + run.gap))
    return (
        f"temporal_view {run.target.model} can expire before it is restarted: restart_every {every} + {late}, as late "
        f"as a restart came so far, = {both}, and its expiration is {format_duration(offset)} after one. A longer "
        "expiration, or runs more often"
    )


def _expires_soon(run: Run) -> str:
    d = run.decision
    if d.expiration is None or d.rebuilds or 5 * (d.expiration - d.as_of) >= d.expiration - d.started_at:
        return ""
    return (
        f"temporal_view {run.target.model} expires at {format_instant(d.expiration)}, in "
        f"{format_duration(d.expiration - d.as_of)}: reads after that raise. To renew it: a restart_every that is due "
        f"earlier, or dbt run --full-refresh -s {run.target.model}"
    )


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
