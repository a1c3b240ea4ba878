"""A run as data: the plan as a table, and the phases that follow from it, without Spark."""

from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, replace
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.commit_records import CREATE_TABLE, CREATE_VIEW
from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.graph.lineage import FEED
from dbt.adapters.sparktemporal.inputs.changing.capture import BYTES_OF_ROW, Capture
from dbt.adapters.sparktemporal.inputs.changing.changes import InputChange
from dbt.adapters.sparktemporal.inputs.changing.conflicts import Busy
from dbt.adapters.sparktemporal.inputs.changing.core_delta import CoreDelta, DeltaKind
from dbt.adapters.sparktemporal.inputs.changing.query_fingerprint import QueryFingerprint
from dbt.adapters.sparktemporal.inputs.observing.observe import Input
from dbt.adapters.sparktemporal.run import counting, fence, full_stores, merging, publishing, under_lock, write_chains
from dbt.adapters.sparktemporal.run.commit import Commit, ViewTexts
from dbt.adapters.sparktemporal.run.decision_context import rebuilt
from dbt.adapters.sparktemporal.run.phases import phases as phases_of
from dbt.adapters.sparktemporal.run.plan import Definition, HostFacts, RunPlan
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.run.progress import Reading, Written
from dbt.adapters.sparktemporal.run.writer import Writer
from dbt.adapters.sparktemporal.temporal.clock.expiration import NEVER, Dependence
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes
from dbt.adapters.sparktemporal.temporal.decision import ADVANCED, CHECKED, RESTARTED, Decision, Invocation, Statement
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain
from dbt.adapters.sparktemporal.temporal.ivm.delta_query import Added
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from dbt.adapters.sparktemporal.temporal.sql.names.parsed_model import ParsedModel
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse
from support.instants import DAY, HOUR, T0
from support.states import COLUMNS, FILES, LAST, SQL, a_state

RUN = "018dfa3cc80deadbeef00"
TARGET = ModelRelations("`s`", "m")


def a_plan(action: str = ADVANCED, moved: bool = True, **changes: Any) -> RunPlan:
    model = ParsedModel.of(SQL)
    core = TypedCore(Core("c0", parse("SELECT id FROM s.t")), COLUMNS)
    why = "2 new files of 5" if moved else "no change"
    delta = CoreDelta(DeltaKind.INCREMENTAL if moved else DeltaKind.SAME, why if moved else "", read={"s.t": None})
    capture = Capture(
        {"s.t": Input("s.t", FILES, "SELECT 1")}, {"s.t": InputChange(why, same=not moved)}, {"c0": delta},
        QueryFingerprint(()), manifest="SELECT 1" if moved else None, counts={"s.t": 2},
    )  # fmt: skip
    plan = RunPlan(
        target=TARGET,
        config=TemporalConfig.parse("m", {}),
        definition=Definition(SQL),
        invocation=Invocation(T0 + 1000, T0 + 1000, {}, "4.1.4", project="p"),
        host_facts=HostFacts(),
        run_id=RUN,
        old=a_state(),
        existing=("m", "m__live", "m__diffs"),
        decision=Decision(action, "", T0 + 1000, T0, None),
        model=Model(model, (core,), "SELECT * FROM mz_core_c0", ("timestamp",), ()),
        columns=COLUMNS,
        capture=capture,
        expiry=NEVER,
    )
    return replace(plan, **changes)


def test_a_plan_is_a_table() -> None:
    assert str(a_plan()) == (
        "model   `s`.`m`     run 018dfa3cc80deadbeef00, over 018dfa3cc80deadbee000\n"
        "does    advanced    what the inputs did\n"
        "clock   as of       2024-03-01 12:00:01.000 UTC\n"
        "clock   started     2024-03-01 12:00:00.000 UTC\n"
        "clock   since       2024-03-01 12:00:00.000 UTC\n"
        "clock   expiration  none (no expiration is set)\n"
        "column  id          bigint\n"
        "core    c0          incremental (2 new files of 5), over 1 chain of 100 rows\n"
        "input   s.t         by its files: 2 new files of 5; files 5, 1234 bytes, 0123456789abcdef as 89abcdef\n"
        "writes  chains      c0\n"
        "writes  manifest    new\n"
        "writes  commit      yes"
    )


