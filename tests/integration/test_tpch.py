"""TPC-H query 3 with the clock for its date: its top ten at instants against the published text with dates put in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from support import flights

PROJECT = flights.PROJECT / "tpch"
SCHEMA = "tpch_test"

#: section 2.4.3 of the TPC-H specification, SEGMENT as in its validation query. The eleventh row shows a tie at the end
Q3 = """
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders, lineitem
where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate < date '{placed}' and l_shipdate > date '{shipped}' {bound}
group by l_orderkey, o_orderdate, o_shippriority
order by revenue desc, o_orderdate
limit 11
"""
BOUND = "and o_orderdate + interval 90 days >= date '{placed}'"
#: model -> what stands in the published text for it
BOUNDS = {"tpch_q3_published": "", "tpch_q3": BOUND}

#: a second run, which finds the orders from 1995 on, and a day in 1995 that it comes too late for
GROWN, MISSED = date(1995, 3, 15), date(1995, 2, 1)

_random = random.Random(3)
#: the date of the validation query; two days on which the 90 days count, the second when no order is placed any more
DAYS = [date(1995, 3, 15), date(1994, 8, 30), date(1998, 10, 25)]
DAYS += [date(1993, 1, 1) + timedelta(days=_random.randrange(6 * 365)) for _ in range(7)]
#: after its midnight, the orders of a day are placed, and those that are 90 days old are out
WITHIN_A_DAY = [time(0, 0, 0, 1000), time(12), time(23, 59, 59, 999000)]


pytestmark = [pytest.mark.landing, pytest.mark.metastore]


def ms(day: date, at: time = time.min) -> int:
    return round(datetime.combine(day, at, timezone.utc).timestamp() * 1000)


def rows(spark: Any, schema: str, sql: str) -> list[tuple]:
    spark.sql(f"USE {schema}")
    found = [tuple(r) for r in spark.sql(sql).collect()]
    spark.sql("USE default")
    return found


@cache
def published(spark: Any, day: date, bound: str = "", at: time = time.min) -> list[tuple]:
    """The published query, all of it in whole days: at no instant is a DATE compared with an instant."""
    placed = day if at == time.min else day + timedelta(days=1)
    eleven = rows(spark, SCHEMA, Q3.format(placed=placed, shipped=day, bound=bound.format(placed=placed)))
    keys = [(revenue, ordered) for _, revenue, ordered, _ in eleven]
    assert len(set(keys)) == len(keys), "a tie: the published query does not say which row comes first"
    return eleven[:10]


def view_at(spark: Any, view: str, day: date, at: time = time.min, schema: str = SCHEMA) -> list[tuple]:
    warehouse = Warehouse(lambda sql: rows(spark, schema, sql))
    return rows(spark, schema, f"SELECT * FROM {as_of(warehouse, ModelRelations(f'`{schema}`', view), ms(day, at))}")


def dbt(*args: str, target: Path, data: Path, **variables: str) -> Any:
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--target-path", str(target)]
    given = json.dumps({"data_path": str(data), **variables})
    return dbtRunner().invoke(["--quiet", *args, *folders, "--log-path", str(target), "--vars", given])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PROJECT))
        import tpch

        return tpch.generate(tmp_path_factory.mktemp("tpch") / "data")


@pytest.fixture(scope="module")
def built(data: Path, spark: Any) -> Iterator[Any]:
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPCH_SCHEMA", SCHEMA)
        yield spark, dbt("build", target=data.parent / "target", data=data)
    spark.sql(f"DROP DATABASE {SCHEMA} CASCADE")


def test_every_model_and_test_passes(built: Any) -> None:
    _, outcome = built
    failed = {r.node.name: r.message for r in outcome.result.results if r.status not in ("success", "pass")}
    assert not failed, "\n".join(f"{name}: {message}" for name, message in failed.items())
    assert {"tpch_q3", "tpch_q3_published", "tables_are_there"} < {r.node.name for r in outcome.result.results}


def test_tables_are_as_the_generator_writes_them(built: Any) -> None:
    spark, _ = built
    types = {
        column.name: column.dataType.simpleString()
        for name in ("customer", "orders", "lineitem")
        for column in spark.table(f"{SCHEMA}.{name}").schema
    }
    assert {types[name] for name in ("o_orderdate", "l_shipdate")} == {"date"}
    assert {types[name] for name in ("l_extendedprice", "l_discount", "o_totalprice")} == {"decimal(15,2)"}
    assert types["c_mktsegment"] == "string"
    counts = [spark.table(f"{SCHEMA}.{name}").count() for name in ("customer", "orders", "lineitem")]
    assert counts == [1500, 15000, 60175]


@pytest.mark.parametrize("view", BOUNDS)
def test_top_ten_is_the_published_one(view: str, built: Any) -> None:
    spark, _ = built
    answers = {day: view_at(spark, view, day) for day in DAYS}
    assert answers == {day: published(spark, day, BOUNDS[view]) for day in DAYS}
    assert all(answers.values()) and len({tuple(answer) for answer in answers.values()}) == len(DAYS)


@pytest.mark.parametrize("day", [DAYS[0], DAYS[2]], ids=str)
def test_top_ten_within_a_day(day: date, built: Any) -> None:
    spark, _ = built
    answers = {at: view_at(spark, "tpch_q3", day, at) for at in WITHIN_A_DAY}
    assert answers == {at: published(spark, day, BOUND, at) for at in WITHIN_A_DAY}


def test_what_the_90_days_leave_out(built: Any) -> None:
    """On most days none of the ten; of the last day's three go when they are 90 days and a millisecond old."""
    spark, _ = built
    for day, old in zip(DAYS, [0, 1, 6]):
        kept = view_at(spark, "tpch_q3", day)
        left_out = [row[2] for row in published(spark, day) if row not in kept]
        assert len(left_out) == old and all(day - ordered > timedelta(days=90) for ordered in left_out)
    going = {row for row in kept if day - row[2] == timedelta(days=90)}
    assert len(going) == 3 and not going & set(view_at(spark, "tpch_q3", day, WITHIN_A_DAY[0]))


