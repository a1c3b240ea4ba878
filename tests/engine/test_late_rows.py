"""Rows that come when their window is over: `store_late` keeps them in `<model>__late`, with the window they missed."""

from __future__ import annotations

from typing import Any

import pytest

from support.instants import T0
from support.project import Project
from support.sampled import each

WINDOW = "mz_now() >= lo and (mz_now() < hi or hi is null)"


def instants(*columns: str) -> str:
    return ", ".join(f"timestamp_millis({T0}L + {column}) AS {column}" for column in columns)


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, v, {instants('lo', 'hi')} FROM VALUES (1L, 'a', 0, 9000), "
                "(2L, 'b', 0, 1500), (3L, 'b', 20000, CAST(NULL AS INT)) AS v(id, v, lo, hi)")  # fmt: skip
    return project


def came(project: Project, *rows: tuple[int, str | None, int, int | None]) -> None:
    values = ", ".join(
        f"({number}L, {'NULL' if v is None else repr(v)}, {lo}, {hi or 'NULL'})" for number, v, lo, hi in rows
    )
    project.sql(f"INSERT INTO {{s}}.t SELECT id, v, {instants('lo', 'hi')} FROM VALUES {values} AS v(id, v, lo, hi)")


def late(project: Project, columns: str = "id, v", model: str = "m") -> list[tuple[Any, ...]]:
    """Each late row: when the run was, the window, some columns. Instants count from T0 (ms)."""
    name = project.render(f"{{{{ temporal_late(ref('{model}')) }}}}")
    rows = project.rows(f"SELECT mz_as_of - {T0}, mz_from - {T0}, mz_until - {T0}, {columns} FROM {name}")
    return sorted((tuple(row) for row in rows), key=str)


@pytest.mark.parametrize("capture", each(2, ["auto", "full"]))
def test_late_rows_are_kept(events: Project, capture: str) -> None:
    """Of new files and of inputs that are read in full. A row that came in time, or comes again, is none of them."""
    sql = f"select id, v, lo from {events.schema}.t where {WINDOW}"
    events.model("m", sql, store_late=True, change_capture=capture)
    events.run(now=T0)
    assert late(events) == []
    came(events, (4, "x", 500, 900), (5, None, 200, 1000), (5, None, 200, 1000))
    came(events, (6, "y", 400, 1001), (7, "z", 1000, None))
    ran = events.run(now=T0 + 1000)
    missed = [(1000, 200, 1000, 5, None), (1000, 200, 1000, 5, None), (1000, 500, 900, 4, "x")]
    assert late(events) == missed
    assert ran.of("m").adapter_response["rows_late"] == 3
    assert "3 rows came after the window was over" in ran.text
    assert events.run(now=T0 + 1200).of("m").adapter_response.get("rows_late") == (0 if capture == "full" else None)
    came(events, (8, "x", 1100, 1500))
    assert events.run(now=T0 + 2000).of("m").adapter_response["rows_late"] == 1
    missed.append((2000, 1200 if capture == "full" else 1100, 1500, 8, "x"))
    assert late(events) == missed
    assert len({row[0] for row in events.rows("SELECT mz_run FROM {s}.m__late")}) == 2
    assert sorted(events.rows(f"SELECT id FROM {events.at('m', T0 + 2000)}")) == [(1,), (7,)]
    came(events, (9, "x", 0, 2500))
    events.run(now=T0 + 3000)
    missed.append((3000, 2000 if capture == "full" else 0, 2500, 9, "x"))
    assert late(events) == missed


@pytest.mark.landing
def test_late_rows_of_several_cores(events: Project) -> None:
    """A column of each; keys where groups are kept; a row of a general condition when all of it is over."""
    t = f"{events.schema}.t"
    sql = (f"select id, v, 0 as n from {t} where {WINDOW} union all "
           f"select null, v, count(*) as n from {t} where {WINDOW} group by v union all "
           f"select id, v, 0 from {t} where mz_now() < lo or mz_now() = hi")  # fmt: skip
    events.model("m", sql, store_late=True, aggregates="groups")
    events.run(now=T0)
    empty = events.state("m").late
    assert empty is not None and [name for name, _ in empty.shown] == events.columns("m__late")
    came(events, (4, "x", 500, 900), (5, "y", 500, 5000))
    events.run(now=T0 + 1000)
    cores, kept = events.state("m").cores, events.state("m").late
    assert len(cores) == 3 and kept is not None and kept.tables and not kept.shown
    assert [name for name, _ in empty.shown] == events.columns("m__late")
    found = late(events, "id, v, mz_core")
    assert len({row[-1] for row in found}) == 3
    assert sorted((row[:-1] for row in found), key=str) == [
        (1000, 0, 901, 4, "x"), (1000, 500, 900, 4, "x"), (1000, 500, 900, None, "x")
    ]  # fmt: skip


