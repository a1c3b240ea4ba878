"""Outer joins and EXISTS over the clock: which are stored with the times of partners, and which a read evaluates."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.coverage_sql import RUN, from_instant
from dbt.adapters.sparktemporal.temporal.rewrite.split import Split, split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import render

COLUMNS = {
    "b": {"k": "string", "n": "int", "at": "timestamp", "id": "bigint", "s": "struct<x:int>"},
    "p": {
        "k": "string",
        "n": "int",
        "at": "timestamp",
        "id": "bigint",
        "ms": "bigint",
        "s": "struct<x:int>",
        "t": "map<string,string>",
        "y": "array<int>",
    },
    "q": {"k": "string", "m": "int", "at": "timestamp"},
    "r": {"id": "int", "mz_partner_open": "boolean"},
}
ON = "p.k = b.k and p.at <= mz_now()"
LIVE = "with live as (select * from p where mz_now() < at + interval 1 day)"

#: a model -> the operators of the comparisons of its cores
STORED = {
    f"select b.id from b where not exists (select 1 from p where {ON})": ["<"],
    f"select b.id from b where exists (select 1 from p where {ON}) and mz_now() < b.at": [">= <"],
    f"select b.id from b where not (exists (select 1 from p where {ON}) or b.n = 1)": ["<"],
    "select b.id from b where not exists (select 1 from p where p.k = b.k and mz_now() between p.at and p.at + "
    "interval 1 day)": [">= <"],
    f"select * from b left semi join p on {ON} and b.n > 1 and p.n > 1": [">="],
    f"select b.id, p.n from b left join p on {ON}": [">=", "<"],
    f"select b.id, p.s.x as x from b left outer join p on {ON} where p.n is null or p.n > b.n": [">=", "<"],
    f"select b.id from b left join p on {ON} where p.k is null": ["<"],
    f"{LIVE} select b.id, live.n from live right join b on live.k <=> b.k": ["<", ">="],
    f"{LIVE} select b.k, count(live.n) as n from b left join live on live.k = b.k group by b.k": ["<", ">="],
    f"{LIVE}, more as (select l.*, n + 1 as m from live as l where n > 1) select b.id from b left anti join more on "
    "more.k = b.k and more.m < 5": [">="],
    f"{LIVE} select b.id from b where b.id in (select id from live)": ["<"],
    "select b.id from b where b.n in (select id from p where mz_now() < ms)": ["<"],
    f"{LIVE} select b.id, q.m from b left join live on live.k = b.k left join q on q.m = live.n "
    "and q.at > mz_now()": ["< <", "< >=", ">="],
    f"{LIVE} select k, upper(K) as u, live.k as other, live.n from b left join live using (k, id) where k > 'a'": [
        "<", ">=",
    ],
    f"{LIVE} select k, count(live.n) as n from b left join live using (k) group by k order by k": ["<", ">="],
    f"{LIVE} select * from b left semi join live using (k)": ["<"],
    f"{LIVE} select coalesce(b.k, live.k) as k, live.n, b.id from b full join live on live.k = b.k": ["<", "<", ">="],
    f"{LIVE} select live.n, b.id from live full outer join b on live.k = b.k where b.n > 1": ["<", "<", ">="],
    f"{LIVE}, c as (select * from b where mz_now() >= at) select c.n, live.id from c full join live on live.k = c.k": [
        "< <", "< >=", ">= >=",
    ],
    # below another SELECT with a join, and with a window on the other side
    f"{LIVE}, c as (select * from b where not exists (select 1 from q where q.k = b.k and q.at <= mz_now())) "
    "select c.id, live.n from c left join live on live.k = c.k": ["< <", ">= <"],
    # names inside and outside of an IN, text in another case
    f"{LIVE} select id from b where k in (select k from live where live.n = b.n)": ["<"],
    f"{LIVE} select b.id from b left join live on live.t['A'] = b.k where live.t['a'] is null": ["<", ">="],
    # the p below is a table
    "with p as (select * from p where mz_now() < at) select b.id, p.n from b left join p on p.k = b.k": ["<", ">="],
    f"select b.id from b where not exists (select 1 from p join q on q.k = p.k where {ON} and q.m = b.n)": ["<"],
}  # fmt: skip

#: these a read evaluates
AT_READ = (
    "select b.id from b where not exists (select 1 from p where p.k < b.k and p.at <= mz_now())",
    f"select b.id from b where not exists (select 1 from p where {ON} and p.at > b.at)",
    f"select b.id from b where n = 1 or not exists (select 1 from p where {ON})",
    "select b.id from b where b.k not in (select k from p where p.at <= mz_now())",
    "select b.id from b where not exists (select 1 from p where p.k = b.n and p.at <= mz_now())",  # '01' and '1' are 1
    "select b.id from b where not exists (select 1 from p where p.k = b.k and hour(mz_now()) = p.n)",
    "select b.id from b where not exists (select 1 from p where p.k = b.k and (p.at <= mz_now() or p.n = 1))",
    "select b.id from b where not exists (select 1 from p where p.k = b.k and p.at <= mz_now() limit 0)",
    "select b.id from b where not exists (select max(n) from p where p.k = b.k and p.at <= mz_now())",
    "select b.id from b where not exists (select 1 from p where p.k = b.k and mz_now() < p.at and mz_now() < p.ms)",
    "select b.id from b where not exists (select 1 from p where p.k = b.k and mz_now() < b.at)",
    f"select b.id, p.n from b full join p on {ON}",
    f"{LIVE} select b.id, live.n from b full join live using (k)",
    f"select b.id, p.n from b left join p on {ON} full join q on q.k = b.k",
    f"{LIVE} select upper(k) as k, live.n from b left join live using (k) order by k",
    f"{LIVE} select b.id, live.n from b natural left join live",
    f"{LIVE} select k, live.n from b join q using (k) left join live using (k)",
    f"select b.id, rand() as r from b left join p on {ON}",
    f"select b.id, p.n from b left join p on {ON} where b.n in (select m from q)",
    f"{LIVE} select b.id, live.n from b, q left join live on live.k = q.k",
    f"{LIVE}, c as (select k, count(*) as n from q where mz_now() >= at group by k) select c.n, live.n as m from c "
    "left join live on live.k = c.k",
    f"{LIVE} select b.id, q.m from b left join (select k as kk, n as m from live) as x on x.kk = b.k "
    "left join q using (m)",
    f"{LIVE} select b.id, q.m from b left join live on live.k = b.k natural join q",
    "select b.id from b where exists (select explode(p.y) from p where p.k = b.k and p.at <= mz_now())",
    "select id from r where mz_partner_open and not exists (select 1 from p where p.n = r.id and p.at <= mz_now())",
    f"select b.id from b where exists (select 1 from p where {ON}) and (n = 1 or exists (select 1 from p where {ON}))",
    # a window on the side that the later join fills with NULLs
    f"{LIVE} select q.m, live.n from b join live on live.k = b.k right join q on q.k = b.k where exists "
    "(select 1 from p where p.k = q.k and p.at <= mz_now())",
    f"{LIVE} select q.m, live.n from b join live on live.k = b.k right join q on q.k = b.k left semi join p on "
    "p.k = q.k and p.at <= mz_now()",
)


def of(sql: str) -> Split:
    return split(sql, lambda query: list(COLUMNS[query.args["from_"].this.name].items()))


@pytest.mark.parametrize("sql", STORED)
def test_stored(sql: str) -> None:
    parts = of(sql)
    assert [" ".join(c.operator for c in core.comparisons) for core in parts.cores] == STORED[sql]
    assert "mz_now" not in render(parts.residual) and not parts.evaluated


def test_in_set_operations() -> None:
    """The rows with and without partners are one operand."""
    join = f"select b.k, p.n from b left join p on {ON}"
    for sides in ((join, "select k, m from q"), ("select k, m from q", join)):
        for word in ("union", "except", "intersect", "union all"):
            residual = render(of(f" {word} ".join(sides)).residual)
            assert "FROM (SELECT * FROM mz_core_c0 UNION ALL SELECT * FROM mz_core_c1) AS" in residual


@pytest.mark.parametrize("sql", AT_READ)
def test_at_read(sql: str) -> None:
    parts = of(sql)
    assert "mz_partners" not in "".join(render(query) for query in (parts.residual, *(c.query for c in parts.cores)))


def test_a_run_reads_the_partners_that_last() -> None:
    """A condition on the column itself, so that Spark skips files, and on the bound."""
    (core,) = of(f"{LIVE} select b.id from b left anti join live on live.k = b.k and live.n > 0").cores
    sql = render(core.query)
    assert (
        f"(`live`.`mz_h0`) >= timestamp_millis({RUN} - 259200000L)" in sql
        and f"`mz_b0` >= timestamp_millis({RUN})" in sql
    )
    assert RUN not in from_instant(sql, 1709294400000) and "1709294400000L - 259200000L" in from_instant(
        sql, 1709294400000
    )
    assert from_instant(sql, -(1 << 62)) == sql
