"""The clock in a lambda is written as the clock beside an element, where one element decides."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.array_bounds import write_out_array_bounds
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.names.scope import Columns
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import exp, parse, render

TABLE = {
    "id": "int", "k": "string", "due": "array<timestamp>", "days": "array<date>", "txt": "array<string>",
    "ntz": "array<timestamp_ntz>", "ms": "array<bigint>", "ps": "array<struct<lo:timestamp,hi:timestamp,k:string>>",
    "ts": "timestamp", "iv": "interval day to second",
}  # fmt: skip
CHANGED = {
    "exists(due, x -> x >= mz_now() - interval 7 days)": "array_max(due) >= (mz_now() - INTERVAL '7' DAYS)",
    "exists(due, x -> mz_now() > x)": "array_min(due) < mz_now()",
    "exists(ms, x -> x > mz_now()) or k = 'a'": "array_max(ms) > mz_now() OR k = 'a'",
    "exists(due, x -> x < mz_now() or x > mz_now() + interval 1 hour)": (
        "(array_min(due) < mz_now() OR array_max(due) > (mz_now() + INTERVAL '1' HOUR))"
    ),
    "exists(due, x -> x > mz_now() - iv)": "array_max(due) > (mz_now() - iv)",
    "size(filter(due, x -> x > mz_now())) > 0": "array_max(due) > mz_now()",
    "forall(due, x -> x < mz_now())": (
        "((array_max(due) IS NULL OR array_max(due) < mz_now()) AND forall(due, x -> NOT x IS NULL OR NULL))"
    ),
    "not exists(due, x -> mz_now() < x)": (
        "NOT (NOT array_max(due) IS NULL AND array_max(due) > mz_now() OR exists(due, x -> x IS NULL AND NULL))"
    ),
}
STAYS = (
    "exists(txt, x -> x > mz_now())",  # Spark compares instants, and array_max texts
    "exists(ntz, x -> x > mz_now())",  # an hour of local time that is left out turns two of them around
    "exists(due, x -> x = mz_now())",
    "exists(due, x -> x > mz_now() AND x < mz_now() + INTERVAL '1' HOUR)",
    "exists(due, x -> x > CASE WHEN k = 'a' THEN x END + (mz_now() - ts))",
    "NOT exists(due, x -> x > mz_now() - iv)",  # iv may be NULL
    "size(filter(due, x -> x > mz_now())) > 1",
    "NOT size(filter(due, x -> x > mz_now())) > 0",
    "NOT exists(due, x -> k = 'a' AND x > mz_now())",
    "exists(due, x -> exists(due, y -> y > mz_now()))",
    "exists(due, x -> hour(x) > hour(mz_now()))",
)


def describe(query: exp.Query) -> Columns:
    return list(TABLE.items())


def changed(predicate: str) -> str:
    tree = parse(f"SELECT id FROM t WHERE {predicate}")
    write_out_array_bounds(tree, describe)
    return render(tree.args["where"].this)


@pytest.mark.parametrize("predicate", CHANGED)
def test_what_changes(predicate: str) -> None:
    assert changed(predicate) == CHANGED[predicate]


@pytest.mark.parametrize("predicate", STAYS)
def test_what_stays(predicate: str) -> None:
    assert changed(predicate) == predicate


def test_a_value_stays() -> None:
    sql = "SELECT exists(due, x -> x > mz_now()) AS open, count_if({}) AS n FROM t"
    tree = parse(sql.format("exists(due, x -> x > mz_now())"))
    write_out_array_bounds(tree, describe)
    exact = "(NOT array_max(due) IS NULL AND array_max(due) > mz_now() OR exists(due, x -> x IS NULL AND NULL))"
    assert render(tree) == sql.format(exact)


def test_a_bound_of_a_struct() -> None:
    """The type of a field is asked of Spark."""

    def typed(query: exp.Query) -> Columns:
        return list(TABLE.items()) if render(query).startswith("SELECT *") else [("mz_edge", "timestamp")]

    sql = "select id from t where exists(ps, p -> p.k = 'vip' and mz_now() < p.hi)"
    (core,) = split(sql, typed).cores
    (bound,) = core.comparisons
    assert render(bound.operand) == "array_max(transform(filter(ps, p -> (p.k = 'vip')), p -> p.hi))"
