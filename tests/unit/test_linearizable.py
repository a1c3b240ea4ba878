"""The checker of histories (`tests/support/linearizable.py`): by hand, and over the traces of the protocol's model."""

from __future__ import annotations

import random
from math import inf
from typing import Any

import pytest

from support.linearizable import Change, Commit, Failed, Frontier, History, Operation, Outcome, Read, Run
from support.protocol.invariants import INVARIANTS
from support.protocol.planted import BEHIND, FAULTS, LOSER, NAMED, WHOLE
from support.protocol.search import nexts, search, start
from support.protocol.world import Actor, Rules, World
from support.seeds import a_seed

DONE, MAYBE, NEVER = Outcome


def rows(commit: Commit, read: Read) -> Any:
    """Each change adds the row of its number."""
    return list(range(commit.version + 1))


def unexplained(*operations: Operation, wanted: Any = rows) -> str:
    history = History()
    history.operations = list(operations)
    return history.unexplained(wanted)


def run(invoked: int, ended: float, as_of: int, outcome: Outcome = DONE) -> Run:
    return Run(invoked, as_of, outcome, ended=ended)


def change(invoked: int, ended: int) -> Change:
    return Change(invoked, ended=ended)


def saw(invoked: int, ended: int, answer: Any, instant: int | None = None, of: str = "m") -> Read:
    return Read(invoked, of, instant, answer, ended=ended)


FIRST = run(0, 1, 100)
#: a row more, and the run that takes it
MORE = (FIRST, change(2, 3), run(10, 20, 200))
#: two runs at once, each after a change of its own
RIVALS = (FIRST, change(2, 3), run(10, 20, 200), change(11, 12), run(13, 19, 300))

VALID: dict[str, tuple[Operation, ...]] = {
    "before and after": (*MORE, saw(4, 5, [0]), saw(21, 22, [0, 1])),
    "beside, the old rows and then the new ones": (*MORE, saw(11, 13, [0]), saw(12, 14, [0, 1]), saw(15, 16, [0, 1])),
    "a long read, of either": (*MORE, saw(4, 30, [0]), saw(5, 31, [0, 1])),
    "rows that come while the run is at work, taken": (FIRST, run(10, 20, 200), change(11, 12), saw(21, 22, [0, 1])),
    "the same, left to the next run": (FIRST, run(10, 20, 200), change(11, 12), saw(21, 22, [0])),
    "nothing new": (*MORE, run(21, 22, 300), saw(23, 24, Frontier(200))),
    "a run of an earlier instant": (*MORE, change(21, 22), run(23, 24, 150), saw(25, 26, Frontier(200))),
    "the past is as it was": (*MORE, saw(21, 22, [0], 199), saw(23, 24, [0, 1], 200)),
    "killed before its commit": (FIRST, change(2, 3), run(10, 12, 200, MAYBE), saw(13, 14, [0])),
    "killed after its commit": (FIRST, change(2, 3), run(10, 12, 200, MAYBE), saw(13, 14, [0, 1])),
    "a commit long after its client": (
        FIRST, change(2, 3), run(10, 12, 200, MAYBE), saw(13, 14, [0]), saw(15, 16, [0, 1]), saw(17, 18, Frontier(200)),
    ),
    "two that are killed": (
        FIRST, change(2, 3), run(4, 5, 200, MAYBE), change(6, 7), run(8, 9, 300, MAYBE), saw(10, 11, [0]),
        saw(12, 13, [0, 1]), saw(14, 15, [0, 1, 2]),
    ),
    "killed with nothing new": (FIRST, run(2, 3, 200, MAYBE), saw(4, 5, Frontier(100)), saw(6, 7, Frontier(200))),
    "a clean failure": (FIRST, change(2, 3), run(10, 20, 200, NEVER), saw(21, 22, [0])),
    "rivals, the one after the other": (*RIVALS, saw(14, 15, [0, 1]), saw(21, 22, [0, 1, 2])),
    "rivals, the second takes all": (*RIVALS, saw(14, 15, [0, 1, 2]), saw(21, 22, Frontier(300))),
    "rivals, the second first and then the first with its row": (
        FIRST, change(2, 3), run(10, 20, 200), run(11, 19, 300), saw(12, 13, [0, 1]), saw(21, 22, Frontier(300)),
    ),
    "another relation follows later": (*MORE, saw(11, 12, [0, 1]), saw(13, 14, [0], of="m__diffs")),
}  # fmt: skip

