"""`temporal_report`: one HTML page about every temporal_view, which needs no other file and no network.

The facts are those of `temporal_status`; beside them stand the chains, what is due, the forecast, how the last run read
each input, and the runs that the target folder knows of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..config import TemporalConfig
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..over_time import forecast
from ..plurals import size
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import readable_updates
from ..temporal.diffs.state import State
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.text.dialect import quote
from . import report_charts, run_log, verdict
from .status import UNREADABLE, Condition, updates_of
from .times import ago, to_second

HOUR = 3_600_000
#: the most runs of each model
RUNS = 12
#: an instant (ms) within a text, from 1973 to 2286
_MS = re.compile(r"(?<![\w.])(\d{12,13})L?(?![\w.])")


def page(warehouse: Warehouse, every: Sequence[Condition], project: str, clock: int, hours: int) -> str:
    """The page about some models. clock: ms. hours: how far charts look ahead."""
    loader = FileSystemLoader(Path(__file__).parent)
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters |= {"bytes": _bytes, "instant": _instant, "exact": format_instant, "ago": ago}
    jinja.filters |= {"to_second": to_second, "with_instants": _with_instants, "ran_at": run_log.ran_at}
    return jinja.get_template("report.html.j2").render(
        models=[_of_model(warehouse, seen, clock, hours) for seen in verdict.by_urgency(every)],
        verdict=verdict.of(every) if every else None,
        project=project,
        clock=clock,
        hours=hours,
        charts=report_charts,
    )


def _of_model(warehouse: Warehouse, seen: Condition, clock: int, hours: int) -> dict[str, Any]:
    """The content of the page about a model."""
    state, config = seen.state, seen.config
    found: dict[str, Any] = {"facts": seen.facts, "name": seen.target.model, "notes": [], "runs": seen.runs}
    found["is_urgent"] = verdict.urgency(seen) is not verdict.Urgency.FINE
    if state is None or config is None or seen.facts["state"] == UNREADABLE:
        return found
    found["timeline"] = _timeline(state, config, clock)
    found["chains"] = [
        {"core": core.name, "table": c.table, "rows": c.rows, "updates": updates_of(c), "bytes": held}
        for core in state.cores
        for c in core.chains
        for held in (seen.sizes.get(f"{state.schema}.{quote(c.table)}"),)
    ]
    found["inputs"] = [
        {"name": name, "tracking": one.tracking.value, "state": str(one)} for name, one in state.inputs.items()
    ]
    found["kept"] = [(core.name, "rows" if core.sums is None else "groups", str(core.kept)) for core in state.cores]
    if state.answers_until is not None and state.answers_until < clock:
        found["notes"].append("The model has expired: every read raises until the next run.")
        return found
    since = max(clock, state.frontier)
    # a query that fails is shown, and the rest of the page is there
    try:
        found["due"] = _due(warehouse, state, since, hours)
        found["forecast"] = _forecast(warehouse, state, since, hours)
    except (TemporalError, SparkError) as error:
        found["notes"].append(f"No forecast: {_first(error)}")
    return found


def _timeline(state: State, config: TemporalConfig, clock: int) -> report_charts.Timeline:
    instants = {"started": state.started_at, "frontier": state.frontier}
    instants["now"] = clock
    if state.since not in (state.started_at, state.frontier):
        instants["since"] = state.since
    due = config.restarts.due(state.started_at)
    if due is not None:
        instants["restart due"] = due
    if state.expires is not None:
        instants["expiration"] = state.expires
    return report_charts.timeline(instants, clock, (state.since, state.frontier), state.expires)


def _due(warehouse: Warehouse, state: State, clock: int, hours: int) -> report_charts.Chart:
    """The stored rows that enter and leave in each of the next hours."""
    updates = readable_updates.as_updates(state.cores, state.schema)
    hour = f"CAST((mz_timestamp - {clock}L - 1) DIV {HOUR}L AS INT)"
    rows = warehouse.rows(
        f"SELECT mz_hour, sum(greatest(mz_diff, 0L)), sum(-least(mz_diff, 0L))\n"
        f"FROM (SELECT {hour} AS mz_hour, mz_diff FROM (\n{updates}\n) AS mz_updates\n"
        f"  WHERE mz_timestamp > {clock}L AND mz_timestamp <= {clock + hours * HOUR}L) AS mz_due\nGROUP BY mz_hour"
    )
    found = {int(at): (int(came or 0), int(went or 0)) for at, came, went in rows}
    texts = [f"from {_instant(clock + at * HOUR)}" for at in range(hours)]
    return report_charts.bars([found.get(at, (0, 0)) for at in range(hours)], texts)


def _forecast(warehouse: Warehouse, state: State, clock: int, hours: int) -> report_charts.Chart:
    """The rows of the view in each of the next hours, if no input changes."""
    until = min(clock + hours * HOUR, state.answers_until if state.answers_until is not None else clock + hours * HOUR)
    asked = forecast.of_state(warehouse, state, "1 hour", format_instant(until)[:-4], "count(*)", clock)
    rows = sorted((int(at), float(value or 0)) for at, _, value in warehouse.rows(f"SELECT * FROM {asked}"))
    texts = [_instant(at) for at, _ in rows]
    return report_charts.curve([((at - clock) / HOUR, value) for at, value in rows], hours, texts)


def _first(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return " ".join(lines[:2])


def _instant(ms: int) -> str:
    """An instant without milliseconds.

    >>> _instant(1709294400250)
    '2024-03-01 12:00:00 UTC'
    """
    return to_second(format_instant(ms)) or ""


def _with_instants(text: str) -> str:
    """A text with its numbers of milliseconds as instants.

    >>> _with_instants("c0: due >= 1709294400000L, id > 5")
    'c0: due >= [2024-03-01 12:00:00.000 UTC], id > 5'
    """
    return _MS.sub(lambda found: f"[{format_instant(int(found[1]))}]", text)


def _bytes(number: int | None) -> str:
    return "" if number is None else size(number)
