"""Predicates over the tables below a query."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.pushdown.lineage import places
from dbt.adapters.sparktemporal.temporal.ivm import linear_tables
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, parse, render

EVENTS = [("id", "int"), ("uid", "int"), ("ts", "timestamp"), ("kind", "string"), ("f", "struct<at:timestamp>")]
USERS = [("uid", "int"), ("Na me", "string"), ("since", "timestamp")]


def found(sql: str, window: str, ansi: bool = False) -> dict[int, str]:
    query = parse(sql)
    columns = [{"events": EVENTS, "users": USERS}[table.name] for table, _ in linear_tables.tables(query)]
    return {place.index: render(place.predicate) for place in places(query, [expression(window)], columns, ansi)}


PLAIN = {0: "mz_now() < `ts`"}
CASES = [
    ("select id from events where kind = 'a'", "mz_now() < ts", {0: "mz_now() < `ts` AND `kind` = 'a'"}),
    ("select id from events e", "mz_now() < E.TS", {0: "mz_now() < `ts`"}),
    ("select id from events e", "mz_now() < e.f.at", {0: "mz_now() < `f`.at"}),
    (
        "with c as (select *, ts + interval 1 day as due from events where id > 3) select id from c",
        "mz_now() < due",
        {0: "mz_now() < (`ts` + INTERVAL '1' DAY) AND `id` > 3"},
    ),
    (
        "select a from (select id, coalesce(ts, ts) from events) as v(a, b)",
        "mz_now() < v.b",
        {0: "mz_now() < (coalesce(`ts`, `ts`))"},
    ),
    (
        "select v.x from (select uid as x, since from users union all select id, ts from events union all "
        "select id, ts from events where kind = 'z') v",
        "mz_now() < v.since",
        {1: "mz_now() < `since`", 2: "mz_now() < `ts`", 0: "mz_now() < `ts` AND `kind` = 'z'"},
    ),
    # Spark has the merged column first: the columns of `x.*` are b, a
    (
        "select v.a from (select x.* from (select id as a, uid as b from events) x join (select uid as b from users) y "
        "using (b) union all select id, uid from events) v",
        "mz_now() < v.a",
        {0: "mz_now() < `uid`"},
    ),
    # a UNION makes a text of both: what is compared then is not what one branch has
    (
        "select v.x from (select uid as x, `na me` as y from users union all select id, ts from events) v",
        "mz_now() < v.y",
        {},
    ),
    (
        "select id from events e join users u on e.uid = u.uid and since < ts",
        "mz_now() < ts",
        {0: "mz_now() < `ts` AND `uid` = `mz_other_0` AND `mz_other_1` < `ts`",
         1: "`mz_other_2` = `uid` AND `since` < `mz_other_3`"},
    ),
    # the ON of an outer join is no filter, and its other side is not read row by row
    ("select e.id from events e left join users u on e.uid = u.uid and e.kind = 'l'", "mz_now() < ts", PLAIN),
    ("select id from events lateral view explode(array(1, 2)) as n where n = 1", "mz_now() < ts", PLAIN),
    ("select id from events where id in (select uid from users)", "mz_now() < ts", PLAIN),
    ("select distinct id from events", "mz_now() < ts", {}),
    ("select id from (select max(ts) as ts, id from events group by id) v", "mz_now() < v.ts", {}),
    ("select id from events limit 3", "mz_now() < ts", {}),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "window", "expected"), CASES, ids=[sql[:60] for sql, *_ in CASES])
def test_what_the_rows_of_a_table_must_fulfil(sql: str, window: str, expected: dict[int, str]) -> None:
    told = found(sql, window)
    assert {i: text for i, text in told.items() if i in expected} == expected
    assert expected or not told


def test_columns_that_a_table_is_read_under_are_not_its_own() -> None:
    """`uid` of e is `id` of the table here, and the other way round."""
    assert found("select e.id from events as e(uid, id, kind, ts, f)", "mz_now() < e.kind") == {}
    told = found("with c(a, b) as (select id, ts from events) select c.a from c", "mz_now() < c.b")
    assert told == {0: "mz_now() < `ts`"}


def test_a_subquery_may_be_an_error_where_errors_are_raised() -> None:
    assert found("select id from events where id in (select uid from users)", "mz_now() < ts", ansi=True).get(0) is None


def test_names_that_nobody_has_may_be_anything() -> None:
    assert found("select id, 1 as due from events", "mz_now() < due") == {}
    assert "mz_unknown" in found("select id, 1 as due from events", "mz_now() < due + ts")[0]
