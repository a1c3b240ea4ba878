"""Build the state whose view has the longest text that a run of the model may have to commit.

In this state every chain has corrections, as after updates of all inputs. There are as many chains as possible, and no
two chains of intervals are read by the same condition. The model has an expiration, if it may have one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..clock.schedule import Refreshes
from ..rewrite.core import TypedCore
from . import chains as chain_rules
from .groups_sql import FEW_UPDATES
from .intervals_sql import Columns
from .state import Chain, CoreState, State

_LATE = 99_999_999_999_999
_RUN = "f" * 24
#: (max_from, max_until, bucketed) of chains of intervals: these fields decide the conditions of a read
_READ = (
    (None, None, True), (None, None, False), (_LATE, None, True), (0, 0, True), (_LATE, None, False), (0, 0, False),
)  # fmt: skip


def worst(
    model: str,
    schema: str,
    columns: Columns,
    cores: Sequence[TypedCore],
    residual: str,
    expiration: int | None,
    refreshes: Refreshes | None,
) -> State:
    """The state whose view has the longest text. schema: as SQL names it. residual: SQL over the placeholders."""
    return State(
        model=model,
        schema=schema,
        run=_RUN,
        since=0,
        frontier=_LATE - 1,
        started_at=_LATE,
        offset=None,
        expiration=None if expiration is None else _LATE,
        core_hash="",
        residual=residual,
        columns=tuple(columns),
        cores=tuple(CoreState(c.name, c.stored, _chains(model, c), c.sums) for c in cores),
        written="",
        kinds=(),
        inputs={},
        settings={},
        project="p" * 64,
        refreshes=refreshes,
        state_table=chain_rules.state_name(model, _RUN),
    )


def _chains(model: str, core: TypedCore) -> tuple[Chain, ...]:
    name = chain_rules.chain_name(model, _RUN, core.name)
    most = chain_rules.CHAIN_CAP if core.sums is None else chain_rules.MOST_CHAINS
    kinds = [_READ[i % len(_READ)] for i in range(most)]
    if core.sums is None:
        return tuple(Chain(name, 1, 1, 0, last, end, bucketed) for last, end, bucketed in kinds)
    parts = ((0, 1), (_LATE, FEW_UPDATES + 1))
    return tuple(Chain(name, 1, 1, 0, 0, None, b, parts, after=_LATE, first=_LATE) for _, _, b in kinds)
