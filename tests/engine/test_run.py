"""What runs do, one dbt run at a time: hydrate, advance, restart, expire, merge, and what people can read of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.instants import DAY, T0
from support.project import Project


def thousand(project: Project) -> None:
    project.sql(
        "CREATE OR REPLACE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(1709294400000L + id) AS ts "
        "FROM range(1000)".replace("CREATE OR REPLACE", "CREATE")
    )


def window(project: Project, days: int = 30, **config: object) -> None:
    project.model(
        "m", f"select id, ts from {project.schema}.events where mz_now() <= ts + interval {days} days", **config
    )


def chains(project: Project) -> set[str]:
    return {r[1] for r in project.rows("SHOW TABLES IN {s} LIKE 'm__diffs_*'")}


def at(project: Project, t: int, columns: str = "count(*)", model: str = "m") -> list[tuple]:
    return project.rows(project.render(f"select {columns} from {{{{ temporal_as_of(ref('{model}'), {t}) }}}}"))


@pytest.mark.first(2)
@pytest.mark.parametrize(("expiration", "updates"), [("40 days", 2000), ("20 days", 1000), (None, 2000), ("0", 2000)])
@pytest.mark.quick(1)
def test_updates_beyond_the_expiration_are_not_stored(project: Project, expiration: str, updates: int) -> None:
    thousand(project)
    window(project, **({"expiration": expiration} if expiration else {}))
    project.run(now=T0 + 1000)
    assert project.rows("SELECT count(*), sum(abs(mz_diff)) FROM {s}.m__diffs") == [(updates, updates)]
    rendered = project.render("select count(*) from {{ temporal_diffs(ref('m')) }}")
    assert project.rows(rendered) == [(updates,)]


@pytest.mark.landing
def test_expiration_to_the_millisecond(project: Project) -> None:
    """An update at the expiration is stored, one after it is not; likewise insertions."""
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT * FROM VALUES (1, 90L, 100L), (2, 90L, 101L), "
                "(3, 100L, 200L), (4, 101L, 200L) AS v(id, lo, hi)")  # fmt: skip
    project.model(
        "m",
        f"select id from {project.schema}.events where mz_now() >= lo and mz_now() < hi",
        expiration="50 milliseconds",
    )
    project.run(now=50)
    assert project.state().expiration == 100
    assert sorted(project.rows("SELECT mz_timestamp, mz_diff, id FROM {s}.m__diffs")) == [
        (90, 1, 1), (90, 1, 2), (100, -1, 1), (100, 1, 3)
    ]  # fmt: skip
    assert sorted(at(project, 100, "id")) == [(2,), (3,)]
    late = project.dbt("compile", "--inline", "select * from {{ temporal_as_of(ref('m'), 101) }}", check=False)
    assert "1970-01-01 00:00:00.050 UTC (since) to 1970-01-01 00:00:00.100 UTC (expiration)" in late.text
    early = project.dbt("compile", "--inline", "select * from {{ temporal_as_of(ref('m'), 49) }}", check=False)
    assert "can be read from 1970-01-01 00:00:00.050 UTC (since)" in early.text


def test_second_run_advances_third_writes_nothing(project: Project) -> None:
    thousand(project)
    window(project)
    project.run(now=T0)
    first = chains(project)
    project.sql("INSERT INTO {s}.events SELECT 5000, timestamp_millis(1709294400000L)")
    result = project.run(now=T0 + 5000)
    assert len(chains(project)) == 2 and "advanced" in result.of("m").message
    before = chains(project)
    result = project.run(now=T0 + 9000)
    assert chains(project) == before > first
    assert "unchanged" in result.of("m").message and project.state().frontier == T0 + 5000
    assert at(project, T0 + 9000) == [(1001,)]
    assert at(project, T0 + 4999) == [(1000,)]  # as the run before had read its inputs


@pytest.mark.first(1)
@pytest.mark.parametrize("small", [100_000, 1])
@pytest.mark.landing
def test_chains_become_one(project: Project, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside one that is much larger, which is left alone. Small ones keep their times."""
    monkeypatch.setattr("dbt.adapters.sparktemporal.temporal.diffs.chains.SMALL_CHAIN", small)
    thousand(project)
    window(project)
    for n in range(8):
        project.sql(f"INSERT INTO {{s}}.events SELECT {2000 + n}, timestamp_millis(1709294400000L)")
        project.run(now=T0 + n * 1000)
    found = project.state()
    # the number of new rows is not known before the write, so merges that leave the past wait for it
    assert [chain.rows for chain in found.chains] == ([1008] if small > 1 else [1001, 7])
    if small > 1:
        assert found.since == T0 and at(project, T0 + 4999) == [(1005,)]
        return
    assert found.since == T0 + 7000  # the merge advanced all times to its own instant
    assert at(project, T0 + 7000) == [(1008,)]
    early = project.dbt("compile", "--inline", f"select 1 from {{{{ temporal_as_of(ref('m'), {T0}) }}}}", check=False)
    assert "retain_history" in early.text


