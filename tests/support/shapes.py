"""A grammar of models: FROM clauses of every kind (none, LATERAL, pipes, VALUES, table functions), in queries around them.

{t} has id, k, v, ts, due, xs; {o} has id, k, x. `W` is a window over the rows of {t}.
"""

from __future__ import annotations

from collections.abc import Iterator

W = "mz_now() >= ts and mz_now() < due"
IN_T = f"select id, k, v, xs, due from {{t}} where {W}"

#: what stands after a FROM -> the columns that the SELECT takes
ROWS = {
    "plain": ("{t} as t where " + W, "id, k, v"),
    "lateral_left_bare": (f"{{o}} o left join lateral (select v from {{t}} t where t.k = o.k and {W} order by v, id limit 1) l", "o.id, o.k, l.v"),
    "lateral_left_on": (f"{{o}} o left join lateral (select v, k from {{t}} t where {W}) l on l.k = o.k", "o.id, o.k, l.v"),
    "lateral_left_outer": (f"{{o}} o left outer join lateral (select max(v) as v from {{t}} t where t.k = o.k and {W}) l", "o.id, o.k, l.v"),
    "lateral_join_bare": (f"{{o}} o join lateral (select v from {{t}} t where t.k = o.k and {W}) l", "o.id, o.k, l.v"),
    "lateral_inner_bare": (f"{{o}} o inner join lateral (select v from {{t}} t where t.k = o.k and {W}) l", "o.id, o.k, l.v"),
    "lateral_inner_on": (f"{{o}} o inner join lateral (select v from {{t}} t where {W}) l on true", "o.id, o.k, l.v"),
    "lateral_cross": (f"{{o}} o cross join lateral (select v from {{t}} t where t.k = o.k and {W}) as l(v)", "o.id, o.k, l.v"),
    "lateral_comma": (f"{{o}} o, lateral (select count(*) as v from {{t}} t where t.k = o.k and {W})", "o.id, o.k, v"),
    "lateral_above": (f"{{t}} t left join lateral (select x from {{o}} o where o.k = t.k order by x limit 1) l where {W}", "t.id, t.k, l.x as v"),
    "lateral_above_on": (f"{{t}} t left join lateral (select x from {{o}} o where o.k = t.k) l on l.x > t.v where {W}", "t.id, t.k, l.x as v"),
    "lateral_above_cross": (f"{{t}} t cross join lateral (select max(x) as x from {{o}} o where o.k = t.k) where {W}", "id, k, x as v"),
    "lateral_value": (f"{{t}} t, lateral (select v + 1 as w) where {W}", "id, k, w as v"),
    "lateral_twice": (f"{{t}} t, lateral (select v + 1 as w) a, lateral (select w * 2 as y) b where {W}", "id, k, y as v"),
    "lateral_function": (f"{{t}} t, lateral explode(xs) as l(y) where {W}", "id, k, y as v"),
    "lateral_function_left": (f"{{t}} t left join lateral explode(filter(xs, y -> y > 3)) as l(y) where {W}", "id, k, y as v"),
    "lateral_function_pos": (f"{{t}} t join lateral posexplode(xs) as l(p, y) on y > 1 where {W}", "id, k, p + y as v"),
    "lateral_view": (f"{{t}} t lateral view explode(xs) l as y where {W}", "id, k, y as v"),
    "lateral_view_outer": (f"{{t}} t lateral view outer explode(filter(xs, y -> y > 3)) l as y where {W}", "id, k, y as v"),
    "lateral_view_twice": (f"{{t}} t lateral view explode(xs) l as y lateral view outer posexplode(array(y, 0)) m as p, z where {W}", "id, k, z as v"),
    "lateral_clock": ("{t} t, lateral (select mz_now() < due as open) l where mz_now() >= ts", "id, k, open as v"),
    "lateral_in_join": (f"{{o}} o join {{t}} t on t.k = o.k join lateral (select t.v + o.x as y) l where {W}", "t.id, o.k, y as v"),
    "join_left": (f"{{o}} o left join (select * from {{t}} where {W}) t on t.k = o.k", "o.id, o.k, v"),
    "join_full": (f"{{o}} o full outer join (select * from {{t}} where {W}) t on t.k = o.k", "o.id, t.k, v"),
    "join_semi": (f"{{t}} t left semi join {{o}} o on t.k = o.k where {W}", "id, k, v"),
    "join_anti": (f"{{t}} t left anti join {{o}} o on t.k = o.k where {W}", "id, k, v"),
    "join_comma": (f"{{t}} t, {{o}} o where t.k = o.k and {W}", "t.id, o.k, v"),
    "join_bare": (f"{{t}} t join {{o}} o where t.k = o.k and {W}", "t.id, o.k, v"),
    "join_using": (f"{{t}} t join {{o}} o using (k) where {W}", "t.id, k, v"),
    "values": (f"values (1, 'a', timestamp'2024-03-01 12:00:00', timestamp'2024-03-01 12:00:10'), (2, null, null, null) as t(id, k, ts, due) where {W}", "id, k, id as v"),
    "values_joined": (f"{{t}} t join (values ('a', 1), ('b', 2)) as n(k, y) on n.k = t.k where {W}", "id, t.k, y as v"),
    "values_left": (f"(values ('a', 1), ('q', 2)) as n(k, y) left join (select * from {{t}} where {W}) t on n.k = t.k", "id, n.k, y as v"),
    "range": (f"range(3) r join {{t}} t on t.v = r.id where {W}", "r.id, k, v"),
    "range_left": (f"range(1, 9, 2) as r(n) left join (select * from {{t}} where {W}) t on t.v = n", "n as id, k, v"),
    "explode": (f"explode(array(1, 2, 9)) as r(n) join {{t}} t on t.v = n where {W}", "n as id, k, v"),
    "inline": (f"inline(array(struct(1, 'a'), struct(2, 'b'))) as r(n, k) join {{t}} t on t.k = r.k where {W}", "n as id, t.k, v"),
    "nested": ("((select * from {t} where " + W + ")) as t", "id, k, v"),
    "sub_table": ("({t} as t) where " + W, "id, k, v"),
}
#: no FROM: one row of values
KPIS = {
    "counts": f"select (select count(*) from {{t}} where {W}) as active, (select count(*) from {{o}}) as users",
    "one": f"select (select max(v) from {{t}} where {W}) as top",
    "exists": f"select exists (select 1 from {{t}} where v > 6 and {W}) as any_of, 3 in (select v from {{t}} where {W}) as three",
    "where": f"select (select count(*) from {{t}} where {W}) as n where (select count(*) from {{t}} where {W}) > 2",
    "where_exists": f"select 1 as one where exists (select 1 from {{t}} where v = 3 and {W})",
    "with": f"with a as (select * from {{t}} where {W}) select (select count(*) from a) as n, (select sum(v) from a) as s, (select max(x) from {{o}}) as m",
    "ratio": f"select (select count(*) from {{t}} where {W}) / (select count(*) from {{o}}) as r, 'x' as unit",
    "clock": f"select mz_now() > timestamp'2024-03-01 12:00:09' as late, (select count(*) from {{t}} where {W}) as n",
    "nested": f"select (select (select count(*) from {{t}} where {W}) + (select count(*) from {{o}})) as n",
    "rows": f"select 'active' as what, (select count(*) from {{t}} where {W}) as n union all select 'users', (select count(*) from {{o}})",
    "above": f"select n + 1 as n from (select (select count(*) from {{t}} where {W}) as n, (select count(*) from {{o}}) as m)",
    "struct": f"select struct((select count(*) from {{t}} where {W}) as n, 1 as one) as s, array((select max(x) from {{o}})) as a",
    "values": f"values ((select count(*) from {{t}} where {W}), 1)",
    "from_values": f"select k, (select count(*) from {{t}} t where t.k = n.k and {W}) as n from values ('a'), ('q') as n(k)",
    "inline": f"select u.k, u.n from (select array(named_struct('k', 'a', 'n', (select count(*) from {{t}} where {W}))) as xs) lateral view inline(xs) u as k, n",
    "having": f"select (select count(*) from {{t}} where {W}) as n having n > 0",
}
SETS = {
    "union": f"select k from {{t}} where {W} union select k from {{o}}",
    "union_all": f"select k from {{t}} where {W} union all select k from {{o}}",
    "union_distinct": f"select k from {{t}} where {W} union distinct select k from {{t}}",
    "intersect": f"select k from {{t}} where {W} intersect select k from {{o}}",
    "intersect_all": f"select k from {{t}} where {W} intersect all select k from {{o}}",
    "except": f"select k from {{o}} except select k from {{t}} where {W}",
    "except_all": f"select k from {{t}} where mz_now() < due except all select k from {{t}} where {W}",
    "minus": f"select k from {{o}} minus select k from {{t}} where {W}",
    "minus_all": f"select k from {{t}} where {W} minus all select k from {{o}}",
    "nested": f"(select k from {{t}} where {W} union all select k from {{o}}) except all (select k from {{o}} intersect select k from {{t}} where {W})",
    "precedence": f"select k from {{t}} where {W} union all select k from {{o}} intersect select k from {{t}} where {W}",
    "ordered": f"(select k, v from {{t}} where {W} order by v, k limit 2) union all select k, x from {{o}} order by 2, 1 limit 4 offset 1",
    "values": f"select k from {{t}} where {W} union all values ('z'), (null)",
    "values_first": f"values ('z'), (null) union all select k from {{t}} where {W}",
    "from_first": f"from {{t}} select k where {W} union all from {{o}} select k",
    "below": f"select k, count(*) as n from (select k from {{t}} where {W} union all select k from {{o}}) group by k",
    "by_name": f"select k, id from {{t}} where {W} union all select k, id from (select id, k from {{o}})",
}
#: after `from {t}`
PIPES = {
    "where": f"|> where {W}",
    "as": "|> as p |> where p.due > mz_now() and mz_now() >= p.ts",
    "named": "|> where {t}.due > mz_now()",
    "select": f"|> where {W} |> select id, v + 1 as w |> where w > 2",
    "select_first": f"|> select id, ts, due |> where {W} |> as q |> select q.id",
    "extend": f"|> where {W} |> extend v + 1 as w, upper(k) as u |> where w > 2",
    "set": f"|> where {W} |> set v = v + 1, k = upper(k)",
    "set_before": f"|> set due = due + interval 1 second |> where {W}",
    "set_twice": f"|> where {W} |> set v = v + 1, id = v |> as q |> set K = q.id",
    "set_and_union": f"|> where {W} |> set v = v + 1 |> union all (from {{t}} |> where {W} |> set id = 7)",
    "drop": f"|> where {W} |> drop xs, ts",
    "drop_after": f"|> where {W} |> extend v + 1 as w |> drop v |> where w > 2",
    "aggregate": f"|> where {W} |> aggregate count(*) as n, sum(v) as s group by k",
    "aggregate_all": f"|> where {W} |> aggregate count(*) as n",
    "aggregate_twice": f"|> where {W} |> aggregate sum(v) as s group by k |> aggregate max(s) as m",
    "aggregate_expression": f"|> where {W} |> aggregate count(*) as n group by upper(k) as u |> order by u",
    "order_limit": f"|> where {W} |> order by v desc, id |> limit 2",
    "limit_where": "|> where mz_now() < due |> order by v, id |> limit 3 |> where v > 1",
    "limit_limit": f"|> where {W} |> order by id |> limit 3 |> order by id desc |> limit 1",
    "limit_offset": f"|> where {W} |> order by id |> limit 3 offset 1",
    "join": f"|> where {W} |> as a |> join {{o}} b on a.k = b.k |> select a.id, b.x",
    "left_join": f"|> where {W} |> as a |> left join {{o}} as b on a.k = b.k |> select a.id, b.x",
    "join_using": f"|> where {W} |> join {{o}} as b using (k) |> select k, v, x",
    "cross_join": f"|> where {W} |> cross join {{o}} as b |> select v, b.x",
    "semi_join": f"|> where {W} |> as a |> left semi join {{o}} as b on a.k = b.k |> select v",
    "union_all": f"|> where {W} |> select k |> union all (select k from {{o}})",
    "union": f"|> where {W} |> select k |> union select k from {{o}} |> where k > 'a'",
    "intersect": f"|> where {W} |> select k |> intersect (select k from {{o}})",
    "except": f"|> where {W} |> select k |> except (select k from {{o}})",
    "except_all": f"|> select k |> except all (select k from {{t}} where {W})",
    "lateral": f"|> where {W} |> as a |> join lateral (select max(x) as m from {{o}} o where o.k = a.k) l |> select id, m",
    "window": f"|> where {W} |> extend row_number() over (partition by k order by id, v) as r |> where r = 1 |> drop xs",
    "pivot": "|> pivot (sum(v) for k in ('a' as a, 'b' as b))",
    "unpivot": f"|> where {W} |> select id, v |> unpivot (n for what in (id, v))",
    "distinct": f"|> where {W} |> select distinct k",
    "chain": "|> as a |> where a.v > 0 |> as b |> where mz_now() < b.due |> extend b.v * 2 as w |> drop xs |> as c |> select c.id, c.w",
    "reused_name": f"|> where {W} |> select v as id, id as v |> where id > 1",
    "subquery": f"|> where {W} and k in (from {{o}} |> where x > 1 |> select k)",
}


def models() -> Iterator[tuple[str, str]]:
    """(name, SQL)"""
    for name, (source, columns) in ROWS.items():
        plain = f"select {columns} from {source}"
        yield f"rows_{name}", plain
        yield f"cte_{name}", f"with w as ({plain}) select * from w"
        yield f"groups_{name}", f"select k, count(*) as n, max(v) as m from ({plain}) group by k"
        yield f"limit_{name}", f"select * from ({plain}) as q order by 1, 2, 3 limit 3"
        yield f"union_{name}", f"{plain} union all select id, k, x from {{o}}"
        yield f"in_{name}", f"select id, x from {{o}} where k in (select k from ({plain}))"
    for kind, table in (("kpi", KPIS), ("set", SETS)):
        for name, sql in table.items():
            yield f"{kind}_{name}", sql
    for name, pipe in PIPES.items():
        yield f"pipe_{name}", f"from {{t}} {pipe}"
        yield f"pipe_select_{name}", f"select * from {{t}} {pipe}"
        yield f"pipe_below_{name}", f"with w as (from {{t}} {pipe}) select count(*) as n from w"
