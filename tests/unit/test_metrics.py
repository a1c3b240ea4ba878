"""What a window implies of columns, against the metrics that formats keep of a file: no row is in a file left out.

The metrics are those of Iceberg: the least and the greatest value, NULL and NaN aside, texts by their bytes.
The predicate is judged as Spark does: NaN is greater than all and equal to itself, collated texts in any case.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.pushdown.inclusive_projection import project
from dbt.adapters.sparktemporal.pushdown.sargable import Range
from dbt.adapters.sparktemporal.temporal.rewrite.split import split
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression
from support.typed import over_timestamps

FIRST = 1_000_000
TYPES = {
    "k": "int", "n": "bigint", "x": "double", "f": "float", "s": "string", "c": "string collate UTF8_LCASE",
    "lo": "timestamp", "hi": "timestamp",
}  # fmt: skip
NAN = math.nan
VALUES: dict[str, tuple[Any, ...]] = {
    "k": (1, 2, 3, None), "n": (-5, 0, 7, None), "x": (-1.0, -0.0, 0.0, 2.5, NAN, NAN, None),
    "f": (-1.0, 0.0, NAN, NAN, None), "s": ("A", "a", "b", None), "c": ("A", "a", "B", "b", None),
    "lo": (FIRST - 10, FIRST, FIRST + 5, None), "hi": (FIRST, FIRST + 1, FIRST + 20, None),
}  # fmt: skip
CONSTANTS = {"k": "1", "n": "0", "x": "0", "f": "-1", "s": "'a'", "c": "'a'"}
CLOCK = ("mz_now() >= lo", "mz_now() < hi", "mz_now() <= lo", "mz_now() > hi", "mz_now() >= lo and mz_now() < hi")


def part(rng: random.Random, depth: int = 0) -> str:
    """A predicate over columns and the clock."""
    kind = rng.random()
    if depth < 3 and kind < 0.55:
        return f"({part(rng, depth + 1)} {rng.choice(['and', 'and', 'or', 'or'])} {part(rng, depth + 1)})"
    if depth < 3 and kind < 0.65:
        return f"not ({part(rng, depth + 1)})"
    if depth < 3 and kind < 0.71:
        form = rng.choice(["coalesce({}, {})", "(case when {} then {} end)", "(case when {} then {} else {} end)"])
        return form.format(*(part(rng, depth + 1) for _ in range(form.count("{}"))))
    if depth < 3 and kind < 0.73:
        return f"(({part(rng, depth + 1)}) is true)"
    if kind < 0.83:
        return rng.choice(CLOCK)
    column = rng.choice(list(CONSTANTS))
    constant = CONSTANTS[column]
    forms = [f"{column} {operator} {constant}" for operator in ("=", "<", "<=", ">", ">=", "<>")]
    forms += [f"{constant} < {column}", f"{column} in ({constant}, {constant})", f"{column} is null"]
    return rng.choice([*forms, f"{column} between {constant} and {constant}", f"{column} is not null"])


def order(value: Any, column: str) -> Any:
    """What Spark compares of a value."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.lower() if TYPES[column].endswith("LCASE") else value
    return (0, value)


def holds(node: exp.Expression, row: dict[str, Any], now: int) -> bool | None:
    """A predicate of a row at an instant (ms), in Spark's three values."""
    if isinstance(node, exp.Paren):
        return holds(node.this, row, now)
    if isinstance(node, exp.Not):
        inner = holds(node.this, row, now)
        return None if inner is None else not inner
    if isinstance(node, (exp.And, exp.Or)):
        both = [holds(node.left, row, now), holds(node.right, row, now)]
        decides = isinstance(node, exp.Or)
        return decides if decides in both else None if None in both else not decides
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        return holds(node.this, row, now) is True
    if isinstance(node, exp.Is):
        return row[node.this.name] is None
    if isinstance(node, exp.Case):
        taken = next((branch.args["true"] for branch in node.args["ifs"] if holds(branch.this, row, now)), None)
        value = node.args.get("default") if taken is None else taken
        return None if value is None else holds(value, row, now)
    if isinstance(node, exp.Anonymous):  # coalesce
        return next((found for e in node.expressions if (found := holds(e, row, now)) is not None), None)
    if isinstance(node, exp.In):
        return any_of([compared("=", node.this, e, row, now) for e in node.expressions])
    if isinstance(node, exp.Between):
        low, high = (compared(o, node.this, node.args[a], row, now) for o, a in ((">=", "low"), ("<=", "high")))
        return False if False in (low, high) else None if None in (low, high) else True
    return compared(SIGNS[type(node)], node.left, node.right, row, now)


