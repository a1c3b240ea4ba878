"""Views as they stand and as they should be: which statement makes one of the other, and what is asked for it."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine import ownership
from dbt.adapters.sparktemporal.engine.descriptions import REPLACE
from dbt.adapters.sparktemporal.engine.known_relations import KnownRelations
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import ForeignRelation, Refusal
from dbt.adapters.sparktemporal.graph.collisions import refuse_collisions
from dbt.adapters.sparktemporal.run import late_rows, outside_views
from dbt.adapters.sparktemporal.run.standing_views import StandingViews
from dbt.adapters.sparktemporal.temporal.decision import Statement
from dbt.adapters.sparktemporal.temporal.diffs.state_text import Form, embed
from dbt.adapters.sparktemporal.temporal.sql.text.identifiers import Identifiers
from support.states import a_state

TARGET = ModelRelations("`s`", "m")
MARK = "TBLPROPERTIES ('mz_model' = 'm')"
LISTED = "Type: VIEW\nView Text: SELECT 1\nView Original Text: SELECT 1\n"


def views(names: list[str], text: str = "", kind: str = "", owner: str = "m", listed: str = "") -> StandingViews:
    """text, kind, owner: of the view that Spark describes. listed: its row in dbt's list."""
    described = [("# Detailed View Information", "", ""), ("View Text", text, ""), ("Table Properties", kind, "")]

    def rows(sql: str) -> list[tuple]:
        return [("mz_model", owner)] if sql.startswith("SHOW TBLPROPERTIES") else described

    known = KnownRelations(tuple(names), {name.lower(): listed for name in names}) if listed else None
    return StandingViews(Warehouse(rows), TARGET, Identifiers(names), known)


@pytest.mark.parametrize(
    ("standing", "sql"),
    [
        (views([]), f"CREATE VIEW `s`.`m__diffs` {MARK} AS\nSELECT 1"),
        (views(["M__Diffs"], "SELECT  1\n"), None),
        (views(["m__diffs"], "SELECT 2"), "ALTER VIEW `s`.`m__diffs` AS\nSELECT 1"),
        (views(["m__diffs"], "SELECT 2", "[table_type=ICEBERG-VIEW]"), f"{REPLACE} `s`.`m__diffs` {MARK} AS\nSELECT 1"),
        (views(["m__diffs"], "SELECT 2", listed=LISTED), None),
        (views(["m__diffs"], "SELECT 1", listed=LISTED.replace("1", "2")), None),
    ],
    ids=["missing", "same", "other", "other, of Iceberg", "same in the list", "other in the list"],
)
def test_a_view_gets_its_text(standing: StandingViews, sql: str | None) -> None:
    expected = [] if sql is None else [Statement("updates", sql)]
    assert standing.changed("updates", "__diffs", "SELECT 1") == expected


def test_a_view_without_a_mark() -> None:
    (step,) = views([]).changed("commit", "__live", "SELECT 1", mark=False)
    assert step.sql == "CREATE VIEW `s`.`m__live` AS\nSELECT 1"


@pytest.mark.parametrize(("names", "owner", "count"), [(["m__late"], "M", 1), (["m__late"], "n", 0), ([], "m", 0)])
def test_only_a_marked_view_is_dropped(names: list[str], owner: str, count: int) -> None:
    drop = Statement("late", "DROP VIEW `s`.`m__late`")
    assert views(names, owner=owner).dropped("late", "__late") == [drop] * count


@pytest.mark.parametrize(
    ("answer", "is_foreign"),
    [([("mz_model", "M")], False), ([("mz_model", "n")], True), ([], True), ("[TABLE_OR_VIEW_NOT_FOUND] gone", False)],
)
def test_a_relation_that_was_dropped_is_nobodys(answer: list[tuple] | str, is_foreign: bool) -> None:
    """dbt listed `<model>__diffs`; the list may be older than a drop."""

    def rows(sql: str) -> list[tuple]:
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer

    warehouse, late = Warehouse(rows), TemporalConfig.parse("m", {"store_late": True})
    with pytest.raises(ForeignRelation) if is_foreign else nullcontext():
        assert ownership.refuse_foreign(warehouse, TARGET, "__diffs") is isinstance(answer, list)
    with pytest.raises(ForeignRelation) if is_foreign else nullcontext():
        there = late_rows.refuse_foreign(warehouse, TARGET, late, ["m", "M__Late"])
        assert there == (["m", "M__Late"] if isinstance(answer, list) else ["m"])


