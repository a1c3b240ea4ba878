"""Which tables a core is linear in, and the queries of what their new files add."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbt.adapters.sparktemporal.inputs.changing.changes import InputChange
from dbt.adapters.sparktemporal.inputs.changing.core_delta import CoreDelta, DeltaKind, delta_of
from dbt.adapters.sparktemporal.temporal.ivm.delta_query import Added, AddedRows, TableDelta, added_rows
from dbt.adapters.sparktemporal.temporal.ivm.linear_tables import tables
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

#: SQL -> its tables, those it is linear in as capitals
LINEAR = {
    "select a.k from d.a join d.b on a.k = b.k where a.k in (select k from d.c)": "A B c",
    "select * from d.a left join d.b using (k)": "A b",
    "select * from d.a right join d.b using (k)": "a B",
    "select * from d.a full join d.b using (k) join d.c": "a b C",
    "select * from d.a right join d.b using (k) left join d.c using (k)": "a B c",
    "select * from d.a left semi join d.b using (k)": "A b",
    "select * from d.a anti join d.b using (k)": "A b",
    "select * from d.a, d.b lateral view explode(xs) e as x": "A B",
    "select * from d.a cross join d.b natural join d.c": "A B C",
    "with x as (select * from d.a where k > 1) select * from x": "A",
    "with x as (select * from d.a) select * from x y, x z": "a",
    "with x as (select * from d.a), y as (select * from x) select * from y join d.b using (k)": "A B",
    "select * from (select k, count(*) from d.a group by k) g join d.b b on g.k = b.k": "a B",
    "select * from (select * from d.a union all select * from d.b) u": "A B",
    "select * from (select * from d.a union select * from d.b) u": "a b",
    "select * from (select * from d.a union all select * from d.b limit 3) u": "a b",
    "select * from ((select * from d.a) x right join d.b using (k))": "a b",
    "select * from d.a tablesample (10 percent)": "a",
    "select * from d.a version as of 'side'": "A",
    "select * from d.a timestamp as of '2024-01-01'": "a",
    "select * from d.a join lateral (select * from d.b where b.k = a.k) l": "A b",
    "select distinct k from d.a": "a",
    "select k from d.a order by k limit 1": "a",
    "select k, row_number() over (order by k) from d.a": "a",
    "select (select max(k) from d.b) from d.a": "A b",
    "select transform(k) using 'cat' from d.a": "a",
}


@pytest.mark.parametrize("sql", LINEAR)
def test_linear(sql: str) -> None:
    found = {t.name.upper() if linear else t.name for t, linear in tables(parse(sql))}
    assert found == set(LINEAR[sql].split())


def added(sql: str, *names: str) -> list[str]:
    query = parse(sql)
    changes = {i: Added("f", (f"{t.name}1",)) for i, (t, _) in enumerate(tables(query)) if t.name in names}
    assert all(sign == 1 for sign, _ in added_rows(query, changes))
    return [render(q) for _, q in added_rows(query, changes)]


def test_one_table() -> None:
    assert added("select a.k from d.a where a.k > 1", "a") == [
        "SELECT a.k FROM (SELECT * FROM d.a WHERE f IN ('a1')) AS `a` WHERE a.k > 1"
    ]
    assert added("select p from d.a as x(p, q)", "a") == [
        "SELECT p FROM (SELECT * FROM d.a WHERE f IN ('a1')) AS x(p, q)"
    ]


def test_a_join_of_two() -> None:
    """New rows of the first with all of the second, old rows of the first with new ones of the second."""
    assert added("select 1 from d.a join d.b on a.k = b.k", "a", "b") == [
        "SELECT 1 FROM (SELECT * FROM d.a WHERE f IN ('a1')) AS `a` JOIN d.b ON a.k = b.k",
        "SELECT 1 FROM (SELECT * FROM d.a WHERE NOT f IN ('a1')) AS `a` "
        "JOIN (SELECT * FROM d.b WHERE f IN ('b1')) AS `b` ON a.k = b.k",
    ]


def test_a_join_with_itself() -> None:
    first, second = added("select 1 from d.a x join d.a y using (k)", "a")
    assert first == "SELECT 1 FROM (SELECT * FROM d.a WHERE f IN ('a1')) AS x JOIN d.a AS y USING (k)"
    assert "WHERE NOT f IN ('a1')) AS x JOIN (SELECT * FROM d.a WHERE f IN ('a1')) AS y" in second


def test_a_union() -> None:
    """The other branches have no row of the table, whether they changed or not."""
    sql = "select * from (select k from d.a union all select j from d.b) join d.c using (k)"
    joined, first, second = added(sql, "a", "b", "c")
    assert joined.startswith(
        "SELECT * FROM (SELECT k FROM d.a UNION ALL SELECT j FROM d.b) JOIN (SELECT * FROM d.c WHERE f"
    )
    new = "SELECT k FROM (SELECT * FROM d.a WHERE f IN ('a1')) AS `a`"
    assert f"{new} UNION ALL SELECT * FROM (SELECT j FROM d.b) AS mz_none WHERE FALSE" in first
    assert second.count("WHERE FALSE UNION ALL SELECT j FROM (SELECT * FROM d.b WHERE f IN ('b1')) AS `b`") == 1
    assert first.count("NOT f IN ('c1')") == second.count("NOT f IN ('c1')") == 1
    (constant,) = added("select 1 as k union all select k from d.a", "a")
    assert constant.startswith("SELECT * FROM (SELECT 1 AS k) AS mz_none WHERE FALSE UNION ALL")


def test_a_cte_below_a_union() -> None:
    """The branch of a table is the one that reads its CTE, also through other CTEs."""
    x = "with x as (select k from d.a), y as (select k from x)"
    first, second = added(f"{x}, z as (select k from y union all select j from d.b) select k from z", "a", "b")
    assert "AS `a`), y AS (SELECT k FROM x), z AS (SELECT k FROM y UNION ALL SELECT * FROM (SELECT j FROM d.b)" in first
    assert "AS mz_none WHERE FALSE)" in first and first.count("WHERE FALSE") == second.count("WHERE FALSE") == 1
    assert "(SELECT k FROM y) AS mz_none WHERE FALSE UNION ALL SELECT j FROM (SELECT * FROM d.b WHERE f IN" in second


def test_names_are_literals() -> None:
    assert Added("f", ("it's", "b")).condition == "f IN ('it\\'s', 'b')"


FRAME = "specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$())"
#: a node of the plan of an unchanged side -> whether it may be another set of rows in the next run
SIDES = {
    "Project [k#2, v#3]": False,
    "GlobalLimit 0": False,
    "GlobalLimit 3": True,
    f"Window [row_number() windowspecdefinition(k#2, v#3 ASC NULLS FIRST, {FRAME}) AS rn#4], [k#2]": True,
    f"Window [rank(v#3) windowspecdefinition(k#2, v#3 ASC NULLS FIRST, {FRAME}) AS rn#4], [k#2]": False,
    f"Window [row_number() windowspecdefinition(mz_partner_k0#2, {FRAME}) AS mz_number#4], [mz_partner_k0#2]": False,
    "Aggregate [k#2], [k#2, first(v#3, false) AS v#5]": True,
    "Aggregate [k#2], [k#2, max(v#3) AS v#5]": False,
}


def delta(side: str, added: TableDelta | None = None, kind: str = "int") -> CoreDelta:
    """How a core is read after its first table changed. kind: the type of v in the other table."""
    plan = f"""== Analyzed Logical Plan ==
