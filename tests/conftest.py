"""One Spark session a pytest process, dbt called in-process, a project written for each test that needs one."""

from __future__ import annotations

import gc
import os
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from dbt.adapters.spark.session import Cursor
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.inputs.observing import manifest
from dbt.adapters.sparktemporal.run import lock
from dbt.adapters.sparktemporal.spark_log import QUIET
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.named_catalogs import NAMED, conf_of
from support.parsing import parse_once
from support.project import Project, a_project
from support.remote_session import CONNECT, remote
from support.seeds import fresh
from support.session import AT_START, COLD, JVM, ROOM, SPARK_CONF, settings_now, settings_restored, temporary
from support.waiting import FakeTime

os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
os.environ.setdefault("TZ", "UTC")
hypothesis.settings.register_profile("tests", derandomize=not fresh())
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="the run takes more than a quarter of an hour: by then Java's optimizing compiler has paid for itself",
    )
    parser.addoption(
        "--catalog",
        default="hive",
        choices=["hive", "in-memory", *NAMED, CONNECT],
        help="where Spark keeps tables: Hive's metastore takes two thirds of the time of small tests; plain is "
        "one by Spark's own interfaces, the others are Iceberg's (support/named_catalogs.py), and the profile names "
        "them; connect is a server of Spark Connect",
    )


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but the first n parameters of a test are for `make test-landing` (quick) or `make test-deep` (first)."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        seen[test] += 1
        for mark, others in (("quick", ("landing", "own_catalog")), ("first", ("deep",))):
            limit = item.get_closest_marker(mark)
            if limit is not None and seen[test] > limit.args[0]:
                for other in others:
                    item.add_marker(other)


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        parse_once(patch)
        gc.freeze()  # dbt and what it imports stay: the collector need not look at them again
        gc.set_threshold(50_000, 20, 50)
        yield


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Whoever waits for a lock waits in no time."""
    fake, began = FakeTime(), lock.session_facts.now()
    monkeypatch.setattr(lock, "sleep", fake.sleep)
    monkeypatch.setattr(lock.session_facts, "now", lambda: began + fake.now)
    return fake


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, str]:
    """What a folder adds to SPARK_CONF (adapter/lake: Delta); its tests run as a process of their own."""
    return {}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that reach dbt-spark's cursor from now on."""
    seen: list[str] = []
    plain = Cursor.execute

    def execute(self: Cursor, sql: str, *parameters: Any) -> None:
        seen.append(sql)
        plain(self, sql, *parameters)

    monkeypatch.setattr(Cursor, "execute", execute)
    return seen


@pytest.fixture
def lists_in_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are remembered in a table, however few they are."""
    monkeypatch.setattr(manifest, "FEW", -1)


@pytest.fixture
def chains_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run adds is a chain of its own at first, however small the others are."""
    monkeypatch.setattr(chains, "chains_to_rewrite", lambda rows, new: 0)


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark_conf: dict[str, str]
) -> Iterator[SparkSession]:
    home, catalog = tmp_path_factory.mktemp("spark"), request.config.getoption("--catalog")
    jvm = " ".join([JVM, ROOM, *([] if request.config.getoption("--long") else [COLD])])
    builder = SparkSession.builder.appName("tests")
    conf = {
        **SPARK_CONF,
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:memory:{uuid.uuid4().hex};create=true",
        "spark.driver.extraJavaOptions": f"{jvm} {QUIET} -Dderby.system.home={home}",
        **spark_conf,
    }
    if catalog == CONNECT:
        with remote(home, jvm, conf) as session:
            AT_START.update(settings_now(session))
            yield session
        return
    with conf_of(catalog, home) if catalog in NAMED else nullcontext({}) as named:
        for key, value in (conf | named).items():
            builder = builder.config(key, value)
        if catalog == "hive":
            builder = builder.enableHiveSupport()
        session = builder.getOrCreate()
        AT_START.update(settings_now(session))
        yield session
        session.stop()


@pytest.fixture(autouse=True, scope="module")
def settings_of_the_module() -> Iterator[None]:
    """A profile sets what it names in the session, and that would decide the tests of the next module."""
    with settings_restored():
        yield


@pytest.fixture(autouse=True)
def settings_of_the_test() -> Iterator[None]:
    with settings_restored():
        yield


@pytest.fixture
def small_plans(spark: SparkSession) -> SparkSession:
    """For tests of thousands of small queries: one partition, planned once."""
    for key, value in {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}.items():
        spark.conf.set(key, value)
    return spark


@pytest.fixture
def project(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    before = temporary(spark)
    yield from a_project(tmp_path, spark)
    for kind, name in temporary(spark) - before:
        spark.sql(f"DROP TEMPORARY {kind} IF EXISTS {name}" if kind == "FUNCTION" else f"DROP VIEW IF EXISTS {name}")
