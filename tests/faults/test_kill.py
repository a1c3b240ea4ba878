"""kill -9 of a run at each of its statements: the old answer stays readable, and the next run repairs.

Real processes and an on-disk metastore, one after the other: each reads what the killed one left, repairs it with a
run, takes one more input row, and is killed one statement later than the one before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from support.instants import T0
from support.linearizable import History, Outcome
from support.named_catalogs import NAMED, PLAIN, TABLES_ALONE, conf_of
from support.remote_session import CONNECT, serving
from support.session import COLD, JVM, SPARK_CONF

WORKER = Path(__file__).parent / "worker.py"
#: of the first input, as the worker reports it: the number of its rows, the sum of their ids, how many values they have
FIRST = [10, 45, 1]


class Places(NamedTuple):
    """Where processes write: a folder, and the catalog of the tests with its settings, or the server of all of them."""

    folder: Path
    catalog: str
    named: dict[str, str]
    server: str = ""


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Places]:
    catalog = request.config.getoption("--catalog")
    (tmp_path / "kept").mkdir()
    if catalog == CONNECT:
        with serving(tmp_path / "kept", f"{JVM} {COLD}", {**SPARK_CONF, "spark.driver.memory": "1g"}) as address:
            yield Places(tmp_path, catalog, {}, address)
        return
    with conf_of(catalog, tmp_path / "kept") if catalog in NAMED else nullcontext({}) as named:
        yield Places(tmp_path, catalog, named)


def write_project(places: Places) -> None:
    folder, catalog, named = places.folder, places.catalog, places.named
    (folder / "models").mkdir(parents=True)
    parameters = {
        **SPARK_CONF,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{JVM} {COLD}",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder / 'metastore'};create=true",
        **named,
    }
    dev = {"type": "sparktemporal", "method": "session", "host": "local", "schema": "faults", "threads": 1}
    if named:
        dev["catalog"] = catalog
    if catalog in TABLES_ALONE:
        dev["views_in"] = "none"
    if places.server:
        parameters = {"spark.sql.session.timeZone": "UTC"}
    outputs = {"dev": {**dev, "server_side_parameters": parameters}}
    (folder / "profiles.yml").write_text(json.dumps({"proj": {"target": "dev", "outputs": outputs}}))
    (folder / "dbt_project.yml").write_text(
        'name: proj\nversion: "1.0"\nprofile: proj\nflags: {send_anonymous_usage_stats: false}\n'
        "on-run-start:\n  - create database if not exists faults\n"
        "  - create table if not exists faults.events using parquet as select id, 'a' as v from range(10)\n"
    )
    # the retention is off, so that the drops of clean-up are among the statements
    (folder / "models" / "m.sql").write_text(
        "{{ config(materialized='temporal_view', diffs_retention='0', expiration='20000 days') }}\n"
        f"select id, v from faults.events where mz_now() >= timestamp_millis({T0}L + id)"
    )


def link(places: Places, step: int, statement: int) -> tuple[int, dict, str | None]:
    """Run one process -> the instant of its repair, its report, and where it was killed (None when the run ended)."""
    folder, environment = places.folder, {**os.environ, **({"SPARK_REMOTE": places.server} if places.server else {})}
    report = folder / f"report_{step}.json"
    now = T0 + 1_000_000 + step * 100_000
    command = [sys.executable, str(WORKER), str(folder), str(now), str(now + 50_000), str(statement), str(report)]
    settings = {"start_new_session": True, "capture_output": True, "text": True, "timeout": 900, "env": environment}
    done = subprocess.run(command, cwd=folder, **settings)
    assert report.exists(), done.stdout[-2000:] + done.stderr[-3000:]
    killed = Path(f"{report}.killed")
    assert killed.exists() == (done.returncode == -9), done.stderr[-3000:]
    return now, json.loads(report.read_text()), killed.read_text() if killed.exists() else None


@pytest.mark.landing
@pytest.mark.metastore
def test_killed_while_writing_and_at_the_commit(places: Places) -> None:
    """A slice of the test below: on-run-start has two statements, then come lock, chain and commit."""
    killed_at = chain_of_kills(places, [4, 5, 0])
    verb = "CREATE OR REPLACE VIEW" if places.named and places.catalog != PLAIN else "ALTER VIEW"
    verb = "UPDATE" if places.catalog in TABLES_ALONE else verb
    assert killed_at[-1].startswith(f"{verb} `faults`.`m__live`")
    assert "m__diffs_" in killed_at[0]


@pytest.mark.deep
def test_killed_at_each_statement(places: Places) -> None:
    killed_at = chain_of_kills(places, range(3, 40))
    said = " | ".join(killed_at)
    for statement in ("m__lock`", "m__diffs_", " VIEW `faults`.`m__live`", " VIEW `faults`.`m__diffs`"):
        assert statement in said, said


def chain_of_kills(places: Places, statements: Iterable[int]) -> list[str]:
    """One process a statement; ends with the first that is not killed."""
    write_project(places)
    history, inputs, killed_at = History(), [FIRST], []
    for step, statement in enumerate(statements):
        now, found, killed = link(places, step, statement)
        assert found["repaired"], found
        if killed_at:
            history.read(partial(found.get, "before"))
        with history.run(now):
            pass
        history.read(partial(found.get, "after"))
        with history.change():
            inputs.append(found["input"])
        if killed is None:
            break
        killed_at.append(killed)
        has_committed = any(word in killed for word in ("m__diffs` AS", "DROP"))
        with history.run(now + 50_000, Outcome.DONE if has_committed else Outcome.NEVER):
            pass
    said = history.unexplained(lambda commit, read: inputs[commit.version])
    assert not said, (killed_at, said)
    assert killed is None, "the statements had no end"
    # given back, whoever held it: a run with something to write takes over the lock of a process that is gone
    assert "m__lock" not in found["tables"]
    return killed_at
