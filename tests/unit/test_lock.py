"""The lock of a model without Spark: its statements, who has lost it, and what an operation drops that took it over."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.descriptions import ALTER, UPDATE, ViewInfo
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.looking import consolidate as consolidation
from dbt.adapters.sparktemporal.looking import run_operations, status
from dbt.adapters.sparktemporal.run import commit as commits
from dbt.adapters.sparktemporal.run import fence, host, lock, under_lock
from dbt.adapters.sparktemporal.run.commit import Commit, ViewTexts
from dbt.adapters.sparktemporal.run.plan import Definition, HostFacts
from dbt.adapters.sparktemporal.temporal.decision import Invocation, Statement
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from support.instants import T0
from support.states import a_state

TARGET = ModelRelations("`s`", "m")
HOUR, MINUTE = chains.STALE_LOCK_MS, 60_000


class Catalog:
    """The lock of one model, by the statements that take it."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.sent: list[str] = []
        #: the engine's clock (ms)
        self.clock = T0

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        if "current_timestamp" in sql:
            return [(self.clock, "4.1.4", "spark_catalog")]
        self.sent.append(" ".join(sql.split()[:2]))
        if sql.startswith("CREATE TABLE `s`.`m__lock`"):
            if self.properties:
                raise RuntimeError("[TABLE_OR_VIEW_ALREADY_EXISTS] it is there")
            self.properties = dict(re.findall(r"'(\w+)' = '([^']*)'", sql))
        elif sql.startswith("SHOW TBLPROPERTIES"):
            if not self.properties:
                raise RuntimeError("[TABLE_OR_VIEW_NOT_FOUND] it is gone")
            return list(self.properties.items())
        elif sql.startswith("DROP TABLE IF EXISTS `s`.`m__lock`"):
            self.properties = {}
        return []

    def held_elsewhere(self, at: int, run: str = "x") -> None:
        self.properties = {"mz_owner": "elsewhere 4711 99", "mz_at": str(at), "mz_run": run}


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def warehouse(catalog: Catalog) -> Warehouse:
    return Warehouse(catalog)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds by which the age of an own lock is known."""
    now = [1000.0]
    monkeypatch.setattr(lock.session_facts, "now", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("verb", "later", "asks"), [(ALTER, 0, False), (ALTER, HOUR // 2_000, True), (UPDATE, 0, True)]
)
def test_who_reads_its_own_commit(catalog: Catalog, clock: list[float], verb: str, later: float, asks: bool) -> None:
    """A run that surely has its lock knows that its ALTER VIEW is the last commit. An UPDATE may have found no row."""
    warehouse = Warehouse(catalog, catalog="spark_catalog")
    before = ViewInfo("SELECT 1", {}, None, verb)
    token, _ = lock.take_lock(warehouse, TARGET, 0)
    commit = Commit(ViewTexts(warehouse, TARGET, before), "r", "again")
    catalog.sent.clear()
    clock[0] += later
    run = token if asks else chains.next_id(token)
    seen: list[ViewInfo | None] = []

    def statements(state: State, live: ViewInfo | None) -> list[Statement]:
        seen.append(live)
        return []

    followed = commit.followed(replace(a_state(), run=run), statements, run)
    if asks:
        with pytest.raises(TemporalError):  # there is no view of that name
            list(followed)
    else:
        assert list(followed) == [] and seen == [before]
    assert catalog.sent == (["DESCRIBE TABLE"] if asks else [])
    lock.forget_lock(token)


def test_the_statements_of_a_lock(catalog: Catalog, warehouse: Warehouse, clock: list[float]) -> None:
    """The model of the protocol has the same: lock; whose, take over, lock; unlock with and without a look."""
    token, displaced = lock.take_lock(warehouse, TARGET, 0)
    lock.give_back_lock(warehouse, TARGET, token, ended_well=True)
    assert catalog.sent == ["CREATE TABLE", "DROP TABLE"] and displaced == []
    catalog.sent.clear()
    old = chains.new_run_id(T0 - HOUR - 1)
    catalog.held_elsewhere(T0 - HOUR - 1, old)
    token, displaced = lock.take_lock(warehouse, TARGET, 0)
    assert catalog.sent == ["CREATE TABLE", "SHOW TBLPROPERTIES", "DROP TABLE", "CREATE TABLE"] and displaced == [old]
    catalog.sent.clear()
    lock.give_back_lock(warehouse, TARGET, token, ended_well=True)
    assert catalog.sent == ["SHOW TBLPROPERTIES", "DROP TABLE"]


def test_a_lock_of_less_than_an_hour_stays(catalog: Catalog, warehouse: Warehouse) -> None:
    catalog.held_elsewhere(T0 - HOUR)
    with pytest.raises(TemporalError, match="m__lock, held by process 4711 on elsewhere"):
        lock.take_lock(warehouse, TARGET, 0)
    assert catalog.properties["mz_run"] == "x"


def test_the_age_of_a_lock_counts_from_its_creation(
    catalog: Catalog, warehouse: Warehouse, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from when the run asked for the lock, nor from when it began to observe: both may be an hour ago."""

    def sleep(seconds: float) -> None:
        clock[0] += 50 * 60
        catalog.properties = {}

    def observe(*given: Any) -> Any:
        clock[0] += 40 * 60
        catalog.clock += 40 * MINUTE
        catalog.held_elsewhere(catalog.clock)
        commit = SimpleNamespace(is_due=lambda: True)
        plan, under = SimpleNamespace(writes_nothing=False), lambda *given: None
        return SimpleNamespace(plan=plan, under_lock=under, tools=SimpleNamespace(commit=commit))

    monkeypatch.setattr(lock, "sleep", sleep)
    monkeypatch.setattr(under_lock, "begin", observe)
    definition, taken = Definition("", {"lock_timeout": "2 hours"}), list[str]()
    under_lock.start(warehouse, TARGET, definition, Invocation(0, T0, {}, ""), HostFacts(), taken.append)
    created = T0 + 90 * MINUTE
    assert catalog.properties["mz_at"] == str(created) and chains.run_clock(taken[0]) == created
    monkeypatch.setattr(lock, "host", lambda: "elsewhere/1")
    catalog.clock = created + 59 * MINUTE
    with pytest.raises(TemporalError, match=r"m__lock, held by process \d+ on \S+ for 59 minutes"):
        lock.take_lock(warehouse, TARGET, 0)
    catalog.clock = created + HOUR + 1
    assert lock.take_lock(warehouse, TARGET, 0)[1] == taken


