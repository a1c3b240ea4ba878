"""What a rebuild reads of its inputs: the window, not the history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.pushdown.sargable import Range, Sargable
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression
from support.instants import DAY, T0
from support.project import Project

DAYS, A_DAY = 24, 4_000


def history(project: Project, layout: str) -> None:
    """A file a day, the last one of today; every tenth row is without an instant."""
    rows = (
        f"SELECT id, sha2(CAST(id AS STRING), 512) AS payload, CAST(id % 7 AS INT) AS k, IF(id % 10 = 0, NULL, "
        f"timestamp_millis({T0 - DAYS * DAY}L + CAST(id * {DAY / A_DAY!r}D AS BIGINT))) AS ts "
        f"FROM range(0, {DAYS * A_DAY}, 1, {DAYS})"
    )
    rows = f"SELECT *, coalesce(CAST(ts AS DATE), DATE'2024-03-01') AS day FROM ({rows})"
    rows = f"SELECT *, date_format(day, 'yyyyMMdd') AS ds FROM ({rows})"
    if layout == "files":
        project.sql(f"CREATE TABLE {{s}}.events USING parquet AS {rows}")
    else:
        by = {"partitions": "day", "texts": "ds"}[layout]
        rows = f"SELECT /*+ REBALANCE({by}) */ * FROM ({rows})"
        project.sql(f"CREATE TABLE {{s}}.events USING parquet PARTITIONED BY ({by}) AS {rows}")


def bytes_read(project: Project) -> dict[int, int]:
    """From files, by each stage so far that Spark still knows."""
    gateway = project.spark.sparkContext._gateway
    listed = (
        project.spark._jsc.sc()
        .statusStore()
        .stageList(
            gateway.jvm.java.util.ArrayList(),
            False,
            False,
            gateway.new_array(gateway.jvm.double, 0),
            gateway.jvm.java.util.ArrayList(),
        )
    )
    stages = [listed.apply(i) for i in range(listed.size())]
    return {stage.stageId(): stage.inputBytes() for stage in stages}


WINDOWS = {
    "plain": "{now} <= ts + interval 2 days",
    "function": "{now} >= date_trunc('HOUR', ts) and {now} < date_trunc('HOUR', ts) + interval 2 days",
    "either": "{now} between ts and ts + interval 1 day or {now} < ts + interval 36 hours and k = 3",
    "partition": "{now} < day + interval 3 days and {now} < coalesce(ts, timestamp '2024-02-01 00:00:00')",
    "fields": "ds between date_format({now} - interval 2 days, 'yyyyMMdd') and date_format({now}, 'yyyyMMdd')",
    "text": "ds >= date_format({now} - interval 2 days, 'yyyyMMdd') and (ds, k) > (date_format({now}, 'yyyyMMdd'), -1)",
}
LAYOUTS = {"partition": "partitions", "text": "texts"}


SETTINGS = {
    # what Parquet's vectored reads read of local files, Hadoop does not count
    "parquet.hadoop.vectored.io.enabled": "false",
    # INT96, Spark's own choice, has no statistics
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


@pytest.fixture(autouse=True)
def settings(project: Project) -> Iterator[None]:
    for key, value in SETTINGS.items():
        project.spark.conf.set(key, value)
    yield
    for key in SETTINGS:
        project.spark.conf.unset(key)


@pytest.mark.landing
@pytest.mark.first(2)
@pytest.mark.parametrize("layout", ["partitions", "texts", "files"])
def test_a_rebuild_reads_the_window(project: Project, layout: str) -> None:
    history(project, layout)
    names = [name for name in WINDOWS if LAYOUTS.get(name, "files") == layout]
    for name in names:
        sql = f"select id, payload, k from {project.schema}.events where {WINDOWS[name].format(now='mz_now()')}"
        project.model(name, sql, expiration="30 hours")
        project.model(f"{name}_off", sql, expiration="30 hours", pushdown="off")
    read = {}
    for name in (f"{name}{off}" for name in names for off in ("", "_off")):
        before = bytes_read(project)
        project.run("-s", name, "--full-refresh", now=T0)
        read[name] = sum(size for stage, size in bytes_read(project).items() if stage not in before)
    for name in names:
        assert read[name] < 0.4 * read[f"{name}_off"], (name, read)
        for t in (T0, T0 + 1, T0 + DAY, T0 + 30 * 3_600_000):
            asked = WINDOWS[name].format(now=f"timestamp_millis({t}L)")
            wanted = f"SELECT id, payload, k FROM {{s}}.events WHERE {asked}"
            stored = as_of(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name), t)
            assert project.rows(f"({wanted} EXCEPT ALL SELECT * FROM {stored})") == []
            assert project.rows(f"(SELECT * FROM {stored} EXCEPT ALL {wanted})") == []
        both = [project.rows(f"SELECT * FROM {{s}}.{m}__diffs") for m in (name, f"{name}_off")]
        assert sorted(both[0]) == sorted(both[1])


@pytest.mark.landing
def test_the_text_of_a_run_shows_what_is_left_out(project: Project) -> None:
    history(project, "files")
    project.model("m", f"select id from {project.schema}.events where mz_now() <= ts + interval 2 days")
    ran = project.run(now=T0).of("m")
    assert ran.adapter_response["pushdown"] == [f"c0: ts >= timestamp_millis({T0 - 2 * DAY})"]
    text = (project.path / "target/run/proj/models/m.sql").read_text()
    assert f"ts >= timestamp_millis({T0 - 2 * DAY})" in text
    assert "what the window implies of single columns" in text


@pytest.mark.deep
def test_explain_pushdown(project: Project) -> None:
    history(project, "partitions")
    project.model(
        "m",
        f"select id from {project.schema}.events where mz_now() < day + interval 3 days and mz_now() < ts "
        "and mz_now() < cast(payload as timestamp)",
        expiration="1 day",
    )
    project.run(now=T0)
    told = project.dbt("run-operation", "temporal_explain_pushdown", "--args", "{model: m}", now=T0).log
    text = " ".join("\n".join(told).split())
    assert "| m | a rebuild at 2024-03-01 12:00:00.000 UTC that expires at 2024-03-02 12:00:00.000 UTC" in text
    assert f"c0 | mz_now() < ts | | pushdown | c0 | -> ts >= timestamp_millis({T0})" in text
    assert "c0 | mz_now() < cast(payload as timestamp) | | pushdown | c0 | -> nothing about a single column" in text
    assert "| input | spark_catalog" in text and "25 files" in text and "of it in partitions that can match" in text
    assert "PartitionFilters: [isnotnull(day" in text and "GreaterThanOrEqual(ts,2024-03-01 12:00:00.0)" in text
    project.model("late", f"select id from {project.schema}.events where mz_now() < day")
    refused = project.dbt("run-operation", "temporal_explain_pushdown", "--args", "{model: late}", check=False)
    assert not refused.success and "late is not a temporal_view that has run" in refused.text


@pytest.mark.landing
def test_an_input_that_must_not_be_read_whole(project: Project) -> None:
    history(project, "files")
    project.sql("CREATE TABLE {s}.names USING parquet AS SELECT 3 AS k, 'c' AS name")
    joined = "select id, name from {s}.events join {s}.names using (k) where ".replace("{s}", project.schema)
    project.model("m", f"{joined} mz_now() < ts + interval 2 days", pushdown_required=["events"])
    project.run(now=T0)
    project.model("m", f"{joined} mz_now() < cast(payload as timestamp)", pushdown_required=["events"])
    refused = project.run(now=T0 + 1, check=False).text
    assert "events, which would be read whole" in refused and "temporal_explain_pushdown" in refused
    project.model("m", f"{joined} mz_now() < ts + interval 2 days", pushdown_required=True)
    assert "names, which would be read whole" in project.run("--full-refresh", now=T0 + 2, check=False).text
    project.model("m", f"{joined} mz_now() < ts + interval 2 days", pushdown_required=["evnts"])
    assert "reads no such table" in project.run("--full-refresh", now=T0 + 2, check=False).text
    project.model("m", f"{joined} mz_now() < ts + interval 2 days", pushdown_required="events", pushdown="some")
    text = project.run(now=T0 + 3, check=False).text
    assert "this is no list of tables" in text and "pushdown: 'some'" in text
    project.model("m", f"{joined} mz_now() < ts + interval 2 days", pushdown_required=True, pushdown="off")
    assert "nothing is pushed down then" in project.run(now=T0 + 4, check=False).text
    assert project.rows("SELECT count(*) > 0 FROM {s}.m__diffs") == [(True,)]


NUMBERS = (
    "ms + 5000", "ms - 5000", "5000 - ms", "-ms", "ms * 3", "ms * -2", "100 * (ms div 100)", "ms div 7",
    "(ms + 9) * 1000", "s * 1000", "s + 2147483647", "-s", "s * 1000L", "s - 5", "t + 1", "t * 1000",
    "coalesce(ms, s * 7)", "least(ms, s)", "greatest(s * 1000, ms)", "if(s > 0, ms + 1, s - 1)", "dec",
    "cast(s as bigint) * 1000",
)  # fmt: skip


@pytest.mark.landing
def test_numbers_that_wrap_around(project: Project) -> None:
    """At the ends of their types a sum may be anything: a row for which the window holds is never left out."""
    ends = {"ms": 63, "s": 31, "t": 15}
    values = {
        name: [*(e + d for e in (-(2**bits), 2**bits - 1) for d in (0, 1, -1, 5000, -5000)), 0, 7, -7, T0, T0 // 1000]
        for name, bits in ends.items()
    }
    columns = []
    for name, found in values.items():
        listed = ", ".join(f"CAST('{v}' AS BIGINT)" for v in found if -(2 ** ends[name]) <= v < 2 ** ends[name])
        columns.append(f"(SELECT explode(array({listed}, NULL)) AS {name})")
    project.sql(
        "CREATE TABLE {s}.n USING parquet AS SELECT ms, CAST(s AS INT) AS s, CAST(t AS SMALLINT) AS t, "
        f"CAST(ms AS DECIMAL(20, 1)) + CAST(0.5 AS DECIMAL(2, 1)) AS dec FROM {' CROSS JOIN '.join(columns)}"
    )
    sargable = Sargable({"ms": "bigint", "s": "int", "t": "smallint", "dec": "decimal(21,1)"}, 0)
    checks, known = [], 0
    for text in NUMBERS:
        for operator in ("<", "<=", ">", ">=", "="):
            for first, last in ((T0, T0 + DAY), (-5000, 5000), (0, 0), (-(2**62), 2**62)):
                found = sargable.between(expression(text), operator, "bigint", Range(first, last))
                known += found is not None
                holds = " OR ".join(f"{now}L {operator} {text}" for now in {first, (first + last) // 2, last})
                checks.append(f"count_if(({holds}) AND ({found or 'true'}) IS NOT TRUE)")
    assert known > 300
    for at in range(0, len(checks), 55):
        assert set(project.rows(f"SELECT {', '.join(checks[at : at + 55])} FROM {{s}}.n")[0]) == {0}, at
