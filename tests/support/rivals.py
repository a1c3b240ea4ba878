"""Other runs of a model, and what they leave."""

from __future__ import annotations

import time
from typing import Any

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse, read_state
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.run.begin import begin
from dbt.adapters.sparktemporal.run.plan import Definition, Invocation
from support.project import Project


def take_over(project: Project, now: int, model: str = "m", sql: str = "") -> Any:
    """A whole run by another hand, to whom the owner of the lock is dead. sql: of a model that nobody ran yet."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model)
    held, locks._held = locks._held, set()
    try:
        token, displaced = locks.take_lock(warehouse, target, int(time.time() * 1000))
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
