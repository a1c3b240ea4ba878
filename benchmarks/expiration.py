"""What an expiration leaves out: updates, rows, bytes and seconds of a restart, with it and without, in one process.

    python benchmarks/expiration.py                     a million events
    python benchmarks/expiration.py --events 10000000

Events spread evenly over the window before the restart; models over windows of 7, 30 and 365 days, the rows and their
count by customer, restarted weekly with an expiration of three weeks and a day. What must hold: the updates that are
left out are those that arithmetic says; what differs by data is printed as it is.

Of N rows in a window of W days the retractions later than the offset E are left out, N (W - E) / W of them. By rows
these are of 2 N updates; by group what came before the restart is one update a customer, so of N and the customers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median

import matplotlib
from common import SCHEMA, Project, session
from pyspark.sql import SparkSession

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DAY = 86_400_000
START = 1_709_294_400_000  # 2024-03-01 12:00 UTC
WINDOWS = (7, 30, 365)
OFFSET = 22
CUSTOMERS = 1_000
#: points between what is left out and what arithmetic says
MOST = 2.0
CONFIGS: dict[str, dict[str, str]] = {"with": {"expiration": f"{OFFSET} days", "restart_every": "7 days"}, "off": {}}
QUERIES = {
    "rows": "select id, customer, ts from {table} where mz_now() <= ts + interval {days} days",
    "by_customer": "select customer, count(*) as n from {table} where mz_now() <= ts + interval {days} days "
    "group by customer",
}


def main(number: int, turns: int, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        project = Project(Path(folder))
        print(
            f"{number:,} events a window, {CUSTOMERS:,} customers, expiration {OFFSET} days, restart_every 7 days; "
            f"{os.cpu_count()} cores, Spark {spark.version}"
        )
        for days in WINDOWS:
            spark.sql(
                f"CREATE TABLE events_{days} USING parquet AS SELECT id, "
                f"CAST(pmod(xxhash64(id), {CUSTOMERS}) AS INT) AS customer, timestamp_millis({START}L - "
                f"CAST(id * {days * DAY / number!r}D AS BIGINT)) AS ts FROM range({number})"
            )
            for kind, query in QUERIES.items():
                for name, config in CONFIGS.items():
                    project.model(
                        f"{kind}_{days}_{name}", query.format(table=f"{SCHEMA}.events_{days}", days=days),
                        materialized="temporal_view", **config,
                    )  # fmt: skip
        seconds: dict[str, list[float]] = {}
        for turn in range(turns + 1):
            for name, said in project.run("--full-refresh", now=START + turn).items():
                if turn:  # the first is warm-up
                    seconds.setdefault(name, []).append(said["seconds"])
        found = {name: {**stored(spark, name), "seconds": median(seconds[name])} for name in seconds}
        spark.stop()
    show(found, number)
    plot(found, number, target)


def stored(spark: SparkSession, model: str) -> dict[str, float]:
    """Updates of a model, the rows that hold them, and the bytes of these."""
    updates = spark.sql(f"SELECT count(*) FROM {model}__diffs").first()
    listed = spark.sql(f"SHOW TABLES LIKE '{model}__diffs_*'").collect()
    born = max(row.tableName for row in listed)
    rows = spark.sql(f"SELECT count(*) FROM {born}").first()
    told = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE TABLE EXTENDED {born}").collect()}
    home = Path(told["Location"].removeprefix("file:"))
    size = sum(file.stat().st_size for file in home.rglob("*.parquet"))
    assert updates and rows
    return {"updates": updates[0], "stored rows": rows[0], "bytes": size}


def saved(found: dict[str, dict[str, float]], kind: str, days: int, metric: str) -> float:
    """Points of a hundred that the expiration saves."""
    with_it, without = (found[f"{kind}_{days}_{name}"][metric] for name in ("with", "off"))
    return 100 * (1 - with_it / without)


def show(found: dict[str, dict[str, float]], number: int) -> None:
    print(f"  {'saved, per cent':22} {'updates':>9} {'(sums)':>7} {'rows':>7} {'bytes':>7} {'seconds':>8}")
    wrong = []
    for kind in QUERIES:
        for days in WINDOWS:
            left_out = number * max(0, days - OFFSET) / days
            by_sums = 100 * left_out / (2 * number if kind == "rows" else number + CUSTOMERS)
            measured = {m: saved(found, kind, days, m) for m in ("updates", "stored rows", "bytes", "seconds")}
            print(
                f"  {kind:12} {days:4} days {measured['updates']:9.1f} {by_sums:7.1f} {measured['stored rows']:7.1f} "
                f"{measured['bytes']:7.1f} {measured['seconds']:8.1f}"
            )
            if abs(measured["updates"] - by_sums) > MOST:
                wrong.append(f"{kind} of {days} days: {measured['updates']:.1f} per cent, by arithmetic {by_sums:.1f}")
    for days in WINDOWS:
        rows, updates = (found[f"rows_{days}_off"][metric] for metric in ("stored rows", "updates"))
        print(f"  rows of {days} days, no expiration: {updates:,.0f} updates in {rows:,.0f} signed intervals")
    if wrong:
        raise SystemExit("\n".join(wrong))


def plot(found: dict[str, dict[str, float]], number: int, target: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    for axis, metric in zip(axes, ("updates", "bytes")):
        for place, kind in enumerate(QUERIES):
            values = [saved(found, kind, days, metric) for days in WINDOWS]
            bars = axis.bar([x + 0.4 * place for x in range(len(WINDOWS))], values, 0.38, label=kind.replace("_", " "))
            axis.bar_label(bars, fmt="%.0f", fontsize=8)
        axis.set(title=f"{metric} saved, per cent", xticks=[x + 0.2 for x in range(len(WINDOWS))])
        axis.set_xticklabels([f"{days} days" for days in WINDOWS])
    axes[0].legend()
    figure.suptitle(f"expiration of {OFFSET} days, {number / 1e6:g} million events in each window")
    figure.savefig(target / "expiration.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.events, given.rounds, plots)
