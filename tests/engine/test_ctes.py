"""Several temporal CTEs, recursive ones beside them, and expressions that Spark names by a number."""

from __future__ import annotations

from collections import Counter

import pytest

from support.instants import T0
from support.project import Project
from support.stories import Step, Story, live

TABLE = (
    "CREATE TABLE {t} USING parquet AS SELECT id, concat('c', id % 3) AS card, IF(id % 5 = 0, NULL, id % 7) AS v, "
    "IF(id % 4 = 0, NULL, concat(' ', 'k', id % 2)) AS k, "
    f"timestamp_millis({T0}L + id * 1000) AS ts, timestamp_millis({T0}L + id * 1500 + 500) AS conf FROM range(12)"
)
SPINE = "spine as (select 0 as n union all select n + 1 from spine where n < 4)"

#: the model -> how its first cores are kept
MODELS = {
    "two_aggregates": (
        "with a as (select card, count(*) c from {t} where mz_now() >= ts group by card),\n"
        "b as (select card, sum(id) s from {t} where mz_now() >= conf group by card)\n"
        "select a.card, c, s from a left join b on a.card = b.card",
        ["groups are kept", "groups are kept"],
    ),
    "three": (
        "with a as (select card, count(*) c from {t} where mz_now() >= ts group by card),\n"
        "w as (select card, id, row_number() over (partition by card order by id) r from {t} where mz_now() >= conf),\n"
        "d as (select distinct card, k from {t} where mz_now() < ts + interval 5 seconds)\n"
        "select a.card, c, w.id, d.k from a join w on a.card = w.card and r = 1 left join d on d.card = a.card",
        ["groups are kept", "", "distinct rows are kept"],
    ),
    "aggregate_after_rows": (
        "with a as (select card, id from {t} where mz_now() >= ts),\n"
        "b as (select card, min(v) s from {t} join (select 'c1' as card) using (card) where mz_now() >= conf "
        "group by card)\n"
        "select a.*, s from a left join b on a.card = b.card",
        ["", "groups with the values of min(v) are kept"],
    ),
    "a_static_cte_between": (
        "with a as (select card, count(*) c from {t} where mz_now() >= ts group by card),\n"
        "dim as (select distinct card, k from {t}),\n"
        "b as (select dim.k, sum(id) s from {t} t join dim on dim.card = t.card\n"
        "where mz_now() >= conf group by dim.k)\n"
        "select a.card, c, b.k, s from a left join dim on dim.card = a.card left join b on b.k <=> dim.k",
        ["groups are kept", "groups are kept"],
    ),
    "a_spine_outside": (
        f"with recursive {SPINE}, a as (select v, count(*) c from {{t}} where mz_now() >= ts group by v)\n"
        "select n, c from spine left join a on a.v = n",
        ["groups are kept"],
    ),
    "a_spine_inside": (
        f"with recursive {SPINE}\n"
        "select n, count(*) c, sum(id) s from {t} join spine on v = n where mz_now() >= ts group by n",
        ["groups are kept"],
    ),
    "a_spine_in_an_input": (
        "with recursive spine as (select min(v) as n from {t} union all select n + 1 from spine where n < 4),\n"
        "a as (select v, count(*) c from {t} where mz_now() >= ts group by v)\n"
        "select n, c from spine left join a on a.v = n",
        ["groups are kept"],
    ),
    "a_spine_in_a_cte": (
        f"with a as (with recursive {SPINE} select n, id from {{t}} join spine on v = n where mz_now() >= ts)\n"
        "select n, count(*) c from a group by n",
        ["groups are kept"],
    ),
    "one_name_in_several_queries": (
        "with a as (with source as (select * from {t}) select card, count(*) c from source where mz_now() >= ts "
        "group by card), b as (with source as (select * from {t} where id > 2), a as (select * from source where "
        "mz_now() >= conf) select card, sum(id) s, max(v) as m from a group by card)\n"
        "select a.card, c, s, m from a left join (with a as (select * from b) select * from a) as b on a.card = b.card",
        ["groups are kept", "groups with the values of max(v) are kept"],
    ),
    "numbered_by_spark": (
        "select card, count_if(v > 1L) as many, sum(10L div nullif(v, 0)) as part, sum(+v) as plus, "
        "count(nullif(trim(k), '')) as named, max(10L div nullif(v, 0)) as most "
        "from {t} where mz_now() >= ts group by card",
        ["groups with the values of max(10L div nullif(v, 0)) are kept"],
    ),
}


#: dbt puts the queries of ephemeral models into CTEs, each with the WITH that it has
EPHEMERAL = {
    "stg": "with source as (select * from {t}), renamed as (select id, card, ts, conf from source) "
    "select * from renamed",
    "opened": "with source as (select * from {{ ref('stg') }}), renamed as (select id, card from source "
    "where mz_now() >= source.ts) select * from renamed",
    "confirmed": "with source as (select * from {{ ref('stg') }}), renamed as (select card, count(*) as n from source "
    "where mz_now() >= conf group by card) select * from renamed",
}
OVER_EPHEMERAL = (
    "with source as (select * from {{ ref('opened') }}), renamed as (select id, source.card, n from source "
    "left join {{ ref('confirmed') }} c on c.card = source.card) select * from renamed;\n-- dbt leaves a comment here"
)


def contents(project: Project, sql: str) -> Counter[tuple]:
    return Counter(project.rows(sql))


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.parametrize("part", range(3))
def test_against_the_query_as_written(project: Project, part: int) -> None:
    """The first run, and one after some rows came once more. Each third model, from `part` on."""
    again = Step("CREATE TABLE {more} AS SELECT * FROM {t} WHERE id < 5; INSERT INTO {t} TABLE {more}")
    config = {"aggregates": "groups"}
    models = list(MODELS.items())[part::3]
    live(project, {name: Story(TABLE, sql, (Step(), again), config, kept) for name, (sql, kept) in models})


def test_ephemeral_models_of_one_style(project: Project) -> None:
    project.sql(TABLE.replace("{t}", "{s}.t"))
    for name, sql in EPHEMERAL.items():
        project.model(name, sql.replace("{t}", f"{project.schema}.t"), materialized="ephemeral")
    project.model("m", OVER_EPHEMERAL)
    ran = project.run(now=T0).of("m")
    compiled = ran.node.compiled_code.partition(";")[0]
    assert compiled.count("source as (") == 4
    for t in (T0, T0 + 500, T0 + 5000, T0 + 60_000):
        oracle = compiled.replace("mz_now()", f"timestamp_millis({t}L)")
        assert contents(project, f"select * from {project.at('m', t)}") == contents(project, oracle), t
