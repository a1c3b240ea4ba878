"""What goes wrong inside one process: failing statements, rivals, locks, readers beside many runs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
from conftest import Project

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse, read_state
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.run import run as runs
from dbt.adapters.sparktemporal.run.begin import begin

T0 = 1_709_294_400_000


def state(project: Project) -> Any:
    return read_state(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m"))


@pytest.fixture
def model(project: Project) -> Iterator[Project]:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(10)")
    project.model("m", f"select id from {project.schema}.events where mz_now() >= timestamp_millis(id)")
    yield project


def count(project: Project) -> int:
    return project.rows("SELECT count(*) FROM {s}.m")[0][0]


@pytest.mark.first(2)
@pytest.mark.parametrize("word", ["CREATE TABLE", "ALTER VIEW", "SELECT count(*), count_if"])
def test_failing_statement_leaves_the_old_answer(model: Project, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model.run(now=T0)
    before = state(model)
    model.sql("INSERT INTO {s}.events VALUES (77)")
    original = SparkTemporalConnectionManager.add_query

    def failing(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        if word in sql and "__lock" not in sql:
            raise RuntimeError("the disk is full")
        return original(self, sql, *args, **kwargs)

    monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", failing)
    result = model.run(now=T0 + 1000, check=False)
    assert not result.success and "the disk is full" in result.text
    monkeypatch.undo()
    assert state(model) == before and count(model) == 10
    assert not model.rows("SHOW TABLES IN {s} LIKE 'm__lock'")
    model.run(now=T0 + 2000)
    assert count(model) == 11


def test_crash_before_some_statements(model: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(crash(model, range(random.choice([1, 2, 3]), 30, 3), monkeypatch)) > 1


@pytest.mark.deep
@pytest.mark.parametrize("merging", [False, True])
def test_crash_before_each_statement(model: Project, merging: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.sparktemporal.temporal.diffs.chains.RATIO", 10**9 if merging else 0)
    said = " | ".join(crash(model, range(1, 30), monkeypatch))
    for words in ("__lock`", "CREATE TABLE", "__live`", "__diffs` AS", "DROP TABLE IF EXISTS"):
        assert words in said, said


def crash(model: Project, statements: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As if the process had gone: nothing is tidied, not even the lock; the next run repairs. -> where it went."""
    original = SparkTemporalConnectionManager.add_query
    monkeypatch.setattr("dbt.adapters.sparktemporal.temporal.diffs.chains.CHAIN_CAP", 100)
    model.run(now=T0)
    rows, crashed = 10, []
    for statement in statements:
        model.sql(f"INSERT INTO {{s}}.events VALUES ({rows})")
        left, hit = [statement], []

        def crashing(self: Any, sql: str, *args: Any, left: Any = left, hit: Any = hit, **kwargs: Any) -> Any:
            text = sql.split("*/", 1)[-1] if sql.lstrip().startswith("/*") else sql
            if hit:
                raise RuntimeError("the process is gone")
            if text.split()[0] in ("CREATE", "ALTER", "DROP"):
                left[0] -= 1
                if left[0] == 0:
                    hit.append(" ".join(text.split())[:70])
                    raise RuntimeError("the process is gone")
            return original(self, sql, *args, **kwargs)

        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", crashing)
        model.run(now=T0 + 10_000 * statement, check=False)
        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", original)
        if not hit:
            break
        committed = state(model).frontier == T0 + 10_000 * statement
        assert count(model) == rows + committed, hit
        crashed.append(hit[0])
        model.sql(f"INSERT INTO {{s}}.events VALUES ({rows + 1})")
        model.run(now=T0 + 10_000 * statement + 5_000)
        rows += 2
        assert count(model) == rows, hit
    return crashed


def lock(project: Project, owner: str, at: int) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.m__lock (mz_owner STRING) USING parquet "
        f"TBLPROPERTIES ('mz_owner' = '{owner}', 'mz_at' = '{at}', 'mz_run' = 'x')"
    )


def test_lock_of_a_living_rival(model: Project) -> None:
    now = int(time.time() * 1000)
    lock(model, "elsewhere 4711 99", now - 90_000)
    text = model.run(now=T0, check=False).text
    assert "held by process 4711 on elsewhere for 1 minute" in text and "DROP TABLE" in text and "since 20" in text
    assert model.rows("SHOW TABLES IN {s} LIKE 'm__lock'")  # it is not ours to drop


def test_a_table_that_is_no_lock(model: Project) -> None:
    model.sql("CREATE TABLE {s}.m__lock (x INT) USING parquet")
    assert "m__lock`, which no run of m made" in model.run(now=T0, check=False).text
    assert model.rows("SHOW TABLES IN {s} LIKE 'm__lock'")


def test_stale_lock_is_taken_over(model: Project) -> None:
    lock(model, "elsewhere 4711 99", int(time.time() * 1000) - 3_600_001)
    model.run(now=T0)
    assert count(model) == 10 and not model.rows("SHOW TABLES IN {s} LIKE 'm__lock'")


def test_lock_of_a_dead_process_here(model: Project) -> None:
    lock(model, f"{locks.host()} 4194305 1", int(time.time() * 1000))
    model.run(now=T0)
    assert count(model) == 10


def rival_run(project: Project, now: int) -> None:
    """A whole run by another hand, which has not asked for the lock."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m")
    old = state(project)
    current = begin(warehouse, target, old.written, {}, now, now, warehouse.settings(), warehouse.version())
    for phase in current.phases:
        for step in getattr(current, phase)():
            project.spark.sql(step.sql)


def test_rival_commit_is_noticed(model: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose lock was taken from it while it wrote must not publish over its rival."""
    model.run(now=T0)
    model.sql("INSERT INTO {s}.events VALUES (77)")
    merge, rivals = runs.Run.merge, []

    def slow(self: runs.Run) -> list[Any]:
        if not rivals:
            rivals.append(1)
            rival_run(model, T0 + 500)
        return merge(self)

    monkeypatch.setattr(runs.Run, "merge", slow)
    result = model.run(now=T0 + 1000, check=False)
    assert rivals == [1]
    assert not result.success and "another run committed meanwhile" in result.text
    assert state(model).frontier == T0 + 500 and count(model) == 11


def test_reader_beside_runs(model: Project) -> None:
    reader_beside(model, 4)


@pytest.mark.deep
def test_reader_beside_sixty_runs(model: Project) -> None:
    reader_beside(model, 60)


def reader_beside(model: Project, runs: int) -> None:
    """A reader in a session of its own never sees an error, a missing view or half a run."""
    model.run(now=T0)
    session = model.spark.newSession()
    stop, seen, errors = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.append(session.sql(f"SELECT count(*), max(id) FROM {model.schema}.m").collect()[0])
            except Exception as error:  # every error counts
                errors.append(str(error)[:500])
            time.sleep(0.4)  # two cores are shared with the runs

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(runs):
        model.sql(f"INSERT INTO {{s}}.events VALUES ({10 + n})")
        # the same statements, most of them without what dbt does around them
        (model.run if n % 6 == 0 else partial(rival_run, model))(now=T0 + 1000 * (n + 1))
    stop.set()
    reader.join()
    assert errors == [] and len(seen) > runs
    assert all(rows == top + 1 for rows, top in seen)
    assert [r[0] for r in seen] == sorted(r[0] for r in seen) and count(model) == 10 + runs
