"""The SQL function of any instant, over random histories: at each instant it is `temporal_as_of`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse
from dbt.adapters.sparktemporal.operations.reads import as_of
from support.histories import change, event, fill, fresh_seed, load_dim, load_events, small_limits
from support.instants import STEP, T0
from support.output_models import EVERY, KINDS
from support.project import Project


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int) -> None:
    rng = random.Random(seed)
    for name in names:
        config: dict[str, Any] = {"at_function": True} | ({"retain_history": "1 day"} if rng.random() < 0.5 else {})
        config |= {"expiration": rng.choice(["70 seconds", "2 minutes"])} if rng.random() < 0.3 else {}
        config |= {"aggregates": "groups"} if rng.random() < 0.8 else {}
        config |= {"refresh_every": "7 seconds"} if rng.random() < 0.2 else {}
        project.model(name, fill(project, EVERY[name], "mz_now()", "mz_now()"), **config)
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    for run in range(runs):
        load_events(project, [r for h in rows.values() for r in h])
        load_dim(project, rng)
        project.run("--threads", "2", now=T0 + run * STEP + rng.choice([0, 1, 777]))
        for name in names:
            compare(project, name, rng)
        rows = {h: change(rng, list_, h) if rng.random() < 0.8 else list_ for h, list_ in rows.items()}


def compare(project: Project, name: str, rng: random.Random) -> None:
    state = project.state(name)
    last = state.answers_until or state.frontier + 40 * STEP
    instants = {state.since, state.frontier, last, rng.randrange(state.since, last + 1)}
    instants |= {t for t in (state.frontier - 1, state.frontier + 1) if state.since <= t <= last}
    columns = ", ".join(f"`{c}`" for c, _ in state.columns)
    sides = []
    for t in instants:
        there = f"{name}__at(timestamp_millis({t}L))"
        oracle = as_of(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name), t)
        sides += [f"SELECT {t} AS mz_t, {columns}, {n} AS mz_x FROM {rows}" for n, rows in ((1, there), (-1, oracle))]
    both = "\nUNION ALL ".join(sides)
    project.sql("USE {s}")  # Spark takes no schema before a table function
    wrong = project.rows(f"SELECT mz_t, {columns} FROM ({both}) GROUP BY mz_t, {columns} HAVING sum(mz_x) <> 0")
    project.sql("USE default")
    assert not wrong, (name, wrong[:10])


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_function(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    seed = fresh_seed()
    drive(project, random.Random(seed).sample(list(KINDS[kind]), 3), 6, 2, seed)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_function_of_all(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    drive(project, list(KINDS[kind]), 8, 3, fresh_seed())
