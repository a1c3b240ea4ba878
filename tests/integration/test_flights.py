"""The integration project, built by dbt with a pinned clock; views against queries written another way."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

from dbt.adapters.sparktemporal.reads import as_of
from dbt.adapters.sparktemporal.warehouse import Target, Warehouse

PROJECT = Path(__file__).parents[2] / "integration_tests"
#: the clock of the whole test: pinned, and near enough to the engine's that live reads are not past the expiration
T0 = int(time.time()) // 60 * 60_000
NOW = f"{datetime.fromtimestamp(T0 / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"
SCHEMA = "flights_test"

#: view -> the same content over the staging tables, by other means, `{t}` the instant in ms
TRUTH = {
    "in_the_air": "SELECT flight_id, carrier, flight, origin, dest, departed_at, arrives_at FROM flights "
    "WHERE {t} BETWEEN unix_millis(departed_at) AND unix_millis(arrives_at) - 1",
    "departures_24h": "SELECT carrier, count(*), count_if(dep_delay > 15), max(dep_delay) FROM flights "
    "WHERE {t} - unix_millis(departed_at) BETWEEN 0 AND 86399999 GROUP BY carrier",
    "last_30_days": "SELECT flight_id, carrier, origin, dest, distance, departed_at FROM flights "
    "WHERE {t} - unix_millis(departed_at) BETWEEN 0 AND 30L * 86400000",
    "hourly_count": "SELECT date_trunc('HOUR', timestamp_millis({t})), origin, count(*) FROM flights WHERE "
    "departed_at <= timestamp_millis({t}) AND date_trunc('HOUR', departed_at) = date_trunc('HOUR', "
    "timestamp_millis({t})) GROUP BY origin",
    "boarding": "SELECT flight_id, tailnum, origin, dest, scheduled_at FROM flights "
    "WHERE unix_millis(scheduled_at) - {t} <= 2400000 AND unix_millis(departed_at) > {t}",
}


def dbt(*args: str, target: Path, data: Path, now: Any = NOW) -> Any:
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--target-path", str(target)]
    variables = f"{{data_path: '{data}', data_now: '{NOW}', temporal_now: '{now}'}}"
    return dbtRunner().invoke(["--quiet", *args, *folders, "--log-path", str(target), "--vars", variables])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Iterator[Any]:
    sys.path.insert(0, str(PROJECT))
    from flights import unpack

    sys.path.remove(str(PROJECT))
    home = tmp_path_factory.mktemp("flights")
    patch = pytest.MonkeyPatch()
    patch.setenv("FLIGHTS_SCHEMA", SCHEMA)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    outcome = dbt("build", target=home / "target", data=unpack(home / "data"))
    yield spark, outcome
    patch.undo()
    spark.sql(f"DROP DATABASE {SCHEMA} CASCADE")


def test_every_model_and_test_passes(built: Any) -> None:
    _, outcome = built
    failed = {r.node.name: r.message for r in outcome.result.results if r.status not in ("success", "pass")}
    assert failed == {}
    tests = [r.node.name for r in outcome.result.results if r.node.name.startswith("temporal_")]
    assert len(tests) == 27


@pytest.mark.parametrize("view", TRUTH)
@pytest.mark.parametrize("later", [0, 1, 61_017, 3_600_000, 86_400_000])
def test_view_at_an_instant(view: str, later: int, built: Any) -> None:
    spark, _ = built
    spark.sql(f"USE {SCHEMA}")
    rows = lambda sql: [tuple(r) for r in spark.sql(sql).collect()]  # noqa: E731
    read = as_of(Warehouse(rows), Target(f"`{SCHEMA}`", view), T0 + later)
    truth = TRUTH[view].format(t=f"{T0 + later}L")
    assert sorted(map(str, rows(f"SELECT * FROM {read}"))) == sorted(map(str, rows(truth)))
    spark.sql("USE default")


def test_expiration_keeps_half_of_the_updates_of_a_long_window(built: Any) -> None:
    """Departures of the last 8 days leave after the 22 days that are kept, so only older ones have a retraction."""
    spark, _ = built
    ends = spark.sql(f"SELECT count_if(mz_diff > 0), count_if(mz_diff < 0) FROM {SCHEMA}.last_30_days__diffs")
    enters, leaves = ends.collect()[0]
    assert 0 < leaves < enters and enters > 20_000
