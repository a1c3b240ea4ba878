"""Residuals over time, as text: at many instants at once, and row by row."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbt.adapters.sparktemporal.over_time.sequenced.ctes_inline import without_ctes
from dbt.adapters.sparktemporal.over_time.sequenced.histories import Range, partition
from dbt.adapters.sparktemporal.over_time.sequenced.output import Output
from dbt.adapters.sparktemporal.over_time.sequenced.row_by_row import with_times
from dbt.adapters.sparktemporal.over_time.sequenced.sequenced import sequenced
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.instants import DAY, HOUR
from support.states import a_state

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


def test_groups_are_told_apart_by_any_key() -> None:
    """A PARTITION BY takes no maps, wherever in a key they are."""
    keys = [("k", "int"), ("m", "map<string,int>"), ("a", "array<map<int,int>>"), ("s", "struct<m:map<int,int>>")]
    assert partition(keys) == (
        "PARTITION BY `k`, map_entries(`m`), transform(`a`, mz_e0 -> map_entries(mz_e0)), "
        "IF(`s` IS NULL, NULL, struct(map_entries(`s`.`m`))) "
    )
    assert partition([]) == ""


def points(first: int, last: int, refreshes: Refreshes) -> list[int]:
    """The instants at which an output that reads the clock is evaluated, from the literals of their query."""
    state = replace(a_state(), residual="SELECT id, mz_now_bigint() AS t FROM mz_core_c0", refreshes=refreshes)
    query = Output(state, Range(first, last, refreshes)).edge_points()
    assert len(query) < 400  # what has no end in the query has none in Spark
    listed = [int(t) for t in re.findall(r"(-?[0-9]+)L", " ".join(re.findall(r"array\((.*?)\)", query)))]
    for steps in re.findall(r"sequence\((.*?)\)", query):
        begins, ends, step = (int(t) for t in re.findall(r"(-?[0-9]+)L", steps))
        assert begins <= ends  # Spark refuses another order
        listed += range(begins, ends + 1, step)
    return sorted(set(listed))


@pytest.mark.parametrize("also", [(), (7,), (3, 20, 21, 30), (-5, 50)])
@pytest.mark.parametrize("anchor", [0, 7, -3])
@pytest.mark.parametrize("last", [3, 9, 10, 20, 35])
def test_an_output_that_reads_the_clock_changes_at_refreshes(last: int, anchor: int, also: tuple[int, ...]) -> None:
    refreshes = Refreshes(10, anchor, also)
    seen = {refreshes.next(t) for t in range(4, last + 1)} | {3}
    assert points(3, last, refreshes) == sorted(t for t in seen if t <= last)


def test_refreshes_are_no_milliseconds() -> None:
    """A month of refreshes is 721 instants: its milliseconds are more than an array of Spark holds."""
    assert len(points(0, 30 * DAY, Refreshes(HOUR, 0))) == 721
