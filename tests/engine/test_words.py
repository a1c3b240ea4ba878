"""Each word of Spark's grammar as a name: where Spark reads a query, it reads what stands in place of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.ivm import delta_query, linear_tables
from dbt.adapters.sparktemporal.temporal.ivm.delta_query import Added, AddedRows, TableDelta
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

#: {w} is the word, bare or quoted
SHAPES = (
    "select * from s.{w} where {w}.k > 1",
    "select {w}.{w} from s.{w}",
    "select k as {w} from s.t {w}",
    "select * from s.{w} as a join s.{w} as b using ({w})",
    "select 1 as k union all select {w} from s.{w}",
    "with {w} as (select * from s.{w}) select * from {w}",
)
DELTAS: tuple[TableDelta, ...] = (Added("_metadata.file_name", ("f",)), AddedRows("(SELECT 1)", "(SELECT 2)", "old.t"))


def parsed(spark: SparkSession, sql: str) -> str | None:
    """Spark's plan of a text before names are resolved; None where its grammar has no such text."""
    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)  # type: ignore[attr-defined]
    except Exception:
        return None
    return str(plan.toString())


def queries(query: exp.Query) -> Iterator[str]:
    places = [place for place, (_, is_linear) in enumerate(linear_tables.tables(query)) if is_linear]
    for delta in DELTAS:
        for _, new in delta_query.added_rows(query, dict.fromkeys(places, delta)):
            yield render(new)


@pytest.mark.landing
def test_delta_queries_of_all_words(spark: SparkSession) -> None:
    words = [row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()]
    assert {"union", "left", "minus", "select", "window"} <= set(words)
    checked = 0
    for word, shape in product(words, SHAPES):
        for name in (word, f"`{word}`"):
            sql = shape.format(w=name)
            plan = parsed(spark, sql)
            try:
                query = parse(sql)
            except Refusal:
                continue
            if plan is None or parsed(spark, render(query)) != plan:  # such a model is refused with its text
                continue
            for new in queries(query):
                checked += 1
                assert parsed(spark, new) is not None, (sql, new)
    assert checked > 10 * len(words)
