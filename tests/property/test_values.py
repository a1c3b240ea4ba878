"""Random models over values that compare equal and are not the same, through random histories, against Spark.

The values: 0.0 and -0.0, NaN, maps of the same entries in another order, all of them inside others, sessions, texts of
which Spark takes two as one. A row changes to an equal value, comes twice, or all rows of a key leave.

The oracle is the model's text with the instant put in, run by Spark over the inputs as they were at the last run before
that instant. Both sides are compared as texts, which tell all of these values apart.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.temporal.clock.instants import format_instant
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.instants import STEP, T0
from support.project import Project

ZEROS = ("0.0", "-0.0")
NUMBERS = (*ZEROS, *ZEROS, "NaN", "-1.5", "2.5")

#: columns of values -> their types
COLUMNS = {
    "d": "DOUBLE",
    "f": "FLOAT",
    "xs": "ARRAY<DOUBLE>",
    "st": "STRUCT<x: DOUBLE, n: INT>",
    "m": "MAP<STRING, DOUBLE>",
    "ms": "ARRAY<MAP<INT, STRING>>",
    "nested": "STRUCT<a: MAP<STRING, INT>, b: FLOAT>",
}
W = "{now} >= lo and {now} < hi"
PREDICATES = (
    "d > 0", "d >= 2.5", "d = 0", "d in (0, double('NaN'))", "not (d <= 0)", "f > -1", "f <> 0", "xs[0] > 0",
    "st.x > 0", "not (st.x < 1)", "s = 'a'", "s >= 'b'", "s in ('A', 'c')",
    "d between 1 and double('NaN')", "m['a'] > 0", "d > v",
)  # fmt: skip
#: {c}: any column of values, {k}: one without maps, {p}: a predicate
SHAPES = (
    "select h, id, {c} from {t} where W",
    "select h, id, d, m, nested from {t} where W",
    "select h, cast({c} as string) as x, map_keys(m)[0] as first from {t} where W",
    "select h, id, {c} from {t} where (W and {p}) or (id = 1 and {now} >= lo)",
    "select h, id, {k} from {t} where ({p} or id = 2) and W",
    "select h, {c}, count(*) as n, sum(v) as total from {t} where W group by h, {c}",
    "select h, cast(d as string) as x, count(*) as n from {t} where W group by h, d",
    "select distinct h, {k} from {t} where W",
    "with live as (select * from {t} where W) select h, {c}, count(*) as n, max(v) as most from live group by h, {c}",
    "select h, id, count(distinct {k}) as n, sum(v) as total from {t} where W group by h, id",
    "select h, {k}, id, row_number() over (partition by h order by id, v, lo, hi) as place from {t} where W",
    "select h, session_window(ts, '4 seconds') as w, count(*) as n, sum(v) as total from {t} where W "
    "group by h, session_window(ts, '4 seconds')",
    "select h, w, count(*) as n from (select h, session_window(ts, '4 seconds') as w from {t} where W) group by h, w",
    "select h, w, c from {sessions} where W",
    "select distinct h, w from {sessions} where W",
    "select h, w, sum(c) as n from {sessions} where W group by h, w",
    "select h, window(ts, '4 seconds', '2 seconds') as w, count(*) as n from {t} where W "
    "group by h, window(ts, '4 seconds', '2 seconds')",
    "select h, window_time(w) as x, n from (select h, window(ts, '4 seconds') as w, count(*) as n from {t} where W "
    "group by h, window(ts, '4 seconds'))",
)


def number(rng: random.Random, kind: str = "double") -> str:
    return "NULL" if rng.random() < 0.05 else f"CAST('{rng.choice(NUMBERS)}' AS {kind})"


def entries(rng: random.Random, keys: list[str], values: list[str]) -> str:
    pairs = [f"{key}, {value}" for key, value in zip(keys, values)]
    rng.shuffle(pairs)
    return f"map({', '.join(pairs)})"


def value(rng: random.Random, column: str) -> str:
    """SQL of a value; few, so that most have others that are equal."""
    if rng.random() < 0.05:
        return f"CAST(NULL AS {COLUMNS[column]})"
    if column in ("d", "f"):
        return number(rng, COLUMNS[column])
    if column == "xs":
        return f"CAST(array({', '.join(number(rng) for _ in range(rng.choice([1, 1, 2])))}) AS ARRAY<DOUBLE>)"
    if column == "st":
        return f"CAST(named_struct('x', {number(rng)}, 'n', {rng.choice([1, 1, 2])}) AS {COLUMNS[column]})"
    if column == "m":
        of_map = entries(rng, ["'a'", "'b'"], [number(rng), "1"])
        return f"CAST({of_map} AS {COLUMNS[column]})"
    if column == "ms":
        of_map = entries(rng, ["1", "2"], ["'x'", "'y'"])
        return f"array({of_map})"
    a = entries(rng, ["'a'", "'b'"], ["1", "2"])
    return f"CAST(named_struct('a', {a}, 'b', {number(rng, 'FLOAT')}) AS {COLUMNS[column]})"


def row(rng: random.Random, h: int) -> dict[str, str]:
    lo = T0 + rng.choice([-STEP, -1, 0, STEP, STEP + 1, rng.randrange(4 * STEP)])
    hi = lo + rng.choice([1, STEP, 2 * STEP, 10**9, 10**9])
    return {
        "h": str(h),
        "id": str(rng.randrange(3)),
        "v": rng.choice(["1", "2", "2", "NULL"]),
        "lo": f"timestamp_millis({lo}L)",
        "hi": f"timestamp_millis({hi}L)",
        # a row can join two sessions that are apart without it
        "ts": f"timestamp_millis({T0 + 3000 * rng.randrange(9)}L)",
        "s": rng.choice(["'a'", "'A'", "'b'", "'B'", "NULL"]),
        **{column: value(rng, column) for column in COLUMNS},
    }


def bridge(rng: random.Random, h: int) -> list[dict[str, str]]:
    """Two sessions that are one as long as there is a row between them."""
    first = T0 + 3000 * rng.randrange(7)
    ends = (10**9, STEP + 1, 10**9)
    made = [row(rng, h) for _ in ends]
    for place, (one, end) in enumerate(zip(made, ends)):
        one |= {"v": "2", "ts": f"timestamp_millis({first + 3000 * place}L)"}
        one |= {"lo": f"timestamp_millis({T0 - 1}L)", "hi": f"timestamp_millis({T0 + end}L)"}
    return made


def change(rng: random.Random, rows: list[dict[str, str]], h: int) -> list[dict[str, str]]:
    """What one run later has become of a history's rows."""
    kind = rng.random()
    if kind < 0.15:  # all rows of a key leave
        gone = rng.randrange(3)
        return [r for r in rows if r["id"] != str(gone)]
    if kind < 0.3:
        return rows
    rows = [r for r in rows if rng.random() > 0.15]
    for at in range(len(rows)):
        if rng.random() < 0.5:  # to a value that is equal, as often as not
            column = rng.choice(list(COLUMNS))
            rows[at] = {**rows[at], column: value(rng, column)}
    rows += [row(rng, h) for _ in range(rng.choice([0, 0, 1, 2]))]
    return [*rows, rng.choice(rows)] if rows and rng.random() < 0.3 else rows


