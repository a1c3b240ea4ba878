"""Sail answers queries over the files of tables. Executed by the Python that has Sail; it imports nothing of the tests.

    python sail_worker.py ASKED ANSWERS

ASKED is a pickle of (settings, statements, queries: key -> SQL). ANSWERS becomes one of key -> (rows, or None; the
error, or ""; seconds). A struct is a dict there, as for DuckDB.
"""

import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")


def main(asked: Path, answers: Path) -> None:
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    settings, statements, queries = pickle.loads(asked.read_bytes())
    server = SparkConnectServer()
    server.start()
    _, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    for key, value in settings.items():
        spark.conf.set(key, value)
    for statement in statements:
        spark.sql(statement)
    found = {key: answer(spark, query) for key, query in queries.items()}
    answers.write_bytes(pickle.dumps(found))
    spark.stop()
    server.stop()


def answer(spark: Any, query: str) -> tuple:
    begin = time.perf_counter()
    try:
        rows = [[plain(one) for one in row] for row in spark.sql(query).collect()]
    except Exception as error:
        return None, f"{type(error).__name__}: {error}", time.perf_counter() - begin
    return rows, "", time.perf_counter() - begin


def plain(value: object) -> object:
    """Without classes of pyspark, which the reader of the answers may have in another version."""
    if isinstance(value, tuple) and hasattr(value, "__fields__"):
        return {name: plain(one) for name, one in zip(value.__fields__, value)}
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
