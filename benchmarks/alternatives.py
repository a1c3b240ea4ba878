"""The events of the last 30 days, kept in seven ways: seconds of a run and of a read, wrong rows, bytes.

    python benchmarks/alternatives.py                             300,000 events in the window
    python benchmarks/alternatives.py --events 3000000 --live     ten times that, and Pathway (make bench-full)

The models are the files of `alternative_models`, each as a competent user writes the model:

| way | configuration |
|---|---|
| temporal_view | the query as written, Parquet |
| plain_view | comparisons that Spark pushes to the files, and the partition's by hand |
| rebuilt_table | materialized='table', Parquet, the same comparisons |
| append_delete | incremental on Delta, by day: append of what is later than the latest row, delete in a post-hook |
| merge_delete | incremental on Delta, by day: merge of today's and yesterday's rows by id, delete in a post-hook |
| microbatch | on Delta, batches of a day, lookback 1; delete in a post-hook, since microbatch itself deletes nothing |
| pathway | `forget` at 30 days, driven by a clock; groups in memory, changes as CSV (--live: in .venv-pathway) |

Both incremental models have deletion vectors, and the merge compares only the days that it writes.

Pathway's clock ticks each second, and `forget` acts at the next tick: the benchmark also gives the tick before an
instant.

Events are spread evenly over 40 days, each at a random millisecond of an interval of the same length, and come in daily
partitions of Parquet. So rows leave the window in each minute.
Each round adds 1 % of the window and runs each model once, in turn, at an instant of the replayed clock (`clock()` in
the models). The last run is at the time of the benchmark, so views with `current_timestamp()` are read as they are.

A wrong row is one that a way shows and the query as written, evaluated by Spark at the instant, does not show, or the
reverse. The instants are a minute, an hour and a day after the last run, while nothing new arrives; and again a day
after, when events have arrived at the same rate.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

import dark
import matplotlib
from common import ROOT, SCHEMA, Project, ratio, rounds, session, spread
from pyspark.sql import SparkSession

matplotlib.use("Agg")
sys.path.insert(0, str(ROOT / "tests"))
import matplotlib.pyplot as plt

from support.delta import WITH_DELTA

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
WINDOW, HISTORY = 30 * DAY, 40 * DAY
STEP = WINDOW // 100  # 1 % of the window
TICK = 1000  # of Pathway's clock
KEYS = 10_000
LATER = {"a minute": MINUTE, "an hour": HOUR, "a day": DAY}
MODELS = Path(__file__).parent / "alternative_models"
WAYS = ("temporal_view", "plain_view", "rebuilt_table", "append_delete", "merge_delete", "microbatch")
LIVE = "pathway"
LABELS = {
    "temporal_view": "temporal_view",
    "plain_view": "plain view",
    "rebuilt_table": "table, rebuilt",
    "append_delete": "append + delete",
    "merge_delete": "merge + delete",
    "microbatch": "microbatch + delete",
    LIVE: "Pathway, a process",
}
COLUMNS = "id, customer, amount, ts"
READS = {
    "by customer": "select customer, count(*) as n, sum(amount) as total from {way} group by customer",
    "rows": f"select {COLUMNS} from {{way}}",
}
CLOCK = (
    "{% macro clock() %}{% if var('temporal_now', none) %}timestamp_millis({{ var('temporal_now') }}L)"
    "{% else %}current_timestamp(){% endif %}{% endmacro %}"
)
SETTINGS = {
    "spark.sql.shuffle.partitions": "8",  # of 200: for 2 cores
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 has no statistics
}


class Feed:
    """An event in each interval of the same length, somewhere in it. The table holds what has arrived by an instant."""

    def __init__(self, spark: SparkSession, number: int, since: int) -> None:
        self.spark, self.gap, self.since, self.next = spark, WINDOW / number, since, 0

    def until(self, instant: int) -> str:
        """Lets the events arrive up to an instant -> the rows as a query."""
        end = int((instant - self.since) // self.gap) + 1
        rows = (
            f"SELECT id, CAST(pmod(xxhash64(id), {KEYS}) AS INT) AS customer, "
            f"CAST(pmod(xxhash64(id, 1), 100000) / 100 AS DECIMAL(10, 2)) AS amount, "
            f"timestamp_millis({self.since}L + CAST(id * {self.gap!r}D AS BIGINT) "
            f"- pmod(xxhash64(id, 2), {int(self.gap)})) AS ts FROM range({self.next}, {end})"
        )
        by_day = f"SELECT /*+ REBALANCE(day) */ *, CAST(ts AS DATE) AS day FROM ({rows})"
        there = self.next > 0
        made = "INSERT INTO events" if there else "CREATE TABLE events USING parquet PARTITIONED BY (day) AS"
        self.spark.sql(f"{made} {by_day}")
        self.next = end
        return rows


class Live:
    """Pathway in a process of its own. The process sleeps while other ways are measured."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.folder, self.files = spark, home / "live", 0
        for name in ("events", "clock"):
            (self.folder / name).mkdir(parents=True)
        python = ROOT / ".venv-pathway" / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pathway==0.33.*"]
        subprocess.run(pip, check=True)
        with (self.folder / "log").open("w") as log:
            command = [str(python), str(MODELS / "live_window.py"), str(self.folder)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def add(self, rows: str, instant: int) -> None:
        """Makes a file of rows, and brings the clock to the tick before an instant."""
        cents = (
            f"SELECT id AS event, customer, CAST(amount * 100 AS INT) AS amount, unix_millis(ts) AS ts FROM ({rows})"
        )
        self.files += 1
        made = self.folder / f"made{self.files}"
        self.spark.sql(cents).coalesce(1).write.csv(str(made), header=True)
        (self.file,) = made.glob("part-*")
        with self.awake():
            self.tick(instant - TICK)
            self.wait(lambda found: found.get("now", 0) >= instant - TICK, most=120)
            time.sleep(0.5)

    def give(self, instant: int) -> None:
        self.file.rename(self.folder / "events" / f"{self.files:06}.csv")
        self.tick(instant)

    def tick(self, instant: int) -> None:
        made = self.folder / "tick"
        made.write_text(f"now\n{instant}\n")
        made.rename(self.folder / "clock" / f"{instant}.csv")

    def status(self) -> dict[str, int]:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.folder / "status.json").read_text())
        return {}

    def wait(self, right: Callable[[dict[str, int]], bool], most: float) -> bool:
        """Until the engine shows what is expected."""
        until = time.perf_counter() + most
        while time.perf_counter() < until:
            if right(self.status()):
                return True
            if self.process.poll() is not None:
                raise RuntimeError(f"the process ended: {(self.folder / 'log').read_text()[-300:]}")
            time.sleep(0.01)
        return False

    def shown(self) -> str:
        """The rows in the window, from the changes that the engine wrote, as a query."""
        every = f"read_csv_{self.files}"
        schema = "event BIGINT, customer INT, amount INT, ts BIGINT, time BIGINT, diff INT"
        self.spark.read.csv(str(self.folder / "changes.csv"), schema=schema, header=True).createOrReplaceTempView(every)
        return (
            f"SELECT event AS id, customer, CAST(amount / 100 AS DECIMAL(10, 2)) AS amount, timestamp_millis(ts) AS ts "
            f"FROM {every} GROUP BY event, customer, amount, ts HAVING sum(diff) > 0"
        )

    def read(self) -> None:
        port = (self.folder / "port").read_text()
        json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=30).read())

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