def test_a_plan_that_finds_nothing_new() -> None:
    plan = a_plan(moved=False)
    assert (
        plan.is_noop
        and plan.writes_nothing
        and str(plan).endswith("writes  chains      none\nwrites  manifest    kept\nwrites  commit      no")
    )
    assert not a_plan(moved=False, columns=(("id", "int"),)).is_noop
    assert not a_plan(moved=False, invocation=replace(plan.invocation, project="other")).is_noop


def with_a_full_core() -> RunPlan:
    """A run in which c0 reads one new file of three million rows, and c1 reads all of them."""
    plan = a_plan()
    (core,), old = plan.model.cores, plan.old
    part = Added("_metadata.file_path", ("f",))
    deltas = {
        "c0": CoreDelta(DeltaKind.INCREMENTAL, "1 new file", inserts=(core,), read={"s.t": part}),
        "c1": CoreDelta(DeltaKind.FULL, "one row of it may decide about others", read={"s.t": None}),
    }
    change = InputChange("1 new file", added=part, files=(("f", 160 * BYTES_OF_ROW, 0, ""),))
    capture = replace(plan.capture, cores=deltas, changes={"s.t": change}, counts={"s.t": 3_000_000})
    model = replace(plan.model, cores=(core, replace(core, core=replace(core.core, name="c1"))))
    chains = replace(old.cores[0], name="c1")
    return replace(plan, model=model, capture=capture, old=replace(old, cores=(*old.cores, chains)))


def test_a_core_is_large_by_what_it_reads_itself() -> None:
    plan = with_a_full_core()
    assert [plan.capture.rows_about_for(name) for name in ("c0", "c1")] == [160, 3_000_000]
    source = write_chains._source(None, plan, plan.model.cores[0])
    assert not source.is_large and source.joined == plan.old.cores[0].chains


def test_a_core_that_was_read_in_full_is_not_read_again_for_counts() -> None:
    plan = with_a_full_core()
    assert counting.asks_for_all(plan) and len(counting.not_stored(None, plan)) == 1


def test_what_is_remembered_of_files() -> None:
    """Nothing is kept where no input has a list of files, and such a run may have nothing to commit all the same."""
    plan = a_plan(moved=False)
    bare = replace(plan.capture, inputs={"s.t": Input("s.t", FILES)})
    assert plan.capture.keeps and not bare.keeps and not a_plan().capture.keeps
    assert plan.is_noop and replace(plan, capture=bare).is_noop
    assert "writes  manifest    none" in str(replace(plan, capture=bare))


def test_a_feed_wants_each_frontier() -> None:
    """Without a change of an input the frontier moves all the same, so that rows which left by the clock are told."""
    fed = a_plan(moved=False, host_facts=HostFacts(macros=frozenset([FEED])))
    assert not fed.is_noop
    assert replace(fed, decision=replace(fed.decision, as_of=T0)).is_noop


def test_a_refresh_is_committed_once() -> None:
    """Else a later run would make the refresh again, with what came after it."""
    plan, every = a_plan(moved=False), Refreshes(500, T0)
    assert plan.old is not None and plan.is_noop
    due = replace(plan, old=replace(plan.old, refreshes=every), decision=replace(plan.decision, refreshes=every))
    assert not due.is_noop
    assert replace(due, decision=replace(due.decision, as_of=T0)).is_noop


def test_what_was_shown_is_revised() -> None:
    """By a run of the instant of the last one, by another query above, by a rebuild at an earlier instant."""
    plan = a_plan()
    again = replace(plan, decision=replace(plan.decision, as_of=T0))
    other = replace(plan, columns=(("id", "int"),))
    rebuilt = replace(plan, decision=replace(plan.decision, action="restarted"))
    earlier = replace(rebuilt, decision=replace(rebuilt.decision, as_of=T0 - 5))
    redefined = replace(plan, capture=replace(plan.capture, meaning=QueryFingerprint(("other",))))
    plans = (plan, again, other, redefined, rebuilt, earlier)
    assert [p.revised() for p in plans] == [None, T0, T0 + 1000, T0 + 1000, None, T0]
    assert replace(plan, old=None).revised() is None


