"""Inputs that grow, are rewritten, or stay, in any mixture: each run against the oracle, and what it read."""

from __future__ import annotations

import random
import re

import pytest

from dbt.adapters.sparktemporal.inputs.changing import capture
from dbt.adapters.sparktemporal.temporal.diffs import chains
from support.histories import boundaries, mismatches
from support.instants import STEP, T0
from support.project import Project
from support.seeds import a_seed

SPAN = 12 * STEP

#: model -> SQL with {s} for the schema and {now} for the clock. e and f are files in a directory, p is partitioned
MODELS = {
    "plain": "select id, k, v from {s}.e where {now} >= lo and {now} < hi",
    "itself": "select a.id, b.id as other from {s}.e a join {s}.e b on a.k = b.k and a.id <> b.id where {now} < a.hi "
    "and {now} >= b.lo",
    "joined": "select e.id, f.v from {s}.e join {s}.f on e.k = f.k where {now} >= f.lo and {now} < e.hi",
    "beside": "select e.id, f.v from {s}.f left join {s}.p using (k) right join {s}.e on e.k = f.k where {now} < e.hi",
    "both": "with one as (select k, v, lo, hi from {s}.e), every as (select * from one union all select k, v, lo, hi "
    "from {s}.p where v <> 2) select x.k, x.v, f.id from every x join {s}.f on f.k = x.k "
    "where {now} >= x.lo and {now} < x.hi",
    "unless": "select id, k from {s}.e where {now} < hi and k not in (select k from {s}.f where k is not null)",
    "either": "select id, k from {s}.e where {now} < hi and v > 2 or k in (select k from {s}.f) and {now} >= lo",
    "summed": "select e.k, count(*) as n, sum(p.v) as total, max(e.v) as top from {s}.e join {s}.p on e.k = p.k "
    "where {now} >= p.lo and {now} < e.hi group by e.k",
    "different": "select distinct k from {s}.p where {now} >= lo and {now} < hi",
    "two": "select id from {s}.e where {now} < hi union all select v from {s}.f where {now} >= lo",
    "aside": "with live as (select k, v from {s}.e where {now} < hi) select live.k, max(p.v) as v from live left join "
    "{s}.p on p.k = live.k group by live.k",
}
#: the operand of OR that has the clock, or stands beside it, reads a table: all inputs are read in full
ALWAYS_FULL = {"either"}
#: only new rows of `e` are read alone, while the other inputs stay: in one run of eight, and of fifty
SELDOM = {"unless", "beside"}
TABLES = {"e": "USING parquet", "f": "USING orc", "p": "USING parquet PARTITIONED BY (part)"}


def rows(rng: random.Random, count: int) -> str:
    def value(choices: list) -> str:
        return str(rng.choice([*choices, "NULL"]))

    listed = ["(0, '0', '0', now(), now(), -1)"]  # for the types; not taken
    for _ in range(count):
        lo, width = T0 + rng.randrange(-SPAN // 4, SPAN), rng.choice([0, 1, 5_000, 30_000, 10**8])
        lo -= lo % STEP if rng.random() < 0.3 else 0
        hi = f"timestamp_millis({lo + width}L)" if rng.random() < 0.9 else "NULL"
        k, v = value(["'1'", "'2'", "'3'"]), value(["'1'", "'2'", "'3'"])
        listed.append(f"({rng.randrange(9)}, {k}, {v}, timestamp_millis({lo}L), {hi}, {rng.randrange(2)})")
    return (
        "SELECT id, CAST(k AS INT) AS k, CAST(v AS INT) AS v, lo, hi, part "
        f"FROM VALUES {', '.join(listed)} AS f(id, k, v, lo, hi, part) WHERE part >= 0"
    )


def act(project: Project, rng: random.Random, table: str, run: int) -> str:
    """What happens to an input between two runs."""
    name = f"{project.schema}.{table}"
    kinds = ["stays", "stays", "grows", "grows", "grows", "grows", "grows twice", "shrinks", "is rewritten"]
    kind = "grows" if run == 1 else rng.choice(kinds)
    if kind == "shrinks":
        kept = project.spark.table(name).where(f"id <> {rng.randrange(9)}").collect()
        project.spark.createDataFrame(kept, project.spark.table(name).schema).createOrReplaceTempView("mz_test_kept")
        project.spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM mz_test_kept")
    elif kind == "is rewritten":
        project.spark.sql(f"INSERT OVERWRITE {name} {rows(rng, rng.randrange(12))}")
    elif kind != "stays":
        for _ in range(2 if kind == "grows twice" else 1):
            project.spark.sql(f"INSERT INTO {name} {rows(rng, rng.randrange(1, 5))}")
    return kind


def drive(project: Project, models: list[str], runs: int, seed: int) -> dict[str, set[str]]:
    """model -> the ways in which its runs learnt of changes."""
    rng = random.Random(seed)
    for table, how in TABLES.items():
        project.spark.sql(f"CREATE TABLE {project.schema}.{table} {how} AS {rows(rng, rng.choice([0, 5, 9]))}")
    for name in models:
        config = {"aggregates": "groups"} if rng.random() < 0.8 else {}
        config |= {"expiration": "70 seconds"} if rng.random() < 0.4 else {}
        project.model(name, MODELS[name].format(s=project.schema, now="mz_now()"), **config)
    ways: dict[str, set[str]] = {name: set() for name in models}
    for run in range(runs):
        done = {table: act(project, rng, table, run) for table in TABLES} if run else {}
        said = project.run("--threads", "2", now=T0 + run * STEP)
        changes = boundaries(project, models, rng, 3)
        for name in models:
            told = said.of(name).adapter_response["inputs"]
            ways[name] |= {re.search(r": ([a-z ]+) \(", line).group(1) for line in told}
            state = project.state(name)
            t, last = state.frontier, state.expiration
            instants = {t, t + rng.randrange(STEP), *(b + d for b in changes[name] for d in (-1, 0))}
            chosen = sorted(i for i in instants if i >= t and (last is None or i <= last))[:4]

            def oracle(at: int, sql: str = MODELS[name]) -> str:
                return sql.format(s=project.schema, now=f"timestamp_millis({at}L)")

            found = mismatches(project, name, oracle, chosen)
            assert found == [], (name, run, done, told, found[:10])
    return ways


@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 3])
def test_inputs_that_change(project: Project, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    monkeypatch.setattr(chains, "SMALL_CHAIN", 8)
    monkeypatch.setattr(capture, "BYTES_OF_ROW", 1000)  # files of a few rows
    seed = a_seed()
    models = ["plain", random.Random(seed).choice(sorted(set(MODELS) - {"plain"}))][: runs - 1]
    ways = drive(project, models, runs, seed)
    assert all("full" in found for found in ways.values())
    assert all("new files" in ways[name] for name in models if name not in SELDOM | ALWAYS_FULL), ways


@pytest.mark.deep
def test_inputs_that_change_for_long(project: Project) -> None:
    ways = drive(project, list(MODELS), 60, a_seed())
    assert all("full" in found for found in ways.values()), ways
    assert all("new files" in found for name, found in ways.items() if name not in SELDOM | ALWAYS_FULL), ways
    assert all("new files" not in ways[name] for name in ALWAYS_FULL), ways
    assert any("unchanged" in found for found in ways.values())
