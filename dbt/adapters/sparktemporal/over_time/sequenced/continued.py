"""Queries over a table of a model's updates: the rows of the table, and the difference from the rows of the model.

| envelope | the rows of the table are |
|---|---|
| diffs | the sum of `mz_diff` of each row |
| upsert | the last update of each key, unless its `mz_state` is `delete` |
| debezium | the columns `after_…` of the last update of each key, unless its `mz_state` is `delete` |

The last update of a key has the greatest `mz_timestamp`. In a debezium table two updates of a key may have the same
`mz_timestamp`, because a run may write a difference at an instant of which the table already has an update. The last of
the two has the greater `mz_batch`, the number of a run of the feed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...temporal.diffs.intervals_sql import Columns, nested
from ...temporal.sql.spark.identity import identity
from ...temporal.sql.spark.timestamps import sql_type
from ...temporal.sql.text.dialect import quote, string_literal
from ...temporal.sql.text.identifiers import folded
from .envelopes import DEBEZIUM, DIFFS

BATCH = "mz_batch"


def rows_of(table: str, held: Mapping[str, str], columns: Columns, envelope: str, key: Sequence[str]) -> str:
    """A query: the columns of the model, and `mz_n`, how often the table has the row.

    held: the folded name of a column of the table -> the name in the table. A column that the table lacks is NULL.
    """
    prefix = "after_" if envelope == DEBEZIUM else ""
    items = []
    for name, kind in columns:
        there = held.get(folded(f"{prefix}{name}"))
        items.append(f"CAST({'NULL' if there is None else quote(there)} AS {sql_type(kind)}) AS {quote(name)}")
    same = identity(columns)
    if envelope == DIFFS:
        kept, keys = (", ".join(parts) for parts in (same.items, same.keys))
        stored = f"SELECT {', '.join(items)}, {quote(held['mz_diff'])} AS mz_diff\nFROM {table}"
        return (
            f"SELECT {kept}, sum(mz_diff) AS mz_n\nFROM {nested(stored, 'mz_taken')}\n"
            f"GROUP BY {keys}\nHAVING sum(mz_diff) <> 0"
        )
    row = f"named_struct({', '.join(f'{string_literal(n)}, {quote(n)}' for n, _ in columns)})"
    keyed = ", ".join(f"{quote(held[folded(k)])} AS mz_key_{at}" for at, k in enumerate(key))
    order = ["mz_timestamp", *([BATCH] if envelope == DEBEZIUM else [])]
    own = ", ".join(f"{quote(held[name])} AS {name}" for name in ("mz_state", *order))
    stored = f"SELECT {keyed}, {', '.join(items)}, {own}\nFROM {table}"
    last = (
        f"SELECT max_by(named_struct('row', {row}, 'state', mz_state), struct({', '.join(order)})) AS mz_last\n"
        f"FROM {nested(stored, 'mz_taken')}\n"
        f"GROUP BY {', '.join(f'mz_key_{at}' for at in range(len(key)))}"
    )
    names = ", ".join(f"mz_last.row.{quote(n)} AS {quote(n)}" for n, _ in columns)
    return f"SELECT {names}, 1L AS mz_n\nFROM {nested(last, 'mz_by_key')}\nWHERE mz_last.state <> 'delete'"


def difference(rows: str, wanted: str, columns: Columns, instant: int) -> str:
    """A query of the updates at an instant (ms) that turn the rows of a table (with `mz_n`) into the rows `wanted`."""
    names = ", ".join(quote(n) for n, _ in columns)
    same = identity(columns)
    kept, keys = (", ".join(parts) for parts in (same.items, same.keys))
    both = (
        f"SELECT {names}, 1L AS mz_n FROM {nested(wanted, 'mz_wanted')}\n"
        f"UNION ALL\nSELECT {names}, -mz_n FROM {nested(rows, 'mz_has')}"
    )
    summed = (
        f"SELECT {kept}, sum(mz_n) AS mz_diff\nFROM {nested(both, 'mz_both')}\nGROUP BY {keys}\nHAVING sum(mz_n) <> 0"
    )
    return (
        f"SELECT {instant}L AS mz_timestamp, mz_diff, true AS mz_definite, {names}\n"
        f"FROM {nested(summed, 'mz_difference')}"
    )


def standing(rows: str, columns: Columns, instant: int) -> str:
    """A query of updates at an instant (ms) that insert the rows of a table (with `mz_n`)."""
    names = ", ".join(quote(n) for n, _ in columns)
    return (
        f"SELECT {instant}L AS mz_timestamp, mz_n AS mz_diff, true AS mz_definite, {names}\n"
        f"FROM {nested(rows, 'mz_standing')}"
    )
