"""Another engine's SQL of the rows, or of the groups, of a core at an instant.

`intervals_read` and `groups_sql` define the read. The SQL here says the same without the parts that only Spark needs:
hints, UNION ALL branches that save a comparison, LATERAL VIEW.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import Refusal
from ...temporal.diffs.groups_sql import GroupStore
from ...temporal.diffs.intervals_read import conditions
from ...temporal.diffs.intervals_sql import DAMAGED_MESSAGE, indent
from ...temporal.diffs.state import Chain, CoreState
from ...temporal.diffs.stores import store_of
from ...temporal.rewrite.linear_aggregates import COUNT
from .dialects import NESTED_TEXTS, Dialect, holds_doubles, is_nested, quote

#: table of a chain -> what stands for it in a FROM
Sources = Mapping[str, str]


def rows(core: CoreState, sources: Sources, t: str, earliest: int, dialect: Dialect) -> str:
    """A query of the rows or groups of a core at t. t: SQL of an instant (ms) from `earliest` on.

    Chains without rows are left out, because such a chain may have no files.
    """
    chains = [chain for chain in core.chains if chain.rows]
    if not chains:
        nulls = [f"CAST(NULL AS {dialect.column_type(n, k)}) AS {quote(n)}" for n, k in core.read_columns]
        return f"SELECT {', '.join(nulls) or '1 AS mz_nothing'} WHERE false"
    if isinstance(store_of(core), GroupStore):
        return _groups(core, chains, sources, t, dialect)
    corrections = any(chain.negative for chain in chains)
    items = [f"{dialect.value(n, k)} AS {quote(n)}" for n, k in core.columns]
    there = "\nUNION ALL\n".join(
        _from([*items, *(["mz_diff"] if corrections else [])], sources[chain.table], conditions(chain, t, earliest))
        for chain in chains
    )
    return _summed(core, there, dialect) if corrections else there


def _from(items: Sequence[str], source: str, met: Sequence[str]) -> str:
    where = f"\nWHERE {' AND '.join(met)}" if met else ""
    return f"SELECT {', '.join(items) or '1 AS mz_nothing'}\nFROM {source}{where}"


def _summed(core: CoreState, there: str, dialect: Dialect) -> str:
    """Add up rows and their corrections: each row comes as often as the sum of its mz_diff."""
    nested = next((n for n, k in core.columns if is_nested(k) and holds_doubles(k)), None)
    if nested is not None and NESTED_TEXTS in dialect.lacks:
        raise Refusal(
            "ST815",
            f"column {nested} of arrays, maps or structs of doubles in a model with corrections",
            f"0.0 and -0.0 in them are not told apart by {dialect.name}",
            "dbt run --full-refresh, which leaves no corrections; or a read by Spark",
        )
    names = [quote(n) for n, _ in core.columns]
    # equal values that are not the same, as 0.0 and -0.0, differ in their texts
    apart = [f"CAST({quote(n)} AS VARCHAR)" for n, k in core.columns if holds_doubles(k)]
    group = f"  GROUP BY {', '.join([*names, *apart])}\n" if names else ""
    items = [f"any_value({quote(n)}) AS {quote(n)}" for n, _ in core.columns]
    copies = f"CASE WHEN mz_n > 0 THEN mz_n ELSE {dialect.raised(DAMAGED_MESSAGE, 'BIGINT')} END"
    return (
        f"SELECT {', '.join(names) or '1 AS mz_nothing'}\n"
        f"FROM (\n  SELECT {', '.join([*items, 'CAST(sum(mz_diff) AS BIGINT) AS mz_n'])}\n"
        f"  FROM (\n{indent(there, 4)}\n  ) AS mz_chains\n{group}  HAVING sum(mz_diff) <> 0\n) AS mz_sums, "
        f"{dialect.copies.format(n=copies)} AS mz_copies(mz_copy)"
    )


def _groups(core: CoreState, chains: Sequence[Chain], sources: Sources, t: str, dialect: Dialect) -> str:
    """The groups at t: the sums of all updates up to t."""
    sums = core.sums or ()
    keys = [quote(n) for n, _ in core.columns]
    items = [f"{dialect.value(n, k)} AS {quote(n)}" for n, k in core.columns]
    kept = [quote(n) for n, _ in sums]
    due = "\nUNION ALL\n".join(
        _from([*items, "mz_diff", *kept], sources[chain.table], _due(chain, t)) for chain in chains
    )
    totals = [f"CAST(sum({quote(n)}) AS {dialect.column_type(n, k)}) AS {quote(n)}" for n, k in sums]
    damaged = dialect.raised(DAMAGED_MESSAGE, "BIGINT")
    number = f"CASE WHEN {COUNT} > 0 THEN {COUNT} ELSE {damaged} END AS {COUNT}"
    group = f"  GROUP BY {', '.join(keys)}\n" if keys else ""
    return (
        f"SELECT {', '.join([*keys, number, *kept])}\n"
        f"FROM (\n  SELECT {', '.join([*keys, f'CAST(sum(mz_diff) AS BIGINT) AS {COUNT}', *totals])}\n"
        f"  FROM (\n{indent(due, 4)}\n  ) AS mz_chains\n{group}  HAVING sum(mz_diff) <> 0\n) AS mz_groups"
    )


def _due(chain: Chain, t: str) -> list[str]:
    after = [] if chain.after is None else [f"mz_timestamp > {chain.after}"]
    first = [] if chain.first is None else [f"mz_bucket >= {chain.first}"]
    return [*after, *first, f"mz_timestamp <= {t}", *([f"mz_bucket <= {t}"] if chain.bucketed else [])]
