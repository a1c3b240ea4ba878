"""One link of a chain of processes: read what is there, repair with a run, then be killed at a statement.

    python worker.py <project folder> <as-of of the repair> <as-of of the killed run> <statement, 0 for none> <report>

The report gets how the view answered before and after the repair, and the tables at the end, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from dbt.cli.main import dbtRunner

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import now

#: statements that change something; a kill between two of these is a kill at any statement between them
CHANGES = ("CREATE", "ALTER", "DROP", "INSERT", "UPDATE")


def dbt_run(folder: str, now: int) -> bool:
    arguments = ["--quiet", "run", "--project-dir", folder, "--profiles-dir", folder, "-s", "m"]
    return dbtRunner().invoke([*arguments, "--vars", json.dumps({"temporal_now": now})]).success


def answer(has_view: bool) -> list[int] | str:
    """How a reader sees the model: by its view, or by the text of `temporal_read`."""
    from pyspark.sql import SparkSession

    try:
        spark = SparkSession.builder.getOrCreate()
        source: str | None = "faults.m"
        if not has_view:
            warehouse = Warehouse(lambda sql: [tuple(row) for row in spark.sql(sql).collect()])
            source = now(warehouse, ModelRelations("`faults`", "m"), None)
        rows = spark.sql(f"SELECT count(*), coalesce(sum(id), 0), count(DISTINCT v) FROM {source}").collect()
        return list(rows[0])
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"


def main() -> None:
    folder, repair_at, kill_at, statement, report = sys.argv[1:6]
    with open(os.path.join(folder, "profiles.yml")) as file:
        profile = json.load(file)["proj"]["outputs"]["dev"]
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in profile["server_side_parameters"].items():
        builder = builder.config(key, value)
    spark = builder.enableHiveSupport().getOrCreate()
    has_view = "views_in" not in profile
    line = {"before": answer(has_view)}
    line["repaired"] = dbt_run(folder, int(repair_at))
    line["after"] = answer(has_view)
    spark.sql("INSERT INTO faults.events SELECT max(id) + 1, 'x' FROM faults.events")
    line["input"] = list(spark.sql("SELECT count(*), sum(id), count(DISTINCT v) FROM faults.events").collect()[0])
    line["tables"] = sorted(r[1] for r in spark.sql("SHOW TABLES IN faults").collect())
    with open(report, "w") as file:
        json.dump(line, file)
    if int(statement):
        kill_before(int(statement), report)
        dbt_run(folder, int(kill_at))  # it ended before that statement
        line["tables"] = sorted(r[1] for r in spark.sql("SHOW TABLES IN faults").collect())
        with open(report, "w") as file:
            json.dump(line, file)


def kill_before(statement: int, report: str) -> None:
    """Die, as by kill -9 of the process group (Spark with it), before the n-th statement that changes anything."""
    seen = 0
    original = SparkTemporalConnectionManager.add_query

    def add_query(self: SparkTemporalConnectionManager, sql: str, *args: object, **kwargs: object) -> object:
        nonlocal seen
        text = sql.split("*/", 1)[-1] if sql.lstrip().startswith("/*") else sql
        if text.split()[0].upper() in CHANGES:
            seen += 1
            if seen == statement:
                with open(report + ".killed", "w") as file:
                    file.write(" ".join(text.split())[:60])
                    file.flush()
                    os.fsync(file.fileno())
                os.killpg(os.getpgrp(), signal.SIGKILL)
        return original(self, sql, *args, **kwargs)

    SparkTemporalConnectionManager.add_query = add_query  # type: ignore[method-assign]  # until the process is killed


if __name__ == "__main__":
    main()
