"""A session with spark.sql.timestampType = TIMESTAMP_NTZ: what the user writes is local time, the clock an instant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from support.instants import HOUR, T0
from support.project import Project


@pytest.fixture
def local(project: Project) -> Iterator[Project]:
    """Noon in Kolkata is not noon in UTC: who takes one timestamp for the other is wrong by 5.5 hours."""
    conf = project.spark.conf
    before = {key: conf.get(key) for key in ("spark.sql.timestampType", "spark.sql.session.timeZone")}
    conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    project.sql(
        "CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis("
        f"{T0} + {HOUR} * (id - 8)) AS ts, CAST(timestamp_millis({T0} + {HOUR} * (id - 8)) AS TIMESTAMP_NTZ) AS ntz, "
        f"CAST(timestamp_millis({T0} + {HOUR} * (id - 8)) AS DATE) AS d, {T0} + {HOUR} * (id - 8) AS ms, "
        "array(timestamp_millis(id)) AS many FROM range(30)"
    )
    yield project
    for key, value in before.items():
        conf.set(key, value)


PREDICATES = [
    "mz_now() >= ts", "mz_now() < ntz", "mz_now() >= d", "mz_now() - interval 5 hours <= ntz",
    "mz_now() - interval 2 hours > ts", "mz_now() <= ntz + interval 1 day", "mz_now() < ts or id = 1",
    "mz_now() < timestamp '2024-03-01 20:00:00' and mz_now() >= ts",
    "mz_now() < timestamp '2024-03-01 20:00:00Z' and mz_now() >= ts", "mz_now() >= timestamp_ltz '2024-03-01 12:30:00'",
    "mz_now() >= cast(cast(ts as string) as timestamp)", "cast(mz_now() as timestamp) >= ntz",
    "cast(mz_now() as timestamp) >= ts", "to_timestamp(mz_now()) >= ntz", "timestamp(mz_now()) >= ntz",
    "date_trunc('HOUR', mz_now()) = date_trunc('HOUR', ntz)", "date_trunc('DAY', mz_now()) <= ts",
    "cast(mz_now() as date) = d", "mz_now() - ts < interval 3 hours", "mz_now() - ntz < interval 3 hours",
    "mz_now() - interval 1 month >= ntz - interval 1 month", "mz_now() between ntz and ts + interval 4 hours",
    "mz_now() in (ts, ntz, timestamp '2024-03-01 19:00:00')", "unix_millis(mz_now()) >= ms", "mz_now() >= ms + 5",
    "ntz::mz_timestamp <= mz_now()", "mz_now() >= d::mz_timestamp", "not (mz_now() between ts and ntz) or id = 3",
    "timestampdiff(HOUR, ntz, mz_now()) between 1 and 3", "mz_now() < coalesce(ntz, ts)",
]  # fmt: skip


@pytest.mark.first(1)
@pytest.mark.parametrize("part", range(5))
@pytest.mark.landing
def test_predicates(local: Project, part: int) -> None:
    """Each as Spark evaluates it with the instant put in, under the same setting."""
    for number, predicate in enumerate(PREDICATES[part::5]):
        local.model(f"p{number}", f"select id, ts, ntz, many from {local.schema}.events where {predicate}")
    local.run(now=T0)
    warehouse, wrong = Warehouse(local.rows), []
    for number, predicate in enumerate(PREDICATES[part::5]):
        numbers = "ms" in predicate.replace("millis", "") or "mz_timestamp" in predicate
        for t in (T0, T0 + 90 * 60_000 + 1, T0 + 7 * HOUR, T0 + 30 * HOUR):
            clock = f"{t}L" if numbers and "unix" not in predicate else f"timestamp_millis({t}L)"
            written = predicate.replace("mz_now()", clock)
            written = written.replace("ntz::mz_timestamp", "unix_millis(cast(ntz as timestamp_ltz))")
            written = written.replace("d::mz_timestamp", "unix_millis(cast(d as timestamp_ltz))")
            wanted = local.rows(f"SELECT id, ts, ntz, many FROM {{s}}.events WHERE {written}")
            found = local.rows(
                f"SELECT * FROM {as_of(warehouse, ModelRelations(f'`{local.schema}`', f'p{number}'), t)}"
            )
            if sorted(wanted) != sorted(found):
                wrong.append((predicate, t, len(wanted), len(found)))
    assert not wrong, wrong


def test_types_and_expiry(local: Project) -> None:
    """The columns of the view are of the types the query has, also where the arm that raises is there."""
    sql = (
        "select ts, ntz, many, timestamp '2024-01-01 00:00:00' as l, mz_now() as seen, "
        f"cast(mz_now() as timestamp) as at from {local.schema}.events where mz_now() >= ts"
    )
    local.model("m", sql, expiration="1 day")
    local.run(now=T0)
    wanted = [("ts", "timestamp"), ("ntz", "timestamp_ntz"), ("many", "array<timestamp>"), ("l", "timestamp_ntz"),
              ("seen", "timestamp"), ("at", "timestamp_ntz")]  # fmt: skip
    assert [(r[0], r[1]) for r in local.rows("DESCRIBE {s}.m")] == wanted
    with pytest.raises(Exception, match="expired at 2024-03-02"):
        local.rows("SELECT * FROM {s}.m")


@pytest.mark.landing
def test_contract(local: Project) -> None:
    """`timestamp` in a contract is what the session takes it for; the model's columns are what the query says."""
    sql = f"select id, ts, ntz, mz_now() as seen from {local.schema}.events where mz_now() >= ts"
    local.model("m", sql, contract={"enforced": True})
    kinds = {"id": "bigint", "ts": "timestamp_ltz", "ntz": "timestamp", "seen": "timestamp_ltz"}

    def told() -> str:
        columns = [{"name": name, "data_type": kind} for name, kind in kinds.items()]
        local.write("models/schema.yml", json.dumps({"models": [{"name": "m", "columns": columns}]}))
        return local.run(now=T0, check=False).text

    assert "OK hydrated, 30 rows" in told()
    kinds["ts"] = "timestamp"
    broken = told()
    assert "This model has an enforced contract that failed" in broken and "| ts" in broken and "| ntz" not in broken
    kinds |= {"ts": "timestamp_ltz", "ntz": "timestamp_ntz"}
    assert "OK unchanged" in told()