def load(project: Project, rows: list[dict[str, str]], only_new: bool) -> None:
    kinds = {"h": "INT", "id": "INT", "v": "INT", "lo": "TIMESTAMP", "hi": "TIMESTAMP", "ts": "TIMESTAMP"}
    kinds |= {"s": "STRING COLLATE UTF8_LCASE", **COLUMNS}
    if not project.spark.catalog.tableExists(f"{project.schema}.t"):
        project.sql(f"CREATE TABLE {{s}}.t ({', '.join(f'{n} {k}' for n, k in kinds.items())}) USING parquet")
    verb = "INTO" if only_new else "OVERWRITE"
    if rows:
        given = ", ".join(f"({', '.join(r[n] for n in kinds)})" for r in rows)
        project.spark.sql(f"INSERT {verb} {project.schema}.t VALUES {given}")
    sessions = (
        "SELECT h, session_window(ts, '4 seconds') AS w, count(*) AS c, min(lo) AS lo, max(hi) AS hi FROM {s}.t "
        "WHERE v IS NOT NULL GROUP BY h, id, session_window(ts, '4 seconds')"
    )
    there = project.spark.catalog.tableExists(f"{project.schema}.sessions")
    project.sql(
        f"{'INSERT OVERWRITE {s}.sessions' if there else 'CREATE TABLE {s}.sessions USING parquet AS'} {sessions}"
    )


def written(project: Project, sql: str, now: str) -> str:
    names = {"t": f"{project.schema}.t", "sessions": f"{project.schema}.sessions"}
    return sql.replace("W", W).replace("{now}", now).format(**names)


def contents(project: Project, queries: dict[Any, str]) -> dict[Any, Counter]:
    """Of each query its rows as texts, which tell -0.0 and the order of maps."""
    keys = list(queries)
    parts = []
    for place, key in enumerate(keys):
        columns = [f for f, kind in project.spark.sql(queries[key]).dtypes]
        texts = ", ".join(f"CAST(`{c}` AS STRING)" for c in columns)
        parts.append(f"SELECT {place} AS place, concat_ws(' | ', array({texts})) AS text FROM ({queries[key]})")
    found: dict[Any, Counter] = {key: Counter() for key in keys}
    for place, text in project.rows(" UNION ALL ".join(parts)):
        found[keys[place]][text] += 1
    return found