def test_late_rows_that_are_gone(events: Project) -> None:
    """A run that would merge them says so in words. A full refresh begins anew."""
    events.model("m", f"select id, v from {events.schema}.t where {WINDOW}", store_late=True)
    events.run(now=T0)
    came(events, (4, "x", 500, 900))
    events.run(now=T0 + 1000)
    (table,) = (name for name in events.relations() if name.startswith("m__late_"))
    events.sql(f"DROP TABLE {{s}}.{table}")
    came(events, (5, "x", 500, 900))
    said = events.run(now=T0 + 2000, check=False).text
    assert f"ST502 found: m without its late rows {table}" in said and "dbt run --full-refresh -s m" in said
    events.run("--full-refresh", now=T0 + 2000)
    assert late(events) == []


@pytest.mark.landing
def test_late_rows_stay(events: Project) -> None:
    """Over restarts, consolidations and runs without the config. A full refresh begins anew, and drops them at last."""

    def model(**config: Any) -> None:
        events.model("m", f"select id, v from {events.schema}.t where {WINDOW}", diffs_retention=0, **config)

    model(store_late=True)
    events.run(now=T0)
    came(events, (4, "x", 500, 900))
    events.run(now=T0 + 1000)
    found = late(events)
    assert found == [(1000, 500, 900, 4, "x")]
    events.dbt("run-operation", "temporal_consolidate", "--args", "{model: m}")
    assert late(events) == found
    came(events, (5, "x", 500, 900), (6, "x", 500, 900))
    model()
    assert events.run(now=T0 + 2000).of("m").adapter_response["rows_late"] == 2
    assert late(events) == found
    model(store_late=True, expiration="1 hour")
    events.run(now=T0 + 3000)
    assert late(events) == found
    events.run("--full-refresh", now=T0 + 4000)
    assert late(events) == []
    model()
    events.run("--full-refresh", now=T0 + 5000)
    events.run("--full-refresh", now=T0 + 6000)
    assert not [row[1] for row in events.rows("SHOW TABLES IN {s}") if "__late" in row[1]]


def test_a_relation_of_that_name(events: Project) -> None:
    """Nothing takes the place of a relation that no run made."""
    events.sql("CREATE TABLE {s}.m__late AS SELECT 1 AS a")
    events.model("m", f"select id, v from {events.schema}.t where {WINDOW}", store_late=True)
    text = events.run(now=T0, check=False).text
    assert "m__late" in text and "found:" in text and "instead:" in text
    assert events.rows("SELECT * FROM {s}.m__late") == [(1,)]


@pytest.mark.landing
def test_late_rows_over_a_temporal_view(events: Project) -> None:
    """As changes of the view below: rows that it shows when the window above is over, and none that it loses."""
    t = f"{events.schema}.t"
    events.model("base", f"select id, v, lo, hi from {t} where mz_now() < hi + interval 5 seconds")
    events.model("top", f"select id, v from {{{{ ref('base') }}}} where {WINDOW}", store_late=True)
    events.run(now=T0)
    came(events, (4, "x", 500, 900), (4, "x", 500, 900), (5, "y", 500, 5000))
    events.run("-s", "base", now=T0 + 800)
    ran = events.run("-s", "top", now=T0 + 1000)
    assert "full" not in " | ".join(ran.of("top").adapter_response["inputs"])
    assert late(events, model="top") == [(1000, 800, 900, 4, "x")] * 2
    events.sql(f"CREATE TABLE {{s}}.kept AS SELECT * FROM {t} WHERE id NOT IN (2, 4)")
    events.sql(f"INSERT OVERWRITE {t} SELECT * FROM {{s}}.kept")
    events.run("-s", "base", now=T0 + 1700)
    ran = events.run("-s", "top", now=T0 + 2000)
    assert "full" not in " | ".join(ran.of("top").adapter_response["inputs"])
    assert late(events, model="top") == [(1000, 800, 900, 4, "x")] * 2
