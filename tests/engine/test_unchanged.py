"""Inputs that are known to be as the last run read them: no query reads their rows again."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.temporal.sql.spark import plans
from support.instants import T0
from support.project import Project


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(20)")
    return project


def statements(project: Project, monkeypatch: pytest.MonkeyPatch, now: int) -> tuple[str, list[str]]:
    """A run: what it says, and the statements it gave to Spark."""
    seen: list[str] = []
    plain = type(project.spark).sql

    def spy(session: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        seen.append(sql)
        return plain(session, sql, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(type(project.spark), "sql", spy)
        said = project.run(now=now).of("m").message
    return said, seen


def count_at(project: Project, t: int) -> int:
    return project.rows(f"select count(*) from {project.at('m', t)}")[0][0]


def test_nothing_is_read_again(events: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    recent = f"with recent as (select id from {events.schema}.t where mz_now() < hi) select id from recent"
    events.model("m", recent)  # with a CTE, which Spark numbers from the start of the session
    events.run(now=T0)
    said, seen = statements(events, monkeypatch, T0 + 1000)
    assert "OK unchanged" in said
    assert not [s for s in seen if " mz_chain" in s or "mz_intervals" in s and not s.startswith("ALTER VIEW")]
    assert count_at(events, T0 + 1000) == 18
    events.sql(f"INSERT INTO {{s}}.t SELECT 99, timestamp_millis({T0}L + 99000)")
    said, seen = statements(events, monkeypatch, T0 + 2000)
    assert "advanced, 1 row" in said and [s for s in seen if " mz_chain" in s]
    assert "unchanged" in statements(events, monkeypatch, T0 + 3000)[0] and count_at(events, T0 + 3000) == 17


@pytest.mark.landing
def test_a_view_between_that_says_something_else(events: Project) -> None:
    """The files are the same, what is read of them is not: also in a column that a shortened plan does not show."""
    wide = ", ".join(f"id + {i} AS c{i}" for i in range(40))
    events.sql(f"CREATE VIEW {{s}}.v AS SELECT *, {wide} FROM {{s}}.t WHERE id < 10")
    events.model("m", f"select id, c39 from {events.schema}.v where mz_now() < hi")
    events.run(now=T0)
    assert "unchanged" in events.run(now=T0 + 1000).of("m").message
    events.sql(f"ALTER VIEW {{s}}.v AS SELECT *, {wide} FROM {{s}}.t WHERE id < 15")
    assert "advanced, 5 rows" in events.run(now=T0 + 1000).of("m").message
    assert count_at(events, T0 + 1000) == 13
    events.sql(f"ALTER VIEW {{s}}.v AS SELECT *, {wide.replace('id + 39', 'id + 38')} FROM {{s}}.t WHERE id < 15")
    said = events.run(now=T0 + 1000).of("m")
    assert "advanced, 26 rows" in said.message
    assert "full (a view below changed), 20 rows read" in said.adapter_response["inputs"][0]
    assert "unchanged" in events.run(now=T0 + 2000).of("m").message


@pytest.mark.deep
def test_what_cannot_be_told_is_read_again(events: Project) -> None:
    """Files named by their path, and views of a session."""
    folder = events.path / "files"
    events.spark.table(f"{events.schema}.t").where("id < 10").write.parquet(str(folder))
    events.model("m", f"select id from parquet.`{folder}` where mz_now() < hi")
    events.run(now=T0)
    assert "OK unchanged" in events.run(now=T0).of("m").message  # found by reading
    events.spark.table(f"{events.schema}.t").where("id = 15").write.mode("append").parquet(str(folder))
    assert "advanced, 1 row" in events.run(now=T0 + 1000).of("m").message
    rows = [(1, "a"), (2, "b")]
    events.spark.createDataFrame(rows, "id int, name string").createOrReplaceTempView("names")
    read = f"select t.id, n.name from {events.schema}.t join names n on t.id = n.id where mz_now() < hi"
    events.model("m", read)
    events.run("--full-refresh", now=T0 + 1000)
    events.spark.createDataFrame([*rows, (3, "c")], "id int, name string").createOrReplaceTempView("names")
    said = events.run(now=T0 + 1500).of("m")
    assert "advanced, 1 row" in said.message
    assert (
        "t: full (`names` is a temporary view, whose text is not told), 20 rows read"
        in said.adapter_response["inputs"][0]
    )


@pytest.mark.deep
def test_partitions_that_may_be_renamed(events: Project) -> None:
    """The files of an external table may stay while its partitions change."""
    folder = events.path / "external"
    events.sql(
        f"CREATE TABLE {{s}}.p (id BIGINT, hi TIMESTAMP, part INT) USING parquet PARTITIONED BY (part) "
        f"LOCATION '{folder}'; INSERT INTO {{s}}.p PARTITION (part = 1) SELECT * FROM {{s}}.t WHERE id < 10"
    )
    events.model("m", f"select id, part from {events.schema}.p where mz_now() < hi")
    events.run(now=T0)
    assert "unchanged" in events.run(now=T0).of("m").message
    events.sql("ALTER TABLE {s}.p PARTITION (part = 1) RENAME TO PARTITION (part = 2)")
    events.run(now=T0 + 1)
    read = f"select distinct part from {events.at('m', T0 + 1)}"
    assert events.rows(read) == [(2,)]


@pytest.mark.deep
def test_options_of_text_files(events: Project) -> None:
    """The same files, read otherwise."""
    folder = events.path / "texts"
    events.sql(
        f"CREATE TABLE {{s}}.c (id INT, name STRING) USING csv LOCATION '{folder}'; "
        "INSERT INTO {s}.c VALUES (1, 'a'), (2, 'bc')"
    )
    joined = f"select t.id, c.name from {events.schema}.t join {events.schema}.c on t.id = c.id where mz_now() < hi"
    events.model("m", joined)
    events.run(now=T0)
    events.sql("INSERT INTO {s}.c VALUES (3, 'c')")
    said = events.run(now=T0 + 1)
    assert "advanced, 1 row" in said.of("m").message
    assert "unchanged" in events.run(now=T0 + 1).of("m").message
    events.sql(
        "DROP TABLE {s}.c; CREATE TABLE {s}.c (id INT, name STRING) USING csv OPTIONS (escape 'b') "
        f"LOCATION '{folder}'"
    )
    said = events.run(now=T0 + 2).of("m")
    assert "full (its columns, place or options changed, or it was made anew)" in str(said.adapter_response["inputs"])


def test_leaves_of_a_plan() -> None:
    known = "k: int\nProject [k#0]\n+- Filter exists#3 [k#0]\n   :  +- OneRowRelation\n   +- SubqueryAlias c.s.t\n"
    assert plans.tables_read(known + "      +- Relation c.s.t[k#0,v#1] parquet") == ["c.s.t"]
    assert plans.tables_read(known + "      +- RelationV2[k#0] c.s.t c.s.t") == ["c.s.t"]
    assert plans.tables_read(known + "      +- Relation c.s.t[k#0] JDBCRelation(x)") == ["c.s.t"]
    hive = "      +- HiveTableRelation [`c`.`s`.`t`, org.apache.hadoop.hive.serde2.Lazy, Data Cols: [k#0]]"
    assert plans.tables_read(known + hive) == ["c.s.t"]
    assert plans.tables_read(known.replace("exists#3", "(rand(1) < k#0)") + hive) is None
    for leaf in (
        "Relation [k#0] parquet",
        "LogicalRDD [k#0], false",
        "Relation",
    ):
        assert plans.tables_read(known + f"      +- {leaf}") is None
