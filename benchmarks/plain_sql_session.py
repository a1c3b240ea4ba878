"""A session of Spark that has no Python of the adapter: it executes statements from a file, and compares answers.

python benchmarks/plain_sql_session.py FILE      FILE: as `plain_sql.py` writes it
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

#: where a query has an instant (ms)
MARK = "mz_instant"
CLOCK = "unix_millis(current_timestamp())"
#: of one model: stored instants, each with the millisecond before; instants of the inputs, each with both neighbours
STORED, OF_INPUTS = 4, 3


def session(home: str) -> SparkSession:
    conf = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",  # as dbt-spark sets it
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.wholeStage": "false",  # a few rows: planning is what takes time
        "spark.sql.warehouse.dir": home,
    }
    builder = SparkSession.builder.appName("plain SQL")
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def instants(spark: SparkSession, model: dict[str, Any]) -> list[int]:
    """Where an answer may be wrong: at what is stored, and at the instants of the inputs moved by the model's lengths.

    A conformance case names its instants itself.
    """
    if model["instants"]:
        return list(model["instants"])
    stored = [t for (t,) in spark.sql(f"SELECT DISTINCT mz_timestamp FROM {model['view']}__diffs").collect()]
    of_inputs = {_millis(value) + n for sql in model["times"] for row in spark.sql(sql).collect() for value in row
                 if value is not None for n in model["lengths"]}  # fmt: skip
    first = model["frontier"]
    chosen = {first}
    chosen |= {t - n for t in _some(sorted(t for t in stored if t > first), STORED) for n in (0, 1)}
    chosen |= {t + n for t in _some(sorted(t for t in of_inputs if t > first), OF_INPUTS) for n in (-1, 0, 1)}
    return sorted(t for t in chosen if t >= first)


def _some(values: list[int], most: int) -> list[int]:
    return values if len(values) <= most else [values[i * len(values) // most] for i in range(most)]


def _millis(value: date) -> int:
    at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return (at.replace(tzinfo=timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def answers(spark: SparkSession, query: str, at: list[int]) -> Counter[str]:
    """The rows of a query at each of some instants."""
    arms = [f"SELECT {t}L AS mz_at, mz_one.* FROM (\n{query.replace(MARK, f'{t}L')}\n) AS mz_one" for t in at]
    return Counter(_text(tuple(row)) for row in spark.sql("\nUNION ALL\n".join(arms)).collect())


def _text(value: Any) -> str:
    """A value as text; doubles to nine digits, which the order of a sum does not reach."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_text, value))})"
    return repr(value)


def is_equal(spark: SparkSession, model: dict[str, Any]) -> tuple[bool, int]:
    """Execute a model -> whether it answers as its text does, and at how many instants, the present one with them."""
    spark.sql(f"USE {model['database']}")
    for statement in model["statements"]:
        spark.sql(statement)
    at = instants(spark, model)
    same = answers(spark, model["read"], at) == answers(spark, model["oracle"], at)
    # one statement, so that both have the same clock
    written = model["oracle"].replace(MARK, CLOCK)
    arms = (f"(\n{written}\n)", model["view"])
    both = " UNION ALL ".join(f"SELECT {n} AS mz_arm, mz_one.* FROM {arm} AS mz_one" for n, arm in enumerate(arms))
    now = [tuple(row) for row in spark.sql(both).collect()]
    by_arm = [Counter(_text(row[1:]) for row in now if row[0] == n) for n in range(2)]
    return same and by_arm[0] == by_arm[1], len(at) + 1


def main(file: Path) -> int:
    home = tempfile.mkdtemp()
    spark, wrong, compared = session(home), [], 0
    work = json.loads(file.read_text())
    for statement in work["inputs"]:
        spark.sql(statement)
    for model in work["models"]:
        try:
            same, reads = is_equal(spark, model)
        except PySparkException as error:
            same, reads = False, 0
            print(str(error)[:1000])
        compared += reads
        wrong += [] if same else [model["view"]]
        verdict = "equal" if same else "DIFFERENT"
        print(f"{model['view']}: {len(model['statements'])} statements, {reads} instants, {verdict}", flush=True)
    ours = [name for name in sys.modules if name.partition(".")[0] in ("dbt", "sqlglot")]
    print(f"{len(work['models'])} models, {compared} reads compared, {len(wrong)} models differ")
    print(f"modules of the adapter in this process: {len(ours)}")
    spark.stop()
    return 1 if wrong or ours else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
