"""A read of a temporal view against what a user would run instead, one hour after the last run, in one process.

    python benchmarks/read.py                       3 million payments
    python benchmarks/read.py --payments 30000000   ten times that (make bench-full)
    python benchmarks/read.py --comet               each read by Apache DataFusion Comet too

Payments of 90 days by 10,000 customers, in daily partitions; a model over the last 30 days of them, once as count and
sum by customer, once as the rows. First what must hold exactly, from the metrics of the plans: rows and bytes that are
scanned. Then seconds, of interleaved rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import dark
import matplotlib
from common import (
    SCHEMA,
    Project,
    phases,
    ratio,
    read_all,
    rounds,
    scanned,
    session,
    spread,
)
from pyspark.sql import SparkSession

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from support.comet import shares, with_comet

HOUR, DAY = 3_600_000, 86_400_000
KEYS, DAYS, WINDOW = 10_000, 90, 30
BY_COMET = ", Comet"
#: rows and bytes may be so many times those of the answer in a table
MOST = 1.3
QUERIES = {
    "by_customer": f"select customer, count(*) as n, sum(amount) as total from {SCHEMA}.payments "
    "where {when} group by customer",
    "rows": f"select customer, amount, ts from {SCHEMA}.payments where {{when}}",
}
TEMPORAL = f"mz_now() <= ts + interval {WINDOW} days"
PLAIN = f"current_timestamp() <= ts + interval {WINDOW} days"
BY_HAND = (
    f"ts >= current_timestamp() - interval {WINDOW} days "
    f"and day >= cast(current_timestamp() - interval {WINDOW} days as date)"
)


def make_payments(spark: SparkSession, number: int, until: int, customers: int = KEYS) -> None:
    """Payments spread evenly over the days before `until` (ms), the customer and the amount of each at random."""
    rows = (
        f"SELECT format_string('C%06d', pmod(xxhash64(id), {customers})) AS customer, "
        f"CAST(pmod(xxhash64(id, 1), 100000) / 100 AS DECIMAL(10, 2)) AS amount, "
        f"timestamp_millis({until}L - CAST(id * {DAYS * DAY / number!r}D AS BIGINT)) AS ts FROM range({number})"
    )
    by_day = f"SELECT *, CAST(ts AS DATE) AS day FROM ({rows})"
    spark.sql(
        f"CREATE TABLE payments USING parquet PARTITIONED BY (day) AS SELECT /*+ REBALANCE(day) */ * FROM ({by_day})"
    )


def main(number: int, turns: int, target: Path, comet: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        spark = session(home, with_comet() if comet else None)
        run_at = int(time.time() * 1000) - HOUR
        make_payments(spark, number, run_at)
        project = Project(home)
        for name, query in QUERIES.items():
            project.model(name, query.format(when=TEMPORAL), materialized="temporal_view")
            spark.sql(f"CREATE VIEW {name}_plain AS {query.format(when=PLAIN)}")
            spark.sql(f"CREATE VIEW {name}_by_hand AS {query.format(when=BY_HAND)}")
        said = project.run(now=run_at)
        print(f"{number:,} payments over {DAYS} days, {KEYS:,} customers, a window of {WINDOW} days,")
        print(f"one hour after the run; {os.cpu_count()} cores, Spark {spark.version}")
        times = {}
        for name in QUERIES:
            print(f"\n{name}: the run wrote {said[name]['rows_written']:,} diffs in {said[name]['seconds']:.0f} s")
            make_answer(spark, name, run_at)
            check_answer(spark, name)
            check_scans(spark, name)
            if comet:
                spark.conf.set("spark.comet.enabled", "true")
                check_answer(spark, name)
            times[name] = measure(spark, name, turns, ("", BY_COMET) if comet else ("",))
        spark.stop()
        plot(times, number, target / ("read_comet.png" if comet else "read.png"))


def make_answer(spark: SparkSession, name: str, run_at: int) -> None:
    """The answer in a table, in files of the same size; and what was due since the run in another."""
    files = max(1, len(spark.table(name).inputFiles())) if name == "rows" else 1
    spark.sql(f"CREATE TABLE {name}_answer USING parquet AS SELECT /*+ REPARTITION({files}) */ * FROM {name}")
    spark.sql(f"CREATE VIEW {name}_inner AS SELECT * FROM {name}_answer")  # a temporal view is a view of a view too
    spark.sql(f"CREATE VIEW {name}_views AS SELECT * FROM {name}_inner")
    now = int(time.time() * 1000)
    spark.sql(
        f"CREATE TABLE {name}_due USING parquet AS SELECT /*+ REPARTITION(1) */ * FROM {name}__diffs "
        f"WHERE mz_timestamp > {run_at} AND mz_timestamp <= {now}"
    )


def check_answer(spark: SparkSession, name: str) -> None:
    """The view against the plain one, in one query, which has one clock."""
    both = f"SELECT *, 1 AS side FROM {name} UNION ALL SELECT *, -1 FROM {name}_plain"
    columns = ", ".join(spark.table(name).columns)
    wrong = spark.sql(f"SELECT {columns} FROM ({both}) GROUP BY {columns} HAVING sum(side) <> 0").count()
    if wrong:
        raise SystemExit(f"{name}: {wrong} rows differ from the plain view")


def check_scans(spark: SparkSession, name: str) -> None:
    """Rows and bytes scanned, against those of the answer and of what is due."""
    every = {"by_customer": "count(n), sum(total), max(customer)", "rows": "count(ts), sum(amount), max(customer)"}[
        name
    ]
    ours = scanned(spark, f"SELECT {every} FROM {name}")
    answer = scanned(spark, f"SELECT {every} FROM {name}_answer")
    due = {"rows": 0, "bytes": 0}
    if name == "by_customer":
        columns = ", ".join(f"max({c})" for c in spark.table(f"{name}_due").columns)
        due = scanned(spark, f"SELECT {columns} FROM {name}_due")
    for what in ("rows", "bytes"):
        floor = answer[what] + due[what]
        share = ours[what] / floor
        print(f"  {what} scanned: {ours[what]:,} = {share:.2f} x the answer and what is due ({floor:,})")
        if share > MOST and not (name == "rows" and what == "bytes"):
            raise SystemExit(f"{name}: {what} scanned are more than {MOST} times")
    plain = scanned(spark, f"SELECT {every} FROM {name}_by_hand")
    print(f"  the plain view by hand: {plain['rows']:,} rows, {plain['bytes']:,} bytes")


def measure(spark: SparkSession, name: str, turns: int, engines: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of each way to read. engines: what is added to the name of a way, "" for Spark alone."""
    suffixes = {"temporal view": "", "plain view": "_plain", "by hand": "_by_hand", "the answer": "_answer"}

    def read(engine: str, suffix: str) -> None:
        use(spark, engine)
        read_all(spark, f"SELECT * FROM {name}{suffix}")

    ways = {way + engine: partial(read, engine, suffix) for engine in engines for way, suffix in suffixes.items()}
    found = rounds(turns, ways, warm=3)
    for label, values in found.items():
        print(f"  {label:21} {spread(values)} s")
    for engine in engines:
        ours = found[f"temporal view{engine}"]
        print(f"  faster than the plain view{engine} {ratio(found[f'plain view{engine}'], ours)} times")
        print(f"  faster than by hand{engine} {ratio(found[f'by hand{engine}'], ours)} times")
        print(f"  of the answer's own time{engine} {ratio(ours, found[f'the answer{engine}'])} times")
        if engine:
            print(f"  faster than without it {ratio(found['temporal view'], ours)} times")
    for engine in engines:
        use(spark, engine)
        for way, suffix in {**suffixes, "two views": "_views"}.items():
            sql = f"SELECT * FROM {name}{suffix}"
            planned = phases(spark, sql)
            each = ", ".join(
                f"{phase} {planned[phase]:g}" for phase in ("parsing", "analysis", "optimization", "planning")
            )
            print(f"  {way + engine:21} {sum(planned.values()):g} ms before it starts: {each}")
            if engine:
                print(
                    f"  {way + engine:21} executed by Spark itself: {', '.join(left_to_spark(spark, sql)) or 'nothing'}"
                )
    use(spark, "")
    return found


