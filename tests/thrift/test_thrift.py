"""method: thrift, against Spark's own Thrift server: another process, a session a connection, Thrift's types."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner

from dbt.adapters.sparktemporal.engine.committed import live_view
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run.lock import host
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from support.flights import PROJECT, of_the_flights
from support.instants import T0
from support.project import Project, a_project
from support.session import COLD, JVM
from support.thrift_clients import Server, alone, content, until


@pytest.fixture(scope="module")
def scripts() -> Iterator[Any]:
    with of_the_flights("flights", "thrift_server") as modules:
        yield modules


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, scripts: Any) -> Iterator[Server]:
    home, port = tmp_path_factory.mktemp("thrift server"), scripts.thrift_server.free_port()
    with (
        scripts.thrift_server.running(home, port, f"{JVM} {COLD}"),
        closing(scripts.thrift_server.connect(port)) as connection,
    ):
        yield Server(port, home, connection)


@pytest.fixture
def project(tmp_path: Path, server: Server) -> Iterator[Project]:
    yield from a_project(tmp_path, server, server.profile)


# ---- the flights ---------------------------------------------------------------------------------------------------


@dataclass
class Flights:
    """The integration project against the server, in processes that have no pyspark."""

    target: Path
    arguments: list[str]
    environment: dict[str, str]

    def build(self, *select: str) -> dict[str, dict[str, Any]]:
        process = alone("build", *self.arguments, *select, folder=PROJECT, **self.environment)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        return self.results()

    def results(self) -> dict[str, dict[str, Any]]:
        """What became of each model and test, hooks aside."""
        found = json.loads((self.target / "run_results.json").read_text())["results"]
        return {r["unique_id"].split(".", 2)[2]: r for r in found if not r["unique_id"].startswith("operation")}


@pytest.fixture(scope="module")
def flights(server: Server, scripts: Any) -> Flights:
    data, target = scripts.flights.unpack(server.home / "data"), server.home / "target"
    variables = json.dumps({"data_path": str(data), "data_now": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}"})
    folders = ["--target", "thrift", "--target-path", str(target), "--log-path", str(target)]
    environment = {"FLIGHTS_PORT": str(server.port), "FLIGHTS_SCHEMA": "flights_thrift"}
    return Flights(target, [*folders, "--vars", variables], environment)


@pytest.fixture(scope="module")
def built(flights: Flights) -> dict[str, dict[str, Any]]:
    return flights.build("-s", "staging", "in_the_air", "boarding", "hopping_window")


@pytest.mark.deep
def test_flights_build_green_without_pyspark(built: dict[str, dict[str, Any]]) -> None:
    assert {r["status"] for r in built.values()} == {"success", "pass"}
    assert sum(name.startswith("temporal_") for name in built) == 9 and "flights_are_there" in built
    assert len({r["thread_id"] for r in built.values()}) == 4


@pytest.mark.deep
def test_all_flights_build_green(flights: Flights) -> None:
    results = flights.build("--full-refresh")
    assert {r["status"] for r in results.values()} == {"success", "pass"}
    assert sum(name.startswith("temporal_") for name in results) == 27


@pytest.mark.usefixtures("built")
@pytest.mark.deep
def test_flights_run_again(flights: Flights, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more flight in the air: its view advances, another that it is not in stays unchanged."""
    for name, value in flights.environment.items():
        monkeypatch.setenv(name, value)
    sql = server.sql
    sql(
        "INSERT INTO flights_thrift.flights SELECT 'one more', carrier, flight, tailnum, origin, dest, distance, "
        "dep_delay, scheduled_at, departed_at, arrives_at FROM flights_thrift.flights "
        "WHERE flight_id = (SELECT max_by(flight_id, arrives_at) FROM flights_thrift.in_the_air)"
    )
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    assert dbtRunner().invoke(["run", "-s", "in_the_air", "boarding", *folders, *flights.arguments]).success
    said = {name: r["message"] for name, r in flights.results().items()}
    assert said == {"in_the_air": "OK advanced, 1 row", "boarding": "OK unchanged, 0 rows"}
    for view, condition in (
        ("in_the_air", "mz >= unix_millis(departed_at) AND mz < unix_millis(arrives_at)"),
        ("boarding", "mz >= unix_millis(scheduled_at) - 2400000 AND mz < unix_millis(departed_at)"),
    ):
        # view and truth in one statement, so that both have one clock
        (missing,) = sql(
            f"SELECT count_if((v.flight_id IS NULL) <> (t.flight_id IS NULL)), count(v.flight_id) "
            f"FROM flights_thrift.{view} v FULL JOIN (SELECT flight_id FROM flights_thrift.flights CROSS JOIN "
            f"(SELECT unix_millis(current_timestamp()) AS mz) WHERE {condition}) t ON v.flight_id = t.flight_id"
        ).collect()
        assert missing[0] == 0 < missing[1]


