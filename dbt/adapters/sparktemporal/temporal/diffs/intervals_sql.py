"""SQL that turns the rows of a core into signed intervals.

A row that is in the view from `mz_from` until before `mz_until` stands for two updates:

    (data, mz_from, +mz_diff)      ----[mz_from =========== mz_until)---->
    (data, mz_until, -mz_diff)         ^ enters              ^ leaves

`mz_until` is NULL when the row never leaves, or leaves only after the expiration: later updates are not stored.
All times are BIGINT milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ...errors import Refusal, raised
from ..predicates.bounds import bounds, saturates, widest
from ..rewrite.apart import no_facts
from ..rewrite.core import Core, TypedCore, with_operands
from ..rewrite.coverage_sql import from_instant
from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import expression, quote, render
from ..sql.text.helper_columns import is_reserved, operand_column, static_column
from ..sql.text.identifiers import dotted
from .spans import spans

Columns = Sequence["tuple[str, str]"]

#: the columns of an update before its data
UPDATE = (("mz_timestamp", "BIGINT"), ("mz_diff", "BIGINT"))
#: the columns of an interval after its data
TIMES = (("mz_from", "BIGINT"), ("mz_until", "BIGINT"))
#: more retractions than rows mean damaged chains: a read raises this error, and never shows fewer rows
DAMAGED_MESSAGE = raised("ST002", "the diffs retract a row more often than it was added")
DAMAGED = f"raise_error('{DAMAGED_MESSAGE}')"
#: SQL of how often a read shows a row whose diffs sum up to mz_n
COPIES = f"CASE WHEN mz_n > 0 THEN CAST(mz_n AS INT) ELSE CAST({DAMAGED} AS INT) END"


def probe(core: Core, projection: str | None = None) -> exp.Query:
    """A query of the core's rows, with the operands of its comparisons and the row expressions of its condition.

    projection: SQL over the columns of the core's SELECT that skips rows early.
    """
    query = with_operands(core)
    if projection is not None:
        assert isinstance(query, exp.Select)
        query = query.where(expression(projection), copy=False)
    return query


def check_columns(columns: Columns, spark_version: str) -> None:
    """Refuse columns that cannot be stored and consolidated without changing the results of reads."""
    seen: set[str] = set()
    for name, spark_type in columns:
        kind = spark_type.lower()
        if is_reserved(name):
            raise Refusal("ST346", f"column {name}", "the project keeps its own column of that name", "another alias")
        if "\n" in name or "\r" in name:
            raise Refusal(
                "ST347",
                f"column {name!r}",
                "its name has a line break in it, which SQL of many lines does not keep",
                "an alias",
            )
        if name.lower() in seen:
            raise Refusal(
                "ST348", f"column {name} twice", "a view has each column name once", "an alias for one of them"
            )
        seen.add(name.lower())
        if re.search(r"\bvoid\b", kind):
            raise Refusal(
                "ST349", f"column {name} {spark_type}", "a bare NULL has no type to store", "CAST(NULL AS ...)"
            )
        if "variant" in kind or " collate " in kind or "calendar" in kind or kind == "interval":
            raise Refusal(
                "ST350",
                f"column {name} {spark_type}",
                "equal values of this type need not be the same, so corrections could meet the wrong row",
                f"CAST({dotted([name])} AS STRING), or the column without its collation",
            )
        if "map<" in kind and int(spark_version.split(".")[0]) < 4:
            raise Refusal(
                "ST351",
                f"column {name} {spark_type}",
                f"Spark {spark_version} cannot compare maps (Spark 4 can)",
                f"map_entries({dotted([name])}) or to_json({dotted([name])})",
            )


def desired(
    typed: TypedCore, as_of: int, expiration: int | None, projection: str | None = None, whole: bool = False
) -> str:
    """The intervals of the core's rows from `as_of` to `expiration` (ms).

    A row that arrives after its window leaves no trace. A row whose window is open enters at `as_of`.
    projection: SQL of comparisons of single columns, implied by the window, so that Spark skips files (see `pushdown`).
    whole: one interval for each row, from the beginning of its first interval to the end of its last.
    """
    core = typed.core
    quoted = [quote(n) for n, _ in typed.columns]
    names = "".join(f"{n}, " for n in quoted)
    items = "".join(f"{item}, " for item in no_facts(quoted)) if typed.correlates else names
    edges = bounds(_compared(core))
    lower, upper = widest("greatest", (f"{as_of}L", *edges.lowers)), edges.upper
    where = "".join(f"\n    {'WHERE' if i == 0 else '  AND'} {p}" for i, p in enumerate(edges.present))
    until, late = cut_at(expiration, "\n  ")
    skips = "    -- the last condition is what the window implies of single columns\n" if projection else ""
    probed = from_instant(pretty(probe(core, projection)), as_of)
    rows = f"  FROM (\n{skips}{indent(probed, 4)}\n  ) AS mz_rows{where}"
    if core.condition is None:
        intervals = f"  SELECT {items}\n    {lower} AS mz_from,\n    {upper} AS mz_until\n{rows}"
    else:
        row_expressions = "".join(f"{quote(static_column(i))}, " for i in range(len(core.condition.row_expressions)))
        bounded = f"  SELECT {items}{row_expressions}\n    {lower} AS mz_lower,\n    {upper} AS mz_upper\n{rows}"
        intervals = indent(spans(bounded, quoted, typed, whole), 2)
    return (
        f"SELECT {names}mz_from, {until}, 1L AS mz_diff\n"
        f"FROM (\n{intervals}\n) AS mz_intervals\n"
        f"WHERE (mz_until IS NULL OR mz_until > mz_from){late}"
    )


def cut_at(expiration: int | None, before: str = " ") -> tuple[str, str]:
    """(SQL of `mz_until`, a condition that begins with AND), without the updates after the expiration (ms).

    Without an expiration the condition is "". before: the blanks before the AND.
    """
    if expiration is None:
        return "mz_until", ""
    return f"CASE WHEN mz_until <= {expiration}L THEN mz_until END AS mz_until", f"{before}AND mz_from <= {expiration}L"


def always_ends(typed: TypedCore) -> bool:
    """Whether all windows have an upper bound and no lower one.

    Then a row that is stored without `mz_until` ends after the expiration.
    """
    every = _compared(typed.core)
    ends = bounds([one for one in every if not one[-1]]).uppers
    return typed.core.condition is None and not bounds(every).lowers and not all(map(saturates, ends))


def _compared(core: Core) -> list[tuple[str, str, str, bool]]:
    """The comparisons of a core for `bounds`: (operator, column of the operand, kind, whether optional)."""
    return [(c.operator, operand_column(i), c.kind, c.optional) for i, c in enumerate(core.comparisons)]


#: a number (ms) before any instant
ALWAYS = -(1 << 62)


def not_stored(
    typed: TypedCore, as_of: int, expiration: int | None, projection: str | None = None, by_one: bool = False
) -> str:
    """A query of three counts: updates after the expiration, windows over by `as_of`, and intervals to store.

    The first two are not stored. (For a general condition, only the intervals from `as_of` on are known.)
    projection: SQL that is true for all rows that leave after the expiration, if only these need to be counted.
    by_one: whether to count in one task.
    """
    beyond = "0L"
    if expiration is not None:
        beyond = f"CASE WHEN mz_from > {expiration}L THEN 1L + CAST(mz_until IS NOT NULL AS BIGINT) "
        beyond += f"WHEN mz_until > {expiration}L THEN 1L ELSE 0L END"
    windows = desired(replace(typed, columns=()), ALWAYS if typed.core.condition is None else as_of, None, projection)
    stored = f"(mz_until IS NULL OR mz_until > {as_of}L){cut_at(expiration)[1]}"
    windows = by_one_task(windows) if by_one else windows
    return (
        f"SELECT coalesce(sum({beyond}), 0), count_if(mz_until <= {as_of}L), count_if({stored})\n"
        f"FROM (\n{indent(windows, 2)}\n) AS mz_windows"
    )


def of_few(typed: TypedCore, rows: int) -> str:
    """A query of one row over the windows of `rows` rows: first beginning, last beginning, first end, last end (ms).

    An instant is NULL where no window begins or ends. The core has only comparisons, no general condition.
    """
    edges = bounds(_compared(typed.core))
    return (
        f"SELECT min(mz_from), max(mz_from), min(mz_until), max(mz_until)\n"
        f"FROM (\n  SELECT {edges.lower} AS mz_from, {edges.upper} AS mz_until\n"
        f"  FROM (\n{indent(pretty(probe(typed.core)), 4)}\n  ) AS mz_rows\n  LIMIT {rows}\n) AS mz_few"
    )


def create_chain(table: str, rows: str, using: str, order: str, bucket: str | None = None) -> str:
    """The one statement that writes a chain, sorted by time, so that reads skip row groups.

    bucket: SQL of a row's bucket, where the chain is partitioned.
    """
    if bucket is None:
        return f"CREATE TABLE {table}{using} AS\nSELECT * FROM (\n{indent(rows, 2)}\n) AS mz_chain\nSORT BY {order}"
    placed = f"SELECT *, {bucket} AS mz_bucket FROM (\n{indent(rows, 2)}\n) AS mz_chain"
    together = f"SELECT /*+ REBALANCE(mz_bucket) */ * FROM (\n{indent(placed, 2)}\n) AS mz_placed"
    return (
        f"CREATE TABLE {table}{using} PARTITIONED BY (mz_bucket) AS\n"
        f"SELECT * FROM (\n{indent(together, 2)}\n) AS mz_buckets\nSORT BY mz_bucket, {order}"
    )


def no_rows(columns: Columns) -> str:
    """An empty relation of these columns."""
    return (
        f"SELECT {', '.join(f'CAST(NULL AS {sql_type(kind)}) AS {quote(name)}' for name, kind in columns)}\nWHERE false"
    )


def by_one_task(rows: str) -> str:
    """The same rows in one partition. An aggregate of few rows is then one stage, without a shuffle."""
    return f"SELECT /*+ COALESCE(1) */ *\nFROM (\n{indent(rows, 2)}\n) AS mz_few"


def indent(text: str, by: int) -> str:
    """The lines of a text, moved to the right. `splitlines` would also split literals with separators of Unicode."""
    return "\n".join(" " * by + line for line in text.split("\n"))


def nested(sql: str, alias: str) -> str:
    """A query as a derived table for a FROM: in parentheses, with an alias."""
    return f"{enclosed(sql)} AS {alias}"


def enclosed(sql: str) -> str:
    """A query in parentheses."""
    return f"(\n{indent(sql, 2)}\n)"


def pretty(node: exp.Expr) -> str:
    return render(node, pretty=True)
