"""Random parts, filters and ranges of the clock: a part that is left out holds no row that matters or raises an error.

The oracle is the filter with an instant put in, evaluated by Spark over every row of every part.
"""

from __future__ import annotations

import random
import re

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.pushdown.metrics_evaluator import Leaf, MetricsEvaluator
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, mz_now_calls, render
from support.parts import COLUMNS, Idioms, More, parts
from support.predicates import ZONES, Grammar
from support.project import Project
from support.seeds import SAMPLE, a_seed


def statistics(rng: random.Random, leaves: dict[str, Leaf], missing: float) -> str:
    """Of each part; a share of them is missing, and now and then a text is cut as storage does it."""
    items = ["part", "count(*) AS mz_rows"]
    for text, leaf in leaves.items():
        least, most, nulls = leaf.columns
        low, high = f"min({text})", f"max({text})"
        if leaf.type == "string" and rng.random() < 0.3:
            low, high = f"left({low}, 1)", f"concat(left({high}, 1), chr(255))"
        gone = "true" if rng.random() < missing else "false"
        items += [f"IF({gone}, NULL, {low}) AS {least}", f"IF({gone}, NULL, {high}) AS {most}"]
        items.append(f"IF({gone}, NULL, count_if(({text}) IS NULL)) AS {nulls}")
    return f"SELECT {', '.join(items)} FROM mz_parts GROUP BY part"


def drive(
    project: Project,
    count: int,
    seed: int,
    grammar_of: type[Grammar],
    ansi: bool,
    missing: float = 0.05,
    box: bool = False,
) -> tuple[int, int]:
    """Filters over PARTS parts each -> how many were left out, and how many could have been, if box is asked for."""
    spark, rng = project.spark, random.Random(seed)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    left_out = could = 0
    for turn in range(count):
        zone = rng.choice(list(ZONES))
        if turn % 5 == 0:
            spark.conf.set("spark.sql.session.timeZone", zone)
            around = [r[0] for t in ZONES[zone] for r in project.rows(f"SELECT unix_millis(timestamp '{t} UTC')")]
            spark.sql(parts(rng, around)).coalesce(1).createOrReplaceTempView("mz_parts")
            spark.catalog.cacheTable("mz_parts")
        text = grammar_of(rng, True).predicate(rng.randrange(4))
        first = rng.choice(around) + rng.choice([0, 1, -(10**9), 10**9, 10**7])
        last = rng.choice([None, first, first + 10**6, first + 10**9])
        clock = Range(first, last)
        found = verdicts(project, rng, text, clock, Warehouse(project.rows).never_changed(zone), ansi, missing)
        wrong = [f"part {p}" for p, kept, hit in found if hit and not kept]
        assert not wrong, f"{zone}, ansi {ansi}, {first} to {last}: {text}\n{wrong[:5]}"
        left_out += sum(not kept for _, kept, _ in found)
        if box:
            hits = failing(project, at_instants(rng, boxes(text, clock), text, clock), [p for p, _, _ in found])
            could += sum(not hit for hit in hits.values())
        if turn % 5 == 4:
            spark.catalog.uncacheTable("mz_parts")
    return left_out, could


def verdicts(
    project: Project, rng: random.Random, text: str, clock: Range, fixed: bool, ansi: bool, missing: float
) -> list[tuple[int, bool, bool]]:
    """(part, whether it is kept, whether a row of it matters at any of many instants)."""
    sql = text.format(n="mz_now()", m="mz_now()")
    predicate = expression(sql)
    kinds = ["TIMESTAMP" if letter == "n" else "BIGINT" for letter in re.findall(r"\{([nm])\}", text)]
    calls = dict(zip(sorted(call.meta["start"] for call in mz_now_calls(predicate)), kinds))
    first_pass = MetricsEvaluator(clock, {}, COLUMNS, fixed, calls, strict=ansi)
    first_pass.may_matter(predicate)
    leaves = {}
    for want, node in first_pass.wants.items():
        if want not in COLUMNS and ansi:
            continue  # to compute it over all rows may be an error itself
        told = project.rows(f"DESCRIBE QUERY SELECT {render(node)} AS x FROM mz_parts")
        if told[0][1] != "void" and (want in COLUMNS or computes(project, render(node))):
            leaves[want] = Leaf(len(leaves), told[0][1])
    may_matter = MetricsEvaluator(clock, leaves, COLUMNS, fixed, calls, strict=ansi).may_matter(predicate)
    rows = at_instants(rng, "SELECT * FROM mz_parts", text, clock)
    kept = f"SELECT part, {may_matter} AS kept FROM ({statistics(rng, leaves, missing)})"
    decided = {int(p): bool(k) for p, k in project.rows(kept)}
    hits = failing(project, rows, sorted(decided))
    return [(p, k, hits[p]) for p, k in decided.items()]


