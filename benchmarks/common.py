"""What the benchmarks share: Spark and a dbt project in one process, the metrics of a plan, interleaved rounds."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from dbt.adapters.spark.session import Cursor
from dbt.cli.main import dbtRunner
from dbt_common.events.contextvars import get_node_info
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.sparktemporal.spark_log import QUIET

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.comet import nodes

os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
ROOT = Path(__file__).parents[1]
SCHEMA = "bench"


def session(home: Path, more: Mapping[str, str] | None = None) -> SparkSession:
    """As a user would start one on this machine, with everything it writes below `home`; more: further settings."""
    conf = {
        "spark.master": f"local[{os.cpu_count()}]",
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.ui.retainedStages": "100000",  # what they read and wrote is added up
        "spark.ui.retainedTasks": "1000000",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",  # as dbt-spark sets it
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:bench;create=true",
        "spark.driver.extraJavaOptions": f"{QUIET} -Dderby.system.home={home}",
        **(more or {}),
    }
    builder = SparkSession.builder.appName("benchmarks")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.enableHiveSupport().getOrCreate()
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    spark.sql(f"USE {SCHEMA}")
    return spark


class Statements:
    """The statements at dbt-spark's cursor, in the order in which they were sent.

    texts: of a model's run, by its name; under "" those that dbt sends around the models. seconds: of each of them, to
    its last row. delay: seconds that each statement waits before Spark gets it, as on the way to a distant server.
    one_at_a_time: a statement waits for that of another thread, as in one session of Livy. client: dbt-spark's cursor.
    """

    def __init__(self, delay: float = 0.0, one_at_a_time: bool = False, client: Any = Cursor) -> None:
        self.texts: dict[str, list[str]] = {}
        self.seconds: dict[str, list[float]] = {}
        self.delay = delay
        turn = threading.Lock() if one_at_a_time else nullcontext()
        execute, fetchall = client.execute, client.fetchall

        def counted(cursor: Any, sql: str, *parameters: Any) -> None:
            self.texts.setdefault(model_at_work(), []).append(sql)
            seconds = self.seconds.setdefault(model_at_work(), [])
            began = time.perf_counter()
            with turn:
                time.sleep(self.delay)
                execute(cursor, sql, *parameters)
            seconds.append(time.perf_counter() - began)

        def fetched(cursor: Any) -> Any:
            began = time.perf_counter()
            rows = fetchall(cursor)
            if seconds := self.seconds.get(model_at_work()):  # a thread runs one model
                seconds[-1] += time.perf_counter() - began
            return rows

        client.execute, client.fetchall = counted, fetched

    def clear(self) -> None:
        self.texts.clear()
        self.seconds.clear()


def model_at_work() -> str:
    """The model that dbt runs in this thread; "" outside of a model."""
    return str(get_node_info().get("node_name", ""))


class Project:
    """A dbt project of a few models. connection: of another session than the one of this process."""

    def __init__(self, home: Path, connection: Mapping[str, Any] | None = None) -> None:
        self.home = home / "project"
        (self.home / "models").mkdir(parents=True)
        where = connection or {"method": "session", "host": "local"}
        output = {"type": "sparktemporal", "schema": SCHEMA, "threads": 1, **where}
        profile = {"bench": {"target": "dev", "outputs": {"dev": output}}}
        (self.home / "profiles.yml").write_text(json.dumps(profile))
        (self.home / "dbt_project.yml").write_text(json.dumps({"name": "bench", "version": "1.0", "profile": "bench"}))

    def model(self, name: str, sql: str, **config: Any) -> None:
        said = ", ".join(f"{k}={v!r}" for k, v in config.items())
        (self.home / "models" / f"{name}.sql").write_text(f"{{{{ config({said}) }}}}\n{sql}\n")

    def run(self, *args: str, now: int | None = None) -> dict[str, dict[str, Any]]:
        """dbt run -> what each model's run says of itself, with its `seconds`."""
        pinned = ["--vars", json.dumps({"temporal_now": now})] if now is not None else []
        results = self.command("run", *args, *pinned)
        return {r.node.name: {**r.adapter_response, "seconds": r.execution_time} for r in results}

    def command(self, name: str, *args: str) -> Any:
        """Any command of dbt -> its result."""
        folders = ["--project-dir", str(self.home), "--profiles-dir", str(self.home)]
        outcome = dbtRunner().invoke(["--quiet", name, *args, *folders])
        if not outcome.success:
            raise SystemExit(str(outcome.exception or [r.message for r in outcome.result]))
        return outcome.result


def read_all(spark: SparkSession, sql: str) -> None:
    """Run a query and read every row of its answer, keeping none."""
    spark.sql(sql).write.format("noop").mode("overwrite").save()


def rounds(number: int, ways: Mapping[str, Callable[[], object]], warm: int = 1) -> dict[str, list[float]]:
    """Seconds of each way in each round: all of them in turn, so that a slow moment meets all alike."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-warm, number):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if turn >= 0:
                found[name].append(time.perf_counter() - began)
    return found


def spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def ratio(above: list[float], below: list[float]) -> str:
    """Of two ways in the same rounds: the median of the rounds' ratios, and how far they spread."""
    return spread([a / b for a, b in zip(above, below)])


# -- what a plan did --


def scanned(spark: SparkSession, sql: str) -> dict[str, int]:
    """Rows and bytes that a query's scans of files read, as the metrics of its plan say after it ran."""
    frame = spark.sql(sql)
    frame.collect()
    total = {"rows": 0, "bytes": 0, "files": 0}
    for leaf in _leaves(frame):
        metrics = leaf.metrics()
        for name, metric in (("rows", "numOutputRows"), ("bytes", "filesSize"), ("files", "numFiles")):
            if metrics.contains(metric):
                total[name] += metrics.apply(metric).value()
    return total


def phases(spark: SparkSession, sql: str, turns: int = 7) -> dict[str, float]:
    """Milliseconds that Spark takes to parse, analyse, optimise and plan a query, by its own clock: medians."""
    found: dict[str, list[int]] = {}
    for _ in range(turns):
        execution = spark.sql(sql)._jdf.queryExecution()
        execution.executedPlan()
        entries = execution.tracker().phases().iterator()
        while entries.hasNext():
            entry = entries.next()
            found.setdefault(entry._1(), []).append(entry._2().durationMs())
    return {phase: median(values) for phase, values in found.items()}


def stages(spark: SparkSession) -> dict[str, int]:
    """Rows and bytes that all stages so far read from files and wrote to them; read: the bytes they read alone."""
    gateway = spark.sparkContext._gateway
    empty = gateway.jvm.java.util.ArrayList()
    none = gateway.new_array(gateway.jvm.double, 0)
    listed = spark._jsc.sc().statusStore().stageList(empty, False, False, none, empty)
    total = {"rows": 0, "bytes": 0, "read": 0}
    for stage in (listed.apply(i) for i in range(listed.size())):
        total["rows"] += stage.inputRecords() + stage.outputRecords()
        total["bytes"] += stage.inputBytes() + stage.outputBytes()
        total["read"] += stage.inputBytes()
    return total


def _leaves(frame: DataFrame) -> Iterator[Any]:
    return (plan for plan in nodes(frame) if plan.children().isEmpty())
