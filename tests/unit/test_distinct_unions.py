"""A UNION of SELECTs over the clock is a DISTINCT over their UNION ALL."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.distinct_unions import write_out_unions
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

A, B = "SELECT k FROM t WHERE mz_now() < hi", "SELECT k FROM u WHERE mz_now() < hi"
AFTER = f"SELECT DISTINCT * FROM ({A} UNION ALL {B}) AS `mz_union`"
CHANGED = {
    f"{A} UNION {B}": AFTER,
    f"SELECT k FROM ({A} UNION {B}) AS a ORDER BY k": f"SELECT k FROM ({AFTER}) AS a ORDER BY k",
    f"{A} UNION {B} UNION {A}": f"SELECT DISTINCT * FROM ({A} UNION ALL {B} UNION ALL {A}) AS `mz_union`",
    f"{A} UNION ALL {B} UNION {A}": f"SELECT DISTINCT * FROM ({A} UNION ALL {B} UNION ALL {A}) AS `mz_union`",
    f"{A} UNION ({B} UNION {A})": f"SELECT DISTINCT * FROM ({A} UNION ALL ({B} UNION ALL {A})) AS `mz_union`",
    f"WITH a AS ({A}) SELECT * FROM a UNION SELECT k FROM a": f"WITH a AS ({A}) SELECT DISTINCT * FROM "
    "(SELECT * FROM a UNION ALL SELECT k FROM a) AS `mz_union`",
    # of what a side reads, nothing changes
    f"{A} UNION SELECT k FROM (SELECT k FROM u UNION SELECT k FROM w) WHERE mz_now() < 3": f"SELECT DISTINCT * FROM "
    f"({A} UNION ALL SELECT k FROM (SELECT k FROM u UNION SELECT k FROM w) WHERE mz_now() < 3) AS `mz_union`",
}
KEPT = (
    f"{A} UNION ALL {B}",
    f"{A} UNION {B} UNION ALL {A}",
    f"{A} UNION {B} EXCEPT {A}",
    f"{A} UNION {B} ORDER BY k",
    f"{A} UNION {B} LIMIT 5",
    f"{A} UNION SELECT k FROM u",
    f"{A} UNION SELECT k FROM u WHERE mz_now() < hi GROUP BY k",
    f"{A} UNION (SELECT k FROM u WHERE mz_now() < hi LIMIT 5)",
    f"{A} UNION BY NAME {B}",
    f"SELECT k FROM w WHERE k IN ({A} UNION {B})",
    f"SELECT k FROM w WHERE EXISTS(SELECT k FROM ({A} UNION {B}) AS a)",
    f"WITH RECURSIVE r AS ({A} UNION {B}) SELECT k FROM r",
)


def changed(sql: str) -> str:
    return render(write_out_unions(parse(sql)))


@pytest.mark.parametrize("sql", CHANGED)
def test_what_changes(sql: str) -> None:
    assert changed(sql) == CHANGED[sql]


@pytest.mark.parametrize("sql", KEPT)
def test_what_stays(sql: str) -> None:
    assert changed(sql) == sql


@pytest.mark.parametrize("sql", CHANGED)
def test_what_is_written_out_stays(sql: str) -> None:
    assert changed(changed(sql)) == changed(sql)


@pytest.mark.parametrize("union", [f"{A} UNION {B}", f"({A}) UNION ({B})", f"{A} UNION ALL ({B}) UNION {B}"])
def test_groups_are_kept(union: str) -> None:
    for sql in (union, f"SELECT count(*) AS n FROM ({union}) AS a"):
        cores = split(sql, lambda query: [("k", "string")]).cores
        assert len(cores) >= 2 and all(core.groups is not None for core in cores)
