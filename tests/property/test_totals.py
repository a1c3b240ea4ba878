"""Aggregates at many instants, over random histories and random aggregates: those of a read at each instant."""

from __future__ import annotations

import random

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.over_time.temporal_at import at
from support.histories import small_limits
from support.instants import STEP
from support.output_models import KINDS, configs, play
from support.project import Project
from support.seeds import a_seed


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    for _ in play(project, configs(rng, names, refreshed=0.2), rng, histories, runs):
        pass
    for name in names:
        for _ in range(rounds):
            compare(project, name, rng)


def compare(project: Project, name: str, rng: random.Random) -> None:
    state = project.state(name)
    last = state.answers_until or state.frontier + 20 * STEP
    number, first = rng.choice([1, 2, 5, 12]), rng.choice([state.since, state.frontier, state.frontier - 1])
    first = max(first, state.since)
    step = rng.choice([1, 700, STEP])
    instants = [first + i * step for i in range(number)]
    if rng.random() < 0.5:  # at odd distances, or on a grid with holes, some twice
        grid = rng.choice([1, 700, STEP])
        instants += [first + grid * rng.randrange(max(1, (last - first) // grid)) for _ in range(number)] + instants[:1]
    instants = [t for t in instants if t <= last]
    project.sql("CREATE OR REPLACE TEMPORARY VIEW mz_test_instants AS SELECT explode(array("
                f"{', '.join(f'{t}L' for t in instants)}, NULL)) AS at")  # fmt: skip
    keys = rng.sample([n for n, _ in state.columns], rng.choice([0, 1, min(2, len(state.columns))]))
    aggregates = {f"a{i}": aggregate(rng, list(state.columns)) for i in range(rng.choice([1, 2, 4]))}
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name)
    query = at(warehouse, target, "mz_test_instants", "at", aggregates, keys or None)
    by = "".join(f", `{key}`" for key in keys)
    listed = "".join(f", {sql} AS {n}" for n, sql in aggregates.items())
    reads = [
        f"SELECT {t}L AS at{by}{listed} FROM {as_of(warehouse, target, t)}" + (f" GROUP BY {by[2:]}" if keys else "")
        for t in sorted(set(instants))
    ]
    columns = ", ".join(["at", *(f"`{key}`" for key in keys), *aggregates])
    sides = (
        f"SELECT {columns}, 1 AS mz_x FROM {query} UNION ALL SELECT {columns}, -1 FROM ({' UNION ALL '.join(reads)})"
    )
    wrong = project.rows(f"SELECT {columns}, sum(mz_x) FROM ({sides}) GROUP BY {columns} HAVING sum(mz_x) <> 0")
    assert not wrong, (name, keys, aggregates, instants, wrong[:10])


def aggregate(rng: random.Random, columns: list[tuple[str, str]]) -> str:
    name, kind = rng.choice(columns)
    chosen = [
        "count(*)",
        f"count(`{name}`)",
        f"count(*) filter (where `{name}` is null)",
        f"count_if(`{name}` is not null)",
    ]
    if kind in ("int", "bigint") or kind.startswith("decimal"):
        chosen += [f"sum(`{name}`)", f"sum(`{name}` * 2) + count(*)", f"avg(`{name}`)", f"max(`{name}`)"]
    if "map<" not in kind and not kind.startswith("array"):
        chosen += [f"min(`{name}`)", f"count(distinct `{name}`)"]
    return rng.choice(chosen)


@pytest.mark.landing
@pytest.mark.parametrize("kind", KINDS)
def test_totals(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    seed = a_seed()
    drive(project, random.Random(seed).sample(list(KINDS[kind]), 3), 8, 2, seed, 3)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_totals_of_all(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    drive(project, list(KINDS[kind]), 12, 2, a_seed(), 8)
