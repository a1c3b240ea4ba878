"""Start a run: observe without the lock, and again under the lock where a rival may have committed in between.

| the first observation | the run |
|---|---|
| finds nothing new | ends; it takes no lock |
| ends in a Refusal | ends with it, unless a relation is missing, or the session remembered other columns of a table |
| ends in another error while a rival has the lock | observes again under the lock: the rival may explain the error |
| ends in another error | observes again at once |
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from ..config import TemporalConfig
from ..engine.described_tables import forget_named
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal, TemporalError
from ..temporal.decision import Invocation
from ..temporal.sql.spark.errors import Cause, SparkError
from . import lock
from .plan import Definition, HostFacts
from .plan_run import begin
from .writer import Writer


def start(
    warehouse: Warehouse,
    target: ModelRelations,
    definition: Definition,
    invocation: Invocation,
    host_facts: HostFacts,
    taken: Callable[[str], None],
) -> Writer:
    """Observe and decide -> the Writer of the run. If the run will write, the run has the model's lock.

    taken: is called with the id in the lock when the lock is taken. From then on the caller must give back the lock,
    however the run ends (`lock.give_back_lock`).
    """
    started, patience = time.monotonic(), TemporalConfig.parse(target.model, definition.config).lock_timeout

    def anew() -> Writer:
        # the host's list may be older than a rival's commit, and the shared answers older than the last look
        warehouse.shared().forget()
        now = replace(invocation, engine_now=warehouse.clock())
        run = begin(warehouse, target, definition, now, replace(host_facts, known=None))
        run.plan = replace(run.plan, started=started)  # the first attempt and the wait are part of the run
        return run

    # most scheduled runs find nothing new: they need no lock
    first: Writer | None = None
    try:
        first = begin(warehouse, target, definition, invocation, host_facts)
    except (TemporalError, SparkError) as error:
        if not forget_named(warehouse, definition.sql) and _is_final(error):
            raise
    if first is None and not lock.is_taken(warehouse, target):
        first = anew()  # nobody else is at work: what is still wrong now is an error
    if first is not None and first.plan.writes_nothing:
        return first
    token, displaced = lock.take_lock(warehouse, target, patience)
    taken(token)
    # a rival may have had the lock a moment ago: the commit asks before it is sent
    is_due = first is not None and (lock.was_free(token) or first.tools.commit.is_due())
    run = first if first is not None and is_due else anew()
    run.under_lock(token, displaced, anew)
    return run


def _is_final(error: Exception) -> bool:
    """Whether an error is a Refusal, and not of a missing relation, which a rival may be about to create."""
    return isinstance(error, Refusal) and not Cause.NO_RELATION.is_said_by(error)
