"""The main job, to be watched: dbt run on the flights, a look at a view, and another look some seconds later."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import time
from datetime import datetime
from typing import Any

from dbt.cli.main import dbtRunner
from flights import HERE, unpack

HOME = HERE / "target" / "demo"

AIR = "SELECT concat(carrier, flight) AS flight, origin, dest, departed_at, arrives_at FROM in_the_air"
CARRIERS = "SELECT * FROM departures_24h ORDER BY departures DESC LIMIT 5"
COMING = """SELECT mz_timestamp, timestamp_millis(mz_timestamp) AS instant, format_string('%+d', mz_diff) AS mz_diff,
       concat(carrier, flight) AS flight, origin, dest
FROM in_the_air__diffs WHERE mz_timestamp > {after} ORDER BY mz_timestamp LIMIT 5"""

#: what is to come of a view, if no new flight is loaded
CALENDAR = "select changes_at, rows_in, rows_out from {{ temporal_calendar(ref('in_the_air'), 5) }}"
FORECAST = """select forecast_at, value
from {{ temporal_forecast(ref('in_the_air'), every='10 minutes', until='%s') }} order by forecast_at"""

#: time for a person to read what is coming, ms
READING = 3_000


#: what all lines of the demo's run have in common
COMMON = re.compile(r" hydrated \(first run\) at [^,]+ UTC,|, expires [^,]+ UTC")


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def heard(event: Any) -> None:
    """dbt's log, a line a model: what a temporal_view says of itself, and that a table is there."""
    if event.info.name == "JinjaLogInfo":
        print(f"   {COMMON.sub('', event.info.msg).replace('temporal_view ', 'view ', 1)}", flush=True)
    elif event.info.name == "LogModelResult" and event.data.node_info.materialized == "table":
        node = event.data.node_info.node_name
        print(f"   table {node}: {event.data.status}, {event.data.execution_time:.1f} s", flush=True)


def run_dbt(*args: str) -> Any:
    folders = ["--project-dir", ".", "--profiles-dir", ".", "--target-path", "target/demo/dbt"]
    outcome = dbtRunner(callbacks=[heard]).invoke(["--quiet", "--log-path", "target/demo/logs", *args, *folders])
    if not outcome.success:
        sys.exit("dbt did not succeed; its messages are above, all of them in integration_tests/target/demo/logs")
    return outcome.result


def shown(sql: str) -> tuple[list[str], list[tuple]]:
    """A query with Jinja, as `dbt show --inline` answers."""
    with contextlib.redirect_stdout(io.StringIO()):
        table = run_dbt("show", "--inline", sql, "--limit", "-1").results[0].agate_table
    return list(table.column_names), [tuple(row) for row in table.rows]


def query(spark: Any, sql: str) -> tuple[list[str], list[tuple]]:
    """Run a query anew: a DataFrame that is collected twice keeps its clock."""
    frame = spark.sql(sql)
    return frame.columns, [tuple(row) for row in frame.collect()]


def plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return "" if value is None else str(value)