# ---- what comes back over Thrift -----------------------------------------------------------------------------------

TYPES = {
    "big": ["9223372036854775807", "-1", "NULL"],
    "tiny": ["CAST(1 AS TINYINT)", "CAST(NULL AS TINYINT)", "CAST(-128 AS TINYINT)"],
    "dec": ["12345678901234567890.123456789BD", "NULL", "-0.000000001BD"],
    "text": [r"'back\\slash, it''s \"quoted\"'", "'two\nlines'", "NULL"],
    "flag": ["true", "NULL", "false"],
    "day": ["DATE'2024-03-01'", "NULL", "DATE'0999-12-31'"],
    "ts": ["TIMESTAMP'2024-03-01 12:00:00.000001'", "NULL", "TIMESTAMP'1969-12-31 23:59:59.999'"],
    "dbl": ["1.5D", "double('NaN')", "NULL"],
    "bin": ["X'00FF'", "NULL", "X''"],
    "arr": ["array(1, NULL)", "NULL", "array()"],
    "st": ["named_struct('a', 'x', 'b', NULL)", "NULL", "named_struct('a', NULL, 'b', 1L)"],
}


@pytest.mark.landing
@pytest.mark.metastore
def test_types_and_texts(project: Project) -> None:
    """Every type, NULLs, and a model whose text has whatever a protocol could trip over."""
    rows = ", ".join(f"({', '.join(values)})" for values in zip(*TYPES.values()))
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT * FROM VALUES {rows} AS v({', '.join(TYPES)})")
    project.model(
        "m",
        rf"""
        -- a comment with 'quotes', a `tick` and an ünusual word: 名前
        select *, 'a\\b\tc\n' as escapes, 'it\'s; 100% "x" ${{y}}' as words, /* between */ text like '%\\\\%' as has
        from {project.schema}.events
        where coalesce(text, '') not rlike '^\\d+\\.\\s$'
          and mz_now() >= {T0}L and mz_now() < {T0}L + coalesce(dec, 5000.5)
        """,
        expiration="30000 days",
    )
    project.write(
        "models/schema.yml",
        "models: [{name: m, data_tests: [temporal_matches_source, temporal_not_expired, temporal_diffs_consistent]}]",
    )
    assert [r.status for r in project.dbt("build", now=T0).results] == ["success", "pass", "pass", "pass"]
    first = project.state()
    assert "unchanged" in project.run(now=T0 + 1).of("m").message
    assert project.state().written == first.written and r"\\.\\s$" in first.written and "名前" in first.written

    names = ", ".join(TYPES)
    read = project.rows(project.render(f"select {names} from {{{{ temporal_as_of(ref('m'), {T0 + 1}) }}}}"))
    source = project.rows(f"SELECT {names} FROM {{s}}.events WHERE dec IS NULL OR dec > 0")
    assert Counter(map(repr, read)) == Counter(map(repr, source)) and len(read) == 2
    updates = project.rows(project.render("select mz_timestamp, mz_diff, big from {{ temporal_diffs(ref('m')) }}"))
    assert (T0, 1, 9223372036854775807) in updates and (T0 + 5001, -1, -1) in updates
    assert all(type(value) is int for row in updates for value in row)


