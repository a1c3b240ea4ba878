"""Configs of other materializations: what a temporal_view does with them.

A table that becomes a temporal_view by one word keeps its other configs. A config that decides which rows the table has
is refused. A run that builds the model names the configs that do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .errors import Refusal

_BUCKETS = "chains have partitions of their own, by the instant at which rows leave"
_MERGE = "a run merges nothing into a table: the view is its query over all rows of the inputs"
_BATCHES = "a run reads what changed in its inputs, in no batches"
_FILES = "chains are written with the settings of the session"

#: config -> why it does nothing
_IDLE: dict[str, str] = {
    "incremental_strategy": _MERGE,
    "incremental_predicates": _MERGE,
    "predicates": _MERGE,
    "merge_update_columns": _MERGE,
    "merge_exclude_columns": _MERGE,
    "on_schema_change": "a run after a change of the query rebuilds the model with the columns that the query has then",
    "partition_by": _BUCKETS,
    "clustered_by": _BUCKETS,
    "buckets": _BUCKETS,
    "begin": _BATCHES,
    "batch_size": _BATCHES,
    "concurrent_batches": _BATCHES,
    "location_root": "chains are where the schema is: CREATE SCHEMA … LOCATION gives another place",
    "tblproperties": _FILES,
    "options": _FILES,
    "compression": _FILES,
    "sql_header": "it is not sent: a pre_hook is",
}
#: config -> the value that dbt itself fills in
_DEFAULTS = {"on_schema_change": "ignore"}


def refusals(config: Mapping[str, Any]) -> Iterator[Refusal]:
    """A Refusal for each config that would give the model other rows than its query."""
    if key := config.get("unique_key"):
        keys = ", ".join(key) if isinstance(key, list) else key
        yield Refusal(
            "ST113",
            f"unique_key: {key!r}",
            "a merge keeps the last row of each key, and a temporal_view has all rows of its query",
            f"the query says so: row_number() OVER (PARTITION BY {keys} ORDER BY … DESC) = 1 above the window, or "
            "max_by(…) by key (docs/howto/migrate-incremental.md). Where each key comes once, no unique_key",
        )


def not_carried_out(config: Mapping[str, Any]) -> str:
    """The configs of the model that do nothing, in words; "" for none."""
    idle: dict[str, list[str]] = {}
    for name, why in _IDLE.items():
        if config.get(name) not in (None, _DEFAULTS.get(name)):
            idle.setdefault(why, []).append(name)
    listed = "; ".join(f"{', '.join(names)} ({why})" for why, names in idle.items())
    return f"configs that do nothing here: {listed}" if idle else ""
