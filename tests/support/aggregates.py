"""Random queries over random histories: what three runs keep, against Spark's own answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.pruning import filters
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.diffs import view_sql
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState, State
from dbt.adapters.sparktemporal.temporal.diffs.stores import store_of
from dbt.adapters.sparktemporal.temporal.predicates import clock_text
from dbt.adapters.sparktemporal.temporal.rewrite.core import TypedCore
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import quote
from support.histories import RUNS, change, event
from support.instants import STEP, T0
from support.project import Project

Rng = random.Random
BATCH = 4
AS_OF = (T0, T0 + STEP, T0 + 3 * STEP)
KEYS = [
    "k", "k", "v", "h", "upper(k)", "v % 2", "date_trunc('MINUTE', lo)", "price", "v > 1", "coalesce(k, 'none')",
    "cast(lo as date)", "d2", "named_struct('a', k, 'b', v).b",
]  # fmt: skip
WINDOWS = [
    "{now} >= lo and {now} < hi",
    "{now} >= lo and {now} < hi",
    "{now} < hi",
    "{now} >= lo and (hi is null or {now} < hi)",
    "({now} >= lo or k = 'k1') and v is distinct from 4",
    "{now} between lo and lo + interval 25 seconds",
    "date_trunc('MINUTE', {now}) = date_trunc('MINUTE', lo)",
]
#: sums of these are kept per group
SUMS = [
    "count(*)", "count(1)", "count(v)", "count(k, v)", "COUNT(DATE '2024-01-01')", "count_if(v > 1)", "sum(v)",
    "Sum(v + 1)",
    "sum(cast(v as tinyint))", "sum(id * 1000000007L)", "sum(lo_ms)", "avg(v)", "mean(v * 2)", "avg(id)",
    "sum(price)", "avg(price)", "sum(wide)", "avg(wide)", "avg(fine)", "sum(fine)", "sum(wide) / count(*)",
    "bool_or(v > 2)", "some(k = 'k1')", "any(v = 0)", "bool_and(v < 4)", "every(price > 0)", "coalesce(sum(v), 0)",
    "count(*) filter (where v > 1)", "sum(price) filter (where k = 'k2')", "avg(v) filter (where price < 0)",
    "bool_and(v > 0) filter (where k is not null)", "100 / count(*)", "sum(v) * 2 + count(*)", "count(lo) - count(hi)",
]  # fmt: skip
#: for these their values are kept with the groups
OF_VALUES = [
    "min(v)", "max(price)", "Min(k)", "count(distinct k)", "count(distinct v, k)", "sum(distinct v)",
    "avg(distinct price)", "min(v) filter (where price > 0)", "count(distinct v % 2, k) filter (where v <> 1)",
    "array_sort(collect_set(v))", "max_by(k, struct(id, v, k))", "min_by(v, struct(id, v)) is null",
    "approx_count_distinct(k)", "bit_or(v)",
    "bit_and(v + 1)", "max(named_struct('a', v, 'b', k)).b", "min(1)", "bool_or(distinct v > 1)",
    "array_sort(collect_list(distinct k))", "max(v) - min(v)",
]  # fmt: skip
#: these need the rows
OTHERS = [
    "min(tiny)", "max(tiny)", "sum(eighth)", "avg(eighth)", "array_sort(collect_list(v))", "median(v)",
    "percentile(v, 0.3)", "mode(1)", "sum(price38)", "avg(price38)", "count(distinct d2)",
    "array_sort(array_agg(k))", "stddev(eighth) is null", "any_value(1)", "try_sum(v)",
]  # fmt: skip


def load(project: Project, name: str, rows: list[tuple]) -> None:
    """An input as the queries see it: decimals of several precisions, doubles tiny, huge and exact."""
    schema = "h int, id int, k string, v int, price double, lo long, hi long, us int"
    project.spark.createDataFrame(rows, schema).createOrReplaceTempView(f"{name}_raw")
    project.spark.sql(
        "SELECT h, id, k, v, CAST(price AS DECIMAL(9, 2)) AS price, CAST(price * 1000 AS DECIMAL(27, 5)) AS wide, "
        "CAST(price AS DECIMAL(18, 9)) / 7 AS fine, CAST(price AS DECIMAL(38, 4)) AS price38, "
        "CASE v WHEN 0 THEN 1e-300D WHEN 1 THEN -1e300D WHEN 2 THEN DOUBLE('NaN') WHEN 3 THEN -0.0D END AS tiny, "
        "v / 8D AS eighth, CASE v WHEN 1 THEN 0.0D WHEN 2 THEN -0.0D WHEN 3 THEN DOUBLE('NaN') END AS d2, "
        f"timestamp_millis(lo) AS lo, timestamp_millis(hi) AS hi, lo AS lo_ms FROM {name}_raw"
    ).createOrReplaceTempView(f"{name}_typed")
    # wide and fine as they come: DECIMAL(27,5) and DECIMAL(20,11)
    project.spark.sql(f"SELECT *, CAST(fine AS DECIMAL(20, 11)) AS fine2 FROM {name}_typed").drop(
        "fine"
    ).withColumnRenamed("fine2", "fine").createOrReplaceTempView(name)
    project.spark.catalog.cacheTable(name)


def aggregation(rng: Rng, kept: str = "") -> str:
    """A query text with {t} for the input and {now} for the clock; kept: one of which `rows` or `groups` are."""
    keys = list(dict.fromkeys(rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2, 2, 3]))))
    pool = rng.choice([SUMS, SUMS, SUMS + OF_VALUES, SUMS + OF_VALUES, SUMS + OF_VALUES + OTHERS])
    pool = SUMS if kept == "groups" else pool
    calls = [c for c in rng.sample(pool, rng.choice([1, 2, 3, 4])) if keys or c != "100 / count(*)"] or ["count(*)"]
    calls += ["avg(eighth)"] if kept == "rows" else []
    items = [f"{key} AS g{i}" if rng.random() < 0.6 or not key.isidentifier() else key for i, key in enumerate(keys)]
    values = [f"{call} AS a{i}" for i, call in enumerate(calls)]
    if keys and rng.random() < 0.12 and kept != "rows":
        return shape(rng, f"select distinct {', '.join(items)} from", "")
    form = rng.choice(["plain", "plain", "plain", "ordinal", "alias", "all", "rollup", "cube", "sets"])
    if "v > 1" in keys and form in ("rollup", "cube", "sets"):
        form = "plain"  # sqlglot reads columns and functions there, and refuses the rest
    if not keys:
        group = ""
    elif form == "ordinal":
        group = "group by " + ", ".join(str(i + 1) for i in range(len(keys)))
    elif form == "alias":
        names = [item.rpartition(" AS ")[2] for item in items]
        group = "group by " + ", ".join(names)
    elif form == "all":
        group = "group by all"
    elif form in ("rollup", "cube"):
        group = f"group by {form}({', '.join(keys)})"
        values += [f"grouping({key}) AS r{i}" for i, key in enumerate(keys)]
    elif form == "sets":
        group = f"group by grouping sets (({', '.join(keys)}), ({keys[0]}), ())"
    else:
        group = "group by " + ", ".join(keys)
    if rng.random() < 0.2:
        values.append("sum(count(*)) over () AS share")
    if rng.random() < 0.2:
        values.append(f"rank() over (order by {calls[0]} desc) AS place" if "collect" not in calls[0] else "1 AS place")
    having = rng.choice(
        ["", "", "", "having count(*) > 1", "having sum(v) >= 2", "having avg(price) < 1 or count(k) = 1"]
    )
    distinct = rng.choice(["", "", "", "", "distinct "])
    return shape(rng, f"select {distinct}{', '.join([*items, *values])} from", f"{group} {having}")


#: what is aggregated under a condition of the clock
VALUES = ["v", "v", "v + 1", "price", "wide", "fine", "lo_ms", "id * 1000000007L", "cast(v as tinyint)", "1", "-1"]


def conditional_aggregation(rng: Rng, _: int = 0) -> str:
    """Like `aggregation`: aggregates of the rows for which conditions of the clock hold, and others beside them."""
    windows = rng.sample(WINDOWS, 2) + ["not ({now} < hi) and v > 0"]
    calls = [_conditional(rng, *rng.sample(windows, 2)) for _ in range(rng.choice([1, 2, 3]))]
    calls += rng.sample(rng.choice([SUMS, SUMS + OF_VALUES]), rng.choice([0, 1, 2]))
    keys = list(dict.fromkeys(rng.sample(KEYS, rng.choice([0, 1, 1, 2]))))
    named = [f"{key} AS g{i}" for i, key in enumerate(keys)]
    form = "plain" if "v > 1" in keys else rng.choice(["plain", "plain", "rollup", "all"])
    by = {"plain": ", ".join(keys), "rollup": f"rollup({', '.join(keys)})", "all": "all"}[form]
    group = f"group by {by}" if keys else ""
    having = rng.choice(["", "", "having count_if({now} < hi) > 0", "having count(*) > 1", "having max(hi) > {now}"])
    items = ", ".join([*named, *(f"{call} AS a{i}" for i, call in enumerate(calls))])
    return rng.choice(
        [
            f"select {items} from {{t}} {group} {having}",
            f"select {items} from {{t}} as e where e.v is null or v >= 0 {group} {having}",
            f"select {items} from (select * from {{t}} where v <> 4){rng.choice([' as x', ''])} {group} {having}",
            f"with x as (select *, v * 2 as w from {{t}} where k is not null) select {items} from x {group} {having}",
        ]
    )


def protected(rng: Rng, _: int = 0) -> str:
    """Like `conditional_aggregation`: the first branch keeps later ones from the index 0, which any rules refuse.

    The first aggregate tests the index by itself: kept per group, its rows would be filtered by this test alone.
    """
    holds, then = rng.sample(WINDOWS[:5], 2)
    value, call = rng.choice(["v", "price", "1"]), rng.choice(["sum", "count", "avg", "max"])
    at = "try_element_at(array(3, 1, 2), v)"
    tested = rng.choice(
        [
            f"sum(case when {holds} or v = 0 then {value} when {at} > 1 then v end)",
            f"sum(case when coalesce({holds} or v = 0, true) then {value} when {at} > 1 then -1 else 0 end)",
        ]
    )
    forms = [
        f"{call}(case when {holds} or v = 0 then {value} when {at} > 1 and {then} then -1 else 0 end)",
        f"{call}(case when v = 0 then {value} when {holds} then {at} else v end)",
        f"{call}(if({holds} or v = 0, {value}, if({then}, {at}, 1)))",
    ]
    calls = ", ".join(f"{one} AS a{i}" for i, one in enumerate([tested, rng.choice(forms)]))
    return f"select k, {calls}, count(*) as n from {{t}} group by k"


#: for these an index of `protected` is 0, and each window of theirs comes and goes
OF_INDEX_0 = [(9, n, "k1", 0, 1.0, T0 + n * STEP, T0 + (n + 4) * STEP, 0) for n in range(4)]

#: the clock over values of groups
ABOVE = [
    "datediff({now}, max(lo))",
    "{now} - min(hi)",
    "case when max(hi) > {now} - interval 5 seconds then 'up' when count(hi) = 0 then '?' else 'down' end",
    "{now} between min(lo) and max(hi)",
    "coalesce(max(lo), {now})",
    "unix_millis({now}) - unix_millis(max(lo)) + count(*)",
    "{now}",
]


def clock_above(rng: Rng, _: int = 0) -> str:
    """Like `aggregation`: the clock as a value beside or over aggregates of all rows, in the list or the ORDER BY."""
    keys = list(dict.fromkeys(rng.sample(KEYS, rng.choice([0, 1, 1, 2]))))
    named = [f"{key} AS g{i}" for i, key in enumerate(keys)]
    plain = [f"{call} AS a{i}" for i, call in enumerate(rng.sample(SUMS + OF_VALUES, rng.choice([1, 2])))]
    clocks = [f"{call} AS c{i}" for i, call in enumerate(rng.sample(ABOVE, rng.choice([1, 1, 2])))]
    if keys and rng.random() < 0.3:
        clocks.append(f"coalesce(cast({keys[0]} as string), cast({{now}} as string)) AS c9")
    if rng.random() < 0.2:
        plain.append("rank() over (order by count(*)) AS place")
    items = [*named, *plain, *clocks]
    rng.shuffle(items)
    places = ", ".join(str(i + 1) for i, item in enumerate(items) if item in named)
    form = "plain" if "v > 1" in keys else rng.choice(["plain", "rollup", "all", "places"])
    by = {"plain": ", ".join(keys), "rollup": f"rollup({', '.join(keys)})", "all": "all", "places": places}[form]
    having = rng.choice(["", "", "having count(*) > 1", "having max(hi) > {now}", "having a0 is not null"])
    if rng.random() < 0.2 and "place" not in plain[-1] and form != "all":  # Spark has no such alias by GROUP BY ALL
        items += ["c0 IS NULL AS d0", "max(id)"]
    having = "" if "place" in plain[-1] and "now" in having else having
    source = rng.choice(["{t}", "{t} as e where e.v is null or v >= 0", "(select * from {t} where v <> 4) as x"])
    orders = ["", "", "order by c0", "order by {now} - max(lo)"]
    # beside these Spark takes no aggregate in an ORDER BY
    is_limited = bool(having) or "place" in plain[-1] or " AS d0" in "".join(items)
    order = rng.choice(orders[:3] if is_limited else orders)
    rest = f"from {source} {f'group by {by}' if keys else ''} {having}"
    query = f"select {', '.join(items)} {rest} {order}"
    if order or rng.random() < 0.7:
        return query
    nameless = [item.rpartition(" AS ")[0] if item in clocks else item for item in items]
    again = f"select {', '.join(nameless)} {rest}"
    return f"{query} union all {rng.choice([again, f'({again})'])}"


def _conditional(rng: Rng, holds: str, then: str) -> str:
    value, call = rng.choice(VALUES), rng.choice(["sum", "sum", "count", "avg", "min", "max"])
    value = "eighth" if rng.random() < 0.05 else value
    other, plain = rng.choice([value, "v", "-1", "null"]), rng.choice(["k = 'k1'", "v > 2", "k is null", "v = id"])
    rest = rng.choice(["", f"else {value} ", "else v ", "else 0 ", "else null "])
    if rng.random() < 0.5:
        return rng.choice(
            [
                f"{call}(case when {holds} then {value} when {then} then {other} {rest}end)",
                f"sum(case when {holds} then {value} when {then} then {other} else 0 end)",
                f"{call}(case when {plain} then {other} when {holds} then {value} {rest}end)",
                f"{call}(case when {holds} or {plain} then {value} when {plain} then {other} {rest}end)",
                f"{call}(case when {holds} then if({plain}, {value}, {other}) {rest}end)",
                f"{call}(case when {plain} then case when {holds} then {value} end {rest}end)",
                f"count(distinct case when {holds} then {value} when {then} then {other} {rest}end)",
                f"{call}(case when {holds} then {value} {rest}end) filter (where {plain})",
                f"{call}(case {plain} when {holds} then {value} when true then {other} {rest}end)",
                f"count_if({holds}) filter (where {plain} or {then})",
            ]
        )
    return rng.choice(
        [
            f"{call}(case when {holds} then {value} end)",
            f"{call}(if({holds}, {value}, null))",
            f"sum(case when {holds} then {value} else 0 end)",
            f"sum(if({holds}, {value}, 0))",
            f"count_if({holds})",
            f"count(*) filter (where {holds})",
            f"{call}({value}) filter (where {holds} and k is not null)",
            f"count(distinct case when {holds} then {value} end)",
        ]
    )


def shape(rng: Rng, select: str, above: str) -> str:
    """Around what is asked of the rows: where they come from."""
    window, valid = rng.choice(WINDOWS), "(v is null or v >= 0)"
    return rng.choice(
        [
            f"{select} {{t}} where {window} and {valid} {above}",
            f"{select} {{t}} where {window} and {valid} {above}",
            f"with live as (select * from {{t}} where {window}) {select} live where {valid} {above}",
            f"with live as (select t.*, v * 2 as w from {{t}} as t where {window} and {valid}), "
            f"more as (select x.*, w + 1 as w1 from live x where w is null or w < 7) {select} more {above}",
        ]
    )


def chains(project: Project, core: TypedCore, inputs: Sequence[str], name: str) -> list[str]:
    """The chains of three runs, as views: the first all, the others corrections. What is over is left out early."""
    store, warehouse = store_of(core), Warehouse(project.rows)
    settings = warehouse.settings()
    project.spark.sql(f"SELECT * FROM {inputs[-1]}").createOrReplaceTempView("mz_agg_input")
    projection = [filters.projected(warehouse, core, settings, Range(as_of, None)) for as_of in AS_OF]
    made: list[str] = []
    for as_of, table, skipped in zip(AS_OF, inputs, projection):
        project.spark.catalog.dropTempView("mz_agg_input")
        rows = store.desired(core, as_of, None, skipped).replace("mz_agg_input", table)
        if made:
            rows = store.difference(rows, store.stored(made, as_of, None))
        made.append(f"{name}_{len(made)}")
        project.spark.sql(rows).coalesce(1).createOrReplaceTempView(made[-1])
        project.spark.catalog.cacheTable(made[-1])
    return made


def state_of(model: Model, columns: list[tuple[str, str]], chains_: dict[str, list[str]]) -> State:
    cores = tuple(
        CoreState(core.name, core.stored, tuple(Chain(t, 1, 1, *[None] * 3) for t in chains_[core.name]), core.sums)
        for core in model.cores
    )
    return State(
        model="m", schema="mz_schema", run="", since=AS_OF[-1], frontier=AS_OF[-1], started_at=AS_OF[0], offset=None,
        expiration=None, core_hash="", residual=model.residual, columns=tuple(columns), cores=cores,
        written=model.written, kinds=model.calls, inputs={}, settings={},
    )  # fmt: skip


def drive(
    project: Project,
    count: int,
    seed: int,
    ansi: bool = False,
    make: Callable[[Rng, int], str] | None = None,
    always: Sequence[tuple] = (),
) -> dict[str, int]:
    """How many queries are kept per group and per row, have parts that a read evaluates, and have inputs kept whole.

    make: the text of the n-th query. always: rows that the input has at each run, beside those that are drawn.
    """
    rng, done = Rng(seed), 0
    warehouse = Warehouse(project.rows)
    settings = warehouse.settings()
    kept = {"groups": 0, "rows": 0, "at_read": 0, "whole": 0}
    while done < count:
        rows = [event(rng, h) for h in range(rng.choice([1, 2, 3])) for _ in range(rng.choice([0, 2, 5, 9]))]
        inputs = []
        for version in range(3):
            inputs.append(f"mz_agg_{version}")
            load(project, inputs[-1], [*always, *rows])
            rows = change(rng, rows, rng.randrange(3))
        moments = sorted({t for r in rows for t in (r[5], r[6]) if t is not None and t >= AS_OF[-1]})
        near = [t + d for t in rng.sample(moments, min(2, len(moments))) for d in (-1, 0)]
        near.append(T0 + STEP * (RUNS + rng.randrange(9)))
        instants = sorted({AS_OF[-1], *rng.sample([t for t in near if t >= AS_OF[-1]], 3 if len(near) > 3 else 1)})
        both = []
        texts = []
        for number in range(min(BATCH, count - done)):
            text = make(rng, done) if make else aggregation(rng, {0: "rows", 1: "groups"}.get(done, ""))
            project.spark.sql(f"SELECT * FROM {inputs[-1]}").createOrReplaceTempView("mz_agg_input")
            model = understand(
                warehouse, text.format(t="mz_agg_input", now="mz_now()"), settings, "4.1", AS_OF[0], None, "groups"
            )
            written = clock_text.written_at(model.written, model.calls, f"{instants[0]}L")
            columns = warehouse.describe(written)
            kept["groups" if model.cores[0].core.groups else "rows"] += 1
            kept["at_read"] += bool(model.notes)
            kept["whole"] += bool(model.whole)
            named = {c.name: chains(project, c, inputs, f"mz_agg_{number}_{c.name}") for c in model.cores}
            state = state_of(model, columns, named)
            read_types = warehouse.describe(view_sql.read_at(state, 0).replace("mz_schema.", ""))
            assert [t for _, t in read_types] == [t for _, t in columns], (text, read_types, columns)
            both.append(differences(number, text, state, instants, inputs[-1]))
            texts.append(text)
            done += 1
        for text, query in zip(texts, both):
            wrong = project.spark.sql(query).limit(1).collect()
            assert not wrong, f"{text}\n{wrong}\n{rows}"
        project.spark.catalog.clearCache()
    return kept


def differences(number: int, text: str, state: State, instants: Sequence[int], table: str) -> str:
    """A query: what is in the read and not in the oracle, or the other way round."""
    names = ", ".join(quote(n) for n, _ in state.columns)
    sides = []
    for t in instants:
        read = view_sql.read_at(state, t).replace("mz_schema.", "")
        sides.append(f"SELECT {t}L AS mz_t, 1 AS mz_side, {names} FROM (\n{read}\n)")
        oracle = text.format(t=table, now=f"timestamp_millis({t}L)")
        sides.append(f"SELECT {t}L, -1, * FROM (\n{oracle}\n)")
    union = "\nUNION ALL\n".join(sides)
    return f"SELECT mz_t, sum(mz_side), {names} FROM (\n{union}\n) GROUP BY mz_t, {names} HAVING sum(mz_side) <> 0"
