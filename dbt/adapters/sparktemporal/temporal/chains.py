"""The tables of a model: how they are named, and when they are merged and dropped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from .state import Chain, State

#: each chain has at least so many times the rows of the next, and there are at most so many
RATIO, CHAIN_CAP = 3, 6

#: chains of fewer rows are merged with their times as they are: what was can still be read, and costs little
SMALL_CHAIN = 100_000

#: chains of so many rows are partitioned by bucket; for fewer that costs more than it saves
LARGE_CHAIN = 1_000_000

#: chains that no state ever named are left alone this long: their run may still be writing (ms)
LONGEST_RUN_MS = 24 * 3_600_000

#: chains that another model has still to follow are kept this long, if it never runs again (ms)
LONGEST_HELD_MS = 7 * 24 * 3_600_000

#: a lock older than this belongs to nobody (ms)
STALE_LOCK_MS = 3_600_000


def new_run_id(clock: int) -> str:
    """A name that is never used again. It starts with the clock (ms), so that the age of an orphan can be told."""
    return f"{max(clock, 0):011x}{secrets.token_hex(3)}00"


def next_id(run_id: str) -> str:
    """Another name for tables of the same run: those of one run differ in the last two digits."""
    return f"{run_id[:-2]}{int(run_id[-2:], 16) + 1:02x}"


def is_of_run(model: str, table: str, run_id: str) -> bool:
    """Whether a table was written by a run of a model."""
    return born_of(model, table) is not None and f"_{run_id[:-2]}" in table.lower()


def run_clock(run_id: str) -> int | None:
    return int(run_id[:-8], 16) if re.fullmatch(r"[0-9a-f]{19,24}", run_id) else None


def chain_name(model: str, run_id: str, core: str = "c0") -> str:
    """The first core's chain is `<model>__diffs_<run>`, another's ends in its name."""
    return f"{model}__diffs_{run_id}" + ("" if core == "c0" else f"_{core}")


def watermark_name(model: str, run_id: str) -> str:
    """The table of the files that a run read."""
    return f"{model}__inputs_{run_id}"


def statistics_name(model: str, run_id: str) -> str:
    """The table of what a run knew of the files of its inputs."""
    return f"{model}__stats_{run_id}"


def born_of(model: str, table: str) -> int | None:
    """The clock of the run that wrote a table of a model; None when no run of it did."""
    found = re.fullmatch(
        rf"{re.escape(model)}__(?:diffs|inputs|stats)_([0-9a-f]{{19,24}})(?:_\w+)?", table, re.IGNORECASE
    )
    return run_clock(found.group(1).lower()) if found else None


def largest_first(chains: Sequence[Chain]) -> list[Chain]:
    return sorted(chains, key=lambda chain: -chain.rows)


def taken_in(rows: Sequence[int], new: int) -> int:
    """How many of the last chains one of `new` rows takes in, so that the ratio holds. rows: of each, largest first.

    After Materialize's correction buffer (src/compute/src/sink/correction_v2.rs): a row is rewritten only into a chain
    that is at least 1 + 1/RATIO times as large, so O(log N) times in its life.
    """
    taken = 0
    while taken < len(rows):
        smallest = rows[-1 - taken]
        if smallest >= RATIO * new and len(rows) - taken < CHAIN_CAP:
            break
        new, taken = new + smallest, taken + 1
    return taken


def is_over(chain: Chain, since: int) -> bool:
    """Whether no row of a chain of intervals is there from `since` on."""
    return chain.open == 0 and chain.max_until is not None and chain.max_until <= since


@dataclass(frozen=True)
class Sweep:
    """What to drop now, and what the state is to remember as retired (table, when)."""

    drop: tuple[str, ...]
    retired: tuple[tuple[str, int], ...]


def sweep(
    model: str,
    existing: Sequence[str],
    old: State | None,
    new_tables: Sequence[str],
    clock: int,
    retention: int,
    held: Callable[[], Container[str]] = frozenset,
) -> Sweep:
    """Which tables of a model may go: those no state has named for `retention` ms, and orphans of dead runs.

    Without an old state nothing is known about what exists, so nothing is dropped. held: those that models which read
    this one have still to follow; asked only where it matters.
    """
    retired = dict(old.retired) if old else {}
    if old:
        for table in old.tables:
            if table not in new_tables:
                retired.setdefault(table, clock)
    drop = [t for t, at in retired.items() if clock - at >= retention]
    if drop:
        kept_for = held()
        drop = [t for t in drop if t not in kept_for or clock - retired[t] >= LONGEST_HELD_MS]
    if old:
        known = {*retired, *new_tables, *old.tables}
        for table in existing:
            born = born_of(model, table)
            if born is not None and table not in known and clock - born > LONGEST_RUN_MS:
                drop.append(table)
    kept = tuple((t, at) for t, at in retired.items() if t not in drop and t in existing)
    return Sweep(tuple(t for t in drop if t in existing), kept)
