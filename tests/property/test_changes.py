"""The changes of the output of random histories: added up they are the view, and none cancels another."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import ModelRelations, Warehouse
from dbt.adapters.sparktemporal.operations.changes import Request, changes
from dbt.adapters.sparktemporal.operations.reads import as_of
from dbt.adapters.sparktemporal.temporal.changes.histories import Range
from dbt.adapters.sparktemporal.temporal.changes.output import Output
from support.histories import change, event, fill, fresh_seed, load_dim, load_events, small_limits
from support.instants import STEP, T0
from support.project import Project

WINDOW = "{now} >= lo and ({now} < hi or hi is null)"
LIVE = f"with live as (select * from {{e}} where {WINDOW}), soon as (select h, id, k from {{e}} where {{now}} < lo) "
ROW_BY_ROW = {
    "windowed": f"select h, id, k, v, price from {{e}} where {WINDOW}",
    "either": "select h, id, v from {e} where {now} < lo or {now} >= hi",
    "unions": f"select h, id from {{e}} where {WINDOW} union all select h, -id from {{e}} where {{now}} < lo",
    "grouped": "select h, k, count(*) as n, sum(v) as total, avg(price) as mean from {e} "
    f"where {WINDOW} group by h, k",
    "having": f"select h, count(*) as n from {{e}} where {WINDOW} group by h having sum(v) > 2",
    "total": f"select count(*) as n, sum(v) as total, avg(v) as mean from {{e}} where {WINDOW} and h < 3",
    "last_seen": "select h, max(lo) as latest from {e} group by h having {now} < max(lo)",
    "once": f"select distinct h, k from {{e}} where {WINDOW}",
    "unnamed": LIVE + "select h, count(*) as n from live group by h union all select -1, count(*) from soon",
    "by_map": LIVE + "select map(k, h) as m, count(*) as n from live where k is not null group by map(k, h)",
    "all_of_some": LIVE + "select k, count(*) as n from soon group by all",
    "bare": f"select k from {{e}} where {WINDOW}",
}
AT_POINTS = {
    "smallest": f"select h, min(v) as least, count(distinct k) as ks from {{e}} where {WINDOW} group by h",
    "newest": f"select count(*) as n, sum(v) as total, max(id) as last from {{e}} where {WINDOW} and h < 3",
    "rolled": f"select h, k, count(*) as n from {{e}} where {WINDOW} and h < 9 group by rollup(h, k)",
    "doubles": f"select h, cast(sum(cast(v as double)) as int) as x from {{e}} where {WINDOW} group by h",
    "ranked": LIVE + "select h, id, row_number() over (partition by h order by lo, hi, id, k, v, price) as r from live",
    "running": LIVE + "select h, id, sum(v) over (partition by h order by id) as s from live",
    "first_five": LIVE + "select h, id, k from live order by h, id, k limit 5",
    "without": LIVE + "select h, id, k from soon except select h, id, k from live",
    "without_all": LIVE + "select h, id, k from soon except all select h, id, k from live",
    "both": LIVE + "select h, k from live intersect select h, k from soon",
    "outer": LIVE + "select a.h, a.id, b.id as other from live a left join soon b on a.h = b.h and a.k = b.k",
    "full": LIVE
    + "select coalesce(a.h, b.h) as h, a.id, b.id as b from live a full join soon b on a.h = b.h and a.id = b.id",
    "exists": LIVE + "select h, id from live a where exists (select 1 from soon b where b.h = a.h)",
    "isin": LIVE + "select h, id from live where k not in (select k from soon where h < 1)",
    "scalar": LIVE + "select h, id, (select count(*) from soon b where b.h = a.h) as n from live a",
    "named": LIVE + "select l.h, d.name, count(*) as n from live l left join {d} d on d.k = l.k group by l.h, d.name",
    "twice": LIVE + ", c as (select h, count(*) as n from live group by h) select a.h, a.n from c a "
    "where a.n > (select avg(b.n) from c b where b.h < 5)",
    "pivoted": LIVE + "select * from (select h, k, v from live) pivot (sum(v) for k in ('k1', 'k2'))",
    "comma_right": LIVE + "select a.id as x, b.id as y, c.id as z from (select * from live where h < 2) a, soon b "
    "right join live c on c.id = b.id and c.h < 3",
    "all_of_none": LIVE + "select count(*), max(id) as m from soon group by all",
    "ignoring": LIVE
    + "select h, id, first_value(v) ignore nulls over (partition by h order by id, lo, hi, k, v, price) as f from live",
    "limit_all": LIVE + "select h, id from live order by h, id limit all offset 3",
    "unnamed_least": LIVE + "select h, min(id) as n from live group by h union all select -1, min(id) from soon",
    "having_in": LIVE + "select 'n' as what, count(*) as n from live where id in (select id from soon) "
    "having count(*) >= 0 union all select 's', (select count(*) from soon)",
    "anti_star": LIVE + "select * from (select k, id, h from live) a left anti join soon b using (h, k)",
    "side_star": LIVE
    + "select b.* from (select k, id from live where h < 2) a join (select id, k from soon) b using (k)",
    "share": LIVE + "select h, count(*) * 100 div (select count(*) from live) as share from live group by h",
    "scalar_on": LIVE
    + "select a.h, b.id from live a left join soon b on a.h = b.h and b.id > (select min(id) from live)",
    "lists": LIVE + "select h, sort_array(collect_list(id)) as ids from live group by h",
    "exploded": LIVE + "select h, count(*) as n, e from live lateral view explode(array(k, 'x')) x as e group by h, e",
}
CLOCK = {
    "placed": "select h, id, case when {now} < hi then 'in' else 'out' end as place from {e} where {now} >= lo",
    "aged": "select h, count(*) filter (where {now} < lo + interval 9 seconds) as n from {e} "
    f"where {WINDOW} group by h",
    "seconds": f"select h, id from {{e}} where {WINDOW} and second({{now}}) % 2 = 0",
}
EVERY = {**ROW_BY_ROW, **AT_POINTS, **CLOCK}
#: models that are read row by row where groups are kept
GROUPED = ("grouped", "having", "total", "once", "all_of_some", "by_map", "unnamed")
#: models that are read at each instant by itself
ALONE = ("pivoted", "anti_star", "side_star", "share", "scalar_on", "having_in")
REFRESHED = ("windowed", "grouped", "total", "placed")


def drive(project: Project, names: list[str], histories: int, runs: int, seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    for name in names:
        config: dict[str, Any] = {"retain_history": "1 day"} if rng.random() < 0.5 else {}
        config |= {"expiration": rng.choice(["70 seconds", "2 minutes"])} if rng.random() < 0.3 else {}
        config |= {"aggregates": "groups"} if rng.random() < 0.8 else {}
        if name in REFRESHED and rng.random() < 0.5:
            config |= {"refresh_every": rng.choice(["3 seconds", "7 seconds"])}
        project.model(name, fill(project, EVERY[name], "mz_now()", "mz_now()"), **config)
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    for run in range(runs):
        load_events(project, [r for h in rows.values() for r in h])
        load_dim(project, rng)
        project.run("--threads", "2", now=T0 + run * STEP + rng.choice([0, 1, 777]))
        if run in (0, runs - 1):
            for name in names:
                for _ in range(rounds):
                    compare(project, name, rng)
        rows = {h: change(rng, list_, h) if rng.random() < 0.8 else list_ for h, list_ in rows.items()}


def _kind(name: str) -> str:
    return "clock" if name in CLOCK else "alone" if name in ALONE else ""


def compare(project: Project, name: str, rng: random.Random) -> None:
    """The changes between two random instants, added up, against the view: at and around the instants of changes."""
    warehouse, target = Warehouse(project.rows), ModelRelations(f"`{project.schema}`", name)
    state = project.state(name)
    last = state.expiration or state.frontier + 40 * STEP
    start = rng.choice([state.since, state.frontier, rng.randrange(state.since, last)])
    up_to = rng.choice([state.frontier + 1, last + 1, rng.randrange(start, last + 1) + 1])
    up_to = max(start, min(up_to, start + {"clock": 2500, "alone": 300}.get(_kind(name), up_to)))
    snapshot = rng.random() < 0.7
    over = Output(state, Range(start, up_to - 1))
    groups = any(core.sums is not None for core in state.cores)
    assert over.is_row_by_row == (name in ROW_BY_ROW and (groups or name not in GROUPED)), name
    assert over.is_sequenced == (name not in ALONE), name
    assert over.reads_clock == (name in CLOCK), name
    sql = changes(warehouse, target, Request(start, up_to, snapshot, max_changes=20_000))
    project.spark.sql(f"SELECT * FROM {sql}").localCheckpoint().createOrReplaceTempView("mz_test_changes")
    columns = ", ".join(f"`{c}`" for c, _ in state.columns)
    twice = project.rows(f"SELECT mz_timestamp, {columns} FROM mz_test_changes GROUP BY ALL HAVING count(*) > 1")
    wrong = project.rows(
        f"SELECT * FROM mz_test_changes WHERE mz_diff = 0 OR mz_timestamp < {start} OR mz_timestamp >= {up_to} "
        f"OR mz_definite <> (mz_timestamp <= {state.frontier}) OR ({not snapshot} AND mz_timestamp = {start})"
    )
    assert not twice and not wrong, (name, start, up_to, twice[:5], wrong[:5])
    if start == up_to:
        return
    times = [r[0] for r in project.rows("SELECT DISTINCT mz_timestamp FROM mz_test_changes")]
    chosen = {start, up_to - 1, *(t + d for t in rng.sample(times, min(5, len(times))) for d in (-1, 0, 1))}
    chosen |= {rng.randrange(start, up_to) for _ in range(3)}
    instants = sorted(t for t in chosen if start <= t < up_to)
    listed = ", ".join(map(str, instants))
    sides = [
        f"SELECT mz_t, {columns}, mz_diff AS mz_x FROM mz_test_changes "
        f"JOIN (SELECT explode(array({listed})) AS mz_t) ON mz_timestamp <= mz_t"
    ]
    sides += [f"SELECT {t} AS mz_t, {columns}, -1 AS mz_x FROM {as_of(warehouse, target, t)}" for t in instants]
    if not snapshot:
        before = as_of(warehouse, target, start)
        sides.append(f"SELECT mz_t, {columns}, 1 AS mz_x FROM {before} JOIN (SELECT explode(array({listed})) AS mz_t)")
    both = "\nUNION ALL ".join(sides)
    found = project.rows(
        f"SELECT mz_t, sum(mz_x), {columns} FROM ({both}) GROUP BY mz_t, {columns} HAVING sum(mz_x) <> 0"
    )
    assert not found, (name, start, up_to, snapshot, state.frontier, found[:10])


KINDS = {"row by row": ROW_BY_ROW, "at points": AT_POINTS, "by the clock": CLOCK}


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", KINDS)
def test_changes(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    seed = fresh_seed()
    drive(project, random.Random(seed).sample(list(KINDS[kind]), 3), 8, 3, seed, 1)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_all(project: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    small_limits(monkeypatch)
    drive(project, list(KINDS[kind]), 12, 4, fresh_seed(), 3)
