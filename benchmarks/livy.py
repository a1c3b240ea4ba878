"""A run behind a session like Livy's: one statement at a time, and each waits before Spark gets it.

    python benchmarks/livy.py                       0.3 s and 3 s a statement, in a quarter of an hour
    python benchmarks/livy.py --delays 0.3 --models 4

Livy takes the statements of a session one after the other, and a client asks for the outcome in intervals. Here both
is a wrapper around dbt-spark's cursor: a statement waits for the statement before it, and then for the delay. dbt-spark
itself has no method for Livy; adapters that have one send the same statements.

Printed are, for one model: its statements by purpose, those that dbt sends around it, and seconds by dbt's clock around
the model and by the clock around the invocation. Then the invocation of several models on four threads.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

from common import SCHEMA, Project, Statements, session
from pyspark.sql import SparkSession
from run_cost import DAY, KEPT, START, STEP, WINDOW, add, check_answer

PAYMENTS = 10_000
#: the first words of a statement -> what it is for
PURPOSES = {
    "EXPLAIN": "plans",
    "DESCRIBE": "columns, commits and files of relations",
    "SHOW": "lists of relations",
    "SELECT": "questions to rows and files",
    "WITH": "questions to rows and files",
    "SET": "settings",
    "REFRESH": "columns, commits and files of relations",
    "CREATE TABLE": "tables: the lock, lists of files, chains",
    "CREATE OR REPLACE TABLE": "tables: the lock, lists of files, chains",
    "INSERT": "rows into a table",
    "CREATE VIEW": "views and the commit",
    "CREATE OR REPLACE VIEW": "views and the commit",
    "CREATE OR REPLACE TEMPORARY": "views and the commit",
    "ALTER VIEW": "views and the commit",
    "ALTER TABLE": "properties of tables",
    "DROP": "what is not needed any more",
}
FIRST, ADVANCING, NOTHING, APPEND = "first run", "1 % new", "nothing new", "incremental append, 1 % new"


def purpose(statement: str) -> str:
    """What a statement is for, by its first words.

    >>> purpose("create table a.b as select 1"), purpose("/* x */ ALTER VIEW a.b AS SELECT 1")
    ('tables: the lock, lists of files, chains', 'views and the commit')
    """
    words = re.sub(r"^\s*/\*.*?\*/|^\s*--[^\n]*", "", statement, flags=re.DOTALL).upper().split()
    for number in (4, 3, 2, 1):
        found = PURPOSES.get(" ".join(words[:number]))
        if found is not None:
            return found
    return f"others: {' '.join(words[:3]).lower()}"


def main(delays: list[float], models: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        project, statements = Project(Path(folder)), Statements(one_at_a_time=True)
        print(
            f"{PAYMENTS:,} payments in a window of {WINDOW} days; {os.cpu_count()} cores, Spark {spark.version}, "
            f"one statement at a time"
        )
        project.model(
            "warm", "select id from range(3) where mz_now() < timestamp '2100-01-01'", materialized="temporal_view"
        )
        project.run(now=START)
        for delay in delays:
            print(f"{delay:g} s a statement", flush=True)
            measure(spark, project, statements, delay, models)
        spark.stop()


def measure(spark: SparkSession, project: Project, statements: Statements, delay: float, models: int) -> None:
    """Each kind of run once behind one delay (s)."""
    table = f"payments_{delay:g}".replace(".", "_")
    add(spark, table, PAYMENTS, START - WINDOW * DAY, START)
    one, append = f"kept_{table}", f"append_{table}"
    many = [f"kept_{table}_{number}" for number in range(models)]
    for name in (one, *many):
        project.model(name, KEPT.format(table=f"{SCHEMA}.{table}"), materialized="temporal_view")
    project.model(
        append,
        f"select id, customer, amount, ts from {SCHEMA}.{table} "
        "{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}",
        materialized="incremental", incremental_strategy="append", file_format="parquet",
    )  # fmt: skip
    statements.delay = 0.0
    project.run("-s", append, *many, now=START)
    statements.delay = delay
    show(FIRST, project, statements, [one], START)
    add(spark, table, PAYMENTS // 100, START, START + STEP)
    for what, names in ((APPEND, [append]), (ADVANCING, [one]), (NOTHING, [one]), (ADVANCING, many), (NOTHING, many)):
        show(what, project, statements, names, START + STEP)
    check_answer(spark, [table], START + STEP)
    statements.delay = 0.0


def show(what: str, project: Project, statements: Statements, names: list[str], now: int) -> None:
    """Run models once, and print one line, with the purposes of the statements where it is one model."""
    statements.clear()
    began = time.perf_counter()
    said = project.run("-s", *names, "--threads", "4", now=now)
    wall = time.perf_counter() - began
    number, around = len(statements.texts[names[0]]), len(statements.texts.get("", []))
    if len(names) > 1:
        every = sum(len(statements.texts[name]) for name in names) / len(names)
        print(f"  {len(names)} models, {what}: {every:g} statements a model, {around} around; {wall:.1f} s", flush=True)
        return
    print(f"  {what}: {number} statements, {around} around; {said[names[0]]['seconds']:.1f} s, with dbt {wall:.1f} s")
    purposes = Counter(purpose(text) for text in statements.texts[names[0]])
    print(*(f"    {count:3} {name}" for name, count in purposes.most_common()), sep="\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delays", type=float, nargs="+", default=[0.3, 3.0], help="seconds a statement")
    parser.add_argument("--models", type=int, default=4)
    given = parser.parse_args()
    main(given.delays, given.models)
