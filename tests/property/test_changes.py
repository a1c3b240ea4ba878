"""The changes of the output of random histories: added up they are the view, and none cancels another."""

from __future__ import annotations

import random

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.changes import Request, changes
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.over_time.sequenced.histories import Range
from dbt.adapters.sparktemporal.over_time.sequenced.output import Output
from support.histories import small_limits
from support.instants import STEP
from support.output_models import CLOCK, KINDS, ROW_BY_ROW, configs, play
from support.project import Project
from support.seeds import a_seed

#: models that are read row by row where groups are kept
GROUPED = ("grouped", "having", "total", "once", "all_of_some", "by_map", "unnamed")
#: models that are read at each instant by itself
ALONE = ("pivoted", "anti_star", "side_star", "share", "scalar_on", "having_in")
REFRESHED = ("windowed", "grouped", "total", "placed")


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    refreshed = [name for name in names if name in REFRESHED]
    models = configs(rng, names, refreshed=0) | configs(rng, refreshed, refreshed=0.5)
    for run in play(project, models, rng, histories, runs):
        if run in (0, runs - 1):
            for name in names:
                for _ in range(rounds):
                    compare(project, name, rng)


def _kind(name: str) -> str:
    return "clock" if name in CLOCK else "alone" if name in ALONE else ""


def compare(project: Project, name: str, rng: random.Random) -> None:
    """The changes between two random instants, added up, against the view: at and around the instants of changes."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name)
    state = project.state(name)
    last = state.expiration or state.frontier + 40 * STEP
    start = rng.choice([state.since, state.frontier, rng.randrange(state.since, last)])
    up_to = rng.choice([state.frontier + 1, last + 1, rng.randrange(start, last + 1) + 1])
    up_to = max(start, min(up_to, start + {"clock": 2500, "alone": 300}.get(_kind(name), up_to)))
    snapshot = rng.random() < 0.7
    over = Output(state, Range(start, up_to - 1))
    groups = any(core.sums is not None for core in state.cores)
    assert over.is_row_by_row == (name in ROW_BY_ROW and (groups or name not in GROUPED)), name
    assert over.is_sequenced == (name not in ALONE), name
    assert over.reads_clock == (name in CLOCK), name
    sql = changes(warehouse, target, Request(start, up_to, snapshot, max_changes=20_000))
    project.spark.sql(f"SELECT * FROM {sql}").localCheckpoint().createOrReplaceTempView("mz_test_changes")
    columns = ", ".join(f"`{c}`" for c, _ in state.columns)
    twice = project.rows(f"SELECT mz_timestamp, {columns} FROM mz_test_changes GROUP BY ALL HAVING count(*) > 1")
    wrong = project.rows(
        f"SELECT * FROM mz_test_changes WHERE mz_diff = 0 OR mz_timestamp < {start} OR mz_timestamp >= {up_to} "
        f"OR mz_definite <> (mz_timestamp <= {state.frontier}) OR ({not snapshot} AND mz_timestamp = {start})"
    )
    assert not twice and not wrong, (name, start, up_to, twice[:5], wrong[:5])
    if start == up_to:
        return
    times = [r[0] for r in project.rows("SELECT DISTINCT mz_timestamp FROM mz_test_changes")]
    chosen = {start, up_to - 1, *(t + d for t in rng.sample(times, min(5, len(times))) for d in (-1, 0, 1))}
    chosen |= {rng.randrange(start, up_to) for _ in range(3)}
    instants = sorted(t for t in chosen if start <= t < up_to)
    listed = ", ".join(map(str, instants))
    sides = [
        f"SELECT mz_t, {columns}, mz_diff AS mz_x FROM mz_test_changes "
        f"JOIN (SELECT explode(array({listed})) AS mz_t) ON mz_timestamp <= mz_t"
    ]
    sides += [f"SELECT {t} AS mz_t, {columns}, -1 AS mz_x FROM {as_of(warehouse, target, t)}" for t in instants]
    if not snapshot:
        before = as_of(warehouse, target, start)
        sides.append(f"SELECT mz_t, {columns}, 1 AS mz_x FROM {before} JOIN (SELECT explode(array({listed})) AS mz_t)")
    both = "\nUNION ALL ".join(sides)
    found = project.rows(
        f"SELECT mz_t, sum(mz_x), {columns} FROM ({both}) GROUP BY mz_t, {columns} HAVING sum(mz_x) <> 0"
    )
    assert not found, (name, start, up_to, snapshot, state.frontier, found[:10])


@pytest.mark.landing
@pytest.mark.metastore
@pytest.mark.parametrize("kind", KINDS)
def test_changes(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    seed = a_seed()
    drive(project, random.Random(seed).sample(list(KINDS[kind]), 3), 8, 3, seed, 1)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_all(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    drive(project, list(KINDS[kind]), 12, 4, a_seed(), 3)
