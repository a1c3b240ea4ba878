"""The races that a catalog without a compare-and-swap leaves, each by its premise: the step that opens the gap."""

from __future__ import annotations

from .world import Actor, Rules, Statement, World, changed

NO_CHAIN = "a lock is taken over between the last look at it and the commit of a run without a chain of its own"
NOT_FENCED = "the same, of a run with chains, where who took over was killed, or came late to the free lock"
INSIDE_FENCE = "a run whose lock was taken over commits between the look at its tables and their drop"
PAUSED_UNLOCK = "a run pauses between the look at its lock and the drop of the lock"
TWO_TAKE_OVER = "two runs take over one lock: the second drops the lock of the first"
LATE_COMMIT = "the server carries out a commit after its client gave up"
LATE_UNLOCK = "the server drops a lock after its client gave up"
LATE_DROP = "the server drops tables after its client gave up"


def _mark(world: World, race: str) -> World:
    return changed(world, race=world.race or race)


def late(world: World, s: Statement) -> World:
    """The world in which a statement is carried out late."""
    world = changed(world, pending=None)
    if s.commit is not None and s.verb == "commit":
        is_between = any(a.at in ("commit: lock", "commit: send") for a in world.actors)
        if world.live.run != s.after or is_between or not s.commit.tables <= world.tables:
            return _mark(world, LATE_COMMIT)
    if s.verb == "unlock" and world.lock:
        return _mark(world, LATE_UNLOCK)
    if s.verb == "drop" and s.tables & world.live.tables:
        return _mark(world, LATE_DROP)
    return world


def killed(world: World, actor: Actor) -> World:
    """The world in which an actor is killed: the tables of the runs whose lock it took over may still be there."""
    is_fenced = not actor.at.startswith(("lock", "anew", "fence"))
    return world if is_fenced else changed(world, loose=world.loose | (actor.displaced & world.lost))


def step(world: World, actor: Actor, rules: Rules) -> World:
    """The world in which an actor takes its next step."""
    if actor.at == "unlock" and actor.name in world.lost:
        return _mark(world, PAUSED_UNLOCK)
    if actor.at == "lock" and not world.lock:
        return changed(world, loose=world.loose | (world.lost - actor.displaced))
    if actor.at == "lock: take over":
        if world.lock not in ("", actor.looked):
            return _mark(world, TWO_TAKE_OVER)
        owner = world.actor(world.lock)
        if owner is not None and owner.at in ("commit: send", "unlock"):
            return changed(world, lost=world.lost | {owner.name})
    if actor.at == "fence: drop" and actor.doomed & world.live.tables:
        return _mark(world, INSIDE_FENCE)
    if actor.at == "commit: send" and actor.name in world.lost and not rules.swaps:
        if actor.new is not None and not any(t.startswith(f"{actor.run}.") for t in actor.new.chains):
            return _mark(world, NO_CHAIN)
        if actor.name in world.loose:
            return _mark(world, NOT_FENCED)
    return world