@pytest.mark.parametrize("model", ["orders", "hourly", "Tokens", "secret_santa", "passwords", "access.key"])
def test_no_mark_is_hidden(model: str) -> None:
    """By default Spark shows no value in which it finds one of these words."""
    target = ModelRelations("`s`", model)
    (value,) = re.findall("= '(.*)'", ownership.marked(target))
    shown = re.sub(".*(?i:url|secret|password|token|access[.]?key).*", "*********(redacted)", value)
    for mark in (shown, model):  # a Spark that hides fewer words shows the name
        assert ownership.refuse_foreign(Warehouse(lambda sql, mark=mark: [("mz_model", mark)]), target, "__diffs")


SALES = ModelRelations("`Sales`", "m", "`spark_catalog`.`v`")
ALL = ["m", "m__live", "m__diffs"]


@pytest.mark.parametrize("form", [*Form, None], ids=str)
@pytest.mark.parametrize(
    ("schema", "place", "names", "code", "found"),
    [
        ("`sales`", "lake.default", ALL, "", ""),
        ("`sales`", "", ALL, "", ""),
        ("`lake`.`sales`", "`Lake`.x", ["m__live"], "", ""),
        ("`finance`", "lake.default", ALL, "ST201", "in the schema finance"),
        ("`sales`", "lake_dev.default", ALL, "ST201", "in the schema lake_dev.sales"),
        ("", "lake.default", ALL, "ST201", "in the schema unknown"),
        ("`sales`", "lake.default", ["m", "m__diffs"], "ST205", "`v`.`m`, which no run of m made"),
        ("`sales`", "lake.default", [], "", ""),
    ],
)
def test_views_in_a_schema_that_models_share(
    form: Form | None, schema: str, place: str, names: list[str], code: str, found: str
) -> None:
    """Only the views of the very model are replaced and dropped, in whatever form their text has its schema."""
    if form is None:  # a view of other people
        text = "SELECT 1"
        code, found = ("ST205", "`v`.`m__live`, which no run of m made") if "m__live" in names else (code, found)
    else:
        text = embed(replace(a_state(), schema=schema, state_table="m__state_1"), "SELECT 1", form)
    described = [("# Detailed View Information", "", ""), ("View Text", text, "")]
    described += [("View Catalog and Namespace", place, "")] if place else []

    def rows(sql: str) -> list[tuple]:
        return [("v", name, False) for name in names] if sql.startswith("SHOW TABLES") else described

    warehouse = Warehouse(rows, catalog="lake")
    dropped = [step.sql for step in outside_views.drop(warehouse, SALES)]
    if code:
        with pytest.raises(Refusal) as refusal:
            outside_views.refuse_others(warehouse, SALES)
        assert refusal.value.code == code and found in str(refusal.value) and dropped == []
    else:
        outside_views.refuse_others(warehouse, SALES)
        assert len(dropped) == len(names) and (not names or dropped[-1].endswith("`v`.`m__live`"))


@pytest.mark.parametrize("views_in", [None, "", "`spark_catalog`.`v`"])
@pytest.mark.parametrize(
    ("first", "second", "kind", "collides"),
    [
        ("m", "M", "temporal_view", True),
        ("m", "m__diffs", "temporal_view", True),
        ("m", "m__lock", "temporal_view", False),
        ("m", "n", "temporal_view", False),
        ("m", "m", "table", False),
    ],
)
def test_models_of_two_schemas(views_in: str | None, first: str, second: str, kind: str, collides: bool) -> None:
    nodes = [
        {"unique_id": f"of.{schema}", "schema": schema, "alias": alias, "resource_type": "model", "config": config}
        for schema, alias, config in (
            ("sales", first, {"materialized": "temporal_view"}),
            ("finance", second, {"materialized": kind}),
        )
    ]
    for node in nodes:
        if collides and views_in:
            with pytest.raises(
                Refusal, match=f"(?i)ST201 found: .*, both with a view {second} in `spark_catalog`.`v`, the views_in"
            ):
                refuse_collisions(node, nodes, views_in)
        else:
            refuse_collisions(node, nodes, views_in)
