"""What is stored whole and read whole: what is told, in the words of the model, and what is not told."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run import full_stores
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from support.instants import T0

B = {"item": "string", "put_at": "timestamp", "n": "int", "id": "bigint"}
TYPES = {"s.b": B, "s.p": {"item": "string", "bought_at": "timestamp", "id": "bigint"}}
WINDOW = "b.put_at > mz_now() - interval 45 minutes"
BESIDE = "left join s.p as p on p.item = b.item and p.bought_at <= mz_now()"
INSIDE = "not exists (select 1 from s.p as p where p.item = b.item and p.bought_at <= mz_now())"
#: more than equal keys decides who has a partner
LATER = "p.id = b.id and p.bought_at > b.put_at"
BELOW = "a window in a CTE below, such as `select * from s.{} where mz_now() < {} + interval 7 days`"
SAME = "a window in the same SELECT, such as `where mz_now() < put_at + interval 7 days`"

#: a query -> the relations that are kept whole, words of the reason, words of what to write
WHOLE = {
    # a predicate that no bound follows from
    "select item, put_at from s.b where hour(mz_now()) = n": (
        "s.b", "hour(mz_now()) = n (hour(mz_now()): hour of the clock does not only", "`and mz_now() < put_at +",
    ),
    # outer joins and subqueries
    f"select b.item from s.b as b {BESIDE} and {LATER} where {WINDOW} and p.id is null": (
        "s.b s.p", "(the clock is in the ON of an outer join", BELOW.format("b", "put_at"),
    ),
    f"select b.item from s.b as b where {WINDOW} and {INSIDE[:-1]} and {LATER})": (
        "s.b s.p", "(a query inside of its SELECT has the clock too)", BELOW.format("b", "put_at"),
    ),
    f"select b.item from s.b as b where {INSIDE[:-1]} and {LATER})": (
        "s.b s.p", "(its SELECT names columns from outside", BELOW.format("b", "put_at"),
    ),
    "select b.item from s.b as b where b.n = 1 or exists (select 1 from s.p as p where p.id = b.id and mz_now() < "
    "p.bought_at)": ("s.b s.p", "mz_now() < p.bought_at", BELOW.format("b", "put_at")),
    "select b.item from s.b as b left anti join s.p as p on p.id < b.id and mz_now() < p.bought_at": (
        "s.b s.p", "(the clock is in the ON", BELOW.format("b", "put_at"),
    ),
    "select b.item from s.b as b full join s.p as p on p.id = b.id and mz_now() < p.bought_at": (
        "s.b s.p", "(the clock is in the ON", BELOW.format("b", "put_at"),
    ),
    "select b.item, w.id from s.b as b left join (select * from s.p where mz_now() < bought_at) as w on w.id < b.id": (
        "s.b", "no comparison of mz_now() bounds them", BELOW.format("b", "put_at"),
    ),
    f"with recent as (select * from s.b as b where {WINDOW}) select b.item from recent as b {BESIDE} and {LATER}": (
        "s.p", "no comparison of mz_now() bounds them", BELOW.format("p", "bought_at"),
    ),
    # a lambda
    "select item, put_at from s.b where exists(array(put_at), y -> hour(y) = hour(mz_now()))": (
        "s.b", "and a length below a day", "`and mz_now() < put_at +",
    ),
    # the clock as a value. Groups are kept, and a filter or a LIMIT shows some of them
    "select * from (select item, max(put_at) > mz_now() - interval 5 minutes as up from s.b group by 1) where up": (
        "s.b", "max(put_at) > mz_now() - interval 5 minutes",
        "`having max(put_at) > mz_now() - interval 5 minutes`, where the other rows do not count",
    ),
    "select item, datediff(current_date(), max(put_at)) as days from s.b group by item order by days limit 3": (
        "s.b", "datediff(current_date(), max(put_at)) (the clock is above the rows)",
        "a window in the same SELECT, such as `where mz_now() < ts + interval 7 days`",
    ),
    "select datediff(current_date(), max(put_at)) as days from s.b group by item union select 1": (
        "s.b", "datediff(current_date(), max(put_at)) (the clock is above the rows)",
        "a window in the same SELECT, such as `where mz_now() < ts + interval 7 days`",
    ),
    "select id, mz_now() - put_at as age from s.b": ("s.b", "mz_now() - put_at (the clock is above", SAME),
    "select id, put_at from s.b order by abs(unix_millis(mz_now()) - unix_millis(put_at)) limit 3": (
        "s.b", "abs(unix_millis(mz_now())", SAME,
    ),
    # aggregates that need the rows, under conditions
    "select item, sum(case when mz_now() >= put_at then n / 2 end) as n from s.b group by item": (
        "s.b", "mz_now() >= put_at", "`where mz_now() >= put_at`, where the other rows do not count",
    ),
    "select collect_list(case when put_at > mz_now() - interval 1 week then item end) as n, count(*) as c from s.b": (
        "s.b", "put_at > mz_now()", "`where put_at > mz_now() - interval 1 week`",
    ),
    "select median(if(year(put_at) = year(mz_now()), n, null)) as a, count_if(year(put_at) = year(mz_now()) - 1) as b "
    "from s.b": (
        "s.b", "year(put_at) = year(mz_now()) - 1", "`where (year(put_at) = year(mz_now())) or (year(put_at) = year(",
    ),
    "select median(n) filter (where mz_now() < put_at) as n from s.b": (
        "s.b", "put_at", "`where mz_now() < put_at`",
    ),
    # a branch without the clock
    "select id from s.b where mz_now() < put_at union all select id from s.b where item is null": (
        "s.b", "no comparison of mz_now() bounds them", BELOW.format("b", "ts"),
    ),
    # a predicate over the clock that bounds nothing
    "select * from values (1, 2) as v(a, b) where mz_now() is not null": (
        "", "no comparison of mz_now() bounds them", BELOW.format("b", "ts").replace("s.b", "…"),
    ),
    "select item, put_at from s.b where mz_now() is not null": ("s.b", "no comparison of mz_now() bounds them", "CTE"),
}  # fmt: skip
BOUNDED = (
    f"select b.item from s.b as b where {WINDOW}",
    f"select b.item, mz_now() - put_at as age from s.b as b where {WINDOW} and hour(mz_now()) = n",
    f"with c as (select * from s.b as b where {WINDOW}) select count(*) filter (where mz_now() < put_at) as n from c",
    "select item from s.b group by item having mz_now() < max(put_at)",
    "select item, datediff(current_date(), max(put_at)) as days from s.b group by item union all (select item, "
    "datediff(current_date(), min(put_at)) from s.b group by item union all select item, if(max(put_at) < mz_now(), 1, "
    "0) from s.b group by item)",
    "select days from (select item, datediff(current_date(), max(put_at)) from s.b group by item) as t(i, days)",
    "with c(i, days) as (select item, datediff(current_date(), max(put_at)) from s.b group by item) select days from c",
    # the times of partners by equal keys
    f"select b.item from s.b as b {BESIDE} where {WINDOW} and p.id is null",
    f"select b.item from s.b as b where {WINDOW} and {INSIDE}",
    f"select b.item, p.id from s.b as b {BESIDE}",
    f"with recent as (select * from s.b as b where {WINDOW}) select b.item, p.id from recent as b {BESIDE}",
    "select b.item from s.b as b left anti join s.p as p on p.id = b.id and mz_now() < p.bought_at",
    "select b.item, w.id from s.b as b left join (select * from s.p where mz_now() < bought_at) as w on w.id = b.id",
    # groups of all rows, and those of each window
    "select item, sum(case when mz_now() >= put_at then n end) as n from s.b group by item",
    "select item, sum(case when n = 1 then n when mz_now() < put_at then n when mz_now() < put_at + interval 1 day "
    "then if(id > 1, n, 0) else 9 end) as n from s.b group by item",
    "select count(distinct case when put_at > mz_now() - interval 1 week then item end) as n, count(*) as c from s.b",
    "select count_if(year(put_at) = year(mz_now())) as a, count_if(year(put_at) = year(mz_now()) - 1) as b from s.b",
    "select count(*) filter (where mz_now() < put_at) as n from (select * from s.b)",
    "with x as (select item, count_if(mz_now() < put_at) as n from s.b group by item), y as (select item, count_if("
    "mz_now() > put_at) as n from s.b group by item) select x.item, x.n, y.n as m from x join y on x.item = y.item",
    "select window.start as s, count(*) as n from s.b group by window(put_at, '1 hour') having mz_now() >= window.end",
)


def understood(sql: str) -> Model:
    warehouse = Warehouse(GivenTypes(TYPES, T0))
    settings = {**warehouse.settings(), "spark.sql.session.timeZone": "UTC"}
    return understand(warehouse, sql, settings, warehouse.version(), T0, None, "groups")


@pytest.mark.parametrize("sql", WHOLE)
def test_what_is_kept_whole(sql: str) -> None:
    kept, why, instead = WHOLE[sql]
    model = understood(sql)
    assert " ".join(full_stores.relations(model.whole)) == kept
    assert ("a query over s.b" in full_stores.listed(model)) == ("union" in sql or "max(put_at)" in sql)
    assert why in full_stores.why(model) and instead in full_stores.instead(model)
    told = full_stores.what_is_kept(model, [full_stores.Weight(core, 3, 2048) for core in model.whole])
    assert "3 rows, 2.0 KB" in told and "full_store: allow" in told and "mz_core" not in told and "mz_read" not in told


@pytest.mark.parametrize("sql", BOUNDED)
def test_what_has_bounds(sql: str) -> None:
    model = understood(sql)
    assert model.cores and not model.whole
