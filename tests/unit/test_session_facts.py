"""What an invocation asks once, and what makes it ask again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark.relation import SparkRelation

from dbt.adapters.sparktemporal.engine import session_facts
from dbt.adapters.sparktemporal.engine.known_relations import KnownRelations
from dbt.adapters.sparktemporal.engine.session_facts import SessionFacts
from dbt.adapters.sparktemporal.engine.shared_answers import SharedAnswers
from dbt.adapters.sparktemporal.graph.collisions import refuse_collisions
from dbt.adapters.sparktemporal.impl import SparkTemporalAdapter
from dbt.adapters.sparktemporal.temporal.diffs import chains


class Asked:
    """An engine that counts questions."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.questions.append(sql)
        return [(1_000, "4.1.4", "spark_catalog")]

    def settings(self) -> dict[str, str]:
        self.questions.append("SET")
        return {"number": str(len(self.questions))}


def test_the_clock_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [5.0]
    monkeypatch.setattr(session_facts, "now", lambda: passed[0])
    facts, engine = SessionFacts(), Asked()
    assert facts.clock(engine.rows) == 1_000
    passed[0] = 65.5
    assert facts.clock(engine.rows) == 61_500 and facts.version(engine.rows) == "4.1.4"
    assert facts.catalog(engine.rows) == "spark_catalog"
    assert len(engine.questions) == 1


def test_settings_are_asked_again_after_a_statement_that_may_set_one() -> None:
    facts, engine = SessionFacts(), Asked()
    first = facts.settings(engine.settings, "model.p.a")
    facts.notice("select 1 as offset")
    assert facts.settings(engine.settings, "model.p.b") == first
    facts.notice("/* dbt */ set spark.sql.session.timeZone = UTC")
    second = facts.settings(engine.settings, "model.p.b")
    assert second != first and facts.settings(engine.settings, "model.p.b") == second
    # another session may not have what this one set
    assert facts.settings(engine.settings, "model.p.c") not in (first, second)


@pytest.mark.parametrize("sql", ["execute immediate 'SE' || 'T x = 1'", "RESET", "update t set a = 1"])
def test_statements_that_may_set(sql: str) -> None:
    facts, engine = SessionFacts(), Asked()
    first = facts.settings(engine.settings, "a")
    facts.notice(sql)
    assert facts.settings(engine.settings, "a") != first


@pytest.mark.parametrize(
    ("sql", "model", "touched"),
    [
        ("drop view if exists s.m", "m", True),
        ("DROP TABLE `s`.`M__diffs_1a_c0`", "m", True),
        ("drop view s.moons", "m", False),
        ("select * from m", "m", False),
        ("drop view `3 Moons`", "3 moons", True),
        ("insert into other select 1", "m", False),
        ("drop view identifier('s.' || chr(109))", "m", True),
        ("drop view s.identifier", "m", False),
        ("execute immediate to_execute", "m", True),
        ("call c.system.drop_all ( 's' )", "m", True),
        ("drop view s.${name}", "m", True),
        ("drop schema if exists s cascade", "m", True),
        ("create schema if not exists s", "m", False),
    ],
)
def test_relations_that_a_hook_may_change(sql: str, model: str, touched: bool) -> None:
    facts = SessionFacts()
    facts.notice(sql)
    assert facts.is_touched(model) is touched


def test_answers_are_kept() -> None:
    facts, asked = SessionFacts(), Asked()
    for _ in range(2):
        assert facts.once("EXPLAIN x", lambda sql: str(asked.rows(sql))) == "[(1000, '4.1.4', 'spark_catalog')]"
    assert asked.questions == ["EXPLAIN x"]


@pytest.mark.parametrize(
    ("sql", "moves"),
    [
        ("/* dbt */ use files", True),
        ("SET CATALOG files", True),
        ("set spark.sql.defaultCatalog = files", True),
        ("execute immediate what", True),
        ("select used from catalogs", False),
    ],
)
def test_the_catalog_is_asked_again_after_a_statement_that_may_change_it(sql: str, moves: bool) -> None:
    facts = SessionFacts()
    assert facts.catalog(lambda _: [(1, "4.1.4", "lake")]) == "lake"
    facts.notice(sql)
    assert facts.catalog(lambda _: [("files",)]) == ("files" if moves else "lake")