NO_FILE, HIDDEN = FileNotFoundError(), PermissionError()


@pytest.mark.parametrize(
    ("stat", "signal", "recorded", "is_stale"),
    [
        ("77", None, "77", False),
        ("78", None, "77", True),  # the number of a process that has ended is given to another one
        (NO_FILE, ProcessLookupError(), "77", True),
        (NO_FILE, ProcessLookupError(), "unknown", True),
        (NO_FILE, PermissionError(), "77", False),  # /proc with hidepid=2 has no process of another user
        (HIDDEN, PermissionError(), "77", False),  # with hidepid=1 its files cannot be opened
        (HIDDEN, ProcessLookupError(), "77", True),
        (NO_FILE, None, "77", False),
        (NO_FILE, None, "unknown", False),  # without /proc
        ("77", None, "unknown", False),
    ],
)
def test_a_process_that_is_hidden_is_not_gone(
    catalog: Catalog,
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
    stat: str | OSError,
    signal: OSError | None,
    recorded: str,
    is_stale: bool,
) -> None:
    def answer(given: str | OSError | None) -> str:
        if isinstance(given, OSError):
            raise given
        return f"4711 (a ) name) {'0 ' * 19}{given} 0"

    monkeypatch.setattr(lock, "open", lambda *given, **named: io.StringIO(answer(stat)), raising=False)
    monkeypatch.setattr(lock.os, "kill", lambda *given: answer(signal))
    monkeypatch.setattr(lock.os, "getpid", lambda: 1)
    catalog.properties = {"mz_owner": f"{lock.host()} 4711 {recorded}", "mz_at": str(T0), "mz_run": "x"}
    if is_stale:
        lock.forget_lock(lock.take_lock(warehouse, TARGET, 0)[0])
    else:
        with pytest.raises(TemporalError, match="held by process 4711"):
            lock.take_lock(warehouse, TARGET, 0)


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_run_that_has_lost_its_lock(catalog: Catalog, warehouse: Warehouse, clock: list[float], attempt: int) -> None:
    """After half an hour a run asks before its commit, under each of its ids; before that it sends no question."""
    token, _ = lock.take_lock(warehouse, TARGET, 0)
    state = replace(a_state(), run=token[:-2] + f"{attempt:02x}")
    commit = Commit(ViewTexts(warehouse, TARGET, None), None, "dbt run -s m")
    catalog.sent.clear()
    assert commit.prepare(state)[0].run == state.run and catalog.sent == []
    clock[0] += HOUR / 2_000
    assert commit.prepare(state)[0].run == state.run and catalog.sent == ["SHOW TBLPROPERTIES"]
    catalog.held_elsewhere(T0 + HOUR)
    with pytest.raises(TemporalError) as lost:
        commit.prepare(state)
    assert str(lost.value) == (
        "ST526 found: m__lock, which another run took over from this one\n"
        "why: a lock older than 1 hour is taken over; what this run wrote may be of an older state\n"
        "instead: dbt run -s m"
    )
    lock.forget_lock(token)
    assert commit.prepare(state)[0].run == state.run  # a host without locks answers for itself


