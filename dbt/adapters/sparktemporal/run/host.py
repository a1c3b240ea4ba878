"""The interface to a host, which runs models: dbt's adapter, another adapter, a notebook.

dbt's adapter drives the same pieces from its macros, because dbt wants to see each statement before it is sent
(`impl`, `connections`, `contracts` and, in `looking/`, `read_macros`, `run_operations` and `tables` import dbt). A host
that has no macros calls `run_model` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..temporal.clock.instants import parse_instant
from ..temporal.decision import Invocation
from ..temporal.sql.spark.errors import SparkError
from . import lock, report
from .plan import Definition, HostFacts
from .under_lock import start


class Host(Protocol):
    """A host of temporal views.

    Errors of `rows` may be of any class: their texts are Spark's words, by which the package tells them apart.
    """

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute one statement -> its rows, as plain values. The session stays the same for a whole run."""

    def relations(self, model: str) -> ModelRelations:
        """The names of a model's relations: the schema quoted, the name of the model plain."""

    def config(self, model: str) -> Mapping[str, Any]:
        """The configs of a model, as docs/reference/configs.md lists them; {} for none."""

    def facts(self, model: str) -> HostFacts:
        """The temporal views around a model, and what is known of its inputs; `HostFacts()` if nothing is known."""

    def say(self, line: str) -> None:
        """Write a line to the log."""


def run_model(
    host: Host, model: str, sql: str, as_of: Any = None, full_refresh: bool = False, project: str = ""
) -> dict[str, Any]:
    """Run a model once -> the facts of the run, as in run_results.json (`run.report`).

    sql: the query with mz_now(). as_of: the instant of the run, as text or ms; None for the engine's clock.
    project: the project that the model belongs to; no project drops the tables of another project.
    Raises TemporalError and SparkError. A run that fails before its commit drops its tables; the lock is given back.
    """
    warehouse, target, config = Warehouse(host.rows), host.relations(model), host.config(model)
    clock = warehouse.clock()
    invocation = Invocation(
        as_of=clock if as_of is None else parse_instant(as_of, "as_of"),
        pinned=as_of is not None,
        engine_now=clock,
        settings=warehouse.settings(),
        version=warehouse.version(),
        full_refresh=full_refresh,
        project=project,
    )
    held: list[str] = []
    run = None
    try:
        run = start(warehouse, target, Definition(sql, config), invocation, host.facts(model), held.append)
        for _ in run.steps(host.rows):
            pass
    except BaseException:
        with suppress(TemporalError, SparkError):  # people should read the first error
            if run is not None:
                run.abandon()
        for token in held:
            lock.give_back_after_failure(warehouse, target, token)
        raise
    for token in held:
        lock.give_back_lock(warehouse, target, token, run.is_committed)
    for line in [*report.summary(run), *report.warnings(run)]:
        host.say(line)
    return report.report(run)
