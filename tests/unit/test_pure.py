"""The pure part without Spark: what is read from SQL, and the text that comes of it."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from dataclasses import replace
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

import dbt.adapters.sparktemporal as adapter
from dbt.adapters.sparktemporal.errors import ForeignRelation, Refusal, TemporalError
from dbt.adapters.sparktemporal.temporal import decision
from dbt.adapters.sparktemporal.temporal.clock import expiration
from dbt.adapters.sparktemporal.temporal.clock.expiration import Expiry
from dbt.adapters.sparktemporal.temporal.clock.instants import format_instant, parse_duration, parse_instant
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes, Restarts
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.diffs.input_state import RowsFingerprint
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState, State
from dbt.adapters.sparktemporal.temporal.diffs.state_text import embed, extract
from dbt.adapters.sparktemporal.temporal.predicates import bounds
from dbt.adapters.sparktemporal.temporal.rewrite.clock_casts import resolve_clock_casts
from dbt.adapters.sparktemporal.temporal.rewrite.core import with_operands
from dbt.adapters.sparktemporal.temporal.rewrite.split import Split, split
from dbt.adapters.sparktemporal.temporal.sql.spark import same_query
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, mz_now_spans, parse, render
from support.instants import DAY
from support.typed import by_text, over_timestamps

TABLES = {"t": ["id", "k", "ts", "v"], "u": ["id", "name", "until"]}


@by_text
def describe(sql: str) -> list[tuple[str, str]]:
    table = sql.split("FROM ")[-1].split()[0].strip("()")
    return [(c, "int") for c in TABLES.get(table.split(".")[-1], ["id"])]


def cut(sql: str) -> Split:
    return split(sql, describe)


def test_examples_in_docstrings() -> None:
    attempted = 0
    for name in (m.name for m in pkgutil.walk_packages(adapter.__path__, f"{adapter.__name__}.")):
        if name.endswith("__main__"):
            continue
        found = doctest.testmod(importlib.import_module(name))
        assert found.failed == 0, name
        attempted += found.attempted
    assert attempted > 30


#: model -> (core, comparisons, residual)
SPLITS = {
    "linear": (
        "select id, v from t where k = 1 and mz_now() < ts",
        ("SELECT id, v FROM t WHERE k = 1", ["< ts"], "SELECT * FROM mz_core_c0"),
    ),
    "between and mirrored": (
        "select id from t where ts between mz_now() and v and 5 <= mz_now()",
        ("SELECT id FROM t WHERE ts <= v", ["<= ts", ">= 5"], "SELECT * FROM mz_core_c0"),
    ),
    "not of or": (
        "select id from t where not (mz_now() < ts or k = 2)",
        ("SELECT id FROM t WHERE NOT (k = 2)", [">= ts"], "SELECT * FROM mz_core_c0"),
    ),
    "not of or, of and": (
        "select id from t where not (k = 1 and v = 2 or mz_now() < ts or not (id = 3 or id = 4))",
        (
            "SELECT id FROM t WHERE NOT (k = 1 AND v = 2) AND NOT (NOT (id = 3 OR id = 4))",
            [">= ts"],
            "SELECT * FROM mz_core_c0",
        ),
    ),
    "aggregate": (
        "select k, count(*) as n from t where mz_now() < ts group by k",
        (
            "SELECT k AS `k` FROM t",
            ["< ts"],
            "SELECT `t`.`k`, coalesce(sum(`t`.`mz_n`), 0L) AS n FROM mz_core_c0 AS `t` GROUP BY `t`.`k`",
        ),
    ),
    "count of nothing else": (
        "select count(*) from t where mz_now() < ts",
        (
            "SELECT TRUE AS `mz_row` FROM t",
            ["< ts"],
            "SELECT coalesce(sum(`t`.`mz_n`), 0L) FROM mz_core_c0 AS `t`",
        ),
    ),
    "inner join with the clock in ON": (
        "select t.id from t join u on t.id = u.id and mz_now() < u.until",
        ("SELECT t.id FROM t CROSS JOIN u WHERE t.id = u.id", ["< u.until"], "SELECT * FROM mz_core_c0"),
    ),
    "tables joined by commas": (
        "select t.id from t, u where t.id = u.id and mz_now() < u.until",
        ("SELECT t.id FROM t, u WHERE t.id = u.id", ["< u.until"], "SELECT * FROM mz_core_c0"),
    ),
    "cte above": (
        "with w as (select * from t where mz_now() < ts) select first(id) from w",
        ("SELECT * FROM t", ["< ts"], "WITH w AS (SELECT * FROM mz_core_c0) SELECT first(id) FROM w"),
    ),
    "cte below": (
        "with x as (select id, ts as e from t) select id from x where mz_now() < e",
        ("WITH x AS (SELECT id, ts AS e FROM t) SELECT id FROM x", ["< e"], "SELECT * FROM mz_core_c0"),
    ),
    "names that meet in a join": (
        "select t.id, u.id as other, row_number() over (order by t.id) as r from t join u on t.k = u.name "
        "where mz_now() < t.ts",
        (
            "SELECT `t`.`id` AS `id`, `u`.`id` AS `u_id` FROM t JOIN u ON t.k = u.name",
            ["< t.ts"],
            "SELECT `id`, `u_id` AS other, row_number() OVER (ORDER BY `id`) AS r FROM mz_core_c0 AS `mz_rows`",
        ),
    ),
    "an alias that a stored column could have": (
        "select t.id, u.id as other, max(v) over () as u_id, u_id + 1 as next from t join u on t.k = u.name "
        "where mz_now() < t.ts",
        (
            "SELECT `t`.`id` AS `id`, `u`.`id` AS `u_id_`, `t`.`v` AS `v` FROM t JOIN u ON t.k = u.name",
            ["< t.ts"],
            "SELECT `id`, `u_id_` AS other, max(v) OVER () AS u_id, u_id + 1 AS next FROM mz_core_c0 AS `mz_rows`",
        ),
    ),
    "an alias in ORDER BY that is a column of two tables": (
        "select u.id as other, -t.id as id from t join u on t.k = u.name where mz_now() < t.ts order by id limit 1",
        (
            "SELECT `u`.`id` AS `u_id`, `t`.`id` AS `t_id` FROM t JOIN u ON t.k = u.name",
            ["< t.ts"],
            "SELECT `u_id` AS other, -`t_id` AS id FROM mz_core_c0 AS `mz_rows` ORDER BY id LIMIT 1",
        ),
    ),
    "fields that columns name": (
        "select t.id, collect_list((u.id, v)) as a, to_json(arrays_zip(t.k)) as b, v as k, u.k as c "
        "from t join (select id, name as k from u) as u on t.k = u.id where mz_now() < t.ts group by all",
        (
            "SELECT `t`.`k` AS `k`, `t`.`id` AS `id`, `t`.`v` AS `v`, `u`.`k` AS `u_k`, `u`.`id` AS `u_id` FROM t "
            "JOIN (SELECT id, name AS k FROM u) AS u ON t.k = u.id",
            ["< t.ts"],
            "SELECT `id`, collect_list((`u_id` AS `id`, v)) AS a, to_json(arrays_zip(`k`)) AS b, v AS k, `u_k` AS c "
            "FROM mz_core_c0 AS `mz_rows` GROUP BY ALL",
        ),
    ),
}


@pytest.mark.parametrize("name", SPLITS)
def test_split(name: str) -> None:
    sql, (core, compared, residual) = SPLITS[name]
    found = cut(sql)
    assert render(found.cores[0].query) == core
    assert [f"{c.operator} {render(c.operand)}" for c in found.cores[0].comparisons] == compared
    assert render(found.residual) == residual


def test_static_parts_become_cores_as_large_as_they_go() -> None:
    found = cut(
        "with big as (select id, max(name) as name from u group by id), "
        "w as (select id from t where mz_now() < ts) "
        "select * from w left join big on w.id = big.id left join (select id from u where id > 3) d on d.id = w.id"
    )
    assert [render(c.query) for c in found.cores[1:]] == [
        "SELECT id FROM u WHERE id > 3",
        "SELECT id, max(name) AS name FROM u GROUP BY id",
    ]
    assert " u " not in render(found.residual)


def test_the_same_table_is_stored_once() -> None:
    found = cut("with w as (select id from t where mz_now() < ts) select w.id from w, u as a, u as b where a.id = b.id")
    assert len(found.cores) == 2
    assert "mz_core_c1 AS a" in render(found.residual) and "mz_core_c1 AS b" in render(found.residual)


#: two relations that are one text where case, or the end of a long text, does not count
RELATIONS = (
    ("parquet.`/d/A`", "parquet.`/d/a`"),
    ("s.t version as of 'V1'", "s.t version as of 'v1'"),
    ("c.s.`T`", "c.s.`t`"),
    (f"parquet.`/{'d' * 300}/a`", f"parquet.`/{'d' * 300}/b`"),
)
#: values of a row by a name whose case counts: a key of a map
VALUES = ("m.{}", "m['{}']", "t.m.{}", "s.m.{}")
#: models of two values of a row
OF_TWO = (
    "select {0} as x, {1} as y, count(*) as n from t where mz_now() < ts group by {0}, {1}",
    "select k, sum({0}) as x, sum({1}) as y from t where mz_now() < ts group by k",
    "select k, sum(v) filter (where {0} > 1) as x, sum(v) filter (where {1} > 1) as y from t where mz_now() < ts "
    "group by k",
    "select k, count(distinct {0}) as x, count(distinct {1}) as y from t where mz_now() < ts group by k",
    "select k, max({0}) as x from t group by k having mz_now() < max({1})",
    "select id, {0} as x from t where hash(mz_now()) < {0} + {1}",
    "select id, {0} from t where hash(mz_now()) < {1}",
    "select k, count_if(mz_now() < {0}) as x, count_if(mz_now() < {1}) as y from t group by k",
    "select id from (select id, ts from t where mz_now() < {0} and mz_now() < {1}) as x where mz_now() < ts",
    "select window.start, count(*) as n from t where mz_now() < ts "
    "group by window(timestamp_millis({0}), '5 minutes'), window(timestamp_millis({1}), '5 minutes')",
    "select u.id from u left join (select * from t where mz_now() < ts) as t on {0} = u.id where {1} is null",
)


@pytest.mark.parametrize("one, other", RELATIONS)
def test_relations_of_different_texts_are_stored_each(one: str, other: str) -> None:
    found = cut(f"select w.id from (select id from t where mz_now() < ts) as w, {one} as a, {other} as b")
    assert [render(core.query) for core in found.cores[1:]] == [
        render(parse(f"select * from {relation}")) for relation in (one, other)
    ]
    assert "mz_core_c1 AS a" in render(found.residual) and "mz_core_c2 AS b" in render(found.residual)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("sql", OF_TWO)
def test_values_that_differ_by_case_are_two(sql: str, value: str) -> None:
    """They become what any two values become."""
    kinds = {"ts": "timestamp", "m": "map<string,int>", "s": "struct<m:map<string,int>>"}

    def described(query: exp.Query) -> list[tuple[str, str]]:
        columns = ["id"] if "FROM u" in render(query) else ["id", "k", "v", *kinds]
        names = [n for item in query.selects for n in (columns if item.is_star else [item.alias_or_name])]
        return [(name, kinds.get(name, "int")) for name in names]

    def shown(second: str) -> str:
        found = split(sql.format(value.format("a"), value.format(second)), described)
        return "\n".join(render(part) for part in (*(with_operands(core) for core in found.cores), found.residual))

    assert shown("A") == shown("zz").replace("zz", "A")


#: queries that may give other rows when they are evaluated again, and those that may not
CHOOSING = (
    "select * from t limit 3",
    "select * from t order by ts offset 3",
    "select id, k, v, max(ts) as ts from (select * from t limit 3) as t group by id, k, v",
    "select *, row_number() over (partition by id order by ts desc) as rn from t",
    "select *, lag(v) ignore nulls over (order by ts) as rn from t",
    "select *, sum(v) over (order by ts rows between 1 preceding and current row) as rn from t",
    "select id, k, first(v) as v, max(ts) as ts from t group by id, k",
    "select id, k, max_by(v, ts) as v, max(ts) as ts from t group by id, k",
    "select id, k, size(collect_set(v)) as v, max(ts) as ts from t group by id, k",
)
NOT_CHOOSING = (
    "select * from t where false limit 0",
    "select *, dense_rank() over (partition by id order by ts desc) as rn from t",
    "select *, sum(v) over (order by ts) as rn, count(*) over (partition by id) as n from t",
    "select id, k, max(v) as v, max(ts) as ts from t group by id, k",
)
#: models of such a query, each row of which would be copied
COPYING = (
    "select k, count(*) as n, count_if(mz_now() < ts) as c from ({}) as x group by k",
    "with x as ({}) select k, max(v) as n, count_if(mz_now() < ts) as c from x where id > 1 group by k",
    "select x.id, u.name from ({}) as x left join u on u.id = x.id and u.until <= mz_now()",
    "with x as ({}), y as (select * from x where v > 1) select y.id, u.name from y left join u on u.id = y.id "
    "and u.until <= mz_now() where y.id > 2",
    "select x.v, u.name from u left join ({}) as x on u.id = x.id and x.ts <= mz_now()",
    "select x.v, u.name from (select * from u where mz_now() < until) as u right join ({}) as x on u.id = x.id",
    "select x.v, u.name from (select * from u where mz_now() < until) as u full join ({}) as x on u.id = x.id",
    "select u.name, count(*) as n from u left join (select * from ({}) as y where mz_now() < ts) as x on u.id = x.id "
    "group by u.name",
)


def typed_names(query: exp.Query) -> list[tuple[str, str]]:
    columns = TABLES["u" if "FROM u" in render(query) else "t"]
    names = [n for item in query.selects for n in (columns if item.is_star else [item.alias_or_name])]
    return [(name, "timestamp" if name in ("ts", "until") else "int") for name in names]


def evaluations(model: str, below: str) -> int:
    found = split(model.format(below), typed_names)
    texts = [render(query) for query in (found.residual, *(core.query for core in found.cores))]
    return sum(text.count(render(parse(below))) for text in texts)


@pytest.mark.parametrize("below", CHOOSING)
@pytest.mark.parametrize("model", COPYING)
def test_what_chooses_among_rows_is_evaluated_once(model: str, below: str) -> None:
    assert evaluations(model, below) == 1


@pytest.mark.parametrize("below", NOT_CHOOSING)
def test_what_chooses_nothing_may_be_evaluated_for_each_part(below: str) -> None:
    assert [evaluations(model, below) for model in COPYING] == [2, 2, 2, 2, 2, 2, 3, 2]


VERBATIM = [
    "date_sub(d, 7)", "datediff(a, b)", "ceil(x)", "dateadd(DAY, 3, d)", "x DIV 1000", "percentile_approx(x, 0.5)",
    "CAST(x AS TIMESTAMP)", "TRY_CAST(s AS INT)", "transform(a, x -> x + 1)", "first(x) IGNORE NULLS",
    "count(DISTINCT a, b)", "make_dt_interval(0, 0, x, 0)", "nvl(a, b)", "a[0]", "m['k']", "s.f.g", "a || b",
    "to_utc_timestamp(x, 'America/New_York')", "'it\\'s'", "`we ird`",
]  # fmt: skip


@pytest.mark.parametrize("expression", VERBATIM)
def test_functions_stay_as_written(expression: str) -> None:
    printed = render(parse(f"SELECT {expression} FROM t"))
    assert printed.lower() == f"select {expression} from t".lower()


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "select a as parsed_once from t"
    tree = parse(text)
    monkeypatch.setattr(sqlglot, "parse", None)
    tree.selects[0].set("alias", None)
    assert render(parse(text)) == "SELECT a AS parsed_once FROM t"


def test_calls_are_found_in_text_not_in_strings_comments_or_names() -> None:
    sql = "select 'mz_now()', `mz_now`, mz_now /* mz_now() */ from t where MZ_NOW ( ) < x -- mz_now()"
    assert [sql[a:b] for a, b in mz_now_spans(sql)] == ["MZ_NOW ( )"]


def test_a_misreading_is_refused() -> None:
    same = "== Parsed Logical Plan ==\na#1\n\n== Analyzed Logical Plan ==\nb#7L + c#8\n\n== Optimized Logical Plan ==\n"
    same_query.check(same + "x#1", same.replace("#7L", "#17L") + "x#1")
    other = same.replace("a#1", "a AND b").replace("c#8", "d#8")
    with pytest.raises(Refusal, match="Spark resolves this part otherwise"):
        same_query.check(same + "Filter x#1", other + "Filter y#1")


SAME = [
    ("Project [a#1, b#2]\n+- Relation s.t[a#1,b#2] parquet", "Relation s.t[a#7,b#8] parquet"),
    (
        "Filter (a#1 > 1)\n+- PipeOperator\n   +- Project [x#3 AS a#1]\n      +- Relation s.t[x#3] parquet",
        "Project [a#1]\n+- Filter (a#1 > 1)\n   +- SubqueryAlias q\n      +- Project [x#3 AS a#1]\n"
        "         +- Relation s.t[x#3] parquet",
    ),
    (
        "Project [a#1]\n+- Filter exists#4 []\n   :  +- Relation s.o[b#9] parquet\n   +- Relation s.t[a#1] parquet",
        "Filter exists#4 []\n:  +- Relation s.o[b#9] parquet\n+- Relation s.t[a#1] parquet",
    ),
    ("Project [col1#1 AS k#2]\n+- LocalRelation [col1#1]", "LocalRelation [k#2]"),
    ("Project [cast(2024-03-01 as date) AS d#1]\n+- OneRowRelation", "Project [2024-03-01 AS d#1]\n+- OneRowRelation"),
]
OTHER = [
    ("Project [b#2, a#1]\n+- Relation s.t[a#1,b#2] parquet", "Relation s.t[a#1,b#2] parquet"),
    ("Project [a#1]\n+- Relation s.t[a#1,b#2] parquet", "Relation s.t[a#1,b#2] parquet"),
    ("Project [a#1 AS b#2]\n+- Relation s.t[a#1] parquet", "Relation s.t[a#1] parquet"),
    ("Project [b#9]\n+- Filter exists#4 []\n   :  +- Relation s.o[b#9] parquet\n   +- Relation s.t[a#1] parquet",
     "Filter exists#4 []\n:  +- Relation s.o[b#9] parquet\n+- Relation s.t[a#1] parquet"),
    ("Project [f((a#1, b#2) AS c#3]\n+- Relation s.t[a#1,b#2] parquet", "Relation s.t[a#1,b#2] parquet"),
    ("Project [cast(2024-03-01 as date) AS d#1]\n+- OneRowRelation", "Project [2024-03-02 AS d#1]\n+- OneRowRelation"),
]  # fmt: skip


@pytest.mark.parametrize("pair", SAME)
def test_one_query_in_two_analyzed_plans(pair: tuple[str, str]) -> None:
    same_query.check(*(f"== Analyzed Logical Plan ==\na: int\n{plan}" for plan in pair))


@pytest.mark.parametrize("pair", OTHER)
def test_two_queries_in_two_analyzed_plans(pair: tuple[str, str]) -> None:
    with pytest.raises(Refusal, match="resolves this part otherwise"):
        same_query.check(*(f"== Analyzed Logical Plan ==\na: int\n{plan}" for plan in pair))


def chain(name: str, rows: int = 1) -> Chain:
    return Chain(name, rows, 0, 0, 0, None)


def a_state(**changes: object) -> State:
    base = State(
        model="m", schema="`s`", run="r1", since=10, frontier=20, started_at=10, offset=100, expiration=110,
        core_hash="h", residual="SELECT * FROM mz_core_c0", columns=(("id", "int"),),
        cores=(CoreState("c0", (("id", "int"),), (chain("m__diffs_a"),)),),
        written="select '*/ $ /* ${x}' from t", kinds=("timestamp",), inputs={"t": RowsFingerprint(3, None)},
        settings={"z": "UTC"},
    )  # fmt: skip
    return base.advanced(**changes)


def test_state_survives_its_view_text() -> None:
    text = embed(a_state(), "SELECT * FROM x")
    assert extract(text, "m") == a_state()
    assert extract(text.replace("FROM x", "FROM\n   x"), "m") == a_state()  # white space is the metastore's to change
    assert text.count("*/") == 1 and "$" not in text.replace("\\u0024", "")


@pytest.mark.parametrize("broken", [("20", "21"), ("FROM x", "FROM y"), ('"check"', '"czeck"')])
def test_edited_state_is_told(broken: tuple[str, str]) -> None:
    text = embed(a_state(), "SELECT * FROM x").replace(*broken)
    with pytest.raises(TemporalError, match="m__live, whose state cannot be used.*full-refresh -s m|") as raised:
        extract(text, "m")
    assert "--full-refresh -s m" in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "SELECT 1 AS x", "SELECT 'mz_state:' AS x", embed(a_state(model="n"), "SELECT 1")]
)
def test_a_view_of_somebody_else_is_told(text: str) -> None:
    with pytest.raises(ForeignRelation, match="found: m__live, which no run of m made") as raised:
        extract(text, "m")
    assert "full-refresh" not in str(raised.value)
    assert extract(embed(a_state(model="M"), "SELECT 1"), "m").model == "M"


NAME = f"m__diffs_{0:011x}deadbeef"


def test_sweep_drops_only_what_is_known_and_old() -> None:
    old = a_state(retired=(("m__diffs_b", 0), ("m__diffs_c", 900)))
    young = f"m__diffs_{2 * DAY - 5:011x}deadbeef"
    existing = ["m", "m__live", "m__diffs", "m__diffs_a", "m__diffs_b", "m__diffs_c", NAME, young, "m__diffs_people"]
    swept = chains.sweep("m", existing, old, ["m__diffs_new"], 1000, 500)
    assert swept.drop == ("m__diffs_b",)
    assert dict(swept.retired) == {"m__diffs_c": 900, "m__diffs_a": 1000}
    assert NAME in chains.sweep("m", existing, old, ["m__diffs_new"], 2 * DAY, DAY * 9).drop
    assert young not in chains.sweep("m", existing, old, ["m__diffs_new"], 2 * DAY, DAY * 9).drop
    assert chains.sweep("m", existing, None, [], 99 * DAY, 0).drop == ()  # no state authorises nothing
    # what the last commit names is retired, although dbt listed the schema before that commit
    assert NAME not in chains.sweep("m", ["m__diffs_new"], old, ["m__diffs_new"], 1000, 500).drop
    assert dict(chains.sweep("m", ["m__diffs_new"], old, ["m__diffs_new"], 1000, 500).retired)[old.tables[0]] == 1000


def test_run_ids_tell_their_clock() -> None:
    made = chains.new_run_id(1_709_294_400_000)
    assert chains.run_clock(made) == 1_709_294_400_000 and made != chains.new_run_id(1_709_294_400_000)


@pytest.mark.parametrize(
    ("old", "new", "as_of", "expected"),
    [
        (100, 100, 50, (110, None)),
        (100, 50, 50, (60, None)),
        (100, 50, 60, (60, None)),
        (100, 50, 61, (None, "the shorter expiration has passed")),
        (100, 200, 50, (None, "a longer expiration needs updates that were not stored")),
        (100, None, 50, (None, "a longer expiration needs updates that were not stored")),
        (None, 100, 50, (110, None)),
        (None, None, 50, (None, None)),
    ],
)
def test_changed_offset(old: int | None, new: int | None, as_of: int, expected: tuple) -> None:
    assert expiration.after_change(10, old, Expiry(new, ""), as_of) == expected


INVOCATION = decision.Invocation(30, 30, {}, "4.1.4")
CONTEXT = decision.DecisionContext(INVOCATION, Expiry(100, ""), Restarts())


def at(clock: int, pinned: bool = True, full_refresh: bool = False, **changes: Any) -> decision.DecisionContext:
    """The grounds of a run at an instant."""
    invocation = replace(INVOCATION, as_of=clock, pinned=pinned, full_refresh=full_refresh)
    return replace(CONTEXT, invocation=invocation, **changes)


def test_decisions() -> None:
    def decided(state: State | None, clock: int = 30, **changes: Any) -> decision.Decision:
        return decision.decide("m", state, at(clock, **changes))

    assert decided(None).action == "hydrated"
    assert decided(a_state()).action == "advanced"
    assert decided(a_state(), clock=5).as_of == 20  # a little behind: the frontier
    assert decided(a_state(), changed="its stored query changed").reason == "its stored query changed"
    assert (decided(a_state(), clock=110).action, decided(a_state(), clock=111).action) == ("advanced", "restarted")
    assert decided(a_state(), clock=60, restarts=Restarts(50, words="restart_every")).reason.startswith("restart_every")
    assert decided(a_state(), clock=59, restarts=Restarts(50)).action == "advanced"
    assert decided(a_state(restart=True)).reason == "temporal_restart"
    assert decided(a_state(), full_refresh=True).reason == "--full-refresh"
    sampled = replace(CONTEXT, invocation=replace(INVOCATION, sampled=True))
    assert decision.decide("m", a_state(), sampled).action == "checked"
    assert decided(a_state(), known_until=29).reason == "what it reads expires earlier than before"
    assert decided(None, known_until=60).expiration == 60 and decided(None).expiration == 130


@pytest.mark.parametrize("where", ["mz_now() < ts", "mz_now() < ts or id = 1"])
def test_other_sql_of_windows_rebuilds(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that computes windows otherwise rebuilds what an earlier one has stored, whatever the model's text."""

    def hashed(settings: dict[str, str]) -> str:
        columns = (("id", "int"), ("ts", "timestamp"))
        cores = split(f"select id from t where {where}", by_text(lambda sql: [*columns])).cores
        calls = dict.fromkeys((start for start, _ in mz_now_spans(f"select id from t where {where}")), bounds.TIMESTAMP)
        return decision.hash_cores([replace(over_timestamps(c, columns), calls=calls) for c in cores], settings)

    before = hashed({})
    assert hashed({}) == before != hashed({"z": "CET"})
    edges = bounds._EDGES[bounds.TIMESTAMP]
    monkeypatch.setitem(bounds._EDGES, bounds.TIMESTAMP, lambda e: {k: f"({v})" for k, v in edges(e).items()})
    assert hashed({}) != before


