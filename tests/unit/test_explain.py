"""`python -m dbt.adapters.sparktemporal explain`: what a person reads, and what a mistake says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.sparktemporal.__main__ import main
from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.errors import Refusal
from support.given_types import BY_SESSION, KNOWN, ORDERS, UNKNOWN

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


#: predicates as people write them, over `EVENTS`, and SELECTs
EVENTS = {
    "id": "bigint", "k": "string", "ts": "timestamp", "hi": "timestamp", "d": "date", "local": "timestamp_ntz",
    "ms": "bigint", "n": "int", "amount": "decimal(10,2)", "ds": "string", "z": "string",
    "len": "interval day to second",
}  # fmt: skip
PREDICATES = (
    "date_add(cast(mz_now() as date), -7) <= ts",
    "datediff(ts, mz_now()) >= -7",
    "ts >= date_trunc('day', mz_now()) - interval 7 days",
    "ts >= dateadd(MONTH, -1, mz_now())",
    "ts >= timestampadd(QUARTER, -1, mz_now())",
    "year(ts) = year(mz_now()) and quarter(ts) = quarter(mz_now())",
    "year(ts) * 100 + month(ts) = year(mz_now()) * 100 + month(mz_now())",
    "unix_timestamp(mz_now()) < unix_timestamp(ts) + 3600",
    "int((unix_timestamp(mz_now()) - unix_timestamp(ts)) / 60) < 16",
    "ts >= mz_now() - make_dt_interval(n, 0, 0, 0)",
    "ts >= mz_now() - len",
    "mz_now() - ts < interval 7 days",
    "months_between(mz_now(), ts) < 3 or floor(months_between(mz_now(), ts)) = 0",
    "abs(datediff(mz_now(), ts)) <= 1",
    "date_format(ts, 'yyyy-MM') = date_format(mz_now(), 'yyyy-MM')",
    "ds >= date_format(mz_now() - interval 7 days, 'yyyy-MM-dd')",
    "ts >= make_date(year(mz_now()), 1, 1)",
    "ts > from_unixtime(unix_timestamp(mz_now()) - 3600)",
    "nvl(hi, mz_now() + interval 1 day) > mz_now()",
    "to_date(from_utc_timestamp(ts, z)) = to_date(from_utc_timestamp(mz_now(), z))",
    "cast(convert_timezone('UTC', 'Europe/Berlin', local) as date) <= mz_now()",
    "mz_now() < ts + make_interval(0, 0, 0, n)",
    "mz_now() < ts + n * interval '1' day",
    "mz_now() < date_add(ts, n)",
    "mz_now() < ts + case when k = 'a' then interval 7 days else interval 36 hours end",
    "mz_now() < coalesce(hi, ts + interval 7 days)",
    "mz_now() < least(hi, ts + interval 7 days)",
    "mz_now() < to_timestamp(ds, 'yyyy-MM-dd')",
    "mz_now() < ms + 7 * 24 * 60 * 60 * 1000",
    "mz_now() < unix_millis(ts) + n * 1000",
    "mz_now() div 60000 = ms div 60000",
    "timestampdiff(MINUTE, ts, mz_now()) < 15",
    "k = 'pro' or exists (select 1 from s.u u where u.id = t.id and mz_now() < u.hi)",
    "exists(array(ts, hi), y -> y > mz_now())",
    "not exists (select 1 from s.u u where u.id = t.id and mz_now() < u.hi)",
)
SELECTS = (
    "select k, datediff(current_date(), max(ts)) as age from s.t t group by k",
    "select k, case when max(ts) > mz_now() - interval 5 minutes then 'up' else 'down' end as s from s.t group by k",
    "select k, sum(case when mz_now() >= ts then amount end) as s, count_if(mz_now() < hi) as c from s.t group by k",
    "select k, count(distinct case when ts > mz_now() - interval 1 week then id end) as n from s.t group by k",
    "select k, window.start, window.end as until, count(*) as n from s.t group by k, window(ts, '10 minutes') "
    "having mz_now() >= window.end",
    "select t.id, u.k from s.t t left join s.u u on u.id = t.id and mz_now() < u.hi",
    "select t.id, w.hi from s.t t left join (select * from s.u where mz_now() < hi) w on w.id = t.id",
    "select id, mz_now() - ms as age, datediff(mz_now(), ts) as days from s.t where mz_now() < ms + 1000",
    "select id, row_number() over (partition by k order by ts) as r from s.t where mz_now() < hi",
)


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
        "select my_hash(id) as h from shop.orders where mz_now() < ts", [], TYPES,
        "why: its type is not known without Spark, and nothing is guessed", "instead: CAST(",
    ),
    "a type in the predicate": (
        "select id from shop.orders where mz_now() < Last_Workday(ts, 2)", [], TYPES,
        "found: Last_Workday(ts, 2)", "instead: CAST(",
    ),
    "two types": (
        "with a as (select id, ts from shop.orders union all select true, at from shop.shipped) select id from a "
        "where mz_now() < ts", [], TYPES, "found: id", "instead: CAST(id AS <type>)",
    ),
    "a column": (
        "select nope from shop.orders where mz_now() < ts", [], TYPES, "'nope' could not", "as --schema has them",
    ),
    "a column that a predicate alone names": (
        "with o as (select id, ts from shop.orders) select id from o where mz_now() < ts and o.amount > 1", [], TYPES,
        "'o.amount' could not", "as --schema has them",
    ),
    "two columns": (
        "select o.id from shop.orders o join shop.orders p on o.id = p.id where mz_now() < ts", [], TYPES,
        "'ts' could not", "as --schema has them",
    ),
    "a pivot": (
        "select * from (select * from shop.orders where mz_now() < ts) pivot (sum(amount) for k in ('a', 'b'))", [],
        TYPES, "only Spark can answer this", "instead: a run of dbt",
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
    several = "select o.id from shop.orders o join c.shop.orders using (id) where mz_now() < o.ts and n > 0.5"
    code, told, error = explained(
        tmp_path, capsys, several, types={**TYPES, "c.shop.orders": {"id": "int", "n": "int"}}
    )
    assert (code, error) == (0, "") and "c.shop.orders" in told
    sql_of_range = "select orders.id from shop.orders, range(2) as r where mz_now() < ts"
    code, told, error = explained(tmp_path, capsys, sql_of_range)
    assert (code, error) == (0, "") and "range(2)" in told
    code, _, error = explained(tmp_path, capsys, sql)
    assert code == 1 and "orders, a relation whose columns are not given" in error and '"orders": {' in error


@pytest.mark.parametrize("sql", [*(f"select id, ts from s.t t where {p}" for p in PREDICATES), *SELECTS])
def test_natural_sql_is_explained(sql: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, error = explained(tmp_path, capsys, sql, types={"s.t": EVENTS, "s.u": EVENTS})
    assert (code, error) == (0, "") and "== core c0" in told


def test_what_is_kept_whole_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, told, _ = explained(tmp_path, capsys, "select k, mz_now() - ts as age from s.t", types={"s.t": EVENTS})
    assert "-- warning: all rows of s.t are kept: no comparison of mz_now() bounds them. Evaluated at each read" in told
    assert "-- to keep less: a window in the same SELECT, such as `where mz_now() < ts + interval 7 days`" in told
    for of_each_group in (*SELECTS[:2], f"with s as ({SELECTS[0]}), final as (select * from s) select * from final"):
        assert "-- warning" not in explained(tmp_path, capsys, of_each_group, types={"s.t": EVENTS})[1]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql, options, types, found, instead = MISTAKES[name]
    code, told, error = explained(tmp_path, capsys, sql, *options, types=types)
    assert (code, told) == (1, "") and found in error and instead in error, error
    assert "Traceback" not in error


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "no.sql"), "--schema", str(tmp_path / "no.json")]) == 1
    assert "the file cannot be read" in capsys.readouterr().err


#: queries over `TYPES` -> the types of their columns
QUERIES = {
    "select id, ts from shop.orders union all select 0.5, at from shop.shipped": ["decimal(21,1)", "timestamp"],
    "select * from values (1, 'a'), (2.5, 'b')": ["decimal(11,1)", "string"],
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select n from r": ["int"],
    "select * from (shop.shipped) natural join (select id as order_id from range(3))": ["bigint", "timestamp"],
    "select (select max(ts) from shop.orders o where o.id = s.order_id) as m from shop.shipped s": ["timestamp"],
    "select x.id from (select id, my_hash(k) as h from shop.orders tablesample (5 rows)) x where h > 1": ["bigint"],
    "select /*+ broadcast(s) */ k as z, id + 1 as y from shop.orders left semi join shop.shipped s on s.order_id = id "
    "order by y, z": ["string", "bigint"],
}


@pytest.mark.parametrize("sql", QUERIES)
def test_types_of_queries(sql: str) -> None:
    assert [kind for _, kind in GivenTypes(TYPES, 0)(f"DESCRIBE QUERY {sql}")] == QUERIES[sql]


@pytest.mark.parametrize("expression", [*KNOWN, *BY_SESSION, *UNKNOWN])
def test_types(expression: str) -> None:
    """Spark has the last word on these types: see tests/engine/test_another_host.py."""
    types = GivenTypes(TYPES, 0)
    asked = f"DESCRIBE QUERY SELECT {expression} AS x FROM shop.orders"
    if expression not in UNKNOWN:
        assert types(asked) == [("x", {**KNOWN, **BY_SESSION}[expression])]
    else:
        with pytest.raises(Refusal, match="nothing is guessed"):
            types(asked)
