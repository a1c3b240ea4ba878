"""Several models in one invocation: what they ask once together, and what makes one of them ask again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dbt.adapters.sparktemporal import connections
from dbt.adapters.sparktemporal.engine.known_relations import KnownRelations
from dbt.adapters.sparktemporal.impl import SparkTemporalAdapter
from support.instants import T0
from support.project import Project

KEPT = "select id, hi from {s}.t where mz_now() < hi"
GROUPED = "select id, count(*) as n from {s}.t where mz_now() < hi group by id"
MODELS = {"a": KEPT, "b": GROUPED, "c": KEPT.replace("< hi", "< hi + interval 1 hour"), "d": GROUPED}
ROW = f"INSERT INTO {{s}}.t SELECT 5, timestamp_millis({T0}L + 99000)"
#: after the first model of a project, whatever a model has read
AFTER_A = "-- depends_on: {{ ref('a') }}\n"


@pytest.fixture
def source(project: Project) -> Project:
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(9)"
    )
    return project


def about(statements: Sequence[str], *words: str) -> list[str]:
    return [sql for sql in statements if all(word in sql for word in words)]


def check(project: Project, model: str, t: int) -> None:
    """A model has the rows of its query."""
    want = project.rows(f"SELECT id FROM {{s}}.t WHERE timestamp_millis({t}L) < hi")
    assert sorted(project.rows(f"SELECT id FROM ({project.at(model, t)})")) == sorted(want)


def test_models_of_one_source(source: Project, sent: list[str]) -> None:
    """Where nothing is new the first model lists the files and describes the table, for all models."""
    for name, sql in MODELS.items():
        source.model(name, sql.format(s=source.schema), aggregates="groups")
    source.run(now=T0)
    sent.clear()
    said = source.run(now=T0 + 10)
    assert all("unchanged" in said.of(name).message for name in MODELS), said.text
    assert len(about(sent, "binaryFile.")) == 1, sent
    assert len(about(sent, "DESCRIBE TABLE EXTENDED", ".`t`")) + len(about(sent, "DESCRIBE TABLE EXTENDED", ".t")) == 1
    # of each model two plans, and how many rows its chains have; of the first also the table; of the invocation four
    assert len(sent) == 3 * len(MODELS) + 1 + 4, sent
    source.sql(ROW)
    sent.clear()
    said = source.run(now=T0 + 20)
    assert all("advanced" in said.of(name).message for name in MODELS)
    assert len(sent) <= 12 * len(MODELS) + 1 + 4, sent
    check(source, "a", T0 + 20)


def _by_hook(project: Project) -> None:
    project.model("b", AFTER_A + KEPT.format(s=project.schema), pre_hook=ROW.format(s=project.schema))


def _by_a_hook_of_another(project: Project) -> None:
    project.model("b", AFTER_A + "-- depends_on: {{ ref('w') }}\n" + KEPT.format(s=project.schema))
    insert = ROW.format(s=project.schema)
    project.model("w", AFTER_A + "select 1 as one", materialized="table", post_hook=insert)


def _by_a_hidden_statement(project: Project) -> None:
    """As by EXECUTE IMMEDIATE, or a model of Python: no statement that dbt sends names the table."""
    insert = ROW.format(s=project.schema).replace("'", "\\'")
    project.model("b", AFTER_A + KEPT.format(s=project.schema), pre_hook=f"EXECUTE IMMEDIATE '{insert}'")


WRITERS = {"its hook": _by_hook, "another model": _by_a_hook_of_another, "hidden": _by_a_hidden_statement}


@pytest.mark.quick(1)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_model_sees_what_its_invocation_wrote(source: Project, writer: str) -> None:
    """The list that `a` made is the state of `b`: whoever believed the list would find nothing new."""
    source.model("a", KEPT.format(s=source.schema))
    WRITERS[writer](source)
    source.run(now=T0)
    for run in (1, 2):
        said = source.run(now=T0 + 10 * run)
        assert "advanced, 1 row" in said.of("b").message, said.text
        check(source, "b", T0 + 10 * run)


ALTERED = {
    "a row": (ROW,),
    "a column": ("ALTER TABLE {s}.t ADD COLUMNS (c INT)",),
    "a column and a row": ("ALTER TABLE {s}.t ADD COLUMNS (c INT)", ROW.replace("99000)", "99000), 5")),
    "another type": (
        "DROP TABLE {s}.t",
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT 'x' AS id, timestamp_millis({T0}L + 99000) AS hi",
    ),
    "another table": (
        "DROP TABLE {s}.t",
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT 8 AS id, timestamp_millis({T0}L + 99000) AS hi",
    ),
}


@pytest.mark.landing
@pytest.mark.parametrize("what", ALTERED)
def test_what_another_program_does_between_two_models(
    source: Project, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The run sees it, or the next run does; no row is wrong or lost."""
    source.model("a", KEPT.format(s=source.schema))
    query = AFTER_A + (GROUPED if what == "another type" else KEPT).format(s=source.schema)
    if what == "another type":
        source.model("a", GROUPED.format(s=source.schema))
    source.model("b", query)
    source.run(now=T0)
    source.model("b", query, pre_hook=[sql.format(s=source.schema) for sql in ALTERED[what]])
    with monkeypatch.context() as patched:
        patched.setattr(connections, "may_write", lambda sql: False)  # as if nobody here had sent the statements
        said = source.run(now=T0 + 10)
    assert "unchanged" in said.of("a").message, said.text
    # `b` believes the list of `a`, and finds the row at its next run. Its plan shows the other columns
    assert ("no input changed" in said.of("b").message) is (what == "a row"), said.text
    source.model("b", query)
    source.run(now=T0 + 20)
    for name in "ab":
        check(source, name, T0 + 20)


