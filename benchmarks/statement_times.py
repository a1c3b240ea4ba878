"""The statements of a run, each with its purpose and its milliseconds.

    python benchmarks/statement_times.py                  10,000 payments, medians of five runs
    python benchmarks/statement_times.py --rounds 9 --payments 100000

A run with 1 % new payments, one with nothing new, and a plain incremental append, in turn. Milliseconds are those of
dbt-spark's cursor, from the statement to its last row. docs/architecture/statements.md has the table.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from common import SCHEMA, Project, Statements, session
from run_cost import DAY, KEPT, START, STEP, WINDOW, add, check_answer, model_appended

#: words of a statement, the more telling ones first -> its purpose
PURPOSES = {
    "binaryFile.": "the files of the inputs, and counts of rows",
    "__live` AS": "the commit",
    "__diffs` AS": "the updates, readable",
    "CREATE TABLE {lock}": "the lock",
    "DROP TABLE IF EXISTS {lock}": "the lock is given back",
    "CREATE TABLE": "the new chain",
    "EXPLAIN EXTENDED SELECT": "the plan of a core, with the types of its columns",
    "EXPLAIN EXTENDED": "the plan of the model's text",
    "DESCRIBE TABLE EXTENDED {live}": "the commit that is there",
    "DESCRIBE TABLE EXTENDED": "columns, place and options of an input",
    "REFRESH TABLE": "the session lists the files of an input anew",
    "SET": "settings, once an invocation",
    "unix_millis(current_timestamp()), version()": "clock and version, once an invocation",
}


def purpose(sql: str, model: str) -> str:
    """What a statement of a run is for, by its words; its first words where none is known."""
    text = " ".join(re.sub(r"^\s*/\*.*?\*/", "", sql, flags=re.DOTALL).split())
    for words, what in PURPOSES.items():
        wanted = words.format(lock=f"`{SCHEMA}`.`{model}__lock`", live=f"`{SCHEMA}`.`{model}__live`")
        if text == wanted or wanted != "SET" and wanted in text:
            return what
    return " ".join(text.split()[:3]).lower()


def main(payments: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        project, statements = Project(Path(folder)), Statements()
        add(spark, "payments", payments, START - WINDOW * DAY, START)
        project.model("kept_payments", KEPT.format(table=f"{SCHEMA}.payments"), materialized="temporal_view")
        model_appended(project)
        project.run(now=START)
        spent: dict[str, list[list[tuple[str, float]]]] = defaultdict(list)
        seconds: dict[str, list[float]] = defaultdict(list)
        for turn in range(1, rounds + 3):  # two to warm up
            now = START + turn * STEP
            add(spark, "payments", payments // 100, now - STEP, now)
            for what, name in (("append", "appended"), ("new rows", "kept_payments"), ("nothing new", "kept_payments")):
                statements.clear()
                took = project.run("-s", name, now=now)[name]["seconds"]
                if turn > 2:
                    seconds[what].append(took)
                    told = zip(statements.texts[name], statements.seconds[name])
                    spent[what].append([(purpose(sql, name), of_one) for sql, of_one in told])
        check_answer(spark, ["payments"], now)
        print(f"{payments:,} payments, {rounds} runs of each kind; {os.cpu_count()} cores, Spark {spark.version}")
        spark.stop()
    for what, runs in spent.items():
        print(f"\n| {what} | ms |\n|---|---|")
        for at, (text, _) in enumerate(runs[-1]):
            print(f"| {text} | {1000 * median(run[at][1] for run in runs if len(run) == len(runs[-1])):.0f} |")
        of_statements = [sum(one for _, one in run) for run in runs]
        print(f"| the {len(runs[-1])} statements together | {1000 * median(of_statements):.0f} |")
        print(f"| dbt's and the adapter's Python | {1000 * (median(seconds[what]) - median(of_statements)):.0f} |")
    appends = median(seconds["append"])
    for what in ("new rows", "nothing new"):
        print(f"a run with {what}: {median(seconds[what]):.2f} s, {median(seconds[what]) / appends:.1f} appends")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--payments", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    main(given.payments, given.rounds)
