"""`temporal_report`: one HTML page about every temporal_view, which needs no other file and no network.

The facts are those of `temporal_status`; beside them stand the chains, what is due, the forecast, how the last run read
each input, and the runs that the target folder knows of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..config import TemporalConfig
from ..engine.committed import read_state
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..over_time import forecast
from ..temporal.clock.instants import format_duration, format_instant
from ..temporal.diffs import readable_updates
from ..temporal.diffs.state import State
from ..temporal.sql.spark.errors import SparkError
from . import report_charts, run_log
from .status import UNREADABLE, size_of, updates_of

HOUR = 3_600_000
#: of each model
_RUNS = 12


def of_model(
    warehouse: Warehouse,
    target: ModelRelations,
    facts: dict[str, Any],
    config: Mapping[str, Any],
    clock: int,
    hours: int,
    folder: Path,
) -> dict[str, Any]:
    """The content of a page about a model. facts: its status. clock: ms. folder: dbt's target, with the log of runs."""
    found: dict[str, Any] = {"facts": facts, "name": target.model, "notes": [], "runs": []}
    state = None if facts["state"] == UNREADABLE else read_state(warehouse, target)
    if state is None:
        return found
    found["runs"] = run_log.runs(folder, run_log_name(target), _RUNS)
    found["timeline"] = _timeline(state, facts, TemporalConfig.parse(target.model, config), clock)
    found["chains"] = [
        {
            "core": core.name,
            "table": c.table,
            "rows": c.rows,
            "updates": updates_of(c),
            "bytes": size_of(warehouse, [target.table(c.table)]),
        }
        for core in state.cores
        for c in core.chains
    ]
    found["inputs"] = [
        {"name": name, "tracking": seen.tracking.value, "state": str(seen)} for name, seen in state.inputs.items()
    ]
    found["kept"] = [(core.name, "rows" if core.sums is None else "groups", str(core.kept)) for core in state.cores]
    if state.answers_until is not None and state.answers_until < clock:
        found["notes"].append("The model has expired: every read raises until the next run.")
        return found
    since = max(clock, state.frontier)
    # a query that fails is shown, and the rest of the page is there
    try:
        found["due"] = _due(warehouse, state, since, hours)
        found["forecast"] = _forecast(warehouse, target, state, since, hours)
    except (TemporalError, SparkError) as error:
        found["notes"].append(f"No forecast: {_first(error)}")
    return found


def run_log_name(target: ModelRelations) -> str:
    """How the runs of a model are named in the log of the target folder."""
    return f"{target.schema.replace('`', '')}.{target.model}"


def page(models: Sequence[Mapping[str, Any]], project: str, clock: int, hours: int) -> str:
    """The page. models: of each what `of_model` found."""
    loader = FileSystemLoader(Path(__file__).parent)
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters |= {"duration": lambda s: format_duration(int(s * 1000)), "bytes": _bytes, "instant": format_instant}
    return jinja.get_template("report.html.j2").render(
        models=models, project=project, clock=format_instant(clock), hours=hours, charts=report_charts
    )


def _timeline(state: State, facts: Mapping[str, Any], config: TemporalConfig, clock: int) -> report_charts.Timeline:
    instants = {"started": (state.started_at, facts["started"]), "frontier": (state.frontier, facts["frontier"])}
    instants["now"] = (clock, format_instant(clock))
    if state.since not in (state.started_at, state.frontier):
        instants["since"] = (state.since, facts["since"])
    due = config.restarts.due(state.started_at)
    if due is not None:
        instants["restart due"] = (due, format_instant(due))
    if state.answers_until is not None:
        instants["expiration"] = (state.answers_until, format_instant(state.answers_until))
    return report_charts.timeline(instants, clock, (state.since, state.frontier), state.answers_until)


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
    texts = [f"from {format_instant(clock + at * HOUR)}" for at in range(hours)]
    return report_charts.bars([found.get(at, (0, 0)) for at in range(hours)], texts)


def _forecast(
    warehouse: Warehouse, target: ModelRelations, state: State, clock: int, hours: int
) -> report_charts.Chart:
    """The rows of the view in each of the next hours, if no input changes."""
    until = min(clock + hours * HOUR, state.answers_until if state.answers_until is not None else clock + hours * HOUR)
    asked = forecast.forecast(warehouse, target, "1 hour", format_instant(until)[:-4], "count(*)", clock)
    rows = sorted((int(at), float(value or 0)) for at, _, value in warehouse.rows(f"SELECT * FROM {asked}"))
    texts = [format_instant(at) for at, _ in rows]
    return report_charts.curve([((at - clock) / HOUR, value) for at, value in rows], hours, texts)


def _first(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return " ".join(lines[:2])


def _bytes(number: int | None) -> str:
    """Bytes for people.

    >>> _bytes(None), _bytes(900), _bytes(1_500_000)
    ('', '900 B', '1.5 MB')
    """
    if number is None:
        return ""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} B"
