"""How many updates after the expiration a rebuild does not store: told by its chain where every window ends."""

from __future__ import annotations

import pytest

from support.instants import T0
from support.project import Project
from support.sampled import each

LASTS = 100_000
#: id, ends (ms after T0, none), begins (ms after T0)
ROWS = [
    (1, 50_000, -5),
    (2, 100_000, 10),
    (3, 100_001, 20),
    (4, 500_000, 100_001),
    (5, None, 30),
    (6, 300_000, 300_001),
    (7, -1, -10),
    (7, 200_000, 100_000),
    (7, 200_000, 100_000),
]
BEGINS, ENDS = "begins", "ends"
#: predicate -> (SQL of a window's bounds, whether the chain tells)
PREDICATES = {
    "mz_now() < hi": (None, ENDS, True),
    "mz_now() < hi and mz_now() <= hi + interval 1 day": (None, ENDS, True),
    "mz_now() < hi and (lo is null or mz_now() < hi + interval 1 day)": (None, ENDS, False),
    "mz_now() >= lo and mz_now() < hi": (BEGINS, ENDS, False),
    "hi is null or mz_now() < hi": (None, f"coalesce({ENDS}, {10**15})", False),
    "mz_now() <= unix_millis(hi) - 1": (None, ENDS, False),
}


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("predicate", each(3, PREDICATES))
def test_updates_that_are_not_stored(project: Project, predicate: str, aggregated: bool, sent: list[str]) -> None:
    begins, ends, is_told = PREDICATES[predicate]
    values = ", ".join(f"({i}, {'NULL' if e is None else f'{e}L'}, {b}L)" for i, e, b in ROWS)
    rows = f"SELECT * FROM VALUES {values} AS v(id, ends, begins)"
    project.sql(
        f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + ends) AS hi, "
        f"timestamp_millis({T0}L + begins) AS lo FROM ({rows})"
    )
    select = "select id % 2 as k, count(*) as n" if aggregated else "select id"
    project.model(
        "m",
        f"{select} from {project.schema}.t where {predicate}" + (" group by id % 2" if aggregated else ""),
        expiration=f"{LASTS} milliseconds",
        aggregates="groups",
    )
    response = project.run(now=T0).of("m").adapter_response
    lo, hi = f"greatest({begins or 0}, 0)", ends
    window = f"SELECT {lo} AS lo, {hi} AS hi FROM ({rows}) WHERE {hi} > {lo}"
    ((wanted,),) = project.rows(
        f"SELECT sum(IF(lo > {LASTS}, 1, 0) + IF(hi > {LASTS} AND hi < {10**14}, 1, 0)) FROM ({window})"
    )
    assert response["updates_beyond_expiration"] == wanted
    assert any("mz_windows" in sql and sql.startswith("SELECT 0 AS mz_arm") for sql in sent) != is_told
