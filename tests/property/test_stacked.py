"""Temporal views over temporal views, through random histories: each against the query it is written as."""

from __future__ import annotations

import random
import re

import pytest

from support.histories import boundaries, change, event, fill, load_dim, load_events, mismatches, small_limits
from support.instants import STEP, T0
from support.project import Project
from support.seeds import SAMPLE, a_seed

#: model -> SQL; [m] is a model of these, or of those below it
INNER = {
    "begun": "select h, id, k, v, lo, hi from {e} where {now} >= lo",
    "windowed": "select h, id, k, v, lo, hi from {e} where {now} >= lo and (hi is null or {now} < hi)",
    "counted": "select h, k, count(*) as n, sum(v) as total, min(id) as first from {e} "
    "where {now} >= lo and {now} < hi group by h, k",
    "top": "with live as (select h, id, lo, v from {e} where {now} >= lo and {now} < hi), ranked as (select *, "
    "row_number() over (partition by h order by lo desc, id desc, v desc nulls last) as place from live) "
    "select h, id, lo from ranked where place <= 2",
    "placed": "select h, id, case when {now} < hi then 'in' else 'out' end as place from {e} where {now} >= lo",
    "either": "select h, id, v from {e} where {now} < lo or {now} >= hi",
}
OUTER = {
    "soon_over": "select h, id, v from [windowed] where {now} >= hi - interval 20 seconds",
    "joined": "select a.h, a.id, b.v from [windowed] a join [begun] b on a.h = b.h and a.k = b.k "
    "where {now} < b.hi + interval 5 seconds",
    "again": "select a.h, a.id, b.id as other from [windowed] as a join [windowed] b on a.h = b.h and a.v = b.v",
    "summed": "with live as (select * from [windowed] where {now} < lo + interval 30 seconds) "
    "select h, k, count(*) as n, sum(v) as total from live group by h, k",
    "many": "select h, k, n from [counted] where n > 1",
    "beside": "select c.h, c.total, w.id from [counted] c join [windowed] w on c.h = w.h and c.k = w.k "
    "where {now} < w.hi",
    "newest": "with live as (select * from [top] where {now} < lo + interval 40 seconds) select h, id from live",
    "placed_out": "select h, id from [placed] where place = 'out' and {now} >= '2024-03-01'",
    "outside": "select h, id, v from [either] where v > 1",
    "named": "select [begun].h, d.name from [begun] join {d} d on d.k = [begun].k where {now} < d.until",
    "apart": "select b.h, b.id, case when {now} < b.hi then 'in' else 'out' end as place from [begun] b "
    "left join [windowed] w on w.h = b.h and w.id = b.id where w.id is null",
}
THIRD = {
    "thirds": "select h, count(*) as n from [soon_over] group by h",
    "both": "select s.h, s.id from [soon_over] s join [summed] m on m.h = s.h where m.n > 1",
}
#: from the longest to the shortest
EXPIRATIONS = ["off", "2 minutes", "70 seconds"]
EVERY = {**INNER, **OUTER, **THIRD}


def written(project: Project, name: str, now: str) -> str:
    """A model's text with refs."""
    sql = re.sub(r"\[(\w+)\]\.", rf"{project.schema}.\1.", EVERY[name])
    return re.sub(r"\[(\w+)\]", lambda m: f"{{{{ ref('{m.group(1)}') }}}}", fill_in(project, sql, now))


def oracle(project: Project, name: str, at: int) -> str:
    """A model's text with those of the models below it, at an instant."""
    sql = fill_in(project, EVERY[name], f"timestamp_millis({at}L)")
    sql = re.sub(r"\[(\w+)\]\.", r"\1.", sql)
    return re.sub(
        r"\[(\w+)\]( (?:as )?(?!join|where|group)\w+)?",
        lambda m: f"({oracle(project, m.group(1), at)}){m.group(2) or ' AS ' + m.group(1)}",
        sql,
    )


def fill_in(project: Project, sql: str, now: str) -> str:
    return fill(project, sql, now, now)


def model(project: Project, name: str, config: dict[str, str]) -> None:
    project.model(name, written(project, name, "mz_now()").replace(f"{project.schema}.begun.", "begun."), **config)


def needed(names: list[str]) -> list[str]:
    """The models and all below them, those first."""
    found: list[str] = []
    for name in names:
        below = re.findall(r"\[(\w+)\]", EVERY[name])
        found += [n for n in [*needed(below), name] if n not in found]
    return list(dict.fromkeys(found))


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int, instants: int) -> set[str]:
    """-> the ways in which the outer models learnt of changes."""
    rng, shortened = random.Random(seed), random.Random(f"{seed} shortened")
    names, configs = needed(names), {}
    for name in names:
        configs[name] = {"expiration": rng.choice(EXPIRATIONS[1:])} if rng.random() < 0.4 else {}
        configs[name] |= {"aggregates": "groups"} if rng.random() < 0.7 else {}
        model(project, name, configs[name])
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    ways: set[str] = set()
    for run in range(runs):
        load_events(project, [r for h in rows.values() for r in h])
        if run % 3 == 0:
            load_dim(project, rng)
        now = T0 + run * STEP
        if run and shortened.random() < 0.5:
            name = shortened.choice(names)
            longer = EXPIRATIONS.index(configs[name].get("expiration", EXPIRATIONS[0]))
            configs[name]["expiration"] = EXPIRATIONS[min(longer + 1, len(EXPIRATIONS) - 1)]
            model(project, name, configs[name])
        if run > 1 and rng.random() < 0.3:
            restarted = rng.choice([n for n in names if n in INNER])
            project.run("--full-refresh", "-s", restarted, now=now)
        said = project.run("--threads", "2", now=now)
        changes = boundaries(project, names, rng, instants)
        for name in names:
            state = project.state(name)
            t, last = state.frontier, state.expiration
            chosen = {t, t + rng.randrange(STEP), *(b + d for b in changes[name] for d in (-1, 0)), last or t}
            chosen = {i for i in chosen if i >= t and (last is None or i <= last)}
            picked = rng.sample(sorted(chosen), min(instants, len(chosen)))
            found = mismatches(project, name, lambda at, name=name: oracle(project, name, at), picked)
            told = said.of(name).adapter_response
            assert found == [], (name, run, told["action"], told["reason"], told["inputs"], found[:10])
            if name not in INNER:
                ways |= {re.search(r": ([a-z ]+) \(", line).group(1) for line in told["inputs"]}
        rows = {h: change(rng, list_, h) if rng.random() < 0.8 else list_ for h, list_ in rows.items()}
    return ways


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 3])
def test_stacks(project: Project, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    small_limits(monkeypatch)
    seed = SAMPLE if runs == 3 else a_seed()
    outer = random.Random(seed).choice(sorted(OUTER))
    ways = drive(project, list(dict.fromkeys(["soon_over", outer])), 60, runs, seed, instants=2)
    assert "new chains" in ways or runs < 3, ways


@pytest.mark.deep
def test_stacks_for_long(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    ways = drive(project, list(EVERY), 300, 25, a_seed(), instants=5)
    assert {"new chains", "full", "unchanged"} <= ways, ways
