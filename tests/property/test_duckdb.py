"""Random expressions, aggregates and windows of a residual: DuckDB computes what Spark computes, or it is refused."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.sparktemporal.looking.readers.dialects import DUCKDB
from support.project import Project
from support.residuals import CORE, Ask, Grammar, agree, plain, rows_of
from support.seeds import SAMPLE, a_seed


def drive(project: Project, folder: Path, count: int, seed: int, ansi: bool) -> int:
    """Queries -> how many were translated, each with Spark's answer."""
    spark, rng = project.spark, random.Random(seed)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    same = 0
    with duckdb.connect() as connection:
        for turn in range(count):
            if turn % 40 == 0:
                place = folder / f"rows_{turn}"
                spark.sql(rows_of(rng)).coalesce(1).write.parquet(str(place))
                spark.read.parquet(str(place)).createOrReplaceTempView(CORE)
                connection.execute(f"CREATE OR REPLACE TABLE {CORE} AS FROM read_parquet('{place}/*.parquet')")
                connection.execute(f"ALTER TABLE {CORE} ALTER ts TYPE TIMESTAMPTZ USING make_timestamptz(epoch_us(ts))")
            same += agree(project, asking(connection), "epoch_us({})", Grammar(rng).query(), ansi, DUCKDB)
    return same


def asking(connection: Any) -> Ask:
    def ask(sql: str) -> list[Any] | None:
        try:
            found: list[Any] = connection.sql(sql).fetchall()
        except duckdb.ParserException as e:
            raise AssertionError(f"{sql}\n{e}") from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException):
            return None
        return found

    return ask


@pytest.mark.landing
@pytest.mark.parametrize("ansi", [False, True])
def test_random_residuals(project: Project, tmp_path: Path, ansi: bool) -> None:
    drive(project, tmp_path / "fresh", 60, a_seed(), ansi)
    assert drive(project, tmp_path / "sample", 60, SAMPLE, ansi) >= 10


@pytest.mark.deep
@pytest.mark.parametrize("part", range(6))
def test_thousands_of_residuals(project: Project, tmp_path: Path, part: int) -> None:
    assert drive(project, tmp_path, 600, a_seed() + part, part % 2 == 1) > 100


def test_doubles_are_compared_as_numbers() -> None:
    assert plain((float("nan"), -0.0, Decimal("1.0"))) == ("nan", 0.0, Decimal("1.00"))
