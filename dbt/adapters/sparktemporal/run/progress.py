"""How far a run is: what it has written, and what it has learnt meanwhile. Each phase makes the next of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.warehouse import Warehouse
from ..inputs.changing.conflicts import Busy
from ..pruning.pruning import Pruning
from ..temporal.decision import Statement
from ..temporal.diffs.chains import Sweep
from ..temporal.diffs.state import Chain, State
from ..temporal.rewrite.core import TypedCore
from .commit import Commit, Prepared
from .plan import RunPlan


@dataclass(frozen=True)
class Tools:
    """What the phases ask and commit with."""

    warehouse: Warehouse
    pruning: Pruning
    commit: Commit


@dataclass(frozen=True)
class Source:
    """What a chain is written from: a core less the files that cannot matter; what its window implies, in SQL.

    is_large: it may come to so many rows that its chain is in buckets. joined: the chains that become one with it.
    """

    core: TypedCore
    projection: str | None
    is_large: bool
    joined: tuple[Chain, ...] = ()


@dataclass(frozen=True)
class Published:
    """What makes the relations that people read as they should be. gives_way: a table of the model's name is there.

    view: statements for the view, and for all views in another catalog. updates, late: for `<model>__diffs` and
    `<model>__late`. function: for the function of any instant.
    """

    gives_way: bool
    view: Sequence[Statement]
    updates: Sequence[Statement] = ()
    late: Sequence[Statement] = ()
    function: Sequence[Statement] = ()


@dataclass(frozen=True)
class Progress:
    """What a run has written and learnt so far. Mappings are by core, but for `for_good`."""

    #: to read inputs that change meanwhile
    attempts: int = 0
    #: an input changed during some attempt, so what is read is pinned to what was seen
    is_pinned: bool = False
    #: the table of the files of the inputs; the run under whose id they are measured
    manifest: str = ""
    measured: str = ""
    #: what the inputs did during the last attempt, and the tables that go for that
    busy: Busy = field(default_factory=Busy)
    to_drop: tuple[str, ...] = ()
    #: statements that an observation itself executed
    executed: tuple[Statement, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    #: chains that were written; chains that become one with these; chains whose rows were written with what is new
    written: Mapping[str, Chain] = field(default_factory=dict)
    merged: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    joined: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    #: chains that were written, with their rows
    counted: Mapping[str, Chain] = field(default_factory=dict)
    #: how many rows never leave, by what is stored
    for_good: Mapping[str, int] = field(default_factory=dict)
    #: how many rows are new, where others were written with them
    added: Mapping[str, int] = field(default_factory=dict)
    #: of each part of a core: updates that leave no trace, and windows that were over, where its chain does not tell
    left_out: tuple[Sequence[Any], ...] = ()
    #: updates of what was read; None when not counted
    beyond_expiration: int | None = None
    #: windows that were over when their rows came
    late: int | None = None
    #: queries of such rows where they are kept, and how many there are
    missed: tuple[str, ...] = ()
    missed_rows: int = 0
    #: the bytes of the chains that were written
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    sweep: Sweep | None = None
    prepared: Prepared | None = None
    published: Published | None = None

    @property
    def state(self) -> State | None:
        """What is committed, from the moment on at which the commit may be sent."""
        return self.prepared.state if self.prepared else None

    @property
    def rows_written(self) -> int:
        """Of stored intervals: each stands for one update or two."""
        return sum(self.added.get(name, chain.rows) for name, chain in self.written.items())

    @property
    def bytes_written(self) -> int | None:
        """Of the files of the chains that were written; None where nothing tells."""
        known = [size for size in self.sizes.values() if size is not None]
        return sum(known) if len(known) == len(self.sizes) else None


#: asks Spark, and writes nothing
Observe = Callable[[Tools, RunPlan, Progress], tuple[RunPlan, Progress]]
#: asks nothing
Statements = Callable[[RunPlan, Progress], list[Statement]]


def nothing_to_ask(tools: Tools, plan: RunPlan, progress: Progress) -> tuple[RunPlan, Progress]:
    return plan, progress


def no_statements(plan: RunPlan, progress: Progress) -> list[Statement]:
    return []


def no_refusal(tools: Tools, plan: RunPlan, error: Exception) -> None:
    return None


@dataclass(frozen=True)
class Phase:
    """A step of a run: what it asks, and the statements that follow."""

    name: str
    observe: Observe = nothing_to_ask
    statements: Statements = no_statements
    #: raises what explains the error of a statement, where anything does
    refuse: Callable[[Tools, RunPlan, Exception], None] = no_refusal
