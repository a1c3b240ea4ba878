"""The steps of a run, of an operation and of a reader, each one statement or one question to the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from .world import NONE, Actor, Commit, Names, Rules, Statement, World, changed

#: the phases of the product (`run/phases`) -> the steps of the model
PHASES = {
    "fence": ("fence: look", "fence: drop"),
    "write": ("write",),
    "look": ("look",),
    "merge": ("merge",),
    "commit": ("commit: check", "commit: lock", "commit: send"),
    "publish": ("publish: look", "publish", "publish: look again"),
    "clean_up": ("clean_up",),
}
_ORDER = [*chain.from_iterable(PHASES.values()), "give_back"]
AFTER = dict(zip(_ORDER, _ORDER[1:]))
#: phases without a step: their tables are made by `write`, and a second read of the inputs is not modelled
LEFT_OUT = ("remember", "measure", "unwrite", "undo")
#: what an actor writes: i is the list of the input's files, w a chain
WRITES = {"run": "iw", "rebuild": "iw", "no rows": "i", "text": "", "consolidation": "w", "request": ""}
OPERATIONS = ("consolidation", "request")


@dataclass(frozen=True)
class Move:
    """A step: the actor after it, the statement that is sent, and the actor after an error of the server."""

    then: Actor
    statement: Statement | None = None
    failed: Actor | None = None
    #: the actor after another error: the client gave up
    gave_up: Actor | None = None


def move(world: World, actor: Actor, rules: Rules) -> Move | None:
    """The next step of an actor; None for an actor that waits or has ended."""
    return STEPS[actor.at](world, actor, rules) if actor.at else None


def _at(actor: Actor, step: str, rules: Rules) -> Actor:
    """The actor before a step, or before the next one where it has nothing to do there."""
    while _is_idle(actor, step, rules):
        step = AFTER[step]
    return changed(actor, at=step, in_doubt=actor.in_doubt or step == "commit: send")


def _is_idle(actor: Actor, step: str, rules: Rules) -> bool:
    if step == "write":
        return not WRITES[actor.kind]
    if step == "merge":
        return not _merges(actor)
    if step == "commit: lock":
        return actor.was_free and not actor.is_slow or rules.fault == "a commit without a look at the lock"
    if step == "publish: look":
        return _is_sure(actor) and not rules.swaps
    if step in ("publish", "publish: look again"):
        is_blind = step != "publish" and rules.fault == "a run that publishes and does not look again"
        return actor.kind == "request" or step != "publish" and _is_sure(actor) or is_blind
    return step == "clean_up" and rules.keeps and not rules.fault.startswith("a sweep")


def _is_sure(actor: Actor) -> bool:
    """Whether nobody can have taken over the lock of an actor."""
    return actor.was_free and not actor.is_slow


def _failing(actor: Actor) -> Actor:
    """A run that fails drops what it wrote, unless its commit may have been sent. An operation drops nothing."""
    keeps = actor.in_doubt or actor.kind in OPERATIONS
    return changed(actor, at="give_back" if keeps else "abandon", ended="failed")


def _observe(world: World, actor: Actor) -> Actor:
    return changed(actor, observed=world.live, rows=world.rows)


def _has_work(actor: Actor) -> bool:
    return actor.kind not in ("run", "no rows") or actor.observed is None or actor.rows > actor.observed.rows


# -- before the phases (run/under_lock, run/lock) --


def begin(world: World, actor: Actor, rules: Rules) -> Move:
    seen = changed(_observe(world, actor), as_of=world.clock)
    if _has_work(seen):
        return Move(changed(seen, at="lock"))
    quiet = changed(seen, at="publish: look", was_free=False, is_quiet=True, is_seen=True)
    return Move(seen.ends("done") if _shows(world, world.live) else quiet)


def _shows(world: World, commit: Commit) -> bool:
    """Whether `<model>__diffs` has the text of a commit: the read of its chains."""
    return world.published.chains == commit.chains


def lock(world: World, actor: Actor, rules: Rules) -> Move:
    whose = changed(actor, at="lock: whose", was_free=False)
    return Move(changed(actor, at="anew"), Statement("lock", actor.name), whose, actor.ends("failed"))


def whose(world: World, actor: Actor, rules: Rules) -> Move | None:
    if not world.lock:
        return Move(changed(actor, at="lock"))
    if world.is_stale or rules.fault == "a takeover without a look at the age":
        return Move(changed(actor, at="lock: take over", looked=world.lock))
    return None


def take_over(world: World, actor: Actor, rules: Rules) -> Move:
    then = changed(actor, at="lock", displaced=actor.displaced | {actor.looked}, looked="")
    return Move(then, Statement("unlock", actor.name), gave_up=actor.ends("failed"))


def anew(world: World, actor: Actor, rules: Rules) -> Move:
    if actor.kind in OPERATIONS or not (actor.was_free or actor.observed == world.live):
        actor = _observe(world, actor)
    if not _has_work(actor):
        quiet = changed(actor, is_quiet=True, is_seen=True, shown=world.live)
        return Move(changed(actor, at="give_back") if _shows(world, world.live) else _at(quiet, "publish: look", rules))
    # where commits are swapped, the commit of a run that lost its lock fails by itself: its tables need not go
    fences = bool(actor.displaced) and (not rules.swaps or rules.fault == "tables dropped where a row is the commit")
    if rules.fault == "a loser that keeps its tables":
        fences = False
    if rules.fault == "an operation that takes over and drops nothing":
        fences = fences and actor.kind not in OPERATIONS
    return Move(changed(actor, at="fence: look") if fences else _at(actor, "write", rules))


# -- the phases (run/phases) --


def tables_of(world: World, runs: Names) -> Names:
    """The tables of some runs, under all ids that they had, less those in the commit."""
    return frozenset(t for t in world.tables if t.split(".")[0].rstrip("'") in runs) - world.live.tables


def fence_look(world: World, actor: Actor, rules: Rules) -> Move:
    doomed = tables_of(world, actor.displaced)
    return Move(changed(actor, at="fence: drop", doomed=doomed) if doomed else _at(actor, "write", rules))


def fence_drop(world: World, actor: Actor, rules: Rules) -> Move:
    then = _at(changed(actor, doomed=NONE), "write", rules)
    return Move(then, Statement("drop", actor.run, actor.doomed), _failing(actor))


def write(world: World, actor: Actor, rules: Rules) -> Move:
    assert actor.observed is not None
    made = frozenset(actor.table(kind) for kind in WRITES[actor.kind])
    sources = actor.observed.chains if actor.kind == "consolidation" else NONE
    return Move(_at(actor, "look", rules), Statement("create", actor.run, made, sources), _failing(actor))


def look(world: World, actor: Actor, rules: Rules) -> Move:
    assert actor.observed is not None
    own = {actor.table(kind) for kind in WRITES[actor.kind]}
    if not own | actor.observed.chains <= world.tables:
        return Move(_failing(actor))
    prepared = changed(actor, new=_prepared(actor, rules))
    is_early = rules.fault == "publish before the commit"
    return Move(_at(prepared, "publish" if is_early else "merge", rules))


def merge(world: World, actor: Actor, rules: Rules) -> Move:
    assert actor.observed is not None
    made, sources = frozenset({actor.table("m")}), actor.observed.chains | {actor.table("w")}
    return Move(_at(actor, "commit: check", rules), Statement("create", actor.run, made, sources), _failing(actor))


def _merges(actor: Actor) -> bool:
    return actor.kind == "run" and actor.observed is not None and len(actor.observed.chains) > 1


def _prepared(actor: Actor, rules: Rules) -> Commit:
    old, kind = actor.observed, actor.kind
    assert old is not None
    chains, beside, rows, frontier = old.chains, old.beside, old.rows, old.frontier
    if kind in ("rebuild", "consolidation"):
        chains = frozenset({actor.table("w")})
    elif kind == "run":
        chains = frozenset({actor.table("m")}) if _merges(actor) else chains | {actor.table("w")}
    if "i" in WRITES[kind]:
        beside, rows = frozenset({actor.table("i")}), actor.rows
    if kind not in OPERATIONS:
        frontier = actor.as_of if rules.fault == "a clock before the frontier" else max(actor.as_of, frontier)
    return Commit(actor.run, rows, frontier, chains, beside)


def check(world: World, actor: Actor, rules: Rules) -> Move:
    if world.live == actor.observed or rules.fault == "a commit without the check":
        return Move(_at(actor, "commit: lock", rules))
    # a run that committed before this one had its lock: what was written goes, and the run begins again, once
    if actor.kind not in OPERATIONS and not actor.is_again and world.lock == actor.name:
        return Move(changed(actor, at="abandon"))
    return Move(_failing(actor))


def ask_for_the_lock(world: World, actor: Actor, rules: Rules) -> Move:
    """A run that waited for its lock, or has had the lock for long, asks whether it still has the lock."""
    return Move(_at(actor, "commit: send", rules) if world.lock == actor.name else _failing(actor))


def send(world: World, actor: Actor, rules: Rules) -> Move:
    assert actor.observed is not None
    sent = Statement("commit", actor.run, commit=actor.new, after=actor.observed.run)
    then = _at(changed(actor, shown=actor.new), "publish: look", rules)
    return Move(changed(then, is_seen=then.at != "publish: look"), sent, _failing(actor))


def look_at_the_commit(world: World, actor: Actor, rules: Rules) -> Move:
    """Until the commit is the one that is published."""
    if rules.fault == "publish before the commit":
        return Move(_at(actor, "clean_up", rules) if world.live == actor.new else _failing(actor))
    seen = changed(actor, shown=world.live, is_seen=actor.is_seen or world.live == actor.new)
    if actor.at == "publish: look again" and world.live == actor.shown:
        return Move(_published(seen, rules))
    if rules.fault == "a run that publishes and does not look again" and not seen.is_seen:
        return Move(_failing(actor))
    return Move(_at(seen, "publish", rules))


def publish(world: World, actor: Actor, rules: Rules) -> Move:
    if rules.fault == "publish before the commit":
        return Move(_at(actor, "merge", rules), Statement("publish", actor.run, commit=actor.new), _failing(actor))
    then = _at(actor, "publish: look again", rules)
    then = then if then.at == "publish: look again" else _published(actor, rules)
    return Move(then, Statement("publish", actor.run, commit=actor.shown), _failing(actor))


def _published(actor: Actor, rules: Rules) -> Actor:
    if actor.is_quiet:
        return changed(actor, at="give_back")
    return _done(_at(actor, "clean_up", rules)) if actor.is_seen else _failing(actor)


def clean_up(world: World, actor: Actor, rules: Rules) -> Move:
    assert actor.observed is not None and actor.new is not None
    drop = NONE
    if not rules.keeps or rules.fault == "a sweep that is too early":
        drop = actor.observed.tables - actor.new.tables
    if rules.fault == "a sweep of what is named":
        drop = actor.observed.tables
    done = _done(changed(actor, at="give_back"))
    return Move(done, Statement("drop", actor.run, drop), changed(done, ended="failed"))


def _done(actor: Actor) -> Actor:
    return changed(actor, ended="done") if actor.at == "give_back" else actor


# -- after the phases (run/writer, run/lock) --


def abandon(world: World, actor: Actor, rules: Rules) -> Move:
    leaves = rules.fault == "a run that fails and leaves its tables"
    drops = Statement("drop", actor.run, NONE if leaves else tables_of(world, frozenset({actor.name})))
    if actor.ended:
        return Move(changed(actor, at="give_back"), drops)
    again = changed(_observe(world, actor), at="anew", is_again=True, new=None)
    return Move(again, drops, _failing(actor))


def give_back(world: World, actor: Actor, rules: Rules) -> Move:
    """A run that saw its own commit soon after it took its lock drops the lock without a look."""
    is_sure = actor.ended == "done" and _is_sure(actor) and actor.kind not in OPERATIONS
    is_ours = is_sure or world.lock == actor.name or rules.fault == "a lock given back without a look"
    return Move(changed(actor, at="unlock") if is_ours else actor.ends(actor.ended or "done"))


def unlock(world: World, actor: Actor, rules: Rules) -> Move:
    return Move(actor.ends(actor.ended or "done"), Statement("unlock", actor.name))


# -- a reader --


def plan(world: World, actor: Actor, rules: Rules) -> Move:
    """Spark reads the text of the view when it plans the query."""
    return Move(changed(actor, at="read", observed=world.live))


def read(world: World, actor: Actor, rules: Rules) -> Move:
    """The query ends: whether its tables were there to the end."""
    assert actor.observed is not None
    return Move(actor.ends("done" if actor.observed.chains <= world.tables else "failed"))


STEPS: dict[str, Callable[[World, Actor, Rules], Move | None]] = {
    "begin": begin, "lock": lock, "lock: whose": whose, "lock: take over": take_over, "anew": anew,
    "fence: look": fence_look, "fence: drop": fence_drop, "write": write, "look": look, "merge": merge,
    "commit: check": check, "commit: lock": ask_for_the_lock, "commit: send": send, "publish: look": look_at_the_commit,
    "publish": publish, "publish: look again": look_at_the_commit,
    "clean_up": clean_up, "abandon": abandon, "give_back": give_back, "unlock": unlock,
    "plan": plan, "read": read,
}  # fmt: skip