def test_a_plan_does_not_change() -> None:
    plan = a_plan()
    with pytest.raises(FrozenInstanceError):
        plan.run_id = "other"  # type: ignore[misc]  # what mypy forbids fails at run time too
    assert (
        plan.under("token", ["x"]).run_id == "token" and plan.run_id == RUN and plan.renamed().run_id[:-2] == RUN[:-2]
    )


def phases(plan: RunPlan, monkeypatch: pytest.MonkeyPatch, *busy: str, first: str = CREATE_VIEW) -> list[str]:
    """The phases of a run, where each asks nothing. busy: what each look finds. first: the verb of a first commit."""
    finds = [Busy(("t",) * (told == "moved"), ("t",) * (told == "grew")) for told in busy]
    looks = 2 * [*finds, Busy()]  # the steps are taken twice
    monkeypatch.setattr(fence, "fence", lambda *given: [Statement("", "")])
    asked = {
        "find_sources": Reading({}, ()),
        "write": [Statement("", "")],
        "tables_of": [],
    }
    for name, answer in asked.items():
        monkeypatch.setattr(write_chains, name, lambda *given, answer=answer: answer)
    for name in ("pinned", "observe_again"):
        monkeypatch.setattr(write_chains, name, lambda tools, plan, *given: plan)
    monkeypatch.setattr(write_chains, "look", lambda *given: (plan, looks.pop(0), None))
    monkeypatch.setattr(write_chains, "PAUSES", (0.0,) * 5)
    monkeypatch.setattr(merging, "count_written", lambda *given: Written())
    monkeypatch.setattr(publishing, "prepare_commit", lambda *given: (a_state(), [], None))
    monkeypatch.setattr(publishing, "publish", lambda *given: [])
    monkeypatch.setattr(publishing, "clean_up", lambda *given: [])
    texts = ViewTexts(Warehouse(lambda sql: []), TARGET, None, first)
    run = Writer(texts.warehouse, plan, Commit(texts, LAST, ""))
    found = [step for step in phases_of(run) if isinstance(step, str)]
    list(run.steps(lambda sql: None))
    assert run.finished and {*found, "begin"} == set(run.seconds)
    return found


END = ["look", "merge", "commit", "publish", "clean_up"]


def test_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert phases(a_plan(), monkeypatch) == ["remember", "write", *END]
    assert phases(a_plan(displaced=("x",)), monkeypatch)[0] == "fence"
    assert "fence" not in phases(a_plan(displaced=("x",)), monkeypatch, first=CREATE_TABLE)
    assert phases(a_plan(moved=False), monkeypatch) == ["publish", "clean_up"]
    assert phases(a_plan(CHECKED), monkeypatch) == []
    assert phases(a_plan(CHECKED, existing=("m__live",)), monkeypatch) == ["publish"]
    assert phases(a_plan(CHECKED, host_facts=HostFacts(in_the_way=True)), monkeypatch) == ["publish"]


def test_phases_while_inputs_move(monkeypatch: pytest.MonkeyPatch) -> None:
    again = ["remember", "write"]
    grew, moved = ["look", "unwrite", "write"], ["look", "undo", *again]
    assert phases(a_plan(), monkeypatch, "grew") == [*again, *grew, *END]
    assert phases(a_plan(), monkeypatch, "moved") == [*again, *moved, *END]
    assert phases(a_plan(), monkeypatch, "grew", "grew") == [*again, *grew, *moved, *END]
    with pytest.raises(Exception, match="found: inputs of m that changed during each of 5 attempts"):
        phases(a_plan(), monkeypatch, *["moved"] * 5)


class Refused(Exception):
    pass