@pytest.mark.deep
def test_chains_are_dropped_after_diffs_retention(project: Project) -> None:
    thousand(project)
    window(project, diffs_retention="0")
    project.run(now=T0)
    (first,) = chains(project)
    project.run("--full-refresh", now=T0 + 1000)
    assert first not in chains(project) and len(chains(project)) == 1


@pytest.mark.deep
def test_old_chains_stay_for_their_readers(project: Project) -> None:
    thousand(project)
    window(project)
    project.run(now=T0)
    (first,) = chains(project)
    reading = project.render(f"select count(*) from {{{{ temporal_as_of(ref('m'), {T0}) }}}}")
    project.run("--full-refresh", now=T0 + 1000)
    assert first in chains(project) and first in dict(project.state().retired)
    assert project.rows(reading) == [(1000,)]


@pytest.mark.landing
def test_changed_core_restarts_and_says_so(project: Project) -> None:
    thousand(project)
    window(project)
    project.run(now=T0)
    window(project, days=10)
    result = project.run(now=T0 + 1000)
    assert "restarted (its stored query changed)" in result.text
    assert project.state().started_at == T0 + 1000


@pytest.mark.deep
def test_changed_residual_only_replaces_the_view(project: Project) -> None:
    thousand(project)
    core = f"with w as (select id, ts from {project.schema}.events where mz_now() < ts + interval 1 day) "
    project.model("m", core + "select min(id) as low from w")
    project.run(now=T0)
    before = chains(project)
    project.model("m", core + "select max(id) as top, 'x' as label from w")
    result = project.run(now=T0 + 1000)
    assert "unchanged" in result.of("m").message and chains(project) == before
    assert at(project, T0 + 1000, "top, label") == [(999, "x")]
    assert project.spark.table(f"{project.schema}.m").columns == ["top", "label"]


@pytest.mark.deep
def test_changed_residual_over_groups_only_replaces_the_view(project: Project) -> None:
    thousand(project)
    core = f"with w as (select id, ts from {project.schema}.events where mz_now() < ts + interval 1 day) "
    project.model("m", core + "select count(*) as n from w")
    project.run(now=T0)
    before = chains(project)
    project.model("m", core + "select 2 * count(*) as n, 'x' as label from w having count(*) > 1")
    assert "unchanged" in project.run(now=T0 + 1000).of("m").message and chains(project) == before
    assert at(project, T0 + 1000, "n, label") == [(2000, "x")]


@pytest.mark.landing
def test_expired_model_restarts_on_its_next_run(project: Project) -> None:
    thousand(project)
    window(project, expiration="1 hour")
    project.run(now=T0)
    result = project.run(now=T0 + 2 * 3_600_000)
    assert "restarted (expired at 2024-03-01 13:00:00.000 UTC)" in result.text
    assert project.state().expiration == T0 + 3 * 3_600_000


