"""How many statements a run sends, counted at the cursor; and what a run does where dbt's list of relations is old."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.known_relations import KnownRelations
from dbt.adapters.sparktemporal.impl import SparkTemporalAdapter
from support.instants import T0
from support.project import Project, inputs_of

#: the most statements of a model's run by what the run does, beside those that an invocation sends once
MOST = {"nothing": 4, "new files": 13, "and again": 13, "first": 14, "full refresh": 13}
#: of a further input, and of a further core
MORE = {"nothing": (1, 1), "new files": (3, 2), "and again": (3, 2), "first": (3, 2), "full refresh": (3, 2)}
KEPT = "select t.id, t.hi from {s}.t where mz_now() < t.hi"
#: what a run says of itself
HOW = {
    "first": "hydrated",
    "nothing": "unchanged",
    "new files": "(1 new file of ",
    "and again": "(1 new file of ",
    "full refresh": "restarted",
}
MODELS = {
    "m": KEPT,
    "grouped": "select id, count(*) as n, max(hi) as latest from {s}.t where mz_now() < hi group by id",
    "joined": "select t.id, t.hi, u.id as other from {s}.t join {s}.u on t.id = u.id where mz_now() < t.hi",
    "united": f"{KEPT} union all select t.id, t.hi from {{s}}.t where mz_now() < t.hi + interval 1 day",
}


@pytest.fixture
def counted(project: Project, sent: list[str]) -> list[str]:
    """The statements that reach the cursor, in a project of some models."""
    for table in "tu":
        project.sql(f"CREATE TABLE {{s}}.{table} AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)")
    for name, sql in MODELS.items():
        project.model(name, sql.format(s=project.schema), aggregates="groups")
    return sent


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", MODELS)
def test_statements_of_a_run(project: Project, counted: list[str], name: str) -> None:
    found: dict[str, list[str]] = {}
    alone = {}
    for step, what in enumerate(HOW, start=1):
        options = ("--full-refresh",) if what == "full refresh" else ()
        if what in ("new files", "and again"):
            project.sql(f"INSERT INTO {{s}}.t SELECT 5, timestamp_millis({T0}L + 99000)")
        counted.clear()
        ran = project.run("-s", name, *options, now=T0 + 10 * step).of(name)
        assert HOW[what] in f"{ran.message} {inputs_of(ran)}", ran.message
        found[what] = list(counted)
        alone[what] = len(counted) - _of_invocation(counted)
    for what, most in MOST.items():
        further = MORE[what][("joined", "united").index(name)] if name in ("joined", "united") else 0
        listed = "\n".join(f"{number:3} {' '.join(sql.split())[:150]}" for number, sql in enumerate(found[what], 1))
        assert alone[what] <= most + further, f"{name}, {what}: {alone[what]} statements\n{listed}"


def _of_invocation(statements: list[str]) -> int:
    """The statements that an invocation sends once, whatever it runs: dbt's lists, clock and version, settings."""
    once = (
        "show databases",
        "show table extended",
        "unix_millis(current_timestamp()), version()",
    )
    return sum(sql == "SET" or any(part in sql for part in once) for sql in statements)


@pytest.mark.landing
def test_a_commit_that_dbts_list_does_not_have(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process ran the model for the first time after dbt had listed the schema."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)")
    project.model("m", KEPT.format(s=project.schema))
    project.run(now=T0)
    project.sql(f"INSERT INTO {{s}}.t SELECT 5, timestamp_millis({T0}L + 99000)")
    monkeypatch.setattr(SparkTemporalAdapter, "_known_relations", lambda self, relation: KnownRelations((), {}))
    assert "advanced, 1 row" in project.run(now=T0 + 10).of("m").message
    assert project.count() == project.rows("SELECT count(*) FROM {s}.t WHERE hi > current_timestamp()")[0][0]


def test_a_relation_that_dbts_list_still_has(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)")
    project.model("m", KEPT.format(s=project.schema))
    old = KnownRelations(("m", "m__live", "m__diffs"), {})
    with monkeypatch.context() as patched:
        patched.setattr(SparkTemporalAdapter, "_known_relations", lambda self, relation: old)
        assert "hydrated" in project.run(now=T0).of("m").message
    assert project.state().columns == (("id", "bigint"), ("hi", "timestamp"))


def test_a_hook_that_drops_the_view(project: Project) -> None:
    """dbt lists the schema before the hooks of a model."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)")
    project.model("m", KEPT.format(s=project.schema), pre_hook="drop view if exists {{ this }}")
    project.run(now=T0)
    assert "unchanged" in project.run(now=T0 + 10).of("m").message
    assert {"m", "m__live", "m__diffs"} <= project.relations()
