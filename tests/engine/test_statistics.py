"""Statistics of files beside a model: what a rebuild reads by them, and what becomes of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.pruning.files import FilePruner
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import DAY, T0
from support.project import Project

pytestmark = pytest.mark.metastore

DAYS, A_DAY = 24, 1_000
COLUMNS = "id, sha2(CAST(id AS STRING), 512) AS pad, ts, ts - interval 9 days AS earlier, CAST(id % 7 AS INT) AS k"


def rows(first: int, last: int) -> str:
    """Of some days, the first is DAYS ago. Every tenth is without an instant; timestamps as INT96, so without help."""
    at = f"timestamp_millis({T0 - DAYS * DAY}L + CAST(id * {DAY / A_DAY!r}D AS BIGINT))"
    made = (
        f"SELECT id, IF(id % 10 = 0, NULL, {at}) AS ts FROM range({first * A_DAY}, {last * A_DAY}, 1, {last - first})"
    )
    json = "to_json(named_struct('at', CAST(ts AS STRING), 'n', id)) AS payload"
    return f"SELECT {COLUMNS}, {json} FROM ({made})"


def events(project: Project, partitioned: bool = False) -> None:
    if partitioned:
        day = "CAST(coalesce(ts, DATE'2024-03-01') AS DATE) AS day"
        made = f"SELECT /*+ REBALANCE(day) */ *, {day} FROM ({rows(0, DAYS)})"
        project.sql(f"CREATE TABLE {{s}}.events USING parquet PARTITIONED BY (day) AS {made}")
    else:
        project.sql(f"CREATE TABLE {{s}}.events USING parquet AS {rows(0, DAYS)}")


def told(ran: Any) -> str:
    return "\n".join(ran.adapter_response["pushdown"])


def is_right(project: Project, model: str, sql: str, *instants: int) -> None:
    for t in instants:
        wanted = f"({sql})".replace("mz_now()", f"timestamp_millis({t}L)")
        stored = as_of(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", model), t)
        assert project.rows(f"({wanted} EXCEPT ALL SELECT * FROM {stored})") == []
        assert project.rows(f"(SELECT * FROM {stored} EXCEPT ALL {wanted})") == []


SHAPES = {
    "plain": "select id, pad from {s}.events where mz_now() <= ts + interval 2 days",
    "json": "select id, pad from {s}.events "
    "where mz_now() <= cast(get_json_object(payload, '$.at') as timestamp) + interval 2 days",
    "month": "select id, pad from {s}.events where mz_now() < add_months(ts, 1) - interval 28 days and k < 5",
    "below": "select id, pad from {s}.named where mz_now() <= due and mz_now() >= date_trunc('HOUR', begins)",
    "inside": "with e as (select *, ts + interval 2 days as due from {s}.events where k <> 3) "
    "select e.id, pad, name from e join {s}.names n using (k) where mz_now() < e.due",
    "several": "select id, pad from (select id, pad, ts from {s}.events where k = 1 union all "
    "select id, pad, ts from {s}.events where k > 4) where mz_now() between ts and ts + interval 2 days",
    # the columns of `a.*` are ts, earlier: the join merges ts
    "merged": "select earlier from (select a.* from {s}.one a join {s}.one using (ts) union all select earlier, ts "
    "from {s}.events) where mz_now() <= earlier + interval 2 days",
    "groups": "select k, count(*) as n from {s}.events where mz_now() <= ts + interval 2 days group by k",
}


@pytest.mark.deep
def test_a_rebuild_reads_the_files_of_the_window(project: Project) -> None:
    """All that is left out is audited, so a file left out wrongly would fail the run."""
    events(project)
    project.sql("CREATE TABLE {s}.names USING parquet AS SELECT 4 AS k, 'd' AS name")
    project.sql("CREATE TABLE {s}.one (earlier TIMESTAMP, ts TIMESTAMP) USING parquet")
    project.sql(
        "CREATE VIEW {s}.named (id, pad, begins, due) AS "
        "SELECT id, pad, ts, ts + interval 2 days AS due FROM {s}.events WHERE ts IS NOT NULL"
    )
    shapes = {name: sql.replace("{s}", project.schema) for name, sql in SHAPES.items()}
    for name, sql in shapes.items():
        project.model(name, sql, expiration="1 day", pushdown="statistics", pushdown_audit=1)
    ran = project.run(now=T0)
    for name, sql in shapes.items():
        said = re.findall(r"events: statistics leave (\d+) of 24 files", told(ran.of(name)))
        assert said and all(int(left) < 6 for left in said), (name, told(ran.of(name)))
        is_right(project, name, sql, T0, T0 + DAY)


@pytest.mark.landing
def test_files_come_change_and_go(project: Project) -> None:
    """Only what nobody has measured is read for it; statistics of a file that is another one by now count no more."""
    events(project)
    sql = SHAPES["json"].replace("{s}", project.schema)
    project.model("m", sql, pushdown="statistics", expiration="1 day", diffs_retention="0")
    assert f"leave 2 of {DAYS} files" in told(project.run(now=T0).of("m"))
    first = project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'")
    assert len(first) == 1
    project.run("--full-refresh", now=T0 + 1)
    assert project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'") == first  # nothing new, so nothing was measured
    project.sql(f"INSERT INTO {{s}}.events {rows(DAYS, DAYS + 1)}")
    ran = project.run("--full-refresh", now=T0 + DAY)
    assert f"leave 2 of {DAYS + 1} files" in told(ran.of("m"))
    is_right(project, "m", sql, T0 + DAY, T0 + 2 * DAY)
    script = (project.path / "target/run/proj/models/m.sql").read_text()
    assert script.count("WHERE _metadata.file_name IN (") == 1 and "what is known of the inputs' files" in script
    # an old file is written anew under its name, with rows of today
    name, path = project.rows(
        "SELECT _metadata.file_name, min(_metadata.file_path) FROM {s}.events GROUP BY 1 ORDER BY min(id) LIMIT 1"
    )[0]
    replace_file(project, path, f"SELECT {COLUMNS}, payload FROM ({rows(DAYS, DAYS + 1)})")
    ran = project.run("--full-refresh", now=T0 + DAY + 1)
    assert f"leave 3 of {DAYS + 1} files" in told(ran.of("m"))
    is_right(project, "m", sql, T0 + DAY + 1)
    # and it is gone
    remove_file(project, path)
    assert f"leave 2 of {DAYS} files" in told(project.run("--full-refresh", now=T0 + DAY + 2).of("m"))
    is_right(project, "m", sql, T0 + DAY + 2)
    assert len(project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'")) == 1


@pytest.mark.landing
def test_partitions_that_cannot_matter(project: Project) -> None:
    """Said by their values, so that Spark does not even list their files; what comes into one later is read."""
    events(project, partitioned=True)
    sql = f"select id, day from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown="statistics", expiration="1 day")
    project.run(now=T0)
    script = " ".join((project.path / "target/run/proj/models/m.sql").read_text().split()).replace("( ", "(")
    assert "_metadata.file_path IN" not in script
    assert "NOT `day` IN (CAST('2024-02-06' AS DATE)" in script and "CAST('2024-03-01' AS DATE)" not in script
    is_right(project, "m", sql, T0, T0 + DAY)
    late = f"SELECT id + 1000000, pad, ts, earlier, k, payload, DATE'2024-02-06' FROM ({rows(DAYS - 1, DAYS)})"
    project.sql(f"INSERT INTO {{s}}.events {late}")
    project.model("m", sql, pushdown="statistics", expiration="1 day", pushdown_collect=False)
    project.run("--full-refresh", now=T0 + 1)
    is_right(project, "m", sql, T0 + 1)
    project.model("m", sql, pushdown="statistics", expiration="1 day")
    project.run("--full-refresh", now=T0 + 2)
    is_right(project, "m", sql, T0 + 2)


@pytest.mark.deep
def test_partitions_are_listed_seldom(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is opened for a list: at the beginning, for what is remembered, and after the write."""
    events(project, partitioned=True)
    sql = f"select id, day from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown="statistics")
    project.run(now=T0)
    seen: list[str] = []
    plain = type(project.spark).sql
    monkeypatch.setattr(
        type(project.spark), "sql", lambda *args, **kwargs: (seen.append(args[1]), plain(*args, **kwargs))[1]
    )
    ran = project.run("--full-refresh", now=T0 + 1)
    assert "statistics leave" in told(ran.of("m")) and ran.of("m").adapter_response["rows_in"] == DAYS * A_DAY
    assert len([sql for sql in seen if "_metadata.file_modification_time" in sql]) == 3
    # the rows of a small table are counted by the look after the write, not by a statement of their own
    assert [sql.count("AS mz_arm") > 1 for sql in seen if "(SELECT count(*) FROM" in sql] == [True]


