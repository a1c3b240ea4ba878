"""Natural shapes of models, over three runs: between them come a new file, then rows updated, deleted and doubled."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from support.instants import T0
from support.project import Project
from support.time_macros import dbt

LAST = T0 + 3000
#: after the last run; after those before, a third of them
SECONDS = (0, 6.999, 7, 7.001, 9.999, 10, 10.001, 30, 300)
FIRST = (
    "(1, 'a', 1, 0, 10), (2, 'a', 2, 0, 20), (3, 'b', 5, 5, 15), (4, null, 7, 0, 400), (5, 'b', null, -400, 30), "
    "(5, 'b', null, -400, 30), (6, 'c', 1, null, 7), (7, 'c', 1, 1, null), (8, 'a', 3, 299, 700), (9, 'a', 3, 300, 700)"
)
ADDED = "(20, 'a', 9, 2, 12), (21, 'z', null, 4, null), (22, null, 1, -10, 7)"
LATER = FIRST.replace("(2, 'a', 2, 0, 20), ", "").replace(
    "(1, 'a', 1, 0, 10)", "(1, 'b', 100, 0, 11), (1, 'b', 100, 0, 11)"
)
OTHER = "(1, 'a', 10), (2, 'b', 2), (3, null, 1)"
#: {t} has id, k, v, ts, due, xs; {o} has id, k, x
MODELS = {
    "windows": "select k, window.start as s, window.end as e, count(*) n, min(v) as low from {t} "
    "where mz_now() < due group by window(ts, '10 minutes', '5 minutes'), k "
    "having window.start > '2024-03-01 11:50:00'",
    "sessions": "select session_window.start as s, k, count(*) as n from {t} where mz_now() < due "
    "group by k, session_window(ts, '5 minutes')",
    "above_groups": "select k, exists (select 1 from {o} where k = t.k) as known, count(*) as c from {t} t "
    "where mz_now() < due group by k having count(*) >= (select min(x) from {o}) order by (select max(x) from {o}), k",
    "above_rows": "select id, v, (select max(d.x) from (select x, k from {o}) d where d.k = t.k and d.x > v) as m, "
    "row_number() over (partition by k order by id, v) as r from {t} t where mz_now() < due",
    "merged_below_groups": "with b as (select k, v, due from {t} where hash(unix_millis(mz_now()) div 3000) % 2 <= v) "
    "select k, count(*) as n, sum(v) as s from b where mz_now() < due group by k",
    "qualified_keys": "select t.k, max(ts) as last, count(*) as n from {t} t join {o} o on o.k = t.k group by t.k "
    "having mz_now() < max(t.ts) + interval 10 seconds order by T.K",
    "texts": "select id from {t} where mz_now() between '2024-03-01 12:00:07' and due or "
    "mz_now() in ('2024-03-01 12:00:10', '2024-03-01') or mz_now() = '2024-03-01' + interval 12 hours",
    "units": "select id, ts + interval 1 hour 30 minutes, ts - interval 1 day 2 hours as b, interval 1 day -2 hours, "
    "due + interval '1' day '2' hours, ts - interval -1 day 2 hours, ts - interval 1 year 2 months as e from {t} "
    "where mz_now() < due + interval 1 second 500 milliseconds and mz_now() - interval 1 minute 1.5 seconds < due",
    "names": "select k, count(*), sum(if(v > 1, v, 0)) from {t} where mz_now() < due group by k",
    "names_below": "with w as (select t.k, max(o.x), min(v) from {t} t join {o} o on o.k = t.k where mz_now() < due "
    "group by t.k) select `max(x)` + 1, * from w",
    "distinct_star": "with a as (select k, v from {t} where mz_now() < due) select distinct * from a",
    "distinct_star_of_a_union": "select distinct * from (select k, v from {t} where mz_now() < due union all "
    "select k, id from {t} where mz_now() >= ts) as a",
    "a_union": "with a as (select k, v, ts from {t} where mz_now() < due), b as (select k, id from {t} where "
    "mz_now() >= due) select k, v, 1 from a union (select upper(k), v, 2 from a) union all select k, id, 1L from b "
    "union select k, id, 1 from b",
    "a_union_of_names": "select k, v from {t} where mz_now() < due union select k, 7 from {t} where mz_now() >= due",
    "status": "select k, max(ts) as last, case when max(due) > mz_now() - interval 5 minutes then 'up' else 'down' end "
    "as status, timestampdiff(second, max(ts), mz_now()) as age from {t} group by 1 order by age, k",
    "in_a_cte": "with l as (select min(x) as a from {o}) select k, count(*) as c, (select a from l) as a from {t} "
    "where mz_now() < due group by k having count(*) > (select a from l)",
    "with_inside": "select k, n, m from (with l as (select max(x) as a from {o}) select k, count(*) as n, (select a "
    "from l) as m from {t} where mz_now() < due group by k order by (select a from l)) where n > 0",
    "star_arguments": "with w as (select k, v, ts from {t} where mz_now() < due), h as (select to_json(struct(*)) "
    "as j, concat_ws('-', k, v) as c from w) select j, count(distinct *) as n from h group by j",
    "star_below_a_window": "select xxhash64(*) as h, struct(w.*) as s "
    "from (select k, v, ts from {t} where mz_now() < due) w where mz_now() >= ts",
    "star_beside_a_window": "select k, max(struct(*)) as m, count_if(mz_now() < due) as n "
    "from (select k, v, due from {t}) group by k",
    "a_cte_in_an_item": "with c as (select k from {o} where x > 1), a as (select k, v from {t} where mz_now() < due), "
    "b as (select v, exists (select 1 from c where c.k = a.k) as is_c from a) "
    "select is_c, sum(v) as s from b group by is_c",
    "a_cte_in_a_distinct": "with c as (select x from {o}), a as (select k, v from {t} where mz_now() < due) "
    "select distinct k, v in (select x from c) as is_x from a",
    "pivoted_window": "select * from (select k, v, ts from {t} where mz_now() < due) "
    "pivot (sum(v) for k in ('a', 'b')) where mz_now() >= ts",
    "unpivoted_window": "select u.what, u.n from (select id, v, ts from {t} where mz_now() < due) "
    "unpivot (n for what in (id, v)) u where mz_now() >= u.ts",
    "unpivoted_rows": "select u.what, max(u.n) as n from (select id, v, due from {t}) "
    "unpivot (n for what in (id, v)) u where mz_now() < u.due group by u.what",
    "guarded_values": "select k, min(element_at(xs, v - 1)) filter (where v > 1) as low, count(*) as n from {t} "
    "where mz_now() < due group by k",
    "guarded_values_in_a_window": "select k, max(case when v > 1 and mz_now() < due then element_at(xs, v - 1) "
    "end) as m, count(*) as n from {t} group by k",
    "short_decimals": "select id, cast(v as decimal(3)) as d from {t} where mz_now() < due",
    "short_decimals_of_partners": "select o.id, p.d from {o} o left join (select k, cast(v as decimal(4)) as d "
    "from {t} where mz_now() < due) p on p.k = o.k",
    "elements": "select id, k, exists(array(ts, due), x -> x > mz_now() - interval 3 seconds) as soon from {t} where "
    "exists(array(ts, due), x -> x >= mz_now() - interval 7 seconds) and not forall(array(ts, due), x -> x < mz_now())",
    "elements_between": "select a.id, s.k from (select id, due from {t} where exists(array(named_struct('lo', ts, "
    "'hi', due), null), p -> p.lo <= mz_now() and mz_now() < p.hi)) a join {t} s on s.id = a.id where "
    "size(filter(array(s.ts, a.due), x -> x between mz_now() - interval 5 seconds and mz_now())) >= 1 or s.k = 'b'",
    "dbt_macros": f"select id, k from {{t}} where due >= {dbt.dateadd('second', -5, 'mz_now()')} and "
    f"ts >= {dbt.dateadd('day', -1, dbt.date_trunc('month', 'mz_now()'))} and "
    f"{dbt.datediff('ts', 'mz_now()', 'minute')} < 6 and cast(ts as date) <= {dbt.last_day('mz_now()', 'month')}",
    "lateral": "select id, x, y from {t} t join lateral explode(xs) e(x), "
    "lateral (select max(x) as y from {o} o where o.k = t.k) where mz_now() < due",
}
MORE = {
    "tumbling": "select window.start as s, count(*) as n, sum(v) as v from {t} where mz_now() < due "
    "group by window(ts, '5 minutes')",
    "bare_window": "select window, k, count(*) as n from {t} where mz_now() < due group by k, window(ts, '5 minutes')",
    "by_alias": "select window(ts, '5 minutes') as w, k, count(*) as n from {t} where mz_now() < due group by w, k",
    "by_all": "select window(ts, '5 minutes'), k, count(*) as n from {t} where mz_now() < due group by all",
    "rolled_up": "select k, window.start, count(*) as n from {t} where mz_now() < due "
    "group by rollup(k, window(ts, '5 minutes'))",
    "ranked": "select window.start as s, row_number() over (partition by window.end order by count(*), k) as n "
    "from {t} where mz_now() < due group by window(ts, '5 minutes'), k",
    "window_times": "select window(window_time(window), '10 minutes').start as w, sum(n) as n from (select k, window, "
    "count(*) as n from {t} where mz_now() < due group by k, window(ts, '5 minutes')) "
    "group by window(window_time(window), '10 minutes')",
    "a_column_window": "select window.start from (select struct(1 as start) as window, ts, due from {t}) "
    "where mz_now() < due group by window(ts, '5 minutes'), window",
    "sessions_of_kinds": "select k, session_window.start as s, max(v) as m from {t} where mz_now() between ts and due "
    "group by session_window(ts, case when k = 'a' then '5 seconds' else '1 minute' end), k",
    "beside_rows": "select id, (select max(x) from {o}) as m, id in (select id from {o}) as i from {t} "
    "where mz_now() < due",
    "above_a_join": "select t.id, o.id as o, (select count(*) from {o} p where p.x < t.v) as m, row_number() over "
    "(order by t.id, o.id, v) as r from {t} t join {o} o on o.k = t.k where mz_now() < due",
    "temporal_inside": "select id, (select count(*) from {t} u where mz_now() < u.due and u.k = t.k) as m from {t} t "
    "where mz_now() >= ts",
    "over_nothing": "select k, count(*) as n from {t} where mz_now() < due group by k "
    "having count(*) > (select coalesce(max(x), 0) from {o} where x > 1000)",
    "limited": "select id from {t} where mz_now() < due order by (select max(x) from {o}), id, v limit 3",
    "text_zones": "select id from {t} where '2024-03-01T14:00:10+02:00' < mz_now() or mz_now() - interval '5 seconds' "
    "> '2024-03-01 12:00:02.0005'",
    "text_cases": "select id from {t} where case when k = 'a' then mz_now() < '2024-03-01 12:00:10' else mz_now() <= "
    "'2024-03-01 12:00:07.000001' end",
    "text_or_not": "select id from {t} where mz_now() not in ('2024-03-01 12:00:07', '2024-03-01 12:00:10')",
    "text_key": "select id from {t} where case mz_now() when '2024-03-01 12:00:10' then true else k = 'a' end",
    "names_beside_stars": "select if(v > 1, v, 0), *, upper(k), count(*) over () from {t} where mz_now() < due",
    "names_of_rows": "select id, v + 1, if(v > 1, 'a', 'b,c'), explode(xs) from {t} where mz_now() < due",
    "names_in_a_union": "select k, count(*) from {t} where mz_now() < due group by k "
    "union all select k, count(v) from {t} where mz_now() < due group by k",
    "names_distinct": "select distinct upper(k) from {t} where mz_now() < due",
    "lateral_sums": "select count(*) as n, max(x) as m from {t} join lateral explode(xs) e(x) where mz_now() < due",
}


def fill(project: Project, rows: str) -> None:
    """Rows (id, k, v, second of ts, second of due): a table of one file, or one file more."""
    project.sql(
        "CREATE OR REPLACE TEMPORARY VIEW filled AS SELECT id, CAST(k AS STRING) AS k, v, "
        f"timestamp_millis({T0}L + lo * 1000) AS ts, timestamp_millis({T0}L + hi * 1000) AS due, array(v, v + 1) AS xs "
        f"FROM VALUES {rows} AS f(id, k, v, lo, hi)"
    )
    there = project.rows("SHOW TABLES IN {s} LIKE 'order'")
    project.sql(
        f"{'INSERT INTO {s}.order' if there else 'CREATE TABLE {s}.order USING parquet AS'} SELECT * FROM filled"
    )


def fill_other(project: Project, rows: str) -> None:
    project.sql(f"INSERT OVERWRITE {{s}}.union SELECT * FROM VALUES {rows}")


def live(project: Project, models: dict[str, str]) -> None:
    fill(project, FIRST)
    project.sql("CREATE TABLE {s}.union (id INT, k STRING, x INT) USING parquet")
    fill_other(project, OTHER)
    names = {"t": f"{project.schema}.order", "o": f"{project.schema}.union"}
    written = {name: sql.format(**names) for name, sql in models.items()}
    for name, sql in written.items():
        project.model(name, sql, aggregates="groups", retain_history="1 hour")

    def right(now: int) -> None:
        project.run(now=now)
        for name, sql in written.items():
            seconds = SECONDS if now == LAST else SECONDS[2::3]
            instants = sorted({now, *(t for t in (T0 + int(s * 1000) for s in seconds) if t > now)})
            sides = [
                f"SELECT {t}L, {side}, to_json(struct(*)) FROM ({query})"
                for t, read in project.at_each(name, instants).items()
                for side, query in enumerate((sql.replace("mz_now()", f"timestamp_millis({t}L)"), read))
            ]
            rows = project.rows(" UNION ALL ".join(sides))
            for t in instants:
                expected, found = (sorted(str(r[2]) for r in rows if r[:2] == (t, side)) for side in (0, 1))
                assert found == expected, (name, now - T0, t - T0)
        if now == T0:
            columns = {name: project.spark.table(f"{project.schema}.{name}").columns for name in written}
            plain = {
                n: project.spark.sql(s.replace("mz_now()", f"timestamp_millis({T0}L)")).columns
                for n, s in written.items()
            }
            assert columns == plain

    right(T0)
    fill(project, ADDED)
    project.sql("INSERT INTO {s}.union VALUES (5, 'a', 50)")
    right(T0 + 1500)
    project.sql("TRUNCATE TABLE {s}.order")
    fill(project, LATER)
    fill_other(project, "(1, 'a', 11), (2, 'b', 1), (2, 'b', 1), (4, 'c', 700)")
    right(LAST)


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("part", range(3))
def test_three_runs(project: Project, part: int) -> None:
    """Each third model, from `part` on."""
    live(project, dict(list(MODELS.items())[part::3]))


@pytest.mark.deep
def test_three_runs_of_more_models(project: Project) -> None:
    live(project, MORE)


def test_the_query_without_qualify_is_taken(project: Project) -> None:
    """The refusal of QUALIFY writes out a query. It is one, and a temporal view."""
    fill(project, FIRST)
    warehouse = Warehouse(project.rows)
    for sql in (
        "select id, row_number() over (partition by k order by ts) rn from {t} where mz_now() < due qualify rn = 1",
        "select e.id from {t} as e where mz_now() < due qualify count(*) over w < 3 and v > 1 "
        "window w as (partition by k) order by e.id limit 3",
        "select *, upper(k) as u from {t} where mz_now() < due qualify rank() over (partition by k order by ts) <= 2",
        "select distinct k, count(*) as n from {t} where mz_now() < due group by k having count(*) > 1 "
        "qualify sum(count(*)) over () > 3 and max(v) > 1",
    ):
        with pytest.raises(Refusal) as refused:
            understand(warehouse, sql.format(t=f"{project.schema}.order"), warehouse.settings(), "4.1.4", T0)
        assert refused.value.found.startswith("QUALIFY ")
        assert "QUALIFY" not in refused.value.instead
        understand(warehouse, refused.value.instead, warehouse.settings(), "4.1.4", T0)


@pytest.mark.landing
def test_text_in_a_list_where_it_is_of_two_instants(project: Project) -> None:
    fill(project, FIRST)
    warehouse = Warehouse(project.rows)
    settings = {**warehouse.settings(), "spark.sql.session.timeZone": "America/New_York"}
    listed = f"select id from {project.schema}.order where mz_now() in ('2024-03-01', due)"
    with pytest.raises(Refusal, match="when daylight saving ends") as refused:
        understand(warehouse, listed, settings, "4.1.4", T0)
    assert refused.value.instead == "mz_now() IN (timestamp '2024-03-01', due)"
    understand(
        warehouse, listed.replace("('2024-03-01', due)", f"({refused.value.instead[13:-1]})"), settings, "4.1.4", T0
    )