def lines(columns: list[str], rows: list[tuple], marks: list[str] | None = None) -> list[str]:
    """Rows in columns of even width, each with its mark in front."""
    cells = [columns, *[[plain(v) for v in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    fronts = ["", *(marks or [""] * len(rows))]
    return [
        f" {front:1} " + "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
        for front, row in zip(fronts, cells)
    ]


def show(columns: list[str], rows: list[tuple], marks: list[str] | None = None) -> None:
    print("\n".join(lines(columns, rows, marks)), flush=True)


def changes(before: list[tuple], after: list[tuple]) -> list[tuple[str, tuple]]:
    """What is gone and what is new, marked - and +."""
    gone, new = set(before) - set(after), set(after) - set(before)
    return [*(("-", row) for row in sorted(gone)), *(("+", row) for row in sorted(new))]


def first_look(spark: Any) -> tuple[list[tuple], tuple]:
    """(the flights in the air, the next update of in_the_air)."""
    say("departures of the last 24 hours, by carrier:  SELECT * FROM departures_24h")
    show(*query(spark, CARRIERS))

    say("what the clock will bring to in_the_air, known since the run:  SELECT * FROM in_the_air__diffs")
    columns, coming = query(spark, COMING.format(after=f"unix_millis(current_timestamp()) + {READING}"))
    if not coming:
        sys.exit("in_the_air has no update to come, which it should have at this hour")
    show(columns, coming)

    say("in the air now, the next to land first:  SELECT * FROM in_the_air")
    columns, before = in_the_air(spark)
    show(columns, before[:5])
    return before, coming[0]


def in_the_air(spark: Any) -> tuple[list[str], list[tuple]]:
    columns, rows = query(spark, AIR)
    print(f"   {len(rows)} flights")
    return columns, sorted(rows, key=lambda row: row[-1])


def wait_for(update: tuple) -> None:
    wait = update[0] / 1000 + 0.5 - time.time()
    if wait > 0:
        say(f"next update at {plain(update[1])} UTC: waiting {wait:.0f} s. No job runs, nothing is written")
        time.sleep(wait)


def second_look(spark: Any, before: list[tuple], update: tuple) -> None:
    wait_for(update)
    say("in the air now, the same query; + has departed since, - has landed. No job ran, nothing was written")
    columns, after = in_the_air(spark)
    changed = changes(before, after)
    kept = [("", row) for row in after if row in before][:3]
    show(columns, [row for _, row in changed + kept], [mark for mark, _ in changed + kept])
    if not changed:
        sys.exit("the view did not change, which it should have")


def look_ahead() -> None:
    say("what will change in the next minutes:  select * from {{ temporal_calendar(ref('in_the_air'), 5) }}")
    columns, rows = shown(CALENDAR)
    show(columns, rows)
    if not rows:
        sys.exit("in_the_air has no change to come, which it should have at this hour")
    say("how many flights will be in the air:  {{ temporal_forecast(ref('in_the_air'), every='10 minutes', …) }}")
    until = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 3600))
    show(*shown(FORECAST % until))


def main() -> None:
    started = time.monotonic()
    # relative paths from here on: Java options cannot carry a folder whose name has a space
    os.chdir(HERE)
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    os.environ["FLIGHTS_HOME"] = "target/demo"
    os.environ["FLIGHTS_CATALOG"] = "in-memory"  # setting up a metastore takes as long as half the views
    os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"

    say("unpacking the 2013 New York flights (336,776 rows of csv)")
    unpack(HERE / "target" / "data")

    say("dbt run: three tables, nine temporal views, on embedded Spark (about a minute)")
    run_dbt("run")
    print(
        "   A diff is the instant at which a row enters a view or leaves it. Diffs of the next 22 days are stored\n"
        "   (config expiration); after that, reads raise an error until the next dbt run."
    )

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    spark.sql("USE flights")
    before, update = first_look(spark)
    # by the time of the second look the clock has brought the update, mostly
    look_ahead()
    second_look(spark, before, update)

    say(f"done in {time.monotonic() - started:.0f} s. What to try next:")
    print(
        "   the statements that ran       less integration_tests/target/demo/dbt/run/nyc_flights/models/views/*.sql\n"
        "   all views, proved right       cd integration_tests && ../.venv/bin/dbt build\n"
        "   what the next run would do    cd integration_tests && "
        "../.venv/bin/dbt run-operation temporal_explain --args '{model: in_the_air}'\n"
        "   a run with nothing to do      cd integration_tests && ../.venv/bin/dbt run\n"
        "   a page about all views        cd integration_tests && ../.venv/bin/dbt run-operation temporal_report\n"
        "   a view at another instant     cd integration_tests && ../.venv/bin/dbt show --limit 5 --inline \\\n"
        """     "select * from {{ temporal_as_of(ref('in_the_air'), '"""
        f"""{time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 6 * 3600))}') }}}}"\n"""
        "   (these on tables of their own, in integration_tests/target/spark)"
    )


if __name__ == "__main__":
    main()
