"""What a model costs beside its rows: many small temporal views in one project.

    python benchmarks/many_models.py                      fifty models, on one thread and on four
    python benchmarks/many_models.py --models 20 --rounds 1
    python benchmarks/many_models.py --thrift             over a Thrift server on loopback

The models read two small tables: rows in a window, a count by group, and a join, in turn. Printed are the seconds of a
parse by dbt; seconds and statements per model of runs with nothing new (quiet) and with new rows (advancing); and where
the beginning of a run spends its time: waiting for Spark, in sqlglot, or elsewhere. Texts that sqlglot parses more than
once in the run of one model are listed with the functions that ask for it.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import wraps
from pathlib import Path
from statistics import median
from typing import Any

import pyspark
from common import ROOT, SCHEMA, Project, Statements, model_at_work, session, spread
from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession
from sqlglot.dialects.dialect import Dialect

from dbt.adapters.sparktemporal.impl import SparkTemporalAdapter

sys.path.insert(0, str(ROOT / "integration_tests"))
import thrift_server

from support.thrift_clients import Server

STEP = 60_000
ROWS = 1_000
SHAPES = {
    "rows": "select id, k, amount, ts from {s}.events where mz_now() <= ts + interval {d} days",
    "count": "select k, count(*) as n, sum(amount) as total from {s}.events "
    "where mz_now() <= ts + interval {d} days group by k",
    "join": "select e.id, e.ts, o.ts as other from {s}.events e join {s}.others o on e.id = o.id "
    "where mz_now() <= e.ts + interval {d} days and mz_now() >= o.ts",
}  # fmt: skip
OURS = os.sep + os.path.join("dbt", "adapters", "sparktemporal") + os.sep


class Clocks:
    """Seconds by what a thread waits for, while a model's run begins; only the outermost of nested calls counts."""

    def __init__(self, client: type) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.parsed: dict[str, Counter[str]] = defaultdict(Counter)
        self.askers: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.profile: cProfile.Profile | None = None
        self._thread = threading.local()
        self._wrap(Dialect, "parse", "parse", 1)
        self._wrap(Dialect, "parse_into", "parse", 2)
        self._wrap(Dialect, "tokenize", "tokenize")
        self._wrap(Dialect, "generate", "generate")
        self._wrap(client, "execute", "Spark")
        self._wrap(client, "fetchall", "Spark")
        self._begin(SparkTemporalAdapter)

    def clear(self) -> None:
        for counts in (self.seconds, self.calls, self.parsed, self.askers):
            counts.clear()

    @contextmanager
    def _clocked(self, name: str) -> Iterator[None]:
        if getattr(self._thread, "inside", False) or not getattr(self._thread, "begins", False):
            yield
            return
        self._thread.inside, began = True, time.perf_counter()
        try:
            yield
        finally:
            self._thread.inside = False
            self.seconds[name] += time.perf_counter() - began
            self.calls[name] += 1

    def _wrap(self, owner: type, method: str, name: str, text: int = 0) -> None:
        """text: the place of the argument that is the parsed text."""
        original: Callable[..., Any] = getattr(owner, method)

        @wraps(original)
        def clocked(*arguments: Any, **options: Any) -> Any:
            if text and model_at_work():
                self.parsed[model_at_work()][arguments[text]] += 1
                self.askers[model_at_work(), arguments[text]][asker()] += 1
            with self._clocked(name):
                return original(*arguments, **options)

        setattr(owner, method, clocked)

    def _begin(self, adapter: type[SparkTemporalAdapter]) -> None:
        original: Callable[..., Any] = adapter.temporal_begin

        @wraps(original)
        def begin(*arguments: Any, **options: Any) -> Any:
            self._thread.begins, began = True, time.perf_counter()
            if self.profile is not None:
                self.profile.enable()
            try:
                return original(*arguments, **options)
            finally:
                if self.profile is not None:
                    self.profile.disable()
                self._thread.begins = False
                self.seconds["begin"] += time.perf_counter() - began
                self.calls["begin"] += 1

        adapter.temporal_begin = begin


