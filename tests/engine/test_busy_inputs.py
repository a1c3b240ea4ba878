"""Inputs that are written all the time: a run reads what it saw of them, and the next run reads the rest."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.changing.input_reads import input_reads
from dbt.adapters.sparktemporal.inputs.observing.manifest import Manifest
from dbt.adapters.sparktemporal.run import write_chains
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.instants import STEP, T0
from support.project import Project

pytestmark = pytest.mark.landing

ROW = "id BIGINT, k INT, lo BIGINT, hi BIGINT"
#: model -> its query. {e} and {f} are inputs; {in_s} is the schema in front of a column, {as_e} a name in its place
MODELS = {
    "rows": "select id, k from {e} where {now} >= lo and {now} < hi",
    "pairs": "select a.id, b.id as other from {e} a join {e} b on a.k = b.k and a.id < b.id where {now} < a.hi "
    "and {now} >= b.lo",
    "both": "select e.id, f.id as other from {e} e join {f} f on e.k = f.k where {now} >= f.lo and {now} < e.hi",
    "named": "select {in_s}e.id, f.id as other from {e}{as_e} join {f} f on {in_s}e.k = f.k where {now} >= f.lo "
    "and {now} < {in_s}e.hi",
    "latest": "select id, k from (select k, max(id) as id, max(hi) as hi from {f} group by k) where {now} < hi",
    "unless": "select id from {e} where {now} < hi and k not in (select k from {f} where id % 7 = 0)",
    "counted": "select k, count(*) as n, sum(id) as total from {f} where {now} >= lo and {now} < hi group by k",
}
CONFIG = {"rows": {"pushdown": "statistics", "pushdown_columns": ["k"]}, "counted": {"change_capture": "full"}}


class Busy:
    """Two tables, one in a directory and one in partitions, that get a row whenever `write` is called."""

    def __init__(self, project: Project) -> None:
        self.project, self.written, self.rng = project, 0, random.Random(3)
        project.sql(f"CREATE TABLE {{s}}.e ({ROW}) USING parquet")
        project.sql(f"CREATE TABLE {{s}}.f ({ROW}, p INT) USING orc PARTITIONED BY (p)")
        for _ in range(3):
            self.write()

    def write(self) -> None:
        self.written += 1
        n, k, lo = self.written, self.rng.randrange(3), T0 + self.rng.randrange(-STEP, 3 * STEP)
        row = f"{n}L, {k}, {lo}L, {lo + self.rng.choice([STEP, 10 * STEP])}L"
        self.project.sql(f"INSERT INTO {{s}}.e VALUES ({row})")
        self.project.sql(f"INSERT INTO {{s}}.f VALUES ({row}, {n % 2})")


def run(project: Project, model: str, now: int, between: Callable[[], None]) -> str:
    """A run without dbt; something happens before each of its phases and statements -> how it read its inputs."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model)
    schema = f"{project.schema}."
    sql = MODELS[model].format(e=f"{schema}e", f=f"{schema}f", in_s=schema, as_e="", now="mz_now()")
    invocation = Invocation(now, now, warehouse.settings(), warehouse.version())
    current = begin(warehouse, target, Definition(sql, CONFIG.get(model, {})), invocation)
    between()
    for step in current.steps(project.spark.sql):
        if step.phase in ("remember", "write", "merge"):
            between()
    return " | ".join(one.line for one in input_reads(current.plan.capture))


def right(project: Project, model: str, now: int, every: bool = False) -> None:
    """The view is the query over the files that the commit names, or over every row."""
    state = project.state(model)
    manifest = Manifest.of(ModelRelations(f"`{project.schema}`", model), state.manifest, state.files)
    if not (every or manifest):  # a full read that nothing disturbed keeps no list
        assert CONFIG.get(model, {}).get("change_capture") == "full"
        return

    def seen(table: str, column: str) -> str:
        name = f"{project.schema}.{table}"
        if every:
            return name
        assert manifest is not None
        listed = f"SELECT file FROM ({manifest.listing(f'spark_catalog.{name}')})"
        return f"(SELECT * FROM {name} WHERE _metadata.{column} IN ({listed}))"

    e, f = seen("e", "file_name"), seen("f", "file_path")
    sql = MODELS[model].format(e=e, f=f, in_s="", as_e=" e", now=f"{now}L")
    found, oracle = project.rows(f"SELECT * FROM ({project.at(model, now)})"), project.rows(sql)
    assert sorted(found) == sorted(oracle), model


def drive(project: Project, models: list[str], count: int, monkeypatch: pytest.MonkeyPatch) -> Busy:
    monkeypatch.setattr(write_chains, "PAUSES", (0.0,) * 5)
    busy = Busy(project)
    for model in models:
        for number in range(count):
            run(project, model, T0 + number * STEP, busy.write)
            right(project, model, T0 + number * STEP)
    for model in models:
        run(project, model, T0 + count * STEP, lambda: None)
        right(project, model, T0 + count * STEP, every=True)
    return busy


@pytest.mark.first(2)
@pytest.mark.parametrize("model", ["both", "named", "rows", "latest"])
def test_rows_come_at_every_phase(project: Project, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drive(project, [model], 2, monkeypatch)


@pytest.mark.deep
def test_rows_come_at_every_phase_of_ten_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    drive(project, list(MODELS), 10, monkeypatch)


@pytest.mark.deep
def test_a_writer_beside_ten_runs(project: Project) -> None:
    """One that does not wait for the runs, every half a second."""
    busy, stop = Busy(project), threading.Event()

    def write() -> None:
        while not stop.wait(0.5):
            busy.write()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(10):
            for model in MODELS:
                run(project, model, T0 + number * STEP, lambda: None)
                right(project, model, T0 + number * STEP)
    finally:
        stop.set()
        writer.join()
    for model in MODELS:
        run(project, model, T0 + 10 * STEP, lambda: None)
        right(project, model, T0 + 10 * STEP, every=True)


def test_a_file_that_is_rewritten_each_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen is gone: nothing can be pinned, and after some attempts the run fails, leaving nothing behind."""
    monkeypatch.setattr(write_chains, "PAUSES", (0.0,) * 3)
    busy = Busy(project)
    before = sorted(project.rows("SHOW TABLES IN {s}"))
    with pytest.raises(TemporalError) as told:
        run(project, "rows", T0, lambda: project.sql(f"INSERT OVERWRITE {{s}}.e VALUES (1L, 1, 1L, {T0 + STEP}L)"))
    assert "found: inputs of rows that changed during each of 3 attempts to read them" in str(told.value)
    assert "why: what is stored must be of one state" in str(told.value) and "instead: dbt run" in str(told.value)
    assert sorted(project.rows("SHOW TABLES IN {s}")) == before and busy.written == 3
