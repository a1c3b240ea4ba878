"""The main job, to be watched: dbt run on the flights, a look at the views, and another some seconds later."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any

from dbt.cli.main import dbtRunner
from flights import HERE, unpack

HOME = HERE / "target" / "demo"
ROOT = HERE.parent


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def run_dbt(*args: str) -> None:
    folders = ["--project-dir", str(HERE), "--profiles-dir", str(HERE), "--target-path", str(HOME / "dbt")]
    outcome = dbtRunner().invoke(["--log-path", str(HOME / "logs"), *args, *folders])
    if not outcome.success:
        sys.exit("dbt did not succeed; its messages are above")


def table(rows: list[Any], columns: list[str]) -> None:
    cells = [columns, *[["" if v is None else str(v) for v in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("   " + "  ".join(c.ljust(w) for c, w in zip(row, widths)))


def show(spark: Any, sql: str) -> list[Any]:
    """Run a query anew (a DataFrame collected twice keeps its clock) and print it."""
    frame = spark.sql(sql)
    rows = frame.collect()
    table(rows, frame.columns)
    return rows


def flying(spark: Any) -> dict[str, str]:
    rows = spark.sql("SELECT flight_id, concat_ws(' ', carrier, flight, origin, '->', dest) FROM in_the_air").collect()
    return {row[0]: row[1] for row in rows}


def main() -> None:
    started = time.monotonic()
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    os.environ["FLIGHTS_HOME"] = str(HOME)
    os.environ["FLIGHTS_LOG4J"] = str(HERE / "log4j2.properties")
    os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"

    say("unpacking the 2013 New York flights (336,776 rows of csv)")
    data = unpack(HERE / "target" / "data")

    say("dbt run: three tables, nine temporal views, on embedded Spark (about a minute)")
    run_dbt("run", "--vars", f"{{data_path: '{data}'}}")

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    spark.sql("USE flights")

    say("departures of the last 24 hours, by carrier:  SELECT * FROM departures_24h")
    show(spark, "SELECT * FROM departures_24h ORDER BY departures DESC LIMIT 5")

    say("what the clock will bring to in_the_air, stored by the run:  SELECT * FROM in_the_air__diffs")
    now = spark.sql("SELECT unix_millis(current_timestamp())").collect()[0][0]
    coming = show(
        spark,
        "SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS instant, mz_diff, carrier, flight, origin, dest "
        f"FROM in_the_air__diffs WHERE mz_timestamp > {now} + 3000 ORDER BY mz_timestamp LIMIT 5",
    )

    say("in the air now:  SELECT * FROM in_the_air")
    before = flying(spark)
    print(f"   {len(before)} flights")
    until = coming[min(1, len(coming) - 1)][0]
    wait = max(until / 1000 - time.time(), 0) + 0.5
    say(f"waiting {wait:.0f} s: no job runs, nothing is written")
    time.sleep(wait)

    say("in the air now, the same query again")
    after = flying(spark)
    print(f"   {len(after)} flights")
    for key in after.keys() - before.keys():
        print(f"   + {after[key]}   has departed")
    for key in before.keys() - after.keys():
        print(f"   - {before[key]}   has landed")
    if before.keys() == after.keys():
        sys.exit("the view did not change, which it should have")

    say(f"done in {time.monotonic() - started:.0f} s")
    print(
        f"   the statements that ran:   {HOME.relative_to(ROOT) / 'dbt' / 'run'}\n"
        "   prove the windows right:   cd integration_tests && ../.venv/bin/python flights.py"
        " && ../.venv/bin/dbt build"
    )


if __name__ == "__main__":
    main()
