"""The commit protocol in all interleavings: `tests/support/protocol` is the model.

It has the steps of the product, in their order: the last tests compare both. docs/decisions/protocol-model.md has more.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from dbt.adapters.sparktemporal.engine import session_facts
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.looking import consolidate as consolidation
from dbt.adapters.sparktemporal.run import commit as commits
from dbt.adapters.sparktemporal.run import fence, lock, merging, phases, publishing, write_chains
from dbt.adapters.sparktemporal.run.progress import Written
from dbt.adapters.sparktemporal.temporal.decision import Statement
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from support.instants import T0
from support.protocol import races, steps
from support.protocol.invariants import is_behind
from support.protocol.planted import BEHIND, FAULTS, FRONTIER, NAMED, ROWS
from support.protocol.search import FIRST, WORDS, search, start
from support.protocol.world import Actor, Names, Rules, World, carry_out

#: a run, and what is at work beside it
PAIRS = [("run", other) for other in ("run", "rebuild", "no rows", "text", "consolidation", "request")]
#: what makes a race bad -> the invariants that it violates
ALL = {ROWS, FRONTIER, NAMED, BEHIND}
KNOWN = {
    races.NO_CHAIN: ALL,
    races.NOT_FENCED: ALL,
    races.INSIDE_FENCE: {NAMED},
    races.PAUSED_UNLOCK: ALL,
    races.TWO_TAKE_OVER: ALL,
    races.LATE_COMMIT: ALL,
    races.LATE_UNLOCK: ALL,
    races.LATE_DROP: {NAMED},
}


def searched(actors: tuple[str, ...], rules: Rules, **bounds: int) -> dict[str, set[str]]:
    """The races that a search finds -> the invariants that each violates. What no race explains fails the test."""
    found = search(start(actors, **bounds), rules)
    assert found.states > 500 and found.transitions > found.states
    unexplained = [trace for (race, _), trace in found.violations.items() if not race]
    assert not unexplained, "\n".join(["found by the search:", *unexplained[0]])
    for tables, named in found.left:
        the_next_day(tables, named)
    violated: dict[str, set[str]] = {}
    for race, invariant in found.violations:
        violated.setdefault(race, set()).add(invariant)
    assert all(violated[race] <= KNOWN[race] for race in violated)
    return violated


def in_the_product(table: str) -> str:
    """A table of the model as the product names it."""
    run, kind = table.split(".")
    run_id = f"{T0:011x}{ord(run[0]):06x}{2 * run.count(chr(39)) + (kind == 'm'):02x}"
    return chains.manifest_name("m", run_id) if kind == "i" else chains.chain_name("m", run_id)


def the_next_day(tables: Names, named: Names) -> None:
    """The product's sweep drops each table that the commit does not name, whoever left it."""
    there, kept = ({in_the_product(t) for t in some} for some in (tables, named))
    state: Any = SimpleNamespace(retired=(), tables=tuple(kept))
    swept = chains.sweep("m", there, state, kept, T0 + chains.LONGEST_RUN_MS + 1, 0)
    assert set(swept.drop) == there - kept


# -- the product as it is --


@pytest.mark.parametrize("actors", PAIRS, ids=" and ".join)
def test_a_kill_and_a_pause(actors: tuple[str, ...]) -> None:
    """Where a commit is an ALTER VIEW, two gaps are left. Both need a lock that is taken over from a run that lives."""
    found = set(searched(actors, Rules(), lates=0))
    assert found == {races.INSIDE_FENCE} | ({races.NO_CHAIN} if actors[1] in ("no rows", "text", "request") else set())


@pytest.mark.parametrize("actors", PAIRS, ids=" and ".join)
def test_a_statement_without_its_client(actors: tuple[str, ...]) -> None:
    assert set(searched(actors, Rules(), kills=0, pauses=0)) == {races.LATE_COMMIT}