def drive(
    project: Project, seed: int, shapes: tuple[str, ...], histories: int, runs: int, kept: tuple[str, ...] = ("groups",)
) -> None:
    rng = random.Random(seed)
    models = {}
    for number_, shape in enumerate(shapes):
        column, key = rng.choice(list(COLUMNS)), rng.choice(["d", "f", "xs", "st"])
        sql = shape.replace("{c}", column).replace("{k}", key).replace("{p}", rng.choice(PREDICATES))
        models[f"m{number_}"] = sql
        text, aggregates = written(project, sql, "mz_now()"), rng.choice(kept)
        project.model(f"m{number_}", text, aggregates=aggregates, retain_history="1 hour")
    tests = ["temporal_matches_source", "temporal_diffs_consistent"]
    project.write("models/schema.yml", json.dumps({"models": [{"name": m, "data_tests": tests} for m in models]}))
    known: dict[tuple[str, int], Counter] = {}
    rows = {h: [row(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    rows |= {h: [*of_one, *bridge(rng, h)] for h, of_one in rows.items() if h % 3 == 0}
    before: list[dict[str, str]] = []
    for run in range(runs):
        every = [r for of_one in rows.values() for r in of_one]
        came = every[len(before) :] if every[: len(before)] == before and before else None
        load(project, every if came is None else came, came is not None)
        before = every
        frontier = T0 + run * STEP
        project.run(now=frontier)
        check(project, models, known, frontier, rng)
        if run % 3 == 1:  # only new rows
            rows = {h: [*of_one] for h, of_one in rows.items()}
            rows[histories - 1] = [*rows[histories - 1], row(rng, histories - 1)]
        else:
            rows = {h: change(rng, of_one, h) for h, of_one in rows.items()}
    for model in rng.sample(list(models), 2):
        project.dbt("run-operation", "temporal_consolidate", "--args", json.dumps({"model": model}))
    check(project, models, known, frontier, rng)
    if runs > 3:
        failed = {r.node.name: str(r.status) for r in project.dbt("test", now=frontier, check=False).results}
        assert set(failed.values()) == {"pass"}, failed


def check(
    project: Project, models: dict[str, str], known: dict[tuple[str, int], Counter], frontier: int, rng: random.Random
) -> None:
    """The views now, at what comes, and at what was readable before."""
    warehouse = Warehouse(project.rows)
    new, views = {}, {}
    for model, sql in models.items():
        state = project.state(model)
        edges = [e for e in (frontier + STEP, frontier + rng.randrange(4 * STEP)) for e in (e - 1, e, e + 1)]
        for t in {frontier, frontier + 1, frontier + STEP - 1, *rng.sample(edges, 2)}:
            known.pop((model, t), None)
            new[model, t] = written(project, sql, f"timestamp_millis({t}L)")
        # the instants before the frontier stay as they were, those after it are of the inputs as they are now
        past = [t for m, t in known if m == model and state.since <= t < frontier]
        for key in [k for k in known if k[0] == model and k[1] >= frontier]:
            del known[key]
        for t in {*(t for m, t in new if m == model), *rng.sample(past, min(2, len(past)))}:
            views[model, t] = as_of(warehouse, ModelRelations(f"`{project.schema}`", model), t)
    known |= contents(project, new)
    for key, found in contents(project, views).items():
        more, less = found - known[key], known[key] - found
        shown = (models[key[0]], format_instant(key[1]), "in the view alone", sorted(more)[:3], sorted(less)[:3])
        assert not more and not less, shown


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize(("shapes", "runs"), [((1, 5), 2), ((1, 3, 5, 11, 14), 3)])
@pytest.mark.usefixtures("small_plans")
def test_equal_values(project: Project, shapes: tuple[int, ...], runs: int) -> None:
    """Rows, a judged predicate, groups and sessions, through a correction of each."""
    drive(project, 3, tuple(SHAPES[n] for n in shapes), histories=8, runs=runs)


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("seed", range(30))
def test_random_models_over_equal_values(project: Project, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "SMALL_CHAIN", random.Random(seed).choice([20, 10**6]))
    drive(
        project,
        seed,
        tuple(random.Random(seed).sample(SHAPES, 5)),
        histories=12,
        runs=7,
        kept=("groups", "groups", "rows"),
    )
