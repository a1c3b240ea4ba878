"""The verdict of the report, and the last run, from states and logs without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.looking import run_log, status, verdict
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from support.instants import DAY, T0

NOW = T0 + 10 * DAY


def seen(name: str, error: str = "", ran: int | None = 5 * 60_000, **given: Any) -> status.Condition:
    """A model at NOW that was built at T0. ran: how long ago by the log (ms). given: fields of the state, a config."""
    target = ModelRelations("`s`", name)
    facts = {"model": name, "schema": "s", "state": status.UNREADABLE if error else status.NOT_RUN}
    if error or given.pop("never", False):
        return status.Condition(target, facts)
    config = TemporalConfig.parse(name, {"restart_every": given.pop("restart_every", None)})
    fields: dict[str, Any] = {"expiration": None, "frontier": T0, **given}
    state = State(
        name, "`s`", "1", T0, started_at=T0, offset=None, core_hash="", residual="", columns=(), cores=(), written="",
        kinds=(), inputs={}, settings={}, **fields,
    )  # fmt: skip
    runs = [] if ran is None else [{"action": "unchanged", "reason": "no input changed", "ran_at": NOW - ran}]
    found = status.Condition(target, facts, state, config, runs=runs)
    found.facts.update(status.facts_of(found, NOW))
    return found


FAR = {"expiration": T0 + 40 * DAY}
#: models -> the verdict, and what is to do in its order
VERDICTS = {
    "fine": (
        [seen("b"), seen("a", **FAR)],
        "2 of 2 answer, nearest expiration in 30 days, last run 5 min ago, nothing to do",
        [],
    ),
    "for ever": ([seen("a")], "1 of 1 answers, none expires, last run 5 min ago, nothing to do", []),
    "never run": ([seen("a", never=True)], "0 of 1 answers, 1 thing to do", [("a", "dbt run -s a")]),
    "urgent first": (
        [seen("new", never=True), seen("late", expiration=NOW - 1), seen("bad", error="gone"), seen("fine", **FAR)],
        "1 of 4 answer, nearest expiration in 30 days, last run 5 min ago, 3 things to do",
        [("bad", ""), ("late", "dbt run -s late"), ("new", "dbt run -s new")],
    ),
    "near": (
        [seen("soon", expiration=NOW + 2 * DAY)],
        "1 of 1 answers, nearest expiration in 2 days, last run 5 min ago, 1 thing to do",
        [("soon", "dbt run --full-refresh -s soon")],
    ),
    "before the last fifth": (
        [seen("a", expiration=NOW + 10 * DAY // 4)],
        "1 of 1 answers, nearest expiration in 2 days, last run 5 min ago, nothing to do",
        [],
    ),
    "a restart comes before": (
        [seen("a", expiration=NOW + 2 * DAY, restart_every="11 days")],
        "1 of 1 answers, nearest expiration in 2 days, last run 5 min ago, nothing to do",
        [],
    ),
    "a restart is due": (
        [seen("a", expiration=NOW + 2 * DAY, restart_every="9 days"), seen("b", expiration=NOW + DAY, restart=True)],
        "2 of 2 answer, nearest expiration in 24 h, last run 5 min ago, 2 things to do",
        [("b", "dbt run -s b"), ("a", "dbt run -s a")],
    ),
    "one that nobody runs": (
        [seen("a"), seen("old", ran=None)],
        "2 of 2 answer, none expires, last run 5 min ago, old last ran 10 days ago, nothing to do",
        [],
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    models, text, to_do = VERDICTS[name]
    found = verdict.of(models)
    assert found.text == text
    assert [(one.model, one.command) for one in found.to_do] == to_do


#: last lines of the log, the frontier -> the last run (ms), and what the run did
LAST = {
    "none": ([], T0, T0, None),
    "a quiet run": ([("s.m", T0 + 5, "unchanged")], T0, T0 + 5, "unchanged: no input changed"),
    "a commit of another folder": ([("s.m", T0 + 5, "unchanged")], T0 + 9, T0 + 9, None),
    "the last of two": ([("s.m", T0 + 5, "a"), ("s.m", T0 + 6, "b")], T0, T0 + 6, "b: no input changed"),
    "another model": ([("s.m", T0 + 5, "a"), ("t.m", T0 + 6, "b")], T0, T0 + 5, "a: no input changed"),
}


@pytest.mark.parametrize("name", LAST)
def test_the_last_run(name: str, tmp_path: Path) -> None:
    lines, frontier, at, did = LAST[name]
    for model, ran_at, action in lines:
        schema, _, alias = model.partition(".")
        response = {"action": action, "reason": "no input changed", "as_of": 0}
        run_log.append(tmp_path, ModelRelations(f"`{schema}`", alias), "id", ran_at, response)
    with (tmp_path / run_log.FILE).open("a") as out:
        out.write('{"model": "s.m", "ran')  # a process that was killed
    logged = run_log.runs(tmp_path, 1)
    facts = seen("m", ran=None, frontier=frontier).facts
    assert (facts["seconds_since_last_run"], facts["last_run_did"]) == ((NOW - frontier) / 1000, None)
    found = status.last_run(logged.get("s.m", ()), frontier, NOW)
    assert found["seconds_since_last_run"] == (NOW - at) / 1000 and found["last_run_did"] == did
    assert all(len(runs) == 1 for runs in logged.values())


def test_a_line_without_the_instant_of_its_run(tmp_path: Path) -> None:
    (tmp_path / run_log.FILE).write_text(json.dumps({"model": "s.m", "as_of": T0}))
    assert run_log.ran_at(run_log.runs(tmp_path, 1)["s.m"][0]) == T0