@pytest.fixture(scope="module")
def grown(built: Any, data: Path) -> Iterator[Any]:
    """The same project over tables that first end with 1994, and hold all from the second run on."""
    spark, _ = built
    schema = "tpch_grown"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {schema}")
    # load_tpch leaves tables that are there as they are
    early = f"SELECT * FROM {SCHEMA}.orders WHERE o_orderdate < date '1995-01-01'"
    items = f"SELECT {SCHEMA}.lineitem.* FROM {SCHEMA}.lineitem LEFT SEMI JOIN ({early}) ON l_orderkey = o_orderkey"
    tables = {"customer": f"SELECT * FROM {SCHEMA}.customer", "orders": early, "lineitem": items}
    for name, query in tables.items():
        spark.sql(f"CREATE TABLE {schema}.{name} USING parquet AS {query}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPCH_SCHEMA", schema)
        folder = data.parent / "target"
        runs = [dbt("run", target=folder, data=data)]
        before = {view: view_at(spark, view, MISSED, schema=schema) for view in BOUNDS}
        for name in ("orders", "lineitem"):
            late = f"SELECT * FROM {SCHEMA}.{name} EXCEPT SELECT * FROM {schema}.{name}"
            spark.sql(f"INSERT INTO {schema}.{name} {late}")
        runs.append(dbt("run", target=folder, data=data, temporal_now=str(GROWN)))
        yield spark, schema, runs, before
    spark.sql(f"DROP DATABASE {schema} CASCADE")


@pytest.mark.deep
@pytest.mark.parametrize("view", BOUNDS)
def test_a_run_finds_the_orders_that_were_loaded_since(view: str, grown: Any) -> None:
    spark, schema, (first, second), before = grown
    said = [{r.node.name: r.message for r in run.result.results}[view] for run in (first, second)]
    assert [message.split(",")[0] for message in said] == ["OK hydrated", "OK advanced"]
    days = [day for day in DAYS if day.year < 1995 or day >= GROWN]
    answers = {day: view_at(spark, view, day, schema=schema) for day in days}
    assert answers == {day: published(spark, day, BOUNDS[view]) for day in days}
    # what could be read before the run is what is read of then after it
    assert before[view] == view_at(spark, view, MISSED, schema=schema) != published(spark, MISSED, BOUNDS[view])
