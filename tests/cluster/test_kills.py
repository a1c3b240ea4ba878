"""Executors and workers are killed in the middle of a write. A run ends, or fails and the next one repairs.

Whatever is killed, a read is what Spark makes of the query as written, with the instant in place of mz_now().
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.executors import executors, kill
from support.instants import T0
from support.project import Project
from support.thrift_clients import alone, content, until

#: rows -> a chain of so many is one part, or has partitions and a shuffle before the write
SMALL, LARGE = 240_000, 1_200_000
#: a row takes some microseconds to read: no function of ours, and nothing that Spark can compute in advance
SLOW = "aggregate(sequence(1, {steps}), id, (a, x) -> pmod(a * 31 + x, 1000003)) >= 0"
WINDOW = "{now} >= timestamp_millis({t0}L + id % 5000) and {now} < timestamp_millis({t0}L + 100000 + id % 7000)"
#: what the windows of the rows begin, amid them, where they end, and after all
INSTANTS = (T0 + 10_000, T0 + 100_000, T0 + 103_000, T0 + 106_999)


def make(project: Project, number: int) -> None:
    """A model over a view that is slow, of 12 files."""
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT id, id % 97 AS v FROM range(0, {number}, 1, 12)")
    slow = SLOW.format(steps=8_000_000 // (number // 12))
    project.sql(f"CREATE VIEW {{s}}.slow AS SELECT id, v FROM {{s}}.events WHERE {slow}")
    project.model(
        "m",
        f"select id, v from {project.schema}.slow where {WINDOW.format(now='mz_now()', t0=T0)}",
        diffs_retention="0",
    )


def written(project: Project, t: int) -> str:
    """The query as written, over the rows without the slow predicate, which is true of each."""
    return f"SELECT id, v FROM {project.schema}.events WHERE {WINDOW.format(now=f'timestamp_millis({t}L)', t0=T0)}"


def assert_reads(project: Project, source: str = "", instants: tuple[int, ...] = INSTANTS) -> None:
    for t in instants:
        wanted = source or written(project, t)
        view = f"SELECT id, v FROM {project.at('m', t)}"
        asked = f"SELECT 1 AS x, * FROM ({view}) UNION ALL SELECT -1 AS x, * FROM ({wanted})"
        rows, wrong = project.rows(
            f"SELECT count_if(n > 0), count_if(s <> 0) FROM (SELECT sum(x) AS s, count_if(x > 0) AS n FROM ({asked}) "
            "GROUP BY id, v)"
        )[0]
        assert wrong == 0 and (rows > 0 or t == INSTANTS[-1]), (t, rows, wrong)


def run(project: Project, log: Path, now: int) -> subprocess.Popen:
    variables = json.dumps({"temporal_now": now})
    return alone("run", "--log-path", str(log), "--vars", variables, folder=project.path)


def writing(project: Project, home: Path, log: Path) -> Callable[[], list[Path]]:
    """Files that a run has begun to write into its chain, and no job has committed."""

    def found() -> list[Path]:
        chains = re.findall(r"CREATE TABLE `\w+`.`(m__diffs_\w+)`", content(log / "dbt.log"))
        folder = home / "warehouse" / f"{project.schema}.db"
        return [f for chain in chains for f in (folder / chain / "_temporary").rglob("*.parquet")]

    return found


def ended(client: subprocess.Popen) -> str:
    said, _ = client.communicate(timeout=400)
    return said


def left_over(project: Project, home: Path) -> tuple[set[str], list[Path]]:
    """-> the relations that the state does not know, and the files of writes that did not end."""
    state = project.state()
    retired = {table for table, _ in state.retired}  # what a run merged away at once, which the next one drops
    named = {"events", "slow", "m", "m__live", "m__diffs", *state.tables, *retired}
    folder = home / "warehouse" / f"{project.schema}.db"
    return project.relations() - named, [f for f in folder.rglob("_temporary/**/*") if f.is_file()]


@pytest.mark.parametrize("number", [SMALL, LARGE])
def test_an_executor_is_killed(project: Project, cluster: Any, tmp_path: Path, number: int) -> None:
    """In a first run, and in a run of new rows: Spark does the lost tasks again, and the run does not notice."""
    make(project, number)
    for n in range(2):
        log, now = tmp_path / f"log{n}", T0 + n * 1000
        until(lambda: cluster.cores_used == 2)
        client = run(project, log, now)
        try:
            until(writing(project, cluster.home, log))
            victim = executors(cluster.workers)[0]
            kill(victim)
            assert client.poll() is None and f"ALTER VIEW `{project.schema}`.`m__live`" not in content(log / "dbt.log")
        finally:
            said = ended(client)
        assert client.returncode == 0, said
        until(lambda: len(executors(cluster.workers)) == 2)  # the master counts one before its process is there
        assert victim not in executors(cluster.workers)
        assert_reads(project)
        assert left_over(project, cluster.home) == (set(), [])
        project.sql(f"INSERT INTO {{s}}.events SELECT id, id % 89 FROM range({number}, {number + number // 2}, 1, 6)")


def test_a_worker_is_killed(project: Project, cluster: Any, tmp_path: Path) -> None:
    """A machine with its executor is gone: the other one does the work. A reader has the old answer meanwhile."""
    make(project, SMALL)
    project.run(now=T0)
    project.sql("CREATE TABLE {s}.before USING parquet AS SELECT * FROM {s}.events")
    project.sql(f"INSERT INTO {{s}}.events SELECT id, id % 89 FROM range({SMALL}, {2 * SMALL}, 1, 12)")
    log = tmp_path / "log"
    until(lambda: cluster.cores_used == 2)
    client = run(project, log, T0 + 1000)
    try:
        until(writing(project, cluster.home, log))
        worker = cluster.workers[-1]
        (its_executor,) = executors([worker])
        kill(worker.pid)
        worker.wait(20)
        assert client.poll() is None
        old = written(project, INSTANTS[0]).replace(".events", ".before")
        assert_reads(project, old, INSTANTS[:1])
        until(lambda: cluster.alive() == 1 and cluster.cores_used == 1)
    finally:
        said = ended(client)
        cluster.workers.remove(worker)
        cluster.add_worker()
    assert client.returncode == 0, said
    project.sql("DROP TABLE {s}.before")
    assert its_executor not in executors([worker])
    assert_reads(project)
    assert left_over(project, cluster.home) == (set(), [])
    until(lambda: cluster.cores_used == 2)  # the driver takes the new worker


def test_spark_gives_up(project: Project, cluster: Any, tmp_path: Path) -> None:
    """Executors are killed until a task failed four times: the run fails in few words, and the next one repairs."""
    make(project, SMALL)
    project.run(now=T0)
    project.sql("CREATE TABLE {s}.before USING parquet AS SELECT * FROM {s}.events")
    project.sql(f"INSERT INTO {{s}}.events SELECT id, id % 89 FROM range({SMALL}, {2 * SMALL}, 1, 12)")
    log, killed = tmp_path / "log", 0
    first = project.state()
    client = run(project, log, T0 + 1000)
    try:
        seen: set[Path] = set()
        deadline = time.monotonic() + 200
        while client.poll() is None and time.monotonic() < deadline:
            new = set(writing(project, cluster.home, log)()) - seen
            for pid in executors(cluster.workers) if new else ():  # an attempt has begun: it fails, and is counted
                kill(pid)
                killed += 1
            seen |= new
            time.sleep(0.2)
    finally:
        said = ended(client)
    assert client.returncode == 1 and killed > 2, said
    assert "Job aborted due to stage failure" in said or "Task failed" in said or "ExecutorLostFailure" in said, said
    for word in ("\tat ", "Exception:", "TGetOperationStatusResp"):
        assert word not in said, said
    assert project.state() == first
    old = written(project, INSTANTS[0]).replace(".events", ".before")
    assert_reads(project, old, INSTANTS[:1])
    project.sql("DROP TABLE {s}.before")

    assert "OK advanced" in project.run(now=T0 + 2000).of("m").message
    assert_reads(project)
    assert left_over(project, cluster.home) == (set(), [])
