"""Each model of a grammar: Spark takes text and tree for one query, and the view answers as the written query does.

Nothing is refused, and no statement that is printed is an error of Spark's parser.
"""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.sql.spark import same_query
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.instants import T0
from support.project import Project
from support.shapes import WINDOW, models

SECONDS = (0, 6.999, 7, 7.001, 9.999, 10, 10.001, 30, 300)
ROWS = (
    "(1, 'a', 1, 0, 10), (2, 'a', 2, 0, 20), (3, 'b', 5, 5, 15), (4, null, 7, 0, 400), (5, 'b', null, -400, 30), "
    "(5, 'b', null, -400, 30), (6, 'c', 1, null, 7), (7, 'it\\'s', 1, 1, null), (8, 'a', 3, 299, 700)"
)
OTHER = "(1, 'a', 10), (2, 'b', 2), (3, null, 1), (4, 'q', 7)"
PARTS = 20
#: one of each kind that was refused, or failed, once
FIRST = (
    "no_from_where",
    "rows_lateral_left_bare",
    "pipe_as",
    "pipe_set_twice",
    "literal_texts",
    "literal_elements",
    "literal_digits",
)


def written(project: Project) -> dict[str, str]:
    """The models, over tables that are made."""
    project.sql(
        "CREATE TABLE {s}.t USING parquet AS SELECT id, CAST(k AS STRING) AS k, v, "
        f"timestamp_millis({T0}L + lo * 1000) AS ts, timestamp_millis({T0}L + hi * 1000) AS due, array(v, v + 1) AS xs "
        f"FROM VALUES {ROWS} AS f(id, k, v, lo, hi)"
    )
    project.sql(f"CREATE TABLE {{s}}.o USING parquet AS SELECT * FROM VALUES {OTHER} AS f(id, k, x)")
    names = {"t": f"{project.schema}.t", "o": f"{project.schema}.o", "w": WINDOW}
    return {name: sql.format(**names) for name, sql in models()}


def at(sql: str, t: int) -> str:
    return sql.replace("mz_now()", f"timestamp_millis({t}L)")


def explained(project: Project, sql: str) -> str | None:
    """The plan of a query; None where this version of Spark makes none."""
    try:
        plan = str(project.rows(f"EXPLAIN EXTENDED {sql}")[0][0])
    except Exception:  # of another class with each client
        return None
    return plan if "== Physical Plan ==" in plan else None


#: read as Spark's optimizer folds them: literals that are written in other ways than Spark prints them
FOLDED = {"literal_instants"}


@pytest.mark.landing
def test_trees(project: Project) -> None:
    """Without the optimized plans, in which Spark merges projections, and orders aggregates, by chance."""
    planned, wrong = 0, {}
    for name, sql in written(project).items():
        text = at(sql, T0)
        plan = explained(project, text)
        if plan is None:
            continue
        planned += 1
        try:
            tree = render(parse(text))
            pair = (plan, explained(project, tree) or f"no query of Spark's: {tree}")
            same_query.check(*(one if name in FOLDED else one.partition("== Optimized ")[0] for one in pair))
        except Refusal as refusal:
            wrong[name] = str(refusal)
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())
    assert planned > (370 if project.spark.version >= "4" else 200)


@pytest.mark.landing
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.first(1)
def test_answers(project: Project, part: int) -> None:
    """Part 0 has one model of each kind; the others share the rest."""
    every = written(project)
    rest = [name for name in every if name not in FIRST]
    chosen = FIRST if part == 0 else rest[part - 1 :: PARTS - 1]
    chosen = [name for name in chosen if explained(project, at(every[name], T0)) is not None]
    for name in chosen:
        project.model(name, every[name])
    result = project.run(now=T0, check=False)
    assert {name: result.of(name).message for name in chosen if result.of(name).status != "success"} == {}
    for name in chosen:
        instants = [T0 + int(second * 1000) for second in SECONDS]
        sides = [
            f"SELECT {t}L, {side}, to_json(struct(*)) FROM ({query})"
            for t, read in project.at_each(name, instants).items()
            for side, query in enumerate((at(every[name], t), read))
        ]
        rows = project.rows(" UNION ALL ".join(sides))
        for t in instants:
            expected, found = (sorted(str(r[2]) for r in rows if r[:2] == (t, side)) for side in (0, 1))
            assert found == expected, (name, t - T0)
