"""Random histories of inputs through ten dbt runs, the view against the oracle after each.

The oracle is the model's text with the instant put in by `str.format`, run by Spark over the inputs as they are.
Histories stand side by side in one table, keyed by `h`, so that ten runs drive them all.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from conftest import Project

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse, read_state
from dbt.adapters.sparktemporal.operations.reads import as_of
from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, groups_sql

START = 1_709_294_400_000  # 2024-03-01 12:00:00 UTC
STEP = 10_000
RUNS = 10
SPAN = STEP * (RUNS + 4)

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


def moment(rng: random.Random, lo: int = -SPAN, hi: int = SPAN) -> int:
    """Mostly near the runs and on their instants, sometimes far away."""
    if rng.random() < 0.15:
        return START + rng.choice([-10, -1, 0, 1, 5]) * 86_400_000 + rng.choice([-1, 0, 1])
    if rng.random() < 0.4:
        return START + STEP * rng.randrange(RUNS + 3) + rng.choice([-1, 0, 0, 1])
    return START + rng.randrange(lo // 4, hi)


def maybe(rng: random.Random, value: Any) -> Any:
    return None if rng.random() < 0.08 else value


def event(rng: random.Random, h: int) -> tuple:
    lo, width = moment(rng), rng.choice([0, 1, 500, 5_000, 20_000, 60_000, 10**9, -3_000])
    return (
        h,
        rng.randrange(5),
        maybe(rng, rng.choice(["k1", "k2", "k3"])),
        maybe(rng, rng.randrange(5)),
        maybe(rng, round(rng.uniform(-9, 9), 2)),
        maybe(rng, lo),
        maybe(rng, lo + width),
        rng.choice([0, 0, 1, 400, 999]),
    )


def change(rng: random.Random, rows: list[tuple], h: int) -> list[tuple]:
    """What one run later has become of a history's rows."""
    kind = rng.random()
    if kind < 0.1:
        return []
    if kind < 0.2:
        return list(rows)
    out = [r for r in rows if rng.random() > 0.2]
    out += [event(rng, h) for _ in range(rng.choice([0, 0, 1, 1, 2, 4]))]
    if out and rng.random() < 0.4:
        out.append(rng.choice(out))  # a duplicate
    if out and rng.random() < 0.5:  # an update of a bound only: the stored row is the same, its window is not
        at = rng.randrange(len(out))
        row = list(out[at])
        row[6] = maybe(rng, moment(rng))
        out[at] = tuple(row)
    return out


def load_events(project: Project, rows: list[tuple]) -> None:
    frame = project.spark.createDataFrame(
        rows, "h int, id int, k string, v int, price double, lo long, hi long, us int"
    )
    frame.createOrReplaceTempView("mz_test_rows")
    write_table(
        project,
        "events",
        "SELECT h, id, k, v, CAST(price AS DECIMAL(9, 2)) AS price, timestamp_millis(lo) AS lo, "
        "timestamp_millis(hi) AS hi, lo AS lo_ms, timestamp_micros(lo * 1000 + us) AS lo_us, "
        "CAST(lo + us / 1000D AS DECIMAL(20, 3)) AS lo_dec, CAST(hi AS DECIMAL(20, 3)) + CAST(0.5 AS DECIMAL(2, 1)) "
        "AS hi_dec, CAST(timestamp_millis(lo) AS DATE) AS day FROM mz_test_rows",
    )


def load_dim(project: Project, rng: random.Random) -> None:
    rows = [(k, f"{k} {rng.randrange(2)}", maybe(rng, moment(rng, 0))) for k in ("k1", "k2", "k3", "k3")]
    project.spark.createDataFrame(rows, "k string, name string, until long").createOrReplaceTempView("mz_test_dim")
    write_table(project, "dim", "SELECT k, name, timestamp_millis(until) AS until FROM mz_test_dim")


