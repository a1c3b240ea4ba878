"""Records of what a run has read, counted and written; each is complete when its phase ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.warehouse import Warehouse
from ..pruning.pruning import Pruning
from ..temporal.decision import Statement
from ..temporal.diffs.state import Chain, State
from ..temporal.diffs.stores import CountedChain
from ..temporal.rewrite.core import TypedCore
from .commit import Commit
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
class Reading:
    """One read of the inputs."""

    #: core -> the source of its chain
    sources: Mapping[str, Source]
    #: queries of the late rows, where they are kept
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Counts:
    """What was counted of a read. The keys of mappings are cores."""

    #: the chains that were written, except those in buckets
    found: Mapping[str, CountedChain]
    #: how many rows are new, where old rows were written with them
    added: Mapping[str, int]
    #: the answers to `counting.not_stored`, three counts for each part of a core; empty where the run has not asked
    left_out: Sequence[Sequence[Any]]
    #: how many late rows there are; None where the run looked for none
    missed: int | None
    #: the bytes of the chains that were written, where their format lists its files
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Written:
    """All that a run has written when its reads are over. The keys of mappings are cores."""

    #: the table of the files of the inputs; "" for none
    manifest: str = ""
    #: the new chains that have new rows
    chains: Mapping[str, Chain] = field(default_factory=dict)
    #: the chains that become one, the new one among them
    merged: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    #: the old chains whose rows were written again with the new rows
    joined: Mapping[str, tuple[Chain, ...]] = field(default_factory=dict)
    #: how many rows are new, where old rows were written with them
    added: Mapping[str, int] = field(default_factory=dict)
    #: the bytes of the chains that were written
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    #: how many updates of the rows read are after the expiration; None when not counted
    beyond_expiration: int | None = None
    #: how many windows were over when their rows came; None when not counted
    late: int | None = None
    #: how many late rows are in a table of this run; None for no table
    missed: int | None = None

    @property
    def rows(self) -> int:
        """The number of new intervals, or updates of groups, in the chains that were written."""
        return sum(self.added.get(name, chain.rows) for name, chain in self.chains.items())

    @property
    def bytes(self) -> int | None:
        """The size of the chains that were written; None where not known."""
        known = [size for size in self.sizes.values() if size is not None]
        return sum(known) if len(known) == len(self.sizes) else None


@dataclass
class Progress:
    """A run under way: the plan, which a second read of the inputs replaces, and how far the run is."""

    tools: Tools
    plan: RunPlan
    written: Written = field(default_factory=Written)
    #: the state that the run commits; None until the commit may be sent
    prepared: State | None = None
    #: the statements so far
    sent: list[Statement] = field(default_factory=list)
