"""Many runs of three models over inputs that change, with faults: nothing is lost, and nothing is left over.

    rows     the rows of a window           groups   an aggregate over it           above    a temporal view over rows

Between two runs something happens to the input, and to the run one of FAULTS; a run after it always succeeds, and the
views are what the query says.
"""

from __future__ import annotations

import random
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.inputs.changing import capture
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, groups_sql
from support.instants import STEP, T0
from support.project import Project
from support.rivals import take_over
from support.seeds import a_seed

pytestmark = [pytest.mark.landing, pytest.mark.own_catalog, pytest.mark.metastore]

WINDOW = "select id, k, v, hi from {s}.events where {now} >= lo and {now} < hi"
MODELS = {
    "rows": WINDOW,
    "groups": "select k, count(*) as n, sum(v) as total, max(v) as top from {s}.events "
    "where {now} >= lo and {now} < hi group by k",
    "above": "select id, v from {rows} where {now} >= hi - interval 15 seconds",
}
CONFIG: dict[str, Any] = {"expiration": "150 seconds", "aggregates": "groups"}
#: rebuilds of the aggregate leave files out by their statistics, and look into some of those
CONFIGS = {"groups": {**CONFIG, "pushdown": "statistics", "pushdown_audit": 0.5}}
FAULTS = ("none", "none", "gone", "gone", "disk full", "rival", "restart", "expired")


def rows(rng: random.Random, count: int, now: int) -> str:
    listed = []
    for _ in range(count):
        lo = now + rng.randrange(-6 * STEP, 6 * STEP)
        hi = lo + rng.choice([1, 5_000, 30_000, 10**7])
        k = rng.choice(["1", "2", "3", "NULL"])
        listed.append(f"({rng.randrange(50)}, {k}, {rng.randrange(5)}, {lo}L, {hi}L)")
    return (
        "SELECT CAST(id AS INT) AS id, CAST(k AS INT) AS k, CAST(v AS INT) AS v, timestamp_millis(lo) AS lo, "
        f"timestamp_millis(hi) AS hi FROM VALUES {', '.join(listed)} AS f(id, k, v, lo, hi)"
    )


def change_input(project: Project, rng: random.Random, now: int) -> None:
    name = f"{project.schema}.events"
    kind = rng.choice(["stays", "grows", "grows", "grows", "shrinks", "is rewritten"])
    if kind == "grows":
        project.spark.sql(f"INSERT INTO {name} {rows(rng, rng.randrange(1, 20), now)}")
    elif kind == "shrinks":
        kept = project.spark.table(name).where(f"id % 7 <> {rng.randrange(7)}").collect()
        project.spark.createDataFrame(kept, project.spark.table(name).schema).createOrReplaceTempView("mz_test_kept")
        project.spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM mz_test_kept")
    elif kind == "is rewritten":
        project.spark.sql(f"INSERT OVERWRITE {name} {rows(rng, rng.randrange(1, 60), now)}")


def statement_that(project: Project, rng: random.Random, act: Callable[[str], None]) -> Any:
    """add_query that does something at one of the statements that change anything."""
    original, left = SparkTemporalConnectionManager.add_query, [rng.randrange(1, 12)]

    def patched(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        text = sql.split("*/", 1)[-1] if sql.lstrip().startswith("/*") else sql
        if text.split()[0] in ("CREATE", "ALTER", "DROP"):
            left[0] -= 1
            if left[0] <= 0:
                act(text)
        return original(self, sql, *args, **kwargs)

    return patched


def gone(_: str) -> None:
    raise RuntimeError("the process is gone")


def faulty_run(project: Project, fault: str, rng: random.Random, now: int, patch: pytest.MonkeyPatch) -> None:
    """A run to which something happens: what it leaves is for the next one to find."""
    pid = int(project.spark._jvm.java.lang.ProcessHandle.current().pid())
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    once: list[int] = []

    def disk_full(_: str) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, limits[1]))

    def rival(_: str) -> None:
        if not once:
            once.append(1)
            if project.committed("rows") is not None:
                take_over(project, now, "rows")

    if fault == "restart":
        project.run("--full-refresh", "-s", rng.choice(sorted(MODELS)), now=now, check=False)
        return
    acts = {"gone": gone, "disk full": disk_full, "rival": rival}
    if fault not in acts:
        return
    with patch.context() as context:
        context.setattr(SparkTemporalConnectionManager, "add_query", statement_that(project, rng, acts[fault]))
        try:
            project.run(now=now, check=False)
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def check(project: Project, rng: random.Random, instants: int, where: object) -> None:
    for name in MODELS:
        warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name)
        state = project.state(name)
        last = state.expiration if state.expiration is not None else state.frontier + 20 * STEP
        chosen = {state.frontier, last, *(rng.randint(state.frontier, last) for _ in range(instants - 2))}
        sides = []
        for t in chosen:
            sides.append(f"SELECT {t}L AS t, 1 AS x, * FROM {as_of(warehouse, target, t)}")
            sides.append(f"SELECT {t}L AS t, -1 AS x, * FROM ({oracle(project, name, t)})")
        names = ", ".join(project.spark.table(f"{project.schema}.{name}").columns)
        found = project.rows(
            f"SELECT t, sum(x), {names} FROM ({' UNION ALL '.join(sides)}) GROUP BY t, {names} HAVING sum(x) <> 0"
        )
        assert found == [], (name, where, found[:10])