def test_the_change_of_stored_rows_is_told() -> None:
    state, told = a_state(), decision.changed_rows
    assert told(state, (), {"z": "UTC"}) == "its stored query changed"
    assert told(state, (), {"z": "CET"}) == "z UTC -> CET"
    assert told(state, (), {"z": "UTC"}, ["b changed"]) == "b changed"
    assert told(replace(state, core_hash=decision.hash_cores((), {"z": "UTC"})), (), {"z": "UTC"}) == ""


@pytest.mark.parametrize(("clock", "full_refresh", "as_of"), [(30, False, 30), (5, False, 21), (20, True, 21)])
def test_a_run_by_the_clock_is_after_the_frontier(clock: int, full_refresh: bool, as_of: int) -> None:
    """Updates up to the frontier, 20, are final. People may give an instant twice, and replace what was shown then."""
    assert decision.decide("m", a_state(), at(clock, False, full_refresh)).as_of == as_of
    assert decision.decide("m", a_state(), at(clock, True, full_refresh)).as_of == max(clock, 20)


@pytest.mark.parametrize("full_refresh", [False, True])
def test_an_invocation_that_lasts(full_refresh: bool) -> None:
    """Another one may have run the model meanwhile. Its clock has gone on, so the run is after the frontier."""
    minute, old = 60_000, a_state(frontier=20 + 3_600_000, expiration=None, offset=None)
    never: dict[str, Any] = {"expiry": Expiry(None, ""), "full_refresh": full_refresh}
    for engine_now, refreshes, as_of in (
        (old.frontier - minute + 1, None, old.frontier + 1),
        (old.frontier + minute, Refreshes(minute, 20), old.frontier),  # nothing is due
    ):
        context = at(30, False, refreshes=refreshes, **never)
        context = replace(context, invocation=replace(context.invocation, engine_now=engine_now))
        assert decision.decide("m", replace(old, refreshes=refreshes), context).as_of == as_of
    behind = at(30, False, **never)  # the clock itself
    if full_refresh:
        assert decision.decide("m", old, behind).as_of == 30
    else:
        with pytest.raises(TemporalError, match="ST503 found: the clock at 1970-01-01 00:00:00.030 UTC, 59 minutes"):
            decision.decide("m", old, behind)
    # a little behind a refresh, which is far behind the refresh before it
    schedule = Refreshes(3_600_000, 20)
    told = decision.decide("m", replace(old, refreshes=schedule), at(old.frontier - 5, refreshes=schedule, **never))
    assert told.action == ("restarted" if full_refresh else "waiting")


