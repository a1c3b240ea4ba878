"""Temporal SELECTs in one another: which become one, and which are left to the read."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import render
from dbt.adapters.sparktemporal.temporal.sql.text.helper_columns import is_reserved
from support.typed import by_text

COLUMNS = {"t": ["id", "due", "hi"], "u": ["id", "k"], "w": ["id", "due", "hi", "mz_h", "mz_hits", "mz_hour"]}


@by_text
def describe(sql: str) -> list[tuple[str, str]]:
    assert "mz_now" not in sql
    name = sql.split("FROM ")[-1].split()[0]
    more = [("mz_h0", "int")] if "mz_h0" in sql and name not in ("u",) else []
    return [(c, "int") for c in COLUMNS.get(name, COLUMNS["t"])] + more


INNER = "select id, due from t where k = 1 and mz_now() < hi"

#: what is written -> the one core's query, and its comparisons
MERGED = {
    f"select id from ({INNER}) as x where mz_now() >= x.due": (
        "SELECT id FROM (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) AS x",
        [">= x.due", "< `x`.`mz_h0`"],
    ),
    f"with x as ({INNER}) select * from x where mz_now() >= due": (
        "WITH x AS (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) SELECT `x`.`id`, `x`.`due` FROM x",
        [">= due", "< `x`.`mz_h0`"],
    ),
    f"with x as ({INNER}) select x.id from u left join u v using (k) join x on x.id = u.id where mz_now() >= x.due": (
        "WITH x AS (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) "
        "SELECT x.id FROM u LEFT JOIN u AS v USING (k) JOIN x ON x.id = u.id",
        [">= x.due", "< `x`.`mz_h0`"],
    ),
    "select id from (select id, due from t where mz_now() < timestampadd(DAY, id, hi)) as x where mz_now() >= due": (
        "SELECT id FROM (SELECT id, due, id AS `mz_h0`, hi AS `mz_h1` FROM t) AS x",
        [">= due", "< timestampadd(DAY, `x`.`mz_h0`, `x`.`mz_h1`)"],
    ),
    "with x as (select id, due, hi from t where hi is null or mz_now() < hi), y as (select id, due from x where "
    "mz_now() >= 5) select id from y where mz_now() >= due": (
        "WITH x AS (SELECT id, due, hi, hi AS `mz_h0` FROM t), "
        "y AS (SELECT id, due, `x`.`mz_h0` AS `mz_h1` FROM x) SELECT id FROM y",
        [">= due", ">= 5", "< `y`.`mz_h1`"],
    ),
    # the merged column is of neither side
    f"select * from ({INNER}) x join u using (id) where mz_now() >= due": (
        "SELECT `id`, `x`.`due`, `u`.`k` "
        "FROM (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) AS x JOIN u USING (id)",
        [">= due", "< `x`.`mz_h0`"],
    ),
    # columns of the user that begin as those of the rule
    "select * from (select * from w where mz_now() < hi) as x where mz_now() >= x.due": (
        "SELECT `x`.`id`, `x`.`due`, `x`.`hi`, `x`.`mz_h`, `x`.`mz_hits`, `x`.`mz_hour` "
        "FROM (SELECT *, hi AS `mz_h0` FROM w) AS x",
        [">= x.due", "< `x`.`mz_h0`"],
    ),
    # a SELECT between the two that only passes rows on
    f"with x as (select id, due from ({INNER}) as i where id > 0) select id from x where mz_now() >= due": (
        "WITH x AS (SELECT id, due, `i`.`mz_h0` AS `mz_h1` "
        "FROM (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) AS i WHERE id > 0) SELECT id FROM x",
        [">= due", "< `x`.`mz_h1`"],
    ),
    # each reader of a CTE has its own copy
    f"with x as ({INNER}) select x.id from x join x y using (id) where mz_now() >= x.due": (
        "SELECT x.id FROM (SELECT id, due, hi AS `mz_h0` FROM t WHERE k = 1) AS `x` "
        "JOIN (SELECT id, due, hi AS `mz_h1` FROM t WHERE k = 1) AS `y` USING (id)",
        [">= x.due", "< `x`.`mz_h0`", "< `y`.`mz_h1`"],
    ),
}


@pytest.mark.parametrize("sql", MERGED)
def test_merged(sql: str) -> None:
    (core,) = split(sql, describe).cores
    query, comparisons = MERGED[sql]
    assert render(core.query) == query
    assert [f"{c.operator} {render(c.operand)}" for c in core.comparisons] == comparisons
    assert core.condition is None


APART = (
    f"with x as ({INNER}), y as (select id from x) select x.id from x join y using (id) where mz_now() >= x.due",
    f"with x as ({INNER}) select id from x where mz_now() >= due and exists (select 1 from x y where mz_now() < y.due)",
    f"with x as (select id, due, sum(id) over (order by id) as s from ({INNER}) as i) select id from x "
    "where mz_now() >= due",
    f"select u.id from u left join ({INNER}) x on x.id > u.id where mz_now() >= u.id",  # filled with NULLs
    "select id from (select distinct id, due from t where mz_now() < hi) x where mz_now() >= due",
    "select id from (select id, due from t where mz_now() < hi limit 3) x where mz_now() >= due",
    "select id from (select id, case when mz_now() < hi then 1 end as due from t where mz_now() < hi) x "
    "where mz_now() >= due",
    f"select id from ({INNER}) x where mz_now() >= due and id not in (select id from u where mz_now() < k)",
    f"select x.id from ({INNER}) x join (select distinct id from u where mz_now() < k) y using (id) "
    "where mz_now() >= due",
    f"select x.* from ({INNER}) x join u using (id) join u w using (id) where mz_now() >= due",  # not written out
    "select id from (select id, due from t where exists(array(1), e -> hour(mz_now()) < e)) x where mz_now() >= due",
    f"select id from ({INNER}) x (a, b) where mz_now() >= b",
)


def test_each_reader_has_its_own_copy() -> None:
    """Also through the SELECTs that pass its rows on; the CTEs are gone."""
    sql = f"""
        with x as ({INNER}), y as (select id, due from x), a as (select id from y where mz_now() >= due),
             b as (select id from y as o where mz_now() < due)
        select id from a union all select id from b
    """
    parts = split(sql, describe)
    assert [len(core.comparisons) for core in parts.cores] == [2, 2]
    assert not parts.notes and "mz_now" not in render(parts.residual)


@pytest.mark.parametrize("sql", APART)
def test_apart(sql: str) -> None:
    assert "mz_now()" in render(split(sql, describe).residual)


def test_a_moved_predicate_that_a_read_evaluates() -> None:
    """The column of a moved predicate is stored under a name that is not one of the project's own."""
    sql = "with x as (select id, due from t where sha2(mz_now(), 256) < hi) "
    parts = split(sql + "select due, count(*) as n from x where mz_now() < due group by due", describe)
    (core,) = parts.cores
    assert "< `x`.`x_mz_h0`" in render(parts.residual)
    stored = [item.alias_or_name for item in core.query.selects]
    assert stored == ["due", "x_mz_h0"] and not any(map(is_reserved, stored))
