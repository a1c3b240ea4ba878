"""The columns of queries by those of tables, and the subqueries that depend on a query around them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.names.bind import columns_of, refuse_other_case, typed_columns
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.given_types import BY_SESSION, KNOWN, ORDERS, UNKNOWN
from support.typed import Columns

TABLES: dict[str, Columns] = {
    "SELECT * FROM s.t": [("id", "int"), ("k", "string"), ("v", "int"), ("at", "timestamp")],
    "SELECT * FROM s.u": [("x", "bigint"), ("K", "string"), ("id", "bigint")],
    "SELECT * FROM s.w": [("at", "timestamp"), ("s", "struct<a:int,r:struct<B:int,b2:int>>"), ("r", "map<int,int>")],
}
#: a query -> its columns, "" for a type that only Spark knows; None: Spark is asked about the whole query
FOUND: dict[str, str | None] = {
    "select * from s.t": "id int, k string, v int, at timestamp",
    "select V, t.k as `a b`, my(v) as w, v + x as y from s.t, s.u": "V int, a b string, w , y bigint",
    "select v + 1 from s.t": None,
    "select nope from s.t": None,
    "select a, b from (select id, v from s.t) x(a, b)": "a int, b int",
    "with w(a) as (select k from s.t), w2 as (select a as w from w) select * from w2 join w": "w string, a string",
    "with s as (select 1 as one) select t.id, one from s.t t, s": "id int, one int",
    "select * from s.t join s.u using (k)": "k string, id int, v int, at timestamp, x bigint, id bigint",
    "select u.* from s.t right join s.u using (k)": "K string, x bigint, id bigint",
    "select * from s.t full join s.u using (id)": "id , k string, v int, at timestamp, x bigint, K string",
    "select * except (v, AT) from s.t left semi join s.u on u.id = t.id": "id int, k string",
    "select id as x from s.t union all select id from s.u order by x limit 3": "x bigint",
    "select k from s.t except select K from s.u": "k string",
    "select s.*, w.s.r.*, s.* except (r), s.r.B as x from s.w": "a , r , B , b2 , a , x ",
    "select r.* from s.w": None,
    "select k, null as n from s.t union all select null, at from s.t": "k string, n timestamp",
    "select k, null as n from s.t union all select null as k, window(at, '1 hour') as w from s.t": "k string, "
    "n struct<start:timestamp,end:timestamp>",
    "select k from s.t union all by name select K from s.u": None,
    "select t.v, e.i from s.t lateral view explode(array(v)) e as i": "v int, i ",
    "select inline(array(struct(1, 'a'))) as (n, a), v from s.t": "n , a , v int",
    "select * from values (1, null), (2L, 'x') as v(a, b)": "a bigint, b string",
    "select * from (values (1), ('x'))": "col1 ",
    "select * from values (1), (2, 3)": None,
    "select v from s.t union all select (select max(x) from s.u where u.id = t.id) from s.t": "v bigint",
    "select (select at from s.u) as a, (with q as (select 1f as x) select x from q) as b from s.t": "a timestamp, "
    "b float",
    "select v as one, one + 1L as two, two + three as x, 1 as three from s.t": "one int, two bigint, x , three int",
    "select b as a, a as b from s.t": "a , b ",
    "select v from s.t union all select 0.5": "v decimal(11,1)",
    "select v from s.t union all select explode(array(0.5))": "v ",
    "select * from s.t pivot (max(v) for k in ('a'))": None,
    "with recursive r as (select id from s.t union all select id + 1 from r) select * from r": None,
    "from s.t |> set v = 1": None,
}


@pytest.mark.parametrize("sql", FOUND)
def test_columns(sql: str) -> None:
    query, asked = parse(sql), []

    def describe(about: exp.Query) -> Columns:
        asked.append(render(about))
        return TABLES.get(render(about), [("of_spark", "int")])

    found = ", ".join(f"{name} {kind}" for name, kind in columns_of(query, describe))
    others = [one for one in asked if one not in TABLES]
    assert (None if others else found) == FOUND[sql] and len(others) < 2
    assert render(query) == render(parse(sql))
    is_whole = all(kind for _, kind in columns_of(query, describe))
    assert typed_columns(query, describe) == (columns_of(query, describe) if is_whole else [("of_spark", "int")])


#: a query -> the name in it that is not what it means here, in a session in which case tells names apart; "" for none
OTHER_CASE = {
    "select upper(k) as K, count(*) as n from s.t group by K": "K",
    "select 5 as V, V + 1 as w from s.t": "V",
    "select T.id from s.t as T join s.u as t on T.id = t.id": "t.id",
    "with a as (select id as ID, AT as x from s.t) select ID, a.ID from a": "AT",
    "with a as (select id as ID from s.t) select ID, a.ID, day(at) as Day, datediff(DAY, at, at) as n from a, s.t": "",
    "select t.k, u.K, x as X from s.t join s.u on k = K": "K",
}


@pytest.mark.parametrize("sql", OTHER_CASE)
def test_names_in_other_case(sql: str) -> None:
    try:
        refuse_other_case(parse(sql), lambda query: TABLES[render(query)])
        assert OTHER_CASE[sql] == ""
    except Refusal as refusal:
        assert refusal.found == OTHER_CASE[sql]


@pytest.mark.parametrize("expression", [*KNOWN, *BY_SESSION, *UNKNOWN])
def test_types_of_any_session(expression: str) -> None:
    """Spark has the last word on these types: see tests/engine/test_another_host.py."""
    query = parse(f"SELECT {expression} AS x FROM shop.orders")
    assert columns_of(query, lambda table: list(ORDERS.items())) == [("x", KNOWN.get(expression, ""))]


def test_a_text_has_the_collation_of_its_parts() -> None:
    query = parse("SELECT k AS a, upper(k) AS b, trim(k) AS c, k || 'x' AS d, min(k) AS e, length(k) AS f FROM s.t")
    collated = "string collate UNICODE"
    found = columns_of(query, lambda table: [("k", collated)])
    assert [kind for _, kind in found] == [collated, "", "", "", collated, "int"]


#: a subquery in the WHERE of s.u u -> how many windows are stored: not one that depends on s.u by more than equal keys
STORED = {
    "exists (select 1 from s.t where mz_now() < at)": 1,
    "exists (select 1 from s.t where t.id = u.id and mz_now() < at)": 1,
    "exists (select 1 from s.t where t.id < u.id and mz_now() < at)": 0,
    "exists (select 1 from s.t where mz_now() < at and id = 1)": 1,
    "exists (select 1 from s.t where mz_now() < at and x = 1)": 0,
    "id in (select id from s.t where mz_now() < at)": 1,
    "id in (select x + id from s.t where mz_now() < at)": 0,
    "id in (select max(v) + max(x) from s.t where mz_now() < at)": 1,
    "id in (select v from s.t where mz_now() < at union all select v from s.t where k = u.k and mz_now() < at)": 1,
    "exists (select 1 from (select id from s.t where mz_now() < at and v = x) d)": 0,
    "exists (select 1 from s.t where mz_now() < at and v in (select x from s.u))": 1,
    "exists (select 1 from s.t where mz_now() < at and v in (select v from s.u a where a.x = u.x))": 0,
    "exists (select 1 from s.t where mz_now() < at and date_add(at, v) > dateadd(DAY, 1, at))": 1,
    "exists (select 1 from s.t join s.t b on b.id = u.id where mz_now() < t.at)": 0,
}


@pytest.mark.parametrize("where", STORED)
def test_what_reads_outside(where: str) -> None:
    parts = split(f"select x from s.u u where {where}", lambda query: TABLES[render(query)])
    assert sum(bool(core.comparisons) for core in parts.cores) == STORED[where]
    assert ("mz_now()" in render(parts.residual)) == (where.count("mz_now()") > STORED[where])


def test_other_types_than_those_of_spark_are_refused() -> None:
    """The rules knew the type of the table, and the plan of the core has another."""
    answers = {
        "DESCRIBE TABLE": [("k", "int", None), ("at", "timestamp", None)],
        "DESCRIBE QUERY": [("k", "string"), ("mz_b0", "timestamp")],
        "EXPLAIN": [("",)],
    }

    def rows(sql: str) -> list[tuple[object, ...]]:
        return next(answer for words, answer in answers.items() if sql.startswith(words))

    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    model = "select distinct k from s.t where mz_now() < at"
    with pytest.raises(Refusal, match="takes its type for int, and Spark for string"):
        understand(Warehouse(rows), model, settings, "4.1.4", 0, None, "groups")
    answers["DESCRIBE QUERY"][0] = ("k", "int")
    assert understand(Warehouse(rows), model, settings, "4.1.4", 0, None, "groups").cores[0].core.groups is not None