@pytest.mark.parametrize("actors", PAIRS, ids=" and ".join)
def test_a_commit_that_names_the_run_before(actors: tuple[str, ...]) -> None:
    """Where a commit is an UPDATE of one row WHERE mz_run = …, no race is left."""
    assert searched(actors, Rules(swaps=True), lates=0) == {}


def test_two_at_once_after_a_kill() -> None:
    """DROP and CREATE of a lock are two statements."""
    bounds = {"lates": 0, "pauses": 0, "arrivals": 0}
    assert set(searched(("run", "run", "consolidation"), Rules(), **bounds)) == {races.TWO_TAKE_OVER}
    assert searched(("run", "run", "consolidation"), Rules(swaps=True), **bounds) == {}


@pytest.mark.parametrize("keeps", [True, False])
def test_a_reader_beside_two_runs(keeps: bool) -> None:
    assert set(searched(("run", "run", "reader"), Rules(keeps=keeps), lates=0, arrivals=0)) == {races.INSIDE_FENCE}


NOTHING_HAPPENS = {"lates": 0, "kills": 0, "pauses": 0, "arrivals": 1}


@pytest.mark.parametrize("swaps", [False, True])
def test_updates_that_are_behind(swaps: bool) -> None:
    """A run that publishes, and does not come to look again, leaves <model>__diffs behind until any other run."""
    rules, adrift = Rules(swaps=swaps), set[World]()

    def behind(**bounds: int) -> dict[tuple[str, str], list[str]]:
        found = search(start(("run", "rebuild"), **NOTHING_HAPPENS | bounds), rules)
        assert {name for race, name in found.violations if not race} == set()
        adrift.update(found.adrift)
        return found.behind

    assert behind() == behind(pauses=1) == {}
    assert list(behind(kills=1)) == [("killed", "done")]  # before it has published
    killed = behind(pauses=1, kills=1)["done", "killed"]
    assert [words for words in killed if words.startswith("a ")][-2:] == [
        "a (run) publishes", "a (run) is killed before it reads the commit again"
    ]  # fmt: skip
    assert "the server carries out the publish of a" in behind(lates=1)["done", "failed"]
    assert len(adrift) > 20
    for world in adrift:
        one = alone(
            steps.changed(world, actors=(Actor("z", "run", "begin"),), rows=world.live.rows, pending=None), rules
        )
        assert "publish: look again" in one.taken and is_behind(one.world) is None


@pytest.mark.first(1)
@pytest.mark.parametrize("actors", [("run", "run", "run"), ("run", "rebuild", "no rows")], ids=" and ".join)
def test_a_run_that_publishes_without_a_lock(actors: tuple[str, ...]) -> None:
    """A run in which nothing is new publishes for one that has not come to it yet, and another one overtakes both."""
    for fault in ("a run that publishes and does not look again", ""):
        found = search(start(actors, **NOTHING_HAPPENS), Rules(fault=fault))
        assert list(found.violations) == ([("", BEHIND)] if fault else []) and not found.behind.keys() - {("done",) * 2}


def test_the_known_race_in_words() -> None:
    """The shortest trace is that of docs/decisions/protocol-model.md, which names each race."""
    found = search(start(("run", "text"), lates=0, kills=0), Rules())
    trace = "\n".join(found.violations[races.NO_CHAIN, ROWS])
    page = (Path(__file__).parents[2] / "docs/decisions/protocol-model.md").read_text()
    assert f"```text\n{trace}\n```" in page, trace
    assert {race for race in KNOWN if race not in page} == set()


@pytest.mark.deep
@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("actors", PAIRS, ids=" and ".join)
def test_a_kill_a_pause_and_a_statement_without_its_client(actors: tuple[str, ...], swaps: bool) -> None:
    assert bool(searched(actors, Rules(swaps=swaps))) != swaps


@pytest.mark.deep
@pytest.mark.parametrize("swaps", [False, True])
def test_two_runs_and_a_consolidation(swaps: bool) -> None:
    found = searched(("run", "run", "consolidation"), Rules(swaps=swaps), lates=0, arrivals=0)
    assert (races.NOT_FENCED in found and races.TWO_TAKE_OVER in found) != swaps


