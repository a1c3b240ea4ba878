"""Random histories of inputs, and a view against its oracle."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.inputs.changing import capture
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, groups_sql
from support.instants import STEP, T0
from support.project import Project

RUNS = 10
SPAN = STEP * (RUNS + 4)


def moment(rng: random.Random, lo: int = -SPAN, hi: int = SPAN) -> int:
    """Mostly near the runs and on their instants, sometimes far away."""
    if rng.random() < 0.15:
        return T0 + rng.choice([-10, -1, 0, 1, 5]) * 86_400_000 + rng.choice([-1, 0, 1])
    if rng.random() < 0.4:
        return T0 + STEP * rng.randrange(RUNS + 3) + rng.choice([-1, 0, 0, 1])
    return T0 + rng.randrange(lo // 4, hi)


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
    names = ", ".join(f"`{c}`" for c in project.columns(model))
    sides = []
    for t in instants:
        sides.append(f"SELECT {t}L AS mz_t, 1 AS mz_x, * FROM {as_of(warehouse, target, t)}")
        sides.append(f"SELECT {t}L AS mz_t, -1 AS mz_x, * FROM ({oracle(t)})")
    both = " UNION ALL ".join(sides)
    return project.rows(f"SELECT mz_t, sum(mz_x), {names} FROM ({both}) GROUP BY mz_t, {names} HAVING sum(mz_x) <> 0")


def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other chain is large enough for buckets and for leaving the past, and few updates are many."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 40)
    monkeypatch.setattr(chains, "SMALL_CHAIN", 60)
    monkeypatch.setattr(capture, "BYTES_OF_ROW", 1000)  # files of a few rows
    monkeypatch.setattr(groups_sql, "FEW_UPDATES", 30)
    monkeypatch.setattr(buckets, "GRANULARITY", 1 << 12)
