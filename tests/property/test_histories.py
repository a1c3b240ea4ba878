"""Random histories of inputs through ten dbt runs, the view against the oracle after each.

The oracle is the model's text with the instant put in by `str.format`, run by Spark over the inputs as they are.
Histories stand side by side in one table, keyed by `h`, so that ten runs drive them all.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from support.histories import (
    RUNS,
    boundaries,
    change,
    event,
    fill,
    load_dim,
    load_events,
    mismatches,
    small_limits,
    write_table,
)
from support.instants import STEP, T0
from support.project import Project
from support.seeds import a_seed

#: model -> (SQL with {e} events, {d} dim and {now} / {ms} for the clock, configs)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "validity": ("select h, k, v from {e} where {now} >= lo and {now} < hi", {}),
    "sliding_ms": ("select h, id from {e} where {ms} between lo_ms and lo_ms + 15000 and v <> 3", {}),
    "fractions": ("select h, k from {e} where {ms} > lo_dec and hi_dec >= {ms}", {"expiration": "60 seconds"}),
    "micros": ("select h, id, lo_us from {e} where lo_us < {now} and {now} <= lo_us + interval 12 seconds", {}),
    "joined": (
        "select e.h, e.id, d.name from {e} e join {d} d on e.k = d.k and {now} < d.until where e.lo <= {now}",
        {"expiration": "2 minutes"},
    ),
    "counted": (
        "select h, k, count(*) as n, sum(v) as total, min(lo) as first, avg(price) as mean from {e} "
        "where {now} >= lo and {now} < hi group by h, k",
        {"aggregates": "groups"},
    ),
    "summed": (
        "with live as (select * from {e} where {now} >= lo and {now} < hi) select h, k, count(*) as n, count(v) as c, "
        "sum(v) as total, avg(id) as mean, bool_or(v > 1) as big from live group by h, k",
        {"aggregates": "groups", "expiration": "100 seconds"},
    ),
    "latest": (
        "with live as (select h, id, lo, v from {e} where {now} >= lo and {now} < hi), ranked as (select *, "
        "row_number() over (partition by h order by lo desc, id desc, v desc nulls last) as place from live) "
        "select r.h, r.id, d.name from ranked r left join (select k, max(name) as name from {d} group by k) d "
        "on d.k = concat('k', r.v) where place <= 2",
        {},
    ),
    "unless": (
        "select h, id, k from {e} where {now} >= lo and (hi is null or {now} < hi) or not ({ms} < hi_dec or v > 1)",
        {"expiration": "90 seconds"},
    ),
}
DEEP_MODELS = {
    "minutes": ("select h, id from {e} where date_trunc('MINUTE', {now}) = date_trunc('MINUTE', lo)", {}),
    "two_cores": (
        "select h, k from {e} where {now} < hi union all select h, k from {e} where {ms} = lo_ms or {now} >= hi",
        {"expiration": "1 minute"},
    ),
    "in_or_out": (
        "select h, id, v, case when {now} < hi then 'in' else 'out' end as place from {e} where {now} >= lo",
        {},
    ),
    "dates": ("select h, id from {e} where {now} >= day and {now} < date_add(day, 1)", {}),
    "equal": ("select h, id from {e} where {ms} = lo_ms", {}),
    "distinct_k": (
        "select distinct h, k from {e} where {now} < hi",
        {"expiration": "1 minute", "aggregates": "groups"},
    ),
    "distinct_rows": ("select distinct h, v from {e} where {now} < hi", {"aggregates": "rows"}),
    "no_lower": ("select h, v from {e} where not (hi <= {now}) and k is not null", {"restart_every": "45 seconds"}),
}


def check_model(project: Project, name: str, sql: str, rng: random.Random, changes: list[int], instants: int) -> None:
    """The view against the oracle at some of: the frontier, a random instant, changes and 1 ms before, the last."""
    state = project.state(name)
    t, last = state.frontier, state.expiration
    candidates = [t, t + rng.randrange(STEP), *(b + d for b in changes for d in (-1, 0)), *([last] if last else [])]
    candidates = sorted({c for c in candidates if c >= t and (last is None or c <= last)})
    chosen = rng.sample(candidates, min(instants, len(candidates)))
    found = mismatches(project, name, lambda at: fill(project, sql, f"timestamp_millis({at}L)", f"{at}L"), chosen)
    assert found == [], (name, state.frontier, found[:10])


def drive(
    project: Project, histories: int, models: dict[str, tuple[str, dict]], seed: int, instants: int, runs: int = RUNS
) -> None:
    rng = random.Random(seed)
    for name, (sql, config) in models.items():
        project.model(name, fill(project, sql, "mz_now()", "mz_now()"), **config)
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    for run in range(runs):
        load_events(project, [r for h in rows.values() for r in h])
        if run % 3 == 0:
            load_dim(project, rng)
        project.run("--threads", "2", now=T0 + run * STEP)
        changes = boundaries(project, models, rng, instants)
        for name, (sql, _) in models.items():
            check_model(project, name, sql, rng, changes[name], instants)
        rows = {h: change(rng, list_, h) for h, list_ in rows.items()}


@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 5])
def test_two_hundred_histories(project: Project, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    """Some of the models, other ones each time."""
    small_limits(monkeypatch)
    seed, every = a_seed(), {**MODELS, **DEEP_MODELS}
    chosen = ["summed", random.Random(seed).choice(sorted(set(every) - {"summed"}))]
    drive(project, 200, {name: every[name] for name in chosen}, seed, instants=2, runs=runs)


@pytest.mark.deep
def test_two_thousand_histories(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    drive(project, 2000, {**MODELS, **DEEP_MODELS}, a_seed(), instants=8)


# ---- five histories of their own shape ------------------------------------------------------------------------------

WINDOW = "select shape, id, v from {s}.shapes where {now} >= lo and {now} < hi"


def _at(seconds: float) -> int:
    return T0 + int(seconds * 1000)


def flapping(run: int) -> list[tuple]:
    """Everything is there in even runs, nothing in odd ones."""
    return [(i, i % 2, _at(i), _at(100 + i)) for i in range(5)] if run % 2 == 0 else []


def copies(run: int) -> list[tuple]:
    """The same row, as many times as runs are left."""
    return [(1, 1, _at(0), _at(95))] * (RUNS - run) + [(2, None, _at(5), _at(45))] * run


def moving(run: int) -> list[tuple]:
    """One row whose window is put off, drawn in and opened again."""
    hi = [50, 20, 70, 10, 90, 35, 200, 60, 61, 300][run]
    return [(1, 1, _at(10), _at(hi)), (2, 2, _at(hi), _at(hi + 5))]


def late(run: int) -> list[tuple]:
    """Rows come in when their window is over, or about to be."""
    return [(i, run, _at(i * 10 - 30), _at(i * 10 + d)) for i in range(run + 1) for d in (-1, 0, 0.001, 5)]


def renewed(run: int) -> list[tuple]:
    """Every row is another in every run, but for one that stays."""
    return [(100 * run + i, i, _at(-5), _at(run * 10 + i)) for i in range(20)] + [(0, 0, _at(-5), None)]


SHAPES = (flapping, copies, moving, late, renewed)


@pytest.mark.landing
@pytest.mark.own_catalog
def test_five_shapes(project: Project) -> None:
    shapes(project, 4)


@pytest.mark.deep
def test_five_shapes_for_long(project: Project) -> None:
    shapes(project, RUNS)


def shapes(project: Project, runs: int) -> None:
    """Side by side in one table, told apart by a column."""
    rng = random.Random(7)
    project.model("m", WINDOW.format(s=project.schema, now="mz_now()"), retain_history="25 seconds")
    for run in range(runs):
        rows = [(shape.__name__, *row) for shape in SHAPES for row in shape(run)]
        frame = project.spark.createDataFrame(rows, "shape string, id int, v int, lo long, hi long")
        frame.createOrReplaceTempView("mz_test_shapes")
        query = "SELECT shape, id, v, timestamp_millis(lo) AS lo, timestamp_millis(hi) AS hi FROM mz_test_shapes"
        write_table(project, "shapes", query)
        project.run(now=T0 + run * STEP)
        changes = boundaries(project, ["m"], rng, 8)
        check_model(project, "m", WINDOW.replace("{s}", project.schema), rng, changes["m"], 4)
