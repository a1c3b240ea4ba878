"""Predicates over the clock that are filtered when the view is read: what is stored, what is said, and the answers."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.clock.instants import format_instant
from support.instants import DAY, HOUR, T0
from support.project import Project
from support.stories import Story, live

#: an hour of the day that begins, windows that end, and a millisecond to either side; the last is a day later
HOURS = (0, HOUR, 2 * HOUR, 24 * HOUR)
INSTANTS = [T0 + at + d for at in HOURS for d in (-1, 0, 1)] + [T0 + 90 * 60_000, T0 + 49 * HOUR]

#: a query with {t} and {u} for tables, words of the log
MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "window": (
        "select id, v from {t} where mz_now() < hi and hour(mz_now()) = hour(ts)",
        ("over the rows in the window: hour(mz_now()) = hour(ts)",),
    ),
    "alone": (
        "select * from {t} where hour(mz_now()) = hour(ts)",
        (
            "over all rows of its inputs: hour(mz_now()) = hour(ts)",
            "keeps all rows of",
            "each read goes through them: no comparison of mz_now() bounds them",
            "hour of the clock does not only rise or only fall",
        ),
    ),
    "one_or_the_other": (
        "select id, hi from {t} where minute(mz_now()) = 0 and mz_now() >= ts or mz_now() >= hi",
        ("over the rows in the window: minute(mz_now()) = 0 and mz_now() >= ts or mz_now() >= hi",),
    ),
    "not_both": (
        "select id, ts from {t} where not (mz_now() >= hi or hour(mz_now()) <> v)",
        ("over the rows in the window: hour(mz_now()) = v",),
    ),
    "by_kind": (
        "select id, case when v > 12 then 'late' end as w from {t} where case when k = 'a' then mz_now() < hi and "
        "date_format(mz_now(), 'HH') = '13' when hour(mz_now()) = 12 then mz_now() < ts else mz_now() >= hi end",
        ("over the rows in the window: case when k = 'a'",),
    ),
    "counted": (
        "select k, count(*) as n, sum(v) as total from {t} where mz_now() < hi and hour(mz_now()) = hour(ts) "
        "group by k",
        ("over the rows in the window", "rows are kept: hour(mz_now()) = hour(ts) is evaluated when the view is read"),
    ),
    "distinct_ones": (
        "select distinct k from {t} where mz_now() < hi and coalesce(hour(mz_now()) = hour(ts), v is null)",
        ("rows are kept: coalesce(",),
    ),
    "counted_above": (
        "with live as (select * from {t} where mz_now() < hi and hour(mz_now()) = v) "
        "select count(*) as n, max(v) as v from live",
        ("over the rows in the window",),
    ),
    "ranked": (
        "select id, row_number() over (partition by k order by id, v, hi) as place from {t} e "
        "where mz_now() < e.hi and e.v = hour(mz_now())",
        ("over the rows in the window: e.v = hour(mz_now())",),
    ),
    "joined": (
        "select e.id, u.name from {t} e join {u} u on e.k = u.k and hour(mz_now()) = e.v and mz_now() < e.hi",
        ("over the rows in the window: hour(mz_now()) = e.v",),
    ),
    "outer_joined": (
        "select e.id, u.name, mz_now() as seen from {t} e left join {u} u using (k) "
        "where mz_now() >= e.ts and hour(mz_now()) = e.v",
        ("over the rows in the window",),
    ),
    "in_a_subquery": (
        "select id from {t} e where mz_now() < hi and (hour(mz_now()) = v or k in (select k from {u} where name = 'B') "
        "or exists (select 1 from {u} u where u.k = e.k and u.name = 'A'))",
        ("over the rows in the window: hour(mz_now()) = v or k in",),
    ),
    "correlated": (
        "select name from {u} u where exists (select 1 from {t} e where e.k = u.k and hour(mz_now()) = e.v)",
        ("over all rows of its inputs: hour(mz_now()) = e.v",),
    ),
    "inside_out": (
        "select id from (select id, v, hi from {t} where hour(mz_now()) = hour(ts)) x where mz_now() < x.hi",
        ("over the rows in the window: hour(mz_now()) = hour(ts)",),
    ),
    "both": (
        "select id, 'on' as what from {t} where mz_now() < hi and hour(mz_now()) = v union all "
        "select id, 'off' from {t} where mz_now() < hi and not (hour(mz_now()) = v)",
        ("in the window: not (hour(mz_now()) = v)",),
    ),
    "by_weekday": ("select id from {t} where date_format(mz_now(), 'E') = 'Fri' and mz_now() < hi", ("= 'Fri'",)),
    "as_text": ("select id from {t} where mz_now() < hi and mz_now() like '2024-03-01 13%'", ("mz_now() like",)),
    "both_sides": (
        "select id, v from {t} where mz_now() < greatest(hi, mz_now() - interval 1 hour)",
        ("6 rows stored",),
    ),
    "nanoseconds": ("select id from {t} where unix_millis(mz_now()) * 1000000 < ms * 1000000", ("over all rows",)),
    "in_a_list": (
        "select id from {t} where k = 'a' or mz_now() in (select hi from {u}) or hour(mz_now()) in (13, v)",
        ("mz_now() is a value here and not compared",),
    ),
    # HAVING: a WHERE over the groups
    "sessions": (
        "select k, max(ts) from {t} group by k having mz_now() <= max(ts) + interval 30 minutes",
        ("hydrated",),
    ),
    "sessions_by_a_cte": (
        "with s as (select k, max(ts) as last from {t} group by k) "
        "select k, last from s where mz_now() <= last + interval 30 minutes",
        ("hydrated",),
    ),
    "windows_over": (
        "select k, window.start as s, count(*) as n from {t} group by window(ts, '1 hour'), k "
        "having mz_now() >= window.end and mz_now() < window.start + interval 1 day order by window.end, k",
        ("hydrated",),
    ),
    "hidden": (
        "select k as kind, count(*) as n, unix_millis(mz_now()) - unix_millis(min(ts)) as age from {t} "
        "where v is not null group by k having count(*) >= 1 and (mz_now() < max(hi) or max(hi) is null)",
        ("hydrated",),
    ),
    "all_of_them": ("select count(*) as n, max(hi) as last from {t} having mz_now() < max(hi)", ("hydrated",)),
    "sets": (
        "select k, v, grouping_id() as g, max(hi) as last from {t} group by grouping sets ((k), (v), ()) "
        "having mz_now() < max(hi) and not (mz_now() < min(ts) or k = 'z')",
        ("hydrated",),
    ),
    "first_of_all": (
        "select k, max(hi) as last from {t} group by k having mz_now() < last order by last desc, k limit 1",
        ("hydrated",),
    ),
    "above_a_having": (
        "with s as (select k, v, max(hi) as last from {t} group by k, v having mz_now() < max(hi)) "
        "select k, count(*) as n, max(last) as last from s group by k",
        ("groups with the values of max(last) are kept",),
    ),
    "having_by_hour": (
        "select k, max(hi) as last from {t} group by k having mz_now() < last and hour(mz_now()) >= max(v)",
        ("over the rows in the window: hour(mz_now()) >= max(v)",),
    ),
    "having_over_groups": (
        "select k, count(*) as n, max(hi) as last from {t} where mz_now() < hi group by k "
        "having mz_now() >= max(hi) - interval 1 hour",
        ("over the rows in the window: mz_now() >= max(hi) - interval 1 hour",),
    ),
    "having_beside_a_window": (
        "select k, rank() over (order by k) as place from {t} group by k having mz_now() < max(hi)",
        ("over all rows of its inputs: mz_now() < max(hi)",),
    ),
    "cases": (
        "select k, count(*) filter (where mz_now() < hi) as open, max(case when mz_now() >= hi then id end) as last, "
        "mz_now() as seen from {t} group by k",
        ("groups with the values of max(id) are kept",),
    ),
    "of_nothing": ("select count(*) as n, max(id) as id from {u} where hour(mz_now()) = 99 and mz_now() < hi", ()),
}

#: over a model above: a query with {i} for it
STACKED: dict[str, tuple[str, str]] = {
    "over_a_filter": ("window", "select id, v from {i} where v is not null"),
    "counted_over_a_filter": ("window", "select count(*) as n, max(id) as id from {i}"),
    "window_over_a_filter": ("one_or_the_other", "select id from {i} where mz_now() < hi + interval 1 hour"),
    "filter_over_a_having": ("sessions_by_a_cte", "select k from {i} where minute(mz_now()) = 0 and mz_now() >= last"),
    "having_over_a_filter": ("not_both", "select max(ts) as last from {i} having mz_now() < max(ts) + interval 1 hour"),
}


def fill(project: Project, table: str, rows: str, verb: str = "INSERT INTO") -> None:
    select = (
        f"SELECT id, k, v, timestamp_millis({T0}L + lo) AS ts, timestamp_millis({T0}L + until) AS hi, "
        f"{T0}L + until AS ms FROM VALUES {rows} AS f(id, k, v, lo, until)"
    )
    project.sql(f"{verb} {{s}}.{table} {'USING parquet AS ' if verb == 'CREATE TABLE' else ''}{select}")


H = HOUR
FIRST = (
    f"(1, 'a', 12, 0L, {H}L), (1, 'a', 12, 0L, {H}L), (2, 'a', 13, {H}L, {2 * H}L), (3, 'b', null, 0L, null), "
    f"(4, null, 13, null, {25 * H}L), (5, 'b', 14, {-H}L, {25 * H}L), (6, 'c', 12, {-24 * H}L, {50 * H}L)"
)
MORE = f"(7, 'a', 12, 1L, {24 * HOUR}L + 1), (3, 'b', null, 0L, null), (8, 'd', 13, {HOUR}L, null)"


TESTS = ["temporal_matches_source", "temporal_diffs_consistent"]
TESTED = ["window", "counted", "sessions", "over_a_filter"]
#: one of each kind; the others are deep
USUAL = [
    "window", "alone", "one_or_the_other", "counted", "in_a_subquery", "joined", "sessions", "windows_over", "hidden",
    "having_by_hour",
    "having_beside_a_window", "over_a_filter",
]  # fmt: skip
OTHERS = [name for name in (*MODELS, *STACKED) if name not in USUAL]


def wrong(project: Project, name: str, instants: list[int]) -> str:
    """Where a model differs from its query with the instant put in; "" where it does not."""
    inner, outer = STACKED.get(name, (name, ""))
    sql = MODELS[inner][0].format(t=f"{project.schema}.t", u=f"{project.schema}.u")
    sql = outer.format(i=f"({sql}) AS inner_rows") if outer else sql
    columns = ", ".join(f"`{c}`" for c in project.spark.table(f"{project.schema}.{name}").columns)
    both = []
    for t, read in project.at_each(name, instants).items():
        both.append(f"SELECT {t}L AS at, 1 AS side, {columns} FROM {read}")
        both.append(f"SELECT {t}L, -1, * FROM ({sql.replace('mz_now()', f'timestamp_millis({t}L)')})")
    every = " UNION ALL ".join(both)
    query = f"SELECT at, {columns}, sum(side) FROM ({every}) GROUP BY at, {columns} HAVING sum(side) <> 0"
    found = [f"{format_instant(at)}: {rest}" for at, *rest in project.rows(query)]
    return "\n".join([name, sql, *found]) if found else ""


PADDED = "CREATE TABLE {t} (id BIGINT, c CHAR(8), v STRING) USING parquet; INSERT INTO {t} VALUES "


@pytest.mark.landing
def test_a_char_beside_texts_of_the_clock(project: Project) -> None:
    """Spark pads the text of an instant to the length of the CHAR, which it does not where the instant is a column."""
    rows = "(1, '2024', '202403'), (2, '202403', '202403'), (3, '202402', '202404'), (4, '202404', NULL)"
    filled, month = PADDED + rows, "date_format(mz_now(), 'yyyyMM')"
    live(
        project,
        {
            "equal": Story(filled, f"select id, c from {{t}} where c = {month}", instants=(500, 32 * DAY)),
            "later": Story(filled, f"select id from {{t}} where c > {month} or v = {month}", instants=(500, 32 * DAY)),
        },
    )
    project.spark.conf.set("spark.sql.readSideCharPadding", "false")
    live(project, {"hidden": Story(filled, f"select id, c from {{t}} where c = {month}", instants=(500, 32 * DAY))})


@pytest.mark.landing
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(USUAL, id="usual"),
        pytest.param(OTHERS, id="others", marks=pytest.mark.deep),
    ],
)
def test_filters_at_the_read(project: Project, names: list[str]) -> None:
    """What is said and stored, and the answers around every hour: of a first run, after rows came, and after rows were
    updated and deleted. All models in one dbt run each time."""
    fill(project, "t", FIRST, "CREATE TABLE")
    project.sql(
        f"CREATE TABLE {{s}}.u USING parquet AS SELECT *, timestamp_millis({T0}L + {HOUR}L) AS hi, id AS v FROM "
        "VALUES (1, 'a', 'A'), (2, 'b', 'B'), (3, 'b', 'B2'), (4, null, 'N') AS f(id, k, name)"
    )
    below = {STACKED[name][0] for name in names if name in STACKED}
    for name in (n for n in MODELS if n in {*names, *below}):
        sql = MODELS[name][0].format(t=f"{project.schema}.t", u=f"{project.schema}.u")
        project.model(name, sql, aggregates="groups")
    for name in (n for n in names if n in STACKED):
        inner, sql = STACKED[name]
        project.model(name, sql.format(i=f"{{{{ ref('{inner}') }}}}"))
    tested = [{"name": n, "data_tests": TESTS} for n in TESTED if n in names]
    project.write("models/schema.yml", f"models: {tested}")

    ran = project.run(now=T0 - 1)
    for name in (n for n in names if n in MODELS):
        said = "\n".join(line for line in ran.log if f"temporal_view {name}" in line)
        assert all(words in said for words in MODELS[name][1]), (name, said)
    assert {name: kept(project, name) for name in STORED if name in names} == {
        name: stored for name, stored in STORED.items() if name in names
    }
    found = [wrong(project, name, INSTANTS) for name in names]
    fill(project, "t", MORE)
    project.run(now=T0 + HOUR)
    later = [t for t in INSTANTS if t >= T0 + HOUR]
    found += [wrong(project, name, later[::3]) for name in names]
    updated = f"(1, 'a', 13, 0L, {26 * HOUR}L), (2, 'a', 13, {HOUR}L, {2 * HOUR}L), {MORE}"
    fill(project, "t", updated, "INSERT OVERWRITE")
    ran = project.run(now=T0 + HOUR + 1)
    assert not any("keeps all rows of" in line for line in ran.log)  # a warning of the first run
    found += [wrong(project, name, later[1:]) for name in names]
    assert not any(found), "\n\n".join(filter(None, found))
    if tested:
        assert {str(r.status) for r in project.dbt("test", now=T0 + HOUR + 1).results} == {"pass"}


#: (rows, columns) of each core with rows: what no instant from the first run on can show is not stored
STORED = {
    "window": [(6, 3)],  # of seven; beside id and v the ts
    "alone": [(7, 6)],  # nothing beside what the view shows
    "inside_out": [(6, 2)],
    "sessions": [(2, 2)],  # of five groups those that are or will be in
    "sessions_by_a_cte": [(2, 2)],
    "hidden": [(4, 3)],
    "all_of_them": [(1, 2)],
    "both_sides": [(6, 2)],
}


def kept(project: Project, name: str) -> list[tuple[int, int]]:
    state = project.state(name)
    return [(core.chains[0].rows, len(core.columns)) for core in state.cores if core.chains]
