"""Random small projects, built at several pinned instants: each relation is its query with the views as written then.

The oracle knows nothing of chains: it puts the written query, with the clock replaced by the instant, in the place of
each temporal view, and has Spark run it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.instants import T0
from support.project import Project

FIRST = T0 + 10_000

VIEWS = (
    "select id, k, ts from {events} where mz_now() >= ts and mz_now() < ts + interval {w} seconds",
    "select k as id, count(*) as k from {events} where mz_now() between ts and ts + interval {w} seconds group by k",
    "select id, k from {events} where (mz_now() >= ts and k > 1) or id = 3 and mz_now() < ts + interval {w} seconds",
)
CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"expiration": "10 minutes"},
    {"refresh_every": "10 seconds", "refresh_at": "2024-03-01 12:00:00"},
)
#: what is written -> what the oracle runs, where that differs
DOWNSTREAM = (
    ("select id, k from {a}", None),
    ("with {name} as (select id, k, mz_now() as seen from {a}) select {name}.id, k from {name}", None),
    ("select {a}.id, {a}.k from {a} where {a}.id is not null", "select id, k from {a}"),
    ("select x.id, y.k from {a} x join {b} as y on x.id = y.id", None),
    ("select id, k from {events} as e where exists (select 1 from {a} where {a}.id = e.id)",
     "select id, k from {events} as e where exists (select 1 from {a} z where z.id = e.id)"),
    ("select id, k from {a} union all (select id, count(*) as k from {b} group by id)", None),
    ("select id, k from {a} lateral view explode(array(1, 2)) n as o where mz_now() > timestamp '2024-01-01'", None),
)  # fmt: skip


@dataclass
class Model:
    """A model, and its query at an instant: `oracle` has other models in <angle brackets>."""

    name: str
    kind: str
    sql: str
    oracle: str
    config: dict[str, Any] = field(default_factory=dict)
    relation: str = ""


class World:
    def __init__(self, seed: int, project: Project) -> None:
        self.random, self.project = random.Random(seed), project
        self.models: dict[str, Model] = {}
        self.appended: dict[str, Counter[Any]] = {}
        self.events = f"{project.schema}.events"
        self.instants = [T0 + 1000 * self.random.randrange(60) for _ in range(40)]
        rows = ", ".join(f"({i}L, {i % 5}L, timestamp_millis({t}L))" for i, t in enumerate(self.instants))
        project.sql(f"CREATE TABLE {{s}}.events USING parquet AS SELECT * FROM VALUES {rows} AS t(id, k, ts)")
        for n in range(3):
            self.temporal(n)
        for n in range(6):
            self.downstream(n)

    def add(self, model: Model) -> None:
        place = self.random.choice([{}, {"alias": f"{model.name}_Aliased"}, {"schema": "other"}])
        if model.kind != "ephemeral":
            model.config.update(place)
        schema = self.project.schema + ("_other" if "schema" in model.config else "")
        model.relation = f"{schema}.{model.config.get('alias', model.name)}"
        self.models[model.name] = model
        self.project.model(model.name, model.sql, materialized=model.kind, **model.config)

    def temporal(self, n: int) -> None:
        sql = self.random.choice(VIEWS).format(events=self.events, w=self.random.randrange(5, 40))
        inner = self.models.get("v0")
        if n == 2 and inner and "ts" in inner.sql.partition("from")[0] and "refresh_every" not in inner.config:
            sql = "select id, k from {} where mz_now() < ts + interval 9 seconds"
            self.add(Model("v2", "temporal_view", sql.format("{{ ref('v0') }}"), sql.format("<v0>")))
            return
        self.add(Model(f"v{n}", "temporal_view", sql, sql, dict(self.random.choice(CONFIGS))))

    def downstream(self, n: int) -> None:
        kind = self.random.choice(["table", "table", "incremental", "view", "ephemeral"])
        a, b = (self.random.choice(list(self.models)) for _ in range(2))
        shape, other = self.random.choice(DOWNSTREAM)
        if "{a}." in shape and self.models[a].kind == "ephemeral":
            shape, other = DOWNSTREAM[0]
        name = self.models[a].relation.rpartition(".")[2]
        written, oracle = (
            text.format(a=one, b=two, events=self.events, name=name)
            for text, one, two in (
                (shape, f"{{{{ ref('{a}') }}}}", f"{{{{ ref('{b}') }}}}"),
                (other or shape, f"<{a}>", f"<{b}>"),
            )
        )
        config = {"incremental_strategy": "append"} if kind == "incremental" else {}
        self.add(Model(f"d{n}", kind, written, oracle, config))

    def query(self, name: str, t: int) -> str:
        model = self.models[name]
        if "refresh_every" in model.config:
            t -= (t - T0) % 10_000
        if model.kind == "incremental":
            return f"(select * from {model.relation})"  # what the build before left is part of it
        sql = model.oracle.replace("mz_now()", f"timestamp_millis({t}L)")
        return "(" + re.sub(r"<(\w+)>", lambda found: self.query(found.group(1), t), sql) + ")"

    def expected(self, name: str, t: int) -> Counter[Any]:
        model = self.models[name]
        sql = model.oracle.replace("mz_now()", f"timestamp_millis({t}L)")
        sql = re.sub(r"<(\w+)>", lambda found: self.query(found.group(1), t), sql)
        rows = Counter(self.project.rows(sql))
        if model.kind == "incremental":
            rows += self.appended.get(name, Counter())
            self.appended[name] = rows
        return rows

    def check(self, t: int) -> None:
        made = [m for m in self.models.values() if m.kind in ("table", "incremental", "view")]
        first = made[0].sql if made else "select id, k from {{ ref('v0') }}"
        assert self.project.dbt("build", now=t).success
        for model in made:  # in the order of the graph: an incremental model is read by those after it
            found = Counter(self.project.rows(f"SELECT id, k FROM {model.relation}"))
            assert found == self.expected(model.name, t), (model.name, model.kind, model.sql, t)
        shown = self.project.dbt("show", "--inline", first, "--limit", "-1", now=t)
        rows = Counter(tuple(map(int, row)) for row in shown.results[0].agate_table.rows)
        name = made[0].name if made else "v0"
        sql = self.models[name].oracle.replace("mz_now()", f"timestamp_millis({t}L)")
        if made:
            sql = re.sub(r"<(\w+)>", lambda found: self.query(found.group(1), t), sql)
            assert rows == Counter(self.project.rows(sql)), first
        expected = self.project.rows(f"SELECT count(*) FROM {self.query('v1', t)}")[0][0]
        test = f"select count(*) as n from {{{{ ref('v1') }}}} having count(*) <> {expected}"
        self.project.write("tests/seen.sql", test)
        assert self.project.dbt("test", now=t).success, test
        (self.project.path / "tests" / "seen.sql").unlink()


@pytest.mark.landing
@pytest.mark.first(2)
@pytest.mark.parametrize("seed", range(20))
def test_every_relation_is_its_query_at_the_instant(seed: int, project: Project) -> None:
    project.write(
        "macros/schema.sql",
        "{% macro generate_schema_name(name, node) %}{{ target.schema }}{{ '_' ~ name if name }}{% endmacro %}",
    )
    try:
        world = World(seed, project)
        views = [name for name, model in world.models.items() if model.kind == "temporal_view"]
        project.run("-s", *views, now=FIRST)
        edges = [t + moved for t in world.instants for moved in (-1, 0, 1, 5_000) if t > FIRST + 10_000]
        for t in sorted(world.random.sample(edges, 2)):
            world.check(t)
    finally:
        project.spark.sql(f"DROP DATABASE IF EXISTS {project.schema}_other CASCADE")
