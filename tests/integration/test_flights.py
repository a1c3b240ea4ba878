"""The integration project, built by dbt with a pinned clock; views against queries written another way."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from support.flights import PROJECT, of_the_flights

pytestmark = pytest.mark.metastore

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
    "delayed_now": "SELECT flight_id, (SELECT max(name) FROM airlines a WHERE a.carrier = f.carrier), "
    "(SELECT max(name) FROM airports o WHERE o.faa = f.origin), dest, scheduled_at FROM flights f "
    "WHERE {t} - unix_millis(scheduled_at) >= 900000 AND unix_millis(departed_at) > {t}",
    "hourly_count": "SELECT date_trunc('HOUR', timestamp_millis({t})), origin, count(*) FROM flights WHERE "
    "departed_at <= timestamp_millis({t}) AND date_trunc('HOUR', departed_at) = date_trunc('HOUR', "
    "timestamp_millis({t})) GROUP BY origin",
    "slide_by_second": "SELECT origin, count(*) FROM flights "
    "WHERE {t} - unix_millis(date_trunc('SECOND', departed_at)) BETWEEN 0 AND 3599999 GROUP BY origin",
    "hopping_window": "SELECT timestamp_millis(first), count(*), round(avg(dep_delay), 1) "
    "FROM flights CROSS JOIN (SELECT {t} - {t} % 600000 - 1800000 AS first) "
    "WHERE unix_millis(departed_at) - first BETWEEN 0 AND 1799999 GROUP BY first",
    "notices": "SELECT flight_id, dest, dep_delay, departed_at FROM flights "
    "WHERE {t} - unix_millis(departed_at) BETWEEN 0 AND greatest(dep_delay, 5) * 60000 - 1",
    "boarding": "SELECT flight_id, tailnum, origin, dest, scheduled_at FROM flights "
    "WHERE unix_millis(scheduled_at) - {t} <= 2400000 AND unix_millis(departed_at) > {t}",
}


def dbt(*args: str, target: Path, data: Path, now: Any = NOW) -> Any:
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--target-path", str(target)]
    variables = f"{{data_path: '{data}', data_now: '{NOW}', temporal_now: '{now}'}}"
    return dbtRunner().invoke(["--quiet", *args, *folders, "--log-path", str(target), "--vars", variables])


@pytest.fixture(scope="module")
def scripts() -> Iterator[Any]:
    with of_the_flights("demo", "flights") as modules:
        yield modules


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, scripts: Any) -> Path:
    return scripts.flights.unpack(tmp_path_factory.mktemp("flights") / "data")


@pytest.fixture(scope="module")
def built(data: Path, spark: Any) -> Iterator[Any]:
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLIGHTS_SCHEMA", SCHEMA)
        yield spark, dbt("build", target=data.parent / "target", data=data)
    spark.sql(f"DROP DATABASE {SCHEMA} CASCADE")


def rows(spark: Any, sql: str) -> list[tuple]:
    spark.sql(f"USE {SCHEMA}")
    found = [tuple(r) for r in spark.sql(sql).collect()]
    spark.sql("USE default")
    return found


def view_at(spark: Any, view: str, t: int) -> list[tuple]:
    warehouse = Warehouse(lambda sql: rows(spark, sql))
    return rows(spark, f"SELECT * FROM {as_of(warehouse, ModelRelations(f'`{SCHEMA}`', view), t)}")


@pytest.mark.landing
def test_every_model_and_test_passes(built: Any) -> None:
    _, outcome = built
    failed = {r.node.name: r.message for r in outcome.result.results if r.status not in ("success", "pass")}
    assert failed == {}
    tests = [r.node.name for r in outcome.result.results if r.node.name.startswith("temporal_")]
    assert len(tests) == 27


@pytest.mark.landing
@pytest.mark.parametrize("view", TRUTH)
@pytest.mark.parametrize("later", [0, 61_017, 1, 3_600_000, 86_400_000])
def test_view_at_an_instant(view: str, later: int, built: Any) -> None:
    spark, _ = built
    truth = rows(spark, TRUTH[view].format(t=f"{T0 + later}L"))
    assert Counter(view_at(spark, view, T0 + later)) == Counter(truth)


@pytest.mark.landing
def test_in_the_air_moves_as_its_diffs_say(built: Any) -> None:
    spark, _ = built
    end = T0 + 900_000
    moved = Counter(view_at(spark, "in_the_air", T0))
    updates = rows(spark, f"SELECT * FROM in_the_air__diffs WHERE mz_timestamp > {T0} AND mz_timestamp <= {end}")
    for _, diff, *row in updates:
        moved[tuple(row)] += diff
    assert {diff for _, diff, *_ in updates} == {1, -1}
    assert +moved == Counter(view_at(spark, "in_the_air", end))


@pytest.mark.landing
def test_the_data_now_is_the_anchor(built: Any, data: Path) -> None:
    """Counted by Python, in New York's own time of 2013."""
    spark, _ = built
    anchor = datetime(2013, 5, 31, 15, 53, 30)
    flying = late = 0
    with (data / "flights.csv").open() as file:
        for f in csv.DictReader(file):
            if f["month"] != "5" or f["day"] not in ("30", "31") or f["dep_delay"] == "NA":
                continue
            scheduled = datetime(2013, 5, int(f["day"]), int(f["hour"]), int(f["minute"]))
            departed = scheduled + timedelta(minutes=int(f["dep_delay"]), seconds=int(f["flight"]) % 60)
            late += scheduled + timedelta(minutes=15) <= anchor < departed
            if f["air_time"] != "NA":
                flying += departed <= anchor < departed + timedelta(minutes=int(f["air_time"]))
    assert (flying, late) == (len(view_at(spark, "in_the_air", T0)), len(view_at(spark, "delayed_now", T0)))
    assert flying > 100 and late >= 10


@pytest.mark.landing
def test_expiration_keeps_half_of_the_updates_of_a_long_window(built: Any) -> None:
    """Departures of the last 8 days leave after the 22 days that are kept, so only older ones have a retraction."""
    spark, _ = built
    ends = spark.sql(f"SELECT count_if(mz_diff > 0), count_if(mz_diff < 0) FROM {SCHEMA}.last_30_days__diffs")
    enters, leaves = ends.collect()[0]
    assert 0 < leaves < enters and enters > 20_000


def test_the_demo_marks_what_changed(scripts: Any) -> None:
    before, after = [("UA1", "EWR"), ("B62", None)], [("B62", None), ("DL33", "JFK")]
    changed = scripts.demo.changes(before, after)
    assert changed == [("-", ("UA1", "EWR")), ("+", ("DL33", "JFK"))]
    assert scripts.demo.lines(["flight", "origin"], [row for _, row in changed], [mark for mark, _ in changed]) == [
        "   flight  origin",
        " - UA1     EWR",
        " + DL33    JFK",
    ]
