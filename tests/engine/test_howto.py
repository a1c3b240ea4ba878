"""The pages of docs/howto with models in them, as they stand: their files are written, their commands run."""

from __future__ import annotations

import json

import pytest

from support.instants import DAY, HOUR, T0
from support.listings import follow, listings
from support.project import Project

#: page -> source table -> its rows, as SQL; {t} is the instant 2024-03-01 12:00 minus a number of days
SOURCES = {
    "howto/migrate-view.md": {
        "events": "SELECT id, concat('e', id) AS content, {t} AS event_ts FROM VALUES (1, 1), (2, 29), (3, 31)",
    },
    "howto/migrate-incremental.md": {
        "payments": "SELECT id % 3 AS id, concat('c', id) AS customer, id * 10 AS amount, {t} AS paid_at "
        "FROM VALUES (1, 1), (2, 8), (3, 15), (4, 29), (5, 31)",
        "old_payments": "SELECT id, 'old' AS customer, 5 AS amount, {t} AS paid_at FROM VALUES (9, 25), (8, 60)",
    },
    "howto/migrate-microbatch.md": {
        "logins": "SELECT id % 2 AS user_id, {t} AS at FROM VALUES (1, 0.5), (2, 1), (3, 2), (4, 6.9), (5, 8)",
    },
    "howto/alert.md": {"events": "SELECT id, {t} AS event_ts FROM VALUES (1, 1), (2, 29)"},
    "howto/bi-tools.md": {"orders": "SELECT id, {t} AS due_at FROM VALUES (1, 1), (2, -1), (3, -2)"},
    "howto/backfill.md": {"events": "SELECT id, {t} AS event_ts FROM VALUES (1, 1), (2, 20)"},
    "howto/source-layout.md": {"events": ""},  # the page makes it
    "howto/not-yet.md": {
        "basket_items": "SELECT id AS item_id, {t} AS put_at FROM VALUES (1, 0.01), (2, 0.05), (3, 0.02)",
        "purchases": "SELECT id AS item_id, {t} AS bought_at FROM VALUES (3, 0.005), (1, -0.005)",
    },
    "howto/leave.md": {"events": "SELECT id, {t} AS event_ts FROM VALUES (1, 1), (2, 20)"},
    "howto/ci.md": {
        "events": "SELECT id, concat('k', id % 2) AS kind, {t} AS event_ts FROM VALUES (1, 1), (2, 6.98), (3, 20)",
    },
    "howto/debug.md": {},
    "howto/patterns.md": {"events": "", "subscriptions": "", "orders": ""},
}


def sources(project: Project, tables: dict[str, str]) -> None:
    for name, rows in tables.items():
        ago = f"timestamp_millis(CAST({T0} - days * {DAY}L AS BIGINT))"
        if rows:
            project.sql(f"CREATE TABLE {{s}}.{name} USING parquet AS {rows.format(t=ago)} AS v(id, days)")
    names = [{"name": name} for name in tables]
    raw = {"name": "raw", "schema": project.schema, "tables": names}
    project.write("models/sources.yml", json.dumps({"version": 2, "sources": [raw]}))
    profile = json.loads((project.path / "profiles.yml").read_text())
    outputs = profile["proj"]["outputs"]
    outputs["ci"] = {**outputs["dev"], "schema": f"{project.schema}_ci"}
    project.write("profiles.yml", json.dumps(profile))


@pytest.mark.quick(1)
@pytest.mark.parametrize("page", SOURCES)
def test_a_page(page: str, project: Project) -> None:
    """Each temporal view in it is what its query is as written, by the page's clock and at its own boundaries."""
    project.has_artifacts = True  # a listing reads what dbt wrote
    sources(project, SOURCES[page])
    assert follow(project, page)
    found = {one.file: one.text for one in listings(page) if one.file.startswith("models/")}
    names = [file[len("models/") : -len(".sql")] for file, text in found.items() if "'temporal_view'" in text]
    for file in found:
        if file.endswith(".yml"):
            (project.path / file).unlink()
    project.properties({"models": [{"name": name, "data_tests": ["temporal_matches_source"]} for name in names]})
    tested = project.dbt("test", now=T0 + HOUR).results if names else []
    assert [str(result.status) for result in tested] == ["pass"] * len(names)
    project.drop_schema(f"{project.schema}_ci")
    if page == "howto/leave.md":
        assert project.relations() == {"events", "recent_events"}