SIGNS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def any_of(found: list[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def compared(operator: str, left: exp.Expression, right: exp.Expression, row: dict[str, Any], now: int) -> bool | None:
    column = next((e.name for e in (left, right) if isinstance(e, exp.Column)), "")
    values = []
    for side in (left, right):
        value = row[side.name] if isinstance(side, exp.Column) else constant(side, now)
        if value is None:
            return None
        values.append(order(value, column))
    a, b = values
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def constant(node: exp.Expression, now: int = 0) -> Any:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "mz_now":
        return now
    if isinstance(node, exp.Anonymous):  # timestamp_millis
        return constant(node.expressions[0])
    if isinstance(node, exp.Neg):
        return -constant(node.this)
    return node.this if node.is_string else int(str(node.this).rstrip("L"))


class File:
    """Rows, and what a format tells of them."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.nulls, self.ends = rows, {}, {}
        for column in TYPES:
            values = [row[column] for row in rows]
            told = [v for v in values if v is not None and v == v]
            self.nulls[column] = sum(v is None for v in values)
            self.ends[column] = (min(told), max(told)) if told else None

    def may_hold(self, node: exp.Expression) -> bool:
        """Whether a format that is asked for a predicate reads the file."""
        if isinstance(node, exp.Paren):
            return self.may_hold(node.this)
        if isinstance(node, exp.And):
            return self.may_hold(node.left) and self.may_hold(node.right)
        if isinstance(node, exp.Or):
            return self.may_hold(node.left) or self.may_hold(node.right)
        if isinstance(node, exp.Not) and isinstance(node.this.unnest(), exp.Is):
            return self.nulls[node.this.unnest().this.name] < len(self.rows)
        if isinstance(node, exp.Is):
            return self.nulls[node.this.name] > 0
        if isinstance(node, exp.In):
            return any(self._within("=", node.this.name, constant(e)) for e in node.expressions)
        if isinstance(node, exp.Between):
            ends = ((">=", "low"), ("<=", "high"))
            return all(self._within(o, node.this.name, constant(node.args[a])) for o, a in ends)
        operator = SIGNS[type(node)]
        if isinstance(node.right, exp.Column):
            mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
            return self._within(mirrored, node.right.name, constant(node.left))
        return self._within(operator, node.left.name, constant(node.right))

    def _within(self, operator: str, column: str, value: Any) -> bool:
        if self.ends[column] is None:
            return False
        low, high = self.ends[column]
        least, most = low <= value, high >= value
        return {
            "=": least and most, "<": low < value, "<=": least, ">": high > value, ">=": most, "<>": True
        }[operator]  # fmt: skip


def narrowed(predicate: str, clock: Range) -> str | None:
    sql = f"select k from t where {predicate}"
    (core,) = split(sql, lambda _: list(TYPES.items())).cores
    return project(over_timestamps(core, (("k", "int"),)), TYPES, clock, True)


@pytest.mark.parametrize("seed", range(4))
def test_no_row_is_in_a_file_left_out(seed: int) -> None:
    rng, left_out = random.Random(seed), 0
    for _ in range(120):
        clock = Range(FIRST, rng.choice([None, FIRST, FIRST + 10]))
        predicate = part(rng)
        if "mz_now()" not in predicate:
            predicate = f"({predicate} and mz_now() >= lo and mz_now() < hi) or (k = 1 and mz_now() >= hi)"
        found = narrowed(predicate, clock)
        if found is None:
            continue
        tree, asked = expression(predicate), expression(found)
        for _ in range(8):
            columns = rng.choice([list(TYPES), ["x", "f"]])
            first = {column: rng.choice(values) for column, values in VALUES.items()}
            rows = [first] + [first | {c: rng.choice(VALUES[c]) for c in columns} for _ in range(rng.randrange(3))]
            file = File(rows)
            if file.may_hold(asked):
                continue
            left_out += 1
            for now in range(FIRST, (clock.last or FIRST + 30) + 1):
                wanted = [row for row in rows if holds(tree, row, now)]
                assert not wanted, (predicate, found, now - FIRST, wanted)
    assert left_out > 20
