"""What goes wrong inside one process: failing statements, rivals, locks, readers beside many runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.run import merging
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import T0
from support.linearizable import Outcome
from support.project import Project
from support.recorded import Recorded, reader_beside
from support.rivals import lock, rival_run
from support.seeds import a_seed

pytestmark = pytest.mark.metastore


@pytest.mark.first(2)
@pytest.mark.parametrize("word", ["CREATE TABLE", "ALTER VIEW", "SELECT count(*), count_if"])
@pytest.mark.quick(1)
def test_failing_statement_leaves_the_old_answer(written: Project, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(written)
    recorded.run(T0)
    before = written.state()
    recorded.insert(77)
    original = SparkTemporalConnectionManager.add_query

    def failing(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        if word in sql and "__lock" not in sql:
            raise RuntimeError("the disk is full")
        return original(self, sql, *args, **kwargs)

    monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", failing)
    result = recorded.run(T0 + 1000, check=False)
    assert not result.success and "the disk is full" in result.text
    monkeypatch.undo()
    recorded.read()
    assert written.state() == before
    assert not written.rows("SHOW TABLES IN {s} LIKE 'm__lock'")
    recorded.run(T0 + 2000)
    recorded.explain()


@pytest.mark.landing
@pytest.mark.own_catalog
def test_crash_before_some_statements(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(crash(written, range(1 + a_seed() % 2, 30, 2), monkeypatch)) > 1


@pytest.mark.deep
@pytest.mark.parametrize("merging", ["at once", "never", "afterwards"])
def test_crash_before_each_statement(written: Project, merging: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if merging != "at once":
        monkeypatch.setattr(chains, "chains_to_rewrite", lambda rows, new: 0)
    monkeypatch.setattr(chains, "RATIO", 0 if merging == "never" else 10**9)
    said = " | ".join(crash(written, range(1, 30), monkeypatch))
    for words in ("__lock`", "CREATE TABLE", "__live`", "__diffs` AS", "DROP TABLE IF EXISTS"):
        assert words in said, said


def crash(written: Project, statements: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As if the process had gone: nothing is tidied, not even the lock; the next run repairs. -> where it went."""
    original = SparkTemporalConnectionManager.add_query
    monkeypatch.setattr("dbt.adapters.sparktemporal.temporal.diffs.chains.CHAIN_CAP", 100)
    recorded, crashed = Recorded(written), []
    recorded.run(T0)
    for statement in statements:
        recorded.insert(len(recorded.inputs[-1]))
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
        recorded.run(T0 + 10_000 * statement, check=False, fails=Outcome.MAYBE)
        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", original)
        if not hit:
            break
        recorded.read_all()
        crashed.append(hit[0])
        recorded.insert(len(recorded.inputs[-1]))
        recorded.run(T0 + 10_000 * statement + 5_000)
        recorded.read_all()
    recorded.explain()
    return crashed


@pytest.mark.parametrize("what", ["a kill", pytest.param("a drop", marks=pytest.mark.landing)])
def test_the_view_has_the_types_of_the_commit(written: Project, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view casts to the types that it was made with: it is made again also where no run remembers these."""
    written.sql("CREATE TABLE {s}.typed USING parquet AS SELECT id, id + 0.75 AS a, CAST(id AS INT) AS b FROM range(2)")
    text = "select {} as v from {}.typed where mz_now() >= timestamp_millis(id)"
    written.model("m", text.format("b", written.schema))
    written.run(now=T0)
    written.model("m", text.format("a", written.schema))
    if what == "a drop":
        written.sql(f"DROP {'TABLE' if 'views_in' in written.connection else 'VIEW'} {{s}}.m__live")
    else:
        original = SparkTemporalConnectionManager.add_query

        def killed(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
            if "VIEW" in sql and "`m` AS" in sql:
                raise RuntimeError("the process is gone")
            return original(self, sql, *args, **kwargs)

        monkeypatch.setattr(SparkTemporalConnectionManager, "add_query", killed)
        assert "the process is gone" in written.run(now=T0 + 1000, check=False).text
        monkeypatch.undo()
    written.run(now=T0 + 2000)
    assert written.rows("SELECT CAST(v AS STRING) FROM {s}.m ORDER BY v") == [("0.75",), ("1.75",)]


def test_lock_of_a_living_rival(written: Project) -> None:
    now = int(time.time() * 1000)
    lock(written, "elsewhere 4711 99", now - 90_000)
    text = written.run(now=T0, check=False).text
    assert "held by process 4711 on elsewhere for 1 minute" in text and "DROP TABLE" in text and "since 20" in text
    assert written.rows("SHOW TABLES IN {s} LIKE 'm__lock'")  # it is not ours to drop


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_table_that_is_no_lock(written: Project) -> None:
    written.sql("CREATE TABLE {s}.m__lock (x INT) USING parquet")
    assert "m__lock`, which no run of m made" in written.run(now=T0, check=False).text
    assert written.rows("SHOW TABLES IN {s} LIKE 'm__lock'")


def test_stale_lock_is_taken_over(written: Project) -> None:
    lock(written, "elsewhere 4711 99", int(time.time() * 1000) - 3_600_001)
    written.run(now=T0)
    assert written.count() == 10 and not written.rows("SHOW TABLES IN {s} LIKE 'm__lock'")


@pytest.mark.landing
@pytest.mark.own_catalog
def test_lock_of_a_dead_process_here(written: Project) -> None:
    lock(written, f"{locks.host()} 4194305 1", int(time.time() * 1000))
    written.run(now=T0)
    assert written.count() == 10


@pytest.mark.landing
def test_rival_commit_is_noticed(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose lock was taken from it while it wrote must not publish over its rival."""
    recorded, rivals = Recorded(written), []
    recorded.run(T0)
    recorded.insert(77)

    count_written = merging.count_written

    def slow(*given: Any) -> Any:
        if not rivals:
            rivals.append(1)
            recorded.rival(T0 + 500, by=rival_run)
            recorded.read()
        return count_written(*given)

    monkeypatch.setattr(merging, "count_written", slow)
    result = recorded.run(T0 + 1000, check=False)
    assert rivals == [1]
    assert not result.success and "another run committed meanwhile" in result.text
    recorded.explain()


@pytest.mark.landing
@pytest.mark.own_catalog
def test_reader_beside_runs(written: Project) -> None:
    reader_beside(written, 4)


@pytest.mark.deep
def test_reader_beside_sixty_runs(written: Project) -> None:
    reader_beside(written, 60)
