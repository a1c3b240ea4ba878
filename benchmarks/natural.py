"""Reads of what people write: joins with a window, a text as partition. An hour after the run, against the answer.

    python benchmarks/natural.py                       3 million payments
    python benchmarks/natural.py --payments 30000000   ten times that

Payments of 90 days by 100,000 customers. `active` counts the payments of the last day of each customer, who stays with
0 where there is none (LEFT JOIN). `silent` has the customers without a payment in the last day (NOT EXISTS). `by_text`
sums up the payments since a partition that is a text. `status` tells active customers from silent ones (the clock as a
value over groups). First the rows that a read opens, from the metrics of the plans, then seconds, of interleaved
rounds. Then 1,000 payments of the last minutes come in: the seconds of a run, the diffs that the run writes, the bytes
that its stages read beside those of the inputs, and the rows that a read opens after the run.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import read
from common import SCHEMA, Project, ratio, read_all, rounds, scanned, session, spread, stages
from pyspark.sql import SparkSession

CUSTOMERS = 100_000
QUERIES = {
    "active": f"with recent as (select * from {SCHEMA}.payments where {{now}} <= ts + interval 1 day) "
    f"select c.customer, c.region, count(r.amount) as n from {SCHEMA}.customers c "
    "left join recent r on r.customer = c.customer group by c.customer, c.region",
    "silent": f"select c.customer, c.region from {SCHEMA}.customers c where not exists ("
    f"select 1 from {SCHEMA}.payments p "
    "where p.customer = c.customer and {now} <= p.ts + interval 1 day)",
    "by_text": f"select customer, count(*) as n, sum(amount) as total from {SCHEMA}.by_day "
    "where ds > date_format({now} - interval 30 days, 'yyyyMMdd') group by customer",
    "status": "select customer, max(ts) as last, case when max(ts) > {now} - interval 1 day then 'active' "
    f"else 'silent' end as status from {SCHEMA}.payments group by customer",
}


def make_inputs(spark: SparkSession, number: int, run_at: int) -> None:
    read.make_payments(spark, number, run_at, CUSTOMERS)
    spark.sql(
        "CREATE TABLE by_day USING parquet PARTITIONED BY (ds) AS "
        "SELECT customer, amount, ts, date_format(ts, 'yyyyMMdd') AS ds FROM payments"
    )
    spark.sql(
        f"CREATE TABLE customers USING parquet AS SELECT format_string('C%06d', id) AS customer, "
        f"concat('R', id % 7) AS region FROM range({CUSTOMERS})"
    )


def add_payments(spark: SparkSession, number: int, until: int) -> None:
    """Payments of different customers, one each second before `until` (ms)."""
    rows = f"SELECT id, timestamp_millis({until}L - id * 1000) AS ts FROM range({number})"
    columns = "format_string('C%06d', id), CAST(1 AS DECIMAL(10, 2)), ts, CAST(ts AS DATE)"
    spark.sql(f"INSERT INTO payments SELECT {columns} FROM ({rows})")


def main(number: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        spark = session(home)
        # what Parquet's vectored reads read of local files, Hadoop does not count
        spark.conf.set("parquet.hadoop.vectored.io.enabled", "false")
        run_at = int(time.time() * 1000) - read.HOUR
        make_inputs(spark, number, run_at)
        project = Project(home)
        for name, query in QUERIES.items():
            project.model(name, query.format(now="mz_now()"), materialized="temporal_view")
            spark.sql(f"CREATE VIEW {name}_plain AS {query.format(now='current_timestamp()')}")
        said = project.run(now=run_at)
        print(f"{number:,} payments, {CUSTOMERS:,} customers; {os.cpu_count()} cores, Spark {spark.version}")
        for name in QUERIES:
            print(f"\n{name}: the run wrote {said[name]['rows_written']:,} diffs in {said[name]['seconds']:.0f} s")
            read.make_answer(spark, name, run_at)
            read.check_answer(spark, name)
            measure(spark, name, turns)
        later = run_at + read.HOUR // 2
        add_payments(spark, 1000, later)
        print("\na run after 1,000 more payments")
        for name in ("active", "silent", "status"):
            before = stages(spark)["read"]
            second, first = project.run("-s", name, now=later)[name], said[name]["seconds"]
            share = (stages(spark)["read"] - before) / second["bytes_considered"]
            print(f"  {name:8} {second['seconds']:.1f} s = {second['seconds'] / first:.2f} x the first run; ", end="")
            opened = scanned(spark, f"SELECT * FROM {name}")["rows"]
            print(f"{second['rows_written']:,} diffs written, {share:.2f} x the bytes of the inputs read; ", end="")
            print(f"a read opens {opened:,} rows")
            read.check_answer(spark, name)
        spark.stop()


def measure(spark: SparkSession, name: str, turns: int) -> None:
    opened = {way: scanned(spark, f"SELECT * FROM {name}{way}")["rows"] for way in ("", "_plain", "_answer")}
    print(
        f"  rows opened: {opened['']:,}; by the plain view {opened['_plain']:,}; the answer has {opened['_answer']:,}"
    )
    suffixes = {"temporal view": "", "plain view": "_plain", "the answer": "_answer"}
    ways = {way: (lambda s=suffix: read_all(spark, f"SELECT * FROM {name}{s}")) for way, suffix in suffixes.items()}
    found = rounds(turns, ways, warm=3)
    for label, values in found.items():
        print(f"  {label:14} {spread(values)} s")
    print(f"  faster than the plain view {ratio(found['plain view'], found['temporal view'])} times")
    print(f"  of the answer's own time   {ratio(found['temporal view'], found['the answer'])} times")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    main(given.payments, given.rounds)