def at_instants(rng: random.Random, rows: str, text: str, clock: Range) -> str:
    """Whether each row matters at the ends of the range, at some instants inside, and around its own."""
    last = clock.last if clock.last is not None else 4_102_444_800_000
    instants = {clock.first, last, *(rng.randrange(clock.first, last + 1) for _ in range(4))}
    near = (
        "filter(flatten(transform(filter(array(unix_millis(a), unix_millis(e), ms, unix_millis(cast(d AS timestamp)), "
        "unix_millis(cast(ntz AS timestamp))), v -> v BETWEEN -10000000000000 AND 10000000000000), "
        f"v -> array(v, v - 1, v + 1))), v -> v BETWEEN {clock.first}L AND {last}L)"
    )
    truth = text.format(n="timestamp_millis(at)", m="at")
    hit = f"({truth}) IS TRUE"
    return (
        f"SELECT part, {hit} AS hit FROM ({rows}) LATERAL VIEW explode(array_union("
        f"array({', '.join(f'{t}L' for t in sorted(instants))}), {near})) x AS at"
    )


def computes(project: Project, text: str) -> bool:
    """Whether an expression is no error for any row, so that there can be statistics of it."""
    try:
        return bool(project.rows(f"SELECT count({text}) FROM mz_parts"))
    except Exception:
        return False


def boxes(text: str, clock: Range) -> str:
    """Rows that the statistics of each part allow: their corners, and what lies between them near the clock.

    Columns are taken on their own, so that a part whose box holds a row that matters may hold none itself.
    """
    last = clock.first + 10**9 if clock.last is None else clock.last
    days = (0, 1, -1, -3_600_000, *(-d * 86_400_000 for d in (1, 7, 30)))
    near = sorted({end + by for end in (clock.first, last) for by in days})
    instants = ", ".join(f"timestamp_millis({ms}L)" for ms in near)
    dates = ", ".join(f"cast(timestamp_millis({ms}L) AS date)" for ms in near)
    listed = {"a": instants, "e": instants, "d": dates, "ms": ", ".join(f"{ms}L" for ms in near), "t": "'mm'"}
    out = "SELECT part FROM mz_parts GROUP BY part"
    for name in COLUMNS:
        if not re.search(rf"\b{name}\b", text):
            out = f"SELECT *, cast(NULL AS {COLUMNS[name]}) AS {name} FROM ({out})"
            continue
        ends = (
            f"SELECT part AS p, min({name}) AS low, max({name}) AS high, count_if({name} IS NULL) > 0 AS nulls "
            "FROM mz_parts GROUP BY part"
        )
        inside = f"filter(array({listed[name]}), v -> v > low AND v < high)"
        null = f"IF(nulls, array(cast(NULL AS {COLUMNS[name]})), array())"
        every = f"array_union(concat({inside}, IF(low IS NULL, array(), array(low, high))), {null})"
        values = f"SELECT p, explode({every}) AS {name} FROM ({ends})"
        out = f"SELECT o.*, {name} FROM ({out}) o JOIN ({values}) ON part = p"
    return out


def failing(project: Project, rows: str, numbers: list[int]) -> dict[int, bool]:
    """Which parts hold a row that matters or raises an error: by halves, as Spark tells only that there is one.

    (Instants that leave the calendar are an error whatever the mode.)
    """
    listed = ", ".join(map(str, numbers))
    try:
        found = dict(project.rows(f"SELECT part, bool_or(hit) FROM ({rows}) WHERE part IN ({listed}) GROUP BY part"))
        return {n: bool(found.get(n)) for n in numbers}
    except Exception:
        if len(numbers) == 1:
            return {numbers[0]: True}
        middle = len(numbers) // 2
        return failing(project, rows, numbers[:middle]) | failing(project, rows, numbers[middle:])


@pytest.mark.usefixtures("small_plans")
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [4, 10])
def test_a_part_that_is_left_out_does_not_matter(project: Project, count: int) -> None:
    drive(project, count, a_seed(), More, ansi=False)


@pytest.mark.usefixtures("small_plans")
def test_nor_does_it_raise_an_error(project: Project) -> None:
    drive(project, 2, a_seed(), More, ansi=True)
    left_out, _ = drive(project, 2, SAMPLE, Idioms, ansi=True)
    assert left_out > 0


def share(project: Project, count: int, seed: int) -> float:
    left_out, could = drive(project, count, seed, Idioms, ansi=False, missing=0, box=True)
    print(f"left out: {left_out} of {could} parts whose statistics allow no row that matters")
    return left_out / could


@pytest.mark.usefixtures("small_plans")
@pytest.mark.landing
def test_the_share_of_idioms_that_is_left_out(project: Project) -> None:
    """What is missing: a part whose first start is after its last end, as in `mz_now() BETWEEN a AND e`."""
    assert share(project, 10, SAMPLE) >= 0.9


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
def test_the_share_of_many_idioms_that_is_left_out(project: Project) -> None:
    left_out, _ = drive(project, 10, SAMPLE, More, ansi=False)
    assert left_out > 3
    assert share(project, 80, a_seed()) >= 0.9


@pytest.mark.deep
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize("part", range(8))
def test_twenty_thousand_pairs(project: Project, part: int) -> None:
    drive(project, 60, a_seed() + part, More, ansi=part % 4 == 3)
