"""Feeds of random histories: whatever happens to the model and to a run, what a feed has taken adds up to the model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from dbt.adapters.sparktemporal.connections import SparkTemporalConnectionManager
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.changes import Request
from dbt.adapters.sparktemporal.over_time.feed import feed
from dbt.adapters.sparktemporal.temporal.sql.spark.identity import identity
from support.histories import change, event, fill, load_events
from support.instants import STEP, T0
from support.project import Project

WINDOW = "mz_now() >= lo and (mz_now() < hi or hi is null)"
#: model -> its text, and one with another query above the same stored rows
MODELS = {
    "windowed": (
        f"select h, id, k, v, price from {{e}} where {WINDOW}",
        f"with w as (select h, id, k, v, price from {{e}} where {WINDOW}) select h, id, k, v + 1 as v, price from w",
    ),
    "grouped": (
        f"select h, k, count(*) as n, sum(v) as total from {{e}} where {WINDOW} group by h, k",
        f"select h, k, count(*) as n, sum(v) + 1 as total from {{e}} where {WINDOW} group by h, k",
    ),
    "smallest": (
        f"with w as (select h, v from {{e}} where {WINDOW}) select h, min(v) as least from w group by h",
        f"with w as (select h, v from {{e}} where {WINDOW}) select h, max(v) as least from w group by h",
    ),
}


@dataclass(frozen=True)
class Feed:
    """arguments: of `temporal_feed`. config: of the incremental model. is_torn: a killed write may leave some rows."""

    name: str
    model: str
    arguments: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    is_torn: bool = False


def drive(
    project: Project, monkeypatch: pytest.MonkeyPatch, runs: int, seed: int, feeds: Sequence[Feed], **config: Any
) -> list[str]:
    """-> what happened. config: of the models."""
    rng, told, now = random.Random(seed), [], T0
    models = list(dict.fromkeys(f.model for f in feeds))
    for name in models:
        _write(project, name, 0, config)
    for f in feeds:
        given = "".join(f", {k}={v!r}" for k, v in f.arguments.items())
        sql = f"select * from {{{{ temporal_feed(ref('{f.model}'){given}) }}}}"
        project.model(f.name, sql, materialized="incremental", **f.config)
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(8)}
    for run in range(runs):
        if run and rng.random() < 0.7:
            rows = {h: change(rng, list_, h) if rng.random() < 0.6 else list_ for h, list_ in rows.items()}
        if run == 0 or rng.random() < 0.8:
            load_events(project, [r for h in rows.values() for r in h])
        now += rng.choice([0, 1, STEP, STEP, 3 * STEP])
        happens = rng.choice(["", "", "", "killed", "killed", "refreshed", "consolidated", "rewritten", "torn"])
        told.append(happens)
        if happens == "rewritten":
            for name in models:
                _write(project, name, rng.randrange(2), config)
        if happens == "consolidated" and run:
            for name in models:
                project.dbt("run-operation", "temporal_consolidate", "--args", f"{{model: {name}}}", now=now)
        if happens == "killed":
            _killed_run(project, monkeypatch, now, rng.randrange(1, 90))
        if happens == "torn" and run:
            project.run("-s", *models, now=now)
            for f in feeds:
                if f.is_torn:
                    _torn_write(project, f)
        if happens == "refreshed":
            project.run("--full-refresh", "-s", *models, now=now)
        project.run(now=now)
        for f in feeds:
            _compare(project, f, (seed, told))
    return told


def _write(project: Project, name: str, text: int, config: dict[str, Any]) -> None:
    groups = {"aggregates": "groups"} if name == "grouped" else {}
    project.model(name, fill(project, MODELS[name][text], "mz_now()", "mz_now()"), **groups, **config)


def _killed_run(project: Project, monkeypatch: pytest.MonkeyPatch, now: int, statements: int) -> None:
    """A run that ends at a statement, as a process that is gone: nothing is tidied."""
    original, left = SparkTemporalConnectionManager.add_query, [statements]

    def failing(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] <= 0:
            raise RuntimeError("the process is gone")
        return original(self, sql, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(SparkTemporalConnectionManager, "add_query", failing)
        project.run(now=now, check=False)


def _torn_write(project: Project, f: Feed) -> None:
    """Files of a write that was killed: some of its rows are there."""
    into = f"`{project.schema}`.`{f.name}`"
    asked = {"each_change": True, "verify": None, **f.arguments}
    more = {name: asked.pop(name) for name in ("verify", "each_change")}
    sql = feed(Warehouse(project.rows), project.target(f.model), into, Request(**asked), **more)
    project.sql(f"INSERT INTO {into} SELECT /*+ COALESCE(1) */ * FROM {sql} WHERE h % 2 = 0")


def _compare(project: Project, f: Feed, context: object) -> None:
    state = project.state(f.model)
    same = identity(state.columns)
    columns, keys = ", ".join(same.items), ", ".join(same.keys)
    names = ", ".join(n for n, _ in state.columns)
    envelope = f.arguments.get("envelope", "upsert" if f.config.get("incremental_strategy") == "merge" else "diffs")
    if envelope == "diffs":
        taken = f"SELECT {names}, mz_diff AS mz_n FROM {{s}}.{f.name}"
    elif envelope == "upsert":
        taken = f"SELECT {names}, 1L AS mz_n FROM {{s}}.{f.name} WHERE mz_state <> 'delete'"
    else:
        after = ", ".join(f"after_{n} AS {n}" for n, _ in state.columns)
        turn = "row_number() OVER (PARTITION BY h ORDER BY mz_timestamp DESC, mz_batch DESC)"
        last = f"SELECT *, {turn} AS r FROM {{s}}.{f.name}"
        taken = f"SELECT {after}, 1L AS mz_n FROM ({last}) WHERE r = 1 AND mz_state <> 'delete'"
    both = f"{taken} UNION ALL SELECT *, -1L FROM {project.at(f.model, state.frontier)}"
    found = project.rows(f"SELECT {columns}, sum(mz_n) FROM ({both}) GROUP BY {keys} HAVING sum(mz_n) <> 0")
    assert not found, (f.name, context, found[:10])
    late = project.rows(f"SELECT count(*) FROM {{s}}.{f.name} WHERE mz_timestamp > {state.frontier}")
    assert late == [(0,)], (f.name, context)