def use(spark: SparkSession, engine: str) -> None:
    spark.conf.set("spark.comet.enabled", str(engine == BY_COMET).lower())


def left_to_spark(spark: SparkSession, sql: str) -> list[str]:
    """The operators that Comet leaves to Spark, in a query that has run."""
    frame = spark.sql(sql)
    frame.collect()
    return sorted(set(shares(frame)[1]))


def plot(times: dict[str, dict[str, list[float]]], number: int, target: Path) -> None:
    bars = max(map(len, times.values()))
    figure, axes = plt.subplots(1, len(times), figsize=(11, 1 + 0.6 * bars), layout="constrained")
    titles = {"by_customer": "count and sum by customer", "rows": "the rows"}
    for axis, (name, found) in zip(axes, times.items()):
        labels = list(found)[::-1]
        middles = [median(found[label]) for label in labels]
        low = [m - min(found[label]) for m, label in zip(middles, labels)]
        high = [max(found[label]) - m for m, label in zip(middles, labels)]
        colours = ["tab:blue" if label.startswith("temporal view") else "lightgrey" for label in labels]
        axis.barh(labels, middles, xerr=(low, high), color=colours, capsize=3)
        for place, middle in enumerate(middles):
            axis.text(middle, place + 0.3, f" {middle:.2f} s", fontsize=8)
        axis.set(title=f"{titles[name]}, last {WINDOW} days", xlabel="seconds to read")
    figure.suptitle(f"{number / 1e6:.0f} million payments, {os.cpu_count()} cores, an hour after the run")
    dark.save(figure, target, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--comet", action="store_true", help="read by Apache DataFusion Comet too")
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.payments, given.rounds, plots, given.comet)
