"""One Spark session a pytest process, dbt called in-process, a project written for each test that needs one."""

from __future__ import annotations

import json
import os
import textwrap
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt_common.events.base_types import EventMsg
from jinja2 import Environment, nodes
from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse
from dbt.adapters.sparktemporal.operations.reads import as_of
from dbt.adapters.sparktemporal.run import lock

os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
os.environ.setdefault("TZ", "UTC")

#: the queries of tests are many and their rows few: for most of them Spark need not compile Java
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.driver.memory": "3g",
    "spark.sql.autoBroadcastJoinThreshold": "10m",
    # Spark's parser remembers how it read every statement: without a limit thousands of them fill the heap
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "30000",
    # without checksums beside every file: a Java without Hadoop's own library starts a process for each file it makes
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    **INTERPRETED,
}
JVM = "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
#: tests are many small statements in a cold JVM: the optimizing compiler costs more than it gives back
COLD = "-XX:TieredStopAtLevel=1"


#: what dbt writes into a project
_MADE = ("target", "logs", "state")
#: options by which the same files are another project
_DECIDE = {"--target", "--profile", "--state", "--defer"}


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the parameters of a test marked `first(n)` all but the first n are deep."""
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("first")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            seen[test] += 1
            if seen[test] > mark.args[0]:
                item.add_marker(pytest.mark.deep)


@pytest.fixture(scope="session", autouse=True)
def templates_parsed_once() -> Iterator[None]:
    """Every project has the same 500 macros, and dbt would parse each anew for each project: half of a small test."""
    parse, known = Environment.parse, {}

    def once(self: Environment, source: str, name: str | None = None, filename: str | None = None) -> nodes.Template:
        key = (type(self), frozenset(self.extensions), source)
        if key not in known:
            known[key] = parse(self, source, name, filename)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Environment, "parse", once)
        yield


class FakeTime:
    """Pauses take no time. later: what is to happen after so many seconds of them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self._due: list[tuple[float, Any]] = []

    def later(self, seconds: float, act: Any) -> None:
        self._due.append((self.now + seconds, act))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        due = [act for at, act in self._due if at <= self.now]
        self._due = [(at, act) for at, act in self._due if at > self.now]
        for act in due:
            act()


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Whoever waits for a lock waits in no time."""
    fake = FakeTime()
    monkeypatch.setattr(lock, "sleep", fake.sleep)
    monkeypatch.setattr(lock, "monotonic", lambda: fake.now)
    return fake


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, str]:
    """What a folder adds to SPARK_CONF (adapter/lake: Delta); its tests run as a process of their own."""
    return {}


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark_conf: dict[str, str]
) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("spark")
    log4j = (Path(__file__).parents[1] / "integration_tests" / "log4j2.properties").as_uri()
    jvm = JVM if request.config.getoption("-m") == "deep" else f"{JVM} {COLD}"
    builder = SparkSession.builder.appName("tests")
    conf = {
        **SPARK_CONF,
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:memory:{uuid.uuid4().hex};create=true",
        "spark.driver.extraJavaOptions": f"{jvm} -Dlog4j2.configurationFile={log4j} -Dderby.system.home={home}",
        **spark_conf,
    }
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.enableHiveSupport().getOrCreate()
    yield session
    session.stop()


class Result:
    """What a dbt invocation did."""

    def __init__(self, success: bool, value: Any, log: list[str], exception: BaseException | None) -> None:
        self.success, self.value, self.log, self.exception = success, value, log, exception
        self.results = list(getattr(value, "results", None) or [])

    @property
    def text(self) -> str:
        """All that a person would have read."""
        messages = [str(r.message) for r in self.results if r.message]
        return "\n".join([*self.log, *messages, str(self.exception or "")])

    def of(self, name: str) -> Any:
        return next(r for r in self.results if r.node.name == name)


class Project:
    """A dbt project in a folder, against a schema of its own; in the session itself, or by another connection."""

    _parsed: tuple[int, Manifest | None] = (0, None)

    def __init__(self, path: Path, spark: Any, connection: dict[str, Any] | None = None) -> None:
        self.path, self.spark = path, spark
        self.schema = "t_" + uuid.uuid4().hex[:10]
        self.target_name = "dev"
        (path / "models").mkdir(parents=True)
        self.write(
            "dbt_project.yml",
            """
            name: proj
            version: "1.0"
            profile: proj
            flags: {send_anonymous_usage_stats: false}
            """,
        )
        connection = connection or {"method": "session", "host": "local"}
        outputs = {"dev": {"type": "sparktemporal", "schema": self.schema, "threads": 1, **connection}}
        self.write("profiles.yml", json.dumps({"proj": {"target": "dev", "outputs": outputs}}))
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {self.schema}")

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def model(self, name: str, sql: str, **config: Any) -> None:
        config.setdefault("materialized", "temporal_view")
        arguments = ", ".join(f"{k}={v!r}" for k, v in config.items())
        self.write(f"models/{name}.sql", f"{{{{ config({arguments}) }}}}\n{textwrap.dedent(sql)}")

    def dbt(self, *args: str, now: Any = None, check: bool = True, **vars_: Any) -> Result:
        """`dbt <args>`; `now` is var temporal_now. Fails the test when dbt fails, unless check is False."""
        log: list[str] = []

        def heard(event: EventMsg) -> None:
            if event.info.level in ("info", "warn", "error"):
                log.append(event.info.msg)

        if now is not None:
            vars_["temporal_now"] = now
        command = [*args, "--project-dir", str(self.path), "--profiles-dir", str(self.path)]
        if vars_:
            command += ["--vars", json.dumps(vars_)]
        runner = dbtRunner(manifest=self._manifest(command, vars_), callbacks=[heard])
        outcome = runner.invoke(["--quiet", "--no-use-colors", *command])
        result = Result(outcome.success, outcome.result, log, outcome.exception)
        if check:
            assert outcome.success, result.text
        return result

    def _manifest(self, command: list[str], vars_: dict[str, Any]) -> Manifest | None:
        """The project as it was parsed before, from the second time on: for whoever runs it again and again.

        With another `temporal_now` dbt would parse every macro anew. None where something else decides what is parsed.
        """
        if set(vars_) - {"temporal_now"} or _DECIDE.intersection(command):
            return None
        files = [f for f in sorted(self.path.rglob("*")) if f.is_file()]
        ours = [f for f in files if f.relative_to(self.path).parts[0] not in _MADE]
        key = hash(tuple((str(f), f.read_bytes()) for f in ours))
        known, manifest = self._parsed
        if known == key and manifest is None:
            folders = ["--project-dir", str(self.path), "--profiles-dir", str(self.path)]
            manifest = dbtRunner().invoke(["--quiet", "parse", *folders]).result
        self._parsed = (key, manifest if known == key else None)
        return manifest.deepcopy() if known == key and manifest else None

    def run(self, *args: str, now: Any = None, check: bool = True, **vars_: Any) -> Result:
        return self.dbt("run", *args, now=now, check=check, **vars_)

    def render(self, text: str, **vars_: Any) -> str:
        """Jinja -> SQL, as dbt compiles an inline query."""
        result = self.dbt("compile", "--inline", text, **vars_)
        return result.results[0].node.compiled_code

    def at(self, model: str, t: int) -> str:
        """What `temporal_as_of(ref(model), t)` stands for, without a dbt command."""
        return as_of(Warehouse(self.rows), ModelRelations(f"`{self.schema}`", model), t)

    def rows(self, sql: str) -> list[tuple]:
        return [tuple(r) for r in self.spark.sql(sql.replace("{s}", self.schema)).collect()]

    def sql(self, sql: str) -> None:
        for statement in sql.split(";"):
            if statement.strip():
                self.spark.sql(statement.replace("{s}", self.schema))


@pytest.fixture
def small_plans(spark: SparkSession) -> Iterator[SparkSession]:
    """For tests of thousands of small queries: one partition, planned once. Settings are as before afterwards."""
    changed = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    kept = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", *INTERPRETED)
    before = {key: spark.conf.get(key) for key in (*changed, *kept)}
    for key, value in changed.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture
def project(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    made = Project(tmp_path / "project", spark)
    yield made
    spark.sql(f"DROP DATABASE IF EXISTS {made.schema} CASCADE")
