"""A grammar of models: FROMs of every kind (none, LATERAL, pipes, VALUES, table functions), in queries around them.

{t} has id, k, v, ts, due, xs; {o} has id, k, x; {w} is a window over the rows of {t}.
"""

from __future__ import annotations

from collections.abc import Iterator

WINDOW = "mz_now() >= ts and mz_now() < due"

#: SELECTs of three columns, one of them k
ROWS = {
    "plain": "select id, k, v from {t} as t where {w}",
    "lateral_left_bare": "select o.id, o.k, l.v from {o} o left join lateral (select v from {t} t where t.k = o.k "
    "and {w} order by v, id limit 1) l",
    "lateral_left_on": "select o.id, o.k, l.v from {o} o left join lateral (select v, k from {t} t where {w}) l on "
    "l.k = o.k",
    "lateral_left_outer": "select o.id, o.k, l.v from {o} o left outer join lateral (select max(v) as v from {t} t "
    "where t.k = o.k and {w}) l",
    "lateral_join_bare": "select o.id, o.k, l.v from {o} o join lateral (select v from {t} t where t.k = o.k and "
    "{w}) l",
    "lateral_inner_bare": "select o.id, o.k, l.v from {o} o inner join lateral (select v from {t} t where t.k = o.k "
    "and {w}) l",
    "lateral_inner_on": "select o.id, o.k, l.v from {o} o inner join lateral (select v from {t} t where {w}) l on true",
    "lateral_cross": "select o.id, o.k, l.v from {o} o cross join lateral (select v from {t} t where t.k = o.k and "
    "{w}) as l(v)",
    "lateral_comma": "select o.id, o.k, v from {o} o, lateral (select count(*) as v from {t} t where t.k = o.k and "
    "{w})",
    "lateral_above": "select t.id, t.k, l.x as v from {t} t left join lateral (select x from {o} o where o.k = t.k "
    "order by x limit 1) l where {w}",
    "lateral_above_on": "select t.id, t.k, l.x as v from {t} t left join lateral (select x from {o} o where o.k = "
    "t.k) l on l.x > t.v where {w}",
    "lateral_above_cross": "select id, k, x as v from {t} t cross join lateral (select max(x) as x from {o} o where "
    "o.k = t.k) where {w}",
    "lateral_value": "select id, k, w as v from {t} t, lateral (select v + 1 as w) where {w}",
    "lateral_twice": "select id, k, y as v from {t} t, lateral (select v + 1 as w) a, lateral (select w * 2 as y) b "
    "where {w}",
    "lateral_function": "select id, k, y as v from {t} t, lateral explode(xs) as l(y) where {w}",
    "lateral_function_left": "select id, k, y as v from {t} t left join lateral explode(filter(xs, y -> y > 3)) as "
    "l(y) where {w}",
    "lateral_function_pos": "select id, k, p + y as v from {t} t join lateral posexplode(xs) as l(p, y) on y > 1 "
    "where {w}",
    "lateral_view": "select id, k, y as v from {t} t lateral view explode(xs) l as y where {w}",
    "lateral_view_outer": "select id, k, y as v from {t} t lateral view outer explode(filter(xs, y -> y > 3)) l as y "
    "where {w}",
    "lateral_view_twice": "select id, k, z as v from {t} t lateral view explode(xs) l as y lateral view outer "
    "posexplode(array(y, 0)) m as p, z where {w}",
    "lateral_clock": "select id, k, if(open, 1, 0) as v from {t} t, lateral (select mz_now() < due as open) l "
    "where mz_now() >= ts",
    "lateral_in_join": "select t.id, o.k, y as v from {o} o join {t} t on t.k = o.k join lateral (select t.v + o.x "
    "as y) l where {w}",
    "join_left": "select o.id, o.k, v from {o} o left join (select * from {t} where {w}) t on t.k = o.k",
    "join_full": "select o.id, t.k, v from {o} o full outer join (select * from {t} where {w}) t on t.k = o.k",
    "join_semi": "select id, k, v from {t} t left semi join {o} o on t.k = o.k where {w}",
    "join_anti": "select id, k, v from {t} t left anti join {o} o on t.k = o.k where {w}",
    "join_comma": "select t.id, o.k, v from {t} t, {o} o where t.k = o.k and {w}",
    "join_bare": "select t.id, o.k, v from {t} t join {o} o where t.k = o.k and {w}",
    "join_using": "select t.id, k, v from {t} t join {o} o using (k) where {w}",
    "values": "select id, k, id as v from values (1, 'a', timestamp'2024-03-01 12:00:00', timestamp'2024-03-01 "
    "12:00:10'), (2, null, null, null) as t(id, k, ts, due) where {w}",
    "values_joined": "select id, t.k, y as v from {t} t join (values ('a', 1), ('b', 2)) as n(k, y) on n.k = t.k "
    "where {w}",
    "values_left": "select id, n.k, y as v from (values ('a', 1), ('q', 2)) as n(k, y) left join (select * from {t} "
    "where {w}) t on n.k = t.k",
    "range": "select r.id, k, v from range(3) r join {t} t on t.v = r.id where {w}",
    "range_left": "select n as id, k, v from range(1, 9, 2) as r(n) left join (select * from {t} where {w}) t on t.v "
    "= n",
    "explode": "select n as id, k, v from explode(array(1, 2, 9)) as r(n) join {t} t on t.v = n where {w}",
    "inline": "select n as id, t.k, v from inline(array(struct(1, 'a'), struct(2, 'b'))) as r(n, k) join {t} t on "
    "t.k = r.k where {w}",
    "nested": "select id, k, v from ((select * from {t} where {w})) as t",
    "sub_table": "select id, k, v from ({t} as t) where {w}",
}
#: no FROM: one row of values
KPIS = {
    "counts": "select (select count(*) from {t} where {w}) as active, (select count(*) from {o}) as users",
    "one": "select (select max(v) from {t} where {w}) as top",
    "exists": "select exists (select 1 from {t} where v > 6 and {w}) as any_of, 3 in (select v from {t} where {w}) "
    "as three",
    "where": "select (select count(*) from {t} where {w}) as n where (select count(*) from {t} where {w}) > 2",
    "where_exists": "select 1 as one where exists (select 1 from {t} where v = 3 and {w})",
    "with": "with a as (select * from {t} where {w}) select (select count(*) from a) as n, (select sum(v) from a) as "
    "s, (select max(x) from {o}) as m",
    "ratio": "select (select count(*) from {t} where {w}) / (select count(*) from {o}) as r, 'x' as unit",
    "clock": "select mz_now() > timestamp'2024-03-01 12:00:09' as late, (select count(*) from {t} where {w}) as n",
    "nested": "select (select (select count(*) from {t} where {w}) + (select count(*) from {o})) as n",
    "rows": "select 'active' as what, (select count(*) from {t} where {w}) as n union all select 'users', (select "
    "count(*) from {o})",
    "above": "select n + 1 as n from (select (select count(*) from {t} where {w}) as n, (select count(*) from {o}) "
    "as m)",
    "struct": "select struct((select count(*) from {t} where {w}) as n, 1 as one) as s, array((select max(x) from "
    "{o})) as a",
    "from_values": "select k, (select count(*) from {t} t where t.k = n.k and {w}) as n from values ('a'), ('q') as "
    "n(k)",
    "inline": "select u.k, u.n from (select array(named_struct('k', 'a', 'n', (select count(*) from {t} where {w}))) "
    "as xs) lateral view inline(xs) u as k, n",
    "having": "select (select count(*) from {t} where {w}) as n having n > 0",
}
SETS = {
    "union": "select k from {t} where {w} union select k from {o}",
    "union_all": "select k from {t} where {w} union all select k from {o}",
    "union_distinct": "select k from {t} where {w} union distinct select k from {t}",
    "intersect": "select k from {t} where {w} intersect select k from {o}",
    "intersect_all": "select k from {t} where {w} intersect all select k from {o}",
    "except": "select k from {o} except select k from {t} where {w}",
    "except_all": "select k from {t} where mz_now() < due except all select k from {t} where {w}",
    "minus": "select k from {o} minus select k from {t} where {w}",
    "minus_all": "select k from {t} where {w} minus all select k from {o}",
    "nested": "(select k from {t} where {w} union all select k from {o}) except all (select k from {o} intersect "
    "select k from {t} where {w})",
    "precedence": "select k from {t} where {w} union all select k from {o} intersect select k from {t} where {w}",
    "ordered": "(select k, v from {t} where {w} order by v, k limit 2) union all select k, x from {o} order by 2, 1 "
    "limit 4 offset 1",
    "values": "select k from {t} where {w} union all values ('z'), (null)",
    "values_first": "values ('z'), (null) union all select k from {t} where {w}",
    "from_first": "from {t} select k where {w} union all from {o} select k",
    "below": "select k, count(*) as n from (select k from {t} where {w} union all select k from {o}) group by k",
    "by_name": "select k, id from {t} where {w} union all select k, id from (select id, k from {o})",
}
#: after `from {t}`
PIPES = {
    "where": "|> where {w}",
    "as": "|> as p |> where p.due > mz_now() and mz_now() >= p.ts",
    "named": "|> where {t}.due > mz_now()",
    "select": "|> where {w} |> select id, v + 1 as w |> where w > 2",
    "select_first": "|> select id, ts, due |> where {w} |> as q |> select q.id",
    "extend": "|> where {w} |> extend v + 1 as w, upper(k) as u |> where w > 2",
    "set": "|> where {w} |> set v = v + 1, k = upper(k)",
    "set_before": "|> set due = due + interval 1 second |> where {w}",
    "set_twice": "|> where {w} |> set v = v + 1, id = v |> as q |> set K = q.id",
    "set_and_union": "|> where {w} |> set v = v + 1 |> union all (from {t} |> where {w} |> set id = 7)",
    "drop": "|> where {w} |> drop xs, ts",
    "drop_after": "|> where {w} |> extend v + 1 as w |> drop v |> where w > 2",
    "aggregate": "|> where {w} |> aggregate count(*) as n, sum(v) as s group by k",
    "aggregate_all": "|> where {w} |> aggregate count(*) as n",
    "aggregate_twice": "|> where {w} |> aggregate sum(v) as s group by k |> aggregate max(s) as m",
    "aggregate_expression": "|> where {w} |> aggregate count(*) as n group by upper(k) as u |> order by u",
    "order_limit": "|> where {w} |> order by v desc, id |> limit 2",
    "limit_where": "|> where mz_now() < due |> order by v, id |> limit 3 |> where v > 1",
    "limit_limit": "|> where {w} |> order by id |> limit 3 |> order by id desc |> limit 1",
    "limit_offset": "|> where {w} |> order by id |> limit 3 offset 1",
    "join": "|> where {w} |> as a |> join {o} b on a.k = b.k |> select a.id, b.x",
    "left_join": "|> where {w} |> as a |> left join {o} as b on a.k = b.k |> select a.id, b.x",
    "join_using": "|> where {w} |> join {o} as b using (k) |> select k, v, x",
    "cross_join": "|> where {w} |> cross join {o} as b |> select v, b.x",
    "semi_join": "|> where {w} |> as a |> left semi join {o} as b on a.k = b.k |> select v",
    "union_all": "|> where {w} |> select k |> union all (select k from {o})",
    "union": "|> where {w} |> select k |> union select k from {o} |> where k > 'a'",
    "intersect": "|> where {w} |> select k |> intersect (select k from {o})",
    "except": "|> where {w} |> select k |> except (select k from {o})",
    "except_all": "|> select k |> except all (select k from {t} where {w})",
    "lateral": "|> where {w} |> as a |> join lateral (select max(x) as m from {o} o where o.k = a.k) l |> select id, m",
    "window": "|> where {w} |> extend row_number() over (partition by k order by id, v) as r |> where r = 1 |> drop xs",
    "pivot": "|> pivot (sum(v) for k in ('a' as a, 'b' as b)) |> where {w}",
    "unpivot": "|> where {w} |> select id, v |> unpivot (n for what in (id, v))",
    "distinct": "|> where {w} |> select distinct k",
    "chain": "|> as a |> where a.v > 0 |> as b |> where mz_now() < b.due |> extend b.v * 2 as w |> drop xs |> as c "
    "|> select c.id, c.w",
    "reused_name": "|> where {w} |> select v as id, id as v |> where id > 1",
    "subquery": "|> where {w} and k in (from {o} |> where x > 1 |> select k)",
}
#: literals in a SELECT list, in what is stored and beside the clock
LITERALS = {
    "texts": "select id, 'O''Brien' as a, \"say \"\"hi\"\"\" as b, r'\\d+' as c, 'a' \"b\" r'\\c' as d, "
    "'\\u0041\\t\\'' as e, X '1F' as f, '$x' as g from {t} where {w} and (k <> 'it''s' or k in ('a', '''b''')) "
    "and k not like '\\%'",
    "numbers": "select id, 1L + v as a, 2S as b, 3Y as c, 1.50BD as d, 1e3 as e, .5 as f, 1F as g, 1.5e-3D as h, "
    "-128Y as i, 12345678901234567890 as j from {t} where {w} and v < 7L and v <> 1e3BD",
    "intervals": "select id, ts + interval '1 day -2 hours' as a, ts - interval '1-2' year to month as b, "
    "ts + interval 1 hour + 2 * interval -3 minutes as c from {t} "
    "where mz_now() < due + interval '00:01.5' minute to second and mz_now() - interval 1 minute -59 seconds >= ts",
    "instants": "select id, date'2024-3-1' as a, timestamp_ntz'2024-03-01 12:00:05' < due as b from {t} where {w} "
    "and ts >= timestamp_ltz'2024-03-01 11:00:00+00:00' and mz_now() >= timestamp_ntz\"2024-03-01 12:00:07\"",
    "times": "select id, cast(time'13:02:00' as string) as a, time'13:02' < time'14:00' as b from {t} where {w}",
    "names": "select id as `a``b`, k as `é`, v as `it's`, id as `select` from {t} as `t``t` where {w} and `t``t`.v > 0",
    "elements": "select id, array(id, v)[1] as a, array(array(v))[0][0] as b, map('a', v)['a'] as c from {t} "
    "where array(ts, due)[1] > mz_now() and array(ts)[0] <= mz_now()",
    "digits": "select id from {t} where mz_now() >= ts and "
    "id < cast(v as decimal(38, 0)) * 10000000000000000000000000000 and ts + interval 1 second * 1e12 > ts",
}


def models() -> Iterator[tuple[str, str]]:
    """(name, SQL), the plain ones first."""
    pipes = {name: f"from {{t}} {pipe}" for name, pipe in PIPES.items()}
    for kind, plain in (("no_from", KPIS), ("rows", ROWS), ("pipe", pipes), ("set", SETS), ("literal", LITERALS)):
        for name, sql in plain.items():
            yield f"{kind}_{name}", sql
    for name, sql in ROWS.items():
        yield f"cte_{name}", f"with w as ({sql}) select * from w"
        yield f"groups_{name}", f"select k, count(*) as n from ({sql}) group by k"
        yield f"limit_{name}", f"select * from ({sql}) as q order by 1, 2, 3 limit 3"
        yield f"union_{name}", f"{sql} union all select id, k, x from {{o}}"
        yield f"in_{name}", f"select id, x from {{o}} where k in (select k from ({sql}))"
    for name, sql in pipes.items():
        yield f"pipe_select_{name}", f"select * {sql}"
        yield f"pipe_below_{name}", f"with w as ({sql}) select count(*) as n from w"
