"""Recorded histories of runs, rivals and readers: an order of commits explains what readers see.

One story is explained as the product is. With each mistake that is planted in the product, a step of it is not.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from dbt.adapters.sparktemporal.engine.descriptions import ALTER
from dbt.adapters.sparktemporal.run import merging, publishing
from dbt.adapters.sparktemporal.run.commit import Commit
from dbt.adapters.sparktemporal.run.plan import RunPlan
from dbt.adapters.sparktemporal.temporal.decision import DecisionContext, Statement
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from dbt.adapters.sparktemporal.temporal.diffs.stores import IntervalStore
from support.instants import T0
from support.linearizable import Outcome
from support.project import Project
from support.recorded import Recorded
from support.rivals import before_statement, rival_run
from support.seeds import a_seed

pytestmark = [pytest.mark.landing, pytest.mark.own_catalog]

#: of two cores: one has the even numbers and the other one the odd numbers
SQL = " union all ".join(
    f"select id from {{s}}.events where id % 2 = {n} and mz_now() >= timestamp_millis(id)" for n in (0, 1)
)


@pytest.fixture
def recorded(project: Project, monkeypatch: pytest.MonkeyPatch, chains_apart: None) -> Recorded:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(10)")
    project.model("m", SQL.format(s=project.schema))
    monkeypatch.setattr(chains, "RATIO", 10**9)  # each run merges
    return Recorded(project)


def story(recorded: Recorded, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """The steps by name; a reader reads before each statement that changes a view, and after each step."""
    recorded.run(T0)
    yield "the first run"
    began = recorded.history.tick()
    planned = recorded.project.spark.sql(f"SELECT id FROM {recorded.project.schema}.m")
    planned._jdf.queryExecution().executedPlan()
    with before_statement(patch, "VIEW `", recorded.read_rows, always=True):
        recorded.insert(10, 11)
        recorded.run(T0 + 1000, check=False)
        yield "new rows"
        recorded.delete(3, 4)
        recorded.run(T0 + 2000, check=False)
        yield "rows are deleted"
        recorded.insert(12)

        def rival() -> None:
            recorded.insert(13)
            recorded.rival(T0 + 2500, by=rival_run)

        with before_statement(patch, r"SELECT count\(\*\), count_if", rival):
            recorded.run(T0 + 3000, check=False)
        yield "a rival"
        recorded.insert(14, 15)
        recorded.run(T0 + 2100, check=False)
        yield "a run of an earlier instant"
    recorded.insert(16)
    with before_statement(patch, "`m__live` AS", disk_full):
        recorded.run(T0 + 4000, check=False)
    yield "a run fails at its commit"
    recorded.run(T0 + 5000, check=False)
    recorded.read_past(T0 + 1500)
    yield "the next run"
    recorded.read(planned.collect, "what was planned long ago", began=began)
    yield "the end"


@pytest.mark.parametrize("runs", [6, pytest.param(60, marks=pytest.mark.deep)])
def test_random_runs(recorded: Recorded, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    """Runs that end well, run into a rival or are killed, of which nobody knows whether they have committed."""
    rng, met = random.Random(a_seed()), Counter[str]()
    recorded.run(T0)
    for n in range(runs):
        recorded.insert(*(100 * n + 100 + k for k in range(rng.randrange(1, 4))))
        if rng.random() < 0.4:
            recorded.delete(*rng.sample(recorded.inputs[-1], 3))
        fault, at = rng.choice(["none", "rival", "gone"]), rng.randrange(12)
        now, sent = T0 + 1000 * (n + 1) - rng.choice([0, 0, 1500]), itertools.count()
        overtaken: list[int] = []

        def happen(
            fault: str = fault,
            at: int = at,
            now: int = now,
            sent: Iterator[int] = sent,
            n: int = n,
            overtaken: list[int] = overtaken,
        ) -> None:
            number = next(sent)
            if fault == "gone" and number >= at:
                raise RuntimeError("the process is gone")
            if fault == "rival" and number == at:
                overtaken.append(n)
                recorded.insert(100 * n + 150)
                recorded.rival(now)

        def read(overtaken: list[int] = overtaken) -> None:
            # <model>__diffs goes back for a moment, where a rival has published between two statements of a run
            (recorded.read if overtaken else recorded.read_rows)()

        with (
            before_statement(monkeypatch, r"^(/\*.*\*/ )?(CREATE|ALTER|DROP) ", happen, always=True),
            before_statement(monkeypatch, "VIEW `", read, always=True),
        ):
            ran = recorded.run(now, check=False, fails=Outcome.MAYBE)
        met[f"{fault}, {'done' if ran.success else 'failed'}"] += 1
        recorded.read_all()
        recorded.read_past(rng.randrange(T0, recorded.project.state().frontier + 1))
    recorded.run(T0 + 1000 * runs + 1000)
    recorded.explain()
    assert met["gone, failed"] and (runs < 10 or len(met) > 3), met


def disk_full() -> None:
    raise RuntimeError("the disk is full")


def found_in(recorded: Recorded, patch: pytest.MonkeyPatch) -> tuple[str, str]:
    """-> (the step after which no order explains what was read, in words); ("", "") where one explains all."""
    for step in story(recorded, patch):
        recorded.read_all()
        if said := recorded.unexplained():
            return step, said
    return "", ""


# -- the mistakes --


def a_sweep_that_is_too_early(patch: pytest.MonkeyPatch) -> None:
    plain = chains.sweep
    patch.setattr(chains, "sweep", lambda *given: plain(*given[:5], 0, *given[6:]))


def a_commit_that_forgets_the_chain_of_a_rival(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Commit, "_expected", lambda self, run, when: self._live(run))


def a_merge_that_forgets_negative_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IntervalStore, "merged", lambda self, diffs, _: f"SELECT * FROM ({diffs}) WHERE mz_diff > 0")


def a_merge_that_keeps_what_it_has_merged(patch: pytest.MonkeyPatch) -> None:
    plain = publishing._core_state

    def keeping(tools: Any, plan: RunPlan, written: Any, core: Any) -> Any:
        state = plain(tools, plan, written, core)
        return replace(state, chains=(*state.chains, *written.merged.get(core.name, ())[:1]))

    patch.setattr(publishing, "_core_state", keeping)


def a_commit_without_the_chain_of_its_run(patch: pytest.MonkeyPatch) -> None:
    plain = merging.count_written

    def forgetting(tools: Any, plan: RunPlan, *given: Any) -> Any:
        return replace(plain(tools, plan, *given), **({"chains": {}, "merged": {}} if plan.old else {}))

    patch.setattr(merging, "count_written", forgetting)


def a_run_that_finds_nothing_new(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunPlan, "is_noop", property(lambda self: self.old is not None))


def a_frontier_that_goes_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DecisionContext, "earliest", lambda self, state: 0)


def before_the_commit(patch: pytest.MonkeyPatch, what: Callable[[Any, RunPlan, State], list[Statement]]) -> None:
    plain = publishing.prepare_commit

    def prepare(tools: Any, plan: RunPlan, written: Any) -> Any:
        state, statements, sweep = plain(tools, plan, written)
        early = what(tools, plan, state) if plan.old else []
        return state, [*early, *statements], sweep

    patch.setattr(publishing, "prepare_commit", prepare)


def updates_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    def updates(tools: Any, plan: RunPlan, state: State) -> list[Statement]:
        text = tools.commit.texts.updates(state.cores, state.schema)
        return [Statement("early", f"ALTER VIEW {plan.target.name('__diffs')} AS\n{text}")]

    before_the_commit(patch, updates)


def half_of_two_views(patch: pytest.MonkeyPatch) -> None:
    """The new rows of one core become visible before those of the other one."""

    def half(tools: Any, plan: RunPlan, state: State) -> list[Statement]:
        cores = (state.cores[0], *plan.old.cores[1:]) if plan.old else ()
        return tools.commit.texts.committing(replace(state, cores=cores), ALTER, None)[1]

    before_the_commit(patch, half)


def the_past_is_rewritten(patch: pytest.MonkeyPatch) -> None:
    """Rows enter at the instant of the first run, whenever they came."""
    plain = IntervalStore.create

    def create(self: IntervalStore, table: str, diffs: str, *given: Any) -> str:
        return plain(self, table, f"SELECT * EXCEPT (mz_from), {T0}L AS mz_from FROM ({diffs})", *given)

    patch.setattr(IntervalStore, "create", create)


class Fault(NamedTuple):
    plant: Callable[[pytest.MonkeyPatch], None]
    #: the step of the story after which it is found, and the relation of which
    step: str
    of: str = "m"


FAULTS = [
    Fault(a_sweep_that_is_too_early, "the end", "what was planned long ago"),
    Fault(a_commit_that_forgets_the_chain_of_a_rival, "a rival"),
    Fault(a_merge_that_forgets_negative_rows, "rows are deleted"),
    Fault(a_merge_that_keeps_what_it_has_merged, "new rows"),
    Fault(a_commit_without_the_chain_of_its_run, "new rows"),
    Fault(a_run_that_finds_nothing_new, "new rows"),
    Fault(a_frontier_that_goes_back, "a run of an earlier instant"),
    Fault(updates_before_the_commit, "a run fails at its commit", "m__diffs"),
    Fault(half_of_two_views, "new rows"),
    Fault(the_past_is_rewritten, "the next run"),
]


def test_as_the_product_is(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_in(recorded, monkeypatch) == ("", "")


@pytest.mark.first(3)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.plant.__name__)
def test_a_planted_fault_is_found(recorded: Recorded, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    with monkeypatch.context() as patch:
        fault.plant(patch)
        step, said = found_in(recorded, monkeypatch)
    assert step == fault.step and f"what readers of {fault.of} saw" in said, (step, said)