def asker() -> str:
    """The function of the adapter that has a text parsed, and the function that called this one."""
    frame, found = sys._getframe(2), list[str]()
    while frame is not None and len(found) < 2:
        code = frame.f_code
        if OURS in code.co_filename and not code.co_filename.endswith("dialect.py"):
            found.append(f"{code.co_filename.split(OURS)[1].removesuffix('.py')}.{code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


@contextmanager
def server(home: Path) -> Iterator[Server]:
    """A Thrift server, with the schema of the benchmarks."""
    port = thrift_server.free_port()
    with thrift_server.running(home, port), closing(thrift_server.connect(port)) as connection:
        found = Server(port, home, connection)
        found.sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
        found.sql(f"USE {SCHEMA}")
        yield found


@contextmanager
def embedded(home: Path) -> Iterator[SparkSession]:
    spark = session(home)
    yield spark
    spark.stop()


def main(models: int, threads: list[int], turns: int, thrift: bool) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        spark: Any = stack.enter_context((server if thrift else embedded)(Path(folder)))
        client = PyhiveConnectionWrapper if thrift else Cursor
        project = Project(Path(folder), spark.profile if thrift else None)
        statements, clocks = Statements(client=client), Clocks(client)
        for table in ("events", "others"):
            spark.sql(f"CREATE TABLE {table} USING parquet AS {rows(milliseconds() - ROWS * STEP, ROWS)}")
        names = list(SHAPES)
        for number in range(models):
            shape = names[number % len(names)]
            text = SHAPES[shape].format(s=SCHEMA, d=2 + number)
            project.model(f"{shape}_{number}", text, materialized="temporal_view")
        print(
            f"{models} models, {os.cpu_count()} cores, Spark {pyspark.__version__}{', over Thrift' if thrift else ''}"
        )
        print(f"  dbt parse, nothing remembered  {took(lambda: project.command('parse', '--no-partial-parse')):.2f} s")
        print(f"  dbt parse, nothing changed     {took(lambda: project.command('parse')):.2f} s")
        project.run()
        measured: dict[tuple[int, str], list[dict[str, float]]] = defaultdict(list)
        for _ in range(turns):  # the first run of all models was the warm-up
            for number in threads:
                new_rows(spark)
                for kind in ("advancing", "quiet"):
                    measured[number, kind].append(run(project, statements, number))
        show(measured)
        for kind in ("advancing", "quiet"):
            if kind == "advancing":
                new_rows(spark)
            clocks.clear()
            run(project, statements, 1)
            begins(kind, clocks)
            repeated(kind, clocks)
        clocks.profile = cProfile.Profile()
        run(project, statements, 1)
        profile(clocks.profile)


def rows(since: int, number: int) -> str:
    """SQL of rows, one each minute from an instant (ms) on."""
    return (
        f"SELECT id, CAST(id % 10 AS INT) AS k, CAST(id AS DECIMAL(10, 2)) AS amount, "
        f"timestamp_millis({since}L + id * {STEP}L) AS ts FROM range({number})"
    )


def milliseconds() -> int:
    """The clock, which is not pinned here: another var of dbt would have every invocation parse the whole project."""
    return int(time.time() * 1000)


def new_rows(spark: Any) -> None:
    for table in ("events", "others"):
        spark.sql(f"INSERT INTO {table} {rows(milliseconds() - 10 * STEP, 10)}")


def took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def run(project: Project, statements: Statements, threads: int) -> dict[str, float]:
    """One dbt run of all models: its seconds, and seconds and statements of a model in the mean."""
    statements.clear()
    began = time.perf_counter()
    said = project.run("--threads", str(threads))
    wall = time.perf_counter() - began
    of_models = sum(len(texts) for name, texts in statements.texts.items() if name)
    return {
        "seconds of an invocation": wall,
        "… divided by models": wall / len(said),
        "seconds of a model, by dbt's clock": sum(one["seconds"] for one in said.values()) / len(said),
        "statements of a model": of_models / len(said),
        "statements around the models": len(statements.texts.get("", [])),
    }


def show(measured: dict[tuple[int, str], list[dict[str, float]]]) -> None:
    for (threads, kind), runs in measured.items():
        print(f"{kind}, {threads} thread{'s' if threads > 1 else ''}")
        for what in runs[0]:
            values = [one[what] for one in runs]
            print(f"  {what:36} {spread(values) if 'seconds' in what or '…' in what else f'{median(values):g}'}")


def begins(kind: str, clocks: Clocks) -> None:
    """Where the beginning of a run spends its time, in ms a model."""
    number = clocks.calls["begin"]
    whole = clocks.seconds["begin"]
    print(f"the beginning of a run, {kind}, 1 thread: {1000 * whole / number:.0f} ms a model")
    inside = {name: clocks.seconds[name] for name in ("Spark", "parse", "tokenize", "generate")}
    inside["elsewhere"] = whole - sum(inside.values())
    for name, seconds in inside.items():
        label = name if name in ("Spark", "elsewhere") else f"sqlglot: {name}"
        calls = f", {clocks.calls[name] / number:.1f} calls" if clocks.calls[name] else ""
        print(f"  {label:20} {1000 * seconds / number:7.1f} ms  {100 * seconds / whole:5.1f} %{calls}")


def repeated(kind: str, clocks: Clocks) -> None:
    """The texts that are parsed more than once in the run of one model: of one model of each shape."""
    calls = [sum(counts.values()) for counts in clocks.parsed.values()]
    texts = [len(counts) for counts in clocks.parsed.values()]
    if not calls:
        return
    print(f"texts that sqlglot parses in a run, {kind}: {median(calls):g} calls and {median(texts):g} texts a model")
    for shape in SHAPES:
        model = next((name for name in sorted(clocks.parsed) if name.startswith(f"{shape}_")), None)
        for text, count in clocks.parsed[model].most_common() if model else ():
            if count > 1:
                print(f"  {model}: {count} times, {len(text):,} characters: {' '.join(text.split())[:90]}")
                for name, number in clocks.askers[model or "", text].most_common(6):
                    print(f"      {number:4} {name}")


def profile(profiled: cProfile.Profile) -> None:
    """Own time by package in the beginning of quiet runs, by the profiler, which makes small functions look slower."""
    stats: dict[Any, Any] = pstats.Stats(profiled).stats  # type: ignore[attr-defined]  # which the stubs leave out
    shares: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for (file, line, name), (_, _, own, _, callers) in stats.items():
        parts = file.split(os.sep)
        package = next((p for p in ("sqlglot", "py4j", "pyspark", "sparktemporal") if p in parts), "elsewhere")
        if file == "~":  # built in: what calls it pays
            for (caller, _, _), (_, _, share, _) in callers.items():
                of = next((p for p in ("sqlglot", "py4j", "pyspark", "sparktemporal") if p in caller.split(os.sep)), "")
                shares[("waits for Spark" if "socket" in name else of) or "elsewhere"] += share
            continue
        shares[package] += own
        if package in ("sqlglot", "sparktemporal"):
            functions[f"{'/'.join(parts[-2:])}:{line} {name}"] += own
    whole = sum(shares.values())
    print("own time in the beginning of quiet runs, by the profiler")
    for package, seconds in shares.most_common():
        print(f"  {package:20} {100 * seconds / whole:5.1f} %")
    for name, seconds in functions.most_common(12):
        print(f"    {100 * seconds / whole:5.1f} %  {name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--thrift", action="store_true")
    given = parser.parse_args()
    main(given.models, given.threads, given.rounds, given.thrift)