class Bench:
    def __init__(self, home: Path, number: int, turns: int) -> None:
        self.home, self.number, self.turns = home, number, turns
        self.spark = session(home, {**WITH_DELTA, **SETTINGS})
        self.last = int(time.time() * 1000) // MINUTE * MINUTE
        self.first = self.last - (turns + 1) * STEP  # one round is to warm up
        self.feed = Feed(self.spark, number, self.last - HISTORY)
        self.project = Project(home)
        for file in (*MODELS.glob("*.sql"), *MODELS.glob("*.yml")):
            shutil.copy(file, self.project.home / "models")
        (self.project.home / "macros").mkdir()
        (self.project.home / "macros" / "clock.sql").write_text(CLOCK)
        self.seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        self.live: Live | None = None
        self.failed = "needs --live"

    # -- runs --

    def vars(self, now: int) -> list[str]:
        begin = datetime.fromtimestamp((self.first - WINDOW) / 1000, timezone.utc).strftime("%Y-%m-%d")
        return ["--vars", json.dumps({"temporal_now": now, "begin": begin})]

    def run(self, way: str, now: int, first: bool = False) -> float:
        """dbt run of a way at an instant -> seconds, by dbt's clock around the model."""
        args = ["-s", way, *self.vars(now)]
        if way == "microbatch":
            args += batches(now, self.first - WINDOW if first else None)
        (result,) = self.project.command("run", *args)
        return float(result.execution_time)

    def build(self) -> None:
        self.feed.until(self.first)
        for way in WAYS:
            print(f"  first run of {way}: {self.run(way, self.first, first=True):.1f} s", flush=True)

    def start_live(self) -> None:
        try:
            self.live = Live(self.spark, self.home)
            self.live.add(f"SELECT {COLUMNS} FROM ({self.oracle(self.first)})", self.first)
            began = time.perf_counter()
            right = self.right(self.first)
            with self.live.awake():
                self.live.give(self.first)
                done = self.live.wait(right, most=60 + self.number / 5_000)
            if not done:
                raise RuntimeError(f"the first events were not in the window in time: {self.live.status()}")
            print(f"  Pathway reads the window in {time.perf_counter() - began:.0f} s", flush=True)
            self.seconds[LIVE] = []
        except Exception as error:  # whatever it is goes into the table
            self.give_up(error)

    def give_up(self, error: object) -> None:
        self.failed = " ".join(str(error).split())[:300]
        self.seconds.pop(LIVE, None)
        if self.live:
            self.live.stop()
            self.live = None

    def all_rounds(self) -> None:
        for turn in range(self.turns + 1):
            now = self.first + (turn + 1) * STEP
            rows = self.feed.until(now)
            shift = turn % len(WAYS)
            for way in WAYS[shift:] + WAYS[:shift]:
                if way != "plain_view":  # its definition does not change
                    self.seconds[way].append(self.run(way, now))
            self.live_round(rows, now)
        for way in self.seconds:
            self.seconds[way] = self.seconds[way][1:]

    def live_round(self, rows: str, now: int) -> None:
        if not self.live:
            return
        right = self.right(now)
        self.live.add(rows, now)
        with self.live.awake():
            began = time.perf_counter()
            self.live.give(now)
            done = self.live.wait(right, most=120)
            self.seconds[LIVE].append(time.perf_counter() - began)
        if not done:
            self.give_up(f"its answer after a run was not the expected one in 120 s: {self.live.status()}")

    # -- answers --

    def oracle(self, instant: int) -> str:
        """The query as written, at an instant."""
        written = (MODELS / "temporal_view.sql").read_text().partition("\n\n")[2]
        named = written.replace("{{ source('shop', 'events') }}", f"{SCHEMA}.events")
        return named.replace("mz_now()", f"timestamp_millis({instant}L)")

    def right(self, instant: int) -> Callable[[dict[str, int]], bool]:
        """Whether Pathway shows the window of an instant, but for the rows that leave in two ticks."""
        rows, ids = self.spark.sql(f"SELECT count(*), sum(id) FROM ({self.oracle(instant)})").first()
        few = int(2 * TICK / self.feed.gap) + 1

        def compare(found: dict[str, int]) -> bool:
            near = abs(found.get("rows", 0) - rows) <= few
            return near and abs(found["ids"] - ids) <= few * self.feed.next and found["now"] == instant

        return compare

    def shown(self, way: str, instant: int) -> str:
        """What a way shows at an instant with no further run, as a query."""
        if way == "temporal_view":
            text = f"select {COLUMNS} from {{{{ temporal_as_of(ref('temporal_view'), {instant}) }}}}"
            with contextlib.redirect_stdout(io.StringIO()):  # dbt prints it
                found = self.project.command("compile", "--inline", text, *self.vars(self.last))
            return str(found.results[0].node.compiled_code)
        if way == "plain_view":
            described = self.spark.sql(f"DESCRIBE TABLE EXTENDED {way}").collect()
            text = next(r.data_type for r in described if r.col_name == "View Text")
            assert "current_timestamp()" in text, text
            return text.replace("current_timestamp()", f"timestamp_millis({instant}L)")
        if way == LIVE:
            assert self.live
            return self.live.shown()
        return f"SELECT {COLUMNS} FROM {way}"

    def wrong(self, way: str, instant: int) -> tuple[int, int]:
        """Rows too many and rows missing."""
        shown, oracle = self.shown(way, instant), self.oracle(instant)
        both = f"SELECT *, 1 AS side FROM ({shown}) UNION ALL SELECT *, -1 FROM ({oracle})"
        sides = f"SELECT sum(side) AS side FROM ({both}) GROUP BY {COLUMNS} HAVING sum(side) <> 0"
        found = self.spark.sql(f"SELECT sum(greatest(side, 0)), sum(greatest(-side, 0)) FROM ({sides})").first()
        return int(found[0] or 0), int(found[1] or 0)

    def all_wrong(self) -> dict[str, dict[str, tuple[int, int]]]:
        found: dict[str, dict[str, tuple[int, int]]] = {way: {} for way in self.ways()}
        nothing = f"SELECT {COLUMNS} FROM events WHERE false"
        steps = [(name, self.last + after, False) for name, after in LATER.items()]
        for name, instant, arriving in [("at the run", self.last, False), *steps, ("arriving", self.last + DAY, True)]:
            rows = self.feed.until(instant) if arriving else nothing
            if self.live:
                self.tell(rows, instant)
            for way in found:
                found[way][name] = self.wrong(way, instant)
        return found

    def tell(self, rows: str, instant: int) -> None:
        """The live engine hears of rows and of the clock, and has time to answer."""
        assert self.live
        if self.live.status()["now"] == instant and rows.endswith("false"):
            return
        right = self.right(instant)
        self.live.add(rows, instant)
        with self.live.awake():
            self.live.give(instant)
            self.live.wait(right, most=15)  # right or not: the rows are compared afterwards
            time.sleep(2)

    def ways(self) -> tuple[str, ...]:
        return (*WAYS, LIVE) if self.live else WAYS

    # -- reads and bytes --

    def read(self, sql: str) -> None:
        """Every row of the answer, keeping none. Delta does not serve a write of a DataFrame to `noop`."""
        self.spark.sql(sql)._jdf.queryExecution().toRdd().count()

    def all_reads(self, turns: int) -> dict[str, dict[str, list[float]]]:
        found = {}
        for name, query in READS.items():
            sql = {way: query.format(way=way) for way in WAYS}
            ways: dict[str, Callable[[], object]] = {
                way: (lambda text=text: self.read(text)) for way, text in sql.items()
            }
            found[name] = rounds(turns, ways, warm=3)
        if self.live:
            with self.live.awake():
                found["by customer"].update(rounds(turns, {LIVE: self.live.read}, warm=1))
        return found

    def stored(self) -> dict[str, tuple[int, int]]:
        """Bytes of the files that a read opens, and bytes on disk."""
        found = {}
        for way in WAYS:
            names = [file.removeprefix("file:") for file in self.spark.table(way).inputFiles()]
            opened = sum(os.path.getsize(name.replace("%3D", "=").replace("///", "/")) for name in names)
            folders = (self.home / "warehouse" / f"{SCHEMA}.db").glob(f"{way}*")
            disk = sum(f.stat().st_size for folder in folders for f in folder.rglob("*") if f.is_file())
            found[way] = (opened, disk)
        return found


