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


@pytest.mark.parametrize("table", ["my-t", "my t", "é", "a.b", "a`b", "a,b", "12"])
@pytest.mark.parametrize("column", ["ts", "event-ts", "a b", "é", "a.b", "a, b"])
def test_scans_of_iceberg_have_names_without_quotes(table: str, column: str) -> None:
    known = f"{column} IS NOT NULL, k IS NOT NULL"
    for filters, bounded in {
        "": False,
        known: False,
        f"{known}, {column} >= 1704067200000000": True,
        f"(k LIKE 'a%' OR {column} IS NULL)": True,
        "k IN ('a, b IS NOT NULL', 'c')": True,
        "flag = true": True,
    }.items():
        shown = f"IcebergScan(table=c.s.{table}, branch=null, filters={filters}, runtimeFilters=, groupedBy=)"
        plan = f"== Physical Plan ==\n+- BatchScan c.s.{table}[{column}#6, k#7] {shown} RuntimeFilters: []"
        assert plans.scans(plan) == [(f"c.s.{table}", f"filters={filters}")]
        assert plans.is_bounded(f"filters={filters}") is bounded, filters


@pytest.mark.parametrize(
    ("partitions", "pushed", "bounded"),
    [
        ("", "IsNotNull(ts), IsNotNull(a b)", False),
        ("isnotnull(d#3), isnotnull(event-d#4)", "", False),
        ("isnotnull(d#3), (d#3 >= 2024-01-01)", "IsNotNull(ts)", True),
        ("flag#3", "", True),
        ("", "IsNotNull(ts), GreaterThanOrEqual(ts,2024-01-01 00:00:00.0)", True),
        ("", "In(k, [a, b IS NOT NULL,c])", True),
    ],
)
def test_scans_of_files(partitions: str, pushed: str, bounded: bool) -> None:
    filters = f"PartitionFilters: [{partitions}], PushedFilters: [{pushed}]"
    plan = f"== Physical Plan ==\n+- FileScan parquet c.s.12[ts#1,k#2] Batched: true, {filters}, ReadSchema: struct<>"
    assert plans.scans(plan) == [("c.s.12", filters)]
    assert plans.is_bounded(filters) is bounded
