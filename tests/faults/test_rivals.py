"""Two runs at once, a disk that is full, readers that are slow: who loses fails cleanly and has harmed nothing."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.looking.consolidate import consolidate
from dbt.adapters.sparktemporal.looking.run_operations import locked
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import T0
from support.project import Project
from support.recorded import Recorded
from support.rivals import before_statement, take_over

pytestmark = pytest.mark.metastore


@pytest.mark.landing
@pytest.mark.own_catalog
def test_paused_between_check_and_commit(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of a paused run is taken over: what it wrote goes, so that its commit cannot be the last word."""
    recorded = Recorded(written)
    recorded.run(T0)
    recorded.insert(77)
    runs: list[Any] = []

    def rival() -> None:
        recorded.insert(78)
        runs.append(recorded.rival(T0 + 500))
        recorded.read()

    with before_statement(monkeypatch, "`m__live` AS", rival):
        result = recorded.run(T0 + 1000, check=False)
    assert not result.success and "TABLE_OR_VIEW_NOT_FOUND" in result.text
    assert [len(run.plan.displaced) for run in runs] == [1]
    recorded.read_all()
    recorded.run(T0 + 2000)
    recorded.explain()
    assert not [t for t in written.relations() if "lock" in t]


@pytest.mark.landing
@pytest.mark.own_catalog
def test_paused_before_it_publishes(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run has committed and published: the run looks at the commit once more, and publishes that one."""
    recorded = Recorded(written)
    recorded.run(T0)
    recorded.insert(77)

    def rival() -> None:
        recorded.insert(78)
        recorded.rival(T0 + 500)
        recorded.read_rows()

    with before_statement(monkeypatch, "VIEW `.*`m__diffs` AS", rival):
        recorded.run(T0 + 1000)
    recorded.explain()
    assert not [t for t in written.relations() if "lock" in t]


@pytest.mark.landing
@pytest.mark.own_catalog
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_updates_that_are_behind(written: Project, monkeypatch: pytest.MonkeyPatch, is_overtaken: bool) -> None:
    """A server carried a statement out late: the next run, in which nothing is new, publishes the last commit."""
    recorded, updates = Recorded(written), written.target().name("__diffs")
    recorded.run(T0)
    behind = Warehouse(written.rows).view(updates)
    assert behind is not None
    recorded.insert(77)
    recorded.run(T0 + 1000)
    written.sql(f"{behind.rewrite} {updates} AS {behind.text}")
    assert written.rows(f"SELECT count(*) FROM {updates}") == [(10,)]

    def rival() -> None:
        if is_overtaken:
            recorded.insert(78)
            recorded.rival(T0 + 1500)

    with before_statement(monkeypatch, "VIEW `.*`m__diffs` AS", rival):
        result = recorded.run(T0 + 2000)
    assert "unchanged" in result.of("m").message
    recorded.explain()


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_consolidation_takes_over_from_a_paused_run(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It drops the tables of the paused run, whose commit would replace the consolidation."""
    recorded = Recorded(written)
    recorded.run(T0)
    recorded.insert(77)
    runs: list[str] = []

    def rival() -> None:
        with monkeypatch.context() as to_whom_the_owner_is_dead:
            to_whom_the_owner_is_dead.setattr(locks, "_held", {})
            warehouse, target = Warehouse(written.rows), written.target()
            with locked(warehouse, target, 0) as (run_id, displaced):
                consolidate(warehouse, target, TemporalConfig.parse("m", {}), run_id, [], displaced)
            runs.append(run_id)

    with before_statement(monkeypatch, "`m__live` AS", rival):
        result = recorded.run(T0 + 1000, check=False)
    assert not result.success and "TABLE_OR_VIEW_NOT_FOUND" in result.text
    assert [written.state().run] == runs
    recorded.read_all()
    recorded.run(T0 + 2000)
    recorded.explain()
    assert not [t for t in written.relations() if "lock" in t]


@pytest.mark.landing
@pytest.mark.own_catalog
def test_a_rival_in_the_middle(written: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it counts what it wrote: its tables are gone, and it says so instead of committing."""
    recorded = Recorded(written)
    recorded.run(T0)
    recorded.insert(77)
    with before_statement(monkeypatch, r"SELECT count\(\*\), count_if", lambda: recorded.rival(T0 + 500)):
        result = recorded.run(T0 + 1000, check=False)
    assert not result.success
    recorded.read_all()
    recorded.run(T0 + 2000)
    recorded.explain()
    assert not [t for t in written.relations() if "lock" in t]


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["m", "new"])
def test_a_rival_between_the_look_and_the_lock(model: Project, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It has committed and gone: the run notices before its own commit, drops what it wrote, and begins again."""
    sql = f"select id from {model.schema}.events where mz_now() >= timestamp_millis(id)"
    model.model(name, sql)
    model.sql("INSERT INTO {s}.events VALUES (77)")

    def rival() -> None:
        take_over(model, T0 + 500, name, sql)
        model.sql("INSERT INTO {s}.events VALUES (78)")

    with before_statement(monkeypatch, f"CREATE TABLE `{model.schema}`.`{name}__lock`", rival):
        result = model.run("-s", name, now=T0 + 1000)
    state = model.state(name)
    assert "advanced, 1 row" in result.of(name).message and state.frontier == T0 + 1000
    assert model.rows(f"SELECT count(*) FROM {{s}}.{name}") == [(12,)]
    named = {*state.tables, *(t for t, _ in state.retired), name, f"{name}__live", f"{name}__diffs"}
    assert {t for t in model.relations() if t == name or t.startswith(f"{name}__")} <= named


@pytest.mark.landing
@pytest.mark.own_catalog
def test_two_at_once(model: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second finds the lock of the first, which lives, and leaves all as it is."""
    model.sql("INSERT INTO {s}.events VALUES (77)")
    said: list[str] = []

    def rival() -> None:
        try:
            locks.take_lock(Warehouse(model.rows), ModelRelations(f"`{model.schema}`", "m"), 0)
        except Exception as error:
            said.append(str(error))

    with before_statement(monkeypatch, "`m__live` AS", rival):
        model.run(now=T0 + 1000)
    assert "m__lock, held by process" in said[0] and model.count() == 11


@pytest.mark.first(1)
@pytest.mark.parametrize("words", [r"AS SELECT \* FROM \(", "__inputs_"])
@pytest.mark.landing
@pytest.mark.own_catalog
def test_disk_full(lists_in_tables: None, model: Project, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel lets Spark write no file of more than 100 bytes, in the middle of the run."""
    model.sql("INSERT INTO {s}.events SELECT id + 100 FROM range(1000)")
    before, there = model.state(), model.relations()
    pid = int(model.spark._jvm.java.lang.ProcessHandle.current().pid())
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    try:
        with before_statement(
            monkeypatch, words, lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, limits[1]))
        ):
            result = model.run(now=T0 + 1000, check=False)
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    assert not result.success and ("File too large" in result.text or "Job aborted" in result.text), result.text
    assert model.state() == before and model.count() == 10 and not [t for t in model.relations() if "lock" in t]
    model.run(now=T0 + 2000)
    assert model.count() == 1010
    now = {c.table for c in model.state().chains} | {model.state().manifest, *(t for t, _ in model.state().retired)}
    assert model.relations() - there <= now  # nothing is left of the run that failed


@pytest.mark.landing
@pytest.mark.own_catalog
def test_disk_full_for_statistics_alone(model: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run says so; only what cannot be computed is done without."""
    model.model(
        "m", f"select id from {model.schema}.events where mz_now() >= timestamp_millis(id)", pushdown="statistics"
    )
    before = model.state()
    pid = int(model.spark._jvm.java.lang.ProcessHandle.current().pid())
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    name = f"`{model.schema}`.`m__stats_"
    full = before_statement(
        monkeypatch, f"CREATE TABLE {name}", lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, limits[1]))
    )
    empty = before_statement(
        monkeypatch, f"DROP TABLE IF EXISTS {name}", lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    )
    try:
        with full, empty:
            result = model.run("--full-refresh", now=T0 + 1000, check=False)
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    assert not result.success and ("File too large" in result.text or "Job aborted" in result.text), result.text
    assert model.state() == before and model.count() == 10 and not [t for t in model.relations() if "lock" in t]
    assert not [t for t in model.relations() if "__stats_" in t]
    model.run("--full-refresh", now=T0 + 2000)
    assert model.state().statistics in model.relations() and model.count() == 10


@pytest.mark.deep
def test_a_reader_in_flight(model: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has planned what it reads; merges and drops come between. It ends with its answer, or with an error."""
    monkeypatch.setattr(chains, "RATIO", 10**9)
    reader = model.spark.sql(f"SELECT count(*) FROM {model.schema}.m")
    reader._jdf.queryExecution().executedPlan()
    for n in range(3):
        model.sql(f"INSERT INTO {{s}}.events VALUES ({100 + n})")
        model.run(now=T0 + 1000 * (n + 1))
    assert reader.collect()[0][0] == 10  # for diffs_retention the chains of then are kept
    old = model.spark.sql(f"SELECT count(*) FROM {model.schema}.m")
    old._jdf.queryExecution().executedPlan()
    model.model(
        "m",
        f"select id from {model.schema}.events where mz_now() >= timestamp_millis(id)",
        diffs_retention="0",
    )
    for n in range(3, 6):
        model.sql(f"INSERT INTO {{s}}.events VALUES ({100 + n})")
        model.run(now=T0 + 1000 * (n + 1))
    with pytest.raises(Exception, match="FILE_NOT_EXIST|FileNotFound|does not exist"):
        old.collect()
    assert model.count() == 16