def batches(now: int, begin: int | None) -> list[str]:
    """The batches that dbt takes by itself: today's and yesterday's; at the first run all since `begin`."""
    today = datetime.fromtimestamp(now / 1000, timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    start = datetime.fromtimestamp(begin / 1000, timezone.utc) if begin else today - timedelta(days=1)
    end = today + timedelta(days=1)
    return ["--event-time-start", start.strftime("%Y-%m-%d"), "--event-time-end", end.strftime("%Y-%m-%d")]


def main(number: int, turns: int, live: bool, targets: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), number, turns)
        machine = f"{os.cpu_count()} cores, Spark {bench.spark.version}"
        print(f"{number:,} events in a window of 30 days, 1 % new a run; {machine}", flush=True)
        try:
            bench.build()
            if live:
                bench.start_live()
            bench.all_rounds()
            for way, values in bench.seconds.items():
                print(f"  runs of {way}: {' '.join(f'{value:.2f}' for value in values)} s", flush=True)
            reads = bench.all_reads(max(5, turns))
            stored = bench.stored()
            memory = bench.live.status()["memory"] if bench.live else 0
            wrong = bench.all_wrong()
        finally:
            if bench.live:
                bench.live.stop()
        bench.spark.stop()
    show(bench, reads, stored, wrong, memory)
    plot(bench, reads, stored, wrong, memory, number, targets)