@pytest.mark.landing
@pytest.mark.metastore
def test_view_text_near_the_limit_of_the_metastore(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(3)")
    columns = ", ".join(f"id + {n} as column_number_{n}" for n in range(185))
    with_clock = f"with w as (select id from {project.schema}.events where mz_now() >= {T0}L + id)"
    project.model("m", f"{with_clock} select {columns} from w")
    project.run(now=T0)
    project.sql("INSERT INTO {s}.events VALUES (3)")
    assert "advanced" in project.run(now=T0 + 10).of("m").message
    view = live_view(Warehouse(project.rows), ModelRelations(f"`{project.schema}`", "m"))
    assert view is not None and 25_000 < len(view.text) <= 30_000
    assert project.rows("SELECT max(column_number_184) FROM {s}.m") == [(187,)]


@pytest.mark.landing
@pytest.mark.metastore
def test_docs_and_the_clock_in_other_models(project: Project) -> None:
    """What is read back from DESCRIBE and EXPLAIN: comments, and which mz_now() stands beside a number."""
    project.sql(
        "CREATE TABLE {s}.events USING parquet AS SELECT id, 1000 * id AS ms, timestamp_millis(id) AS ts FROM range(9)"
    )
    events = f"{project.schema}.events where mz_now() >= ts and mz_now()"
    project.model("m", f"select id from {events} >= ms", persist_docs={"relation": True, "columns": True})
    project.model(
        "at_the_run", f"select id, mz_now() as run_at from {events} between ms and 3999", materialized="table"
    )
    project.model("at_the_read", f"select id from {events} >= ms", materialized="view")
    said = 'It\'s "documented",\nin two lines'
    docs = {"name": "m", "description": said, "columns": [{"name": "id", "description": said}]}
    project.write("models/schema.yml", json.dumps({"models": [docs]}))
    project.run(now=4000)
    assert project.rows("SELECT * FROM {s}.at_the_run") == []
    project.run(now=3500)
    project.sql("REFRESH TABLE {s}.at_the_run")  # dropped and made anew by another session; a chain never is
    instant = datetime(1970, 1, 1, 0, 0, 3, 500_000)
    assert sorted(project.rows("SELECT * FROM {s}.at_the_run")) == [(n, instant) for n in range(4)]
    assert len(project.rows("SELECT * FROM {s}.at_the_read")) == 4
    described = project.rows("DESCRIBE TABLE EXTENDED {s}.m")
    assert described[0] == ("id", "bigint", said) and ("Comment", said, "") in described
    (ran,) = (project.path / "target").glob("run/**/m.sql")
    assert "CREATE" not in ran.read_text().replace("CREATE TABLE", "")  # the docs were as they should be


# ---- files from elsewhere ------------------------------------------------------------------------------------------

#: model -> name -> how the table is made; a session remembers which files it has, of each in another place of Spark's
KEPT_LISTS = {
    "hive": {
        "flat": "(id BIGINT) STORED AS PARQUET LOCATION '{at}'",
        "parts": "(id BIGINT) PARTITIONED BY (p INT) STORED AS PARQUET LOCATION '{at}'",
    },
    "spark": {
        "plain": "(id BIGINT) USING parquet LOCATION '{at}'",
        "by_p": "(id BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{at}'",
    },
}


def run_here(project: Project, model: str, sql: str, now: int) -> None:
    """A run without dbt, in the session of the project."""
    warehouse, settings = Warehouse(project.rows), Warehouse(project.rows).settings()
    target = ModelRelations(f"`{project.schema}`", model)
    invocation = Invocation(now, now, settings, warehouse.version(), project="p")
    list(begin(warehouse, target, Definition(sql), invocation).steps(project.sql))


@pytest.mark.landing
@pytest.mark.metastore
def test_files_dropped_into_tables_that_sessions_know(project: Project, scripts: Any, tmp_path: Path) -> None:
    """Sessions of the server read the tables, files come from elsewhere: a run sees them, and so does each session.

    A run of dbt has a session of its own; beside it one runs in the session that has read the tables.
    """
    tables = {name: made for each in KEPT_LISTS.values() for name, made in each.items()}
    for name, made in tables.items():
        project.sql(f"CREATE TABLE {{s}}.{name} {made.format(at=tmp_path / name)}")
    texts = {}
    for model, each in KEPT_LISTS.items():
        union = " union all ".join(f"select '{name}' as name, id from {project.schema}.{name}" for name in each)
        texts[model] = f"select * from ({union}) where mz_now() >= {T0}L"
        project.model(model, texts[model])

    def drop_in(ids: str) -> None:
        staged = tmp_path / "staged"
        project.sql(f"INSERT OVERWRITE DIRECTORY '{staged}' USING parquet SELECT /*+ COALESCE(1) */ id FROM {ids}")
        (file,) = staged.glob("part-*")
        for name, made in tables.items():
            folder = tmp_path / name / ("p=1" if "PARTITIONED" in made else "")
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
            if "PARTITIONED" in made:
                project.sql(f"ALTER TABLE {{s}}.{name} ADD IF NOT EXISTS PARTITION (p = 1)")

    with closing(scripts.thrift_server.connect(project.spark.port)) as connection:
        other = replace(project.spark, connection=connection)
        drop_in("range(5)")
        for now, came in ((T0, 5), (T0 + 1, 7)):
            results = project.run(now=now).results
            assert [r.status for r in results] == ["success", "success"]
            for model, text in texts.items():
                run_here(project, f"here_{model}", text, now)
            views = [*texts, *(f"here_{model}" for model in texts)]
            asked = " UNION ALL ".join(f"SELECT '{view}', name, id FROM {project.schema}.{view}" for view in views)
            wanted = sorted(
                (v, name, i) for v in views for name in KEPT_LISTS[v.removeprefix("here_")] for i in range(came)
            )
            for session in (project.spark, other):
                assert sorted(map(tuple, session.sql(asked).collect())) == wanted
                for name in tables:  # the lists that the sessions remember are of now
                    session.sql(f"SELECT count(*) FROM {project.schema}.{name}")
            drop_in("range(5, 7)")


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.landing
def test_the_settings_of_the_profile_have_effect(project: Project) -> None:
    """The server takes them at the begin of a session, and dbt-spark sends them in a form that it ignores."""
    profile = project.path / "profiles.yml"
    parameters = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": "3"}
    connection = {**project.connection, "server_side_parameters": parameters}
    profile.write_text(json.dumps({"proj": {"target": "dev", "outputs": {"dev": connection}}}))
    project.model("said", "select current_timezone() as zone, hour(timestamp_millis(0)) as at", materialized="table")
    project.run()
    assert project.rows("SELECT zone, at FROM {s}.said") == [("Asia/Tokyo", 9)]
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT 1L AS id, timestamp_millis({T0}L) AS ts")
    project.model("m", f"select id from {project.schema}.events where mz_now() < ts")
    project.run("-s", "m", now=T0 - 1)
    remembered = project.state().settings
    assert remembered["spark.sql.session.timeZone"] == "Asia/Tokyo" and remembered["spark.sql.ansi.enabled"] == "false"


def test_a_catalog_that_the_server_lacks(project: Project) -> None:
    connection = {**project.connection, "catalog": "nowhere"}
    (project.path / "profiles.yml").write_text(json.dumps({"proj": {"target": "dev", "outputs": {"dev": connection}}}))
    project.model("m", "select 1 as id", materialized="table")
    ran = project.run(check=False)
    assert not ran.success and "[CATALOG_NOT_FOUND] The catalog `nowhere` not found" in ran.text, ran.text


def test_expired_view_raises(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(id) AS ts FROM range(100)")
    project.model("m", f"select id from {project.schema}.events where mz_now() >= ts", expiration="1 day")
    project.run(now=1000)
    with pytest.raises(Exception, match="temporal_view m expired at 1970-01-02 00:00:01.000 UTC"):
        project.rows("SELECT count(*) FROM {s}.m")
    text = project.dbt("show", "--inline", "select * from {{ ref('m') }}", check=False).text
    assert "temporal_view m expired at 1970-01-02 00:00:01.000 UTC" in text and "dbt run -s m" in text
    assert_clean(text)


@pytest.mark.landing
@pytest.mark.metastore
def test_spark_errors_are_about_the_model(project: Project) -> None:
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id, timestamp_millis(id) AS ts FROM range(100)")
    project.model("m", f"select id, nothing_there from {project.schema}.events where mz_now() >= ts")
    text = project.run(now=T0, check=False).text
    assert "UNRESOLVED_COLUMN" in text and "nothing_there" in text
    assert_clean(text)


def assert_clean(text: str) -> None:
    """No word of the server's own insides."""
    for word in ("\tat ", "org.apache.", "Exception:", "TGetOperationStatusResp"):
        assert word not in text, text


# ---- several clients -----------------------------------------------------------------------------------------------


@pytest.mark.landing
@pytest.mark.metastore
def test_a_rival_and_a_killed_client(project: Project, tmp_path: Path) -> None:
    """While one client writes, another gets the lock's message; killed amid its CTAS, it leaves nothing to read."""
    project.sql("CREATE TABLE {s}.events USING parquet AS SELECT id FROM range(10)")
    project.sql("CREATE VIEW {s}.slow AS SELECT id FROM {s}.events")
    project.model("m", f"select id from {project.schema}.slow where mz_now() >= {T0}L + id")
    project.run(now=T0 + 1000)
    # a thousand rows of one file, each of which takes 0.4 s to read until the property is set; the server has another
    # core for the rest
    project.sql("INSERT INTO {s}.events SELECT /*+ COALESCE(1) */ id FROM range(100, 1100)")
    going = f"java_method('java.lang.System', 'getProperty', '{project.schema}') = 'go'"
    sleep = "java_method('java.lang.Thread', 'sleep', 400L)"
    project.sql(f"ALTER VIEW {{s}}.slow AS SELECT id FROM {{s}}.events WHERE id < 100 OR {going} OR {sleep} <> ''")

    log = tmp_path / "log"
    now = json.dumps({"temporal_now": T0 + 2000})
    killed = alone("run", "--log-path", str(log), "--vars", now, folder=project.path)
    try:
        orphan = until(lambda: re.search(r"CREATE TABLE `\w+`.`(m__diffs_\w+)`", content(log / "dbt.log"))).group(1)
        result = project.run(now=T0 + 3000, check=False)
        assert f"held by process {killed.pid} on {host()}" in result.text and "one after the other" in result.text
        assert killed.poll() is None and project.rows("SELECT count(*) FROM {s}.m") == [(10,)]
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.communicate()

    project.sql("ALTER VIEW {s}.slow AS SELECT id FROM {s}.events")
    assert "OK advanced, 1,000 rows" in project.run(now=T0 + 4000).of("m").message
    assert project.rows("SELECT count(*), max(id) FROM {s}.m") == [(1010, 1099)]
    assert orphan not in diffs(project)
    project.sql(f"SELECT java_method('java.lang.System', 'setProperty', '{project.schema}', 'go')")
    until(lambda: orphan in diffs(project))  # the server does not notice that its client is gone, and writes to the end
    assert orphan not in {c.table for c in project.state().chains}
    assert "OK unchanged" in project.run(now=T0 + 5000).of("m").message
    assert project.rows("SELECT count(*), max(id) FROM {s}.m") == [(1010, 1099)]


def diffs(project: Project) -> list[str]:
    return [r[1] for r in project.rows("SHOW TABLES IN {s} LIKE 'm__diffs_*'")]


# ---- the server itself ---------------------------------------------------------------------------------------------


def test_no_server_on_a_port_that_is_taken(server: Server, scripts: Any, tmp_path: Path) -> None:
    taken = pytest.raises(scripts.thrift_server.NotStarted, match=f"Port {server.port} of 127.0.0.1 .* FLIGHTS_PORT")
    with taken, scripts.thrift_server.running(tmp_path, server.port):
        pass


def test_no_server_without_java(scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    missing = pytest.raises(scripts.thrift_server.NotStarted, match="JDK 17 or 21")
    with missing, scripts.thrift_server.running(tmp_path, 1):
        pass


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_goes_with_its_starter(number: signal.Signals, scripts: Any, tmp_path: Path) -> None:
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells a child that its parent was killed")
    port = scripts.thrift_server.free_port()
    starter = subprocess.Popen(
        [sys.executable, str(PROJECT / "thrift_server.py")],
        env={**os.environ, "FLIGHTS_PORT": str(port), "FLIGHTS_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    said = "".join(iter(starter.stdout.readline, "   cd integration_tests && ../.venv/bin/dbt build --target thrift\n"))
    assert "it answers" in said and starter.poll() is None
    starter.send_signal(number)
    starter.wait(60)

    def gone() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    until(gone)
