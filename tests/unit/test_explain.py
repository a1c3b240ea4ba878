"""`python -m dbt.adapters.sparktemporal explain`: what a person reads, and what a mistake says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.__main__ import main
from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.errors import Refusal
from support.given_types import KNOWN, ORDERS, UNKNOWN

TYPES = {
    "shop.orders": ORDERS,
    "shop.shipped": {"order_id": "bigint", "at": "timestamp"},
}
GOLDEN = Path(__file__).parent / "explained"
MODELS = {
    "window": (
        "select id, amount from shop.orders where mz_now() <= ts + interval 30 days",
        ["--expiration", "22 days"],
    ),
    "joined": (
        "select o.id, s.at from shop.orders o join shop.shipped s on o.id = s.order_id "
        "where mz_now() >= s.at and mz_now() < o.ts",
        [],
    ),
    "grouped": (
        "select customer, count(*) as n, sum(amount) as total from shop.orders "
        "where mz_now() <= ts + interval 30 days group by customer",
        ["--now", "2024-06-01", "--time-zone", "+02:00"],
    ),
}


def explained(
    folder: Path, capsys: pytest.CaptureFixture[str], sql: str, *options: str, types: object = TYPES
) -> tuple[int, str, str]:
    """-> the exit code, stdout and stderr."""
    (folder / "m.sql").write_text(sql)
    (folder / "columns.json").write_text(types if isinstance(types, str) else json.dumps(types))
    code = main(["explain", str(folder / "m.sql"), "--schema", str(folder / "columns.json"), *options])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_becomes(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The texts are those that the same model has in a run (tests/engine/golden), by other tables."""
    sql, options = MODELS[name]
    code, told, error = explained(tmp_path, capsys, sql, *options)
    assert (code, error) == (0, "")
    assert told.splitlines() == (GOLDEN / f"{name}.sql").read_text().splitlines()


MISTAKES = {
    "no clock": ("select id from shop.orders", [], TYPES, "found: ", "mz_now()"),
    "a relation": (
        "select id from shop.other where mz_now() < ts", [], TYPES, "shop.other, a relation whose", '"shop.other"',
    ),
    "a type": (
        "select hash(id) as h from shop.orders where mz_now() < ts", [], TYPES,
        "why: its type is not known without Spark, and nothing is guessed", "instead: CAST(",
    ),
    "a type in the predicate": (
        "select id from shop.orders where mz_now() < date_add(ts, 2)", [], TYPES,
        "found: DATE_ADD(orders.ts, 2)", "instead: CAST(",
    ),
    "a computed decimal": (
        "select amount * 2 as a from shop.orders where mz_now() < ts", [], TYPES, "found: ", "instead: CAST(",
    ),
    "a column": ("select nope from shop.orders where mz_now() < ts", [], TYPES, "nope", "as --schema has them"),
    "names": (
        "select o.id from shop.orders o join c.shop.orders p on o.id = p.id where mz_now() < o.ts", [],
        {**TYPES, "c.shop.orders": ORDERS}, "some names have a schema or a catalog and some have none",
        "instead: all names",
    ),
    "a zone": (
        "select id from shop.orders where date_trunc('DAY', mz_now()) = ts", ["--time-zone", "Europe/Berlin"], TYPES,
        "only Spark can answer this", "instead: a run of dbt",
    ),
    "json": ("select 1", [], "{", "the file is no JSON", '{"shop.orders"'),
    "shape": ("select 1", [], ["shop.orders"], "does not map relations to columns to types", '{"shop.orders"'),
    "an instant": ("select 1", ["--now", "noon"], TYPES, "--now", "instead: "),
    "a length": ("select 1", ["--expiration", "soon"], TYPES, "--expiration", "instead: "),
    "a refused model": ("select rand() as r from shop.orders where mz_now() < ts", [], TYPES, "found: ", "instead: "),
}  # fmt: skip


def test_names_without_a_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "with o as (select * from orders) select id from o where mz_now() < ts"
    code, told, error = explained(tmp_path, capsys, sql, types={"orders": ORDERS})
    assert (code, error) == (0, "") and "FROM orders" in told
    sql_of_range = "select id from shop.orders, range(2) as r where mz_now() < ts"
    code, told, error = explained(tmp_path, capsys, sql_of_range)
    assert (code, error) == (0, "") and "range(2)" in told
    code, _, error = explained(tmp_path, capsys, sql)
    assert code == 1 and "orders, a relation whose columns are not given" in error and '"orders": {' in error


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql, options, types, found, instead = MISTAKES[name]
    code, told, error = explained(tmp_path, capsys, sql, *options, types=types)
    assert (code, told) == (1, "") and found in error and instead in error, error
    assert "Traceback" not in error


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "no.sql"), "--schema", str(tmp_path / "no.json")]) == 1
    assert "the file cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("expression", [*KNOWN, *UNKNOWN])
def test_types(expression: str) -> None:
    """Spark has the last word on these types: see tests/engine/test_another_host.py."""
    types = GivenTypes(TYPES, 0)
    asked = f"DESCRIBE QUERY SELECT {expression} AS x FROM shop.orders"
    if expression in KNOWN:
        assert types(asked) == [("x", KNOWN[expression])]
    else:
        with pytest.raises(Refusal, match="nothing is guessed"):
            types(asked)
