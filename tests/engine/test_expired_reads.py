"""An expired view raises whoever reads it, however little of it the query would need, in either form of its text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.run.commit import ViewTexts
from support.instants import T0
from support.project import Project


@pytest.fixture(scope="module", params=["readable", pytest.param("compact", marks=pytest.mark.landing)])
def expired(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Iterator[Project]:
    """Models that ran long ago, so that the engine's clock is past their expiration; compact: as of many columns."""
    project = Project(tmp_path_factory.mktemp("expired") / "project", spark)
    is_compact = request.param == "compact"
    project.sql(
        "CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(id) AS ts, id % 3 AS k FROM range(100);"
        "CREATE TABLE {s}.none (id BIGINT, ts TIMESTAMP, k BIGINT) USING parquet;"
        "CREATE TABLE {s}.other USING parquet AS SELECT id FROM range(3)"
    )
    for name, table in (("m", "events"), ("empty", "none")):
        project.model(
            name,
            f"select id, ts, k from {project.schema}.{table} where mz_now() < ts + interval 1 hour",
            expiration="1 day",
        )
    project.model(
        "counted",
        f"select k, count(*) as n from {project.schema}.events where mz_now() < ts + interval 1 hour group by k",
        expiration="1 day",
    )
    project.model(
        "top",
        f"select id from {project.schema}.events where mz_now() < ts + interval 1 hour order by ts limit 2",
        expiration="1 day",
    )
    # rows that are there whatever the clock, so that a LIMIT has enough of them
    project.model("stays", f"select id from {project.schema}.events where mz_now() >= ts", expiration="1 day")
    with pytest.MonkeyPatch.context() as patch:
        if is_compact:
            patch.setattr(ViewTexts, "fits", lambda self, text: "EXCEPT" in text)
        project.run(now=1000)
    for name in ("m", "empty", "counted", "top", "stays"):
        assert ("EXCEPT" in project.rows(f"SHOW CREATE TABLE {{s}}.{name}__live")[0][0]) == is_compact
    project.sql("CREATE VIEW {s}.second AS SELECT id + 1 AS i FROM {s}.m WHERE id > 5")
    yield project
    project.drop()


