"""Residuals over time, as text: at many instants at once, and row by row."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.over_time.sequenced.ctes_inline import without_ctes
from dbt.adapters.sparktemporal.over_time.sequenced.row_by_row import with_times
from dbt.adapters.sparktemporal.over_time.sequenced.sequenced import sequenced
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

CORES = {"mz_core_c0": ["id", "k"], "mz_core_c1": ["k", "nm"]}
X = "(SELECT `id`, `k`, `mz_seq_t` AS mz_seq_t_0 FROM mz_core_c0) AS x"
#: residual -> the same at each instant; None where it is read at each instant by itself
AT_INSTANTS = {
    "select k, count(*) as n from mz_core_c0 x group by rollup(k)": (
        f"SELECT k, count(*) AS n, `mz_seq_t_0` AS mz_seq_t FROM {X} GROUP BY `mz_seq_t_0`, ROLLUP (k)"
    ),
    "select x.id, y.nm from mz_core_c0 x full join mz_core_c1 y on x.k = y.k": (
        f"SELECT x.id, y.nm, coalesce(`mz_seq_t_0`, `mz_seq_t_1`) AS mz_seq_t FROM {X} FULL JOIN "
        "(SELECT `k`, `nm`, `mz_seq_t` AS mz_seq_t_1 FROM mz_core_c1) AS y "
        "ON (x.k = y.k) AND `mz_seq_t_0` = `mz_seq_t_1`"
    ),
    "select id from mz_core_c0 x where k in (select k from mz_core_c1 x)": (
        f"SELECT id, `mz_seq_t_0` AS mz_seq_t FROM {X} WHERE k IN (SELECT k FROM "
        "(SELECT `k`, `nm`, `mz_seq_t` AS mz_seq_t_1 FROM mz_core_c1) AS x WHERE `mz_seq_t_1` = `mz_seq_t_0`)"
    ),
    "select * from (select id, k from mz_core_c0) pivot (count(id) for k in ('a'))": None,
}
#: residual -> the same with the instants of each row; None where a row of the output is of several rows
ROW_BY_ROW = {
    "with live as (select * from mz_core_c0) select upper(k) as u from live a where a.id > 2": (
        "SELECT upper(k) AS u, `a`.`mz_from`, `a`.`mz_until` FROM (SELECT `mz_core_c0`.`id`, `mz_core_c0`.`k`, "
        "`mz_core_c0`.`mz_from`, `mz_core_c0`.`mz_until` FROM mz_core_c0 AS `mz_core_c0`) AS a WHERE a.id > 2"
    ),
    "select k from mz_core_c0 x union all select cast(id as string) from mz_core_c0 y": (
        "SELECT k, `x`.`mz_from`, `x`.`mz_until` FROM mz_core_c0 AS x "
        "UNION ALL SELECT CAST(id AS STRING), `y`.`mz_from`, `y`.`mz_until` FROM mz_core_c0 AS y"
    ),
    "select distinct k from mz_core_c0": None,
    "select * from (select cast(id as string), id from mz_core_c0) as a": None,
    "select an_aggregate_of_mine(id) as v from mz_core_c0": None,
    "select id, mz_now_bigint() as t from mz_core_c0": None,
    "select id from mz_core_c0 where k in (select k from mz_core_c1)": None,
}


@pytest.mark.parametrize("residual", AT_INSTANTS)
def test_at_instants(residual: str) -> None:
    found = sequenced(parse(residual), CORES)
    assert (None if found is None else render(found)) == AT_INSTANTS[residual]


@pytest.mark.parametrize("residual", ROW_BY_ROW)
def test_row_by_row(residual: str) -> None:
    flat = without_ctes(parse(residual))
    assert flat is not None
    found = with_times(flat, CORES)
    assert (None if found is None else render(found)) == ROW_BY_ROW[residual]
