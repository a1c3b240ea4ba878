"""Texts that somebody may send: mutations of models that are fine, and shapes that readers of SQL choke on.

Each is accepted and right, or refused in words, or an error of Spark about the user's own text. Right is what Spark
makes of the text with the instant put in, at the run and at boundaries after it.
"""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.instants import T0
from support.judged import judged
from support.project import Project

TABLES = (
    f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, k, v, timestamp_millis({T0}L + lo * 1000) AS ts, "
    f"timestamp_millis({T0}L + hi * 1000) AS due, array(v, v + 1) AS xs FROM VALUES (1, 'a', 1, 0, 7), "
    "(2, 'a', 2, 7, 20), (3, 'b', 5, 5, 15), (4, null, 7, 0, 400), (5, 'b', null, -400, 7), (5, 'b', null, -400, 7), "
    "(6, 'c', 1, null, 7), (7, 'c', 1, 1, null) AS f(id, k, v, lo, hi);"
    "CREATE TABLE {s}.union USING parquet AS "
    "SELECT * FROM VALUES (1, 'a', 10), (2, 'b', 2), (3, null, 1) AS f(id, k, x)"
)
MODELS = (
    "select id, k, v from {s}.t where mz_now() >= ts and mz_now() < due",
    "select t.id, u.x from {s}.t t join {s}.union u on u.k = t.k and mz_now() < t.due where t.v > 1 or mz_now() >= ts",
    "select k, count(*), sum(v) as total from {s}.t where mz_now() < due group by k having count(*) > 0 order by k",
    "with w as (select * from {s}.t where mz_now() between ts and due) select k, max(v) as m from w group by k",
    "select window.start as s, count(*) n from {s}.t where not (mz_now() >= due) group by window(ts, '5 minutes'), k",
    "select id, (select max(x) from {s}.union u where u.k = t.k) m from {s}.t t where mz_now() < '2024-03-01 12:00:07'",
    "select id, row_number() over (partition by k order by id, v) as r from {s}.t where due is null or mz_now() < due",
    "select id, x from {s}.t lateral view explode(xs) e as x where case k when 'a' then mz_now() < due else v > 1 end",
    "select k, v from {s}.t where mz_now() < due union all select k, x from {s}.union where x in (1, 2)",
    "select k, v from {s}.t where mz_now() < due union select k, id from {s}.t where mz_now() >= ts",
)
WORDS = (
    "select", "from", "where", "union", "order", "table", "window", "lateral", "not", "and", "or", "(", ")", ",", "'",
    "`", ".", "*", "null", "distinct", "limit 2", "|> limit 2", "qualify v = 1", "as", "interval 1 day", "'2024-03-01'",
    "group by all", "case", "end", "over ()", "-- ", "/*", ";", "{{", "1", "mz_now()", "id", "in (select id from t)",
)  # fmt: skip


def nested(depth: int, before: str, inner: str, after: str) -> str:
    return before * depth + inner + after * depth


SHAPES = {
    "parentheses": f"select id from {{s}}.t where {nested(40, '(', 'mz_now() < due', ')')}",
    "nots": f"select id from {{s}}.t where {nested(34, 'not (', 'mz_now() < due', ')')}",
    "functions": f"select {nested(43, 'abs(', 'id', ')')} as x from {{s}}.t where mz_now() < due",
    "far too deep": f"select {nested(2000, 'abs(', 'id', ')')} as x from {{s}}.t where mz_now() < due",
    "derived tables": f"select id from {nested(12, '(select * from ', '{s}.t', ')')} where mz_now() < due",
    "ands": f"select id from {{s}}.t where mz_now() < due and {' and '.join(f'id <> {i}' for i in range(9, 509))}",
    "ors": f"select id from {{s}}.t where mz_now() < due or {' or '.join(f'id = {i}' for i in range(7, 507))}",
    "cases": f"select case {' '.join(f'when id = {i} then {i + 1}' for i in range(300))} end as x from {{s}}.t "
    "where mz_now() < due",
    "cases of the clock": "select id from {s}.t where case "
    + " ".join(f"when id = {i} then mz_now() < due" for i in range(5))
    + " end",
    "keywords": "select union.id, `select`.k as `order` from {s}.union join {s}.t as `select` on `select`.k = union.k "
    "where mz_now() < `select`.due",
    "a pipe": "select id from {s}.t where mz_now() < due |> limit 3",
    "pipes": "from {s}.t |> where mz_now() < due |> select id, v |> where v > 1",
    "join lateral": "select id, x from {s}.t join lateral explode(xs) e(x) where mz_now() < due",
    "a lateral query": "select id, x from {s}.t, lateral (select max(x) as x from {s}.union u where u.k = t.k) "
    "where mz_now() < due",
    "half a string": "select id from {s}.t where mz_now() < due and k = 'a",
    "half a comment": "select id from {s}.t where mz_now() < due /* and k = 1",
    "half a name": "select `id from {s}.t where mz_now() < due",
    "nothing": " ",
    "a window by name": "select k, sum(v) over window as s from {s}.t where mz_now() < due "
    "window window as (partition by k)",
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Project:
    project = Project(tmp_path_factory.mktemp("mutated") / "project", spark)
    project.sql(TABLES)
    yield project
    project.sql("DROP DATABASE {s} CASCADE")


def mutated(rng: random.Random, sql: str) -> str:
    """One or two changes of its tokens."""
    for _ in range(rng.choice((1, 1, 2))):
        parts = re.findall(r"\s+|\{s\}\.\w+|'[^']*'|\w+\(\)|\w+|.", sql)
        at = rng.randrange(len(parts))
        other = rng.randrange(len(parts))
        change = rng.randrange(6)
        if change == 0:
            parts[at] = " "
        elif change == 1:
            parts[at] += " " + rng.choice(WORDS) + " "
        elif change == 2:
            parts[at] = " " + rng.choice(WORDS) + " "
        elif change == 3:
            parts[at], parts[other] = parts[other], parts[at]
        elif change == 4:
            parts[at] += f" {parts[at]}"
        else:
            parts = parts[: at + 1]
        sql = "".join(parts)
    return sql


#: hundreds of parts: they are read in no time and planned in seconds
LARGE = ("ands", "ors", "cases", "cases of the clock", "a lateral query")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.deep) if n in LARGE else n for n in SHAPES])
def test_shapes(tables: Project, name: str, small_plans: object) -> None:
    wanted = {"far too deep": "refused", "nothing": "refused"}
    wanted |= dict.fromkeys([n for n in SHAPES if n.startswith("half")], "refused")
    assert judged(tables, SHAPES[name]) == wanted.get(name, "accepted")


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [10, 24])
def test_mutations(tables: Project, small_plans: object, count: int) -> None:
    mutate(tables, count)


@pytest.mark.deep
def test_more_mutations(tables: Project, small_plans: object) -> None:
    for seed in range(1, 6):
        mutate(tables, 200, seed)


def mutate(tables: Project, count: int, seed: int = 0) -> None:
    rng = random.Random(seed)
    found = Counter(judged(tables, mutated(rng, MODELS[n % len(MODELS)])) for n in range(count))
    assert found["accepted"] > count / 20 and found["refused"] > count / 20, found


@pytest.mark.landing
def test_models_that_are_mutated(tables: Project, small_plans: object) -> None:
    assert {judged(tables, sql) for sql in MODELS} == {"accepted"}


@pytest.mark.parametrize("name", LARGE)
def test_large_shapes_are_read(name: str) -> None:
    tree = parse(SHAPES[name].replace("{s}", "s"))
    assert render(parse(render(tree))) == render(tree)