SHAPES = {
    "rows": "SELECT * FROM {s}.m",
    "count": "SELECT count(*) FROM {s}.m",
    "one column": "SELECT k FROM {s}.m",
    "empty chains": "SELECT * FROM {s}.empty",
    "count over empty chains": "SELECT count(*) FROM {s}.empty",
    "statistics leave nothing": "SELECT * FROM {s}.m WHERE id > 1000000",
    "is null": "SELECT * FROM {s}.m WHERE id IS NULL",
    "is not null": "SELECT * FROM {s}.m WHERE ts IS NOT NULL AND k = 1",
    "anti join": "SELECT * FROM {s}.other o LEFT ANTI JOIN {s}.m ON o.id = m.id",
    "not exists": "SELECT * FROM {s}.other o WHERE NOT EXISTS (SELECT 1 FROM {s}.m WHERE m.id = o.id)",
    "not in": "SELECT * FROM {s}.other WHERE id NOT IN (SELECT id FROM {s}.m)",
    "semi join": "SELECT * FROM {s}.other o LEFT SEMI JOIN {s}.m ON o.id = m.id",
    "left join": "SELECT o.id FROM {s}.other o LEFT JOIN {s}.m ON o.id = m.id",
    "inner join with nothing": "SELECT o.id FROM {s}.m JOIN {s}.other o ON o.id = m.id + 1000",
    "second view": "SELECT * FROM {s}.second",
    "aggregate": "SELECT * FROM {s}.counted",
    "aggregate, a group that is not": "SELECT * FROM {s}.counted WHERE k = 77",
    "top-k": "SELECT * FROM {s}.top",
    "limit": "SELECT * FROM {s}.m LIMIT 1",
    "limit, with rows enough": "SELECT * FROM {s}.stays LIMIT 5",
    "limit, with a filter": "SELECT * FROM {s}.stays WHERE id > 50 LIMIT 1",
    "limit and offset": "SELECT * FROM {s}.stays LIMIT 5 OFFSET 3",
    "limit in a subquery": "SELECT * FROM (SELECT * FROM {s}.stays LIMIT 3) WHERE id >= 0",
    "exists, with rows enough": "SELECT EXISTS(SELECT 1 FROM {s}.stays)",
    "exists": "SELECT EXISTS(SELECT 1 FROM {s}.m)",
    "union": "SELECT id FROM {s}.other UNION ALL SELECT id FROM {s}.m",
    "distinct": "SELECT DISTINCT k FROM {s}.m",
    "scalar subquery": "SELECT (SELECT max(id) FROM {s}.m)",
    "in a HAVING": "SELECT id FROM {s}.other GROUP BY id HAVING id < (SELECT count(*) FROM {s}.m)",
    "aggregate by a column": "SELECT k, max(ts) FROM {s}.m GROUP BY k",
    "full join": "SELECT * FROM {s}.other FULL JOIN {s}.m USING (id)",
    "except": "SELECT id FROM {s}.other EXCEPT SELECT id FROM {s}.m",
    "intersect": "SELECT id FROM {s}.other INTERSECT SELECT id FROM {s}.m",
    "of two columns": "SELECT count(*) FROM {s}.m WHERE id = 3 AND k = 2",
    "window": "SELECT row_number() OVER (ORDER BY id) FROM {s}.m",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_expired_view_raises(shape: str, expired: Project) -> None:
    with pytest.raises(Exception, match=r"expired at 1970-01-02 00:00:01.000 UTC.*dbt run -s") as raised:
        expired.rows(SHAPES[shape])
    assert "temporal_view" in str(raised.value)


#: Spark knows their answers without a row of the view: they are the same whatever it holds
OF_NO_ROW: dict[str, list[tuple]] = {
    "SELECT * FROM {s}.m LIMIT 0": [],
    "SELECT * FROM {s}.m WHERE false": [],
    "SELECT id FROM {s}.m WHERE id = NULL": [],
    "SELECT count(*) FROM {s}.m WHERE 1 = 0": [(0,)],
    "SELECT count(*) FROM {s}.counted WHERE 1 = 0": [(0,)],
    "SELECT 1 FROM {s}.m WHERE EXISTS (SELECT 1 FROM {s}.other WHERE false)": [],
    "SELECT * FROM {s}.m JOIN (SELECT id FROM {s}.other WHERE false) USING (id)": [],
    "SELECT o.id FROM {s}.other o LEFT JOIN (SELECT * FROM {s}.m WHERE false) m ON m.id = o.id": [(0,), (1,), (2,)],
}


@pytest.mark.parametrize("read", OF_NO_ROW)
def test_what_asks_for_no_row_is_answered(read: str, expired: Project) -> None:
    assert sorted(expired.rows(read)) == OF_NO_ROW[read]


@pytest.mark.landing
def test_unexpired_check_costs_nothing(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id, current_timestamp() AS ts FROM range(10)")
    project.model(
        "m", f"select id from {project.schema}.events where mz_now() < ts + interval 1 hour", expiration="1 day"
    )
    project.run()
    plan = project.rows("EXPLAIN FORMATTED SELECT * FROM {s}.m")[0][0]
    assert "raise_error" not in plan and "Union" not in plan
    assert "GreaterThan(mz_until," in plan.split("PushedFilters")[1]


@pytest.mark.landing
def test_a_run_in_the_last_fifth_warns(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT 1 AS id, timestamp_millis({T0}L) AS ts")
    project.model("w", f"select id from {project.schema}.t where mz_now() >= ts", expiration="100 seconds")
    said = "temporal_view w expires at 2024-03-01 12:01:40.000 UTC, in 19 seconds: reads after that raise"
    assert "expires at" not in project.run(now=T0).text
    assert said not in project.run(now=T0 + 80_000).text
    assert said in project.run(now=T0 + 80_001).text
    assert "expires at" not in project.run("--full-refresh", now=T0 + 81_000).text