@pytest.mark.deep
def test_a_file_without_rows_is_looked_at_once(project: Project) -> None:
    events(project)
    project.sql("INSERT INTO {s}.events SELECT * FROM {s}.events WHERE id < 0")
    project.model("m", SHAPES["json"].replace("{s}", project.schema), pushdown="statistics")
    assert f"leave 3 of {DAYS + 1} files" in told(project.run(now=T0).of("m"))
    first = project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'")
    assert f"leave 3 of {DAYS + 1} files" in told(project.run("--full-refresh", now=T0 + 1).of("m"))
    assert project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'") == first


@pytest.mark.landing
def test_an_audit_finds_what_statistics_hide(project: Project) -> None:
    events(project)
    sql = f"select id from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown="statistics", pushdown_audit=1)
    project.run(now=T0)
    before = project.rows("SELECT * FROM {s}.m__diffs")
    ((_, table, _),) = project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'")
    project.sql(f"CREATE TABLE {{s}}.copied USING parquet AS SELECT * FROM {{s}}.{table}")
    damaged = "SELECT * EXCEPT (mz_max_0), mz_max_0 - interval 20 days AS mz_max_0 FROM {s}.copied"
    listed = ", ".join(name for name, *_ in project.rows(f"DESCRIBE {{s}}.{table}"))
    project.sql(f"INSERT OVERWRITE {{s}}.{table} SELECT {listed} FROM ({damaged})")
    refused = project.run("--full-refresh", now=T0 + 1, check=False).text
    assert "which holds rows that matter from 2024-03-01 12:00:00.001 UTC on, though" in refused
    assert "mz_now() <= " in refused and "max of `ts`: 2024-02-" in refused and "nothing was committed" in refused
    assert project.rows("SELECT * FROM {s}.m__diffs") == before
    assert len(project.rows("SHOW TABLES IN {s} LIKE 'm__diffs_*'")) == 1
    project.sql(f"DROP TABLE {{s}}.{table}")
    project.run("--full-refresh", now=T0 + 2)
    is_right(project, "m", sql, T0 + 2)


