"""Other runs of a model, and what they leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.committed import read_state
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.project import Project


def take_over(project: Project, now: int, model: str = "m", sql: str = "") -> Any:
    """A whole run by another hand, to whom the owner of the lock is dead. sql: of a model that nobody ran yet."""
    warehouse, target = Warehouse(project.rows), project.target(model)
    # the owner pauses for so long that it is not sure of its lock any more
    held, locks._held = dict.fromkeys(locks._held), {}
    try:
        token, displaced = locks.take_lock(warehouse, target, 0)
        old = read_state(warehouse, target)
        settings = warehouse.settings()
        invocation = Invocation(now, now, settings, warehouse.version(), project="proj")
        run = begin(warehouse, target, Definition(sql or old.written), invocation)
        run.under_lock(token, displaced)
        list(run.steps(project.spark.sql))
        locks.give_back_lock(warehouse, target, token)
    finally:
        locks._held = held
    return run


def lock(project: Project, owner: str, at: int) -> None:
    project.sql(
        f"CREATE TABLE {{s}}.m__lock (mz_owner STRING) USING parquet "
        f"TBLPROPERTIES ('mz_owner' = '{owner}', 'mz_at' = '{at}', 'mz_run' = 'x')"
    )


def rival_run(project: Project, now: int) -> None:
    """A whole run by another hand, which has not asked for the lock."""
    warehouse, target = Warehouse(project.rows), project.target()
    old = project.state()
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version())
    list(begin(warehouse, target, Definition(old.written), invocation).steps(project.spark.sql))


@contextmanager
def before_statement(
    monkeypatch: pytest.MonkeyPatch, words: str, act: Callable[[], Any], always: bool = False
) -> Iterator[None]:
    """Right before the first statement of dbt that holds these words, or before each. always: or before none."""
    original, done = SparkTemporalConnectionManager.add_query, 0

    def patched(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        nonlocal done
        if re.search(words, " ".join(sql.split())) and (always or not done):
            done += 1
            act()
        return original(self, sql, *args, **kwargs)

    with monkeypatch.context() as context:
        context.setattr(SparkTemporalConnectionManager, "add_query", patched)
        yield
    assert done or always, f"no statement with {words}"
