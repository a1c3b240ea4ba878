"""The rows of a core of a temporal view, with their instants, as an input of another model: SQL over chains.

Readers of a view with refreshes see a change at the next refresh, so the rows have the instants of refreshes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..clock.instants import LAST_MS
from ..diffs.intervals_read import over_time
from ..diffs.intervals_sql import Columns, no_rows
from ..diffs.state import Chain, CoreState, State
from ..diffs.stores import store_of
from ..sql.text.dialect import quote

#: columns beside the columns of a model, which tell when the rows are there
TIMES = frozenset({"mzu_from", "mzu_until", "mzu_timestamp"})


def _times(core: CoreState) -> Columns:
    if core.sums is None:
        return [("mzu_from", "BIGINT"), ("mzu_until", "BIGINT")]
    kept = [("mzu_timestamp", "BIGINT"), ("mzu_diff", "BIGINT")]
    return [*kept, *((sum_column(name), kind) for name, kind in core.sums)]


def sum_column(name: str) -> str:
    return "mzu_" + name.removeprefix("mz_")


def columns_of(core: CoreState) -> Columns:
    return [*core.columns, *_times(core)]


def rows_of(state: State, core: CoreState, chains: Sequence[Chain], as_of: int) -> str:
    """SQL of the rows that chains have at `as_of` (ms) or later, corrections applied; of groups, all updates."""
    if not chains:
        return no_rows(columns_of(core))
    if core.sums is not None or not any(c.negative for c in chains):
        return "\nUNION ALL\n".join(chain_rows(state, core, c, 0, as_of) for c in chains)
    tables = [c.source(state.schema) for c in chains]
    bucketed = [table for table, c in zip(tables, chains) if c.bucketed]
    store = store_of(core)
    # a chain may be older than an expiration that was shortened, and corrections have no end after the expiration
    stored = store.stored(tables, _from(state, as_of), state.expiration, bucketed)
    # before the frontier, a correction begins at the instant of its run; later, at the instants of the corrected rows
    rows = store.consolidated(stored) if as_of >= state.frontier else over_time(stored, core.columns)
    names = "".join(f"{quote(n)}, " for n, _ in core.columns)
    times = f"{_seen(state, 'mz_from')} AS mzu_from, {_seen(state, 'mz_until')} AS mzu_until"
    return f"SELECT {names}{times}\nFROM (\n{rows}\n) AS mz_kept"


def chain_rows(state: State, core: CoreState, chain: Chain, sign: int, as_of: int, until: int | None = None) -> str:
    """SQL of the rows that one chain has at `as_of` (ms) or later, with one sign (1 or -1) or with both (0).

    Of groups it has all updates, whatever `as_of`, and none for -1. until: for updates, the last instant (ms).
    """
    names = "".join(f"{quote(n)}, " for n, _ in core.columns)
    source = f"FROM {chain.source(state.schema)}"
    if core.sums is not None:
        values = "".join(f", {quote(n)} AS {sum_column(n)}" for n, _ in core.sums)
        where = "\nWHERE false" if sign < 0 else f"\nWHERE mz_timestamp <= {until}L" if until is not None else ""
        at = f"{_seen(state, 'mz_timestamp')} AS mzu_timestamp"
        return f"SELECT {names}{at}, mz_diff AS mzu_diff{values}\n{source}{where}"
    as_of = _from(state, as_of)
    conditions = [f"(mz_until IS NULL OR mz_until > {as_of}L)"]
    conditions += [f"mz_bucket > {as_of}L"] if chain.bucketed else []
    conditions += [f"mz_diff {'>' if sign > 0 else '<'} 0"] if sign else []
    times = f"{_seen(state, 'mz_from')} AS mzu_from, {_seen(state, 'mz_until')} AS mzu_until"
    return f"SELECT {names}{times}\n{source}\nWHERE {' AND '.join(conditions)}"


def _seen(state: State, t: str) -> str:
    """SQL: the instant at which readers see a change at t."""
    if state.refreshes is None:
        return t
    last = LAST_MS - state.refreshes.every  # the next refresh would be past the end of the clock
    return f"IF({t} > {last}L, {t}, {state.refreshes.next_sql(t)})"


def _from(state: State, as_of: int) -> int:
    """The instant whose content readers see at `as_of` (ms): the last refresh, where there are refreshes."""
    return state.refreshes.last(as_of) if state.refreshes else as_of
