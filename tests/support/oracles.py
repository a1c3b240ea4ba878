"""Oracles that need no right answer: answers of several models that have to fit together, whatever the answers are.

| oracle | what fits together |
|---|---|
| partition (TLP) | the rows where p, where NOT p and where p IS NULL are the rows without a filter |
| count (NoREC) | as many rows as `where p` leaves have a p that is TRUE, as a value above them |
| steps | a model of three runs shows what a model of the last run alone shows |
| composition | the changes from a to b and from b to c are the changes from a to c |
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from support.instants import T0

#: after the first run, around the ends of the rows (ms)
INSTANTS = (T0, T0 + 4_999, T0 + 5_000, T0 + 7_000, T0 + 15_001, T0 + 20_000, T0 + 86_400_000)
COLUMNS = ("id", "k", "v", "ts", "due")

WINDOWS = (
    "mz_now() < due", "mz_now() >= ts", "mz_now() >= ts and mz_now() < due", "due is null or mz_now() < due",
    "mz_now() between ts and due", "mz_now() < ts + interval 12 seconds", "mz_now() - interval 3 seconds <= due",
    "mz_now() <> due", "mz_now() in (ts, due)", "not (mz_now() between ts and due)", "ts <= mz_now() or v > 2",
    "date_trunc('MINUTE', mz_now()) = date_trunc('MINUTE', due)", "cast(mz_now() as date) = cast(ts as date)",
    "unix_millis(mz_now()) >= unix_millis(ts)", "mz_now() - ts < interval '1' second * (v + 3)",
    "timestampdiff(SECOND, ts, mz_now()) < v", "coalesce(due, mz_now()) >= mz_now()",
    "date_format(mz_now(), 'yyyy-MM-dd HH:mm') = date_format(ts, 'yyyy-MM-dd HH:mm')",
    "mz_now() < greatest(ts, due)", "case k when 'a' then mz_now() < due else mz_now() >= ts end",
    "unix_millis(mz_now()) <=> unix_millis(due)", "mz_now() < try_cast(concat('2024-03-01 12:00:', v) as timestamp)",
)  # fmt: skip
#: of these the changes cannot be listed: a read evaluates them
FILTERS = ("second(mz_now()) < v * 5", "unix_millis(mz_now()) % 7 = v", "minute(mz_now()) in (0, v)")
STATIC = (
    "v > 1", "k = 'a'", "v is null", "k like 'a%'", "true", "cast(null as boolean)", "collate(k, 'UTF8_LCASE') = 'A'",
    "collate(k, 'UNICODE_CI') in ('B', 'c')", "variant_get(parse_json(concat('{\"a\": ', v, '}')), '$.a', 'int') > 1",
    "due - ts > interval 10 seconds", "interval '1' second * v < interval '3' second",
    "make_ym_interval(0, v) > interval 2 month",
    "cast(concat('12:00:0', v) as time) >= time'12:00:02'", "id in (2, 5, null)", "(k, v) in (('a', 1), ('b', 5))",
)  # fmt: skip


class Wide:
    """A grammar of models: a FROM whose rows have the columns COLUMNS, and predicates over these columns."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def predicate(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0:
            return rng.choice(rng.choice((WINDOWS, WINDOWS, WINDOWS, STATIC, STATIC, FILTERS)))
        a, b, c = (self.predicate(depth - rng.choice((1, 1, 2))) for _ in range(3))
        forms = (
            f"({a}) and ({b})", f"({a}) or ({b})", f"not ({a})", f"case when {a} then {b} else {c} end",
            f"coalesce({a}, {b})", f"({a}) <=> ({b})", f"(({a}) is not true)", f"if({a}, {b}, {c})",
            f"nullif({a}, {b})", f"({a}) = ({b})", f"({a}) in (true, {b})", f"({a}) and ({b}) and not ({c})",
        )  # fmt: skip
        return rng.choice(forms)

    def window(self, of: str = "") -> str:
        """A window, over the columns of one relation."""
        text = self.rng.choice(WINDOWS)
        return re.sub(r"\b(k|v|ts|due)\b", rf"{of}.\1", text) if of else text

    def source(self, depth: int = 1) -> str:
        """A FROM item without its alias: {t} itself, or a query over {t} and {o}."""
        return self.rng.choice(self.sources(depth))

    def sources(self, depth: int) -> tuple[str, ...]:
        """A FROM item of each form. The columns have the types of {t}, so that each predicate fits them."""
        rng, one, other = self.rng, self.window(), self.window()
        t = self.source(depth - 1) if depth and rng.random() < 0.3 else "{t}"
        left = rng.choice(("(select * from {t} where " + one + ")", t))
        right = "(select * from {t} where " + other + ")"
        on = rng.choice(("a.k = b.k", "a.id = b.id", "a.k <=> b.k and a.v < b.v"))
        equal = rng.choice(("a.k = b.k", "a.id = b.id"))
        names = ", ".join(COLUMNS)
        return (
            "{t}",
            f"(select * from {t} where {one})",
            f"(select * from (select * from {t} where {one}) x where {other})",
            f"(select a.id, a.k, b.v, a.ts, b.due from {left} a join {right} b on {on})",
            f"(select a.id, b.k, a.v, b.ts, a.due from {left} a join {right} b on {equal} join {{o}} o on o.k = a.k)",
            f"(select a.id, b.k, b.v, a.ts, b.due from {left} a left join {right} b on {equal})",
            f"(select a.* from {left} a left {rng.choice(('semi', 'anti'))} join {right} b on {equal})",
            f"(select {names} from {t} where {one} {rng.choice(SETS)} select {names} from {{t}} where {other})",
            f"(select max(id) id, k, int(sum(v)) v, min(ts) ts, max(due) due from {t} where {one} group by k)",
            f"(select distinct id, k, v, ts, due from {t} where {one})",
            f"(select id, k, row_number() over (partition by k order by {names}) as v, ts, due from {t} where {one})",
            f"(select id, k, y as v, ts, due from {t} lateral view explode(array(v, v + 1)) e as y where {one})",
            f"(select a.id, a.k, o.x as v, a.ts, a.due from {t} a join {{o}} o on o.k = a.k where {self.window('a')})",
            f"(select id, k, v, ts, due from {t} where exists (select 1 from {{o}} o where o.x > 1) and {one})",
            f"(select id, k, v, ts, due from {t} a where {one} and k in (select k from {{o}}))",
        )


