"""Random predicates over files of random rows: what statistics leave holds every row that the whole would give."""

from __future__ import annotations

import random
import re

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.inputs.observing import observe
from dbt.adapters.sparktemporal.pruning.audit import audit
from dbt.adapters.sparktemporal.pruning.files import FilePruner
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs.stores import store_of
from dbt.adapters.sparktemporal.temporal.predicates import clock_text
from dbt.adapters.sparktemporal.temporal.sql.spark import plans
from support.instants import T0
from support.parts import Idioms, More, parts
from support.project import Project
from support.seeds import SAMPLE, a_seed

#: ways to the rows: what stands between them and the window
SHAPES = (
    "select part, t from {s}.files where {predicate}",
    "select part, t from (select * from {s}.files where k is null or k <> 2) v where {predicate}",
    "with c as (select f.*, f.part as p from {s}.files f where part > 1) select c.p, c.t from c where {predicate}",
    "select part, t from {s}.seen where {predicate}",
    "select part, t, name from {s}.files join {s}.names on s = n where {predicate}",
    "select part, t from (select * from {s}.files where part < 5 union all select * from {s}.files where part > 7) u "
    "where {predicate}",
    "select k, count(*) as n from {s}.files where {predicate} group by k",
)
#: Spark has no SQLSTATE for all of its overflows
OVERFLOWS = "SQLSTATE: 22|ArithmeticException|DateTimeException"


def drive(project: Project, count: int, seed: int) -> tuple[int, int]:
    """Predicates -> how many files were left out of how many. Each is over 12 files of some rows."""
    rng, warehouse = random.Random(seed), Warehouse(project.rows)
    settings, version = warehouse.settings(), warehouse.version()
    rows = f"SELECT * FROM ({parts(rng, [T0])}) WHERE part < 12"
    frame = project.spark.sql(rows).localCheckpoint()
    frame.repartitionByRange(12, "part").write.saveAsTable(f"{project.schema}.files")
    project.sql(
        "CREATE TABLE {s}.names USING parquet AS SELECT CAST(n AS SMALLINT) AS n, 'x' AS name FROM range(4) r(n)"
    )
    project.sql("CREATE VIEW {s}.seen AS SELECT * FROM {s}.files")
    left_out = there = 0
    for number in range(count):
        predicate = rng.choice([More, Idioms, Idioms])(rng, True).predicate(rng.randrange(3))
        sql = rng.choice(SHAPES).format(s=project.schema, predicate=predicate.format(n="mz_now()", m="mz_now()"))
        first = T0 + rng.choice([0, 1, -(10**9), 10**9, 10**7])
        clock = Range(first, rng.choice([None, first, first + 10**6, first + 10**9]))
        try:
            model = understand(warehouse, sql, settings, version, first)
        except TemporalError:  # refused: a run would not come so far
            continue
        except Exception as error:  # nor where counting its rows leaves the calendar
            assert re.search(OVERFLOWS, str(error)), sql
            continue
        plan = plans.analyzed(warehouse.explain(clock_text.written_at(model.written, model.calls, f"{first}L")))
        seen = observe.observe(warehouse, plan)
        known = FilePruner.look(warehouse, model.cores, seen, settings, [], clock)
        known.collect(f"{project.schema}.stats_{number}", " USING parquet")
        for core in model.cores:
            for _, left, _ in known.left(core.name, clock).values():
                left_out, there = left_out + left.of_files - left.files, there + left.of_files
            narrowed = known.narrowed(core, clock)
            whole, less = (store_of(c).desired(c, first, clock.last) for c in (core, narrowed))
            wrong = f"{clock}: {sql}\n{known.summary(core.name, clock)}"
            try:
                missing = project.rows(f"({whole}\n) EXCEPT ALL (\n{less}\n)")
            except Exception:  # an instant that leaves the calendar: both must say so
                for query in (whole, less):
                    with pytest.raises(Exception, match=OVERFLOWS):
                        project.rows(query)
                continue
            assert missing == [], wrong
            assert project.rows(f"({less}\n) EXCEPT ALL (\n{whole}\n)") == [], wrong
            audit(known, core.name, clock, 1.0, str(number))
    return left_out, there


@pytest.mark.usefixtures("small_plans")
@pytest.mark.quick(1)
@pytest.mark.parametrize("count", [2, 8])
def test_what_statistics_leave(project: Project, count: int) -> None:
    left_out, there = drive(project, count, SAMPLE if count == 8 else a_seed())
    print(f"left out: {left_out} of {there} files")
    assert there > 0 or count < 8  # a few may all be refused


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(4))
def test_what_statistics_leave_for_long(project: Project, part: int) -> None:
    left_out, there = drive(project, 60, a_seed() + part)
    assert left_out > there / 10