@pytest.mark.deep
def test_all_at_once() -> None:
    """Two runs, a consolidation, a restart and a reader, where nothing goes wrong."""
    bounds = {"lates": 0, "kills": 0, "pauses": 0, "arrivals": 0}
    assert searched(("run", "run", "consolidation", "rebuild", "reader"), Rules(), **bounds) == {}


# -- the model with a mistake in it --


@pytest.mark.parametrize(
    "fault", [pytest.param(f, marks=[pytest.mark.deep] if len(FAULTS[f].actors) > 2 else []) for f in FAULTS]
)
def test_a_planted_fault_is_found(fault: str) -> None:
    actors, invariants, swaps = FAULTS[fault]
    found = search(start(actors, lates=0, kills=0, arrivals=0), Rules(fault=fault, swaps=swaps), is_short=True)
    violated = {invariant for race, invariant in found.violations if not race}
    assert violated and violated <= set(invariants), found.violations


def test_each_fault_of_the_model_is_tried() -> None:
    planted = set(re.findall(r'rules\.fault == "(.+?)"', inspect.getsource(steps)))
    assert planted == set(FAULTS)


# -- the model beside the product --


class Alone(NamedTuple):
    """The first actor of a world to its end: its steps, and the world after it."""

    taken: list[str]
    world: World


def alone(world: World, rules: Rules) -> Alone:
    taken = []
    while (actor := world.actors[0]).at:
        step = steps.move(world, actor, rules)
        assert step is not None
        taken.append(actor.at)
        done = carry_out(world, step.statement, rules) if step.statement else world
        world = done.having(step.then) if done else world.having(step.failed or step.then)
    return Alone(taken, world)


def a_run_of_the_model(displaced: bool) -> list[str]:
    """The steps of a run, alone, which merges; it took over a lock, or the lock was free."""
    first = World(
        (Actor("a", "run", "begin"),),
        live=steps.changed(FIRST, chains=FIRST.chains | {"0.m"}),
        tables=FIRST.tables | {"0.m", "x.w"},
        published=FIRST,
        lock="x" if displaced else "",
    )
    taken, world = alone(first, Rules(keeps=False))
    assert world.live.run == "a" and world.published.run == "a" and not world.lock
    return taken


def test_the_phases_are_those_of_the_product() -> None:
    """By name and in order."""
    source = inspect.getsource(phases.phases).replace("yield from _read(", inspect.getsource(phases._read) + "(")
    named = re.findall(r'yield "(\w+)"', source)
    assert [name for name in named if name not in steps.LEFT_OUT] == list(steps.PHASES)
    assert set(steps.LEFT_OUT) <= set(named)
    assert set(chain.from_iterable(steps.PHASES.values())) <= set(steps.STEPS) == set(WORDS)


