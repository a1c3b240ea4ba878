"""A read adds up the chains of several cores at once, where an aggregation is over a UNION ALL of their groups."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.merged_groups import merge_groups
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

FORMS = {"mz_core_c0": "one", "mz_core_c1": "one", "mz_core_c2": "one", "mz_core_c3": "other"}
BOTH = "SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1"
CHANGED = {
    f"SELECT k, sum(mz_n) FROM ({BOTH}) AS `u` GROUP BY k": "SELECT k, sum(mz_n) FROM mz_core_c0_c1 AS `u` GROUP BY k",
    f"WITH a AS (SELECT max(x) AS m FROM ({BOTH} UNION ALL SELECT * FROM mz_core_c2) AS u) SELECT m FROM a": (
        "WITH a AS (SELECT max(x) AS m FROM mz_core_c0_c1_c2 AS u) SELECT m FROM a"
    ),
}  # fmt: skip
STAYS = (
    f"SELECT k FROM ({BOTH}) AS u",  # a row for each core's part of a group
    f"SELECT k, sum(mz_n) AS n FROM ({BOTH} UNION ALL SELECT * FROM mz_core_c3) AS u GROUP BY k",
    "SELECT k, sum(mz_n) AS n FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT k, mz_n FROM mz_core_c1) AS u GROUP BY k",
    f"SELECT k, sum(mz_n) AS n FROM ({BOTH}) AS u(k, n) GROUP BY k",
    "SELECT k, sum(mz_n) AS n FROM (SELECT * FROM mz_core_c0 UNION SELECT * FROM mz_core_c1) AS u GROUP BY k",
    "SELECT k, sum(mz_n) AS n FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c0) AS u GROUP BY k",
    "SELECT k, sum(x) AS n FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c9) AS u GROUP BY k",
)


@pytest.mark.parametrize("residual", CHANGED)
def test_what_changes(residual: str) -> None:
    assert render(merge_groups(parse(residual), FORMS)[0]) == CHANGED[residual]


@pytest.mark.parametrize("residual", STAYS)
def test_what_stays(residual: str) -> None:
    found, merged = merge_groups(parse(residual), FORMS)
    assert render(found) == residual and not merged
