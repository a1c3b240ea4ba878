"""temporal_views whose chains are Iceberg tables, over Iceberg tables, as Iceberg views: `make test-lake`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.instants import T0
from support.project import Project
from support.session import in_the_default_catalog

DOCS = {"relation": True, "columns": True}


@pytest.fixture
def events(project: Project) -> Project:
    """Ten events, a second apart; a model that keeps each for half a minute."""
    project.sql(
        "CREATE TABLE {s}.events USING iceberg AS "
        f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range(10)"
    )
    recent = f"select id, ts from {project.schema}.events where mz_now() < ts + interval 30 seconds"
    project.model("m", recent, file_format="iceberg", persist_docs=DOCS, expiration="1 day")
    describe(project, "the events of half a minute, and who's who")
    return project


def describe(project: Project, text: str) -> None:
    columns = [{"name": "id", "description": f"a number; {text}"}]
    tests: list[Any] = ["temporal_matches_source", "temporal_diffs_consistent", "temporal_not_expired"]
    model = {"name": "m", "description": text, "columns": columns, "data_tests": tests}
    project.write("models/schema.yml", json.dumps({"models": [model]}))


def details(project: Project, relation: str) -> dict[str, str]:
    return {r[0]: r[1] for r in project.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{relation}")}


def test_corrections_and_merges(events: Project) -> None:
    """Inserts, deletes and updates of an Iceberg input, through more runs than chains are kept."""
    assert "hydrated, 10 rows" in events.run(now=T0).of("m").message
    for step in range(1, 12):
        events.sql(f"INSERT INTO {{s}}.events VALUES ({100 + step}, timestamp_millis({T0 + step}L))")
        events.sql(f"DELETE FROM {{s}}.events WHERE id = {step - 1}")
        events.sql(f"UPDATE {{s}}.events SET ts = timestamp_millis({T0 + 500}L) WHERE id = {99 + step}")
        assert "advanced" in events.run(now=T0 + step * 1000).of("m").message
        assert all(r.status == "pass" for r in events.dbt("test", now=T0 + step * 1000).results)
    assert "unchanged" in events.run(now=T0 + 12_000).of("m").message
    chains = [r[1] for r in events.rows("SHOW TABLES IN {s}") if "m__diffs_" in r[1]]
    assert {details(events, chain)["Provider"] for chain in chains} == {"iceberg"}
    before = events.render(f"select * from {{{{ temporal_as_of(ref('m'), {T0 + 12_000}) }}}}")
    assert events.rows(f"SELECT count(*) FROM ({before})") == [(11,)]
    assert events.rows("SELECT sum(mz_diff) FROM {s}.m__diffs") == [(0,)]


def test_snapshots_tell_what_changed(events: Project) -> None:
    """Also those of a branch, which a model may read while `main` stays as it was."""
    events.sql("ALTER TABLE {s}.events CREATE BRANCH side")
    branch = f"select id from {events.schema}.events version as of 'side' where mz_now() < ts + interval 30 seconds"
    events.model("b", branch, file_format="iceberg")
    events.run(now=T0)
    again = events.run(now=T0 + 1)
    for name in ("m", "b"):
        assert again.of(name).adapter_response["reason"] == "no input changed"
    events.sql(f"INSERT INTO {{s}}.events.branch_side VALUES (77, timestamp_millis({T0}L))")
    said = events.run(now=T0 + 2).of("b")
    assert "advanced, 1 row" in said.message
    assert said.adapter_response["inputs"][0].endswith("events: changes (1 snapshot, append only), 1 row read")
    assert events.rows("SELECT count(*) FROM {s}.m__diffs WHERE mz_diff > 0") == [(10,)]


def test_statistics_that_a_table_keeps_itself(events: Project) -> None:
    """Iceberg has its own of each file: there the comparisons of columns do it, and nothing is measured."""
    sql = f"select id from {events.schema}.events where mz_now() < ts + interval 30 seconds"
    events.model("m", sql, file_format="iceberg", pushdown="statistics", pushdown_required=["events"])
    said = events.run(now=T0 + 5_000).of("m").adapter_response["pushdown"]
    assert said[0].startswith("c0: ts >= timestamp_millis(") and "no statistics are kept of what is no table" in said[1]
    assert not [name for _, name, _ in events.rows("SHOW TABLES IN {s}") if "m__stats_" in name]
    told = events.dbt("run-operation", "temporal_explain_pushdown", "--args", "{model: m}", now=T0).text
    files, size = events.rows("SELECT count(*), sum(file_size_in_bytes) FROM {s}.events.files")[0]
    assert f"events | {files} files, {size:,} bytes" in " ".join(told.split())


def test_docs_live_on_the_view(events: Project) -> None:
    events.run(now=T0)
    assert "ICEBERG-VIEW" in details(events, "m")["Table Properties"]
    for text in ("the events of half a minute, and who's who", "another text"):
        describe(events, text)
        events.sql(f"INSERT INTO {{s}}.events VALUES (50, timestamp_millis({T0}L))")
        events.run(now=T0 + len(text))
        assert details(events, "m")["Comment"] == text
        comments = {r[0]: r[2] for r in events.rows("DESCRIBE TABLE {s}.m")}
        assert comments == {"id": f"a number; {text}", "ts": None}
    events.run("--full-refresh", now=T0 + 1000)
    assert details(events, "m")["Comment"] == "another text"


def test_in_and_out_of_every_materialization(events: Project) -> None:
    recent = f"select id, ts from {events.schema}.events where mz_now() < ts + interval 30 seconds"
    for kind in ("temporal_view", "table", "temporal_view", "view", "temporal_view", "incremental", "temporal_view"):
        events.model("m", recent, file_format="iceberg", materialized=kind)
        events.run(now=T0)
        content = "m__diffs" if kind == "temporal_view" else "m"
        assert kind == "view" or len(events.rows(f"SELECT * FROM {{s}}.{content}")) >= 10
    listed = sorted(r[1] for r in events.rows("SHOW TABLES IN {s}") if r[1].startswith("m"))
    assert [name for name in listed if "__diffs_" not in name] == ["m", "m__diffs", "m__live"]


def test_a_reader_beside_runs(events: Project) -> None:
    """A commit replaces the view in one step: readers see every state whole, and never none."""
    later = T0 * 2  # a clock that a live read never reaches: reads are at the frontier
    events.sql(f"INSERT INTO {{s}}.events SELECT id, timestamp_millis({later}L) FROM range(100, 110)")
    events.run(now=later)
    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        done = False

        def read() -> None:
            while not done:
                seen.append(events.rows("SELECT count(*) FROM {s}.m")[0][0])

        reader = pool.submit(read)
        for step in range(1, 7):
            events.sql(f"INSERT INTO {{s}}.events VALUES ({step}, timestamp_millis({later}L))")
            events.run(now=later + step)
        done = True
        reader.result()
    assert seen == sorted(seen) and len(set(seen)) > 2, seen
    assert events.rows("SELECT count(*) FROM {s}.m") == [(16,)]


def test_a_catalog_that_the_profile_does_not_name(events: Project) -> None:
    events.spark.sql(f"CREATE NAMESPACE files.{events.schema}")
    events.spark.sql("USE files")
    try:
        events.model("m", f"select id from spark_catalog.{events.schema}.events where mz_now() < ts", expiration="0")
        result = events.run(now=T0, check=False)
        assert "found: a session in the catalog files, which the profile does not name" in result.text
        assert "instead: catalog: files in the profile" in result.text
        assert not events.spark.sql(f"SHOW TABLES IN files.{events.schema}").collect()
    finally:
        in_the_default_catalog(events.spark)


def read_as(project: Project, after: int, column: str = "id") -> tuple[str, str]:
    """A run: what dbt prints of it, and how it read its input. The view is right after it."""
    ran = project.run(now=T0 + after).of("m")
    read = project.render(f"select id from {{{{ temporal_as_of(ref('m'), {T0 + after}) }}}}")
    oracle = f"SELECT {column} FROM {{s}}.events WHERE timestamp_millis({T0 + after}L) < ts + interval 30 seconds"
    assert sorted(map(str, project.rows(read))) == sorted(str(tuple(row)) for row in project.rows(oracle))
    return ran.message, ran.adapter_response["inputs"][0].partition("events: ")[2]


def test_changes_alone(events: Project) -> None:
    """Snapshots that append, that rewrite files, that rewrite nothing but files; and what they cannot tell."""
    events.run(now=T0)
    events.sql(f"INSERT INTO {{s}}.events VALUES (20, timestamp_millis({T0}L))")
    events.sql(f"INSERT INTO {{s}}.events VALUES (21, timestamp_millis({T0}L)), (20, timestamp_millis({T0}L))")
    message, told = read_as(events, 1)
    assert "advanced, 3 rows" in message and told == "changes (2 snapshots, append only), 3 rows read"
    events.sql("DELETE FROM {s}.events WHERE id = 21")
    message, told = read_as(events, 2)
    assert "advanced, 1 row" in message and told.startswith("changes (1 snapshot), ")
    events.sql(
        f"CALL spark_catalog.system.rewrite_data_files('{events.schema}.events', options => map('rewrite-all', 'true'))"
    )
    message, told = read_as(events, 3)
    assert "unchanged" in message and told.startswith("changes (1 snapshot, append only), 0 rows")
    before = events.rows("SELECT snapshot_id FROM {s}.events.refs")[0][0]
    events.sql(f"INSERT INTO {{s}}.events (id, ts) VALUES (31, timestamp_millis({T0}L))")
    read_as(events, 6)
    events.sql(f"CALL spark_catalog.system.rollback_to_snapshot('{events.schema}.events', {before})")
    message, told = read_as(events, 7)
    assert "full (" in told and "advanced, 1 row" in message


def test_a_column_that_is_another_one(events: Project) -> None:
    """No snapshot says so: what a column of that name held is NULL now."""
    events.sql("ALTER TABLE {s}.events ADD COLUMN v BIGINT")
    events.sql("UPDATE {s}.events SET v = id + 100")
    recent = f"select v as id from {events.schema}.events where mz_now() < ts + interval 30 seconds"
    events.model("m", recent)
    assert "hydrated, 10 rows" in read_as(events, 0, "v")[0]
    events.sql("ALTER TABLE {s}.events DROP COLUMN v; ALTER TABLE {s}.events ADD COLUMN v BIGINT")
    message, told = read_as(events, 1, "v")
    assert "advanced, 20 rows" in message and told.startswith("full (its schema changed)")
    events.sql(f"INSERT INTO {{s}}.events VALUES (30, timestamp_millis({T0}L), 7)")
    assert read_as(events, 2, "v")[1].startswith("changes (1 snapshot, append only), 1 row")


def test_changes_by_delete_files(events: Project) -> None:
    events.sql(
        "ALTER TABLE {s}.events SET TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    events.run(now=T0)
    events.sql("DELETE FROM {s}.events WHERE id IN (3, 4)")
    message, told = read_as(events, 1)
    assert "advanced, 2 rows" in message and "Delete files are currently not supported" in told
    assert told.startswith("full (what snapshot ")


def test_changes_of_both_sides_of_a_join(events: Project) -> None:
    events.sql("CREATE TABLE {s}.names USING iceberg AS SELECT id % 3 AS k, concat('n', id) AS name FROM range(3)")
    joined = "select e.id, n.name from {e} e join {n} n on e.id % 3 = n.k where {now} < e.ts + interval 30 seconds"
    tables = {"e": f"{events.schema}.events", "n": f"{events.schema}.names"}
    events.model("j", joined.format(now="mz_now()", **tables))
    events.run(now=T0)
    for step in range(1, 4):
        events.sql(f"INSERT INTO {{s}}.events VALUES ({40 + step}, timestamp_millis({T0}L))")
        events.sql(f"DELETE FROM {{s}}.names WHERE name = 'n{step - 1}'")
        events.sql(f"INSERT INTO {{s}}.names VALUES ({step % 3}, 'x{step}')")
        ran = events.run(now=T0 + step).of("j")
        assert all("changes" in line for line in ran.adapter_response["inputs"])
        read = events.render(f"select * from {{{{ temporal_as_of(ref('j'), {T0 + step}) }}}}")
        oracle = joined.format(now=f"timestamp_millis({T0 + step}L)", **tables)
        assert sorted(events.rows(read)) == sorted(events.rows(oracle))


def test_changes_of_a_table_read_twice(events: Project) -> None:
    """In one statement Spark gives all reads of one name the options of the first; and the snapshot before the changes
    is read under the schema of its commit, where a column that was dropped and added again still has its old values."""
    events.sql("ALTER TABLE {s}.events ADD COLUMN v BIGINT; UPDATE {s}.events SET v = id")
    joined = (
        "select a.id, a.v, b.v as other from {t} a join {t} b on a.id % 3 = b.id % 3 and {now} < a.ts "
        "+ interval 30 seconds union all select id, v, -1 from {t} where {now} < ts + interval 30 seconds"
    )
    table = f"{events.schema}.events"
    events.model("j", joined.format(now="mz_now()", t=table))
    insert = f"INSERT INTO {{s}}.events VALUES ({{n}}, timestamp_millis({T0}L), {{n}})"
    commits = (
        "", insert, "DELETE FROM {s}.events WHERE id = 4",
        "ALTER TABLE {s}.events DROP COLUMN v; ALTER TABLE {s}.events ADD COLUMN v BIGINT", insert, insert,
    )  # fmt: skip
    told = []
    for after, commit in enumerate(commits):
        events.sql(commit.replace("{n}", str(50 + after)))
        told.append(events.run(now=T0 + after).of("j").adapter_response["inputs"][0].partition(", ")[0])
        oracle = events.rows(joined.format(now=f"timestamp_millis({T0 + after}L)", t=table))
        assert sorted(map(str, events.rows(f"SELECT * FROM {events.at('j', T0 + after)}"))) == sorted(map(str, oracle))
    assert [": changes (" in line for line in told] == [False, True, True, False, False, True], told


def test_hidden_columns(events: Project) -> None:
    """What they show changes with the files, and `_partition` with a field of partitions that no row is in yet."""
    shown = "select id, cast(_partition as string) as p, _file as f from {t} where {now} < ts + interval 30 seconds"
    table = f"{events.schema}.events"
    events.model("h", shown.format(now="mz_now()", t=table))
    commits = (
        "", "ALTER TABLE {s}.events ADD PARTITION FIELD bucket(4, id)",
        f"INSERT INTO {{s}}.events VALUES (50, timestamp_millis({T0}L))",
        f"CALL spark_catalog.system.rewrite_data_files('{table}', options => map('rewrite-all', 'true'))",
    )  # fmt: skip
    for after, commit in enumerate(commits):
        events.sql(commit)
        events.run(now=T0 + after)
        oracle = events.rows(shown.format(now=f"timestamp_millis({T0 + after}L)", t=table))
        assert sorted(map(str, events.rows(f"SELECT * FROM {events.at('h', T0 + after)}"))) == sorted(map(str, oracle))


def test_nan_is_greater_than_all(project: Project) -> None:
    """Iceberg's metrics leave NaN out: a file of NaN and small numbers has no number above 0 by them."""
    project.sql(
        "CREATE TABLE {s}.t USING iceberg AS SELECT k, x, "
        f"timestamp_millis({T0 - 1000}L) AS lo, timestamp_millis({T0 + 60_000}L) AS hi "
        "FROM VALUES (1, -1D), (2, double('NaN')) AS v(k, x)"
    )
    of_one = "k = 1 and mz_now() >= hi"
    where = f"(mz_now() >= lo and mz_now() < hi and x > 0) or ({of_one})"
    project.model("m", f"select k from {project.schema}.t where {where}")
    project.run(now=T0)
    read = f"select k from {project.at('m', T0)}"
    assert project.rows(read) == [(2,)]


@pytest.mark.parametrize(
    "model",
    [
        "select id, c from {t} where c = date_format(mz_now(), 'yyyyMM')",
        "select row_number() over (order by id) as r, c = '202403' as is_march from {t} where mz_now() < hi",
    ],
)
def test_a_read_that_compares_a_char_is_refused(project: Project, model: str) -> None:
    """Iceberg has no CHAR: a read of its chains would compare the blanks."""
    project.sql(
        f"CREATE TABLE {{s}}.t (id BIGINT, c CHAR(8), hi TIMESTAMP) USING parquet; "
        f"INSERT INTO {{s}}.t VALUES (1, '202403', timestamp_millis({T0}L + 90000))"
    )
    project.model("m", model.format(t=f"{project.schema}.t"), file_format="iceberg")
    assert "a table of Iceberg has the column as a STRING" in project.run(now=T0, check=False).text
    project.model("m", f"select c, count(*) as n from {project.schema}.t where mz_now() < hi group by c")
    project.run(now=T0)
    assert project.rows(f"SELECT * FROM {project.at('m', T0)}") == [("202403  ", 1)]