@pytest.mark.parametrize(
    ("sql", "model", "touched"),
    [
        ("ALTER VIEW `s`.`m__live` AS\nSELECT 1 AS n", "m", True),
        ("ALTER VIEW `s`.`m__live` AS\nSELECT 1 AS n", "n", False),
        ("UPDATE `s`.`m__live` SET mz_commit = ''", "m", False),  # a table, whose content no list shows
    ],
)
def test_commits_of_the_invocation_itself(sql: str, model: str, touched: bool) -> None:
    facts = SessionFacts()
    facts.notice_own(sql)
    assert facts.is_touched(model) is touched


# -- what the models of an invocation share --


def test_shared_answers_are_asked_once() -> None:
    shared, asked = SharedAnswers(), list[int]()
    for _ in range(2):
        assert shared.once("t", lambda: asked.append(1) or len(asked)) == 1
    shared.forget()
    assert shared.once("t", lambda: asked.append(1) or len(asked)) == 2


def test_an_answer_of_before_a_write_is_not_kept() -> None:
    """A thread asks, another one writes, and the answer comes."""
    shared = SharedAnswers()

    def ask() -> str:
        shared.forget()
        return "old"

    assert shared.once("t", ask) == "old"
    assert shared.find("t") is None


@pytest.mark.parametrize(
    ("materialized", "kept"), [("table", None), ("incremental", None), ("seed", None), ("temporal_view", "files")]
)
def test_a_model_that_may_have_written(materialized: str, kept: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of Python writes without a statement of the session. It also may have failed half way."""
    adapter: Any = object.__new__(SparkTemporalAdapter)
    facts = SessionFacts()
    facts.shared.keep("t", "files", facts.shared.now())
    adapter.connections = SimpleNamespace(facts=facts, run_is_on=lambda on: None, look_ahead=lambda sql: None)
    monkeypatch.setattr(SparkTemporalAdapter, "_give_back", lambda self: None)
    monkeypatch.setattr(SparkTemporalAdapter, "_settle", lambda self, config, failed: None)
    adapter.post_model_hook({"materialized": materialized}, None)
    assert facts.shared.find("t") == kept


LISTED = "Type: VIEW\nTable Properties: [{}]\nView Text: SELECT 1\nView Original Text: SELECT 1\n"


@pytest.mark.parametrize(
    ("information", "text"),
    [
        (LISTED.format("a=b"), "SELECT 1"),
        (LISTED.format("table_type=ICEBERG-VIEW"), None),
        (LISTED.replace("VIEW", "MANAGED", 1), None),
        ("Type: VIEW\n", None),
        ("", None),
    ],
)
def test_the_commit_in_dbts_list(information: str, text: str | None) -> None:
    found = KnownRelations(("m__live",), {"m__live": information}).commit("m__live")
    assert (found and found.text) == text


# -- five hundred models: what a model costs because of the others --


def test_a_model_takes_its_own_relations_from_dbts_list() -> None:
    names = [f"m{number:03}{suffix}" for number in range(500) for suffix in ("", "__live", "__diffs")]
    listed = [SparkRelation.create(schema="s", identifier=name) for name in [*names, "M007__Diffs_1"]]
    adapter: Any = object.__new__(SparkTemporalAdapter)
    adapter.connections = SimpleNamespace(facts=SessionFacts())
    adapter.list_relations = lambda database, schema: listed
    known = adapter._known_relations(SparkRelation.create(schema="s", identifier="m007"))
    assert known is not None and known.names == ("m007", "m007__live", "m007__diffs", "M007__Diffs_1")


def test_models_of_other_names_are_compared_by_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether two models collide is asked of each pair of models."""
    config = {"materialized": "temporal_view"}
    nodes = [
        {"unique_id": name, "schema": "s", "alias": name, "resource_type": "model", "config": config}
        for name in (f"m{number:03}" for number in range(500))
    ]
    looked = list[str]()
    monkeypatch.setattr(chains, "born_of", lambda model, table: looked.append(table))
    refuse_collisions(nodes[7], [*nodes, {**nodes[7], "unique_id": "x", "alias": "m007_more"}], None)
    assert looked == ["m007_more"]
