"""Other runs of a model, and what they leave."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

from dbt.adapters.sparktemporal.engine.committed import read_state
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run import lock as locks
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.instants import T0
from support.project import Project


def take_over(project: Project, now: int, model: str = "m", sql: str = "") -> Any:
    """A whole run by another hand, to whom the owner of the lock is dead. sql: of a model that nobody ran yet."""
    warehouse, target = Warehouse(project.rows), project.target(model)
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


def rival_run(project: Project, now: int) -> None:
    """A whole run by another hand, which has not asked for the lock."""
    warehouse, target = Warehouse(project.rows), project.target()
    old = project.state()
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version())
    list(begin(warehouse, target, Definition(old.written), invocation).steps(project.spark.sql))


def reader_beside(written: Project, runs: int) -> None:
    """A reader in a session of its own never sees an error, a missing view or half a run."""
    written.run(now=T0)
    session = written.spark.newSession()
    stop, seen, errors = threading.Event(), [], []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.append(session.sql(f"SELECT count(*), max(id) FROM {written.schema}.m").collect()[0])
            except Exception as error:  # every error counts
                errors.append(str(error)[:500])
            time.sleep(0.4)  # two cores are shared with the runs

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(runs):
        written.sql(f"INSERT INTO {{s}}.events VALUES ({10 + n})")
        # the same statements, most of them without what dbt does around them
        (written.run if n % 6 == 0 else partial(rival_run, written))(now=T0 + 1000 * (n + 1))
    stop.set()
    reader.join()
    assert errors == [] and len(seen) > runs
    assert all(rows == top + 1 for rows, top in seen)
    assert [r[0] for r in seen] == sorted(r[0] for r in seen) and written.count() == 10 + runs
