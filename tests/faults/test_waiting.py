"""A run that finds another one of its model: it waits for a while, looks again, and then says whose the lock is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from support.instants import T0
from support.project import Project
from support.rivals import lock, take_over
from support.waiting import FakeTime

pytestmark = pytest.mark.metastore


def held_for(project: Project, waiting: FakeTime, seconds: float, act: Callable[[], Any] = lambda: None) -> None:
    """A rival elsewhere has the lock, and gives it back after so long, when it has done its work."""
    lock(project, "elsewhere 4711 99", int(time.time() * 1000) - 1_000)

    def gone() -> None:
        project.sql("DROP TABLE {s}.m__lock")
        act()

    waiting.later(seconds, gone)


def is_locked(project: Project) -> bool:
    return bool(project.rows("SHOW TABLES IN {s} LIKE 'm__lock'"))


def test_a_lock_that_is_held_for_a_moment(model: Project, waiting: FakeTime) -> None:
    model.sql("INSERT INTO {s}.events VALUES (77)")
    held_for(model, waiting, 0.6)
    model.run(now=T0 + 1000)
    assert model.count() == 11 and not is_locked(model)
    assert 0.6 <= sum(waiting.pauses) < 1.5 and waiting.pauses == sorted(waiting.pauses)


@pytest.mark.landing
@pytest.mark.own_catalog
def test_what_the_other_run_did_is_seen(model: Project, waiting: FakeTime) -> None:
    """What was observed before the lock is observed again, and what is new since the other run is the rest."""
    model.sql("INSERT INTO {s}.events VALUES (77)")

    def rival() -> None:
        take_over(model, T0 + 500)
        model.sql("INSERT INTO {s}.events VALUES (78)")

    held_for(model, waiting, 3, rival)
    result = model.run(now=T0 + 1000)
    assert model.count() == 12 and model.state().frontier == T0 + 1000 and "advanced" in result.text


@pytest.mark.landing
@pytest.mark.own_catalog
def test_nothing_is_new_after_the_other_run(model: Project, waiting: FakeTime) -> None:
    model.sql("INSERT INTO {s}.events VALUES (77)")
    held_for(model, waiting, 3, lambda: take_over(model, T0 + 500))
    result = model.run(now=T0 + 1000)
    assert "unchanged" in result.text and model.count() == 11 and not is_locked(model)
    assert model.state().frontier == T0 + 500


@pytest.mark.landing
def test_an_error_that_the_other_run_explains(
    model: Project, waiting: FakeTime, request: pytest.FixtureRequest
) -> None:
    """What is observed in the middle of another run may be half of it: the run looks again when that one has ended."""
    if request.config.getoption("--catalog") == "files":
        pytest.skip("Iceberg's catalog of type hadoop renames no table")
    model.sql("ALTER TABLE {s}.events RENAME TO {s}.moved")

    def rival() -> None:
        model.sql("ALTER TABLE {s}.moved RENAME TO {s}.events; INSERT INTO {s}.events VALUES (77)")
        take_over(model, T0 + 500)
        model.sql("INSERT INTO {s}.events VALUES (78)")

    held_for(model, waiting, 3, rival)
    assert "advanced" in model.run(now=T0 + 1000).text and model.count() == 12 and waiting.pauses


def test_whose_it_is_when_it_lasts(model: Project, waiting: FakeTime) -> None:
    model.sql("INSERT INTO {s}.events VALUES (77)")
    held_for(model, waiting, 3_600)
    text = model.run(now=T0 + 1000, check=False).text
    assert re.search(r"held by process 4711 on elsewhere for 1\d seconds", text)
    assert "after 10 seconds this one waits no longer" in text
    assert "instead: a longer lock_timeout" in text and sum(waiting.pauses) == pytest.approx(10, abs=0.1)
    assert is_locked(model) and model.count() == 10  # it is not ours to drop


@pytest.mark.landing
@pytest.mark.own_catalog
def test_no_patience(model: Project, waiting: FakeTime) -> None:
    sql = f"select id from {model.schema}.events where mz_now() >= timestamp_millis(id)"
    model.model("m", sql, lock_timeout="0")
    model.sql("INSERT INTO {s}.events VALUES (77)")
    held_for(model, waiting, 0.1)
    text = model.run(now=T0 + 1000, check=False).text
    assert "why: runs of one model go one after the other\n" in text and waiting.pauses == []


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_lock_that_grows_old_meanwhile(
    model: Project,
    waiting: FakeTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.sql("INSERT INTO {s}.events VALUES (77)")
    now = int(time.time() * 1000)
    monkeypatch.setattr(Warehouse, "clock", lambda self: now)  # the age of the lock is that of the fake time alone
    lock(model, "elsewhere 4711 99", now - 3_600_000 + 5_000)
    model.run(now=T0 + 1000)
    assert model.count() == 11 and 4 < sum(waiting.pauses) < 8


@pytest.mark.parametrize("operation", ["temporal_restart", "temporal_consolidate"])
@pytest.mark.landing
@pytest.mark.own_catalog
def test_operations_wait_too(model: Project, waiting: FakeTime, operation: str) -> None:
    held_for(model, waiting, 0.6)
    model.dbt("run-operation", operation, "--args", "{model: m}")
    assert waiting.pauses and not is_locked(model)


@pytest.mark.landing
@pytest.mark.own_catalog
def test_so_does_the_drop_of_leftovers(model: Project, waiting: FakeTime) -> None:
    (model.path / "models" / "m.sql").unlink()
    model.model("other", "select 1 as a", materialized="table")
    held_for(model, waiting, 0.6)
    model.dbt("run-operation", "temporal_drop")
    assert waiting.pauses and not model.rows("SHOW TABLES IN {s} LIKE 'm__live'")


@pytest.mark.landing
@pytest.mark.own_catalog
def test_an_interrupt_while_it_waits(model: Project, waiting: FakeTime) -> None:
    """The lock stays the other's, and nothing of ours is left."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    held_for(model, waiting, 3_600)
    waiting.later(0.5, interrupt)
    held = dict(locks._held)
    with pytest.raises(KeyboardInterrupt):
        locks.take_lock(Warehouse(model.rows), ModelRelations(f"`{model.schema}`", "m"), 60_000)
    assert is_locked(model) and locks._held == held


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_lock_that_is_half_gone(model: Project, waiting: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is gone and its folder is not: looked at again, and told in the end."""
    original = Warehouse.rows

    def rows(self: Warehouse, sql: str) -> list[tuple]:
        if sql.startswith("CREATE TABLE") and "__lock" in sql:
            raise SparkError("[LOCATION_ALREADY_EXISTS] the folder is there")
        return original(self, sql)

    monkeypatch.setattr(Warehouse, "rows", rows)
    target = ModelRelations(f"`{model.schema}`", "m")
    with pytest.raises(TemporalError, match="a folder of that name is left"):
        locks.take_lock(Warehouse(model.rows), target, 1_000)
    assert 0.99 < sum(waiting.pauses) < 3
    waiting.later(0.5, lambda: monkeypatch.setattr(Warehouse, "rows", original))
    token, _ = locks.take_lock(Warehouse(model.rows), target, 1_000)
    locks.give_back_lock(Warehouse(model.rows), target, token)


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_rival_drops_what_is_looked_at(
    lists_in_tables: None, model: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the lock: what a rival took away is no error of this run, which looks again under it."""
    model.sql("INSERT INTO {s}.events VALUES (77)")
    original, left = SparkTemporalConnectionManager.add_query, [1]

    def once(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        if "__inputs_" in sql and left:
            left.clear()
            raise DbtDatabaseError("[TABLE_OR_VIEW_NOT_FOUND] dropped by a rival")
        return original(self, sql, *args, **kwargs)

    monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", once)
    model.run(now=T0 + 1000)
    assert not left and model.count() == 11 and not is_locked(model)


def test_how_long() -> None:
    parsed = [TemporalConfig.parse("m", {"lock_timeout": text}).lock_timeout for text in (None, "0", "2 minutes")]
    assert parsed == [10_000, 0, 120_000]
    with pytest.raises(TemporalError, match="found: lock_timeout: 'soon'\nwhy: it is not a length of time"):
        TemporalConfig.parse("m", {"lock_timeout": "soon"})
