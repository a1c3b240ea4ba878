"""Seconds and statements of a run at several sizes, beside a table, an incremental append and a full refresh.

    python benchmarks/run_cost.py --sizes 10000,100000,1000000
    python benchmarks/run_cost.py --sizes 10000 --delay 0.25

Each round adds 1 % of new payments and then runs every way in turn. Seconds are of dbt's clock around a model, so
without starting dbt or Spark. Statements of the model, and those that dbt sends around the model, are counted at
dbt-spark's cursor. With a delay, each statement waits so many seconds, as for a distant server.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median

import dark
import matplotlib.pyplot as plt
from common import SCHEMA, Project, Statements, ratio, session, spread
from matplotlib.ticker import LogLocator, NullFormatter
from pyspark.sql import SparkSession
from run_cost import DAY, KEPT, START, STEP, WINDOW, add, check_answer

FIRST, REFRESH, ADVANCING, QUIET = "first run", "full refresh", "advancing, 1 % new", "quiet"
TABLE, APPEND = "table", "incremental append"
#: in the order of a round: the append and the advancing run find the same new rows
WAYS = (TABLE, APPEND, ADVANCING, QUIET, REFRESH, FIRST)
Runs = dict[str, list[dict[str, float]]]


def main(sizes: list[int], turns: int, delay: float, target: Path) -> None:
    """Measure each size in one process; print a table and write a plot. turns: rounds after a round that warms up."""
    found: dict[int, Runs] = {}
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        project, statements = Project(Path(folder)), Statements(delay)
        cores = f"{os.cpu_count()} cores, Spark {spark.version}"
        print(f"a window of {WINDOW} days, 1 % more payments a round; {cores}, {delay:g} s of delay a statement")
        for size in sizes:
            found[size] = measured(spark, project, statements, size, turns)
            show(size, found[size])
        spark.stop()
    plot(found, delay, target)


def measured(spark: SparkSession, project: Project, statements: Statements, size: int, turns: int) -> Runs:
    """All ways at one size, in interleaved rounds; the answers are compared with Spark's own at the end."""
    table = f"payments_{size}"
    sql = KEPT.format(table=f"{SCHEMA}.{table}")
    add(spark, table, size, START - WINDOW * DAY, START)
    # mz_now() in a table is the instant of the invocation
    project.model(f"table_{size}", sql, materialized="table", file_format="parquet")
    project.model(
        f"append_{size}",
        f"select id, customer, amount, ts from {SCHEMA}.{table} "
        "{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}",
        materialized="incremental", incremental_strategy="append", file_format="parquet",
    )  # fmt: skip
    project.model(f"kept_{table}", sql, materialized="temporal_view")
    project.model(f"refreshed_{size}", sql, materialized="temporal_view")
    project.run("-s", f"append_{size}", f"kept_{table}", f"refreshed_{size}", now=START)
    found: Runs = {way: [] for way in WAYS}
    for turn in range(turns + 1):
        now = START + (turn + 1) * STEP
        add(spark, table, max(size // 100, 1), now - STEP, now)
        first = f"first_{size}_{turn}"
        project.model(first, sql, materialized="temporal_view")
        runs = {
            TABLE: [f"table_{size}"],
            APPEND: [f"append_{size}"],
            ADVANCING: [f"kept_{table}"],
            QUIET: [f"kept_{table}"],
            REFRESH: [f"refreshed_{size}", "--full-refresh"],
            FIRST: [first],
        }
        for way, arguments in runs.items():
            statements.clear()
            said = project.run("-s", *arguments, now=now)[arguments[0]]
            one = {
                "seconds": said["seconds"],
                "statements": len(statements.texts.get(arguments[0], [])),
                "around": len(statements.texts.get("", [])),
                "merged": said.get("merged", 0),
            }
            if turn:  # the first round warms up
                found[way].append(one)
        drop(spark, project, first)
    check_answer(spark, [table], now)
    return found


def drop(spark: SparkSession, project: Project, model: str) -> None:
    """Forget a model whose first run was measured, with its relations."""
    (project.home / "models" / f"{model}.sql").unlink()
    views = {row.viewName for row in spark.sql("SHOW VIEWS").collect()}
    relations = [row.tableName for row in spark.sql(f"SHOW TABLES LIKE '{model}*'").collect()]
    for name in sorted(relations, key=lambda name: name not in views):  # views first
        spark.sql(f"DROP {'VIEW' if name in views else 'TABLE'} IF EXISTS `{name}`")


def show(size: int, found: Runs) -> None:
    """One line a way: seconds with their spread, statements, and ratios of the same rounds."""
    seconds = {way: [run["seconds"] for run in runs] for way, runs in found.items()}
    print(f"{size:,} payments")
    print(f"  {'':20} {'seconds':22} {'statements':>10} {'+ around':>8}  {'÷ append':22} {'÷ full refresh':22}")
    for way, runs in found.items():
        statements = median(run["statements"] for run in runs)
        around = median(run["around"] for run in runs)
        ratios = f"{ratio(seconds[way], seconds[APPEND]):22} {ratio(seconds[way], seconds[REFRESH]):22}"
        merged = sum(run["merged"] > 0 for run in runs)
        note = f"  ({merged} of {len(runs)} merged chains)" if merged else ""
        print(f"  {way:20} {spread(seconds[way]):22} {statements:>10g} {around:>8g}  {ratios}{note}".rstrip())


def plot(found: dict[int, Runs], delay: float, target: Path) -> None:
    """Seconds by size, and statements, of each way."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=(2, 1))
    sizes = list(found)
    for way in WAYS:
        line = "s--" if way in (TABLE, APPEND) else "o-"
        left.plot(sizes, [median(run["seconds"] for run in found[size][way]) for size in sizes], line, label=way)
    left.set(xscale="log", yscale="log", xlabel="payments in the window", title="seconds of a run")
    left.xaxis.set_major_formatter("{x:,.0f}")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside lower center", ncols=len(WAYS), fontsize=8)
    counts = [median(run["statements"] for run in found[sizes[-1]][way]) for way in WAYS]
    right.barh(WAYS[::-1], counts[::-1], color="lightgrey")
    for place, count in enumerate(counts[::-1]):
        right.text(count, place, f" {count:g}", fontsize=8, va="center")
    right.set(title="statements of a run", xlim=(0, max(counts) * 1.1))
    waits = f", {delay:g} s of delay a statement" if delay else ""
    figure.suptitle(f"1 % new payments a run, {os.cpu_count()} cores{waits}")
    name = "run_cost_delay" if delay else "run_cost_sizes"
    dark.save(figure, target / f"{name}.png", dpi=120, bbox_inches="tight")