# -- the commit that dbt's list shows --


@pytest.fixture
def listed(source: Project, monkeypatch: pytest.MonkeyPatch) -> KnownRelations:
    """What dbt lists of a model `a` that has run once."""
    found: list[KnownRelations] = []
    known = SparkTemporalAdapter._known_relations

    def kept(self: Any, relation: Any) -> KnownRelations | None:
        found.append(answer := known(self, relation))
        return answer

    source.model("a", KEPT.format(s=source.schema))
    source.run(now=T0)
    with monkeypatch.context() as patched:
        patched.setattr(SparkTemporalAdapter, "_known_relations", kept)
        source.run(now=T0 + 1)
    return found[0]


def test_a_commit_that_dbts_list_shows(source: Project, listed: KnownRelations, sent: list[str]) -> None:
    """The commit is not asked for by a run that finds nothing new."""
    assert listed.commit("a__live") is not None
    sent.clear()
    assert "unchanged" in source.run(now=T0 + 10).of("a").message
    assert not about(sent, "DESCRIBE", "a__live")


@pytest.mark.quick(1)
@pytest.mark.parametrize("grows", [True, False])
def test_a_commit_that_is_later_than_dbts_list(
    source: Project, listed: KnownRelations, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    """A run that writes finds the later commit under its lock, and begins anew.

    A run that finds nothing new since the commit of the list does not put the updates of that commit in place of later.
    """
    if grows:
        source.sql(ROW)
    source.run(*([] if grows else ["--full-refresh"]), now=T0 + 10)
    committed, updates = source.state("a"), source.rows("SHOW CREATE TABLE {s}.a__diffs")
    old = KnownRelations(listed.names, {"a__live": listed.information["a__live"]})
    assert committed.run not in old.information["a__live"]
    with monkeypatch.context() as patched:
        patched.setattr(SparkTemporalAdapter, "_known_relations", lambda self, relation: old)
        said = source.run(now=T0 + 10).of("a").message
    assert "unchanged" in said, said
    assert source.state("a") == committed and source.rows("SHOW CREATE TABLE {s}.a__diffs") == updates
    check(source, "a", T0 + 10)


def test_a_hook_that_restarts_the_model(source: Project, listed: KnownRelations) -> None:
    """dbt listed the commit before the hook, whose commit is a statement of the adapter."""
    source.model(
        "a", KEPT.format(s=source.schema), pre_hook="{% if execute %}{% do temporal_restart('a') %}{% endif %}"
    )
    assert "restarted" in source.run(now=T0 + 10).of("a").message
    check(source, "a", T0 + 10)
