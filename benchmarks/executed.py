"""How much of the code a run of one model executes: functions, their lines, and the modules in which they stand.

    python benchmarks/executed.py

A first run, a run with new rows and a run in which nothing is new, for each of three models. Whoever reads a run
from top to bottom passes through these functions.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from common import SCHEMA, Project, session

import dbt.adapters.sparktemporal as product

PACKAGE = Path(str(product.__file__)).parent
NOW = 1_709_294_400_000  # 2024-03-01 12:00 UTC
STEP = 60_000
#: all that the adapter has beside the materialization
UPPER = ("looking", "over_time")
WINDOW = "mz_now() <= ts + interval 30 days"
MODELS = {
    "window": f"select id, k, ts from {SCHEMA}.t where {WINDOW}",
    "grouped": f"select k, count(*) as n, sum(v) as total from {SCHEMA}.t where {WINDOW} group by k",
    "joined": f"with w as (select * from {SCHEMA}.t where {WINDOW}) "
    f"select w.id, u.name from w join {SCHEMA}.u on u.id = w.id",
}


@contextmanager
def executed() -> Iterator[set[tuple[str, int]]]:
    """The functions that are called meanwhile, in every thread: (file, the first line of the function)."""
    found: set[tuple[str, int]] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # None ends the profile


def functions(file: Path) -> Iterator[tuple[int, int]]:
    """(the first line, the number of lines) of each function, decorators included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, (node.end_lineno or first) - first + 1


def told(found: set[tuple[str, int]]) -> str:
    """The number of the executed functions, their lines and their modules, in words."""
    count, lines, upper, modules = 0, 0, 0, set()
    for file in sorted(PACKAGE.rglob("*.py")):
        for first, length in functions(file):
            if (str(file), first) in found:
                count += 1
                lines += length
                upper += length * (file.relative_to(PACKAGE).parts[0] in UPPER)
                modules.add(file)
    return f"{count} functions, {lines:,} lines in {len(modules)} modules; {upper} lines of the upper storeys"


def main() -> None:
    every = sorted(PACKAGE.rglob("*.py"))
    print(f"  {'all of the code':16} {sum(len(file.read_text().splitlines()) for file in every):,} lines")
    with tempfile.TemporaryDirectory() as folder:
        spark, project = session(Path(folder)), Project(Path(folder))
        rows = "SELECT id, 'a' AS k, id AS v, timestamp_millis({now}L) AS ts FROM range({rows})"
        spark.sql(f"CREATE TABLE t USING parquet AS {rows.format(now=NOW, rows=10)}")
        spark.sql("CREATE TABLE u USING parquet AS SELECT id, 'n' AS name FROM range(10)")
        for name, sql in MODELS.items():
            project.model(name, sql, materialized="temporal_view")
            with executed() as found:
                project.run("-s", name, now=NOW)
                spark.sql(f"INSERT INTO t {rows.format(now=NOW, rows=1)}")
                project.run("-s", name, now=NOW + STEP)
                project.run("-s", name, now=NOW + 2 * STEP)
            print(f"  {name:16} {told(found)}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
