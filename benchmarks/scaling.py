"""What grows with executors, and what the driver does alone: one and two workers, and inputs of many files.

    python benchmarks/scaling.py                     some minutes
    python benchmarks/scaling.py --parts files       inputs of 100, 1,000 and 10,000 files, in embedded Spark
    python benchmarks/scaling.py --parts workers     a standalone cluster of one worker beside one of two, a core each

Files: each is a hard link of one small file, so that what is measured is the number of files. Listing alone is also
measured over files without content that claim 128 MB each, since Spark cuts its tasks by the bytes of files. Of each
part the seconds are dbt's around the model, or of the statement; per file: the slope between the first number of
files and the last.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import matplotlib
from common import ROOT, SCHEMA, Project, ratio, read_all, session, spread
from pyspark.sql import SparkSession
from run_cost import DAY, KEPT, WINDOW, add

from dbt.adapters.sparktemporal.inputs.observing import file_lists

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Seconds = dict[str, list[float]]
#: rows of a file of the first part, and the new files of a run
ROWS, NEW = 100, 10
#: what a file of a table commonly has, bytes
COMMON = 128 << 20
CONFIGS = {"plain": {}, "statistics": {"pushdown": "statistics", "pushdown_audit": 0}}
FIRST, QUIET, ADVANCING, READ = "first run", "nothing new", f"{NEW} new files", "read"
LISTING, LISTING_LARGE = "list of small files", "list of files of 128 MB"
RUN, ADVANCE, ROWS_READ, GROUPS_READ = "first run", "run with 1 % more", "read of the rows", "read by customer"


# ---- the number of files -------------------------------------------------------------------------------------------


def of_files(numbers: Sequence[int], turns: int) -> tuple[dict[int, Seconds], dict[int, dict[str, float]]]:
    """Number of files -> seconds of each kind of run, and bytes that driver and manifest have a file."""
    seconds: dict[int, Seconds] = {}
    kept: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        # the driver keeps as much of past tasks as it would by default
        spark = session(Path(folder), {"spark.ui.retainedStages": "100", "spark.ui.retainedTasks": "1000"})
        project = Project(Path(folder))
        now = int(time.time() * 1000)
        spark.range(ROWS).selectExpr("id", f"timestamp_millis({now}L - id * 1000) AS ts").coalesce(1).write.parquet(
            f"{folder}/one"
        )
        (content,) = Path(folder, "one").glob("part-*")
        warm_up = min(numbers)
        for number in (warm_up, *numbers):
            seconds[number], kept[number] = measured(spark, project, Path(folder), content, number, turns)
        spark.stop()
    return seconds, kept


def measured(
    spark: SparkSession,
    project: Project,
    folder: Path,
    content: Path,
    number: int,
    turns: int,
) -> tuple[Seconds, dict[str, float]]:
    table, place = f"of_{number}", folder / f"of_{number}_{time.monotonic_ns()}"
    link(content, place, 0, number)
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE {table} (id BIGINT, ts TIMESTAMP) USING parquet LOCATION '{place}'")
    found: Seconds = {LISTING: [listing(spark, place) for _ in range(turns)]}
    large = folder / f"large_{number}"
    large.mkdir(exist_ok=True)
    for n in range(number):
        with (large / f"part-{n:07}.parquet").open("wb") as file:
            file.truncate(COMMON)
    found[LISTING_LARGE] = [listing(spark, large) for _ in range(turns)]
    before = heap(spark)
    sql = f"select id, ts from {SCHEMA}.{table} where mz_now() <= ts + interval 30 days"
    come = number
    for kind, config in CONFIGS.items():
        model = f"{kind}_{number}"
        project.model(model, sql, materialized="temporal_view", expiration="22 days", **config)

        def run(what: str, *arguments: str, model: str = model, kind: str = kind) -> None:
            said = project.run("-s", model, *arguments)[model]
            found.setdefault(f"{what}, {kind}", []).append(said["seconds"])

        run(FIRST, "--full-refresh")
        for _ in range(turns):
            run(QUIET)
            link(content, place, come, come + NEW)
            come += NEW
            run(ADVANCING)
        rows = spark.sql(f"SELECT count(*) FROM {model}").first()[0]
        if rows != come * ROWS:
            raise SystemExit(f"{model} has {rows:,} rows, its input {come * ROWS:,}")
    for _ in range(turns):
        began = time.perf_counter()
        read_all(spark, f"SELECT * FROM plain_{number}")
        found.setdefault(READ, []).append(time.perf_counter() - began)
    sizes = {"driver, bytes a file": (heap(spark) - before) / come}
    for kind, mark in (("manifest", "__inputs_"), ("statistics", "__stats_")):
        stored = (folder / "warehouse" / f"{SCHEMA}.db").glob(f"statistics_{number}{mark}*/part-*")
        sizes[f"{kind}, bytes a file"] = max((f.stat().st_size for f in stored), default=0) / come
    return found, sizes


def link(content: Path, place: Path, since: int, until: int) -> None:
    place.mkdir(exist_ok=True)
    for n in range(since, until):
        os.link(content, place / f"part-{n:07}.parquet")


def listing(spark: SparkSession, place: Path) -> float:
    """Seconds of what a run asks of the files of an input."""
    began = time.perf_counter()
    spark.sql(file_lists.summarizing(file_lists.in_directory(f"file:{place}"))).collect()
    return time.perf_counter() - began


def heap(spark: SparkSession) -> int:
    """Bytes that the driver holds after a collection of garbage."""
    lang = spark._jvm.java.lang
    lang.System.gc()
    return int(lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())


def show_files(seconds: Mapping[int, Seconds], kept: Mapping[int, Mapping[str, float]]) -> None:
    numbers = sorted(seconds)
    print(f"{'files':38}" + "".join(f"{n:>12,}" for n in numbers) + f"{'ms a file':>12}")
    for what in seconds[numbers[0]]:
        values = [median(seconds[n][what]) for n in numbers]
        slope = 1000 * (values[-1] - values[0]) / (numbers[-1] - numbers[0])
        print(f"  {what:36}" + "".join(f"{v:12.2f}" for v in values) + f"{slope:12.3f}")
    for what in kept[numbers[0]]:
        print(f"  {what:36}" + "".join(f"{kept[n][what]:12,.0f}" for n in numbers))


# ---- the number of workers -----------------------------------------------------------------------------------------


def of_workers(numbers: Sequence[int], rows: int, turns: int) -> dict[int, Seconds]:
    """Workers -> seconds. Each cluster has a driver of its own, and they are measured in turn."""
    processes = multiprocessing.get_context("spawn")
    found: dict[int, Seconds] = {number: {} for number in numbers}
    pipes: dict[int, Connection] = {}
    started = []
    try:
        for number in numbers:
            pipes[number], theirs = processes.Pipe()
            started.append(processes.Process(target=a_driver, args=(theirs, number, rows)))
            started[-1].start()
            theirs.close()
            pipes[number].recv()
        for turn in range(turns + 1):
            for way in (RUN, ADVANCE, ROWS_READ, GROUPS_READ):
                for number, pipe in pipes.items():
                    pipe.send(way)
                    took = pipe.recv()
                    if turn:  # the first round warms up
                        found[number].setdefault(way, []).append(took)
    finally:
        for pipe in pipes.values():
            pipe.close()  # which ends the driver
        for process in started:
            process.join(60)
    return found


def a_driver(pipe: Connection, workers: int, rows: int) -> None:
    """A process with a cluster: answers the name of each way with its seconds, until the pipe is closed."""
    sys.path.insert(0, str(ROOT / "integration_tests"))
    import spark_cluster

    os.environ.update(spark_cluster.LOOPBACK)
    with tempfile.TemporaryDirectory() as folder, spark_cluster.running(Path(folder, "cluster"), workers) as cluster:
        spark = session(Path(folder), {**cluster.conf, "spark.driver.memory": "2g"})
        ways = of_a_driver(spark, Project(Path(folder)), rows)
        pipe.send("ready")
        try:
            while True:
                pipe.send(ways[pipe.recv()]())
        except EOFError:
            spark.stop()


def of_a_driver(spark: SparkSession, project: Project, rows: int) -> dict[str, Callable[[], float]]:
    start = int(time.time() * 1000)
    add(spark, "payments", rows, start - WINDOW * DAY, start)
    project.model("kept", KEPT.format(table=f"{SCHEMA}.payments"), materialized="temporal_view")
    project.model(
        "by_customer",
        f"select customer, count(*) as n, sum(amount) as amount from {SCHEMA}.payments "
        "where mz_now() <= ts + interval 30 days group by customer",
        materialized="temporal_view",
        aggregates="groups",
    )
    project.run()

    def advance() -> float:
        add(spark, "payments", rows // 100, start - DAY, start)
        return project.run("-s", "kept")["kept"]["seconds"]

    def read(model: str) -> float:
        began = time.perf_counter()
        read_all(spark, f"SELECT * FROM {model}")
        return time.perf_counter() - began

    return {
        RUN: lambda: project.run("--full-refresh", "-s", "kept")["kept"]["seconds"],
        ADVANCE: advance,
        ROWS_READ: lambda: read("kept"),
        GROUPS_READ: lambda: read("by_customer"),
    }


def show_workers(found: Mapping[int, Seconds], rows: int) -> None:
    numbers = sorted(found)
    print(f"{rows:,} payments, workers of one core")
    for way, base in found[numbers[0]].items():
        told = "   ".join(f"{n} worker{'s' * (n > 1)} {spread(found[n][way])} s" for n in numbers)
        print(f"  {way:20} {told}   one ÷ {numbers[-1]}: {ratio(base, found[numbers[-1]][way])}")


# ---- both ----------------------------------------------------------------------------------------------------------


def plot(files: Mapping[int, Seconds], workers: Mapping[int, Seconds], target: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
    numbers = sorted(files)
    for what in files[numbers[0]] if numbers else ():
        style = "s--" if what in (LISTING, LISTING_LARGE) else "o-"
        left.plot(numbers, [median(files[n][what]) for n in numbers], style, label=what)
    left.set(xscale="log", yscale="log", xlabel="files of the input", title="seconds, embedded Spark")
    left.xaxis.set_major_formatter("{x:,.0f}")
    left.yaxis.set_major_formatter("{x:g}")
    left.legend(fontsize=7)
    counts = sorted(workers)
    ways = list(workers[counts[0]]) if counts else []
    for place, number in enumerate(counts):
        at = [n + 0.38 * place for n, _ in enumerate(ways)]
        right.bar(at, [median(workers[number][way]) for way in ways], 0.36, label=f"{number} of one core")
    right.set(title="seconds by workers")
    right.set_xticks([n + 0.19 for n, _ in enumerate(ways)], ways, fontsize=7, rotation=20)
    right.legend(fontsize=8)
    figure.savefig(target / "scaling.png", dpi=120, bbox_inches="tight")


def main(parts: Sequence[str], numbers: Sequence[int], rows: int, turns: int, target: Path) -> None:
    files: dict[int, Seconds] = {}
    workers: dict[int, Seconds] = {}
    print(f"{os.cpu_count()} cores; medians of {turns} rounds", flush=True)
    if "workers" in parts:  # first, because this process has no JVM yet
        workers = of_workers((1, 2), rows, turns)
        show_workers(workers, rows)
    if "files" in parts:
        files, kept = of_files(numbers, turns)
        show_files(files, kept)
    if len(parts) > 1:
        plot(files, workers, target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=["files", "workers"], default=["files", "workers"])
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--payments", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.parts, given.files, given.payments, given.rounds, plots)
