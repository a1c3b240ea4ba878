"""What the catalog holds, what the server does with a statement, and what the model takes as given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

Names = frozenset[str]
NONE: Names = frozenset()


T = TypeVar("T")


def changed(record: T, **changes: Any) -> T:
    """As dataclasses.replace, in a quarter of the time."""
    made = object.__new__(type(record))
    made.__dict__.update(record.__dict__)
    made.__dict__.pop("hash", None)
    made.__dict__.update(changes)
    return made


def once(self: Any) -> int:
    """The hash of a record, computed once: the search looks each state up."""
    known: int | None = self.__dict__.get("hash")
    if known is None:
        known = self.__dict__["hash"] = hash(tuple(getattr(self, name) for name in self.__dataclass_fields__))
    return known


@dataclass(frozen=True)
class Commit:
    """The content of `<model>__live`."""

    __hash__ = once

    run: str
    #: how many rows of the input the commit covers: the input only grows
    rows: int
    frontier: int
    #: the tables that the text of the view reads
    chains: Names
    #: the tables that the state alone names: the list of the input's files
    beside: Names

    @property
    def tables(self) -> Names:
        return self.chains | self.beside


@dataclass(frozen=True)
class Statement:
    """A statement that writes. verb: create, drop, lock, unlock, commit or publish."""

    __hash__ = once

    verb: str
    run: str
    tables: Names = NONE
    #: of a create: the tables that the query reads
    sources: Names = NONE
    commit: Commit | None = None
    #: of a commit: the run that committed before
    after: str = ""


@dataclass(frozen=True)
class Actor:
    """A run, an operation, or a reader. The steps of each are in `steps`."""

    __hash__ = once

    name: str
    kind: str
    #: the next step; "" when the actor has ended
    at: str
    #: the commit that the actor builds on, or reads
    observed: Commit | None = None
    rows: int = 0
    as_of: int = 0
    #: whether the lock was free at the first try
    was_free: bool = True
    #: the run whose lock was looked at, and those whose lock was taken over
    looked: str = ""
    displaced: Names = NONE
    #: the tables that the next drop is for
    doomed: Names = NONE
    #: the commit that is prepared, and whether the server may carry out a statement that the actor does not wait for
    new: Commit | None = None
    in_doubt: bool = False
    #: the commit that the actor publishes, and whether it saw its own commit
    shown: Commit | None = None
    is_seen: bool = False
    is_again: bool = False
    #: whether the actor has paused for longer than the age of a lock
    is_slow: bool = False
    #: whether the actor commits nothing, as nothing is new
    is_quiet: bool = False
    #: done, failed or killed; a run that gives back its lock is not gone before `at` is ""
    ended: str = ""

    @property
    def run(self) -> str:
        """The id in the names of the tables; a run that begins again has another one."""
        return self.name + "'" * self.is_again

    def table(self, kind: str) -> str:
        return f"{self.run}.{kind}"

    def ends(self, how: str) -> Actor:
        return Actor(self.name, self.kind, "", in_doubt=self.in_doubt, ended=how)


@dataclass(frozen=True)
class Rules:
    """The catalog and the config. fault: a mistake that is planted, "" for the product as it is."""

    #: whether a commit names the run before in its WHERE, as an UPDATE of a table of commits does
    swaps: bool = False
    #: whether retired tables are kept for longer than a query takes (diffs_retention)
    keeps: bool = True
    fault: str = ""


@dataclass(frozen=True)
class World:
    """A state of the search."""

    __hash__ = once

    actors: tuple[Actor, ...]
    live: Commit
    tables: Names
    #: the commit that `<model>__diffs` shows, and the run whose statement made it show this commit
    published: Commit
    publisher: str = "0"
    #: whose lock it is, "" for none, and whether it is older than the age at which it is taken over
    lock: str = ""
    is_old: bool = False
    #: rows of the input, and the clock: the number of runs that have begun
    rows: int = 2
    clock: int = 1
    #: what may still happen
    kills: int = 1
    pauses: int = 1
    lates: int = 1
    arrivals: int = 1
    #: a statement that the server carries out after its client gave up
    pending: Statement | None = None
    #: what was committed so far: the runs, the most rows, the latest frontier
    committed: Names = frozenset({"0"})
    most: int = 1
    latest: int = 0
    #: runs whose lock was taken over between their last look at it and the commit, or the drop of it
    lost: Names = NONE
    #: of these, runs whose tables nobody is going to drop
    loose: Names = NONE
    #: the first known race (`races`) whose premise holds
    race: str = ""

    def actor(self, name: str) -> Actor | None:
        return next((a for a in self.actors if a.name == name), None)

    def having(self, actor: Actor, **changes: Any) -> World:
        actors = tuple(actor if a.name == actor.name else a for a in self.actors)
        return changed(self, actors=actors, **changes)

    @property
    def is_stale(self) -> bool:
        """Whether the lock may be taken over: it is old, or its owner has gone."""
        owner = self.actor(self.lock)
        return self.is_old or owner is None or not owner.at


def carry_out(world: World, s: Statement, rules: Rules) -> World | None:
    """The world after a statement of one commit of the catalog; None for an error."""
    if s.verb == "create":
        return changed(world, tables=world.tables | s.tables) if s.sources <= world.tables else None
    if s.verb == "drop":
        return changed(world, tables=world.tables - s.tables)
    if s.verb == "lock":
        return None if world.lock else changed(world, lock=s.run, is_old=False)
    if s.verb == "unlock":
        return changed(world, lock="", is_old=False)
    assert s.commit is not None
    if s.verb == "publish":
        return changed(world, published=s.commit, publisher=s.run) if s.commit.chains <= world.tables else None
    if rules.swaps and world.live.run != s.after:
        return world  # the WHERE finds no row, which is no error
    if not rules.swaps and not s.commit.chains <= world.tables:
        return None  # Spark analyzes the text of a view, but not the content of a row
    return changed(
        world,
        live=s.commit,
        committed=world.committed | {s.commit.run},
        most=max(world.most, s.commit.rows),
        latest=max(world.latest, s.commit.frontier),
    )
