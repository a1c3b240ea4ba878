"""The columns of a query, read from the first line of its analyzed plan."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.sql.spark import plans


@pytest.mark.parametrize(
    ("line", "body", "found"),
    [
        ("a: int", "Project [a#1]", [("a", "int")]),
        ("a: int, a: string", "Project [a#1, a#2]", [("a", "int"), ("a", "string")]),
        (
            "a: decimal(10,2), b: map<string,int>",
            "Project [a#1, b#2]",
            [("a", "decimal(10,2)"), ("b", "map<string,int>")],
        ),
        ("a: struct<b:array<int>,c:timestamp_ntz>", "Project [a#1]", [("a", "struct<b:array<int>,c:timestamp_ntz>")]),
        ("i: interval day to second, n: void", "Project [i#1, n#2]", [("i", "interval day to second"), ("n", "void")]),
        # a name with a blank, a colon or a comma in it, and two columns that are one
        ("a b: int", "x", None),
        ("a:b: int", "x", None),
        ("a: struct<x y:int>, b: struct<c: int,d:int>", "x", None),
        ("a: int, b: int", "Project [a: int, b#1]", None),
        ("a: int, b: int, c: int", "+- Relation s.t[a#1,b: int, c#2] parquet", None),
        ("a: int", "", None),
        # what the plan below does not show, and half a type
        ("s: struct<a:int>, x: struct<y:int>", "Project [s#1]", None),
        ("s: struct<a, x: y:int>", "Project [s#1, x#2]", None),
        (" a: int", "Project [ a#1]", None),
        ("a: int,", "Project [a#1]", None),
    ],
)
def test_columns(line: str, body: str, found: list[tuple[str, str]] | None) -> None:
    assert plans.columns(f"== Analyzed Logical Plan ==\n{line}\n{body}\n\n== Optimized Logical Plan ==\nx") == found


def test_leaves_of_tables() -> None:
    plan = "a: int\nUnion false, false\n:- Relation c.s.t[a#1] parquet\n+- RelationV2[a#2] c.s.u c.s.u"
    assert plans.leaves_of_tables(plan) == {
        "c.s.t": "Relation c.s.t[a#1] parquet",
        "c.s.u": "RelationV2[a#2] c.s.u c.s.u",
    }