def write_table(project: Project, name: str, query: str) -> None:
    """Replace a table's rows as an upstream job would."""
    table = f"{project.schema}.{name}"
    if project.spark.catalog.tableExists(table):
        project.spark.sql(f"INSERT OVERWRITE {table} {query}")
    else:
        project.spark.sql(f"CREATE TABLE {table} USING parquet AS {query}")


def fill(project: Project, sql: str, now: str, ms: str) -> str:
    return sql.format(e=f"{project.schema}.events", d=f"{project.schema}.dim", now=now, ms=ms)


def boundaries(project: Project, models: Iterable[str], rng: random.Random, count: int) -> dict[str, list[int]]:
    """Some instants at which the stored diffs of each model change it."""
    order = f"xxhash64(mz_timestamp, {rng.random()})"
    chosen = " UNION ALL ".join(
        f"(SELECT '{m}', mz_timestamp FROM {{s}}.{m}__diffs ORDER BY {order} LIMIT {count})" for m in models
    )
    found: dict[str, list[int]] = {m: [] for m in models}
    for model, instant in project.rows(chosen):
        found[model].append(instant)
    return found


def mismatches(project: Project, model: str, oracle: Callable[[int], str], instants: list[int]) -> list[tuple]:
    """Rows whose multiplicity differs between view and oracle: instant, how many more in the view, the row."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model)
    names = ", ".join(f"`{c}`" for c in project.spark.table(f"{project.schema}.{model}").columns)
    sides = []
    for t in instants:
        sides.append(f"SELECT {t}L AS mz_t, 1 AS mz_x, * FROM {as_of(warehouse, target, t)}")
        sides.append(f"SELECT {t}L AS mz_t, -1 AS mz_x, * FROM ({oracle(t)})")
    both = " UNION ALL ".join(sides)
    return project.rows(f"SELECT mz_t, sum(mz_x), {names} FROM ({both}) GROUP BY mz_t, {names} HAVING sum(mz_x) <> 0")


def check_model(project: Project, name: str, sql: str, rng: random.Random, changes: list[int], instants: int) -> None:
    """The view against the oracle at some of: the frontier, a random instant, changes and 1 ms before, the last."""
    state = read_state(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name))
    assert state is not None
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
        project.run("--threads", "2", now=START + run * STEP)
        changes = boundaries(project, models, rng, instants)
        for name, (sql, _) in models.items():
            check_model(project, name, sql, rng, changes[name], instants)
        rows = {h: change(rng, list_, h) for h, list_ in rows.items()}


def fresh_seed() -> int:
    seed = int(os.environ.get("HISTORIES_SEED", random.SystemRandom().randrange(10**6)))
    print(f"HISTORIES_SEED={seed}")
    return seed


def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other chain is large enough for buckets and for leaving the past, and few updates are many."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 40)
    monkeypatch.setattr(chains, "SMALL_CHAIN", 60)
    monkeypatch.setattr(groups_sql, "FEW_UPDATES", 30)
    monkeypatch.setattr(buckets, "GRANULARITY", 1 << 12)


def test_two_hundred_histories(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the models, other ones each time."""
    small_limits(monkeypatch)
    seed, every = fresh_seed(), {**MODELS, **DEEP_MODELS}
    chosen = ["summed", random.Random(seed).choice(sorted(set(every) - {"summed"}))]
    drive(project, 200, {name: every[name] for name in chosen}, seed, instants=2, runs=5)


@pytest.mark.deep
def test_two_thousand_histories(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    drive(project, 2000, {**MODELS, **DEEP_MODELS}, fresh_seed(), instants=8)


# ---- five histories of their own shape ------------------------------------------------------------------------------

WINDOW = "select shape, id, v from {s}.shapes where {now} >= lo and {now} < hi"


def _at(seconds: float) -> int:
    return START + int(seconds * 1000)


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
        project.run(now=START + run * STEP)
        changes = boundaries(project, ["m"], rng, 8)
        check_model(project, "m", WINDOW.replace("{s}", project.schema), rng, changes["m"], 4)