def test_a_statement_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is told by the phase in better words where it has some, and nothing after it is sent."""
    phases(a_plan(), monkeypatch)
    sent: list[str] = []

    def failing(sql: str) -> None:
        sent.append(sql)
        if len(sent) == 2:
            raise ValueError("[SOME_ERROR] no")

    def refuse(*given: Any) -> None:
        raise Refused

    run = Writer(
        Warehouse(lambda sql: []), a_plan(), Commit(ViewTexts(Warehouse(lambda sql: []), TARGET, None), "", "")
    )
    with pytest.raises(SparkError, match="SOME_ERROR"):
        list(run.steps(failing))
    assert len(sent) == 2 and not run.finished and run.prepared is None and run.script.count(";") == 2
    monkeypatch.setattr(write_chains, "refuse_damaged", refuse)
    sent.clear()
    with pytest.raises(Refused):
        list(run.steps(failing))


def test_a_run_begins_with_few_named_objects() -> None:
    assert list(inspect.signature(begin).parameters) == [
        "warehouse", "target", "definition", "invocation", "host_facts"
    ]  # fmt: skip


def test_what_the_macros_ask_a_run() -> None:
    """Each name exists: Jinja takes a name that no run has for false."""
    root = Path(__file__).parents[2]
    texts = [file.read_text() for folder in ("macros", "materializations") for file in root.glob(f"{folder}/*.sql")]
    asked = {name for text in texts for name in re.findall(r"\brun\.([\w.]+)", text)}
    warehouse = Warehouse(lambda sql: [])
    run = Writer(warehouse, a_plan(), Commit(ViewTexts(warehouse, TARGET, None, CREATE_TABLE), LAST, ""))
    run.sent.append(publishing._table_gives_way(run.plan))
    told = {name: attrgetter(name)(run) for name in asked}
    assert told["is_in_table"] and told["gave_way"] and told["plan.old"] == a_state()


def test_a_chain_is_retired_at_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see a chain until then, so `diffs_retention` counts from there, however long the run took."""
    plan, later = a_plan(), T0 + 2 * 3_600_000
    warehouse: Any = SimpleNamespace(clock=lambda: later, rows=lambda sql: [])
    pruning, commit = SimpleNamespace(kept=lambda: ("", "", 0)), SimpleNamespace(prepare=lambda state: (state, []))
    tools: Any = SimpleNamespace(warehouse=warehouse, pruning=pruning, commit=commit)
    chain = Chain("m__diffs_new", 1, 1, None, T0, None)
    written = Written(chains={"c0": chain}, joined={"c0": plan.old.cores[0].chains})
    state, _, sweep = publishing.prepare_commit(tools, plan, written)
    assert set(state.retired) == {(table, later) for table in {*plan.old.tables, chain.table} - {*state.tables}}
    (replaced,) = plan.old.cores[0].chains
    assert (replaced.table, later) in state.retired and not sweep.drop
    next_run = replace(plan, old=state, existing=(*plan.existing, replaced.table))
    warehouse.clock = lambda: later + 60_000
    assert not publishing.clean_up(tools, next_run, None)
    warehouse.clock = lambda: later + plan.config.diffs_retention
    tools.commit.is_due = lambda: True
    assert [step.sql for step in publishing.clean_up(tools, next_run, None)] == [
        f"DROP TABLE IF EXISTS `s`.`{replaced.table}`"
    ]


def test_a_run_is_as_long_as_all_its_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the wait for the lock, and with the attempt that failed: the phases add up to the length of the run."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    commit: Any = SimpleNamespace(is_due=lambda: False, is_overtaken=lambda *given: True, after=None)
    warehouse = Warehouse(lambda sql: [], catalog="spark_catalog")
    monkeypatch.setattr(Warehouse, "clock", lambda self: T0)
    monkeypatch.setattr(under_lock.lock, "take_lock", lambda *given: (RUN, []) if later(300) else None)
    monkeypatch.setattr(under_lock.lock, "was_free", lambda token: False)
    monkeypatch.setattr(under_lock.lock, "is_held", lambda *given: True)
    monkeypatch.setattr(Writer, "abandon", lambda self: None)

    def later(seconds: float) -> bool:
        now[0] += seconds
        return True

    def begun(*given: Any) -> Writer:
        plan = a_plan(started=now[0])
        later(10)
        return Writer(warehouse, plan, commit)

    attempts = iter([True, False])

    def steps(run: Writer) -> Any:
        yield "write"
        later(60)
        if next(attempts):
            raise SparkError("a rival has committed")
        yield "commit"
        later(1)

    monkeypatch.setattr(under_lock, "begin", begun)
    monkeypatch.setattr("dbt.adapters.sparktemporal.run.writer.phases", steps)
    run = under_lock.start(warehouse, TARGET, Definition(SQL), a_plan().invocation, HostFacts(), lambda token: None)
    assert list(run.steps(lambda sql: None)) == []
    # two observations before the lock is had, 300 seconds of waiting, and one observation more
    assert run.seconds == {"begin": 10 + 300 + 10 + 10, "write": 60 + 60, "commit": 1}
    assert now[0] - run.plan.started == sum(run.seconds.values()) == now[0]


