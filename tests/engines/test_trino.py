"""What `temporal_sql` prints for Trino, at the instant of the query, after the expiration and with corrections.

`make test-trino` runs these tests in the catalog `served`; test_same_rows has the models of the other engines.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.looking.other_engines import sql_of
from dbt.adapters.sparktemporal.looking.readers.dialects import TRINO
from support.instants import DAY, T0
from support.named_catalogs import SERVED
from support.project import Project
from support.readers import bag
from support.residuals import COLUMNS, CORE, Grammar, agree, rows_of
from support.seeds import a_seed
from support.trino import rows, serving

VALUES = {
    "tiny": "CAST(id AS TINYINT)", "small": "CAST(-id AS SMALLINT)", "i": "CAST(id AS INT)",
    "l": "id * 9007199254740993",
    "f": "CAST(id + 0.5 AS FLOAT)", "x": "CASE id WHEN 1 THEN double('NaN') WHEN 2 THEN -0.0D ELSE id / 3 END",
    "d": "CAST(id / 8 AS DECIMAL(38, 9))", "t": "concat('é', string(id))", "b": "id > 2", "bin": "CAST('a' AS BINARY)",
    "day": "date_sub(DATE'1970-01-01', CAST(id AS INT) * 170000)", "ts": "timestamp_micros(1709294400123456L - id)",
    "ntz": "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "a": "array(CAST(id AS INT), NULL)",
    "m": "map('k', CAST(id AS DECIMAL(5, 2)))", "s": "named_struct('x', id, 'Y', array('y'))",
}  # fmt: skip


#: the errors of Trino where a value is out of range
OUT_OF_RANGE = ("NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_CAST_ARGUMENT", "DIVISION_BY_ZERO")
#: a timestamp as its microseconds: a DOUBLE of seconds has them until 2242
MICROS = "CAST(round(to_unixtime({}) * 1000000) AS BIGINT)"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, spark: Any, request: pytest.FixtureRequest) -> Iterator[int]:
    if request.config.getoption("--catalog") != SERVED:
        pytest.skip("Trino reads the catalog served: make test-trino")
    with serving(tmp_path_factory, spark) as port:
        yield port


def printed(project: Project, model: str, instant: int | None) -> str:
    return sql_of(Warehouse(project.rows), project.target(model), project.schema, "trino", instant, None)


def test_each_type(project: Project, port: int) -> None:
    """NULLs too; a value of each type that Iceberg has."""
    items = ", ".join(f"{sql} AS {name}" for name, sql in VALUES.items())
    nulls = ", ".join(f"CASE WHEN id < 4 THEN {name} END AS {name}" for name in VALUES)
    project.sql(f"CREATE TABLE {{s}}.v USING iceberg AS SELECT id, {nulls} FROM (SELECT id, {items} FROM range(5))")
    project.model("m", f"select * from {project.schema}.v where mz_now() <= timestamp_millis({T0}L + id)")
    project.run(now=T0)
    for t in (T0, T0 + 2, T0 + 5):
        wanted = project.rows(f"SELECT * FROM {{s}}.v WHERE id >= {t - T0}")
        assert bag(rows(port, printed(project, "m", t))) == bag(wanted), t


def test_corrections_and_copies(project: Project, port: int) -> None:
    """Rows that come several times, one of them once less; doubles that are equal and not the same; groups."""
    project.sql(f"CREATE TABLE {{s}}.e USING iceberg AS SELECT {T0}L + id DIV 3 AS at, 0.0D AS x FROM range(9)")
    project.sql(f"INSERT INTO {{s}}.e VALUES ({T0}L, -0.0D), ({T0}L, double('NaN')), ({T0}L, double('NaN'))")
    written = {
        "m": "select at, x from {s}.e where mz_now() <= timestamp_millis(at)",
        "g": "select at % 2 as k, count(*) as n, sum(at) as total from {s}.e where mz_now() <= timestamp_millis(at) "
        "group by at % 2",
    }
    for name, sql in written.items():
        project.model(name, sql.replace("{s}", project.schema), aggregates="groups")
    project.run(now=T0 - 2)
    project.sql(f"INSERT INTO {{s}}.e VALUES ({T0}L, 0.0D)")
    project.sql(f"DELETE FROM {{s}}.e WHERE at = {T0 + 1}L")
    project.sql(f"INSERT INTO {{s}}.e VALUES ({T0 + 1}L, 0.0D), ({T0 + 1}L, 0.0D)")
    project.run(now=T0 - 1)
    assert any(chain.negative for chain in project.state("m").chains)
    for name, sql in written.items():
        for t in (T0 - 1, T0, T0 + 1, T0 + 2, T0 + 3):
            wanted = project.rows(sql.replace("mz_now()", f"timestamp_millis({t}L)"))
            assert Counter(map(repr, rows(port, printed(project, name, t)))) == Counter(repr(list(r)) for r in wanted)


def test_the_instant_of_the_query(project: Project, port: int) -> None:
    """The clock is that of Trino; after the expiration the query fails with the error of the view."""
    now = int(time.time() * 1000)
    project.sql(
        f"CREATE TABLE {{s}}.c USING iceberg AS SELECT id, timestamp_millis({now}L + id) AS ts FROM range(2000)"
    )
    project.model("m", f"select id from {project.schema}.c where mz_now() >= ts", expiration="1 day")
    project.run(now=now)
    query = printed(project, "m", None)
    before = int(time.time() * 1000)
    found = len(rows(port, query))
    assert min(before - now, 2000) <= found <= min(int(time.time() * 1000) - now + 1, 2000)
    project.run("--full-refresh", now=now - 2 * DAY)
    # the class of the error is the client's
    with pytest.raises(Exception, match=r"temporal_view m expired at 20\d\d-"):
        rows(port, f"SELECT count(*) FROM ({printed(project, 'm', None)}) AS m")


def test_random_residuals(project: Project, port: int) -> None:
    """The expressions, aggregates and windows of which property/test_duckdb draws more, with and without ANSI mode."""
    from trino.exceptions import TrinoQueryError

    def ask(sql: str) -> list[Any] | None:
        try:
            return [tuple(row) for row in rows(port, f"WITH {CORE} AS ({core}) {sql}")]
        except TrinoQueryError as error:
            if error.error_name in OUT_OF_RANGE or "division by zero" in str(error.message):
                return None
            raise AssertionError(f"{sql}\n{error.message}") from None

    # Iceberg has no TINYINT
    items = ", ".join(
        f"CAST({name} AS {TRINO.column_type(name, kind)}) AS {name}" for name, (kind, _) in COLUMNS.items()
    )
    for ansi in (False, True):
        rng, same = random.Random(a_seed() + ansi), 0
        project.spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        for turn in range(int(os.environ.get("TRINO_DRAWS", "60"))):
            if turn % 40 == 0:
                table = f"rows_{ansi}_{turn}".lower()
                drawn = rows_of(rng)
                project.sql(f"CREATE TABLE {{s}}.{table} USING iceberg AS {drawn}")
                core = f'SELECT n, {items} FROM "{project.schema}"."{table}"'
                # Spark 4.1 fails at some aggregates over tables of Iceberg, as it plans what to push down
                project.spark.sql(drawn).createOrReplaceTempView(CORE)
            same += agree(project, ask, MICROS, Grammar(rng).query(), ansi, TRINO)
        print(f"{same} of {turn + 1} queries with Spark's answer, ANSI {ansi}")
        assert same >= 10
