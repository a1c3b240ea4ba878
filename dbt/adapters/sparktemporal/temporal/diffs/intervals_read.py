"""SQL that reads chains of intervals: the rows of the view at an instant.

Without corrections (intervals with a negative mz_diff) a read is a filter. With a few corrections, the hashes of the
corrections are broadcast: only rows with such a hash are summed, and all other rows pass through the filter alone. The
hash of a row stands in the join condition alone. If that hash were a column of the rows, Spark's planning time would
double with each hashed column that a query above renames. With many corrections, all rows are summed.

A chain in buckets is read by two branches of a UNION ALL. Buckets are ordered as the ends of their intervals, so in the
buckets after the bucket of t all intervals end after t. Only in the bucket of t are the ends compared with t:

    mz_bucket    |  before  |  bucket of t  |  after  |  after  |  without an end  |
    the read     |  skipped |  mz_until > t |     all rows, mz_until is not read    |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..sql.spark.identity import identity, keeping_marks
from ..sql.text.dialect import quote
from . import buckets
from .intervals_sql import COPIES, DAMAGED, Columns, indent, no_rows
from .state import Chain

#: up to so many corrections are broadcast to every task
FEW_CORRECTIONS = 1_000_000


def read(
    chains: Sequence[Chain],
    schema: str,
    columns: Columns,
    t: str,
    earliest: int,
    splits: bool = True,
    joins: bool = True,
) -> str:
    """A query of the rows at t. t: SQL of an instant, which is `earliest` (ms) or later.

    splits: whether to read a chain in buckets by two branches of a UNION ALL. joins: whether to handle few corrections
    by a join, which Spark refuses in a nested query over a parameter.
    """
    names = ", ".join(quote(n) for n, _ in columns)
    if not chains:
        return no_rows(columns)
    corrections = sum(c.negative for c in chains)
    if not corrections:
        return _union(_there(names, chain, schema, t, earliest, splits=splits) for chain in chains)
    everything = _union(_there(f"{names}, mz_diff", chain, schema, t, earliest) for chain in chains)
    if corrections > FEW_CORRECTIONS or not joins:
        summed = _summed(everything, columns)
        return keeping_marks(summed, everything, names) if identity(columns).marked else summed
    key = f"xxhash64({', '.join(identity(columns).hashed)})"
    passing = _union(_there(names, chain, schema, t, earliest, splits=splits) for chain in chains)
    taken = _union(
        _there(f"{key} AS mz_key", chain, schema, t, earliest, "mz_diff < 0") for chain in chains if chain.negative
    )
    hint = f"SELECT /*+ BROADCAST(mz_taken) */ {names}"
    others = f"(\n{indent(taken, 2)}\n) AS mz_taken ON {key} = mz_taken.mz_key"
    untouched = f"{hint}\nFROM (\n{indent(passing, 2)}\n) AS mz_added\nLEFT ANTI JOIN {others}"
    touched = f"{hint}, mz_diff\nFROM (\n{indent(everything, 2)}\n) AS mz_added\nLEFT SEMI JOIN {others}"
    return f"{untouched}\nUNION ALL\n{_summed(touched, columns)}"


def _there(items: str, chain: Chain, schema: str, t: str, earliest: int, also: str = "", splits: bool = False) -> str:
    """A query of the intervals of a chain that contain t."""
    first = [also] if also else []
    arms = _arms(chain, t, earliest) if splits else [conditions(chain, t, earliest)]
    return _union(
        f"SELECT {items}\nFROM {schema}.{quote(chain.table)}" + (f"\nWHERE {' AND '.join(met)}" if met else "")
        for met in ([*first, *arm] for arm in arms)
    )


def conditions(chain: Chain, t: str, earliest: int) -> list[str]:
    """The conditions under which an interval of a chain contains t, without conditions that always hold."""
    ends = _has_not_ended(chain, t)
    return [*_has_begun(chain, t, earliest), *ends, *([f"mz_bucket > {t}"] if chain.bucketed else [])]


def _arms(chain: Chain, t: str, earliest: int) -> list[list[str]]:
    """The conditions of two branches (the bucket of t, later buckets); of one if no edge is known or nothing ends."""
    ends = _has_not_ended(chain, t)
    if chain.edges_from is None or not ends:
        return [conditions(chain, t, earliest)]
    begun, edge = _has_begun(chain, t, earliest), buckets.ends(f"({t})", chain.edges_from)
    return [[*begun, *ends, f"mz_bucket = {edge}"], [*begun, f"mz_bucket > {edge}"]]


def _has_begun(chain: Chain, t: str, earliest: int) -> list[str]:
    last = chain.max_from
    return [f"mz_from <= {t}"] if last is None or last > earliest else []


def _has_not_ended(chain: Chain, t: str) -> list[str]:
    has_ends = chain.max_from is None or chain.max_until is not None
    return [f"(mz_until IS NULL OR mz_until > {t})"] if has_ends else []


def _union(parts: Iterable[str]) -> str:
    return "\nUNION ALL\n".join(parts)


def _summed(rows: str, columns: Columns) -> str:
    same = identity(columns)
    return summed(rows, ", ".join(quote(n) for n, _ in columns), ", ".join(same.items), ", ".join(same.keys))


def summed(rows: str, names: str, items: str, keys: str) -> str:
    """A query that sums mz_diff over equal rows, and gives each row as often as its sum.

    names: the columns of a row. items: the same columns, over a group of equal rows. keys: the GROUP BY.
    """
    return (
        f"SELECT {names}\n"
        f"FROM (\n  SELECT {items}, sum(mz_diff) AS mz_n\n"
        f"  FROM (\n{indent(rows, 4)}\n  ) AS mz_chains\n"
        f"  GROUP BY {keys}\n  HAVING sum(mz_diff) <> 0\n) AS mz_sums\n"
        f"LATERAL VIEW explode(array_repeat(0, {COPIES})) mz_copies AS mz_copy"
    )


def over_time(stored: str, columns: Columns) -> str:
    """Intervals with mz_diff -> intervals without, from the running total of each row: a total of n gives n rows.

    The query raises where a total is negative, as a read does.
    """
    names = "".join(f"{quote(n)}, " for n, _ in columns)
    same = identity(columns)
    items, keys = ("".join(f"{part}, " for part in parts) for parts in (same.items, same.keys))
    partition = f"PARTITION BY {keys[:-2]} " if keys else ""
    updates = (
        f"SELECT {items}mz_timestamp, sum(mz_sign) AS mz_diff\n"
        f"FROM (\n{indent(stored, 2)}\n) AS mz_stored\n"
        f"LATERAL VIEW stack(2, mz_from, mz_diff, mz_until, -mz_diff) mz_edges AS mz_timestamp, mz_sign\n"
        f"WHERE mz_timestamp IS NOT NULL\n"
        f"GROUP BY {keys}mz_timestamp\nHAVING sum(mz_sign) <> 0"
    )
    totals = (
        f"SELECT {names}mz_timestamp AS mz_from, lead(mz_timestamp) OVER mz_row AS mz_until, "
        f"sum(mz_diff) OVER mz_row AS mz_n\n"
        f"FROM (\n{indent(updates, 2)}\n) AS mz_updates\n"
        f"WINDOW mz_row AS ({partition}ORDER BY mz_timestamp)"
    )
    copies = f"CASE WHEN mz_n >= 0 THEN CAST(mz_n AS INT) ELSE CAST({DAMAGED} AS INT) END"
    rows = (
        f"SELECT {names}mz_from, mz_until\n"
        f"FROM (\n{indent(totals, 2)}\n) AS mz_totals\n"
        f"LATERAL VIEW explode(array_repeat(0, {copies})) mz_copies AS mz_copy"
    )
    return keeping_marks(rows, stored, f"{names}mz_from, mz_until") if same.marked else rows
