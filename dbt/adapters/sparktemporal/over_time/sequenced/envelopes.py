"""Updates by a key: one row for each key and instant, for targets that keep one row for each key.

| envelope | columns | mz_state |
|---|---|---|
| diffs | mz_timestamp, mz_diff, mz_definite, columns | |
| upsert | mz_timestamp, mz_state, mz_definite, columns; for a delete NULL, except in the key | upsert, delete |
| debezium | mz_timestamp, mz_state, mz_definite, key, before_…, after_… | insert, upsert, delete |

A key with two rows at one instant is an error: a merge by such a key would keep an arbitrary one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import Refusal, raised
from ...temporal.diffs.intervals_sql import Columns, nested
from ...temporal.sql.text.dialect import quote, string_literal
from ...temporal.sql.text.identifiers import folded
from .histories import partition

DIFFS, UPSERT, DEBEZIUM = "diffs", "upsert", "debezium"
ENVELOPES = (DIFFS, UPSERT, DEBEZIUM)


def by_key(
    updates: str,
    model: str,
    columns: Columns,
    key: Sequence[str],
    envelope: str,
    later_than: int | None,
    last: bool = False,
    nulls: bool = True,
) -> str:
    """Updates that begin with a snapshot -> one row for each key and instant, in the form of the envelope.

    later_than: the stamp (ms) of the snapshot, to leave the snapshot out; None to keep the snapshot.
    last: only the last update of each key. nulls: whether a key may be NULL, which a MERGE never finds.
    """
    found = [(n, kind) for n, kind in columns if folded(n) in {folded(k) for k in key}]
    keys, each = ", ".join(quote(n) for n, _ in found), partition(found)
    row = f"named_struct({', '.join(f'{string_literal(n)}, {quote(n)}' for n, _ in columns)})"
    changed = (
        f"SELECT {keys}, mz_timestamp, any_value(mz_definite) AS mz_definite,\n"
        f"  sum(mz_diff) AS mz_seq_more, sum(mz_diff) FILTER (WHERE mz_diff > 0) AS mz_seq_come,\n"
        f"  any_value({row}) FILTER (WHERE mz_diff < 0) AS mz_seq_before,\n"
        f"  any_value({row}) FILTER (WHERE mz_diff > 0) AS mz_seq_after\n"
        f"FROM {nested(updates, 'mz_updates')}\nGROUP BY {keys}, mz_timestamp"
    )
    following = f", lead(mz_timestamp) OVER ({each}ORDER BY mz_timestamp) AS mz_seq_next" if last else ""
    running = (
        f"SELECT *, sum(mz_seq_more) OVER ({each}ORDER BY mz_timestamp) AS mz_seq_rows{following}\n"
        f"FROM {nested(changed, 'mz_changed')}"
    )
    # the first such instant of the key, wherever in the range it is
    several_at = "min(CASE WHEN mz_seq_rows > 1 OR mz_seq_come > 1 THEN mz_timestamp END)"
    checked = f"SELECT *, {several_at} OVER ({each[:-1]}) AS mz_seq_several_at\nFROM {nested(running, 'mz_running')}"
    shown = ", ', ', ".join(f"{string_literal(k + ': ')}, coalesce(CAST({quote(k)} AS STRING), 'NULL')" for k in key)
    message = string_literal(raised("ST006", f"the unique_key of {model} has several rows at one instant: "))
    several = f"raise_error(concat({message}, {shown}, ' at ', mz_seq_several_at, ' ms')) IS NULL"
    # conditions, because a reader of few columns would not evaluate a column
    wanted = [f"(mz_seq_several_at IS NULL OR {several})"]
    if not nulls:
        message = string_literal(raised("ST007", f"the unique_key of {model} is NULL, which a merge never finds: "))
        there = " AND ".join(f"{quote(k)} IS NOT NULL" for k in key)
        wanted.append(f"({there} OR raise_error(concat({message}, {shown})) IS NULL)")
    comes = "'upsert'" if envelope == UPSERT else "IF(mz_seq_before IS NULL, 'insert', 'upsert')"
    items = _items(columns, keys, {folded(k) for k in key}, envelope)
    wanted += [] if later_than is None else [f"mz_timestamp > {later_than}L"]
    wanted += ["mz_seq_next IS NULL"] if last else []
    return (
        f"SELECT mz_timestamp, IF(mz_seq_rows = 0, 'delete', {comes}) AS mz_state, mz_definite, {items}\n"
        f"FROM {nested(checked, 'mz_checked')}\nWHERE {' AND '.join(wanted)}"
    )


def _items(columns: Columns, keys: str, key: set[str], envelope: str) -> str:
    if envelope == UPSERT:
        items = [quote(n) if folded(n) in key else f"mz_seq_after.{quote(n)} AS {quote(n)}" for n, _ in columns]
        return ", ".join(items)
    sides = [f"mz_seq_{side}.{quote(n)} AS {quote(f'{side}_{n}')}" for side in ("before", "after") for n, _ in columns]
    return ", ".join([keys, *sides])


def keys_of(given: object, columns: Columns, envelope: str, model: str) -> list[str]:
    """Check `unique_key` -> its columns, as the model spells them. Raises Refusal."""
    listed = list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]
    known = {folded(n): n for n, _ in columns}
    unknown = next((str(k) for k in listed if folded(str(k)) not in known), None)
    instead = f"unique_key='{columns[0][0]}', or a list of columns; or envelope='diffs'"
    if not listed:
        raise Refusal(
            "ST631",
            f"envelope={envelope!r} without a unique_key",
            "this envelope has one row for each key and instant",
            instead,
        )
    if unknown is not None:
        raise Refusal("ST632", f"unique_key {unknown}", f"{model} has no such column", instead)
    found = list(dict.fromkeys(known[folded(str(k))] for k in listed))
    if envelope == DEBEZIUM:
        _refuse_sides(found, columns, model)
    return found


def _refuse_sides(keys: Sequence[str], columns: Columns, model: str) -> None:
    sides = {f"{side}_{folded(n)}" for side in ("before", "after") for n, _ in columns}
    twice = next((k for k in keys if folded(k) in sides), None)
    if twice is not None:
        raise Refusal(
            "ST633",
            f"envelope={DEBEZIUM!r} with the unique_key {twice}",
            "the envelope has a column of that name, of the row before or after",
            f"an alias for {twice} in {model}",
        )