#: what is wrong, the history, and the read that does not fit
WRONG: dict[str, tuple[tuple[Operation, ...], str]] = {
    "a torn read": ((*RIVALS, saw(14, 15, [0, 2])), "14–15"),
    "rows twice": ((*MORE, saw(21, 22, [0, 1, 1])), "21–22"),
    "an error": ((*MORE, saw(11, 12, Failed("gone"))), "11–12"),
    "a lost commit": ((*MORE, run(21, 22, 300), saw(23, 24, [0])), "23–24"),
    "a stale read": ((*MORE, saw(21, 22, [0])), "21–22"),
    "a stale read after another reader": ((*MORE, saw(11, 12, [0, 1]), saw(13, 14, [0])), "13–14"),
    "a commit that goes back": (
        (*RIVALS, saw(14, 15, [0, 1, 2]), saw(16, 17, [0, 1])), "16–17",
    ),
    "a frontier that goes back": ((*MORE, saw(21, 22, Frontier(200)), saw(23, 24, Frontier(100))), "23–24"),
    "a run of an earlier instant puts it back": (
        (*MORE, change(21, 22), run(23, 24, 150), saw(25, 26, Frontier(150))), "25–26",
    ),
    "a read from the future": ((*MORE, saw(4, 5, [0, 1])), "4–5"),
    "rows that were not there yet": ((FIRST, run(2, 3, 200), saw(4, 5, [0, 1]), change(6, 7)), "4–5"),
    "the past changes": ((*MORE, saw(21, 22, [0, 1], 199)), "21–22"),
    "before the first run": ((FIRST, saw(2, 3, [], 99)), "2–3"),
    "rows of a clean failure": ((FIRST, change(2, 3), run(10, 20, 200, NEVER), saw(21, 22, [0, 1])), "21–22"),
    "a kill that loses what was committed": (
        (*MORE, change(21, 22), run(23, 24, 300, MAYBE), saw(25, 26, [0])), "25–26",
    ),
    "what a killed run has committed goes away": (
        (FIRST, change(2, 3), run(10, 12, 200, MAYBE), saw(13, 14, [0, 1]), saw(15, 16, [0])), "15–16",
    ),
    "a killed run commits over a later one": (
        (FIRST, run(2, 3, 200, MAYBE), change(4, 5), run(6, 7, 300), saw(8, 9, [0, 1]), saw(10, 11, [0])), "10–11",
    ),
    "a row that another run took is lost": (
        (FIRST, change(2, 3), run(10, 20, 200), change(11, 12), run(21, 22, 300), saw(23, 24, [0, 1])), "23–24",
    ),
    "the second relation never follows": ((*MORE, saw(21, 22, [0, 1]), saw(23, 24, [0], of="m__diffs")), "23–24"),
}  # fmt: skip


@pytest.mark.parametrize("history", VALID)
def test_an_order_is_found(history: str) -> None:
    assert unexplained(*VALID[history]) == ""


@pytest.mark.parametrize("history", WRONG)
def test_no_order_is_found(history: str) -> None:
    operations, read = WRONG[history]
    said = unexplained(*operations)
    assert f"  {read} a read of " in said, said


def test_each_wrong_history_is_right_without_the_read() -> None:
    """So the read alone is what no order explains."""
    for operations, read in WRONG.values():
        (wrong,) = [o for o in operations if isinstance(o, Read) and f"{o.invoked}–{o.ended}" == read]
        others = [o for o in operations if o is not wrong]
        assert not any(isinstance(o, Read) for o in others) or unexplained(*others) == ""


def test_what_is_told() -> None:
    assert unexplained(*MORE, saw(4, 5, [0]), saw(21, 22, [0])) == (
        "no order of commits explains what readers of m saw. With the commits (input 1 at 200), next are:\n"
        "  21–22 a read of m saw [0], not [0, 1]"
    )


def test_no_commit_explains_an_error() -> None:
    """Whatever an answer has to be."""
    assert unexplained(FIRST, saw(2, 3, 7), wanted=lambda commit, read: read.answer) == ""
    assert unexplained(FIRST, saw(2, 3, Failed("gone")), wanted=lambda commit, read: read.answer) != ""


def test_nobody_reads() -> None:
    with pytest.raises(AssertionError, match="nobody has read anything"):
        unexplained(FIRST)


