"""What a restart reads, however long the history of its source is.

    python benchmarks/restart.py                          20,000 events a day: half an hour
    python benchmarks/restart.py --events-a-day 100000
    python benchmarks/restart.py --layouts iceberg --filters column function     (its jar comes from Maven Central)

A model keeps the last 30 days of a source that holds 1, 4 or 16 times as many: in partitions by day, in files of a day
each without partitions, as Spark writes them (timestamps without statistics of their own), or in an Iceberg table by
days(ts). It is rebuilt (`dbt run --full-refresh`) with pushdown by statistics and without. Bytes are those that the
stages of the run read from files. Seconds are dbt's around the model, and those of its phase `write`: the run lists no
files in it, but Spark itself does when it plans a query.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from common import SCHEMA, Project, session, stages
from pyspark.sql import SparkSession

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DAY = 86_400_000
START = 1_709_294_400_000  # 2024-03-01 12:00 UTC
WINDOW = 30
#: what a restart may read and take of a longer history, as multiples of the shortest
MOST_BYTES, MOST_SECONDS = 1.1, 1.2
LAYOUTS = ("partitions", "files", "iceberg")
#: the Iceberg that is built for the Spark of constraints.txt, in a catalog of its own
ICEBERG = {
    "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}
FILTERS = {
    "column": "mz_now() <= ts + interval 30 days",
    "function": "mz_now() < date_trunc('HOUR', ts) + interval 30 days and mz_now() >= ts",
    "json": "mz_now() <= cast(get_json_object(said, '$.at') as timestamp) + interval 30 days",
}
WAYS = {"": {"pushdown": "statistics", "pushdown_audit": 0}, "_off": {"pushdown": "off"}}


def source(spark: SparkSession, name: str, layout: str, days: int, a_day: int) -> None:
    """A file a day, in a partition of its own (which Iceberg makes of `ts`) or right in the table; the oldest first."""
    at = f"timestamp_millis({START - days * DAY}L + CAST(id * {DAY / a_day!r}D AS BIGINT))"
    made = f"SELECT id, sha2(CAST(id AS STRING), 256) AS payload, {at} AS ts FROM range(0, {days * a_day}, 1, {days})"
    rows = f"SELECT *, to_json(named_struct('at', CAST(ts AS STRING))) AS said FROM ({made})"
    if layout == "files":
        spark.sql(f"CREATE TABLE {name} USING parquet AS {rows}")
        return
    if layout == "iceberg":
        spark.sql(f"CREATE TABLE {name} USING iceberg PARTITIONED BY (days(ts)) AS {rows}")
        return
    spark.sql(
        f"CREATE TABLE {name} USING parquet PARTITIONED BY (day) AS "
        f"SELECT /*+ REBALANCE(day) */ *, CAST(ts AS DATE) AS day FROM ({rows})"
    )


def run(spark: SparkSession, project: Project, name: str, now: int) -> dict[str, float]:
    before = stages(spark)
    said = project.run("--full-refresh", "-s", name, now=now)[name]
    after = stages(spark)
    phases = {key: ms / 1000 for key, ms in said["phases"].items()}
    return {
        "bytes": after["read"] - before["read"],
        "seconds": said["seconds"],
        "writing": phases["write"],
        "measuring": phases.get("measure", 0.0),
    }


def main(
    a_day: int, turns: int, history: Sequence[int], filters: Sequence[str], layouts: Sequence[str], target: Path
) -> None:
    first: dict[str, dict[str, float]] = {}
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        lake = {**ICEBERG, "spark.sql.catalog.lake.warehouse": str(Path(folder) / "lake")}
        spark = session(Path(folder), lake if "iceberg" in layouts else {})
        # what Parquet's vectored reads read of local files, Hadoop does not count
        spark.conf.set("parquet.hadoop.vectored.io.enabled", "false")
        project = Project(Path(folder))
        print(f"{a_day:,} events a day, a window of {WINDOW} days; {os.cpu_count()} cores, Spark {spark.version}")
        names = []
        for layout in layouts:
            for times in history:
                table = f"{layout}_{times}"
                stored = f"lake.{SCHEMA}.{table}" if layout == "iceberg" else f"{SCHEMA}.{table}"
                source(spark, stored, layout, WINDOW * times, a_day)
                for kind in filters:
                    for off, config in WAYS.items():
                        names.append(f"{table}_{kind}{off}")
                        sql = f"select id, payload, ts from {stored} where {FILTERS[kind]}"
                        project.model(names[-1], sql, materialized="temporal_view", expiration="22 days", **config)
        print(f"  {len(names)} models, each built and then restarted {turns} times", flush=True)
        for name in names:
            first[name] = run(spark, project, name, START)
        for turn in range(1, turns + 1):
            print(f"  restart {turn}", flush=True)
            for name in names:
                found.setdefault(name, []).append(run(spark, project, name, START + turn))
        for name in names:
            if not name.endswith("_off"):
                ours, plain = (
                    spark.sql(f"SELECT count(*), sum(hash(*)) FROM {table}__diffs WHERE mz_timestamp > {START + turns}")
                    for table in (name, f"{name}_off")
                )
                if ours.first() != plain.first() or not ours.first()[0]:
                    raise SystemExit(f"{name}: other updates with pushdown than without")
        spark.stop()
    best = {name: {key: min(r[key] for r in runs) for key in runs[0]} for name, runs in found.items()}
    show(best, first, history, filters, layouts)
    plot(best, history, filters, layouts, target)


def show(
    best: dict[str, dict[str, float]],
    first: dict[str, dict[str, float]],
    history: Sequence[int],
    filters: Sequence[str],
    layouts: Sequence[str],
) -> None:
    wrong = []
    print(f"  history, times the window: {', '.join(map(str, history))}")
    for layout in layouts:
        for kind in filters:
            for off in WAYS:
                runs = [best[f"{layout}_{times}_{kind}{off}"] for times in history]
                bytes_, writing = ([r[m] / runs[0][m] for r in runs] for m in ("bytes", "writing"))
                told = ", ".join(f"{b:.2f}" for b in bytes_), ", ".join(f"{s:.2f}" for s in writing)
                whole = ", ".join(f"{r['seconds']:.1f}" for r in runs)
                way = "without" if off else "with"
                print(f"  {layout:10} {kind:8} {way:7}  bytes {told[0]:17} writing {told[1]:17} seconds {whole}")
                if not off:
                    wrong += [f"{layout}, {kind}: {b:.2f} times the bytes" for b in bytes_ if b > MOST_BYTES]
                    wrong += [f"{layout}, {kind}: {s:.2f} times the seconds" for s in writing if s > MOST_SECONDS]
            longest = f"{layout}_{history[-1]}_{kind}"
            print(
                f"  {layout:10} {kind:8} measured the first time: {first[longest]['measuring']:.1f} s of "
                f"{first[longest]['seconds']:.1f} s; without pushdown {first[longest + '_off']['seconds']:.1f} s"
            )
    for line in wrong:
        print(f"  above the aim of {MOST_BYTES} and {MOST_SECONDS}: {line}")


def plot(
    best: dict[str, dict[str, float]],
    history: Sequence[int],
    filters: Sequence[str],
    layouts: Sequence[str],
    target: Path,
) -> None:
    wide = 4.5 * len(layouts)
    figure, (axes,) = plt.subplots(
        1, len(layouts), figsize=(wide, 3.2), layout="constrained", sharey=True, squeeze=False
    )
    for axis, layout in zip(axes, layouts):
        for kind, color in zip(filters, ("tab:blue", "tab:orange", "tab:green")):
            for off, style in (("", "-o"), ("_off", ":x")):
                values = [best[f"{layout}_{times}_{kind}{off}"]["bytes"] / 1e6 for times in history]
                label = f"{kind}, {'without' if off else 'with'} pushdown"
                axis.plot(history, values, style, color=color, label=label)
        axis.set(title=f"{layout} by day", xlabel="history, times the window", xticks=history)
    axes[0].set_ylabel("MB read by a restart")
    axes[0].legend(fontsize=7)
    figure.savefig(target / "restart.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events-a-day", type=int, default=20_000)
    parser.add_argument("--history", type=int, nargs="+", default=[1, 4, 16], help="times the window")
    parser.add_argument("--filters", nargs="+", choices=list(FILTERS), default=list(FILTERS))
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=["partitions", "files"])
    parser.add_argument("--rounds", type=int, default=1)
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.events_a_day, given.rounds, given.history, given.filters, given.layouts, plots)