@pytest.mark.landing
def test_changed_offset(project: Project) -> None:
    thousand(project)
    window(project, expiration="2 hours")
    project.run(now=T0)
    window(project, expiration="1 hour")  # its instant is ahead: at once, nothing is written
    assert "unchanged" in project.run(now=T0 + 1000).of("m").message
    assert project.state().expiration == T0 + 3_600_000
    window(project, expiration="3 hours")
    assert "a longer expiration" in project.run(now=T0 + 2000).text
    assert project.state().expiration == T0 + 2000 + 3 * 3_600_000


@pytest.mark.landing
def test_clock_behind_the_frontier(project: Project) -> None:
    thousand(project)
    window(project)
    project.run(now=T0 + 100_000)
    project.run(now=T0 + 100_000 - 59_999)
    assert project.state().frontier == T0 + 100_000
    result = project.run(now=T0 + 100_000 - 60_000, check=False)
    assert not result.success
    assert "2024-03-01 12:00:40.000 UTC" in result.text and "2024-03-01 12:01:40.000 UTC" in result.text
    assert project.run("--full-refresh", now=T0).success  # a rebuild may go back


def test_one_clock_for_all_models_and_the_engine_gives_it(project: Project) -> None:
    thousand(project)
    window(project)
    project.model("other", f"select id from {project.schema}.events where mz_now() > ts")
    low = project.rows("SELECT unix_millis(current_timestamp())")[0][0]
    project.run()
    high = project.rows("SELECT unix_millis(current_timestamp())")[0][0]
    assert low <= project.state().frontier == project.state("other").frontier <= high
    assert project.rows("SELECT count(*) FROM {s}.other") == [(1000,)]
    assert project.rows("SELECT count(*) FROM {s}.m") == [(0,)]


@pytest.mark.deep
def test_other_session_settings_restart(project: Project) -> None:
    """A bound computed under one time zone is not used under another."""
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT 1 AS id, DATE'2024-03-02' AS d")
    project.model("m", f"select id from {project.schema}.events where mz_now() < d")
    project.run(now=T0)
    assert project.rows("SELECT max(mz_timestamp) FROM {s}.m__diffs") == [(1709337600000,)]
    project.spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        result = project.run(now=T0 + 1000)
        assert "spark.sql.session.timeZone UTC -> America/New_York" in result.text
        assert project.rows("SELECT max(mz_timestamp) FROM {s}.m__diffs") == [(1709337600000 + 5 * 3_600_000,)]
    finally:
        project.spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.deep
