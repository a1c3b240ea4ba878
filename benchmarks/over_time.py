"""A temporal view at 24 hourly instants in one pass, against one read of it and against 24 reads.

    python benchmarks/over_time.py                     1 million rows in the window
    python benchmarks/over_time.py --rows 10000000     ten times that

A count and a sum at each instant, of a window of 30 days whose rows leave as time goes on. The answers of all three are
compared. Then the changes of a day, and the calendar.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import SCHEMA, Project, ratio, rounds, session, spread
from pyspark.sql import SparkSession

HOUR, DAY = 3_600_000, 86_400_000
STEPS = 24


def main(number: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        run_at = int(time.time() * 1000) // HOUR * HOUR
        spark.sql(
            f"CREATE TABLE events USING parquet AS SELECT id, pmod(xxhash64(id), 10000) AS customer, "
            f"CAST(pmod(xxhash64(id, 1), 100000) / 100 AS DECIMAL(10, 2)) AS amount, "
            f"timestamp_millis({run_at}L - CAST(id * {30 * DAY / number!r}D AS BIGINT)) AS ts FROM range({number})"
        )
        project = Project(Path(folder))
        window = f"from {SCHEMA}.events where mz_now() <= ts + interval 30 days"
        project.model("recent", f"select customer, amount, ts {window}", materialized="temporal_view")
        grouped = f"select customer, count(*) as n, sum(amount) as total {window} group by customer"
        project.model("grouped", grouped, materialized="temporal_view")
        project.run(now=run_at)
        spark.sql(f"CREATE TABLE hours AS SELECT {run_at}L + id * {HOUR}L AS hour FROM range({STEPS})")

        def compiled(text: str) -> str:
            pinned = ["--vars", f"{{temporal_now: {run_at}}}"]
            with contextlib.redirect_stdout(io.StringIO()):  # dbt prints it
                return str(project.command("compile", "--inline", text, *pinned).results[0].node.compiled_code)

        print(f"{number:,} rows in a window, {STEPS} hourly instants; {os.cpu_count()} cores, Spark {spark.version}")
        measure(spark, compiled, "recent", ("count(*)", "sum(amount)"), run_at, turns)
        measure(spark, compiled, "grouped", ("count(*)", "sum(n)", "sum(total)"), run_at, turns)
        spark.stop()


def measure(
    spark: SparkSession, compiled: Callable[[str], str], model: str, given: tuple[str, ...], run_at: int, turns: int
) -> None:
    items = ", ".join(given)

    def read(instant: int) -> str:
        return compiled(f"select {instant}L, {items} from {{{{ temporal_as_of(ref('{model}'), {instant}) }}}}")

    def seconds(*queries: str) -> list[list[float]]:
        ways = {str(n): lambda sql=sql: spark.sql(sql).collect() for n, sql in enumerate(queries)}
        return list(rounds(turns, ways).values())

    reads = [read(run_at + n * HOUR) for n in range(STEPS)]
    each = "\nunion all\n".join(reads)
    at = f"select hour, {items} from {{{{ temporal_at(ref('{model}'), '{SCHEMA}.hours', 'hour') }}}} group by hour"
    at = compiled(at)
    named = {f"a{n}": text for n, text in enumerate(given)}
    totals = f"{{{{ temporal_at(ref('{model}'), '{SCHEMA}.hours', 'hour', aggregates={named}) }}}}"
    totals = compiled(f"select * from {totals}")
    found = sorted(spark.sql(each).collect())
    if sorted(spark.sql(at).collect()) != found or sorted(spark.sql(totals).collect()) != found:
        raise SystemExit(f"{model}: the answers differ")
    one, added, passed, many = seconds(reads[0], totals, at, each)
    print(f"\n{model}: one read {spread(one)} s")
    print(f"  aggregates at {STEPS} instants, by running totals: {spread(added)} s = {ratio(added, one)} x one read")
    print(f"  at {STEPS} instants in one pass: {spread(passed)} s = {ratio(passed, one)} x one read")
    print(f"  {STEPS} reads: {spread(many)} s = {ratio(many, one)} x one read")
    a_day = f"{run_at}, {run_at + DAY}, snapshot=false"
    changed = compiled(f"select count(*) from {{{{ temporal_changes(ref('{model}'), {a_day}) }}}}")
    coming = compiled(f"select * from {{{{ temporal_calendar(ref('{model}'), 10) }}}}")
    one, changes, calendar = seconds(reads[0], changed, coming)
    print(f"  the changes of a day: {spread(changes)} s = {ratio(changes, one)} x one read")
    print(f"  the next 10 changes: {spread(calendar)} s = {ratio(calendar, one)} x one read")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    main(given.rows, given.rounds)
