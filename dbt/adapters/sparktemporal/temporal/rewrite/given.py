"""The facts of a model and its session that the rules of a split need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..predicates.comparisons import Moves
from ..predicates.monotonicity import Unlistable
from ..sql.names.scope import Describe
from .kept import Kept


@dataclass(frozen=True)
class Given:
    """The facts beside the tree of a model. `split.split` describes the fields."""

    #: gives the columns of tables
    describe: Describe
    moves: Moves
    by_rows: Mapping[int, Kept]
    ansi: bool
    after_1970: bool
    unlisted: Mapping[int, Unlistable]
    copies: bool

    @property
    def not_kept(self) -> frozenset[int]:
        """Offsets of calls of mz_now() around which nothing is kept per group."""
        return frozenset({*self.by_rows, *self.unlisted})
