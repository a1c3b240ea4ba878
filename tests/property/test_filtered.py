"""Random predicates that a read filters, and HAVINGs over the clock, over random histories against Spark's own answer.

The oracle is the query as written with the instant put in, over the input as the last run read it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from support.aggregates import Rng, drive
from support.project import Project
from support.seeds import a_seed

WINDOWS = ["{now} < hi", "{now} >= lo", "{now} <= lo + interval 20 seconds", "hi is null or {now} < hi",
           "{now} between lo and hi", "date_trunc('MINUTE', {now}) = date_trunc('MINUTE', lo)"]  # fmt: skip
#: they come and go: no instants of these can be listed
FILTERS = [
    "second({now}) = second(lo)", "second({now}) < v * 15", "date_format({now}, 'ss') like concat('%', v)",
    "unix_millis({now}) % 7 = v", "pmod(unix_seconds({now}), 20) < 10", "minute({now}) in (0, v)",
    "{now} < greatest(hi, {now} - interval 5 seconds)", "cast({now} as string) > concat(cast(lo as string), k)",
    "second({now}) between v and v * 20", "coalesce({now}, lo) >= hi", "{now} - lo < hi - {now}",
    "nullif(second({now}), 10) <> v", "unix_millis({now}) * 2 < lo_ms + unix_millis(hi)",
]  # fmt: skip
STATIC = ["k = 'k1'", "v > 1", "v is null", "price < 0", "true", "cast(null as boolean)"]

LEAVES = (FILTERS, WINDOWS, WINDOWS, STATIC)


def predicate(rng: Rng, depth: int, leaves: Sequence[list[str]] = LEAVES) -> str:
    """leaves: lists of predicates, of which one is taken and then one of it. The last has none of the clock."""
    if depth <= 0:
        return rng.choice(rng.choice(leaves))
    a, b, c = (predicate(rng, depth - rng.choice([1, 1, 2]), leaves) for _ in range(3))
    plain = rng.choice(leaves[-1])
    forms = [
        f"({a}) and ({b})", f"({a}) and ({b}) and ({c})", f"({a}) or ({b})", f"(({a}) or ({b})) and ({c})",
        f"not ({a})", f"not (({a}) and ({b}))", f"not (({a}) or not ({b}))", f"case when {a} then {b} else {c} end",
        f"case when {plain} then {a} when {b} then {c} end", f"if({plain}, {a}, {b})", f"coalesce({a}, {b})",
        f"(({a}) and ({b})) is true", f"(({a}) or ({b})) is not false", f"(({a}) <=> true)", f"({a}) <=> ({b})",
    ]  # fmt: skip
    return rng.choice(forms)


def filtered(rng: Rng, number: int) -> str:
    """A query text with a filter in it."""
    window, own = rng.choice(WINDOWS), rng.choice(FILTERS)
    where = rng.choice([f"({window}) and ({own})", f"({predicate(rng, 2)}) and ({own})", predicate(rng, 3), own])
    if "{now}" not in where:
        where = f"{where} and {own}"
    simple = [
        f"select id, k, v from {{t}} where {where}",
        f"select * from {{t}} where {where}",
        f"select id, upper(k) as k, {{now}} as seen from {{t}} where {where}",
        f"select h, id, v from {{t}} x where {where} and x.h >= 0",
    ]
    above = [
        f"select k, count(*) as n, sum(v) as s, min(price) as p from {{t}} where {where} group by k",
        f"select count(*) as n, max(v) as m from {{t}} where {where}",
        f"select distinct k, v % 2 as odd from {{t}} where {where}",
        f"with live as (select id, k, v from {{t}} where {where}) "
        "select v, count(distinct k) as n from live group by v",
        f"select id, rank() over (partition by k order by id, v) as place from {{t}} where {where}",
    ]
    nested = [
        f"select id, v from (select id, k, v, price, lo, hi, lo_ms from {{t}} where {own}) x where {predicate(rng, 1)}",
        f"select id from (select * from {{t}} where {where}) x where {{now}} < x.hi",
        f"select id, 'in' as w from {{t}} where {where} union all select id, 'out' from {{t}} where not ({where})",
        f"select id, k from {{t}} where {{now}} < hi and ({own} or k in (select max(k) from {{t}} group by h))",
    ]
    return rng.choice([simple, above, nested][number % 3])


#: of groups
LASTS = ["{now} < max(hi)", "{now} <= max(lo) + interval 20 seconds", "{now} >= min(lo)", "{now} < last",
         "{now} between min(lo) and max(hi)", "last is null or {now} < last",
         "count(*) > 1", "max(v) is null or {now} < max(hi)",
         "date_trunc('MINUTE', {now}) = date_trunc('MINUTE', last)",
         "timestampdiff(SECOND, max(lo), {now}) < 15"]  # fmt: skip
SECONDS = ["second({now}) < count(*) * 10", "second({now}) % 2 = max(v) % 2", "{now} < greatest(last, {now})"]
HAVING_STATIC = ["count(*) > 1", "sum(v) > 2", "max(k) = 'k1'", "n < 3"]


def having(rng: Rng, number: int) -> str:
    """A query text with the clock in its HAVING."""
    leaves = [SECONDS if number % 2 else LASTS, LASTS, HAVING_STATIC]
    parts = [rng.choice(LASTS), predicate(rng, rng.randrange(3), leaves), rng.choice(HAVING_STATIC)]
    chosen = " and ".join(f"({part})" for part in rng.sample(parts, rng.choice([1, 2, 2, 3])))
    clause = chosen if "{now}" in chosen else f"{chosen} and {{now}} < max(hi)"
    items = "max(hi) as last, count(*) as n"
    more = rng.choice(
        ["", ", sum(v) as total", ", max(lo)", ", unix_millis({now}) - max(lo_ms) as idle", ", min(v) as v"]
    )
    static = rng.choice(["", "", "where v is not null", "where h = 0"])
    plain = [
        f"select k, {items}{more} from {{t}} {static} group by k having {clause}",
        f"select k, v % 2 as odd, {items}{more} from {{t}} x {static} group by x.k, v % 2 having {clause}",
        f"select {items}{more} from {{t}} {static} having {clause}",
        f"select distinct {items}{more} from {{t}} group by k, id having {clause}",
        f"select k, id as i, {items} from {{t}} group by all having {clause} order by k, i limit 2",
        f"select k, id, {items} from {{t}} group by 1, 2 having {clause} order by n, 1, 2 limit 3",
    ]
    more_than_that = [
        f"select k, grouping(k) as g, {items} from {{t}} group by rollup(k) having {clause}",
        f"select k, v, {items} from {{t}} group by grouping sets ((k), (v), ()) having {clause}",
        f"with s as (select k, id, {items} from {{t}} group by k, id having {clause}) "
        "select k, count(*) as n, max(last) as last from s group by k",
        f"select a.k, b.n from (select k, {items} from {{t}} group by k having {clause}) a "
        f"join (select k, {items} from {{t}} group by k having {{now}} < max(hi)) b on a.k <=> b.k",
        f"select k, {items}, rank() over (order by k) as place from {{t}} group by k having {clause}",
        f"select k, {items} from {{t}} where {{now}} >= lo group by k having {clause}",
        f"select upper(k) as k, {items} from {{t}} group by k having {clause} and (k = 'k1' or {{now}} < max(hi))",
    ]
    return rng.choice(more_than_that if number % 3 == 2 else plain)


pytestmark = pytest.mark.usefixtures("small_plans")


@pytest.mark.first(1)
@pytest.mark.parametrize("count", [1, 4])
def test_random_filters(project: Project, count: int) -> None:
    drive(project, count, a_seed(), make=filtered)


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("count", [1, 4])
def test_random_havings(project: Project, count: int) -> None:
    drive(project, count, a_seed(), make=having)


@pytest.mark.deep
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("query", [filtered, having])
def test_a_thousand_of_each(project: Project, query: Callable[[Rng, int], str], part: int) -> None:
    project.spark.conf.set("spark.sql.session.timeZone", ["UTC", "America/New_York", "Asia/Kolkata"][part % 3])
    drive(project, 100, a_seed() + part, make=query)
