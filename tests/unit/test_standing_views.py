"""Views as they stand and as they should be: which statement makes one of the other, and what is asked for it."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.descriptions import REPLACE
from dbt.adapters.sparktemporal.engine.known_relations import KnownRelations
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run.standing_views import StandingViews
from dbt.adapters.sparktemporal.temporal.decision import Statement
from dbt.adapters.sparktemporal.temporal.sql.text.identifiers import Identifiers

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
