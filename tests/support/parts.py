"""Predicates and rows for parts that may be left out."""

from __future__ import annotations

import random

from support.predicates import Grammar

PARTS = 50
COLUMNS = {
    "a": "timestamp", "e": "timestamp", "d": "date", "ntz": "timestamp_ntz", "ms": "bigint", "dec": "decimal(20,3)",
    "k": "int", "b": "boolean", "iv": "interval day to second", "x": "double", "t": "string", "s": "smallint",
}  # fmt: skip


class More(Grammar):
    """Also texts, doubles, overflowing numbers, divisions by zero, and what is computed of several columns."""

    def plain(self) -> str:
        more = [
            "t = 'mm'", "t < 'b'", "t like 'a%'", "x > 0", "x <= -1.5", "-x < 1", "x = x", "s + s > 0", "-s < 3",
            "s * s >= 10", "100 / k > 3", "cast(t as int) = 1", "ms * ms > 5", "k in (0, 1)", "t is not null", "e > a",
            "t in ('a', 'zz')", "t <=> 'a'", "k between -1 and 1", "year(a) = 2024", "d > '2024-01-01'", "ms > '5'",
        ]  # fmt: skip
        return self.rng.choice(more) if self.rng.random() < 0.5 else super().plain()

    def number(self) -> str:
        more = ["ms * k", "ms - k", "ms + ms", "-ms", "s * 1000", "ms div 60000 * 60000", "greatest(ms, k)", "abs(ms)"]
        return self.rng.choice(more) if self.rng.random() < 0.4 else super().number()


class Idioms(Grammar):
    """The filters that people write."""

    def comparison(self) -> str:
        days = self.rng.choice([1, 7, 30])
        return self.rng.choice([
            f"{{n}} <= a + interval {days} days",
            f"{{n}} >= a and {{n}} < a + interval {days} days",
            "{n} >= a and {n} < e",
            "{n} between a and e",
            "{n} < coalesce(e, timestamp '9999-12-31 00:00:00')",
            f"{{n}} < date_trunc('HOUR', a) + interval {days} hours",
            "{n} >= d and {n} < date_add(d, 1)",
            f"{{n}} < dateadd(d, {days})",
            "{m} >= 60000 * (ms div 60000) and {m} < 60000 * (ms div 60000) + 60000",
            f"{{m}} < unix_millis(a) + {days * 86_400_000}",
            f"{{n}} < timestamp_millis(ms) + interval {days} days",
            "t = 'mm' and {n} < e",
            "{n} < greatest(a, e)",
        ])  # fmt: skip

    def predicate(self, depth: int) -> str:
        return self.comparison()


def value(rng: random.Random, kind: str, base: int) -> str:
    """A value of a column, near a base (ms) where it is an instant."""
    if rng.random() < 0.08:
        return f"cast(null as {kind})"
    ms = base + rng.choice([0, 1, -1, 999, 3_600_000, -86_400_000, rng.randrange(10**8)])
    instant = f"timestamp_micros({ms * 1000 + rng.choice([0, 0, 1, 999])})"
    return {
        "timestamp": instant,
        "date": f"cast({instant} as date)",
        "timestamp_ntz": f"cast({instant} as timestamp_ntz)",
        "bigint": f"{rng.choice([ms, ms, ms, 0, -(2**62), 2**63 - 1, 5])}L",
        "decimal(20,3)": f"cast({ms}.5 as decimal(20, 3))",
        "int": rng.choice(["0", "1", "-1", "2", "30", "2147483647"]),
        "boolean": rng.choice(["true", "false"]),
        "interval day to second": f"make_dt_interval(0, {rng.choice([0, 1, -25, 720])})",
        "double": f"double('{rng.choice(['0', '-0.0', '1.5', '-2', 'NaN', 'Infinity', '-Infinity', '1e300'])}')",
        "string": rng.choice(["'a'", "'mm'", "'zz'", "''", "'1'", "'10'", "'9'"]),
        "smallint": f"cast({rng.choice([0, 1, -3, 200, 32767, -32768])} as smallint)",
    }[kind]


def parts(rng: random.Random, around: list[int]) -> str:
    """Rows of many parts: near one instant each, some constant, some of one row, some of none but NULLs."""
    out = []
    for number in range(PARTS):
        base = rng.choice(around) + rng.choice([0, 0, 10**9, -(10**9), 10**7])
        fixed = {name for name in COLUMNS if rng.random() < 0.3}
        nulls = {name for name in COLUMNS if rng.random() < 0.05}
        constants = {name: value(rng, kind, base) for name, kind in COLUMNS.items()}
        for _ in range(rng.choice([1, 2, 4])):
            items = [
                f"cast(null as {kind})"
                if name in nulls
                else constants[name]
                if name in fixed
                else value(rng, kind, base)
                for name, kind in COLUMNS.items()
            ]
            out.append(f"({number}, {', '.join(items)})")
    return f"SELECT * FROM VALUES {', '.join(out)} AS v(part, {', '.join(COLUMNS)})"
