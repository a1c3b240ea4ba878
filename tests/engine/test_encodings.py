"""Chains are written with Parquet's delta encodings: values of all types come back, by either of Spark's readers."""

from __future__ import annotations

import pytest

from support.instants import T0
from support.project import Project

#: more different values than a dictionary is kept for
ROWS = 40_000
COLUMNS = {
    "a_long": "xxhash64(id)",
    "an_int": "CAST(xxhash64(id, 1) AS INT)",
    "a_short": "CAST(id % 30000 AS SMALLINT)",
    "a_byte": "CAST(id AS TINYINT)",
    "a_flag": "id % 3 = 0",
    "a_float": "CAST(xxhash64(id, 2) AS FLOAT)",
    "a_double": "CAST(xxhash64(id, 3) AS DOUBLE) / 7",
    "short_decimal": "CAST(id AS DECIMAL(9, 2)) / 3",
    "decimal_of_long": "CAST(xxhash64(id, 4) / 1000 AS DECIMAL(18, 3))",
    "long_decimal": "CAST(xxhash64(id, 5) AS DECIMAL(38, 10)) * 12345678",
    "a_text": "concat(sha1(CAST(id AS STRING)), repeat('é', CAST(id % 9 AS INT)))",
    "like_the_last": "concat('the same beginning ', id)",
    "bytes": "unhex(sha1(CAST(id AS STRING)))",
    "a_day": "date_add(DATE'1970-01-01', CAST(xxhash64(id, 6) % 100000 AS INT))",
    "an_instant": "timestamp_micros(xxhash64(id, 7) % 4000000000000000)",
    "local": "CAST(timestamp_micros(xxhash64(id, 8) % 4000000000000000) AS TIMESTAMP_NTZ)",
    "seconds": "make_dt_interval(0, 0, 0, CAST(id AS DECIMAL(18, 6)) / 7)",
    "months": "make_ym_interval(0, CAST(id % 5000 AS INT))",
    "several": "array(id, xxhash64(id), NULL)",
    "parts": "named_struct('n', xxhash64(id), 's', sha1(CAST(id AS STRING)))",
    "nothing_yet": "CAST(NULL AS STRING)",
}


@pytest.mark.landing
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_values_of_all_types(project: Project, vectorized: str) -> None:
    values = ", ".join(f"IF(id % 101 = 0, NULL, {value}) AS {name}" for name, value in COLUMNS.items())
    hi = f"timestamp_millis({T0}L + 1 + pmod(xxhash64(id, 9), 200000000L)) AS hi"
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS SELECT {values}, {hi} FROM range({ROWS})")
    project.model("m", f"select * from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    (chain,) = project.state().chains
    options = dict(row[:2] for row in project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{chain.table}"))
    assert "parquet.writer.version=PARQUET_2_0" in options["Storage Properties"]
    key = "spark.sql.parquet.enableVectorizedReader"
    project.sql(f"SET {key} = {vectorized}")
    try:
        for t in (T0, T0 + 100_000_000, T0 + 200_000_000):
            kept = f"SELECT * FROM {project.at('m', t)}"
            written = f"SELECT * FROM {{s}}.t WHERE timestamp_millis({t}L) < hi"
            either = f"({kept} EXCEPT ALL {written}) UNION ALL ({written} EXCEPT ALL {kept})"
            assert project.rows(f"SELECT count(*) FROM ({either})") == [(0,)], t
    finally:
        project.sql(f"RESET {key}")