def test_a_run_that_took_a_lock_over_asks_at_once(catalog: Catalog, warehouse: Warehouse, clock: list[float]) -> None:
    """Another run may have looked at the same lock, and have dropped the lock of this one."""
    catalog.held_elsewhere(T0 - HOUR - 1)
    token, _ = lock.take_lock(warehouse, TARGET, 0)
    lock.refuse_lost(warehouse, TARGET, token, "")
    catalog.properties = {}
    with pytest.raises(TemporalError, match="which another run took over from this one"):
        lock.refuse_lost(warehouse, TARGET, token, "")
    lock.forget_lock(token)


class Reached(Exception):
    pass


def raise_reached(*given: Any) -> Any:
    raise Reached


@pytest.mark.parametrize("in_table", [False, True])
@pytest.mark.parametrize("operation", ["restart", "consolidate"])
def test_an_operation_drops_the_tables_of_who_lost_the_lock(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, operation: str, in_table: bool
) -> None:
    """Before it writes. Else the commit of the paused run would succeed when that run goes on."""
    lost, kept = (chains.chain_name("m", chains.new_run_id(T0 + n)) for n in range(2))
    dropped: list[str] = []

    def rows(sql: str) -> list[tuple[Any, ...]]:
        dropped.extend(re.findall(r"DROP TABLE IF EXISTS `s`.`(m__diffs_\w+)`", sql))
        return catalog(sql)

    warehouse = Warehouse(rows)
    there = ["m", lost, kept, *(chain.table for chain in a_state().chains)]
    monkeypatch.setattr(Warehouse, "tables", lambda *given: there)
    monkeypatch.setattr(Warehouse, "clock", lambda self: T0)
    monkeypatch.setattr(fence, "read_state", lambda *given: a_state())
    live = ViewInfo("SELECT 1", {}, None, UPDATE if in_table else ALTER)
    monkeypatch.setattr(commits, "live_view", lambda *given: live)
    monkeypatch.setattr(Commit, "prepare", raise_reached)
    for module in (status, consolidation):
        monkeypatch.setattr(module, "committed", lambda *given: a_state())
        monkeypatch.setattr(module.session, "refuse_other", lambda *given: None)
    monkeypatch.setattr(consolidation.ownership, "refuse_foreign", lambda *given: None)
    monkeypatch.setattr(consolidation, "refuse_incomplete", raise_reached)
    catalog.held_elsewhere(T0 - HOUR - 1, lost.rpartition("_")[2])
    with pytest.raises(Reached), run_operations.locked(warehouse, TARGET, 0) as (run_id, displaced):
        if operation == "restart":
            status.ask_for_restart(warehouse, TARGET, run_id, displaced)
        else:
            consolidation.consolidate(warehouse, TARGET, TemporalConfig.parse("m", {}), run_id, [], displaced)
    assert dropped == ([] if in_table else [lost])
    assert not catalog.properties


@pytest.mark.parametrize("way", ["a host", "an operation"])
def test_the_first_error_is_the_one_that_is_read(catalog: Catalog, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Where the connection is dead, neither the tables can be dropped nor the lock be given back."""
    is_dead, held = False, dict(lock._held)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        if is_dead:
            raise RuntimeError("no connection any more")
        return catalog(sql)

    def begun(warehouse: Warehouse, target: ModelRelations, *given: Any) -> Any:
        nonlocal is_dead
        given[-1](lock.take_lock(warehouse, target, 0)[0])
        is_dead = True
        raise Reached

    monkeypatch.setattr(host, "start", begun)
    monkeypatch.setattr(Warehouse, "settings", lambda self: {})
    monkeypatch.setattr(Warehouse, "version", lambda self: "4.1.4")
    asked: Any = SimpleNamespace(rows=rows, relations=lambda m: TARGET, config=lambda m: {}, facts=lambda m: None)
    with pytest.raises(Reached):
        if way == "a host":
            host.run_model(asked, "m", "select 1", as_of=T0)
        else:
            with run_operations.locked(Warehouse(rows), TARGET, 0):
                is_dead = True
                raise Reached
    assert lock._held == held
