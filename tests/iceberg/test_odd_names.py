"""Inputs whose names, and whose columns' names, have dots, brackets, spaces, quotes: a run sees what came to each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.instants import T0
from support.project import Project

#: table -> its name; {s} is a schema. Of each pair one looks like the other without its quotes
TABLES = {
    "dotted": "files.`{s}.x`.t",
    "nested": "files.{s}.x.t",
    "spaced": "files.`{s} x`.`t u`",
    "cut": "files.`{s} x`.t",
    "bracket": "files.{s}.`t[1] parquet`",
    "closing": "files.{s}.`t] files.b.c`",
    "backquote": "files.{s}.`t``b`",
    "numbered": "files.{s}.`t#1`",
    "other_number": "files.{s}.`t#2`",
    "comment": 'files.{s}.`t -- it\'s */ ("x")`',
    "session": "spark_catalog.{s}.1t",
}
COLUMNS = "id BIGINT, ts TIMESTAMP, `x.y` BIGINT, `a]b` BIGINT, `# c] files.b.c` BIGINT, `b``c` BIGINT, `_pos#1` BIGINT"
SELECT = "select id, `x.y` as xy, `a]b` as ab, t.`# c] files.b.c` as c, `b``c` as bc, `_pos#1` as p from {t} t "
WINDOW = "where {now} < ts + interval 30 seconds"


def row(number: int) -> str:
    """Each column has another value."""
    return ", ".join([f"{number}L", f"timestamp_millis({T0}L)", *(f"{number * 10 + i}L" for i in range(5))])


@pytest.fixture
def named(project: Project) -> Iterator[dict[str, str]]:
    names = {key: name.format(s=project.schema) for key, name in TABLES.items()}
    for space in ("{s}", "{s}.x", "`{s}.x`", "`{s} x`"):
        project.spark.sql(f"CREATE NAMESPACE files.{space.format(s=project.schema)}")
    for number, (key, name) in enumerate(names.items()):
        project.spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {'parquet' if key == 'session' else 'iceberg'}")
        project.spark.sql(f"INSERT INTO {name} VALUES ({row(number)})")
        project.model(key, SELECT.format(t=name) + WINDOW.format(now="mz_now()"), file_format="parquet")
    yield names
    for name in names.values():
        project.spark.sql(f"DROP TABLE {name}")


def right(project: Project, names: dict[str, str], after: int) -> dict[str, str]:
    """A run, after which each view is right -> how each model read its input."""
    results = {r.node.name: r for r in project.run(now=T0 + after).results}
    now = f"timestamp_millis({T0 + after}L)"
    for key, name in names.items():
        oracle = project.rows(SELECT.format(t=name) + WINDOW.format(now=now))
        assert sorted(project.rows(f"SELECT * FROM {project.at(key, T0 + after)}")) == sorted(oracle), name
    return {key: " | ".join(r.adapter_response["inputs"]) for key, r in results.items()}


def test_inputs_with_odd_names(project: Project, named: dict[str, str]) -> None:
    right(project, named, 1)
    assert all(": unchanged (" in told for told in right(project, named, 2).values())
    for number, name in enumerate(named.values()):
        project.spark.sql(f"INSERT INTO {name} VALUES ({row(100 + number)})")
    told = right(project, named, 3)
    # 4 parts: no name of a table here, so that it is read in full
    partly = {key for key, line in told.items() if ": changes (" in line or ": new files (" in line}
    assert partly >= set(named) - {"nested"}, told
    for name in list(named.values())[:-1]:
        project.spark.sql(f"DELETE FROM {name} WHERE id < 100")
    assert not any(": unchanged (" in line for key, line in right(project, named, 4).items() if key != "session")


def test_columns_named_like_those_of_a_changelog(project: Project) -> None:
    """They hide Iceberg's own there, so that what came and went is not told; what only came is."""
    project.sql(
        "CREATE TABLE {s}.t USING iceberg AS SELECT id, 'DELETE' AS _change_type, 7 AS _Change_Ordinal, "
        f"id AS _commit_snapshot_id, timestamp_millis({T0}L) AS ts FROM range(5)"
    )
    select = f"select id, _change_type as a, _change_ordinal as b, _commit_snapshot_id as c from {project.schema}.t "
    project.model("m", select + WINDOW.format(now="mz_now()"))
    project.model("n", select.replace("id, _change_type as a", "_change_type") + WINDOW.format(now="mz_now()"))
    project.run(now=T0)
    changes = {
        "INSERT INTO {s}.t SELECT id + 10, 'INSERT', 8, id, ts FROM {s}.t WHERE id < 2": "append only",
        "DELETE FROM {s}.t WHERE id = 3": "a column of its own is named as one of its changelog",
        "UPDATE {s}.t SET _change_type = 'x' WHERE id = 4": "a column of its own is named as one of its changelog",
    }
    for after, (change, why) in enumerate(changes.items(), 1):
        project.sql(change)
        ran = project.run(now=T0 + after)
        for model in ("m", "n"):
            (line,) = ran.of(model).adapter_response["inputs"]
            assert why in line
        oracle = project.rows(select + WINDOW.format(now=f"timestamp_millis({T0 + after}L)"))
        assert sorted(project.rows(f"SELECT * FROM {project.at('m', T0 + after)}")) == sorted(oracle)