@pytest.mark.landing
def test_groups_statistics_and_changes(local: Project) -> None:
    """Kept groups, files left out by statistics, rows that come later, an append column of local time."""
    events = f"{local.schema}.events"
    window = "mz_now() < ntz + interval 1 day and mz_now() >= timestamp '2024-02-29 00:00:00'"
    sql = (
        "select cast(ntz as date) as day, count(*) as n, max(ntz) as last, min(ts) as first "
        f"from {events} where {window} group by 1"
    )
    local.model("g", sql, pushdown="statistics")
    plain = f"select id, ntz from {events} where {window}"
    local.model("a", plain, change_capture="append", append_column="ntz", lookback="1 hour")
    local.model("s", plain, pushdown="statistics")
    for n, more in enumerate(("", "29, 40")):
        if more:
            local.sql(
                "INSERT INTO {s}.events SELECT id, timestamp_millis("
                f"{T0} + {HOUR} * (id - 8)), CAST(timestamp_millis({T0} + {HOUR} * (id - 8)) AS TIMESTAMP_NTZ), "
                f"CAST(timestamp_millis({T0} + {HOUR} * (id - 8)) AS DATE), {T0} + {HOUR} * (id - 8), "
                "array(timestamp_millis(id)) FROM range(30, 45)"
            )
        now = T0 + n * HOUR
        local.run(now=now)
        warehouse = Warehouse(local.rows)
        for name, written in (("g", sql), ("a", plain), ("s", plain)):
            for t in (now, now + 20 * HOUR, now + 40 * HOUR):
                wanted = local.rows(written.replace("mz_now()", f"timestamp_millis({t}L)"))
                found = local.rows(f"SELECT * FROM {as_of(warehouse, ModelRelations(f'`{local.schema}`', name), t)}")
                assert Counter(wanted) == Counter(found), (name, n, t)