k: bigint
Project [k#1]
+- Join Inner, (k#1 = k#2)
   :- SubqueryAlias spark_catalog.d.a
   :  +- Relation spark_catalog.d.a[k#1] parquet
   +- {side}
      +- SubqueryAlias spark_catalog.d.b
         +- Relation spark_catalog.d.b[k#2,v#3] parquet
"""
    core = TypedCore(
        Core("c0", parse("select a.k from d.a join (select * from d.b) as b on a.k = b.k")), (("k", "bigint"),)
    )
    changes = {
        "spark_catalog.d.a": InputChange("it changed", added=added or Added("_metadata.file_path", ("f",))),
        "spark_catalog.d.b": InputChange("", same=True),
    }
    warehouse = SimpleNamespace(
        stack=None,
        describe=lambda sql: [("k", "bigint")],
        table=lambda name: SimpleNamespace(columns=[("k", "bigint"), ("v", kind)]),
    )
    return delta_of(cast(Any, warehouse), core, plan, cast(Any, changes), changes, "")


@pytest.mark.parametrize("side", SIDES)
def test_new_rows_meet_an_unchanged_side_unless_it_chooses_among_rows(side: str) -> None:
    found = delta(side)
    assert found.kind is (DeltaKind.FULL if SIDES[side] else DeltaKind.INCREMENTAL)
    assert SIDES[side] == ("beside a choice among rows" in found.why)


@pytest.mark.parametrize(
    ("side", "kind", "is_told"),
    [
        ("Aggregate [k#2], [k#2, sum(v#3) AS v#5]", "double", False),
        ("Aggregate [k#2], [k#2, avg(v#3) AS v#5]", "float", False),
        ("Aggregate [k#2], [k#2, try_sum(cast(v#3 as double)) AS v#5]", "int", False),
        ("Aggregate [k#2], [k#2, sum(v#3) AS v#5L]", "int", True),
        ("Aggregate [k#2], [k#2, max(v#3) AS v#5]", "double", True),
    ],
)
def test_rows_are_taken_back_unless_a_sum_of_doubles_made_them(side: str, kind: str, is_told: bool) -> None:
    """Its last digits follow from the order of the rows, so the row to take back would be another one."""
    came, went = AddedRows("(SELECT 1)", "", ""), AddedRows("(SELECT 1)", "(SELECT 2)", "")
    assert delta(side, came, kind).is_incremental
    assert delta(side, went, kind).is_incremental == is_told
    assert is_told or "beside a sum of DOUBLE" in delta(side, went, kind).why