SETS = ("union all", "union", "except", "except all", "intersect", "intersect all", "minus")


def partition(source: str, p: str) -> tuple[list[str], list[str]]:
    """Models whose rows together are those of the other models."""
    rows = f"select {', '.join(COLUMNS)} from {source} as q"
    return [f"{rows} where {p}", f"{rows} where not ({p})", f"{rows} where ({p}) is null"], [rows]


def count(source: str, p: str) -> tuple[list[str], list[str]]:
    """Two models of one number, which are equal."""
    flags = f"select ({p}) as flag, id from {source} as q"
    return [f"select count(*) as n from {source} as q where {p}"], [f"select count_if(flag) as n from ({flags}) as f"]


def differences(sides: tuple[Sequence[Mapping[int, str]], Sequence[Mapping[int, str]]], columns: Sequence[str]) -> str:
    """A query of the rows that one side has more often. sides: for each model {instant: query}."""
    names = ", ".join(columns)
    parts = [
        f"SELECT {t}L AS mz_t, {sign} AS mz_x, {names} FROM (\n{query}\n)"
        for sign, models in zip((1, -1), sides)
        for model in models
        for t, query in model.items()
    ]
    union = "\nUNION ALL\n".join(parts)
    return f"SELECT mz_t, sum(mz_x), {names} FROM (\n{union}\n) GROUP BY mz_t, {names} HAVING sum(mz_x) <> 0"
