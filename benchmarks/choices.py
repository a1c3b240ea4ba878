"""Seconds of each way of a run over changes, the way that the run chooses, and how much longer that took than the best.

    python benchmarks/choices.py                                        10,000, 100,000 and a million rows
    python benchmarks/choices.py --sizes 3000000 --changed 1 50 --rounds 3

A model over payments of a window, kept as rows and as groups by customer, is brought up to date in two ways. One goes
on with what is stored: of new payments it appends, or merges, as the sizes of chains say; payments that are written
anew with other amounts it compares. The other is a rebuild. The ways of a round follow each other over the same table
and the same stored rows, in an order that turns. Seconds are of dbt's clock around the model, so without starting dbt
or Spark. Each answer is compared with Spark's own.

The last column is the time of what was chosen as a multiple of the better way. A choice is right up to 1.1.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

from common import SCHEMA, Project, session
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.run import ways
from dbt.adapters.sparktemporal.run.plan import RunPlan
from dbt.adapters.sparktemporal.run.ways import Sizes

DAY = 86_400_000
#: a choice may take so many times as long as the better way
MOST = 1.1
GOES_ON, REBUILD = "goes on", "rebuild"
NEW, ANEW = "new", "anew"
FORMS = {
    "rows": "select id, customer, amount, ts from {table} where mz_now() <= ts + interval 30 days",
    "groups": "select customer, count(*) as n, sum(amount) as total from {table} "
    "where mz_now() <= ts + interval 30 days group by customer",
}
#: the rule itself, which `forced` puts aside
RULE = vars(Sizes)["is_rebuilt"].fget
#: no row leaves within a day of the start (ms), so that answers can be compared
START = int(time.time() * 1000)


def payments(first: int, number: int, changed: float = 0.0) -> str:
    """A query of payments of the last 29 days. changed: the share of them with another amount than before."""
    amount = f"pmod(xxhash64(id, IF(pmod(xxhash64(id, 7), 100000) < {round(changed * 100_000)}, 2, 1)), 100000)"
    return (
        f"SELECT id, CAST(pmod(xxhash64(id), 10000) AS INT) AS customer, "
        f"CAST({amount} / 100 AS DECIMAL(10, 2)) AS amount, "
        f"timestamp_millis({START - 29 * DAY}L + pmod(xxhash64(id, 3), {29 * DAY}L)) AS ts "
        f"FROM range({first}, {first + number})"
    )


@contextmanager
def forced(way: str, chosen: list[str]) -> Iterator[None]:
    """Runs inside of this take a way, whatever the rule says. chosen: gets what the rule says."""
    why = ways.why_rebuild

    def noted(plan: RunPlan) -> str:
        told = ways.choice(plan)
        if told is not None:
            chosen.append(REBUILD if RULE(ways.sizes(plan)) else told[0])
        return why(plan)

    with patch.object(ways, "why_rebuild", noted), patch.object(Sizes, "is_rebuilt", way == REBUILD):
        yield


class Cells:
    """The models of one size, over one table."""

    def __init__(self, spark: SparkSession, project: Project, size: int) -> None:
        self.spark, self.project, self.size = spark, project, size
        self.table = f"{SCHEMA}.payments_{size}"
        self.queries = {f"{form}_{size}": sql.format(table=self.table) for form, sql in FORMS.items()}
        for name, sql in self.queries.items():
            project.model(name, sql, materialized="temporal_view", aggregates="groups")
        spark.sql(f"CREATE TABLE {self.table} USING parquet AS {payments(0, size)}")
        project.run("-s", *self.queries)

    def measure(self, share: float, change: str, turns: int) -> Iterator[float]:
        """Measure and print the cells of one change, by form -> for each, what was chosen ÷ the better way."""
        seconds: dict[tuple[str, str], list[float]] = {}
        chosen: dict[str, list[str]] = {name: [] for name in self.queries}
        for turn in range(turns):
            for way in (GOES_ON, REBUILD) if turn % 2 else (REBUILD, GOES_ON):
                self.change(share, change)
                for name in self.queries:
                    with forced(way, chosen[name]):
                        said = self.project.run("-s", name)[name]
                    if (said["action"] == "restarted") != (way == REBUILD):
                        raise SystemExit(f"{name}: {said['action']}, where {way} was forced")
                    seconds.setdefault((name, way), []).append(said["seconds"])
                    self.check_answer(name)
        for name in self.queries:
            took = {way: median(seconds[name, way]) for way in (GOES_ON, REBUILD)}
            way = chosen[name][-1]
            found = took[REBUILD if way == REBUILD else GOES_ON] / min(took.values())
            note = "" if found <= MOST else "  wrong"
            print(
                f"{self.size:>10,} {share:>7g} % {change:5} {name.partition('_')[0]:7} {took[GOES_ON]:>8.2f} "
                f"{took[REBUILD]:>8.2f}  {way:8} {found:>8.2f}{note}",
                flush=True,
            )
            yield found

    def change(self, share: float, change: str) -> None:
        """The models are built anew over the first payments. Then a share (per cent) is new, or written anew."""
        self.spark.sql(f"INSERT OVERWRITE {self.table} {payments(0, self.size)}")
        self.project.run("-s", *self.queries, "--full-refresh")
        if change == NEW:
            self.spark.sql(f"INSERT INTO {self.table} {payments(self.size, max(round(self.size * share / 100), 1))}")
        else:
            self.spark.sql(f"INSERT OVERWRITE {self.table} {payments(0, self.size, share / 100)}")

    def check_answer(self, name: str) -> None:
        asked = self.queries[name].replace("mz_now()", "current_timestamp()")
        whole = "SELECT count(*), sum(CAST(xxhash64(*) AS DECIMAL(20))) FROM"
        ours, plain = (self.spark.sql(f"{whole} ({sql})").first() for sql in (f"SELECT * FROM {SCHEMA}.{name}", asked))
        if ours != plain:
            raise SystemExit(f"{name}: the view has {ours}, the query {plain}")


def main(sizes: list[int], shares: list[float], turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark, project = session(Path(folder)), Project(Path(folder))
        print(f"a window of 30 days; {os.cpu_count()} cores, Spark {spark.version}; seconds, {turns} rounds")
        print(f"{'rows':>10} {'changed':>9} {'':5} {'kept as':7} {GOES_ON:>8} {REBUILD:>8}  {'chosen':8} ÷ better")
        found: list[float] = []
        for size in sizes:
            cells = Cells(spark, project, size)
            for share in shares:
                for change in (NEW, ANEW):
                    found += cells.measure(share, change, turns)
        spark.stop()
    right = sum(one <= MOST for one in found)
    print(f"{right} of {len(found)} choices took at most {MOST} times the better way, the worst {max(found):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--changed", type=float, nargs="+", default=[0.1, 1, 10, 50], help="per cent of the rows")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    main(given.sizes, given.changed, given.rounds)