def oracle(project: Project, name: str, t: int) -> str:
    now = f"timestamp_millis({t}L)"
    inner = f"({WINDOW.format(s=project.schema, now=now)})"
    return MODELS[name].format(s=project.schema, now=now, rows=inner)


def soak(project: Project, runs: int, seed: int, patch: pytest.MonkeyPatch) -> set[str]:
    patch.setattr(chains, "SMALL_CHAIN", 40)
    patch.setattr(capture, "BYTES_OF_ROW", 1000)  # files of a few rows
    patch.setattr(chains, "LARGE_CHAIN", 80)
    patch.setattr(groups_sql, "FEW_UPDATES", 10)
    patch.setattr(buckets, "GRANULARITY", 1 << 12)
    rng, now, met = random.Random(seed), T0, set()
    project.spark.sql(f"CREATE TABLE {project.schema}.events USING parquet AS {rows(rng, 30, now)}")
    written = {n: sql.format(s=project.schema, now="mz_now()", rows="{{ ref('rows') }}") for n, sql in MODELS.items()}
    for name, sql in written.items():
        project.model(name, sql, diffs_retention="30 seconds", **CONFIGS.get(name, CONFIG))
    for run in range(runs):
        fault = rng.choice(FAULTS)
        met.add(fault)
        now += STEP * (20 if fault == "expired" else 1)
        change_input(project, rng, now)
        faulty_run(project, fault, rng, now, patch)
        if rng.random() < 0.3:
            change_input(project, rng, now)
        project.run(now=now + rng.randrange(STEP))
        if run % 20 == 19:
            check(project, rng, 20, (seed, run, fault))
    # the end: nothing is kept for slow readers, nothing counts as still being written
    patch.setattr(chains, "LONGEST_RUN_MS", -1)
    for name, sql in written.items():
        project.model(name, sql, diffs_retention="0", **CONFIGS.get(name, CONFIG))
    # the lock of a dead run goes when another run writes, what a restart replaced when its readers have followed
    now += STEP
    lasting = f"(1, 1, 1, timestamp_millis({now}L), timestamp_millis({now + 10**7}L))"
    project.spark.sql(f"INSERT INTO {project.schema}.events VALUES {lasting}")
    quiet = False
    for n in range(1, 7):
        ran = project.run(now=now + n * STEP)
        quiet = n > 2 and all("unchanged" in ran.of(name).message for name in MODELS)
        if quiet:
            break
    assert quiet
    check(project, rng, 20, (seed, "end"))
    return met


def left_over(project: Project) -> tuple[set[str], set[str]]:
    """-> the tables, and the folders on disk with files in them, that no state names.

    Of a CREATE TABLE that failed Spark leaves an empty folder, which no statement can remove.
    """
    named = {"events"}
    for name in MODELS:
        state = project.state(name)
        named |= {name, f"{name}__live", f"{name}__diffs", *state.tables}
    tables = {name for _, name, temporary in project.rows("SHOW TABLES IN {s}") if not temporary}
    location = next(r[1] for r in project.rows("DESCRIBE DATABASE {s}") if r[0] == "Location")
    files = (file for file in Path(location.removeprefix("file:")).rglob("*") if file.is_file())
    folders = {file.relative_to(location.removeprefix("file:")).parts[0] for file in files}
    return tables - named, folders - named


@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 20])
def test_twenty_runs(project: Project, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    seed = a_seed()
    met = soak(project, runs, seed, monkeypatch)
    assert len(met) > (2 if runs > 2 else 0) and left_over(project) == (set(), set())


@pytest.mark.deep
def test_two_hundred_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = a_seed()
    met = soak(project, 200, seed, monkeypatch)
    assert met == set(FAULTS) and left_over(project) == (set(), set())
