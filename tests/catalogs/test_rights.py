"""Users of a REST catalog who may not do all: a run is refused in words, and what was there answers as before.

| user | may not |
|---|---|
| `reader` | write anything |
| `no-tables` | make tables |
| `no-views` | make or change views |
| `no-drops` | drop anything |
| `silent` | know what the server has: it does not say that it has views |

Each test is tried in the session of the tests, and through a Thrift server whose sessions have the user's token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

import pytest
from pyspark.sql import SparkSession

from support.flights import of_the_flights
from support.instants import T0
from support.jars import jars
from support.named_catalogs import ICEBERG
from support.project import Project
from support.session import COLD, JVM

Users: TypeAlias = Callable[..., AbstractContextManager[None]]
ROWS = f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"


@pytest.fixture
def owned(project: Project) -> Project:
    """A model that its owner ran, and rows that came since."""
    if project.connection.get("catalog") != "served":
        pytest.skip("the server on loopback is the catalog that has users")
    project.sql(f"CREATE TABLE {{s}}.events USING iceberg AS {ROWS.format(0, 9)}")
    project.model("m", f"select id, ts from {project.schema}.events where mz_now() < ts")
    project.run(now=T0 - 1)
    project.sql(f"INSERT INTO {{s}}.events {ROWS.format(9, 12)}")
    return project


@pytest.fixture(scope="module")
def thrift_port(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Thrift server that has Iceberg's classes. What its sessions say names the catalogs."""
    kept = ("spark.sql.extensions", "spark.hadoop.fs.file.impl")
    conf = {key: spark.conf.get(key) for key in kept}
    conf["spark.driver.extraClassPath"] = ":".join(map(str, jars("iceberg")))  # its sessions do not see spark.jars
    with of_the_flights("thrift_server") as modules:
        home, port = tmp_path_factory.mktemp("thrift server"), modules.thrift_server.free_port()
        with modules.thrift_server.running(home, port, f"{JVM} {COLD}", conf):
            yield port


@pytest.fixture(params=["session", "thrift"])
def as_user(request: pytest.FixtureRequest, owned: Project) -> Users:
    """The same project and schema, in a catalog of the same server with the token of a user."""
    conf, served = owned.spark.conf, owned.spark.conf.get("spark.sql.defaultCatalog")
    profiles = owned.path / "profiles.yml"

    @contextmanager
    def connected(user: str, **more: str) -> Iterator[None]:
        name = user.replace("-", "_")
        given = {"type": "rest", "uri": conf.get(f"spark.sql.catalog.{served}.uri"), "token": user}
        given |= {"token-refresh-enabled": "false", "cache-enabled": "false", **more}
        place = f"spark.sql.catalog.{name}"
        settings = {place: ICEBERG, **{f"{place}.{key}": value for key, value in given.items()}}
        connection = {**owned.connection, "catalog": name}
        if request.param == "thrift":
            there = {"method": "thrift", "host": "127.0.0.1", "port": request.getfixturevalue("thrift_port")}
            zone = {"spark.sql.session.timeZone": "UTC"}
            connection |= {**there, "user": user, "server_side_parameters": {**zone, **settings}}
        else:
            for key, value in settings.items():
                conf.set(key, value)
        text = profiles.read_text()
        profiles.write_text(json.dumps({"proj": {"target": "dev", "outputs": {"dev": connection}}}))
        try:
            yield
        finally:
            profiles.write_text(text)
            conf.set("spark.sql.defaultCatalog", served)

    return connected


def ids(project: Project, t: int) -> list[int]:
    return sorted(r[0] for r in project.rows(f"SELECT id FROM {project.at('m', t)}"))


@pytest.mark.parametrize("user", ["reader", "no-tables", "no-views"])
def test_a_run_without_rights(owned: Project, as_user: Users, user: str) -> None:
    """An error in words; the same answers; nothing left; and the owner's next run is as if nothing had been."""
    there, answers = owned.relations(), ids(owned, T0 + 4000)
    with as_user(user):
        ran = owned.run(now=T0, check=False)
        assert not ran.success
        assert f"{user} may not POST" in ran.text and "the user of this connection may not" in ran.text, ran.text
        assert "instead: the right to do so in" in ran.text and "Traceback" not in ran.text
    assert ids(owned, T0 + 4000) == answers == [5, 6, 7, 8]
    left = owned.relations() - there
    assert not left if user != "no-views" else all("__diffs_" in name for name in left), left
    assert owned.run(now=T0).success
    assert ids(owned, T0 + 4000) == [5, 6, 7, 8, 9, 10, 11]


