"""Values that compare equal and are not the same, and values that are of several rows: what is given back is right."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparktemporal.pushdown.inclusive_projection import project
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.spark.identity import identity
from support.instants import T0
from support.project import Project
from support.typed import over_timestamps

MINUTE = 60_000


def texts(project: Project, *queries: str) -> list[list[str]]:
    """The rows of queries as texts, which tell -0.0 and the order of maps."""
    parts = []
    for place, query in enumerate(queries):
        columns = ", ".join(f"CAST(`{c}` AS STRING)" for c in project.spark.sql(query).columns)
        parts.append(f"SELECT {place} AS place, concat_ws(' ', array({columns})) AS text FROM ({query})")
    found: list[list[str]] = [[] for _ in queries]
    for place, text in project.rows(" UNION ALL ".join(parts)):
        found[place].append(text)
    return [sorted(rows) for rows in found]


class Life:
    """Models over a table, run again and again, each compared with its text at instants around the run."""

    def __init__(self, project: Project, models: dict[str, str], **config: Any) -> None:
        self.project, self.now = project, T0
        self.models = {name: sql.replace("{s}", project.schema) for name, sql in models.items()}
        for name, sql in self.models.items():
            project.model(name, sql.replace("{now}", "mz_now()"), retain_history="1 day", **config)

    def run(self) -> None:
        self.now += 10
        self.project.run(now=self.now)
        instants = (self.now, T0 + MINUTE - 1, T0 + MINUTE)
        asked = [(name, t) for name in self.models for t in instants]
        there = self.at(*asked)
        right = texts(self.project, *(self.models[m].replace("{now}", f"timestamp_millis({t}L)") for m, t in asked))
        for what, found, expected in zip(asked, there, right):
            assert found == expected, what

    def at(self, *asked: tuple[str, int]) -> list[list[str]]:
        return texts(self.project, *(f"select * from {self.project.at(m, t)}" for m, t in asked))

    def replace(self, table: str, query: str) -> None:
        self.project.sql(f"CREATE TABLE {{s}}.kept USING parquet AS {query}")
        self.project.sql(f"INSERT OVERWRITE {{s}}.{table} SELECT * FROM {{s}}.kept; DROP TABLE {{s}}.kept")


@pytest.mark.landing
def test_equal_values_are_told_apart(project: Project) -> None:
    """Untouched rows stay as they are, then and now, and an update to an equal value is one."""
    zero, minus = "double('0.0')", "double('-0.0')"
    values = (
        f"(1, {minus}, array({zero}), map('b', {minus}, 'a', 1d), named_struct('m', map(2, 'x', 1, 'y'), 'f', 1f)), "
        f"(1, {zero}, array({minus}), map('a', 1d, 'b', {zero}), named_struct('m', map(1, 'y', 2, 'x'), 'f', 1f)), "
        f"(2, {zero}, array({zero}), map('b', {zero}, 'a', 1d), named_struct('m', map(1, 'y', 2, 'x'), 'f', -0f)), "
        "(3, double('NaN'), null, null, null), (3, double('NaN'), null, null, null)"
    )
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT *, timestamp_millis({T0}L + k * {MINUTE}) AS hi "
        f"FROM VALUES {values} AS f(k, d, xs, m, st)"
    )
    life = Life(
        project,
        {
            "plain": "select k, d, xs, m, st from {s}.t where {now} < hi",
            "made": "select k, map_keys(m)[0] as first, cast(d as string) as x from {s}.t where {now} < hi",
            "grouped": "select d, count(*) as n from {s}.t where {now} < hi group by d",
            "by_map": "select m, count(*) as n from {s}.t where {now} < hi group by m",
        },
        aggregates="groups",
    )
    life.run()
    then = [(name, T0 + 11) for name in life.models]
    past = life.at(*then)
    life.replace("t", "SELECT k, if(d = 0, -d, d) AS d, xs, m, st, hi FROM {s}.t WHERE k <> 1 OR d IS NOT NULL")
    life.run()
    turned = "map_from_entries(reverse(map_entries(m)))"
    life.replace("t", f"SELECT k, d, transform(xs, x -> x * -1) AS xs, {turned} AS m, st, hi FROM {{s}}.t")
    life.run()
    life.replace("t", "SELECT * FROM {s}.t WHERE k = 2")
    life.run()
    assert life.at(*then) == past


@pytest.mark.landing
def test_sessions_are_of_all_rows_near_each_other(project: Project) -> None:
    """A row between two sessions makes them one, and they are two again when it has left."""
    row = "SELECT {k} AS k, timestamp_millis({t}L) AS ts, timestamp_millis({hi}L) AS hi, {v} AS v"

    def at(minutes: int, v: int, k: int = 1) -> str:
        return row.format(k=k, t=T0 + minutes * MINUTE, hi=T0 + 60 * MINUTE, v=v)

    project.sql(f"CREATE TABLE {{s}}.t USING parquet AS {at(0, 10)} UNION ALL {at(15, 10)} UNION ALL {at(0, 1, 2)}")
    stored = "SELECT k, session_window(ts, '10 minutes') AS w, hi FROM {s}.t"  # of each row its own, and marked
    project.sql(f"CREATE TABLE {{s}}.stored USING parquet AS {stored}")
    session = "session_window(ts, '10 minutes')"
    life = Life(
        project,
        {
            "by_session": f"select k, {session} as w, sum(v) as v from {{s}}.t where {{now}} < hi "
            f"group by k, {session}",
            "inner_one": f"select k, w, sum(v) as v from (select k, {session} as w, v from {{s}}.t where {{now}} < hi) "
            "group by k, w",
            "stored_ones": "select k, w from {s}.stored where {now} < hi",
            "distinct_ones": "select distinct k, w from {s}.stored where {now} < hi",
            "outer_ones": "select n, w from (select explode(array(1, 2, 3)) as n) left join {s}.stored on k = n "
            "where coalesce({now} < hi, true)",
            "by_window": "select k, window_time(w) as x, n from (select k, window(ts, '10 minutes') as w, "
            "count(*) as n from {s}.t where {now} < hi group by k, window(ts, '10 minutes'))",
        },
        aggregates="groups",
    )
    life.run()
    for rows in (f"SELECT * FROM {{s}}.t UNION ALL {at(7, 5)}", "SELECT * FROM {s}.t WHERE v <> 5"):
        life.replace("t", rows)
        project.sql(f"INSERT OVERWRITE {{s}}.stored {stored}")
        life.run()
    project.sql(f"INSERT OVERWRITE {{s}}.stored {stored} WHERE k = 2")
    life.run()
    told = project.rows("SHOW CREATE TABLE {s}.by_session__live")[0][0]
    assert "session_window(ts" in told  # above the rows


@pytest.mark.landing
def test_values_that_depend_on_the_names_of_columns(project: Project) -> None:
    """A star among arguments, and struct(), which names its fields: as they are written, above what is kept too."""
    project.sql(
        f"CREATE TABLE {{s}}.t USING parquet AS SELECT id % 2 AS k, id AS v, 'x' AS name, timestamp_millis({T0}L + "
        f"id * {MINUTE}) AS hi FROM range(4)"
    )
    source = "from {s}.t where {now} < hi"
    joined = "from {s}.t a join {s}.t b on a.k = b.v where {now} < a.hi"
    life = Life(
        project,
        {
            "star": f"select k, max(struct(*)) as most {source} group by k",
            "listed": f"select k, sort_array(collect_list(to_json(struct(t.*)))) as rows_ {source} group by k",
            "named_key": f"select to_json(struct(upper(name), k)) as j, count(*) as n {source} group by upper(name), k",
            "named_rows": f"select to_json(struct(a.v, b.v)) as j, row_number() over (order by a.v, b.v) as n {joined}",
        },
        aggregates="groups",
    )
    life.run()


REFUSED = {
    "input_file": ("select id, input_file_name() as f from {s}.t where mz_now() < hi", "input_file_name()"),
    "sliding": (
        "select id, window(hi, '10 minutes', '5 minutes') as w from {s}.t "
        "where mz_now() < window(hi, '10 minutes', '5 minutes').end",
        "makes several rows of one",
    ),
    "two_stars": (
        "select max(struct(*)) as m from {s}.t a join {s}.t b on a.id = b.id where mz_now() < a.hi",
        "the columns of this star are not known",
    ),
    "collated": ("select id, name collate utf8_lcase as n from {s}.t where mz_now() < hi", "equal values"),
    "collated_inside": (
        "select array(name collate utf8_lcase) as n, count(*) as c from {s}.t where mz_now() < hi group by 1",
        "equal values",
    ),
}


def test_refused(project: Project) -> None:
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, 'x' AS name, timestamp_millis({T0}L) AS hi FROM range(3)")
    for name, (sql, _) in REFUSED.items():
        project.model(name, sql.replace("{s}", project.schema))
    result = project.run(now=T0, check=False)
    for name, (_, words) in REFUSED.items():
        said = result.of(name).message
        assert all(word in said for word in ("found: ", "why: ", "instead: ", words)), said


@pytest.mark.parametrize("kind", ["float", "double", "string collate UTF8_LCASE", "int"])
@pytest.mark.parametrize("part", ["x > 0", "x in (1, 2)", "x = 0", "0 < x"])
def test_nothing_is_concluded_from_the_order_of_floats(kind: str, part: str) -> None:
    """The statistics of files leave NaN out, which is greater than all for Spark."""
    types = {"lo": "timestamp", "hi": "timestamp", "k": "int", "x": kind}
    sql = f"select k from t where (mz_now() < hi and {part}) or (k = 1 and mz_now() >= lo)"
    (core,) = split(sql, lambda _: list(types.items())).cores
    assert core.condition is not None
    typed = over_timestamps(core, (("k", "int"),))
    found = project(typed, types, Range(T0, None), True) or ""
    assert ("x" in found) == (kind == "int" and not part.startswith("0")), found


def test_identity_of_types() -> None:
    """Nothing is added for types whose equal values are the same."""
    plain = [("a", "int"), ("b", "struct<x:string,d:decimal(9,2)>"), ("c", "timestamp")]
    same = identity(plain)
    assert same.keys == same.items == same.hashed == ("`a`", "`b`", "`c`") and not same.marked
    keys = {kind: identity([("x", kind)]).keys for kind in ODD}
    assert keys == ODD


ODD = {
    "double": ("`x`", "IF(`x` = 0 AND CAST(`x` AS STRING) LIKE '-%', true, NULL)"),
    "array<float>": ("`x`", "CAST(`x` AS STRING)"),
    "map<string,int>": ("map_entries(`x`)",),
    "map<int,map<int,float>>": (
        "transform(map_entries(`x`), mz_e0 -> struct(mz_e0.`key`, map_entries(mz_e0.`value`)))",
        "CAST(`x` AS STRING)",
    ),
    "array<map<int,int>>": ("transform(`x`, mz_e0 -> map_entries(mz_e0))",),
    "struct<a b:map<int,int>,c:int>": ("CAST(`x` AS STRING)", "`x`"),
    "struct<a:int,... 5 more fields>": ("CAST(`x` AS STRING)", "`x`"),
    "struct<start:timestamp,end:timestamp>": ("`x`.`start`", "`x`.`end`", "`x` IS NULL"),
}
