"""Random expressions, aggregates and windows of a residual, and whether another engine computes them as Spark does."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.errors import PySparkException

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.looking.readers.dialects import Dialect
from dbt.adapters.sparktemporal.looking.readers.expressions import Session
from dbt.adapters.sparktemporal.looking.readers.kinds import Kind
from dbt.adapters.sparktemporal.looking.readers.residual import translated
from support.instants import T0
from support.project import Project

COLUMNS = {
    "tiny": ("tinyint", ["0", "1", "-128", "127"]),
    "i": ("int", ["0", "1", "-7", "2147483647", "-2147483648"]),
    "l": ("bigint", ["0", "3", "-2", "9223372036854775807", "9007199254740993"]),
    "d": ("decimal(10,2)", ["0", "1.25", "-1.25", "0.05", "99999999.99"]),
    "e": ("decimal(4,1)", ["0", "3.0", "-0.5", "999.9"]),
    "w": ("decimal(30,10)", ["0", "0.0000000001", "-12345678901234567890.5"]),
    "x": ("double", ["0.0", "'-0.0'", "1.5", "'NaN'", "'Infinity'", "1e300", "-2.25"]),
    "f": ("float", ["0.0", "0.1", "'NaN'", "-3.5"]),
    "t": ("string", ["''", "'a'", "'B'", "'é'", "'1'", "'10'", "'it''s'"]),
    "u": ("varchar(5)", ["'a'", "'b '", "''"]),
    "b": ("boolean", ["true", "false"]),
    "day": ("date", ["'2024-02-29'", "'1969-12-31'", "'0001-01-01'"]),
    "ts": ("timestamp", [f"timestamp_millis({T0 + by})" for by in (0, -1, 1, 86_400_000)] + ["timestamp_micros(-1)"]),
}
NUMBERS = ["tiny", "i", "l", "d", "e", "w", "x", "f"]
TYPES = ["bigint", "int", "double", "decimal(12,3)", "decimal(38,10)", "tinyint"]
PARTS = ["hour", "minute", "second", "year", "month", "day", "quarter"]
CORE = "mz_core_c0"


class Grammar:
    """Expressions by kind; about one in ten is of what an engine or Spark refuses."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def number(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0:
            return rng.choice(
                [*NUMBERS, "1", "0", "-3", "(-7)", "2.5", "0.001", "1000000", "3000000000", "mz_now_bigint()", "null"]
            )
        n, m, c = partial(self.number, depth - 1), partial(self.number, depth - 2), partial(self.truth, depth - 1)
        return rng.choice([
            lambda: f"({n()} {rng.choice('+-*/%')} {n()})", lambda: f"({m()} {rng.choice('+-*/%')} {m()})",
            lambda: f"abs({n()})", lambda: f"(-{n()})", lambda: f"coalesce({n()}, {n()})",
            lambda: f"nullif({n()}, {m()})", lambda: f"greatest({n()}, {n()})", lambda: f"least({n()}, {n()}, {m()})",
            lambda: f"if({c()}, {n()}, {n()})", lambda: f"case when {c()} then {n()} end",
            lambda: f"case {n()} when {m()} then {n()} else {m()} end",
            lambda: f"cast({n()} as {rng.choice(TYPES)})",
            lambda: f"cast({c()} as int)", lambda: f"unix_millis({self.instant(depth - 1)})",
            lambda: f"{rng.choice(PARTS)}({self.instant(depth - 1)})",
            lambda: f"year({self.day(depth - 1)})", lambda: f"length({self.text(depth - 1)})",
        ])()  # fmt: skip

    def text(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0:
            return rng.choice(["t", "t", "u", "'a'", "'\\0'", "'it\\'s'", "''", "null"])
        s = partial(self.text, depth - 1)
        return rng.choice([
            lambda: f"({s()} || {s()})", lambda: f"concat({s()}, {s()})", lambda: f"coalesce({s()}, {s()})",
            lambda: f"cast({rng.choice(['tiny', 'i', 'l', 'b', 'd', 'x', 'day'])} as string)",
            lambda: f"greatest({s()}, {s()})",
            lambda: f"if({self.truth(depth - 1)}, {s()}, {s()})", lambda: f"upper({s()})",
        ])()  # fmt: skip

    def day(self, depth: int) -> str:
        return self.rng.choice(["day", "date'2024-02-29'", "cast(ts as date)", "cast('2024-03-01' as date)", "null"])

    def instant(self, depth: int) -> str:
        by = self.rng.choice(["1 hour", "-3 minutes", "2 days", "1 month", "90 seconds"])
        sign = self.rng.choice("+-")
        return self.rng.choice(
            ["ts", "mz_now_timestamp()", f"(ts {sign} interval {by})", "coalesce(ts, mz_now_timestamp())"]
        )

    def truth(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0:
            return rng.choice(["b", "true", "b is null", "i > 0", "null"])
        one = rng.choice([self.number, self.text, self.day, self.instant])
        v, c = partial(one, depth - 1), partial(self.truth, depth - 1)
        return rng.choice([
            lambda: f"({v()} {rng.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {v()})",
            lambda: f"({v()} between {v()} and {v()})", lambda: f"({v()} in ({v()}, {v()}))",
            lambda: f"({v()} not in ({v()}, {v()}))", lambda: f"({c()} and {c()})", lambda: f"({c()} or {c()})",
            lambda: f"(not {c()})", lambda: f"({v()} is not null)", lambda: f"({c()} is true)",
            lambda: f"({c()} is not false)", lambda: f"(t like {self.text(0)})",
        ])()  # fmt: skip

    def value(self, depth: int) -> str:
        return self.rng.choice([self.number, self.number, self.text, self.day, self.instant, self.truth])(depth)

    def aggregate(self) -> str:
        rng, v = self.rng, self.value(1)
        kept = rng.choice(["", "", f" filter (where {self.truth(1)})"])
        return rng.choice([
            "count(*)", f"count({v})", f"count(distinct {v})", f"count_if({self.truth(1)})", f"min({v})", f"max({v})",
            f"sum({self.number(1)})", f"sum({rng.choice(NUMBERS)})", f"bool_or({self.truth(1)})",
            f"every({self.truth(1)})", f"avg({rng.choice(NUMBERS)})",
        ]) + kept  # fmt: skip

    def query(self) -> str:
        rng, query = self.rng, self.written()
        if rng.random() < 0.8:
            return query
        again = rng.choice(["", " union all select * from w", " cross join (select count(*) as m from w)"])
        return f"with w as ({query}) select * from w{again}"

    def written(self) -> str:
        rng = self.rng
        form = rng.choice(["rows", "rows", "rows", "groups", "windows", "joined", "sets", "distinct", "totals"])
        if form == "totals":
            key, order = rng.choice(["t", "b", "i"]), rng.choice(["count(*)", "2", "a", "sum(n)"])
            how = rng.choice([key, f"rollup({key})", f"cube({key}, b)"])
            where = rng.choice(["", f" where {self.truth(0)}", " where false"])
            order = f"{order} {rng.choice(['asc', 'desc'])}, {key}"
            return f"select {key}, count(*) as a from {CORE}{where} group by {how} order by {order} limit 3"
        if form == "groups":
            key = rng.choice(["t", "i", "b", "day", self.value(1)])
            having = rng.choice(["", f" having {self.aggregate()} is not null", " having count(*) > 1"])
            return f"select {key} as k, {self.aggregate()} as a from {CORE} as r group by {key}{having}"
        if form == "windows":
            way = rng.choice(["asc", "desc", "asc nulls last", "desc nulls first"])
            rank = rng.choice(["rank()", "dense_rank()", self.aggregate()])
            if rng.random() < 0.2:
                return f"select t, rank() over (order by count(*) {way}, max(n)) as a from {CORE} group by t"
            return (
                f"select n, {rank} over (partition by {self.value(0)} order by {self.value(0)} {way}) as a from {CORE}"
            )
        if form == "joined":
            kind = rng.choice(["join", "left join", "left semi join", "left anti join", "cross join", "full join"])
            if rng.random() < 0.2:
                return f"select n, a.t as v from {CORE} a {rng.choice(['join', 'left join'])} {CORE} b using (n)"
            on = "" if kind == "cross join" else f" on a.{rng.choice(NUMBERS)} = b.{rng.choice(NUMBERS)}"
            return f"select a.n, a.t as v from {CORE} a {kind} {CORE} b{on}"
        if form == "sets":
            word = rng.choice(["union all", "union", "except", "intersect", "except all"])
            one = rng.choice(["t", "i", "d", self.value(1)])
            return f"select {one} as v from {CORE} where {self.truth(1)} {word} select {one} from {CORE} where n > 3"
        if form == "distinct":
            return f"select distinct {self.value(1)} as v, b from {CORE}"
        order = rng.choice(["", f" order by {self.value(0)}, n limit 4"])
        return f"select n, {self.value(3)} as v from {CORE} where {self.truth(1)}{order}"


def rows_of(rng: random.Random) -> str:
    listed = []
    for n in range(12):
        values = [v if rng.random() < 0.85 else "null" for v in (rng.choice(of) for _, of in COLUMNS.values())]
        listed.append(f"({n}, {', '.join(f'cast({v} as {k})' for v, (k, _) in zip(values, COLUMNS.values()))})")
    return f"SELECT * FROM VALUES {', '.join(listed)} AS v(n, {', '.join(COLUMNS)})"


def plain(row: tuple) -> tuple:
    def one(value: Any) -> Any:
        if isinstance(value, float):
            return "nan" if math.isnan(value) else value + 0.0
        return value

    return tuple(one(value) for value in row)


#: a query of another engine -> its rows; None where a value is out of range, or divided by zero
Ask = Callable[[str], "list[Any] | None"]


def agree(project: Project, ask: Ask, micros: str, query: str, ansi: bool, dialect: Dialect) -> bool:
    """False where the query is refused, or an error of both. An error of the engine alone is no wrong row.

    micros: a template, of a timestamp -> its microseconds.
    """
    columns = [("n", "int"), *((name, kind) for name, (kind, _) in COLUMNS.items())]
    try:
        sql, found = translated(query, {CORE: columns}, Session(f"{T0}", ansi, "UTC", dialect))
    except Refusal:
        return False
    written = query.replace("mz_now_timestamp()", f"timestamp_millis({T0}L)").replace(
        "mz_now_bigint()", f"bigint('{T0}')"
    )
    try:
        told = project.rows(f"DESCRIBE QUERY {written}")
    except PySparkException:
        return False  # no query of Spark
    kinds = [Kind.of(r[1]) for r in told]
    assert all(k == w or "null" in (k.name, w.name) for (_, k), w in zip(found, kinds)), (query, found, kinds)
    names = [name for name, _ in found]
    by_instant = [k.name == "timestamp" for _, k in found]
    of_spark, of_theirs = (
        ", ".join(way.format(f"v{i}") if t else f"v{i}" for i, t in enumerate(by_instant))
        for way in ("unix_micros({})", micros)
    )
    given = ", ".join(f"v{i}" for i in range(len(names)))
    theirs = ask(f"SELECT {of_theirs} FROM ({sql}) AS q({given})")
    if theirs is None:
        return False
    try:
        ours = project.rows(f"SELECT {of_spark} FROM ({written}) AS q({given})")
    except PySparkException as e:
        raise AssertionError(f"Spark has an error: {query}\n{sql}\n{e}") from None
    one, other = Counter(map(plain, ours)), Counter(map(plain, theirs))
    assert one == other, (
        f"{query}\n{sql}\nSpark: {sorted(map(str, (one - other)))}\n{dialect.name}: {sorted(map(str, other - one))}"
    )
    return True
