"""One task reads the rows below an aggregation of a residual, where they are few."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.sparktemporal.temporal.diffs import view_sql
from dbt.adapters.sparktemporal.temporal.diffs.groups_sql import FEW_UPDATES
from dbt.adapters.sparktemporal.temporal.rewrite.one_task import few_by_one_task
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.states import CHAIN, a_state

#: mz_core_c2 has more rows than a task is to read, and mz_core_c3 is kept per group
ROWS, MOST = {"mz_core_c0": 6, "mz_core_c1": 4, "mz_core_c2": 11}, 10
BOTH = "SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1"
FEW = "SELECT /*+ COALESCE(1) */ * FROM"
CHANGED = {
    "SELECT k, count(x) AS n FROM mz_core_c0 AS `t` GROUP BY k": (
        f"SELECT k, count(x) AS n FROM ({FEW} mz_core_c0 AS mz_few) AS `t` GROUP BY k"
    ),
    "SELECT max(x) AS n FROM mz_core_c0 WHERE x > 1": (
        f"SELECT max(x) AS n FROM ({FEW} mz_core_c0 AS mz_few) AS `mz_core_c0` WHERE x > 1"
    ),
    f"SELECT k, count(x) AS n FROM ({BOTH}) AS `u` GROUP BY k": (
        f"SELECT k, count(x) AS n FROM ({FEW} ({BOTH}) AS mz_few) AS `u` GROUP BY k"
    ),
    f"SELECT a FROM ({BOTH}) AS u(a, b) GROUP BY a": f"SELECT a FROM ({FEW} ({BOTH}) AS mz_few) AS u(a, b) GROUP BY a",
    f"SELECT DISTINCT * FROM ({BOTH})": f"SELECT DISTINCT * FROM ({FEW} ({BOTH}) AS mz_few)",
    "WITH g AS (SELECT max(x) AS m FROM mz_core_c1 AS t) SELECT * FROM g CROSS JOIN mz_core_c2": (
        f"WITH g AS (SELECT max(x) AS m FROM ({FEW} mz_core_c1 AS mz_few) AS t) SELECT * FROM g CROSS JOIN mz_core_c2"
    ),
}
STAYS = (
    "SELECT k FROM mz_core_c0",
    f"SELECT k FROM ({BOTH}) AS u",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM mz_core_c0",
    "SELECT k, count(*) AS n FROM mz_core_c2 GROUP BY k",
    "SELECT k, count(*) AS n FROM mz_core_c3 GROUP BY k",
    f"SELECT k, count(*) AS n FROM ({BOTH} UNION ALL SELECT * FROM mz_core_c0) AS u GROUP BY k",
    f"SELECT k, count(*) AS n FROM ({BOTH} UNION ALL SELECT * FROM mz_core_c3) AS u GROUP BY k",
    "SELECT k, count(*) AS n FROM (SELECT k FROM mz_core_c0) AS u GROUP BY k",
    "SELECT k, count(*) AS n FROM mz_core_c0 INNER JOIN mz_core_c1 USING (k) GROUP BY k",
    "SELECT k, count(*) AS n FROM mz_core_c0 LATERAL VIEW EXPLODE(xs) e AS x GROUP BY k",
    "SELECT k, (SELECT max(x) FROM mz_core_c1 AS o WHERE o.k = c.k) AS m FROM mz_core_c0 AS c",
)


@pytest.mark.parametrize("residual", CHANGED)
def test_few_rows_are_read_by_one_task(residual: str) -> None:
    assert render(few_by_one_task(parse(residual), ROWS, MOST)) == CHANGED[residual]


@pytest.mark.parametrize("residual", STAYS)
def test_other_reads_stay(residual: str) -> None:
    assert render(few_by_one_task(parse(residual), ROWS, MOST)) == residual


@pytest.mark.parametrize("rows", [FEW_UPDATES, FEW_UPDATES + 1])
def test_the_number_of_stored_rows_decides(rows: int) -> None:
    state = replace(a_state(), residual="SELECT max(id) AS id FROM mz_core_c0")
    (core,) = state.cores
    chains = (replace(CHAIN, rows=rows - 1), replace(CHAIN, rows=1))
    text = view_sql.live_view(replace(state, cores=(replace(core, chains=chains),)))
    assert ("COALESCE(1)" in text) == (rows == FEW_UPDATES)