def test_what_a_run_does_in_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product's own phases, whose questions and statements are told in the model's words."""
    told: list[str] = []

    def tell(step: str, answer: Any = None) -> Any:
        return lambda *given, **named: (told.append(step), answer)[1]

    def sends(step: str) -> list[Statement]:
        return [Statement(step, "")]

    class Prepared(commits.Commit):
        _expected = tell("commit: check")

        def _own(self, run: str | None) -> Any:
            if phase == "publish":
                told.append("publish: look again" if "publish" in told else "publish: look")
            return SimpleNamespace(text=run)

    texts: Any = SimpleNamespace(
        live=None,
        first="",
        is_table=False,
        committing=lambda *given: (state, sends("commit: send")),
        warehouse=None,
        target=None,
    )
    state: Any = SimpleNamespace(run="r")
    commit = Prepared(texts, "before", "")
    monkeypatch.setattr(commits, "run_of", lambda text: text)
    monkeypatch.setattr(commits.lock, "refuse_lost", tell("commit: lock"))
    monkeypatch.setattr(fence, "written_by", tell("fence: look", ("x",)))
    monkeypatch.setattr(fence, "drops", lambda *given: sends("fence: drop"))
    monkeypatch.setattr(write_chains, "find_sources", lambda *given: None)
    monkeypatch.setattr(write_chains, "write", lambda *given: sends("write"))
    monkeypatch.setattr(write_chains, "look", tell("look", (plan := a_plan(), None, None)))
    monkeypatch.setattr(merging, "count_written", lambda *given: Written())
    monkeypatch.setattr(merging, "merge", lambda *given: sends("merge"))
    monkeypatch.setattr(publishing, "prepare_commit", lambda tools, *given: (*tools.commit.prepare(state), None))
    monkeypatch.setattr(publishing, "_beside_a_view", lambda *given: sends("publish"))
    monkeypatch.setattr(publishing, "clean_up", lambda *given: sends("clean_up"))
    run: Any = SimpleNamespace(plan=plan, tools=SimpleNamespace(commit=commit, warehouse=None))
    phase, began = "", []
    for step in phases.phases(run):
        if isinstance(step, str):
            phase = step
            began.append(phase)
        else:
            told.append(step.purpose)
            assert step.purpose in steps.PHASES[phase]
    ours = [step for step in a_run_of_the_model(displaced=True) if step in set(chain(*steps.PHASES.values()))]
    assert told == ours and began == list(steps.PHASES)


def test_what_a_run_publishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product's loop: the run of the commit at each look -> the runs whose states are published."""
    texts: Any = SimpleNamespace(live=None, is_table=False, warehouse=None, target=ModelRelations("`s`", "m"))
    monkeypatch.setattr(commits, "run_of", lambda text: text)
    monkeypatch.setattr(commits, "state_of", lambda warehouse, target, live: SimpleNamespace(run=live.text))

    def published(run: str | None, *looks: str | None) -> list[str]:
        left = iter(looks)

        class Looking(commits.Commit):
            def _own(self, run: str | None) -> Any:
                return None if (found := next(left)) is None else SimpleNamespace(text=found)

        def statements(state: State, live: Any) -> list[Statement]:
            return [Statement(state.run, "")]

        own: Any = SimpleNamespace(run=run or "r")
        done = [step.purpose for step in Looking(texts, "before", "again").followed(own, statements, run)]
        assert next(left, "none left") == "none left"
        return done

    assert published("r", "r", "r") == published(None, "r", "r") == ["r"]
    assert published("r", "r", "b", "c", "c") == ["r", "b", "c"]
    assert published(None, "b", "b") == ["b"]
    assert published(None, None) == []
    for looks in (("b", "b"), (None,)):
        with pytest.raises(TemporalError, match="m__live is of run (b|None), r was expected after the commit"):
            published("r", *looks)
    monkeypatch.setitem(lock._held, chains.first_id("r"), session_facts.now())
    assert published("r") == ["r"]  # nobody else can have committed
    texts.is_table = True
    assert published("r", "r") == ["r"]  # an UPDATE that finds no row is no error


def a_plan() -> Any:
    return SimpleNamespace(
        writes_nothing=False, displaced=("x",), target=ModelRelations("`s`", "m"), run_id="r",
        decision=SimpleNamespace(writes_nothing=False), measures=False, old=None,
        capture=SimpleNamespace(manifest=None),
    )  # fmt: skip


def test_the_order_of_a_consolidation() -> None:
    """Its steps in the model are those of a run; in the product they stand in one function."""
    body = ast.parse(textwrap.dedent(inspect.getsource(consolidation.consolidate)))
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    names = [ast.unparse(node.func) for node in calls]
    wanted = ["committed", "fence.fence", "_one", "commit.prepare", "commit.send", "_published", "fence.drops"]
    assert [name for name in names if name in wanted] == wanted
    text = inspect.getsource(consolidation._published)
    assert "commit.followed(" in text and '"__diffs"' in text
