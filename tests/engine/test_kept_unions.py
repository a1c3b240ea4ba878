"""Aggregations over a UNION ALL of temporal SELECTs: kept per group, and what Spark makes of the text as written."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from support.instants import T0
from support.project import Project

A = "select k, v, price from {s}.t where mz_now() >= lo and mz_now() < hi"
B = "select upper(k) as key, -v as v, 0.5 from {s}.t where mz_now() >= hi"
C = "select 'c', null, null from {s}.u where at is null or mz_now() > at"
EVERY = "select * from a union all select * from b union all select * from c"
ALL = f"with a as ({A}), b as ({B}), c as ({C}), every as ({EVERY})"

#: a model over the three, and how many of its cores are kept per group
MODELS = {
    "sums": (f"{ALL} select k, count(*) as n, count(v) as c, sum(v) as v, avg(price) as p from every group by k", 3),
    "of_values": (f"{ALL} select k, min(price) as p, count(distinct v) as v, max(k) as m from every group by all", 3),
    "distinct_rows": (f"{ALL} select distinct k, price from every", 3),
    "of_all": (f"{ALL} select count(*) as n, sum(price) filter (where k <> 'A') as p from every", 3),
    "further_up": (
        f"{ALL}, typed as (select lower(k) as k, v * 2 as v from every where k is not null) "
        "select k, sum(v) as v, rank() over (order by sum(v), k) as place from typed group by k having count(*) > 1",
        3,
    ),
    "one_name_twice": ("select k, sum(n) as n from (select k, 1 as n from {s}.t where mz_now() < hi union all "
                       "select k, 1 from {s}.t where mz_now() < hi) as x group by k", 2),
    "doubles": (f"select k, sum(v / 3) as v from ({A} union all {B}) as x group by k", 0),
    "with_static": ("select k, count(*) as n from (select k from {s}.t where mz_now() < hi union all "
                    "select k from {s}.t) as x group by k", 0),
    "union_of_sets": ("select k, count(*) as n from (select k from {s}.t where mz_now() < hi union "
                      "select k from {s}.t where mz_now() >= hi) as x group by k", 2),
    "some_rows": ("select k, count(*) as n from (select k from (select k, v from {s}.t where mz_now() < hi "
                  "order by v, k limit 2) as y union all select k from {s}.t where mz_now() >= hi) as x group by k", 0),
}  # fmt: skip

#: models with aggregates under conditions of the clock
CONDITIONAL = {
    "periods": ("select k, count(*) as n, count_if(mz_now() < hi) as live, avg(if(mz_now() >= hi, price, null)) as p, "
                "count(case when mz_now() < hi then v end) as c, sum(case when mz_now() >= lo and mz_now() < hi then v "
                "end) as v, count(*) filter (where mz_now() < hi and v > 0) as f from {s}.t group by k", 5),
    "else_zero": ("select upper(k) as u, sum(case when mz_now() < hi then v else 0 end) as v, "
                  "sum(if(mz_now() < hi, price, 0)) as p, sum(case when mz_now() >= hi then 1 else 0 end) as n "
                  "from {s}.t as x where x.v is null or x.v <> 7 group by upper(k)", 3),
    "of_values_then": ("select k, max(case when mz_now() >= lo then price end) as m, min(v) as least, "
                       "count(distinct if(mz_now() < hi, v, null)) as d from (select * from {s}.t) group by 1", 3),
    "of_all_then": ("select count_if(mz_now() < hi and k is not null or mz_now() >= lo + interval 5 seconds) as n, "
                    "sum(price) as p from {s}.t", 2),
    "having": ("with x as (select k, v, hi from {s}.t where v > -5) select k, sum(v) as total from x group by k "
               "having count_if(mz_now() < hi) > 0 order by total desc, k limit 3", 2),
    "two_branches": ("select k, sum(case when mz_now() < lo then 1 when mz_now() < hi then v end) as v "
                     "from {s}.t group by k", 3),
    "several_branches": ("select k, sum(case when mz_now() < lo then price when mz_now() < hi then v else 0 end) as s, "
                         "avg(case when v = 1 then 7 when mz_now() >= hi then v else 2 end) as a, max(case when "
                         "mz_now() < hi then if(v > 1, price, -1) end) as m from {s}.t group by k", 6),
    # as they are
    "of_doubles": ("select k, sum(case when mz_now() < hi then v / 3 end) as v from {s}.t group by k", 0),
    "of_lists": ("select k, cast(sort_array(collect_list(if(mz_now() < hi, v, null))) as string) as v from {s}.t "
                 "group by k", 0),
    "beside_a_window": ("select k, count_if(mz_now() < hi) as n from {s}.t where mz_now() >= lo group by k", 0),
}  # fmt: skip
UNIONS = tuple(MODELS)
MODELS |= CONDITIONAL


def fill(project: Project, rows: str) -> None:
    project.sql(
        f"INSERT INTO {{s}}.t SELECT k, v, CAST(price AS DECIMAL(9, 2)), timestamp_millis({T0}L + lo * 1000), "
        f"timestamp_millis({T0}L + hi * 1000) FROM VALUES {rows} AS f(k, v, price, lo, hi)"
    )


@pytest.mark.first(1)
@pytest.mark.parametrize("names", [UNIONS[i::4] for i in range(4)], ids=" ".join)
@pytest.mark.first(1)
@pytest.mark.landing
def test_unions(names: tuple[str, ...], project: Project) -> None:
    """The first run, new rows, and rows that are gone."""
    a_life(project, names)


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("names", [tuple(CONDITIONAL)[i::3] for i in range(3)], ids=" ".join)
def test_conditional_aggregates(names: tuple[str, ...], project: Project) -> None:
    a_life(project, names)


def a_life(project: Project, names: tuple[str, ...]) -> None:
    project.sql("CREATE TABLE {s}.t (k STRING, v INT, price DECIMAL(9, 2), lo TIMESTAMP, hi TIMESTAMP) USING parquet")
    project.sql("CREATE TABLE {s}.u (at TIMESTAMP) USING parquet")
    fill(
        project,
        "('a', 1, 2.5, 0, 10), ('A', 2, null, 0, 10), ('b', null, 1, 3, 7), (null, 4, 1, 0, 5), ('a', 1, 2.5, 0, 10)",
    )
    project.sql(
        f"INSERT INTO {{s}}.u VALUES (null), (timestamp_millis({T0}L + 4000)), (timestamp_millis({T0}L + 4000))"
    )
    for name in names:
        sql, _ = MODELS[name]
        project.model(name, sql.replace("{s}", project.schema), aggregates="groups")
    right(project, names, T0)
    fill(project, "('b', 7, 3, 0, 12), ('d', 1, null, 1, 3), ('a', -3, 9, 2, null)")
    right(project, names, T0 + 1000)
    project.sql("CREATE TABLE {s}.kept AS SELECT * FROM {s}.t WHERE k <> 'a' OR hi IS NULL")
    project.sql("INSERT OVERWRITE {s}.t SELECT * FROM {s}.kept")
    right(project, names, T0 + 2000)


def right(project: Project, names: tuple[str, ...], now: int) -> None:
    result = project.run("--threads", "2", now=now)
    for name in names:
        sql, groups = MODELS[name]
        state = project.state(name)
        assert sum(core.sums is not None for core in state.cores) == groups, (name, state.cores)
        if groups:
            assert "groups" in kept(result, name) or "distinct rows" in kept(result, name)
        instants = [now, *(T0 + 1000 * s + ms for s in (3, 4, 7, 10) for ms in (-1, 0, 1)), T0 + 20_000]
        instants = [t for t in instants if t >= now]
        view = answers(project, project.at_each(name, instants))
        written = {t: re.sub(r"mz_now\(\)", f"timestamp_millis({t}L)", sql) for t in instants}
        assert view == answers(project, written), name


def kept(result: Any, model: str) -> str:
    return str(result.of(model).adapter_response["aggregates"])


def answers(project: Project, queries: dict[int, str]) -> Counter:
    rows = project.rows(
        "\nUNION ALL\n".join(f"SELECT {t}L AS mz_at, one.* FROM ({q}) AS one" for t, q in queries.items())
    )
    return Counter(tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row) for row in rows)


def test_the_reason_where_rows_are_kept(project: Project) -> None:
    project.sql("CREATE TABLE {s}.t (k STRING, v DOUBLE, lo TIMESTAMP, hi TIMESTAMP) USING parquet")
    half = f"select k, v from {project.schema}.t where mz_now()"
    project.model("m", f"select k, sum(v) as v from ({half} < hi union all {half} >= lo) as x group by k")
    said = kept(project.run(now=T0), "m")
    assert said.count("rows are kept: sum(v) is of double, whose sum depends on the order of the rows") == 2