def test_a_run_that_may_drop_nothing(owned: Project, as_user: Users) -> None:
    """The commit is there, the lock stays; the owner takes the lock of the process over."""
    with as_user("no-drops"):
        ran = owned.run(now=T0, check=False)
        assert not ran.success and "found: Forbidden: no-drops may not DELETE" in ran.text, ran.text
        assert "the user of this connection may not" in ran.text
        assert "unchanged" in owned.run(now=T0 + 1).of("m").message  # nothing to write needs no right
        owned.sql(f"INSERT INTO {{s}}.events {ROWS.format(30, 31)}")
        later = owned.run(now=T0 + 2, check=False)
        assert not later.success and "found: Forbidden: no-drops may not DELETE" in later.text, later.text
    owned.sql("DELETE FROM {s}.events WHERE id = 30")
    assert ids(owned, T0 + 4000) == [5, 6, 7, 8, 9, 10, 11]
    assert owned.run(now=T0 + 3).success
    assert ids(owned, T0 + 4000) == [5, 6, 7, 8, 9, 10, 11]
    assert "m__lock" not in owned.relations()


def test_a_reader_reads(owned: Project, as_user: Users) -> None:
    """An instant, the status, the data tests; an operation that writes is refused in words."""
    owned.run(now=T0)
    owned.properties(
        {"models": [{"name": "m", "data_tests": ["temporal_matches_source", "temporal_diffs_consistent"]}]}
    )
    with as_user("reader"):
        shown = owned.dbt(
            "show", "--inline", f"select count(*) as n from {{{{ temporal_as_of(ref('m'), {T0 + 4000}) }}}}"
        )
        assert [tuple(row) for row in shown.results[0].agate_table.rows] == [(7,)]
        assert {str(r.status) for r in owned.dbt("test", now=T0).results} == {"pass"}
        assert "m" in owned.dbt("run-operation", "temporal_status").text
        refused = owned.dbt("run-operation", "temporal_consolidate", "--args", '{"model": "m"}', check=False)
        assert not refused.success and "the user of this connection may not" in refused.text, refused.text


@pytest.mark.parametrize("user", ["reader", "no-tables", "no-views"])
def test_a_first_run_without_rights(owned: Project, as_user: Users, user: str) -> None:
    """Also of a model that takes the place of a table: the table stays."""
    owned.model("kept", "select 1 as id", materialized="table", file_format="iceberg")
    owned.run("-s", "kept")
    owned.model("kept", f"select id, ts from {owned.schema}.events where mz_now() < ts")
    owned.model("new", f"select id, ts from {owned.schema}.events where mz_now() < ts")
    there = owned.relations()
    with as_user(user):
        ran = owned.run("-s", "kept", "new", now=T0, check=False)
        assert {str(r.status) for r in ran.results} == {"error"}
        assert ran.text.count("the user of this connection may not") >= 2, ran.text
    assert owned.relations() == there
    assert owned.rows("SELECT * FROM {s}.kept") == [(1,)]
    assert owned.run("-s", "kept", "new", now=T0).success
    assert owned.count("new") == owned.count("kept")


def test_a_server_that_does_not_say_that_it_has_views(owned: Project, as_user: Users) -> None:
    """A model is refused before anything is written, and the advice helps."""
    owned.model("new", f"select id, ts from {owned.schema}.events where mz_now() < ts")
    there, answers = owned.relations(), ids(owned, T0 + 4000)
    with as_user("silent"):
        for name in ("new", "m"):
            ran = owned.run("-s", name, now=T0, check=False)
            assert not ran.success
            assert f"found: schema `{owned.schema}` of the catalog silent, which has no views" in ran.text, ran.text
            assert "Spark's words: Server does not support endpoint: POST /v1/" in ran.text
            assert "spark.sql.catalog.silent.view-endpoints-supported=true of the session" in ran.text
    assert owned.relations() == there and ids(owned, T0 + 4000) == answers
    with as_user("silent-told", **{"view-endpoints-supported": "true"}):
        assert owned.run(now=T0).success
    assert owned.count("new") == owned.count("m") and ids(owned, T0 + 4000) == [5, 6, 7, 8, 9, 10, 11]


def test_commits_in_a_table_where_views_are_unseen(owned: Project, as_user: Users) -> None:
    """What a session does not see of a model is not taken for left behind."""
    owned.model("new", f"select id, ts from {owned.schema}.events where mz_now() < ts")
    there, answers = owned.relations(), ids(owned, T0 + 4000)
    owned.connection["views_in"] = "none"
    with as_user("silent"):
        assert owned.run("-s", "new", now=T0).success
        ran = owned.run("-s", "m", now=T0, check=False)
    assert ids(owned, T0 + 4000) == answers, ran.text
    assert there <= owned.relations(), ran.text
    assert not ran.success
