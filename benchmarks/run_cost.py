"""What a run of a temporal view costs, whatever is stored and whatever there was before, beside an incremental model.

    python benchmarks/run_cost.py                      a million payments; make bench takes 300,000
    python benchmarks/run_cost.py --payments 10000000
    python benchmarks/run_cost.py --payments 30000000 --alone     without the tables of ten times as many
    python benchmarks/run_cost.py --sizes 10000,100000,1000000    seconds and statements at each size: see run_sizes.py
    python benchmarks/run_cost.py --sizes 10000 --delay 0.25      each statement waits 0.25 s, as for a distant server

Payments arrive in append-only tables; a model keeps those of the last 30 days. Each round adds 1 % to each table and
runs each model once, alone. First what must hold exactly, from the metrics of the stages that a run starts: rows and
bytes it reads and writes. Then seconds, by dbt's clock around the model, so without starting dbt or Spark.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import matplotlib
from common import SCHEMA, Project, ratio, session, spread, stages
from pyspark.sql import SparkSession

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DAY = 86_400_000
START = 1_709_294_400_000  # 2024-03-01 12:00 UTC
STEP = 600_000
WINDOW = 30
#: a run may touch so many times the rows and bytes of the same run where less is stored, or less was before
MOST = 1.05
#: table -> payments in the window and before it, as multiples of the number asked for
TABLES = {"payments": (1, 0), "payments_future": (10, 0), "payments_history": (1, 9)}
KEPT = "select id, customer, amount, ts from {table} where mz_now() <= ts + interval 30 days"


def add(spark: SparkSession, table: str, number: int, since: int, until: int) -> None:
    """Rows spread evenly over a time (ms)."""
    rows = (
        f"SELECT id, CAST(pmod(xxhash64(id), 10000) AS INT) AS customer, "
        f"CAST(pmod(xxhash64(id, 1), 100000) / 100 AS DECIMAL(10, 2)) AS amount, "
        f"timestamp_millis({since}L + CAST(id * {(until - since) / number!r}D AS BIGINT)) AS ts FROM range({number})"
    )
    there = spark.catalog.tableExists(f"{SCHEMA}.{table}")
    spark.sql(f"INSERT INTO {table} {rows}" if there else f"CREATE TABLE {table} USING parquet AS {rows}")


def model_appended(project: Project) -> None:
    """The model `appended`: what people have without temporal views, an append of the new payments."""
    project.model(
        "appended",
        f"select id, customer, amount, ts from {SCHEMA}.payments "
        "{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}",
        materialized="incremental", incremental_strategy="append", file_format="parquet",
    )  # fmt: skip


def main(number: int, turns: int, alone: bool, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        # what Parquet's vectored reads read of local files, Hadoop does not count
        spark.conf.set("parquet.hadoop.vectored.io.enabled", "false")
        project = Project(Path(folder))
        print(
            f"{number:,} payments in a window of {WINDOW} days, 1 % more a run; "
            f"{os.cpu_count()} cores, Spark {spark.version}"
        )
        tables = {"payments": TABLES["payments"]} if alone else TABLES
        for table, (inside, before) in tables.items():
            add(spark, table, inside * number, START - WINDOW * DAY, START)
            if before:
                add(spark, table, before * number, START - (before + 1) * WINDOW * DAY, START - WINDOW * DAY)
            project.model(f"kept_{table}", KEPT.format(table=f"{SCHEMA}.{table}"), materialized="temporal_view")
        model_appended(project)
        found: dict[str, list[dict[str, float]]] = {}
        project.run(now=START)
        for turn in range(1, turns + 2):
            now = START + turn * STEP
            for table in tables:
                add(spark, table, number // 100, now - STEP, now)
            for name in (*(f"kept_{table}" for table in tables), "appended"):
                found.setdefault(name, []).append(run(spark, project, name, now))
            found.setdefault("nothing new", []).append(run(spark, project, "kept_payments", now))
        found["full refresh"] = [run(spark, project, "kept_payments", now, "--full-refresh") for _ in range(2)]
        check_answer(spark, tables, now)
        spark.stop()
    for name, runs in found.items():
        found[name] = runs[1:]  # the first of each is warm-up
    check(found)
    if not alone:
        plot(found, number, target)


def run(spark: SparkSession, project: Project, name: str, now: int, *args: str) -> dict[str, float]:
    """One dbt run of one model: its seconds, and what its stages touched."""
    before = stages(spark)
    said = project.run("-s", name, *args, now=now)[name]
    after = stages(spark)
    return {"seconds": said["seconds"], "merged": said.get("merged", 0), **{k: after[k] - before[k] for k in after}}


def check_answer(spark: SparkSession, tables: Iterable[str], now: int) -> None:
    """What is stored, added up to an instant (ms), against the model's own query at it."""
    for table in tables:
        stored = f"SELECT sum(mz_diff), sum(mz_diff * id) FROM kept_{table}__diffs WHERE mz_timestamp <= {now}"
        asked = KEPT.format(table=table).replace("mz_now()", f"timestamp_millis({now}L)")
        ours, plain = spark.sql(stored).first(), spark.sql(f"SELECT count(*), sum(id) FROM ({asked})").first()
        if ours != plain:
            raise SystemExit(f"{table}: {ours} rows and ids are stored, the query has {plain}")


