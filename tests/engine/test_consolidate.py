"""run-operation temporal_consolidate: one chain of all, and the same answers."""

from __future__ import annotations

import json
import re

import pytest

from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import T0
from support.project import Project


def consolidate(project: Project, model: str = "m", check: bool = True) -> str:
    return project.dbt(
        "run-operation", "temporal_consolidate", "--args", json.dumps({"model": model}), check=check
    ).text


@pytest.mark.first(1)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.landing
@pytest.mark.usefixtures("chains_apart")
def test_one_chain(project: Project, grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "RATIO", 0)
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(100)")
    select = (
        "id % 3 as k, count(*) as n from {t} where {now} < hi group by 1" if grouped else "id from {t} where {now} < hi"
    )
    project.model("m", "select " + select.format(t=f"{project.schema}.t", now="mz_now()"), aggregates="groups")
    project.run(now=T0)
    for n in (1, 2, 3):
        project.sql(f"INSERT INTO {{s}}.t SELECT {100 + n}L, timestamp_millis({T0}L + {n + 50} * 1000)")
        project.run(now=T0 + 10_000 * n)
    before = project.state()
    assert len(before.chains) == 4
    rows = sum(c.rows for c in before.chains)
    project.sql("DROP VIEW {s}.m__diffs")  # somebody's mistake, which the next commit mends
    said = consolidate(project)
    after = project.state()
    assert project.rows("SELECT * FROM {s}.m__diffs")
    assert re.search(rf"\| m +\| +{rows} \| +{after.chains[0].rows} \|", said), said
    assert len(after.chains) == 1 and after.since == after.frontier == before.frontier
    assert "instants before 2024-03-01 12:00:30.000 UTC can no longer be read (retain_history keeps them)" in said
    for t in (after.since, T0 + 51_000, T0 + 52_999, T0 + 99_000):
        read = f"select * from {project.at('m', t)}"
        oracle = "SELECT " + select.format(t="{s}.t", now=f"timestamp_millis({t}L)")
        assert sorted(project.rows(read)) == sorted(project.rows(oracle)), t
    # the old chains stay for readers, and the next run goes on from here
    assert {t for t, _ in after.retired} >= {c.table for c in before.chains}
    assert "unchanged" in project.run(now=T0 + 40_000).of("m").message
    project.sql(f"INSERT INTO {{s}}.t SELECT 200L, timestamp_millis({T0}L + 90000)")
    assert f"advanced, {'2 rows' if grouped else '1 row'}" in project.run(now=T0 + 50_000).of("m").message


def test_nothing_is_left(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT 1 AS id, timestamp_millis({T0}L + 1000) AS hi")
    project.model("m", f"select id from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    project.sql("INSERT OVERWRITE {s}.t SELECT 2, NULL")
    project.run(now=T0 + 500)
    said = consolidate(project)
    assert re.search(r"\| m +\| +2 \| +0 \|", said) and "12:00:00.500 UTC" in said, said
    assert "all instants can be read as before" in consolidate(project)
    assert project.state().chains == () and project.rows("SELECT * FROM {s}.m") == []


def test_of_what_is_no_temporal_view(project: Project) -> None:
    project.model("plain", "select 1 as a", materialized="table")
    project.model("m", "select 1 as a where mz_now() > 0 limit 1")
    assert "found: model 'plain', a table" in consolidate(project, "plain", check=False)
    assert "found: model 'nobody', no enabled model of this project" in consolidate(project, "nobody", check=False)
    assert "m is not a temporal_view that has run" in consolidate(project, check=False)
