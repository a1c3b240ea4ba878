"""What a restart reads, however long the history of its source is.

    python benchmarks/restart.py                          ten thousand events a day
    python benchmarks/restart.py --events-a-day 100000

A model keeps the last 30 days of a source that holds 1, 4 or 16 times as many: in partitions by day, or in files of a
day each without partitions. It is rebuilt (`dbt run --full-refresh`), with pushdown and without. Bytes are those that
the stages of the run read from files; seconds are dbt's around the model.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import matplotlib
from common import SCHEMA, Project, session, stages
from pyspark.sql import SparkSession

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DAY = 86_400_000
START = 1_709_294_400_000  # 2024-03-01 12:00 UTC
WINDOW = 30
HISTORY = (1, 4, 16)
#: bytes that a restart may read of a longer history, as multiples of the shortest
MOST = 1.1
LAYOUTS = ("partitions", "files")
FILTERS = {
    "plain": "mz_now() <= ts + interval 30 days",
    "function": "mz_now() < date_trunc('HOUR', ts) + interval 30 days and mz_now() >= ts",
}


def source(spark: SparkSession, name: str, layout: str, days: int, a_day: int) -> None:
    """A file a day, in a partition of its own or right in the table; the oldest first."""
    rows = (
        f"SELECT id, CAST(pmod(xxhash64(id), 10000) AS INT) AS customer, sha2(CAST(id AS STRING), 256) AS payload, "
        f"timestamp_millis({START - days * DAY}L + CAST(id * {DAY / a_day!r}D AS BIGINT)) AS ts "
        f"FROM range(0, {days * a_day}, 1, {days})"
    )
    if layout == "files":
        spark.sql(f"CREATE TABLE {name} USING parquet AS {rows}")
        return
    spark.sql(
        f"CREATE TABLE {name} USING parquet PARTITIONED BY (day) AS "
        f"SELECT /*+ REBALANCE(day) */ *, CAST(ts AS DATE) AS day FROM ({rows})"
    )


def main(a_day: int, turns: int, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        project = Project(Path(folder))
        print(f"{a_day:,} events a day, a window of {WINDOW} days; {os.cpu_count()} cores, Spark {spark.version}")
        for layout in LAYOUTS:
            for times in HISTORY:
                table = f"{layout}_{times}"
                source(spark, table, layout, WINDOW * times, a_day)
                for kind, predicate in FILTERS.items():
                    # what a source is partitioned by, its author says: it is the day of ts
                    where = f"{predicate} and {DAY_OF[layout]}"
                    for name, pushdown in (("", "sargable"), ("_off", "off")):
                        project.model(
                            f"{table}_{kind}{name}",
                            f"select id, customer, payload, ts from {SCHEMA}.{table} where {where}",
                            materialized="temporal_view", pushdown=pushdown, expiration="22 days",
                        )  # fmt: skip
        found: dict[str, dict[str, float]] = {}
        names = sorted(file.stem for file in (project.home / "models").glob("*.sql"))
        for turn in range(turns + 1):
            for name in names:
                before = stages(spark)
                said = project.run("--full-refresh", "-s", name, now=START + turn)[name]
                after = stages(spark)
                told = found.setdefault(name, {"bytes": after["bytes"] - before["bytes"], "seconds": 9e9})
                told["bytes"] = after["bytes"] - before["bytes"]
                told["seconds"] = min(told["seconds"], said["seconds"]) if turn else 9e9
        for layout in LAYOUTS:
            for kind in FILTERS:
                for times in HISTORY:
                    stored = (spark.table(f"{layout}_{times}_{kind}{off}__diffs").count() for off in ("", "_off"))
                    if len(set(stored)) != 1:
                        raise SystemExit(f"{layout} {kind} {times}: other updates with pushdown than without")
        spark.stop()
    show(found)
    plot(found, target)


#: the window said once more about the partition column, as whoever partitions by it would
DAY_OF = {"partitions": "mz_now() < day + interval 31 days", "files": "true"}


def show(found: dict[str, dict[str, float]]) -> None:
    wrong = []
    for layout in LAYOUTS:
        for kind in FILTERS:
            for off in ("", "_off"):
                runs = [found[f"{layout}_{times}_{kind}{off}"] for times in HISTORY]
                bytes_, seconds = ([r[m] / runs[0][m] for r in runs] for m in ("bytes", "seconds"))
                print(
                    f"  {layout:10} {kind:8} {'off' if off else 'on':3} bytes "
                    + " ".join(f"{b:6.2f}" for b in bytes_)
                    + "   seconds "
                    + " ".join(f"{r['seconds']:6.2f}" for r in runs)
                    + f"   ({', '.join(f'{s:.2f}' for s in seconds)} times)"
                )
                if not off and max(bytes_) > MOST:
                    wrong.append(f"{layout}, {kind}: {max(bytes_):.2f} times the bytes with a longer history")
    if wrong:
        raise SystemExit("\n".join(wrong))


def plot(found: dict[str, dict[str, float]], target: Path) -> None:
    figure, axes = plt.subplots(1, len(LAYOUTS), figsize=(9, 3.2), layout="constrained", sharey=True)
    for axis, layout in zip(axes, LAYOUTS):
        for kind in FILTERS:
            for off, style in (("", "-o"), ("_off", "--o")):
                values = [found[f"{layout}_{times}_{kind}{off}"]["bytes"] / 1e6 for times in HISTORY]
                axis.plot(HISTORY, values, style, label=f"{kind}, {'without' if off else 'with'} pushdown")
        axis.set(title=f"{layout} by day", xlabel="history, times the window", xticks=HISTORY)
    axes[0].set_ylabel("MB read by a restart")
    axes[0].legend(fontsize=8)
    figure.savefig(target / "restart.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events-a-day", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2)
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.events_a_day, given.rounds, plots)
