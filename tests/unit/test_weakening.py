"""What of a predicate that cannot be solved is stored, and which HAVING becomes a WHERE, without Spark."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.predicates.weakening import weaken
from dbt.adapters.sparktemporal.temporal.rewrite.above_groups import clock_above_groups
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render

COLUMNS = {"t": ["id", "k", "ts", "hi"], "u": ["id", "until"]}
H = "hour(mz_now()) = h"

#: a predicate -> what is stored of it; the rest is filtered when it is read
WEAKER = {
    f"mz_now() < hi and {H}": ["mz_now() < hi"],
    f"b and {H}": ["b"],
    H: [],
    f"not ({H})": [],
    f"mz_now() < hi or {H}": [],
    f"b or {H} and mz_now() < hi": ["b OR mz_now() < hi"],
    f"({H} or b) and mz_now() < a or mz_now() >= c": ["mz_now() < a OR mz_now() >= c"],
    f"not (mz_now() >= hi or {H})": ["mz_now() < hi"],
    f"not ({H} and b or mz_now() >= hi and c)": ["NOT (mz_now() >= hi AND c)"],
    f"not (b and not ({H} and mz_now() < hi))": ["NOT (b) OR mz_now() < hi"],
    f"case when b then mz_now() < a and {H} when c then {H} end": ["CASE WHEN b THEN mz_now() < a ELSE "
                                                                   "CASE WHEN c THEN TRUE ELSE FALSE END END"],
    f"case when {H} then mz_now() < a else mz_now() < b end": ["mz_now() < a OR mz_now() < b"],
    f"case when {H} then mz_now() < a end": ["mz_now() < a"],
    f"case when {H} then b end": ["b"],
    f"if(mz_now() < a, {H}, mz_now() < b)": ["CASE WHEN mz_now() < a THEN TRUE ELSE mz_now() < b END"],
    f"not if(c, {H} or mz_now() < a, b)": ["CASE WHEN c THEN NOT (mz_now() < a) ELSE NOT (b) END"],
    f"coalesce({H} and mz_now() < a, b)": ["mz_now() < a OR b"],
    f"coalesce({H}, mz_now() < a)": [],
    f"not coalesce({H} or mz_now() < a, b)": ["NOT (mz_now() < a) OR NOT (b)"],
    f"({H} and mz_now() < a) is true": ["mz_now() < a"],
    f"({H} and mz_now() < a) is not true": [],
    f"({H} and mz_now() < a) <=> true": ["mz_now() < a"],
    "mz_now() between lo and lo + mz_now() - ts": ["mz_now() >= lo"],
    "not (mz_now() between lo and greatest(lo, hour(mz_now())))": [],
    "mz_now() in (a, hour(mz_now()))": [],
    "exists(xs, x -> x = hour(mz_now())) and mz_now() < hi": ["mz_now() < hi"],
}  # fmt: skip


@pytest.mark.parametrize("text", WEAKER)
def test_what_is_stored_of_a_predicate(text: str) -> None:
    found = weaken(parse(f"SELECT {text}").expressions[0], lambda _: True)
    assert [render(part) for part in found.stored] == WEAKER[text]
    assert found.read and len(found.reasons) == len(found.read)


@pytest.mark.parametrize(
    "text", ["mz_now() < hi or not (date_trunc('HOUR', mz_now()) = ts)", "mz_now() in (a, b)", "b"]
)
def test_nothing_is_left_to_a_read(text: str) -> None:
    found = weaken(parse(f"SELECT {text}").expressions[0], lambda _: True)
    assert not found.read and not found.reasons and len(found.stored) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{H} or mz_now() between 'noon' and ts",
        f"({H} and mz_now() >= '12:30') is not true",
        "cast(mz_now() as date) = 'today' or minute(mz_now()) = 3",
        "mz_now() >= 'noon'",
    ],
)
def test_text_that_is_no_instant_is_no_filter(text: str) -> None:
    with pytest.raises(Refusal, match="is no instant"):
        weaken(parse(f"SELECT {text}").expressions[0], lambda _: True)
    kind = parse("SELECT date_format(mz_now(), 'E') = 'Mon' or if(mz_now() < hi, 'open', 'late') = 'late'")
    assert weaken(kind.expressions[0], lambda _: True).read


def described(query: exp.Query) -> list[tuple[str, str]]:
    star = [name for table in query.find_all(exp.Table) for name in COLUMNS[table.name]]
    return [(name, "int") for item in query.selects for name in (star if item.is_star else [item.output_name])]


#: a query -> the core's query, and the residual
FILTERS = {
    f"select id from t where mz_now() < hi and {H}": (
        "SELECT id, h AS `mz_read_0` FROM t",
        "FROM (SELECT * FROM mz_core_c0) AS `mz_rows` WHERE hour(mz_now()) = `mz_read_0`",
    ),
    "select ts, t.id from t where mz_now() < hi and hour(mz_now()) = hour(ts) and minute(mz_now()) > t.id": (
        "SELECT ts, t.id FROM t",
        "WHERE hour(mz_now()) = hour(`ts`) AND minute(mz_now()) > `id`",
    ),
    "select * from t x where mz_now() < hi and hour(mz_now()) in (k, x.id)": (
        "SELECT * FROM t AS x",
        "WHERE hour(mz_now()) IN (`k`, `id`)",
    ),
    "select * except (k), -k as k from t where mz_now() < hi and hour(mz_now()) = k": (
        "SELECT * EXCEPT (k), -k AS k, k AS `mz_read_0` FROM t",
        "WHERE hour(mz_now()) = `mz_read_0`",
    ),
    "select id from t where mz_now() < hi and to_json((k, struct(ts, mz_now()))) = 'x'": (
        "SELECT id, k AS `mz_read_0`, ts AS `mz_read_1` FROM t",
        "WHERE to_json((`mz_read_0` AS `k`, struct(`mz_read_1` AS `ts`, mz_now()))) = 'x'",
    ),
    "select k, count(*) as n from t where mz_now() < hi and hour(mz_now()) = t.id group by k": (
        "SELECT `t`.`k` AS `k`, `t`.`id` AS `id` FROM t",
        "SELECT k, count(*) AS n FROM (SELECT * FROM mz_core_c0) AS `t` WHERE hour(mz_now()) = t.id GROUP BY k",
    ),
    "select t.id from t join u on t.id = u.id and hour(mz_now()) = t.k where mz_now() < u.until": (
        "SELECT t.id, t.k AS `mz_read_0` FROM t CROSS JOIN u WHERE t.id = u.id",
        "WHERE hour(mz_now()) = `mz_read_0`",
    ),
    "select k from t where mz_now() < hi and (hour(mz_now()) = 3 or exists (select 1 from u where u.id = t.id))": (
        "SELECT * FROM t",
        "FROM (SELECT * FROM mz_core_c0) AS `t` WHERE hour(mz_now()) = 3 OR EXISTS(SELECT 1 FROM mz_core_c1 AS `u`",
    ),
}


@pytest.mark.parametrize("sql", FILTERS)
def test_what_is_filtered_when_it_is_read(sql: str) -> None:
    query, residual = FILTERS[sql]
    found = split(sql, described)
    assert render(found.cores[0].query) == query and len(found.cores[0].comparisons) == 1
    assert residual in render(found.residual)
    (note,) = found.notes
    assert "over the rows in the window" in note and "mz_read_" not in note


def test_a_filter_without_a_window_keeps_all_rows() -> None:
    found = split(f"select id from t where k = 1 and {H}", described)
    assert render(found.cores[0].query) == "SELECT id, h AS `mz_read_0` FROM t WHERE k = 1"
    (told,) = found.evaluated
    assert not found.cores[0].is_bounded and told.text == "hour(mz_now()) = h" and told.why.startswith("hour(")


@pytest.mark.parametrize("clause", [" group by k having mz_now() >= max(ts)", ", count_if(mz_now() > ts) as n"])
def test_a_filter_above_windowed_rows_of_the_same_select(clause: str) -> None:
    listed, below = (clause, "") if clause.startswith(",") else ("", clause)
    found = split(f"select max(k) as k{listed} from t where mz_now() < hi{below}", described)
    assert any("over the rows in the window" in note for note in found.notes)


#: a query -> the same with the clock over a derived table of its groups; "" where it stays
HAVING = {
    # the clock as a value
    "select k, datediff(mz_now(), max(ts)) as days, max(ts) > mz_now() as b from t group by 1 order by days, k limit 3":
        "SELECT `k`, datediff(mz_now(), `mz_having_0`) AS days, `mz_having_0` > mz_now() AS b FROM (SELECT k, max(ts) "
        "AS `mz_having_0` FROM t GROUP BY k) AS `mz_grouped` ORDER BY days, `k` LIMIT 3",
    "select to_json(struct(k, max(ts), mz_now() as at)) as j from t group by k":
        "SELECT to_json(struct(`mz_having_0` AS `k`, `mz_having_1` AS `col2`, mz_now() AS at)) AS j FROM (SELECT k AS "
        "`mz_having_0`, max(ts) AS `mz_having_1` FROM t GROUP BY k) AS `mz_grouped`",
    "select mz_now() - max(ts) as age from t": "SELECT mz_now() - `mz_having_0` AS age FROM (SELECT max(ts) AS "
        "`mz_having_0` FROM t) AS `mz_grouped`",
    "select k, rank() over (order by max(ts)) as r, mz_now() as seen from t group by k having count(*) > 1":
        "SELECT `k`, `r`, mz_now() AS seen FROM (SELECT k, rank() OVER (ORDER BY max(ts)) AS r FROM t GROUP BY k "
        "HAVING count(*) > 1) AS `mz_grouped`",
    "select k, count(*) as n from t group by k order by mz_now() - max(ts)":
        "SELECT `k`, `n` FROM (SELECT k, count(*) AS n, max(ts) AS `mz_having_0` FROM t GROUP BY k) AS `mz_grouped` "
        "ORDER BY mz_now() - `mz_having_0`",
    "select k, mz_now() - max(ts) as age, age is null as b, b or k > 1 as c, max(hi) as m from t group by k":
        "SELECT `k`, mz_now() - `mz_having_0` AS age, age IS NULL AS b, b OR `k` > 1 AS c, `m` FROM (SELECT k, max(hi) "
        "AS m, max(ts) AS `mz_having_0` FROM t GROUP BY k) AS `mz_grouped`",
    "select k, mz_now() - max(ts) as age, rank() over (order by age) as r from t group by k": "",
    "select k, mz_now() - max(ts) as age, age is null as b from t group by k having b": "",
    "select k, mz_now() - max(ts) as age, age is null from t group by k": "",
    "select k, mz_now() - max(ts) as age from t group by k order by sum(max(ts)) over (), k": "",
    "select mz_now() as n, 5 as m from t group by 2": "",
    "select k, ts > mz_now() as late, count(*) as n from t group by all": "",
    "select k, rank() over (order by mz_now() - max(ts)) as r from t group by k": "",
    "select k, datediff(mz_now(), ts) as days, count(*) as n from t group by k, 2": "",
    "select mz_now() as n from t group by k having mz_now() > timestamp'2024-03-01'": "",
    "select k, mz_now() - max(ts) as age from t where mz_now() < hi group by k": "",

    "select k, max(ts) as last from t group by k having mz_now() <= max(ts) + interval 30 minutes":
        "SELECT `k`, `last` FROM (SELECT k, max(ts) AS last FROM t GROUP BY k) AS `mz_grouped` "
        "WHERE mz_now() <= `last` + INTERVAL '30' MINUTES",
    "select k as s, count(*) as n from t x group by x.k having count(*) > 1 and not (mz_now() > MAX(x.ts) or k = 3)":
        "SELECT `s`, `n` FROM (SELECT k AS s, count(*) AS n, MAX(x.ts) AS `mz_having_0` FROM t AS x GROUP BY x.k "
        "HAVING count(*) > 1 AND NOT (k = 3)) AS `mz_grouped` WHERE mz_now() <= `mz_having_0`",
    "select t.k, max(ts) as m from t join (select 1 as n) on n = k group by K having mz_now() < MAX(t.ts) order by T.k":
        "SELECT `k`, `m` FROM (SELECT t.k, max(ts) AS m FROM t JOIN (SELECT 1 AS n) ON n = k GROUP BY K) "
        "AS `mz_grouped` WHERE mz_now() < `m` ORDER BY `k`",
    "select max(ts) as ts from t having mz_now() < ts":
        "SELECT `ts` FROM (SELECT max(ts) AS ts FROM t) AS `mz_grouped` WHERE mz_now() < `ts`",
    "select k, max(ts) as m from t group by 1 having mz_now() < max(ts) order by min(ts), 2 desc, m limit 3":
        "SELECT `k`, `m` FROM (SELECT k, max(ts) AS m, min(ts) AS `mz_having_0` FROM t GROUP BY k) AS `mz_grouped` "
        "WHERE mz_now() < `m` ORDER BY `mz_having_0`, 2 DESC, `m` LIMIT 3",
    "select k, timestampdiff(MINUTE, max(ts), mz_now()) as idle from t group by k having mz_now() < max(hi)":
        "SELECT `k`, timestampdiff(MINUTE, `mz_having_1`, mz_now()) AS idle FROM (SELECT k, max(hi) AS `mz_having_0`, "
        "max(ts) AS `mz_having_1` FROM t GROUP BY k) AS `mz_grouped` WHERE mz_now() < `mz_having_0`",
    "select k, count_if(k = 'A') as n from t group by k having mz_now() < max(ts) or count_if(k = 'a') > 1":
        "SELECT `k`, `n` FROM (SELECT k, count_if(k = 'A') AS n, max(ts) AS `mz_having_0`, count_if(k = 'a') AS "
        "`mz_having_1` FROM t GROUP BY k) AS `mz_grouped` WHERE mz_now() < `mz_having_0` OR `mz_having_1` > 1",
    "select distinct max(ts) as m from t group by k having mz_now() < max(ts)":
        "SELECT DISTINCT `m` FROM (SELECT max(ts) AS m FROM t GROUP BY k) AS `mz_grouped` WHERE mz_now() < `m`",
    "with w as (select k, max(ts) as m from t group by k having mz_now() < max(ts)) select k from w":
        "WITH w AS (SELECT `k`, `m` FROM (SELECT k, max(ts) AS m FROM t GROUP BY k) AS `mz_grouped` "
        "WHERE mz_now() < `m`) SELECT k FROM w",
    # a window of time, by the column that Spark makes of it
    "select k, window.start, window.end from t group by k, window(ts, '1 hour') having mz_now() >= window.end":
        "SELECT `k`, `start`, `end` FROM (SELECT k, window(ts, '1 hour').start AS `start`, window(ts, '1 hour').end AS "
        "`end` FROM t GROUP BY k, window(ts, '1 hour')) AS `mz_grouped` WHERE mz_now() >= `end`",
    "select count(*) as n from t group by session_window(ts, '1 hour') having mz_now() >= session_window.end":
        "SELECT `n` FROM (SELECT count(*) AS n, session_window(ts, '1 hour') AS `mz_having_0` FROM t GROUP BY "
        "session_window(ts, '1 hour')) AS `mz_grouped` WHERE mz_now() >= `mz_having_0`.end",
    "select k from t group by k, window(ts, '1 hour'), window(hi, '1 hour') having mz_now() >= window.end": "",
    # the groups themselves depend on the clock
    "select k, max(ts) as m from t where mz_now() < hi group by k having mz_now() < max(ts)": "",
    "select max(m) as m from (select max(ts) as m from t having mz_now() < max(hi)) having mz_now() < max(m)":
        "SELECT max(m) AS m FROM (SELECT `m` FROM (SELECT max(ts) AS m, max(hi) AS `mz_having_0` FROM t) "
        "AS `mz_grouped` WHERE mz_now() < `mz_having_0`) HAVING mz_now() < max(m)",
    "select k from t group by k having count_if(mz_now() < ts) > 1": "",
    "select k, mz_now() < max(ts) as b from t group by k having b": "",
    # windows are over the groups that the HAVING leaves
    "select k, rank() over (order by max(ts)) as r from t group by k having mz_now() < max(ts)": "",
    "select k, max(ts) as m from t group by k having mz_now() < max(ts) order by sum(max(ts)) over ()": "",
    # which one is meant is not known
    "select upper(k) as k from t group by k having k = 'b' or mz_now() > max(ts)": "",
    "select upper(k) as k from t group by 1 having mz_now() < max(k)": "",
    "select k, k from t group by k having mz_now() < max(ts)": "",
    "select k, max(ts) as m from t group by k having mz_now() < any_value(ts) + lag": "",
    # it is evaluated once for each row outside of it
    "select id from u where exists (select 1 from t where t.id = u.id group by k having mz_now() < max(ts))": "",
    "select k from t group by k having mz_now() < (select max(until) from u)": "",
    "select distinct k, max(ts) as m from t group by k having mz_now() < max(ts) order by m": "",
    "select k, rand() as r from t group by k having mz_now() < max(ts)": "",
    "select k from t group by k having exists(collect_list(ts), x -> x > mz_now())": "",
}  # fmt: skip


@pytest.mark.parametrize("sql", HAVING)
def test_the_clock_above_groups(sql: str) -> None:
    tree = parse(sql)
    assert render(clock_above_groups(tree, described)) == (HAVING[sql] or render(parse(sql)))