def kept_whole(**changes: Any) -> RunPlan:
    plan = a_plan(config=TemporalConfig.parse("m", {"full_store": "error"}))
    return replace(plan, **changes)


def test_full_store_error_stops_what_is_built_and_not_what_is_there() -> None:
    other = replace(a_state(), written="SELECT 2")
    for old in (None, other, replace(a_state(), sampled=True)):
        with pytest.raises(Refusal, match="ST416 found: all rows of s.t to be kept by m, whose full_store is error"):
            full_stores.refuse(kept_whole(old=old))
    full_stores.refuse(kept_whole())


def test_the_bytes_of_a_warning_are_those_of_its_rows() -> None:
    """A run that adds a chain knows the bytes of that chain alone."""
    plan = kept_whole(old=None, config=TemporalConfig.parse("m", {"full_store": "warn"}))
    (core,) = a_state().cores
    new = Chain("m__diffs_new", 10, 10, None, T0, None)
    written = Written(chains={"c0": new}, sizes={"c0": 2048})
    for chains, told in (((new,), "(c0: 10 rows, 2.0 KB)"), ((*core.chains, new), "(c0: 110 rows)")):
        assert told in full_stores.warning(plan, replace(a_state(), cores=(replace(core, chains=chains),)), written)


#: 09:00 UTC
NINE = T0 - 3 * HOUR
DAILY = {"refresh_every": "1 day", "refresh_at": "2024-03-01 00:00:00"}
TABLE = Dependence("s.t")


@pytest.mark.parametrize(
    ("config", "inputs", "as_of", "expires"),
    [
        ({}, [TABLE], NINE, None),
        ({"expiration": "7 days"}, [TABLE], NINE, NINE + 7 * DAY),
        # a new schedule takes effect at the clock; the first refresh from seven days later on
        ({"expiration": "7 days", **DAILY}, [TABLE], NINE, NINE + 15 * HOUR + 7 * DAY),
        # on the schedule of the last commit, the run is of the last refresh
        ({"expiration": "7 days", "refresh_every": "2 hours"}, [TABLE], NINE - HOUR, NINE - HOUR + 7 * DAY),
        ({"expiration": "7 days"}, [Dependence("s.t", sealed_until=NINE + 9 * DAY)], NINE, NINE + 9 * DAY),
        ({"expiration": "7 days"}, [Dependence("s.t", sealed=True)], NINE, None),
    ],
)
def test_the_instants_of_a_rebuild_are_those_that_a_run_decides(
    config: dict[str, Any], inputs: list[Dependence], as_of: int, expires: int | None
) -> None:
    """The committed state has another offset than the config: a rebuild is by the config."""
    warehouse = Warehouse(GivenTypes({"s.t": {"id": "bigint", "hi": "timestamp"}}, NINE))
    settings = warehouse.settings()
    every_two_hours = Refreshes(2 * HOUR, 0)
    state = replace(a_state(), offset=DAY, expiration=T0 + DAY, settings=settings, refreshes=every_two_hours)
    invocation = Invocation(NINE, NINE, settings, warehouse.version())
    _, model, decision = rebuilt(warehouse, TARGET, state, TemporalConfig.parse("m", config), invocation, inputs)
    assert model.written == SQL
    assert (decision.action, decision.as_of, decision.expiration) == (RESTARTED, as_of, expires)