def test_decisions_of_a_schedule() -> None:
    every = Refreshes(100, 20)

    def decided(clock: int, **changes: object) -> tuple[str, int]:
        state = a_state(**{"refreshes": every, "expiration": None, "offset": None, **changes})
        told = decision.decide("m", state, at(clock, expiry=Expiry(None, ""), refreshes=every))
        return told.action, told.as_of

    assert decided(119) == ("waiting", 20) and decided(120) == ("advanced", 120) and decided(250) == ("advanced", 220)
    # another schedule begins at the clock: what readers saw until then was that of the old one
    assert decided(119, refreshes=None) == ("advanced", 119)
    assert decided(130, frontier=125, refreshes=Refreshes(5, 0)) == ("advanced", 130)
    lagging = decided(120, frontier=125, refreshes=Refreshes(5, 0))
    assert lagging == ("advanced", 125)


@pytest.mark.parametrize(
    ("clock", "inputs_from", "full_refresh", "expected"),
    [
        (250, 130, False, ("advanced", 220, 10, ())),  # the views below know the last refresh
        (250, 220, False, ("advanced", 220, 10, ())),
        (250, 231, False, ("advanced", 231, 10, (231,))),  # they were rebuilt since: a refresh beside the schedule
        (119, 110, False, ("waiting", 20, 10, ())),  # nothing is due, and what was shown stays
        (119, 110, True, ("restarted", 110, 110, (110,))),
    ],
)
def test_a_refresh_is_of_an_instant_that_the_views_below_know(
    clock: int, inputs_from: int, full_refresh: bool, expected: tuple[object, ...]
) -> None:
    every = Refreshes(100, 20)
    grounds: dict[str, Any] = {"expiry": Expiry(None, ""), "refreshes": every, "inputs_from": inputs_from}
    context = at(clock, full_refresh=full_refresh, **grounds)
    told = decision.decide("m", a_state(refreshes=every, expiration=None, offset=None), context)
    assert told.refreshes is not None
    assert (told.action, told.as_of, told.since, told.refreshes.also) == expected