def test_clock_type_casts(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT 1 AS id, 10L AS ms, timestamp_micros(20900) AS ts")
    project.model(
        "m",
        f"select id from {project.schema}.events e "
        "where mz_now() >= e.ms::mz_timestamp and mz_now() < cast(ts as mz_timestamp)",
    )
    project.run(now=0)
    assert sorted(project.rows("SELECT mz_timestamp, mz_diff FROM {s}.m__diffs")) == [(10, 1), (20, -1)]


@pytest.mark.landing
def test_empty_input_then_rows_then_none(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events (id INT, ts TIMESTAMP) USING parquet")
    window(project, expiration="90 days")
    project.run(now=T0)
    assert chains(project) == set() and project.rows("SELECT * FROM {s}.m__diffs") == []
    project.sql("INSERT INTO {s}.events VALUES (1, TIMESTAMP'2024-03-01 12:00:00')")
    project.run(now=T0 + 1000)
    assert at(project, T0 + 1000) == [(1,)]
    project.sql("TRUNCATE TABLE {s}.events")
    project.run(now=T0 + 2000)
    assert (at(project, T0 + 1999), at(project, T0 + 2000)) == ([(1,)], [(0,)])
    assert project.rows("SELECT mz_timestamp, mz_diff FROM {s}.m__diffs ORDER BY 1") == [
        (T0 + 1000, 1), (T0 + 2000, -1)
    ]  # fmt: skip


@pytest.mark.first(1)
@pytest.mark.parametrize("flag", [["--empty"], ["--sample", "1 day"]], ids=lambda f: f[0])
@pytest.mark.landing
def test_a_sample_never_advances_what_was_captured(flag: list[str], project: Project) -> None:
    thousand(project)
    project.write(
        "models/sources.yml",
        f"""
        sources:
          - name: raw
            schema: {project.schema}
            tables: [{{name: events, config: {{event_time: ts}}}}]
        """,
    )
    project.model("m", "select id from {{ source('raw', 'events') }} where mz_now() <= ts + interval 30 days")
    project.run(now=T0 + 1000)
    before, tables = project.state(), chains(project)
    project.sql("INSERT INTO {s}.events SELECT 1000L, TIMESTAMP'2024-03-01 12:00:00'")
    result = project.run(*flag, now=T0 + 2000)
    assert "checked (a sample of the inputs changes nothing of what was captured)" in result.text
    assert project.state() == before and chains(project) == tables
    assert at(project, T0 + 2000) == [(1000,)]

    project.run(*flag, "--full-refresh", now=T0 + 3000)  # asked for; the next whole run puts it right
    assert project.state().sampled and at(project, T0 + 3000) == [(0,)]
    assert "restarted (the last run read a sample)" in project.run(now=T0 + 4000).text
    assert not project.state().sampled and at(project, T0 + 4000) == [(1001,)]


@pytest.mark.deep
def test_static_side_is_read_as_captured(project: Project) -> None:
    """A table that only the residual reads changes for readers with the next run, not before."""
    thousand(project)
    project.sql("CREATE TABLE {s}.dim USING parquet AS SELECT 1 AS id, 'one' AS name")
    project.model(
        "m",
        f"with w as (select id from {project.schema}.events where mz_now() >= ts) "
        f"select w.id, d.name from w left join {project.schema}.dim d on w.id = d.id where w.id < 3",
    )
    project.run(now=T0 + 5000)
    project.sql("INSERT INTO {s}.dim VALUES (2, 'two')")
    assert sorted(at(project, T0 + 6000, "id, name")) == [(0, None), (1, "one"), (2, None)]
    project.run(now=T0 + 6000)
    assert sorted(at(project, T0 + 6000, "id, name")) == [(0, None), (1, "one"), (2, "two")]


@pytest.mark.deep
def test_table_of_the_name_gives_way(project: Project) -> None:
    thousand(project)
    project.model("m", f"select id from {project.schema}.events", materialized="table")
    project.run(now=T0)
    window(project)
    assert "the table of that name is dropped" in project.run(now=T0).text
    assert at(project, T0) == [(1000,)]


def test_target_run_shows_every_statement(project: Project) -> None:
    project.has_artifacts = True
    thousand(project)
    window(project)
    project.run(now=T0)
    (file,) = Path(project.path).glob("target/run/**/m.sql")
    text = file.read_text()
    for purpose in ("-- c0: all intervals -> a new chain", "-- commit", "-- the view", "-- the updates, readable"):
        assert purpose in text
    payload = json.loads((project.path / "target" / "run_results.json").read_text())
    assert payload["results"][0]["adapter_response"]["rows_affected"] == 1000


# ---- the data tests ------------------------------------------------------------------------------------------------


def with_tests(project: Project, *tests: object) -> None:
    schema = {"models": [{"name": "m", "data_tests": list(tests)}]}
    project.write("models/schema.yml", json.dumps(schema))


ALL_TESTS = ("temporal_matches_source", "temporal_not_expired", "temporal_not_stale", "temporal_diffs_consistent")


def test_data_tests_pass_on_a_healthy_model(project: Project) -> None:
    thousand(project)
    window(project, expiration="40 days")
    with_tests(project, *ALL_TESTS)
    project.run(now=T0)
    assert len(project.dbt("test", now=T0 + 50).results) == len(ALL_TESTS)


def test_matches_source_shows_the_wrong_row(project: Project) -> None:
    """A chain that somebody changed: the row, the instant and both multiplicities are shown."""
    thousand(project)
    window(project)
    with_tests(project, *ALL_TESTS)
    project.run(now=T0)
    (chain,) = chains(project)
    project.sql(f"INSERT INTO {{s}}.{chain} SELECT 7, timestamp_millis(7L), {T0}L, {T0 + 10}L, 1L")
    result = project.dbt("test", "--store-failures", now=T0, check=False)
    failed = {r.node.name.split("_m_")[0]: r for r in result.results if r.status == "fail"}
    assert set(failed) == {"temporal_matches_source", "temporal_diffs_consistent"}
    rows = project.rows(f"SELECT * FROM {failed['temporal_matches_source'].node.relation_name}")
    assert rows[0][:4] == ("2024-03-01 12:00:00.000 UTC", "mismatch", 1, 0) and rows[0][4] == 7


@pytest.mark.deep
def test_matches_source_tells_a_moved_input_apart(project: Project) -> None:
    thousand(project)
    window(project)
    with_tests(project, "temporal_matches_source")
    project.run(now=T0)
    project.sql("INSERT INTO {s}.events VALUES (5000, timestamp_millis(1709294400000L))")
    result = project.dbt("test", "--store-failures", now=T0, check=False)
    rows = project.rows(f"SELECT DISTINCT mz_verdict FROM {result.results[0].node.relation_name}")
    assert len(rows) == 1 and "input changed since the last run" in rows[0][0] and "events" in rows[0][0]
    project.run(now=T0 + 1)
    assert project.dbt("test", now=T0 + 1).success


@pytest.mark.deep
def test_matches_source_at_given_instants(project: Project) -> None:
    thousand(project)
    window(project)
    instants = ["2024-03-01 12:00:00", T0 + 30 * DAY]
    with_tests(project, {"temporal_matches_source": {"arguments": {"instants": instants}}})
    project.run(now=T0)
    assert project.dbt("test", now=T0).success
    with_tests(project, {"temporal_matches_source": {"arguments": {"instants": [T0 - 1]}}})
    assert "since" in project.dbt("test", now=T0, check=False).text


@pytest.mark.landing
def test_not_expired(project: Project) -> None:
    thousand(project)
    window(project, expiration="1 hour")
    with_tests(project, {"temporal_not_expired": {"arguments": {"at_least": "30 minutes"}}})
    project.run(now=T0)
    assert project.dbt("test", now=T0 + 1_800_000).success
    assert project.dbt("test", now=T0 + 1_800_001, check=False).results[0].status == "fail"


@pytest.mark.landing
def test_not_stale(project: Project) -> None:
    """By the last commit, and by a later run with nothing new that the target folder knows of."""
    thousand(project)
    window(project)
    with_tests(project, {"temporal_not_stale": {"arguments": {"within": "30 minutes"}}})
    project.run(now=T0)
    assert project.dbt("test", now=T0 + 1_800_000).success
    late = project.dbt("test", now=T0 + 1_800_001, check=False)
    assert late.results[0].status == "fail"
    (row,) = project.rows(late.results[0].node.compiled_code)
    assert row == ("m", "2024-03-01 12:00:00.000 UTC", "30 minutes ago"), row
    project.run(now=T0 + 1_800_001)  # nothing new: it commits nothing
    assert project.state().frontier == T0
    assert project.dbt("test", now=T0 + 3_600_001).success
    shutil.rmtree(project.path / "target")
    assert project.dbt("test", now=T0 + 3_600_001, check=False).results[0].status == "fail"


@pytest.mark.landing
def test_diffs_consistent_finds_damage(project: Project) -> None:
    thousand(project)
    window(project)
    with_tests(project, "temporal_diffs_consistent")
    project.run(now=T0)
    (chain,) = chains(project)
    for row, word in [
        (f"1, timestamp_millis(7L), {T0}L, {T0}L, 1L", "empty"),
        (f"1, timestamp_millis(7L), {T0}L, NULL, -1L", "retracted more often"),
    ]:
        project.sql(f"INSERT INTO {{s}}.{chain} SELECT {row}")
        result = project.dbt("test", "--store-failures", now=T0, check=False)
        found = project.rows(f"SELECT mz_problem FROM {result.results[0].node.relation_name}")
        assert any(word in r[0] for r in found), found