def show(bench: Bench, reads: dict, stored: dict, wrong: dict, memory: int) -> None:
    ours = "temporal_view"
    print("\n| way | run, s | ÷ ours | read by customer, s | ÷ ours | read of the rows, s | ÷ ours |")
    print("|---|---|---|---|---|---|---|")
    for way in bench.ways():
        cells = []
        for found in (bench.seconds, reads["by customer"], reads["rows"]):
            if found.get(way):
                cells += [spread(found[way]), ratio(found[way], found[ours])]
            else:
                cells += ["none", "-"]
        print(f"| {LABELS[way]} | {' | '.join(cells)} |")
    instants = "at the run | a minute after | an hour | a day | a day, events arriving"
    print(f"\n| way | {instants} | MB a read opens | MB on disk |")
    print("|---|---|---|---|---|---|---|---|")
    for way in bench.ways():
        counts = [f"{extra:,} + {missing:,}" for extra, missing in wrong[way].values()]
        sizes = [f"{size / 1e6:.1f}" for size in stored[way]] if way in stored else ["-", f"memory {memory / 1e6:,.0f}"]
        print(f"| {LABELS[way]} | {' | '.join([*counts, *sizes])} |")
    print("(wrong rows: too many + missing)")
    if not bench.live:
        print(f"{LABELS[LIVE]}: not measured: {bench.failed}")