def test_another_schedule_begins_anew() -> None:
    """What was shown by the old one is not read by the new one."""
    state, never = a_state(refreshes=Refreshes(100, 20), expiration=None, offset=None), Expiry(None, "")
    for refreshes, also in ((Refreshes(30, 0), (130,)), (Refreshes(13, 0), ()), (None, ())):
        for frontier, as_of in ((20, 130), (130, 131)):  # by the clock, a run is after what readers saw
            context = at(130, pinned=False, expiry=never, refreshes=refreshes)
            told = decision.decide("m", replace(state, frontier=frontier), context)
            expected = also if as_of == 130 else (131,)
            assert (told.as_of, told.since) == (as_of, as_of)
            assert told.refreshes == (refreshes and replace(refreshes, also=expected))
    first = decision.decide("m", None, at(130, expiry=never, refreshes=Refreshes(100, 0), inputs_from=130))
    assert (first.as_of, first.refreshes) == (130, Refreshes(100, 0, (130,)))


def test_refreshes_beside_the_schedule() -> None:
    every = Refreshes(100, 20).with_refresh(150, 0).with_refresh(320, 0).with_refresh(333, 0)
    assert every.also == (150, 333)  # 320 is one of the schedule
    assert [every.last(t) for t in (119, 120, 149, 150, 219, 220, 332, 333, 420)] == [
        20, 120, 120, 150, 150, 220, 320, 333, 420,
    ]  # fmt: skip
    assert [every.next(t) for t in (120, 121, 150, 151, 321, 333, 334)] == [120, 150, 150, 220, 333, 333, 420]
    assert every.with_refresh(444, 300).also == (333, 444)
    # a full refresh with an earlier clock, also on the schedule
    assert every.with_refresh(200, 200).also == (200,) and every.with_refresh(220, 220).also == (150,)
    many = every
    for t in range(1001, 1001 + 100 * Refreshes.MOST_ALSO, 100):
        many = many.with_refresh(t, 0)
    assert len(many.also) == Refreshes.MOST_ALSO and many.known_from(5) == many.also[0] == 1001
    assert Refreshes.of_json({"every": 100, "anchor": 20}) == Refreshes(100, 20)  # as earlier versions wrote them
    assert Refreshes.of_json({"every": 100, "anchor": 20, "also": [150, 333]}) == every


