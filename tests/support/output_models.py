"""Models whose output is looked at over time, by the way in which their updates are found, and random histories."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from support.histories import change, event, fill, load_dim, load_events
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
    "by_map": LIVE + "select map(k, h) as m, a, s, count(*) as n from (select *, array(map(h, map(k, v))) as a, "
    "named_struct('m', map(k, h)) as s from live where k is not null) group by map(k, h), a, s",
    "all_of_some": LIVE + "select k, count(*) as n from soon group by all",
    "few": f"select h, id, v, price from {{e}} where {WINDOW} and h = 0 and id < 2",
    "of_all_columns": LIVE + "select h, hash(*) as x from soon",
    "bare": f"select k from {{e}} where {WINDOW}",
}
AT_POINTS = {
    "smallest": f"select h, min(v) as least, count(distinct k) as ks from {{e}} where {WINDOW} group by h",
    "newest": f"select count(*) as n, sum(v) as total, max(id) as last from {{e}} where {WINDOW} and h < 3",
    "rolled": f"select h, k, count(*) as n from {{e}} where {WINDOW} and h < 9 group by rollup(h, k)",
    "doubles": f"select h, cast(sum(cast(v as double)) as int) as x from {{e}} where {WINDOW} group by h",
    "either_once": f"select h, k from {{e}} where {WINDOW} union select h, null from {{e}} where {{now}} < lo",
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
KINDS = {"row by row": ROW_BY_ROW, "at points": AT_POINTS, "by the clock": CLOCK}


def configs(rng: random.Random, names: list[str], refreshed: float) -> dict[str, dict[str, Any]]:
    """Random configs. refreshed: the share of the models with refreshes."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        config: dict[str, Any] = {"retain_history": "1 day"} if rng.random() < 0.5 else {}
        config |= {"expiration": rng.choice(["70 seconds", "2 minutes"])} if rng.random() < 0.3 else {}
        config |= {"aggregates": "groups"} if rng.random() < 0.8 else {}
        config |= {"refresh_every": rng.choice(["3 seconds", "7 seconds"])} if rng.random() < refreshed else {}
        found[name] = config
    return found


def play(
    project: Project, models: Mapping[str, Mapping[str, Any]], rng: random.Random, histories: int, runs: int
) -> Iterator[int]:
    """Runs of models with their configs, over inputs that change in between: the number of each run, after it."""
    for name, config in models.items():
        project.model(name, fill(project, EVERY[name], "mz_now()", "mz_now()"), **config)
    rows = {h: [event(rng, h) for _ in range(rng.choice([0, 1, 3, 6]))] for h in range(histories)}
    for run in range(runs):
        load_events(project, [r for h in rows.values() for r in h])
        load_dim(project, rng)
        project.run("--threads", "2", now=T0 + run * STEP + rng.choice([0, 1, 777]))
        yield run
        rows = {h: change(rng, list_, h) if rng.random() < 0.8 else list_ for h, list_ in rows.items()}