def test_a_recorded_history() -> None:
    history = History()
    with history.run(100):
        pass
    with pytest.raises(ZeroDivisionError), history.run(200, MAYBE), history.change():
        history.read(lambda: [0])
        raise ZeroDivisionError
    assert history.read(lambda: 1 // 0) == Failed("ZeroDivisionError: integer division or modulo by zero")
    assert [(o.invoked, o.ended) for o in history.operations] == [(0, 1), (2, 7), (3, 6), (4, 5), (8, 9)]
    assert "8–9 a read of m saw Failed" in history.unexplained(rows)


def test_hundreds_of_operations() -> None:
    """Twelve runs that are killed, each after a row of its own, and sixty more, of which every sixth is killed."""
    history, seen = History(), 0
    with history.run(0):
        pass
    for n in range(1, 13):
        with history.change():
            pass
        with history.run(n, MAYBE):
            pass
    for n in range(13, 73):
        with history.change():
            pass
        with history.run(n, MAYBE if n % 6 == 0 else DONE) as one:
            for _ in range(4):
                history.read(lambda seen=seen: list(range(seen + 1)))
        seen = seen if one.outcome is MAYBE else n
        history.read(lambda seen=seen: list(range(seen + 1)))
    assert history.unexplained(rows) == ""
    history.read(lambda: [0])
    assert "saw [0], not" in history.unexplained(rows)


# -- over the model of the protocol, which has invariants of its own --

#: what a run of these kinds commits is the whole input of an instant between its begin and its end
RUNS = ("run", "rebuild", "no rows")
#: mistakes that a reader may notice
VISIBLE = [
    name
    for name, fault in FAULTS.items()
    if set(fault.actors) <= {*RUNS, "consolidation", "reader"} and fault.invariants not in ((LOSER,), (BEHIND,))
]


class Walk:
    """A walk through the model, with a reader that asks after each step."""

    def __init__(self, world: World, rules: Rules) -> None:
        self.world, self.rules, self.history = world, rules, History()
        self.begun: dict[str, Operation] = {}
        with self.history.change(), self.history.run(0):
            pass
        self.arrive()

    def arrive(self) -> None:
        with self.history.change():
            pass

    def choices(self) -> list[tuple[str, World]]:
        return list(nexts(self.world, self.rules))

    def step(self, then: World) -> None:
        before, self.world = self.world, then
        if then.rows > before.rows:
            self.arrive()
        for old, new in zip(before.actors, then.actors):
            if old != new and new.kind in (*RUNS, "reader"):
                self.act(old, new)
        read = self.history.read
        read(lambda: then.live.rows if then.live.chains <= then.tables else 1 // 0)
        read(lambda: Frontier(then.live.frontier))
        read(lambda: (then.published.rows, then.live.rows), "m__diffs and m")

    def act(self, old: Actor, new: Actor) -> None:
        name = new.name
        if name not in self.begun:
            begun = self.history.tick()
            self.begun[name] = Read(begun, "m") if new.kind == "reader" else Run(begun, new.as_of)
            self.history.operations.append(self.begun[name])
        one = self.begun[name]
        if isinstance(one, Read) and not new.at:
            one.ended = self.history.tick()
            one.answer = old.observed.rows if new.ended == "done" and old.observed else Failed("the tables are gone")
        elif isinstance(one, Run) and new.ended:
            outcomes = {"done": DONE, "killed": MAYBE, "failed": MAYBE if new.in_doubt else NEVER}
            one.outcome, one.ended = outcomes[new.ended], inf if new.at else self.history.tick()

    def violated(self) -> set[str]:
        return {i.__name__ for i in INVARIANTS if i(self.world, self.rules)} - {LOSER, BEHIND}

    def shows_the_same(self) -> bool:
        shown = self.world.published
        return shown.run not in self.world.committed and shown.rows == self.world.live.rows

    def unexplained(self) -> str:
        """<model>__diffs follows a commit, and is never ahead."""

        def wanted(commit: Commit, read: Read) -> Any:
            return commit.version if read.of == "m" else (min(read.answer[0], commit.version), commit.version)

        return self.history.unexplained(wanted)


def a_walk(rng: random.Random, actors: tuple[str, ...], rules: Rules, **bounds: int) -> Walk:
    """To its end, or to the first state that violates an invariant."""
    walk = Walk(start(actors, **bounds), rules)
    while (choices := walk.choices()) and not walk.violated():
        walk.step(rng.choice(choices)[1])
    return walk


@pytest.mark.parametrize("walks", [400, pytest.param(5_000, marks=pytest.mark.deep)])
def test_walks_of_the_protocol(walks: int) -> None:
    """The checker and the invariants know nothing of each other, and say the same of each walk."""
    rng, refused = random.Random(a_seed()), 0
    for _ in range(walks):
        actors = (rng.choice(RUNS), rng.choice((*RUNS, "consolidation")), rng.choice((*RUNS, "reader")))
        rules = Rules(swaps=rng.random() < 0.5, fault=rng.choice(["", *VISIBLE]))
        walk = a_walk(rng, actors, rules)
        said, violated = walk.unexplained(), walk.violated()
        # readers miss chains, and not the list of files; they do not see whose rows they are, where these are the same
        unseen = {NAMED} | ({WHOLE} if walk.shows_the_same() else set())
        assert violated if said else violated <= unseen, (actors, rules, said, violated)
        refused += bool(said)
    assert walks / 20 < refused < walks / 2


@pytest.mark.parametrize("fault", VISIBLE)
def test_a_planted_fault_is_refused(fault: str) -> None:
    """The shortest way to what an invariant finds."""
    actors, _, swaps = FAULTS[fault]
    rules, world = Rules(fault=fault, swaps=swaps), start(actors, lates=0, kills=0, arrivals=0)
    found = search(world, rules, is_short=True)
    trace = next(trace for (race, _), trace in found.violations.items() if not race)
    walk = Walk(world, rules)
    for words in trace[:-1]:
        assert not walk.begun or walk.unexplained() == ""
        walk.step(dict(walk.choices())[words])
    assert walk.unexplained() != ""