@pytest.mark.parametrize(
    ("text", "ms"),
    [("22 days", 22 * DAY), ("1 week", 7 * DAY), ("90 minutes", 5_400_000), ("1 hour, 30 minutes", 5_400_000),
     ("INTERVAL '2' DAYS", 2 * DAY), ("250 milliseconds", 250), ("0", None), (0, None), (None, None), ("0 days", None)],
)  # fmt: skip
def test_durations(text: object, ms: int | None) -> None:
    assert parse_duration(text, "expiration") == ms


@pytest.mark.parametrize(
    "text", ["soon", "-1 day", "1 month", "1 year", "5", "1.5 days", "days", "", "1 day ago", "600000 weeks"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(Refusal, match="expiration: "):
        parse_duration(text, "expiration")


@pytest.mark.parametrize(
    ("value", "ms"),
    [("1970-01-01", 0), ("1970-01-01 00:00:00.5", 500), ("1970-01-01T00:00:00.25Z", 250), ("-5", -5), (7, 7),
     ("1970-01-01 02:00:00+02:00", 0), ("1969-12-31 23:59:59.999", -1), ("2024-03-01 12:00:00 UTC", 1709294400000)],
)  # fmt: skip
def test_instants(value: object, ms: int) -> None:
    assert parse_instant(value) == ms


def test_instants_print_beyond_the_calendar() -> None:
    assert format_instant(2**62) == "4611686018427387904 ms since the epoch"
    assert format_instant(-1) == "1969-12-31 23:59:59.999 UTC"


#: an expression -> the same, with parentheses as Spark's operators bind
BOUND = {
    "a || b + c": "(a || b) + c",
    "a - b || c * d": "(a - b) || (c * d)",
    "a || b collate utf8_lcase = c": "(a || (b collate utf8_lcase)) = c",
    "ts + interval 1 day + 2 * n": "(ts + (interval 1 day)) + (2 * n)",
    "ts - interval -1 day - '2' * n": "(ts - (interval -1 day)) - ('2' * n)",
    "ts + interval 1 day 2 hours + 3 * n": "(ts + (interval 1 day 2 hours)) + (3 * n)",
}


@pytest.mark.parametrize("text", BOUND)
def test_operators_bind_as_in_spark(text: str) -> None:
    bound = expression(BOUND[text])
    for around in list(bound.find_all(exp.Paren)):
        around.replace(around.this)
    assert expression(text) == bound


def test_what_is_around_a_cast_to_the_clock_stays_as_written() -> None:
    """Spark's plans of this text and of its tree are compared: `-1::string` is '-1' to Spark."""
    written = "select id from t where mz_now() < CAST( (v) as MZ_TIMESTAMP ) -- c\n and mz_now() >= t.v::mz_timestamp"
    assert resolve_clock_casts(f"{written} and k <> -1::string", lambda query: [("x", "int")]) == (
        "select id from t where mz_now() < CAST((v) AS BIGINT) -- c\n and mz_now() >= CAST(t.v AS BIGINT)"
        " and k <> -1::string"
    )
