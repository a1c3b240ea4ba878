"""Which temporal SELECTs are kept for the aggregation above them, and which as rows."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import render
from support.typed import by_text


@by_text
def describe(sql: str) -> list[tuple[str, str]]:
    assert "mz_now" not in sql
    return [("k", "string"), ("v", "int"), ("hi", "timestamp")]


ALIVE = "from t where mz_now() < hi"
PER_GROUP = (
    f"with a as (select k, v {ALIVE}) select k, sum(v) as n from a group by k",
    f"with a as (select k, v {ALIVE}), b as (select * from a) select k, count(*) as n from b group by k",
    f"with a as (select k, v {ALIVE}) select distinct * from a",
)


@pytest.mark.parametrize("sql", PER_GROUP)
def test_per_group(sql: str) -> None:
    (core,) = split(sql, describe).cores
    assert core.groups is not None


def test_a_star_is_of_the_columns_of_the_model() -> None:
    """Not of the operands of the comparisons, which stand beside them."""
    (core,) = split(PER_GROUP[2], describe).cores
    assert not any(item.is_star for item in core.query.expressions)


#: of the rows that pass the predicate these make others, which are what the aggregation counts
ROWS = {
    f"with a as (select k, v {ALIVE} order by v limit 1) select k, count(*) as n from a group by k": "LIMIT 1",
    f"with a as (select k, sum(v) over (order by v) as v {ALIVE}) select k, sum(v) as n from a group by k": "OVER (",
    f"select distinct k from (select k, rank() over (order by k) as v {ALIVE}) as a where v = 1": "OVER (",
    f"select k, count(*) as n from (select k, v {ALIVE} order by v limit 2 offset 1) as a group by k": "OFFSET 1",
}


@pytest.mark.parametrize("sql", ROWS)
def test_rows(sql: str) -> None:
    parts = split(sql, describe)
    assert [core.groups for core in parts.cores] == [None]
    assert ROWS[sql] in render(parts.residual)


HASHED = f"with a as (select k, v {ALIVE}), b as (select k, hash(*) as h from a) "
#: rules put columns beside those that the star stands for
STARS = (
    f"{HASHED} select h, count(*) as n from b group by h",
    f"with a as (select k, v {ALIVE}) select k, count(*) as n from a where hash(*) > 0 group by k",
    f"with a as (select k, v {ALIVE}) select hash(*) as h from a where mz_now() >= timestamp_millis(v)",
    f"{HASHED} select o.k, b.h from u o join b on b.k = o.k where mz_now() >= o.hi",
    f"{HASHED} select o.k, b.h from u o left join b on b.k = o.k",
    "select max(hash(*)) as h, count_if(mz_now() < hi) as n from (select k, v, hi from t) as a",
)


@pytest.mark.parametrize("sql", STARS)
def test_a_star_among_arguments_is_of_the_columns_of_the_model(sql: str) -> None:
    parts = split(sql, describe)
    shown = [call for core in parts.cores for call in _hashes(core.query)] or _hashes(parts.residual)
    assert shown and all(call.startswith("hash(`a`.`k`, `a`.`v`") for call in shown)


def _hashes(query: exp.Expr) -> list[str]:
    return [render(call) for call in query.find_all(exp.Anonymous) if call.name == "hash"]


SOME = f"with c as (select k from u where v > 1), a as (select k, v {ALIVE})"
OF_A_CTE = (
    f"{SOME}, b as (select k in (select k from c) as is_c from a) select is_c, count(*) as n from b group by is_c",
    f"{SOME}, b as (select exists (select 1 from c where c.k = a.k) as is_c from a) select distinct is_c from b",
    f"{SOME} select distinct k, k in (select k from c) as is_c from a",
)


@pytest.mark.parametrize("sql", OF_A_CTE)
def test_a_subquery_that_reads_a_cte_stays_above_the_rows(sql: str) -> None:
    """A core by itself would not see the CTE, and read a table of this name."""
    parts = split(sql, describe)
    assert [core.groups for core in parts.cores] == [None, None]
    assert not any(table.name == "c" for core in parts.cores for table in core.query.find_all(exp.Table))
    assert "FROM c" in render(parts.residual)


def test_rows_of_which_a_pivot_makes_others() -> None:
    """The rows get no column for a predicate: PIVOT would group by the column."""
    for pivot in ("pivot (sum(v) for k in ('a'))", "unpivot (n for what in (v))"):
        sql = f"select * from (select k, v, hi {ALIVE}) {pivot} where mz_now() >= hi"
        (core,) = split(sql, describe).cores
        assert render(core.query) == "SELECT k, v, hi FROM t"
