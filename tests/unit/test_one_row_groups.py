"""Residuals that group by all keys of a core: a read of them aggregates once."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.one_row_groups import of_one_row
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

CORES = {"mz_core_c0": (["k", "day"], {"mz_n": "BIGINT", "mz_sum_1": "decimal(37,2)"})}
PLAIN = {
    "sums": (
        "SELECT t.k, coalesce(sum(t.mz_n), 0L) AS n FROM mz_core_c0 AS t GROUP BY t.k, t.day",
        "SELECT t.k, coalesce(`t`.`mz_n`, 0L) AS n FROM mz_core_c0 AS t",
    ),
    "a decimal keeps the type of its sum": (
        "SELECT DAY, sum(mz_sum_1) AS x FROM mz_core_c0 GROUP BY DAY, K",
        "SELECT DAY, CAST(`mz_sum_1` AS DECIMAL(38, 2)) AS x FROM mz_core_c0",
    ),
    "having": (
        "SELECT t.k FROM mz_core_c0 AS t WHERE t.k > 1 GROUP BY t.k, t.day HAVING sum(t.mz_n) > 2 ORDER BY sum(t.mz_n)",
        "SELECT t.k FROM mz_core_c0 AS t WHERE t.k > 1 AND `t`.`mz_n` > 2 ORDER BY `t`.`mz_n`",
    ),
    "windows over the groups": (
        "SELECT k, sum(sum(mz_n)) OVER (ORDER BY day) AS x FROM mz_core_c0 GROUP BY k, day",
        "SELECT k, sum(`mz_n`) OVER (ORDER BY day) AS x FROM mz_core_c0",
    ),
    "below another query": (
        "SELECT max(n) FROM (SELECT sum(mz_n) AS n FROM mz_core_c0 GROUP BY k, day) AS x",
        "SELECT max(n) FROM (SELECT `mz_n` AS n FROM mz_core_c0) AS x",
    ),
}
KEPT = {
    "a part of the keys": "SELECT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY k",
    "no keys": "SELECT sum(mz_n) AS n FROM mz_core_c0",
    "rollup": "SELECT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY ROLLUP (k, day)",
    "an expression": "SELECT sum(mz_n) AS n FROM mz_core_c0 GROUP BY k, day, k + 1",
    "a field of a key": "SELECT sum(mz_n) AS n FROM mz_core_c0 GROUP BY day, day.k",
    "another aggregate": "SELECT max(k) AS n FROM mz_core_c0 GROUP BY k, day",
    "a sum of something else": "SELECT sum(k) AS n FROM mz_core_c0 GROUP BY k, day",
    "a function of somebody else": "SELECT my_total(k) AS n FROM mz_core_c0 GROUP BY k, day",
    "having an item": "SELECT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY k, day HAVING n > 1",
    "distinct": "SELECT DISTINCT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY k, day",
    "a join": "SELECT k, sum(mz_n) AS n FROM mz_core_c0 CROSS JOIN b GROUP BY k, day",
    "a filter": "SELECT k, sum(mz_n) FILTER (WHERE k > 1) AS n FROM mz_core_c0 GROUP BY k, day",
    "a subquery": "SELECT k, (SELECT 1) + sum(mz_n) AS n FROM mz_core_c0 GROUP BY k, day",
    "another table": "SELECT k, sum(mz_n) AS n FROM mz_core_c1 GROUP BY k, day",
}


@pytest.mark.parametrize("name", PLAIN)
def test_sums_of_one_row(name: str) -> None:
    given, wanted = PLAIN[name]
    tree = parse(given)
    assert render(of_one_row(tree, CORES)) == render(parse(wanted))
    assert render(tree) == render(parse(given))  # it stays as it is


@pytest.mark.parametrize("name", KEPT)
def test_what_stays(name: str) -> None:
    assert render(of_one_row(parse(KEPT[name]), CORES)) == render(parse(KEPT[name]))
