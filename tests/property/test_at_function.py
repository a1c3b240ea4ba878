"""The SQL function of any instant, over random histories: at each instant it is `temporal_as_of`."""

from __future__ import annotations

import random

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from support.histories import small_limits
from support.instants import STEP
from support.output_models import KINDS, configs, play
from support.project import Project
from support.seeds import a_seed


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int) -> None:
    rng = random.Random(seed)
    models = {name: {"at_function": True, **config} for name, config in configs(rng, names, refreshed=0.2).items()}
    for _ in play(project, models, rng, histories, runs):
        for name in names:
            compare(project, name, rng)


def compare(project: Project, name: str, rng: random.Random) -> None:
    state = project.state(name)
    last = state.answers_until or state.frontier + 40 * STEP
    instants = {state.since, state.frontier, last, rng.randrange(state.since, last + 1)}
    instants |= {t for t in (state.frontier - 1, state.frontier + 1) if state.since <= t <= last}
    columns = ", ".join(f"`{c}`" for c, _ in state.columns)
    # Spark fails where one query has the function of a HAVING and reads the same tables by name, so the two sides are
    # read one after the other
    arms = (f"SELECT {t} AS mz_t, {columns} FROM {name}__at(timestamp_millis({t}L))" for t in instants)
    there = " UNION ALL ".join(arms)
    with project.inside():
        project.spark.sql(there).localCheckpoint().createOrReplaceTempView("mz_test_function")
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name)
    oracle = " UNION ALL ".join(f"SELECT {t} AS mz_t, {columns} FROM {as_of(warehouse, target, t)}" for t in instants)
    both = f"SELECT *, 1 AS mz_x FROM mz_test_function UNION ALL SELECT *, -1 FROM ({oracle})"
    wrong = project.rows(f"SELECT mz_t, {columns} FROM ({both}) GROUP BY mz_t, {columns} HAVING sum(mz_x) <> 0")
    assert not wrong, (name, wrong[:10])


@pytest.mark.landing
@pytest.mark.parametrize("kind", KINDS)
def test_function(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    seed = a_seed()
    drive(project, random.Random(seed).sample(list(KINDS[kind]), 3), 6, 2, seed)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_function_of_all(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    drive(project, list(KINDS[kind]), 8, 3, a_seed())
