"""Random models without a right answer to compare with: their answers have to fit together (`support.oracles`)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.over_time.changes import Request, changes
from dbt.adapters.sparktemporal.over_time.reads import as_of
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.predicates import bounds, logic
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from support import oracles
from support.instants import T0
from support.judged import read
from support.oracles import COLUMNS, INSTANTS, Wide
from support.project import Project
from support.seeds import a_seed

TABLES = (
    f"CREATE TABLE {{s}}.t USING parquet AS SELECT id, k, v, timestamp_millis({T0}L + lo * 1000) AS ts, "
    f"timestamp_millis({T0}L + hi * 1000) AS due FROM VALUES (1, 'a', 1, 0, 7), (2, 'a', 2, 7, 20), "
    "(3, 'b', 5, 5, 15), (4, null, 7, 0, 400), (5, 'b', null, -400, 7), (5, 'b', null, -400, 7), "
    "(6, 'C', 1, null, 7), (7, 'c', 1, 1, null), (8, 'A', 3, 20, 5) AS f(id, k, v, lo, hi);"
    "CREATE TABLE {s}.o USING parquet AS SELECT * FROM VALUES (1, 'a', 10), (2, 'b', 2), (3, null, 1) AS f(id, k, x)"
)


#: columns of {t} and {o}, by which most models are understood without a question to Spark
TYPES = {
    "t": {"id": "int", "k": "string", "v": "int", "ts": "timestamp", "due": "timestamp"},
    "o": {"id": "int", "k": "string", "x": "int"},
}
#: so many draws are one statement
BATCH = 5


def drive(project: Project, draws: int, seed: int, instants_of_each: int = 2) -> dict[str, int]:
    """-> how many draws were compared by each oracle, and how many were refused."""
    rng, done = random.Random(seed), {"partition": 0, "count": 0, "refused": 0}
    project.spark.conf.set("spark.sql.timeType.enabled", "true")
    grammar, spark = Wide(rng), Warehouse(project.rows)
    given = Warehouse(GivenTypes({f"{project.schema}.{name}": columns for name, columns in TYPES.items()}, T0))
    settings = spark.settings()

    def answers(text: str, instants: list[int]) -> dict[int, str]:
        """{instant: a query of what the model shows then}; of a text without a clock, the text."""
        text = text.replace("{t}", f"{project.schema}.t").replace("{o}", f"{project.schema}.o")
        if "mz_now" not in text:
            return dict.fromkeys(instants, text)
        try:
            model = understand(given, text, settings, "4.1", T0, None, "rows")
        except (Refusal, SparkError):
            model = understand(spark, text, settings, "4.1", T0, None, "rows")
        return {t: read(model, t) for t in instants}

    batch: list[tuple[str, str]] = []
    for draw in range(draws):
        source, p = grammar.source(), grammar.predicate(rng.choice((0, 1, 1, 2)))
        if "mz_now" not in p:
            p = f"({p}) and {rng.choice(oracles.WINDOWS)}"
        instants = sorted(rng.sample(INSTANTS, instants_of_each))
        oracle, columns = ((oracles.partition, COLUMNS), (oracles.count, ("n",)))[draw % 2]
        try:
            sides = tuple([answers(text, instants) for text in side] for side in oracle(source, p))
        except (Refusal, SparkError):
            done["refused"] += 1
            continue
        done[oracle.__name__] += 1
        batch.append((f"{oracle.__name__} of\n{source}\nwhere {p}", oracles.differences(sides, columns)))
        if len(batch) == BATCH or draw >= draws - 2:
            compare(project, batch)
            batch = []
    compare(project, batch)
    return done


def compare(project: Project, batch: list[tuple[str, str]]) -> None:
    arms = [f"SELECT {n} AS mz_draw, to_json(struct(*)) AS mz_row FROM (\n{sql}\n)" for n, (_, sql) in enumerate(batch)]
    wrong = project.rows("\nUNION ALL\n".join(arms)) if arms else []
    assert not wrong, "\n".join([batch[wrong[0][0]][0], *(row for _, row in wrong[:5])])


@pytest.mark.usefixtures("small_plans")
@pytest.mark.quick(1)
@pytest.mark.parametrize("draws", [2, 6, pytest.param(40, marks=pytest.mark.deep)])
def test_answers_fit_together(project: Project, draws: int) -> None:
    project.sql(TABLES)
    project.spark.conf.set("spark.sql.timeType.enabled", "true")
    every = ", ".join((*oracles.WINDOWS, *oracles.FILTERS, *oracles.STATIC))
    for source in Wide(random.Random(a_seed())).sources(0):  # Spark takes each of each
        written = f"SELECT {every} FROM {source} AS q".replace("mz_now()", f"timestamp_millis({T0}L)")
        project.spark.sql(written.replace("{t}", f"{project.schema}.t").replace("{o}", f"{project.schema}.o"))
    done = drive(project, draws, a_seed())
    print(done)
    compared = done["partition"] + done["count"]
    assert compared > (0.7 * draws if draws >= 6 else 0), done
    assert draws < 6 or done["count"] > draws // 4, done


@pytest.mark.landing
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize(("where", "key", "mistake", "found_by"), [
    (vars(logic), "opposite", {**{op: logic.opposite(op) for op in logic._SIGNS}, "<": ">"}.__getitem__, "partition"),
    (bounds._EDGES, bounds.TIMESTAMP, lambda e: {"ceil": f"unix_millis({e}) + 1", "after": f"unix_millis({e}) + 1"},
     "count"),
])  # fmt: skip
def test_a_mistake_is_found(
    project: Project, monkeypatch: pytest.MonkeyPatch, where: dict, key: Any, mistake: Any, found_by: str
) -> None:
    project.sql(TABLES)
    monkeypatch.setattr(Wide, "source", lambda self: "{t}")
    monkeypatch.setattr(Wide, "predicate", lambda self, depth: "mz_now() < due")
    monkeypatch.setitem(where, key, mistake)
    with pytest.raises(AssertionError, match=f"^{found_by} of"):
        drive(project, 2, a_seed(), len(INSTANTS))


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(20))
def test_many_answers_fit_together(project: Project, part: int) -> None:
    project.sql(TABLES.replace("TABLE", "VIEW").replace("USING parquet ", ""))  # half the time of a draw from files
    print(drive(project, 100, a_seed() + 1000 * part))


# -- over runs --


def values(rows: list[tuple]) -> str:
    """The rows of {t}: (id, k, v, seconds from T0 to ts and to due)."""
    listed = ", ".join(
        f"({i}, {'null' if k is None else repr(k)}, {v or 'null'}, {'null' if lo is None else lo}, "
        f"{'null' if hi is None else hi})"
        for i, k, v, lo, hi in rows
    )
    return (
        f"SELECT id, k, CAST(v AS INT) AS v, timestamp_millis({T0}L + CAST(lo AS BIGINT) * 1000) AS ts, "
        f"timestamp_millis({T0}L + CAST(hi AS BIGINT) * 1000) AS due FROM VALUES {listed} AS f(id, k, v, lo, hi)"
    )


def a_row(rng: random.Random) -> tuple:
    lo, width = rng.choice((None, -400, 0, 5, 7, 10, 19, 20, 21, 33)), rng.choice((None, 0, 1, 5, 15, 60, -3))
    due = None if width is None else (lo or 0) + width
    return rng.randrange(9), rng.choice(("a", "b", "C", "c", None)), rng.choice((None, 1, 2, 3, 7)), lo, due


def over_runs(project: Project, models: int, seed: int) -> int:
    """Models of three runs, and the same models in the last run alone. -> how many were compared."""
    rng, grammar = random.Random(seed), Wide(random.Random(seed + 1))
    rows = [a_row(rng) for _ in range(8)]
    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {values(rows)}")
    project.sql("CREATE TABLE {s}.o USING parquet AS SELECT * FROM VALUES (1, 'a', 10), (2, 'b', 2) AS f(id, k, x)")
    texts = []
    for n in range(models):
        text = f"select {', '.join(COLUMNS)} from {grammar.source()} as q where {grammar.predicate(1)}"
        texts.append(text if "mz_now" in text else f"{text} and {rng.choice(oracles.WINDOWS)}")
        texts[n] = texts[n].replace("{t}", f"{project.schema}.t").replace("{o}", f"{project.schema}.o")
        project.model(f"m{n}", texts[n], aggregates=rng.choice(("rows", "groups", "auto")))
    for step in range(3):
        if step:
            rows = [row for row in rows if step == 1 or rng.random() > 0.3]
            added = [a_row(rng) for _ in range(rng.choice((1, 3)))]
            into = "INTO" if step == 1 else "OVERWRITE"  # rows that came, then rows that changed
            rows += added
            project.spark.sql(f"INSERT {into} {project.schema}.t {values(added if step == 1 else rows)}")
        if step == 2:
            for n, text in enumerate(texts):
                project.model(f"c{n}", text)
        ran = project.run(now=T0 + step * 10_000, check=False)
    done = {result.node.name for result in ran.results if result.status == "success"}
    warehouse, compared = Warehouse(project.rows), 0
    for n, text in enumerate(texts):
        assert (f"m{n}" in done) == (f"c{n}" in done), (text, ran.text)
        if f"m{n}" not in done:
            continue
        instants = [T0 + 20_000 + by for by in (0, 1, *rng.sample(range(60_000), 2))]
        shown = [
            [{t: f"SELECT * FROM {as_of(warehouse, project.target(name), t)}" for t in instants}]
            for name in (f"m{n}", f"c{n}")
        ]
        wrong = project.rows(oracles.differences((shown[0], shown[1]), COLUMNS))
        assert not wrong, f"{text}\nthree runs and one differ: {wrong[:5]}"
        first, middle, last = sorted(rng.sample(range(T0 + 1, T0 + 40_000), 3))
        wrong = project.rows(composed(warehouse, project.target(f"m{n}"), first, middle, last))
        assert not wrong, f"{text}\n{first} -> {middle} -> {last}: {wrong[:5]}"
        compared += 1
    return compared


def composed(warehouse: Warehouse, target: ModelRelations, first: int, middle: int, last: int) -> str:
    """A query of what the changes in two steps have more often than the changes in one step."""
    names, ranges = ", ".join(COLUMNS), ((1, first, middle + 1), (1, middle, last), (-1, first, last))
    parts = [
        f"SELECT mz_timestamp, {sign} * mz_diff AS mz_x, {names} FROM "
        + changes(warehouse, target, Request(begin, end, False, max_changes=100_000))
        for sign, begin, end in ranges
    ]
    union = "\nUNION ALL\n".join(parts)
    return (
        f"SELECT mz_timestamp, sum(mz_x), {names} FROM ({union}) GROUP BY mz_timestamp, {names} HAVING sum(mz_x) <> 0"
    )


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("models", [3, 6])
def test_three_runs_are_as_one(project: Project, models: int) -> None:
    assert over_runs(project, models, a_seed())


@pytest.mark.deep
@pytest.mark.parametrize("part", range(20))
def test_many_models_of_three_runs(project: Project, part: int) -> None:
    over_runs(project, 12, a_seed() + 100 * part)
