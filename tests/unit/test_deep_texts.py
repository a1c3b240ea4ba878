"""A text that ends Python's stack: each function that reads a text says so in words, or passes the text to Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.sparktemporal.engine.clock_calls import put_clock
from dbt.adapters.sparktemporal.engine.described_tables import forget_named
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.ivm import inlining
from dbt.adapters.sparktemporal.temporal.rewrite.clock_functions import put_mz_now
from dbt.adapters.sparktemporal.temporal.sql.text import dialect, statements

DEEP = {
    "calls": f"select {'abs(' * 900}id{')' * 900} as x from s.e where mz_now() < ts",
    "parentheses": f"select {'(' * 2000}id{')' * 2000} as x from s.e where mz_now() < ts",
    "queries": f"{'select * from (' * 900}select * from s.e{') t' * 900}",
    "cases": f"select {'case when a then b else ' * 900}c{' end' * 900} from s.e",
    "minus": f"select {'- ' * 3000} id from s.e",
}

REFUSING: dict[str, Callable[[str], object]] = {
    "parse": dialect.parse,
    "expression": lambda sql: dialect.expression(f"({sql})"),
    "inputs": lambda sql: inlining.references(sql, "spark_catalog"),
}


def _rows(_: str) -> list[tuple[object, ...]]:
    raise RuntimeError("the session is not asked in this test")


@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("function", REFUSING)
def test_refused_in_words(function: str, deep: str) -> None:
    with pytest.raises(Refusal, match="nested too deeply"):
        REFUSING[function](DEEP[deep])


@pytest.mark.parametrize("deep", DEEP)
def test_left_to_spark(deep: str) -> None:
    sql = DEEP[deep]
    assert statements.references(sql, "spark_catalog") == []
    assert statements.replaced(sql, {"s.e": "(q)"}, "spark_catalog") == sql
    assert statements.reading_part(sql) == 0
    assert put_mz_now(sql) == (sql, ())
    assert "mz_now" not in put_clock(sql, lambda _: "", lambda: "0")


@pytest.mark.parametrize("deep", DEEP)
def test_forgotten(deep: str) -> None:
    asked: list[str] = []

    class Described(Warehouse):
        def describe(self, sql: str) -> list[tuple[str, str]]:
            asked.append(sql)
            return [("id", "int")]

    warehouse = Described(_rows)
    forget_named(warehouse, DEEP[deep])
    assert not asked
