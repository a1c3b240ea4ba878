"""Temporal views without dbt: a host is a session, names, configs and a log."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.errors import PySparkException

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.host import Host, run_model
from dbt.adapters.sparktemporal.run.plan import HostFacts
from dbt.adapters.sparktemporal.temporal.sql.names.bind import columns_of
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse
from support.given_types import BY_SESSION, KNOWN, ORDERS, aggregated
from support.instants import T0
from support.project import Project
from support.seeds import a_seed


class Notebook:
    """A session of Spark and a schema, with one config for all models."""

    def __init__(self, spark: Any, schema: str, **config: Any) -> None:
        self.spark, self.schema, self._config, self.log = spark, schema, config, []  # type: Any, str, Any, list[str]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def relations(self, model: str) -> ModelRelations:
        return ModelRelations(f"`{self.schema}`", model)

    def config(self, model: str) -> Mapping[str, Any]:
        return self._config

    def facts(self, model: str) -> HostFacts:
        return HostFacts()

    def say(self, line: str) -> None:
        self.log.append(line)


MODELS = {
    "rows": "select id, ts from {s}.events where mz_now() < ts",
    "sums": "select id % 3 as k, count(*) as n from {s}.events where mz_now() < ts group by id % 3",
}


@pytest.mark.landing
@pytest.mark.parametrize("name", MODELS)
def test_a_notebook(project: Project, name: str) -> None:
    """A first run, new rows, a deleted row, nothing new: what Spark makes of the query as written, at each instant."""
    host: Host = Notebook(project.spark, project.schema, expiration="30 days")
    rows = f"SELECT id, timestamp_millis({T0}L + id * 1000) AS ts FROM range({{}}, {{}})"
    project.sql(f"CREATE TABLE {{s}}.events USING parquet AS {rows.format(0, 20)}")
    written = MODELS[name].replace("{s}", project.schema)
    actions = []
    for n, change in enumerate(("", f"INSERT INTO {{s}}.events {rows.format(20, 25)}", "", "CREATE OR REPLACE")):
        if change.startswith("INSERT"):
            project.sql(change)
        elif change:
            project.sql("CREATE TABLE {s}.kept USING parquet AS SELECT * FROM {s}.events WHERE id <> 22")
            project.sql("INSERT OVERWRITE {s}.events SELECT * FROM {s}.kept")
        actions.append(run_model(host, "m", written, as_of=T0 + n)["action"])
        for t in (T0 + n, T0 + 4999, T0 + 5000, T0 + 5001, T0 + 30_000):
            oracle = written.replace("mz_now()", f"timestamp_millis({t}L)")
            assert sorted(project.rows(f"SELECT * FROM {project.at('m', t)}")) == sorted(project.rows(oracle)), (n, t)
    assert actions == ["hydrated", "advanced", "unchanged", "advanced"]
    assert "m__lock" not in project.relations() and any("hydrated" in line for line in host.log)
    with pytest.raises(Refusal, match="rand"):
        run_model(host, "m", "select rand() as r from events where mz_now() < ts", as_of=T0 + 9)
    assert "m__lock" not in project.relations() and project.committed("m").frontier == T0 + 3


@pytest.mark.landing
def test_the_types_that_are_known_without_spark(project: Project) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in ORDERS.items())
    project.sql(f"CREATE TABLE {{s}}.orders ({columns}) USING parquet")
    for ansi, expected in (("true", KNOWN), ("false", {**KNOWN, **BY_SESSION})):
        project.spark.conf.set("spark.sql.ansi.enabled", ansi)
        for expression, kind in expected.items():
            asked = f"DESCRIBE QUERY SELECT {expression} AS x FROM shop.orders".replace("shop", project.schema)
            assert project.rows(asked)[0][1] == kind, (expression, ansi)
    rng, known = random.Random(a_seed()), 0
    for number in range(150):
        project.spark.conf.set("spark.sql.ansi.enabled", str(number % 2 == 0).lower())
        sql = f"SELECT {aggregated(rng)} AS x FROM {project.schema}.orders"
        try:
            kind = project.rows(f"DESCRIBE QUERY {sql}")[0][1]
        except PySparkException:  # types that do not fit
            continue
        (found,) = columns_of(parse(sql), lambda table: list(ORDERS.items()))
        assert found[1] in ("", kind), (sql, number)
        known += bool(found[1])
    assert known > 30
