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
    """commits: decided by the first plan, whatever the inputs do meanwhile.

    attempts: to read inputs that change meanwhile. is_pinned: they did during some attempt, so what is read is pinned
    to what was seen. is_seen: their files are remembered (`manifest`: in that table) and measured (`measured`: under
    that id).
    sources, written, merged: by core; joined: chains whose rows were written with what is new. counted: chains that
    were written, with their rows; for_good: how many rows never leave, by what is stored; added: how many rows are new,
    where others were written with them. left_out: of each part of a core, how many updates leave no trace and how many
    windows were over, where its chain does not tell. beyond_expiration: updates
    of what was read, None when not counted. late: windows that were over when their rows came. missed: queries of such
    rows, where they are kept; missed_rows: how many there are. sizes: the bytes of the chains that were written.
    """

    commits: bool
    attempts: int = 0
    is_pinned: bool = False
    is_seen: bool = False
    manifest: str = ""
    measured: str = ""
    busy: Busy = field(default_factory=Busy)
    to_drop: tuple[str, ...] = ()
    executed: tuple[Statement, ...] = ()  # by an observation itself
    sources: Mapping[str, Source] = field(default_factory=dict)
    written: Mapping[str, Chain] = field(default_factory=dict)
    merged: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    joined: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    counted: Mapping[str, Chain] = field(default_factory=dict)
    for_good: Mapping[str, int] = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[Sequence[Any], ...] = ()
    beyond_expiration: int | None = None
    late: int | None = None
    missed: tuple[str, ...] = ()
    missed_rows: int = 0
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


When = Callable[[RunPlan, Progress], bool]
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
    """A step of a run: whether it is due, what it asks, and the statements that follow. back_to: the phase after it,
    where that is not the next one. refuse: raises what explains the error of a statement, where anything does."""

    name: str
    when: When
    observe: Observe = nothing_to_ask
    statements: Statements = no_statements
    back_to: str = ""
    refuse: Callable[[Tools, RunPlan, Exception], None] = no_refusal
