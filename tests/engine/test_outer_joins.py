"""Joins, EXISTS and IN in which the clock decides who has a partner: kept row by row, as Spark answers the text."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from support.instants import T0
from support.project import Project

P = "p.k = b.k and p.lo <= mz_now() and mz_now() < p.hi"
LIVE = "with live as (select * from {s}.p where mz_now() >= lo and mz_now() < hi)"

#: a model, and the number of its cores with a window
MODELS = {
    "unbought": (f"select b.id, b.k from {{s}}.b where not exists (select 1 from {{s}}.p where {P})", 1),
    "bought": (f"{LIVE} select b.id from {{s}}.b where b.k in (select k from live) and mz_now() < b.until", 1),
    "anti": (f"select * from {{s}}.b left anti join {{s}}.p on {P} and b.id < 5", 1),
    "left_join": (f"{LIVE} select b.*, live.n from {{s}}.b left join live on live.k = b.k and live.n > 0", 2),
    "without": (f"select b.id from {{s}}.b left join {{s}}.p on {P} where p.k is null and mz_now() < b.until", 1),
    "using": (f"{LIVE} select k, b.id, live.k as other, n from {{s}}.b left join live using (k) order by k", 2),
    "full_join": (f"{LIVE} select b.id, live.n, coalesce(b.k, live.k) as k from {{s}}.b full join live on live.k = b.k "
                  "and live.n <> 2", 3),
    "in_a_set": (f"{LIVE} select id, n from {{s}}.b cross join {{s}}.p except all select b.id, live.n from {{s}}.b "
                 "left join live on live.k = b.k", 3),
    "captured": (f"{LIVE} select id from {{s}}.b where k in (select k from live where live.n = b.id)", 1),
    "below": (f"{LIVE}, c as (select * from {{s}}.b where not exists (select 1 from {{s}}.p where {P} and p.n > 1)) "
              "select c.id, live.n from c left join live on live.k = c.k", 2),
    "right_join": (f"{LIVE} select b.id, live.n from live right join {{s}}.b on live.k = b.k", 2),
    "counted": (f"{LIVE} select b.k, count(live.n) as n, count(*) as c from {{s}}.b left join live on live.k = b.k "
                "group by b.k", 2),
    "numbers": ("select b.id from {s}.b where not exists (select 1 from {s}.p where p.k = b.k and mz_now() < p.ms)", 1),
    "two": (f"{LIVE} select b.id, live.n, q.n as other from {{s}}.b left join live on live.k = b.k "
            "left join {s}.p as q on q.n = live.n and q.hi <= mz_now()", 3),
    "filled": (f"{LIVE} select b.id, o.n from (select live.* from live) as o right join {{s}}.b on o.k = b.k "
               f"where exists (select 1 from {{s}}.p where {P})", 3),
}  # fmt: skip
SLICE = ("unbought",)
OTHERS = tuple(name for name in MODELS if name not in SLICE)


@pytest.mark.landing
@pytest.mark.first(2)
@pytest.mark.parametrize("names", [SLICE, *(OTHERS[i::3] for i in range(3))], ids=" ".join)
def test_partners(names: tuple[str, ...], project: Project) -> None:
    """The first run, new rows of one side, of the other side, and rows that are gone."""
    project.sql("CREATE TABLE {s}.b (id INT, k STRING, until TIMESTAMP) USING parquet")
    project.sql("CREATE TABLE {s}.p (k STRING, n INT, lo TIMESTAMP, hi TIMESTAMP, ms BIGINT) USING parquet")
    items(project, "(1, 'a', 9), (2, 'a', null), (3, null, 9), (4, 'c', 6), (4, 'c', 6), (5, 'd', 30)")
    # windows that overlap, touch, are empty, have no end, and begin before the run
    bought(
        project,
        "('a', 1, 2, 4), ('a', 2, 3, 5), ('a', 0, 5, 7), ('a', 3, 12, 13), (null, 4, 0, 9), ('c', 5, -9, 3), "
        "('c', 5, -9, 3), ('x', 6, 0, 9), ('d', 7, 8, 8), ('d', 8, 4, null)",
    )
    for name in names:
        project.model(name, MODELS[name][0].replace("{s}", project.schema), full_store="allow")
    right(project, names, T0)
    items(project, "(6, 'e', 20), (7, 'a', 20), (8, 'd', null)")
    right(project, names, T0 + 1000)
    bought(project, "('e', 9, 0, 3), ('c', 1, 2, 20), ('a', 2, 6, 8)")
    right(project, names, T0 + 2000)
    project.sql("CREATE TABLE {s}.kept AS SELECT * FROM {s}.p WHERE k <> 'c'")
    project.sql("INSERT OVERWRITE {s}.p SELECT * FROM {s}.kept")
    right(project, names, T0 + 3000)


def items(project: Project, rows: str) -> None:
    at = f"timestamp_millis({T0}L + until * 1000)"
    project.sql(f"INSERT INTO {{s}}.b SELECT id, k, {at} FROM VALUES {rows} AS f(id, k, until)")


def bought(project: Project, rows: str) -> None:
    lo, hi = (f"timestamp_millis({T0}L + {one} * 1000)" for one in ("lo", "hi"))
    project.sql(f"INSERT INTO {{s}}.p SELECT k, n, {lo}, {hi}, {T0}L + hi * 1000 FROM VALUES {rows} AS f(k, n, lo, hi)")


def right(project: Project, names: tuple[str, ...], now: int) -> None:
    project.run("--threads", "2", now=now)
    instants = [now, *(T0 + 1000 * s + ms for s in (4, 5, 7) for ms in (-1, 0)), T0 + 40_000]
    for name in names:
        sql, windows = MODELS[name]
        cores = project.state(name).cores
        assert len(cores) == windows, (name, cores)
        instants = [t for t in instants if t >= now]
        view = answers(project, project.at_each(name, instants))
        written = {t: at(sql, t) for t in instants}
        assert view == answers(project, written), name


def at(sql: str, t: int) -> str:
    sql = re.sub(r"mz_now\(\) < p\.ms", f"{t}L < p.ms", sql)
    return re.sub(r"mz_now\(\)", f"timestamp_millis({t}L)", sql)


def answers(project: Project, queries: dict[int, str]) -> Counter:
    every = (f"SELECT {t}L AS mz_at, one.* FROM ({query}) AS one" for t, query in queries.items())
    return Counter(map(tuple, project.rows("\nUNION ALL\n".join(every))))


def test_a_run_after_new_partners_reads_all_partners_once(project: Project, sent: list[str]) -> None:
    """The pairs are brought up to date by the new rows alone. Counts for the log do not read the partners again."""
    project.sql("CREATE TABLE {s}.b (id INT, k STRING, until TIMESTAMP) USING parquet")
    project.sql("CREATE TABLE {s}.p (k STRING, n INT, lo TIMESTAMP, hi TIMESTAMP, ms BIGINT) USING parquet")
    items(project, "(1, 'a', 9), (2, null, 9), (4, 'c', 6)")
    bought(project, "('a', 1, 2, 4), ('c', 5, -9, 3)")
    project.model("counted", MODELS["counted"][0].replace("{s}", project.schema))
    right(project, ("counted",), T0)
    bought(project, "('a', 2, 3, 6)")
    sent.clear()
    right(project, ("counted",), T0 + 1000)
    reads = [sql for sql in sent if "mz_partner_until" in sql and not re.search(r"\b(EXPLAIN|DESCRIBE)\b", sql)]
    assert len(reads) == 1 and "CREATE TABLE" in reads[0], reads


OVER = {
    "unmet": "select b.id, b.k from {s}.b where not exists (select 1 from {live} as p where p.k = b.k)",
    "met": "select b.id, p.n from {s}.b left join {live} as p on p.k = b.k and p.n > 0",
    "counts": "select b.k, count(p.n) as n from {s}.b left join {live} as p on p.k = b.k group by b.k",
}


@pytest.mark.landing
def test_over_a_temporal_view(project: Project) -> None:
    """The partners are the rows of another temporal view, which corrects and merges its chains."""
    project.sql("CREATE TABLE {s}.b (id INT, k STRING, until TIMESTAMP) USING parquet")
    project.sql("CREATE TABLE {s}.p (k STRING, n INT, lo TIMESTAMP, hi TIMESTAMP, ms BIGINT) USING parquet")
    items(project, "(1, 'a', 9), (2, null, 9), (4, 'c', 6), (4, 'c', 6), (5, 'd', 30)")
    bought(project, "('a', 1, 2, 4), ('a', 2, 3, 5), ('c', 5, -9, 3), ('c', 5, -9, 3), ('d', 8, 4, null)")
    live = f"select * from {project.schema}.p where mz_now() >= lo and mz_now() < hi"
    project.model("live", live)
    for name, sql in OVER.items():
        project.model(name, sql.replace("{s}", project.schema).replace("{live}", "{{ ref('live') }}"))
    for step, change in enumerate(
        [
            "SELECT 1",
            "INSERT INTO {s}.b VALUES (6, 'e', NULL), (7, 'a', NULL)",
            "INSERT OVERWRITE {s}.p SELECT * FROM {s}.p WHERE n <> 2",
            "TRUNCATE TABLE {s}.p",
        ]
    ):
        if "OVERWRITE" in change:
            project.sql("CREATE TABLE {s}.kept AS SELECT * FROM {s}.p WHERE n <> 2")
            change = "INSERT OVERWRITE {s}.p SELECT * FROM {s}.kept"
        project.sql(change)
        now = T0 + 1000 * step
        project.run("--threads", "2", now=now)
        instants = [t for s in (4, 5) for ms in (-1, 0, 1) if (t := T0 + 1000 * s + ms) >= now]
        for name, sql in OVER.items():
            assert len(project.state(name).cores) < 3, name
            text = sql.replace("{s}", project.schema).replace("{live}", f"({live})")
            view = answers(project, project.at_each(name, instants))
            assert view == answers(project, {t: at(text, t) for t in instants}), (name, step)
