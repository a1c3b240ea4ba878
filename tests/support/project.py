"""A dbt project of a test, dbt in-process, and what is asked of both."""

from __future__ import annotations

import json
import re
import textwrap
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import EventMsg

from dbt.adapters.sparktemporal.engine.committed import read_state
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time import reads
from dbt.adapters.sparktemporal.temporal.diffs.state import State
from support.named_catalogs import TABLES_ALONE


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


def session_connection(spark: Any) -> dict[str, Any]:
    """The profile of a session, with its catalog where that is another one than Spark's own."""
    conf = getattr(spark, "conf", None)  # a client of a server has none
    catalog = conf.get("spark.sql.defaultCatalog", "spark_catalog") if conf else "spark_catalog"
    named = {} if catalog == "spark_catalog" else {"catalog": catalog}
    return {"method": "session", "host": "local", **named}


def is_named(spark: Any) -> bool:
    """Whether tests are in a catalog that their profile names."""
    return "catalog" in session_connection(spark)


def inputs_of(ran: Any) -> str:
    """How a run read the inputs of a model."""
    return " | ".join(ran.adapter_response["inputs"])


class Project:
    """A dbt project in a folder, against a schema of its own; in the session itself, or by another connection."""

    #: whether dbt writes manifest.json, run_results.json, catalog.json
    has_artifacts = False

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
        connection = connection or {**session_connection(spark), **self._views_elsewhere(spark)}
        self.connection = {"type": "sparktemporal", "schema": self.schema, "threads": 1, **connection}
        self.write("profiles.yml", json.dumps({"proj": {"target": "dev", "outputs": {"dev": self.connection}}}))
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {self.schema}")

    def _views_elsewhere(self, spark: Any) -> dict[str, str]:
        """Where a catalog has no views: those of models are in a schema of this name in the session's own catalog."""
        if session_connection(spark).get("catalog") not in TABLES_ALONE:
            return {}
        elsewhere = f"spark_catalog.{self.schema}"
        spark.sql(f"CREATE DATABASE {elsewhere}")
        return {"views_in": elsewhere}

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))

    def model(self, name: str, sql: str, **config: Any) -> None:
        config.setdefault("materialized", "temporal_view")
        arguments = ", ".join(f"{k}={v!r}" for k, v in config.items())
        self.write(f"models/{name}.sql", f"{{{{ config({arguments}) }}}}\n{textwrap.dedent(sql)}")

    def properties(self, text: dict[str, Any]) -> None:
        """models/schema.yml: descriptions, columns and tests."""
        self.write("models/schema.yml", json.dumps({"version": 2, **text}))

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
        outcome = dbtRunner(callbacks=[heard]).invoke([*self._quick(args), "--no-use-colors", *command])
        result = Result(outcome.success, outcome.result, log, outcome.exception)
        if check:
            assert outcome.success, result.text
        return result

    def _quick(self, args: tuple[str, ...]) -> list[str]:
        """Options by which dbt writes no more than a test looks at: half of a run of one model writes its manifest."""
        return ["--quiet", "--log-level-file=none", *([] if self.has_artifacts else ["--no-write-json"])]

    def run(self, *args: str, now: Any = None, check: bool = True, **vars_: Any) -> Result:
        return self.dbt("run", *args, now=now, check=check, **vars_)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The schema of the project is the current one."""
        self.sql("USE {s}")
        try:
            yield
        finally:
            self.sql("USE default")

    def render(self, text: str, **vars_: Any) -> str:
        """Jinja -> SQL, as dbt compiles an inline query."""
        result = self.dbt("compile", "--inline", text, **vars_)
        return result.results[0].node.compiled_code

    def at(self, model: str, t: int, schema: str = "") -> str:
        """What `temporal_as_of(ref(model), t)` stands for, without a dbt command."""
        return self.at_each(model, [t], schema)[t]

    def at_each(self, model: str, instants: Iterable[int], schema: str = "") -> dict[int, str]:
        """{instant: what `temporal_as_of(ref(model), instant)` stands for}, of the state of now."""
        warehouse = Warehouse(self.rows)
        state = reads.committed(warehouse, ModelRelations(f"`{schema or self.schema}`", model))
        return {t: reads.at(warehouse, state, t) for t in instants}

    def target(self, model: str = "m") -> ModelRelations:
        """The relations of a model, as the adapter names them."""
        elsewhere = self.connection.get("views_in")
        views_in = elsewhere if elsewhere is None or "." in elsewhere else ""
        return ModelRelations(f"`{self.schema}`", model, views_in)

    def state(self, model: str = "m") -> State:
        """What the last run of a model committed."""
        found = self.committed(model)
        assert found is not None, f"{model} has no state"
        return found

    def committed(self, model: str) -> State | None:
        """The state of a model that may never have run."""
        return read_state(Warehouse(self.rows), ModelRelations(f"`{self.schema}`", model))

    def relations(self, schema: str | None = None) -> set[str]:
        """Names of tables and views. Temporary views are the session's, whatever test made them."""
        kinds = ["TABLE"] if schema and "." in schema else self._kinds()  # of the session's own catalog
        return {row[1] for kind in kinds for row in self.rows(f"SHOW {kind}S IN {schema or self.schema}") if row[0]}

    def _kinds(self) -> list[str]:
        """What the catalog lists by a statement of its own, views before what they read."""
        if self.connection.get("catalog") in (None, *TABLES_ALONE):
            return ["TABLE"]
        return ["VIEW", "TABLE"]

    def drop(self) -> None:
        """Drop the schema with all in it."""
        self.drop_schema(self.schema)
        if self.connection.get("views_in") == f"spark_catalog.{self.schema}":
            self.spark.sql(f"DROP DATABASE spark_catalog.{self.schema} CASCADE")

    def drop_schema(self, schema: str) -> None:
        """Iceberg's catalogs have no CASCADE, and their SHOW TABLES lists no views."""
        if is_named(self.spark):
            for kind in self._kinds():
                for name in [r[1] for r in self.rows(f"SHOW {kind}S IN {schema}") if r[0]]:
                    self.spark.sql(f"DROP {kind} {schema}.`{name}`")
        self.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")

    def count(self, relation: str = "m") -> int:
        return self.rows(f"SELECT count(*) FROM {{s}}.{relation}")[0][0]

    def rows(self, sql: str) -> list[tuple]:
        return [tuple(r) for r in self.spark.sql(self._placed(sql.replace("{s}", self.schema))).collect()]

    def columns(self, relation: str = "m") -> list[str]:
        return list(self.spark.sql(self._placed(f"SELECT * FROM {self.schema}.{relation}")).columns)

    def _placed(self, sql: str) -> str:
        """A query over views by the names of their models, where they are elsewhere."""
        elsewhere = self.connection.get("views_in")
        if elsewhere != f"spark_catalog.{self.schema}" or not sql.lstrip("( \n").upper().startswith("SELECT"):
            return sql
        views = {row[1] for row in self.spark.sql(f"SHOW TABLES IN {elsewhere}").collect()}

        def place(found: re.Match[str]) -> str:
            return f"{elsewhere}.{found[1]}" if found[1] in views and not found[1].endswith("__live") else found[0]

        return re.sub(rf"(?<![\w.`]){self.schema}\.(\w+)", place, sql)

    def sql(self, sql: str) -> None:
        for statement in sql.split(";"):
            if statement.strip():
                self.spark.sql(statement.replace("{s}", self.schema))


def a_project(folder: Path, spark: Any, connection: dict[str, Any] | None = None) -> Iterator[Project]:
    """For fixtures: a project whose schema is dropped in the end."""
    made = Project(folder / "project", spark, connection)
    yield made
    made.drop()