def plot(bench: Bench, reads: dict, stored: dict, wrong: dict, memory: int, number: int, targets: list[Path]) -> None:
    ways = bench.ways()[::-1]
    labels = [LABELS[way] for way in ways]
    colors = ["tab:blue" if way == "temporal_view" else "silver" for way in ways]
    figure, axes = plt.subplots(1, 4, figsize=(10.5, 3.9), layout="constrained", sharey=True, facecolor="white")
    panels = [
        ("seconds of a run\nwith 1 % new rows", [median(bench.seconds.get(w) or [0]) for w in ways], "{:.2f}"),
        ("seconds of a read\nby customer", [median(reads["by customer"].get(w) or [0]) for w in ways], "{:.2f}"),
        ("wrong rows\nan hour after a run", [sum(wrong[w]["an hour"]) for w in ways], "{:,}"),
        ("MB on disk\n", [(stored[w][1] if w in stored else 0) / 1e6 for w in ways], "{:,.0f}"),
    ]
    for axis, (title, values, form) in zip(axes, panels):
        axis.barh(labels, values, color=colors)
        for place, (way, value) in enumerate(zip(ways, values)):
            said = form.format(value)
            if axis is axes[0] and not bench.seconds.get(way):
                said = "none needed"
            if axis is axes[-1] and way not in stored:
                said = f"{memory / 1e6:,.0f} in memory"
            axis.text(value, place, f" {said}", va="center", fontsize=10)
        axis.set_title(title, fontsize=11)
        axis.set_xlim(0, max(*values, 0.01) * 1.45)
        axis.xaxis.set_visible(False)
        axis.tick_params(axis="y", labelsize=11, length=0)
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
    title = (
        f"The events of the last 30 days, kept in {len(ways)} ways: {number / 1e6:g} million, {os.cpu_count()} cores"
    )
    figure.suptitle(title, fontsize=12)
    for target in targets:
        dark.save(figure, target / "alternatives.png", dpi=150, facecolor="white")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", type=int, default=300_000, help="in the window of 30 days; there are 40 days of events"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--live", action="store_true", help="Pathway too, installed into .venv-pathway (1.6 GB)")
    parser.add_argument("--docs", action="store_true", help="the plot also into docs/images")
    plots = Path(__file__).parent / "plots"
    plots.mkdir(exist_ok=True)
    given = parser.parse_args()
    main(given.events, given.rounds, given.live, [plots, ROOT / "docs" / "images"] if given.docs else [plots])