@pytest.mark.landing
def test_files_that_are_compacted_while_they_are_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the listing and the read: what is left out by name is gone, and must not be missing from the answer."""
    events(project)
    sql = f"select id from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown="statistics", change_capture="full")
    project.run(now=T0)
    summary, done = FilePruner.summary, []

    def compacted(parts: FilePruner, *args: Any) -> list[str]:
        found = summary(parts, *args)
        if not done:
            done.append(found)
            whole = project.spark.table(f"{project.schema}.events").localCheckpoint()
            whole.coalesce(1).write.insertInto(f"{project.schema}.events", overwrite=True)
        return found

    monkeypatch.setattr(FilePruner, "summary", compacted)
    ran = project.run(now=T0 + 1).of("m")
    assert done and "leave 1 of 1 file" in told(ran) and ran.adapter_response["rows_written"] == 0
    is_right(project, "m", sql, T0 + 1, T0 + DAY)


@pytest.mark.parametrize("kind", ["orc", "csv"])
@pytest.mark.landing
def test_partitions_of_other_formats(project: Project, kind: str) -> None:
    """Their files are listed by all of their rows."""
    project.sql(
        f"CREATE TABLE {{s}}.events USING {kind} PARTITIONED BY (k) AS SELECT id, "
        f"timestamp_millis({T0}L - id * {DAY}L) AS ts, id DIV 5 AS k FROM range(20)"
    )
    sql = f"select id, k from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown="statistics")
    assert "statistics leave 1 of " in told(project.run(now=T0).of("m"))
    is_right(project, "m", sql, T0, T0 + DAY)


def test_malformed_rows_depend_on_what_is_read(project: Project, tmp_path: Path) -> None:
    """A row of which only another column is malformed is none to those who do not read that one: the table is refused.

    Spark leaves out the column of a query that counts, and a part of the model may read other columns than the query.
    """
    (tmp_path / "a.csv").write_text("1,abc,2030-01-01 00:00:00\n2,1,2030-01-01 00:00:00\n")
    project.sql(
        f"CREATE TABLE {{s}}.t (id INT, a INT, ts TIMESTAMP) USING csv OPTIONS (mode 'DropMalformed') "
        f"LOCATION '{tmp_path.as_uri()}'"
    )
    assert [project.count("t"), *project.rows("SELECT count(a) FROM {s}.t")] == [2, (1,)]
    sql = f"select count(*) as n, sum(case when mz_now() < ts then a end) as total from {project.schema}.t"
    project.model("m", sql)
    text = project.run(now=T0, check=False).text
    assert "t with the option mode: DROPMALFORMED" in text and "instead: a table with the rows" in text
    project.sql(
        "DROP TABLE {s}.t; CREATE TABLE {s}.t (id INT, a INT, ts TIMESTAMP, _corrupt_record STRING) USING csv "
        f"LOCATION '{tmp_path.as_uri()}'"
    )
    rows = f"with r as (select * from {project.schema}.t where mz_now() < ts) select"
    project.model("m", f"{rows} id, _corrupt_record as r from r order by id limit 100")
    assert "_corrupt_record of spark_catalog." in project.run(now=T0, check=False).text
    project.model("m", sql := f"select id, a from {project.schema}.t where mz_now() < ts")
    project.run(now=T0)
    is_right(project, "m", sql, T0)


@pytest.mark.landing
def test_blocks_of_files_are_refused(project: Project) -> None:
    """Where Spark cuts a file depends on the settings, on the cores and on the other files."""
    project.sql("CREATE TABLE {s}.t USING parquet AS SELECT id, timestamp'2030-01-01' AS ts FROM range(3)")
    table = f"{project.schema}.t"
    for item in ("_metadata.file_block_length", "_metadata", "struct(_metadata.*)"):
        project.model("m", f"select id, {item} as b from {table} where mz_now() < ts")
        text = project.run(now=T0, check=False).text
        assert f"_metadata of spark_catalog.{table}, with file_block_start" in text, text
        assert "instead: the fields that the model needs by their names, such as _metadata.file_path" in text
    project.model("m", sql := f"select id, _metadata.file_name as f from {table} where mz_now() < ts")
    project.run(now=T0)
    is_right(project, "m", sql, T0)


@pytest.mark.landing
def test_columns_without_statistics(project: Project) -> None:
    """Spark pads a text to the length of the CHAR it is compared with, and of intervals none is the least."""
    project.sql(
        "CREATE TABLE {s}.t (id INT, k CHAR(5), days INT, ts TIMESTAMP) USING parquet; "
        f"INSERT INTO {{s}}.t VALUES (1, 'abc', 2, timestamp_millis({T0 - DAY}L))"
    )
    texts = {
        "padded": f"select id from {project.schema}.t where k = 'abc' and mz_now() < ts + interval 2 days",
        "moved": f"select id from {project.schema}.t where mz_now() < ts + make_interval(0, 0, 0, days)",
    }
    for name, sql in texts.items():
        project.model(name, sql, pushdown="statistics")
    project.run(now=T0)
    for name, sql in texts.items():
        is_right(project, name, sql, T0, T0 + DAY)


@pytest.mark.parametrize("pushdown, bucketed", [("statistics", False), ("sargable", True)])
@pytest.mark.landing
def test_a_chain_of_what_is_left_is_no_large_one(
    project: Project, monkeypatch: pytest.MonkeyPatch, pushdown: str, bucketed: bool
) -> None:
    """Its input is large, the files that matter are not: it is written as of those, without a shuffle."""
    monkeypatch.setattr(chains, "LARGE_CHAIN", 5 * A_DAY)
    events(project)
    project.model("m", SHAPES["plain"].replace("{s}", project.schema), pushdown=pushdown)
    assert project.run(now=T0).success
    state = project.state()
    assert [c.bucketed for c in state.chains] == [bucketed]
    is_right(project, "m", SHAPES["plain"].replace("{s}", project.schema), T0, T0 + DAY)


@pytest.mark.deep
def test_what_cannot_be_measured_is_read(project: Project) -> None:
    """An error of an expression that the query itself never computes is no reason for a run to fail."""
    events(project)
    guarded = "case when k < 0 then cast(raise_error(pad) as timestamp) else ts end"
    sql = f"select id from {project.schema}.events where mz_now() <= {guarded} + interval 2 days"
    project.model("m", sql, pushdown="statistics")
    ran = project.run(now=T0).of("m")
    assert "no statistics were collected: " in told(ran) and "files" not in told(ran)
    is_right(project, "m", sql, T0)
    assert project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'") == []


@pytest.mark.deep
def test_statistics_before_they_are_used(project: Project) -> None:
    events(project)
    sql = f"select id from {project.schema}.events where mz_now() <= ts + interval 2 days"
    project.model("m", sql, pushdown_collect=True, pushdown_columns=["k"])
    assert "statistics leave" not in told(project.run(now=T0).of("m"))
    before = project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'")
    assert len(before) == 1
    project.model("m", sql, pushdown="statistics", pushdown_collect=False, pushdown_required=["events"])
    assert f"leave 2 of {DAYS} files" in told(project.run("--full-refresh", now=T0 + 1).of("m"))
    assert project.rows("SHOW TABLES IN {s} LIKE 'm__stats_*'") == before
    explained = project.dbt("run-operation", "temporal_explain_pushdown", "--args", "{model: m}", now=T0).text
    assert f"statistics leave 2 of {DAYS} files" in explained and "of `ts`: 24 rows in " in explained


@pytest.mark.deep
def test_statistics_that_are_only_kept_are_not_what_is_required(project: Project) -> None:
    events(project)
    sql = SHAPES["json"].replace("{s}", project.schema)
    project.model("m", sql, pushdown_collect=True, pushdown_required=["events"])
    assert "pushdown_required" in project.run(now=T0, check=False).text
    project.model("m", sql, pushdown="statistics", pushdown_required=["events"])
    assert f"leave 2 of {DAYS} files" in told(project.run(now=T0).of("m"))


def test_configs_of_statistics_that_cannot_be_used(project: Project) -> None:
    project.model("m", "select 1 as a", pushdown_collect="maybe", pushdown_columns="ts", pushdown_audit=2)
    text = project.run(check=False).text
    for found in ("pushdown_collect: 'maybe'", "pushdown_columns: 'ts'", "pushdown_audit: 2"):
        assert found in text
    assert "a number from 0 to 1" in text


def replace_file(project: Project, path: str, sql: str) -> None:
    """A file -> another of the same name."""
    place = Path(unquote(urlparse(path).path))
    folder = place.parent / "_new"
    project.spark.sql(sql.replace("{s}", project.schema)).coalesce(1).write.parquet(str(folder))
    made = next(folder.glob("*.parquet"))
    place.with_name(f".{place.name}.crc").unlink(missing_ok=True)
    made.replace(place)
    shutil.rmtree(folder)
    project.sql("REFRESH TABLE {s}.events")


def remove_file(project: Project, path: str) -> None:
    Path(unquote(urlparse(path).path)).unlink()
    project.sql("REFRESH TABLE {s}.events")
