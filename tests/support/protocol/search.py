"""Breadth first through all interleavings of some actors, with one kill, one pause and one statement too late."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from . import races
from .invariants import INVARIANTS, is_behind
from .steps import OPERATIONS, move
from .world import Actor, Commit, Names, Rules, World, carry_out, changed

#: the steps in words
WORDS = {
    "begin": "observes state and input", "lock": "creates the lock", "lock: whose": "looks whose the lock is",
    "lock: take over": "drops that lock", "anew": "looks whether its observation is due",
    "fence: look": "looks for tables of who lost the lock", "fence: drop": "drops these tables",
    "write": "writes its tables", "look": "looks at what it wrote", "merge": "merges chains",
    "commit: check": "checks the state", "commit: lock": "asks whether it has the lock", "commit: send": "commits",
    "publish: look": "reads the commit", "publish": "publishes", "publish: look again": "reads the commit again",
    "clean_up": "drops retired tables",
    "abandon": "drops what it wrote", "give_back": "ends, and looks whose the lock is", "unlock": "drops the lock",
    "plan": "plans its query", "read": "reads the tables",
}  # fmt: skip
FIRST = Commit("0", 1, 0, frozenset({"0.w"}), frozenset({"0.i"}))


@dataclass
class Found:
    """The outcome of a search."""

    states: int = 0
    transitions: int = 0
    #: (the known race or "", the invariant) -> the shortest trace in words
    violations: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    #: where all actors have ended: (the tables that are there, those that the commit names)
    left: set[tuple[Names, Names]] = field(default_factory=set)
    #: where all have ended and <model>__diffs is behind: how the run that had to publish ended, and how the one that
    #: published last -> the shortest trace
    behind: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    #: these ends
    adrift: set[World] = field(default_factory=set)


def start(kinds: Sequence[str], **bounds: int) -> World:
    """A model with one chain. kinds: of the actors; their names are a, b, …"""
    begins = dict.fromkeys(OPERATIONS, "lock") | {"reader": "plan"}
    actors = tuple(Actor(name, kind, begins.get(kind, "begin")) for name, kind in zip("abcde", kinds))
    world = World(actors, FIRST, FIRST.tables, FIRST)
    return changed(world, **bounds)


def search(world: World, rules: Rules, is_short: bool = False) -> Found:
    """All states that follow. A state that violates an invariant is not followed further.

    is_short: whether the first violation that no known race explains ends the search.
    """
    found = Found()
    came: dict[World, tuple[World, str] | None] = {world: None}
    queue = deque([world])
    while queue:
        now = queue.popleft()
        for words, then in nexts(now, rules):
            found.transitions += 1
            if then in came:
                continue
            came[then] = (now, words)
            wrong = [(i.__name__, said) for i in INVARIANTS if (said := i(then, rules))]
            for name, said in wrong:
                key = (then.race, name)
                if key not in found.violations:
                    found.violations[key] = [*_trace(came, then), f"=> {said}"]
            if wrong and is_short and not then.race:
                return found
            if not wrong:
                queue.append(then)
                if not any(a.at for a in then.actors):
                    found.left.add((then.tables, then.live.tables))
                    if (ended := is_behind(then)) and not then.race:
                        found.adrift.add(then)
                        if ended not in found.behind:
                            found.behind[ended] = _trace(came, then)
    found.states = len(came)
    return found


def _trace(came: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    steps: list[str] = []
    while (before := came[world]) is not None:
        world, words = before
        steps.append(words)
    return steps[::-1]


def nexts(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    """What may happen next -> (in words, the world after it)."""
    if world.arrivals and any(a.at == "begin" for a in world.actors):
        yield "a row arrives", changed(world, rows=world.rows + 1, arrivals=world.arrivals - 1)
    if world.pending is not None:  # or never
        s, now = world.pending, races.late(world, world.pending)
        yield f"the server carries out the {s.verb} of {s.run}", carry_out(now, s, rules) or now
    began = set()
    for actor in world.actors:
        if actor.at == "begin":  # of two of a kind the first begins first
            if actor.kind in began:
                continue
            began.add(actor.kind)
        if actor.at:
            yield from _steps_of(world, actor, rules)


def _steps_of(world: World, actor: Actor, rules: Rules) -> Iterator[tuple[str, World]]:
    who, step, does = f"{actor.name} ({actor.kind})", move(world, actor, rules), WORDS[actor.at]
    if step is not None:
        after = races.step(changed(world, clock=world.clock + (actor.at == "begin")), actor, rules)
        done = after if step.statement is None else carry_out(after, step.statement, rules)
        if done is not None:
            yield f"{who} {does}", done.having(step.then)
        else:
            yield f"{who} {does}, which fails", after.having(step.failed or step.then)
        if world.lates and step.statement is not None:
            gone = changed(step.gave_up or step.failed or step.then, in_doubt=True)
            yield f"{who} {does}, and gives up", after.having(gone, pending=step.statement, lates=0)
    if world.kills and actor.kind != "reader":
        yield f"{who} is killed before it {does}", races.killed(world, actor).having(actor.ends("killed"), kills=0)
    if world.pauses and world.lock == actor.name:
        paused = changed(actor, is_slow=True)
        yield f"{who} pauses for over an hour before it {does}", world.having(paused, pauses=0, is_old=True)
