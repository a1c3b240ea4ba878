"""Chains: how they are named, and when they are merged and dropped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from .state import State

#: more live chains than this are merged into one
CHAIN_CAP = 6

#: chains of so many rows are partitioned by bucket; for fewer that costs more than it saves
LARGE_CHAIN = 1_000_000

#: chains that no state ever named are left alone this long: their run may still be writing (ms)
LONGEST_RUN_MS = 24 * 3_600_000

#: a lock older than this belongs to nobody (ms)
STALE_LOCK_MS = 3_600_000


def new_run_id(clock: int) -> str:
    """A name that is never used again. It starts with the clock (ms), so that the age of an orphan can be told."""
    return f"{max(clock, 0):011x}{secrets.token_hex(4)}"


def run_clock(run_id: str) -> int | None:
    return int(run_id[:-8], 16) if re.fullmatch(r"[0-9a-f]{19,24}", run_id) else None


def chain_name(model: str, run_id: str, core: str = "c0") -> str:
    """The first core's chain is `<model>__diffs_<run>`, another's ends in its name."""
    return f"{model}__diffs_{run_id}" + ("" if core == "c0" else f"_{core}")


@dataclass(frozen=True)
class Sweep:
    """What to drop now, and what the state is to remember as retired (table, when)."""

    drop: tuple[str, ...]
    retired: tuple[tuple[str, int], ...]


def sweep(
    model: str, existing: Sequence[str], old: State | None, new_tables: Sequence[str], clock: int, retention: int
) -> Sweep:
    """Which chains of a model may go: those no state has named for `retention` ms, and orphans of dead runs.

    Without an old state nothing is known about what exists, so nothing is dropped.
    """
    retired = dict(old.retired) if old else {}
    if old:
        for chain in old.chains:
            if chain.table not in new_tables:
                retired.setdefault(chain.table, clock)
    drop = [t for t, at in retired.items() if clock - at >= retention]
    if old:
        known = {*retired, *new_tables, *(c.table for c in old.chains)}
        prefix = f"{model}__diffs_".lower()
        for table in existing:
            if table.lower().startswith(prefix) and table not in known:
                born = run_clock(table[len(prefix) :].split("_")[0])
                if born is not None and clock - born > LONGEST_RUN_MS:
                    drop.append(table)
    kept = tuple((t, at) for t, at in retired.items() if t not in drop and t in existing)
    return Sweep(tuple(t for t in drop if t in existing), kept)
