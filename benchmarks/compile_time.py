"""How long a model takes from its text to the SQL that is run, without what Spark itself is asked.

The models are the conformance cases. Prints percentiles in ms and writes a plot.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import quantiles

import matplotlib
import yaml
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
CASES = yaml.safe_load((ROOT / "tests" / "conformance" / "cases.yaml").read_text())["cases"]
REPEATS = 3


class Clocked(Warehouse):
    """A warehouse that knows how long it was asked."""

    seconds = 0.0

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(lambda sql: [tuple(r) for r in self._timed(spark, sql)])

    def _timed(self, spark: SparkSession, sql: str) -> list:
        began = time.perf_counter()
        try:
            return spark.sql(sql).collect()
        finally:
            self.seconds += time.perf_counter() - began


def main(target: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    warehouse = Clocked(spark)
    settings = warehouse.settings()
    ours: list[float] = []
    for case in CASES:
        for name, columns in (("t", case["columns"]), ("u", case.get("u", {}).get("columns"))):
            if columns:
                nulls = ", ".join(f"CAST(NULL AS {kind}) AS `{column}`" for column, kind in columns.items())
                spark.sql(f"SELECT {nulls} WHERE false").createOrReplaceTempView(name)
        best = []
        for _ in range(REPEATS):
            warehouse.seconds, began = 0.0, time.perf_counter()
            model = understand(warehouse, case["sql"], settings, "4.1.4", 0)
            for core in model.cores:
                intervals_sql.desired(core, 0, None)
            best.append((time.perf_counter() - began - warehouse.seconds) * 1000)
        ours.append(min(best))
    spark.stop()
    ranks = quantiles(ours, n=100)
    print(f"compile time of {len(ours)} models, best of {REPEATS}, ms: median {ranks[49]:.1f}, 95th {ranks[94]:.1f}, "
          f"longest {max(ours):.1f}")  # fmt: skip
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(sorted(ours), [100 * (i + 1) / len(ours) for i in range(len(ours))])
    axes.axvline(50, linestyle=":", color="grey")
    axes.set(xlabel="ms from a model's text to its SQL, without Spark", ylabel="% of the conformance cases")
    figure.savefig(target / "compile_time.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "benchmarks" / "plots")
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
