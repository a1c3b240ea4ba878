"""The start of a run: observed without the lock, and again under the lock where a rival may be in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ..engine.described_tables import forget_named
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from . import lock
from .begin import begin
from .plan import Definition, Invocation, Neighbours
from .writer import Writer


def start(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    neighbours: Neighbours,
    patience: int,
    taken: Callable[[str], None],
) -> Writer:
    """A run that is decided, under the model's lock where something is to be written.

    patience: how long to wait for another run (ms). taken: is told the id in the lock as soon as the lock is taken;
    from then on the caller gives the lock back, however the run ends (`lock.give_back_lock`).
    """

    def observed(around: Neighbours) -> Writer:
        return begin(warehouse, target, definition, invocation, around)

    # most scheduled runs find nothing new: they need no lock
    first: Writer | None = None
    # a rival may be in between, which commits and drops; what is still wrong under the lock is an error
    with suppress(Exception):
        first = observed(neighbours)
    if first is not None and first.plan.writes_nothing:
        return first
    if first is None:
        forget_named(warehouse, definition.sql)
    token, displaced = lock.take_lock(warehouse, target, invocation.engine_now, patience)
    taken(token)

    def anew() -> Writer:
        # what the host listed is older than the rival
        return observed(replace(neighbours, known=None))

    # a lock that was free may have been a rival's a moment ago: the commit asks before it is sent
    is_due = first is not None and (lock.was_free(token) or first.tools.commit.is_due())
    run = first if first is not None and is_due else anew()
    run.under_lock(token, displaced, anew)
    return run
