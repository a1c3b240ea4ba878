"""The progress of a run: all that the run has written and learnt so far. Each phase gives the next progress."""

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
    """The tools by which phases ask and commit."""

    warehouse: Warehouse
    pruning: Pruning
    commit: Commit


@dataclass(frozen=True)
class Source:
    """The source of a chain that is to be written."""

    #: the core, without the files that cannot matter
    core: TypedCore
    #: SQL of the comparisons that follow from the core's window
    projection: str | None
    #: whether the chain may get so many rows that it is written in buckets
    is_large: bool
    #: the chains that are written again with the new rows
    joined: tuple[Chain, ...] = ()


@dataclass(frozen=True)
class Published:
    """The statements that bring the relations up to date that people read."""

    #: whether a table of the model's name must be dropped for the view
    gives_way: bool
    #: for the view, or for all views in another catalog
    view: Sequence[Statement]
    #: for `<model>__diffs`
    updates: Sequence[Statement] = ()
    #: for `<model>__late`
    late: Sequence[Statement] = ()
    #: for the SQL function of any instant
    function: Sequence[Statement] = ()


@dataclass(frozen=True)
class Progress:
    """All that a run has written and learnt so far. The keys of mappings are cores, but for `for_good`."""

    #: how many times the inputs were read
    attempts: int = 0
    #: whether reads are pinned to the states that were seen, because an input changed during an attempt
    is_pinned: bool = False
    #: the table of the files of the inputs
    manifest: str = ""
    #: the id of the run under which the statistics of the files are kept
    measured: str = ""
    #: the inputs that changed during the last attempt
    busy: Busy = field(default_factory=Busy)
    #: the tables that are dropped because of these changes
    to_drop: tuple[str, ...] = ()
    #: statements that an observation itself executed
    executed: tuple[Statement, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    #: the chains that were written
    written: Mapping[str, Chain] = field(default_factory=dict)
    #: the old chains that are merged with the written chains
    merged: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    #: the old chains whose rows were written again with the new rows
    joined: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    #: the chains that were written, with the number of their rows
    counted: Mapping[str, Chain] = field(default_factory=dict)
    #: how many of the stored rows never leave
    for_good: Mapping[str, int] = field(default_factory=dict)
    #: how many rows are new, where old rows were written with them
    added: Mapping[str, int] = field(default_factory=dict)
    #: for each part of a core, where its chain does not tell: updates that are not stored, windows that were over
    left_out: tuple[Sequence[Any], ...] = ()
    #: how many updates of the rows read are after the expiration; None when not counted
    beyond_expiration: int | None = None
    #: how many windows were over when their rows came
    late: int | None = None
    #: queries of the late rows, where they are kept
    missed: tuple[str, ...] = ()
    #: how many late rows there are, where they are kept
    missed_rows: int = 0
    #: the bytes of the chains that were written
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    sweep: Sweep | None = None
    prepared: Prepared | None = None
    published: Published | None = None

    @property
    def state(self) -> State | None:
        """The state of the commit, from the moment on at which the commit may be sent; None before."""
        return self.prepared.state if self.prepared else None

    @property
    def rows_written(self) -> int:
        """The number of stored intervals that were written. An interval stands for one update or two."""
        return sum(self.added.get(name, chain.rows) for name, chain in self.written.items())

    @property
    def bytes_written(self) -> int | None:
        """The size of the chains that were written; None where not known."""
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
    """A phase of a run: the questions, and the statements that follow from the answers."""

    name: str
    observe: Observe = nothing_to_ask
    statements: Statements = no_statements
    #: raises a better error for the error of a statement, where there is one
    refuse: Callable[[Tools, RunPlan, Exception], None] = no_refusal