def check(found: dict[str, list[dict[str, float]]]) -> None:
    base = found["kept_payments"]
    for name, what in (
        ("kept_payments_future", "10 x the stored updates"),
        ("kept_payments_history", "10 x the history"),
    ):
        for metric in ("rows", "bytes") if name in found else ():
            shares = [a[metric] / b[metric] for a, b in zip(found[name], base)]
            print(f"  (exact) {metric} touched with {what}: {spread(shares)} times")
            if median(shares) > MOST:
                raise SystemExit(f"{name}: more than {MOST} times the {metric}")
    seconds = {name: [r["seconds"] for r in runs] for name, runs in found.items()}
    for name, values in seconds.items():
        print(f"  {name:22} {spread(values)} s")
    ours = seconds["kept_payments"]
    if "kept_payments_future" in found:
        print(f"  time with 10 x the stored updates   {ratio(seconds['kept_payments_future'], ours)} times")
        print(f"  time with 10 x the history          {ratio(seconds['kept_payments_history'], ours)} times")
    print(f"  a full refresh costs                {median(seconds['full refresh']) / median(ours):.1f} runs")
    print(f"  a run costs                         {ratio(ours, seconds['appended'])} incremental appends")
    print(f"  a run with nothing new costs        {ratio(seconds['nothing new'], seconds['appended'])} of them")


def plot(found: dict[str, list[dict[str, float]]], number: int, target: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
    labels = list(found)[::-1]
    for axis, metric, title in zip(axes, ("seconds", "rows"), ("seconds of a run", "rows that it touches")):
        values = [median(r[metric] for r in found[label]) for label in labels]
        axis.barh(labels, values, color=["tab:blue" if "kept" in label else "lightgrey" for label in labels])
        for place, value in enumerate(values):
            axis.text(
                value, place, f" {value:,.2f}" if metric == "seconds" else f" {value:,.0f}", fontsize=8, va="center"
            )
        axis.set(title=title)
    figure.suptitle(f"{number / 1e6:g} million payments in the window, 1 % new a run, {os.cpu_count()} cores")
    figure.savefig(target / "run_cost.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="no tables of ten times as many payments, and no plot")
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    parser.add_argument("--sizes", help="numbers of payments, with commas between: other measurements, see run_sizes")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that each statement waits (with sizes)")
    given = parser.parse_args()
    if given.sizes or given.delay:
        import run_sizes  # which uses this module

        sizes = [int(size) for size in (given.sizes or str(given.payments)).split(",")]
        raise SystemExit(run_sizes.main(sizes, given.rounds, given.delay, plots))
    main(given.payments, given.rounds, given.alone, plots)
