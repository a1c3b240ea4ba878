"""What Spark takes to plan a read of a temporal view, by phase, beside a table of the answer.

    python benchmarks/planning.py                   a million payments and five smaller runs

Payments of 30 days, kept as the rows and as count and sum by customer, each without an expiration and with one. Each
run adds a quarter of what the run before it added, which makes a chain of its own. A read of each view is planned after
one, three and six runs. Beside them stand the answer in a table, and that table below two views, as a temporal view is
two views. Milliseconds, medians of rounds in which each takes its turn.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from common import SCHEMA, Project, phases, session
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.temporal.diffs import chains

HOUR, DAY = 3_600_000, 86_400_000
KEYS, WINDOW, RATIO = 10_000, 30, 4
PHASES = ("parsing", "analysis", "optimization", "planning")
WHEN = f"where mz_now() <= ts + interval {WINDOW} days"
QUERIES = {
    "rows": f"select customer, amount, ts from {SCHEMA}.payments {WHEN}",
    "by_customer": "select customer, count(*) as n, sum(amount) as total "
    f"from {SCHEMA}.payments {WHEN} group by customer",
}


def payments(number: int, since: int, until: int) -> str:
    """SQL of payments spread evenly between two instants (ms)."""
    return (
        f"SELECT pmod(xxhash64(id), {KEYS}) AS customer, "
        "CAST(pmod(xxhash64(id, 1), 100000) / 100 AS DECIMAL(10, 2)) AS amount, "
        f"timestamp_millis({since}L + CAST(id * {(until - since) / number!r}D AS BIGINT)) AS ts FROM range({number})"
    )


def main(number: int, turns: int, warm: int) -> None:
    chains.FEW_ROWS = 0  # or a run would write its small chains again together
    with tempfile.TemporaryDirectory() as folder:
        spark, project = session(Path(folder)), Project(Path(folder))
        first = int(time.time() * 1000) - 7 * HOUR
        spark.sql(f"CREATE TABLE payments USING parquet AS {payments(number, first - WINDOW * DAY, first)}")
        for name, query in QUERIES.items():
            project.model(name, query, materialized="temporal_view")
            project.model(f"{name}_expires", query, materialized="temporal_view", expiration="365 days")
        print(
            f"{number:,} payments and five smaller runs, {os.cpu_count()} cores, Spark {spark.version}, {turns} rounds"
        )
        for run in range(6):
            at = first + run * HOUR
            if run:
                spark.sql(f"INSERT INTO payments {payments(number // RATIO**run, at - HOUR, at)}")
            project.run(now=at)
            if run in (0, 2, 5):
                measure(spark, turns, warm)
        spark.stop()


def measure(spark: SparkSession, turns: int, warm: int) -> None:
    reads = [name for query in QUERIES for name in prepared(spark, query)]
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(-warm, turns):
        for name in reads:
            took = phases(spark, f"SELECT * FROM {name}", turns=1)
            if turn >= 0:
                for phase in PHASES:
                    found[name][phase].append(took.get(phase, 0))
                found[name]["all"].append(sum(took.values()))
    for name, each in found.items():
        parts = ", ".join(f"{phase} {median(each[phase]):g}" for phase in PHASES)
        print(f"  {name:24} {median(each['all']):4g} ms: {parts}")


def prepared(spark: SparkSession, query: str) -> list[str]:
    """The views of a query, and the relations with its answer, which are made anew."""
    tables = [table.name for table in spark.catalog.listTables(SCHEMA)]
    text = spark.sql(f"SHOW CREATE TABLE {query}_expires__live").first()[0]
    held = sum(name.startswith(f"{query}__diffs_") for name in tables)
    print(f"{query}: {held} chains, a text of {len(re.sub(r'/[*].*?[*]/', '', text)):,} characters")
    spark.sql(f"DROP TABLE IF EXISTS {query}_answer")
    spark.sql(f"CREATE TABLE {query}_answer USING parquet AS SELECT * FROM {query}")
    spark.sql(f"CREATE OR REPLACE VIEW {query}_view AS SELECT * FROM {query}_answer")
    spark.sql(f"CREATE OR REPLACE VIEW {query}_two_views AS SELECT * FROM {query}_view")
    return [query, f"{query}_expires", f"{query}_answer", f"{query}_two_views"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--warm", type=int, default=30, help="rounds before those that count")
    given = parser.parse_args()
    main(given.payments, given.rounds, given.warm)
