"""Random queries with joins, EXISTS and IN in which the clock decides who has a partner."""

from __future__ import annotations

import random

Rng = random.Random

WINDOWS = [
    "{now} >= p.lo and {now} < p.hi",
    "{now} >= p.lo",
    "p.hi > {now}",
    "{now} between p.lo and p.lo + interval 25 seconds",
    "{now} >= p.lo and (p.hi is null or {now} < p.hi)",
    "not ({now} < p.lo or {now} >= p.hi)",
    "{now} - interval 5 seconds < p.lo",
]
KEYS = ["p.k = b.k", "b.k = p.k", "p.v = b.v", "p.k <=> b.k", "b.h = p.h and p.k = b.k", "p.v % 3 = b.v % 3",
        "p.lo = b.hi", "cast(p.v as bigint) = b.id"]  # fmt: skip
#: beside the keys: of the partners, of the outer rows
BESIDE = [
    "",
    "",
    "",
    " and p.v > 1",
    " and b.v < 4",
    " and p.price > 0 and b.k is not null",
    " and (b.v = 1 or b.h = 0)",
]
OUTER = ["", "", "{now} < b.hi", "{now} >= b.lo and {now} < b.hi", "b.v > 1", "b.v is null or {now} > b.lo"]
#: joins whose partners depend on more than keys: these stay
OTHERS = [" and p.lo > b.lo", " and p.v < b.v", " and date_trunc('MINUTE', {now}) = p.lo"]


def joined(rng: Rng, _: int = 0) -> str:
    """A query text with {t} for the input and {now} for the clock."""
    window, key = rng.choice(WINDOWS), rng.choice(KEYS)
    beside = rng.choice(OTHERS) if rng.random() < 0.08 else rng.choice(BESIDE)
    forms = "exists exists in semi left left left right full two cte null above above"
    form = rng.choice(forms.split())
    outer = rng.choice(OUTER)
    if form == "exists":
        word = rng.choice(["not exists", "not exists", "exists"])
        both = rng.choice([f"{key}{beside} and {window}", f"{window} and {key}{beside}"])
        outer = " and ".join([*filter(None, [f"({outer})" if outer else ""]),
                              f"{word} (select 1 from {{t}} as p where {both})"])  # fmt: skip
        return _rows(rng, "{t} as b", outer, "b")
    if form == "in":
        extra = beside.replace("b.k is not null", "true") if "b." not in beside else ""
        found = f"b.k in (select p.k from {{t}} as p where {window}{extra})"
        return _rows(rng, "{t} as b", f"{found} and ({outer})" if outer else found, "b")
    if form == "semi":
        join = f"{{t}} as b left {rng.choice(['anti', 'semi'])} join {{t}} as p on {key}{beside} and {window}"
        return _rows(rng, join, outer, "b")
    if form == "null":
        join = f"{{t}} as b left join {{t}} as p on {key}{beside} and {window}"
        return _rows(rng, join, " and ".join(filter(None, [rng.choice(["p.k is null", "p.id is null"]), outer])), "b")
    below = f"(select *, v * 2 as w from {{t}} as p where {window}) as p"
    if form == "cte":
        select = _rows(rng, f"{{t}} as b left join live as p on {key}{beside}", outer, "both")
        return f"with live as (select p.* from {{t}} as p where {window}) {select}"
    if form == "two":
        second = rng.choice(WINDOWS).replace("p.", "q.")
        other = rng.choice(KEYS[:3]).replace("p.", "q.")
        joins = f"{{t}} as b left join {below} on {key}{beside} left join {{t}} as q on {other} and {second}"
        return _rows(rng, joins, outer, "both")
    if form == "full":
        side = f"(select * from {{t}} as x where {rng.choice(WINDOWS[:3]).replace('p.', 'x.')}) as b"
        left, right = rng.sample([below, rng.choice([side, "{t} as b"])], 2)
        return _rows(rng, f"{left} full join {right} on {key}{beside}", "", "both")
    if form == "above":
        return _above(rng, f"{key}{beside} and {window}")
    if form == "right":
        return _rows(rng, f"{below} right join {{t}} as b on {key}{beside}", outer, "both")
    on = f"{{t}} as p on {key}{beside} and {window}"
    return _rows(rng, f"{{t}} as b {rng.choice(['left', 'left outer'])} join {rng.choice([on, f'{below} on {key}'])}",
                 outer, "both")  # fmt: skip


def _above(rng: Rng, partner: str) -> str:
    """A SELECT over two sources, each with a window or not, whose rows need a partner, or need to have none."""
    sides = [rng.choice(["{t}", f"(select * from {{t}} as p where {rng.choice(WINDOWS)})"]) for _ in range(2)]
    join = rng.choice(["join", "left join", "right join", "full join"])
    of, other = rng.sample(["b", "c"], 2)
    both = f"{sides[0]} as {of} {join} {sides[1]} as {other} on {of}.{rng.choice(['k', 'v'])} = {other}.k"
    items = "select b.id, b.k, c.id as cid, c.v, c.lo"
    if rng.random() < 0.4:
        return f"{items} from {both} left {rng.choice(['semi', 'anti'])} join {{t}} as p on {partner}"
    where = f"{rng.choice(['', 'not '])}exists (select 1 from {{t}} as p where {partner})"
    return f"{items} from {both} where {where}"


def _rows(rng: Rng, source: str, where: str, of: str) -> str:
    """What is asked of the rows."""
    p = of == "both"
    forms = [
        f"select b.id, b.k, {'p.v as pv, p.lo, coalesce(p.k, b.k) as c' if p else 'b.v, b.hi'} from {source}",
        f"select b.k, count({'p.id' if p else 'b.v'}) as n, sum({'p.v' if p else 'b.id'}) as s from {source}",
        f"select b.k, max({'p.price' if p else 'b.v'}) as m from {source}",
        f"select distinct b.k, {'p.k as pk' if p else 'b.h'} from {source}",
        f"select {'p.v + b.v' if p else 'b.v'} as x, b.id, row_number() over (partition by b.k order by b.id, b.lo, "
        f"b.hi, b.v, b.price{', p.id, p.lo, p.hi, p.v, p.price' if p else ''}) as place from {source}",
    ]
    at = rng.choice([0, 0, 0, 1, 2, 3, 4])
    group = " group by b.k" if at in (1, 2) else ""
    return f"{forms[at]}{f' where {where}' if where else ''}{group}"
