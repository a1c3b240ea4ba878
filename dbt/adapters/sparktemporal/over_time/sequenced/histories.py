"""The history of a core: its rows over time, each with the instants at which the row enters and leaves the view.

    columns…, [number of rows, sums…], mz_from, mz_until     (mz_until is NULL for a row that stays to the last instant)

| stored as | the history is |
|---|---|
| intervals without corrections | the intervals, cut to the range |
| intervals with corrections | the running total of each row's updates; n copies are n rows |
| updates of groups | the running totals of each group; a group without rows has no row |

So intervals and updates of groups get one form. A SELECT that reads row by row becomes a SELECT over histories. All
times are BIGINT milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...temporal.clock.schedule import Refreshes
from ...temporal.diffs.groups_sql import NUMBER, GroupStore
from ...temporal.diffs.intervals_read import over_time
from ...temporal.diffs.intervals_sql import DAMAGED, TIMES, Columns, nested, no_rows
from ...temporal.diffs.state import CoreState
from ...temporal.diffs.stores import store_of
from ...temporal.rewrite.linear_aggregates import COUNT
from ...temporal.sql.spark.identity import identity
from ...temporal.sql.text.dialect import quote
from .axis import Axis


class Part(Enum):
    """A part of the rows of a history. Groups, and intervals with corrections, are in REST alone.

    WHOLE: the rows that are there from the first instant to the last.
    REST: all other rows.
    """

    WHOLE, REST = "whole", "rest"


@dataclass(frozen=True)
class Range:
    """The instants from `first` to `last` (ms, both inclusive). A row that came earlier is there from `first` on."""

    first: int
    last: int
    #: the refreshes of a model with `refresh_every`: readers see a change at the next refresh
    refreshes: Refreshes | None = None
    #: the only instants that are looked at (see `Output.looked_at`); None for all instants
    axis: Axis | None = None
    #: the part of the rows that is wanted; None for all rows
    part: Part | None = None

    def seen(self, instant: str) -> str:
        """SQL: the instant from which readers see a change. instant: SQL of BIGINT, ms."""
        if self.refreshes is None:
            return instant
        return f"IF({instant} <= {self.first}L, {self.first}L, {self.refreshes.next_sql(instant)})"


def history(core: CoreState, schema: str, within: Range, totals: bool = False) -> str:
    """A query of the history of a core within a range. schema: quoted, as SQL names it.

    totals: whether a core of groups without keys has a row at each instant, of NULLs while there are no rows.
    """
    sources = [c.source(schema) for c in core.chains]
    names = ", ".join(quote(n) for n, _ in core.read_columns)
    comma = f"{names}, " if names else ""
    if within.part is Part.WHOLE and not core.is_uncorrected:
        return no_rows((*core.read_columns, *TIMES))
    if totals and core.sums is not None and not core.columns:
        rows = _of_total(core, sources, within)
    elif not sources:
        return no_rows((*core.read_columns, *TIMES))
    elif core.sums is not None:
        rows = _of_groups(core, sources, within)
    elif core.is_uncorrected:
        rows = _stored(core, sources, within)
    else:
        rows = over_time(_stored(core, sources, within), core.columns)
    if within.refreshes is None:
        return f"SELECT {comma}mz_from, mz_until\nFROM {nested(rows, 'mz_history')}"
    seen = f"SELECT {comma}{within.seen('mz_from')} AS mz_from, {within.seen('mz_until')} AS mz_until\n"
    seen += f"FROM {nested(rows, 'mz_all')}"
    until = f"CASE WHEN mz_until <= {within.last}L THEN mz_until END AS mz_until"
    return (
        f"SELECT {comma}mz_from, {until}\nFROM {nested(seen, 'mz_history')}\n"
        f"WHERE (mz_until IS NULL OR mz_until > mz_from) AND mz_from <= {within.last}L"
    )


def instants(core: CoreState, schema: str, within: Range) -> str | None:
    """A query of the instants after `first` at which the core may change, as `mz_seq_t`, with duplicates.

    None for a core without chains.
    """
    if not core.chains:
        return None
    sources = [c.source(schema) for c in core.chains]
    stored = _stored(core, sources, within)
    times = "mz_timestamp" if core.sums is not None else "explode(array(mz_from, mz_until))"
    each = f"SELECT {times} AS mz_seq_t\nFROM {nested(stored, 'mz_stored')}"
    each = f"SELECT {within.seen('mz_seq_t')} AS mz_seq_t\nFROM {nested(each, 'mz_times')}"
    inside = f"mz_seq_t > {within.first}L AND mz_seq_t <= {within.last}L"
    return f"SELECT mz_seq_t\nFROM {nested(each, 'mz_seen')}\nWHERE {inside}"


def _stored(core: CoreState, sources: list[str], within: Range) -> str:
    """A query of the stored rows.

    With an axis, the times of groups, and of intervals with corrections, are rounded up to instants of the axis.
    """
    first, last, axis = within.first, within.last, within.axis
    if within.part is not None and core.is_uncorrected:
        sources = [f"(SELECT * FROM {source} WHERE {_of_part(within)})" for source in sources]
    bucketed = {source for source, chain in zip(sources, core.chains) if chain.bucketed}
    stored = store_of(core).stored(sources, first, last, bucketed)
    if axis is None or core.is_uncorrected:
        return stored
    names = "".join(f"{quote(n)}, " for n, _ in core.columns)
    if core.sums is not None:
        sums = "".join(f", {quote(n)}" for n, _ in core.sums)
        items = f"{names}{axis.reached('mz_timestamp')} AS mz_timestamp, mz_diff{sums}"
        return f"SELECT {items}\nFROM {nested(stored, 'mz_every')}"
    items = f"{names}{axis.reached('mz_from')} AS mz_from, {axis.reached('mz_until')} AS mz_until, mz_diff"
    reached = f"SELECT {items}\nFROM {nested(stored, 'mz_every')}"
    return f"SELECT *\nFROM {nested(reached, 'mz_reached')}\nWHERE mz_until IS NULL OR mz_until > mz_from"


def _of_part(within: Range) -> str:
    if within.part is Part.WHOLE:
        return f"mz_from <= {within.first}L AND (mz_until IS NULL OR mz_until > {within.last}L)"
    return f"mz_from > {within.first}L OR mz_until <= {within.last}L"


def _of_groups(core: CoreState, sources: list[str], within: Range) -> str:
    """Updates of groups -> the running totals of each group."""
    store = store_of(core)
    assert isinstance(store, GroupStore)
    keys = "".join(f"{quote(n)}, " for n, _ in core.columns)
    sums = "".join(f", sum({quote(n)}) OVER mz_group AS {quote(n)}" for n, _ in store.sums)
    totals = (
        f"SELECT {keys}sum(mz_diff) OVER mz_group AS {COUNT}{sums}, "
        f"mz_timestamp AS mz_from, lead(mz_timestamp) OVER mz_group AS mz_until\n"
        f"FROM {nested(store.consolidated(_stored(core, sources, within)), 'mz_updates')}\n"
        f"WINDOW mz_group AS ({partition(core.columns)}ORDER BY mz_timestamp)"
    )
    names = "".join(f", {quote(n)}" for n, _ in store.sums)
    return f"SELECT {keys}{NUMBER}{names}, mz_from, mz_until\nFROM {nested(totals, 'mz_totals')}\nWHERE {COUNT} <> 0"


def _of_total(core: CoreState, sources: list[str], within: Range) -> str:
    """Updates of the one group without keys -> its running totals, from the first instant on."""
    sums: Columns = core.sums or ()
    base = "".join(f", CAST(0 AS {kind}) AS {quote(n)}" for n, kind in sums)
    updates = f"SELECT {within.first}L AS mz_timestamp, 0L AS mz_diff{base}"
    if sources:
        updates += f"\nUNION ALL\n{_stored(core, sources, within)}"
    added = "".join(f", sum({quote(n)}) AS {quote(n)}" for n, _ in sums)
    by_instant = (
        f"SELECT mz_timestamp, sum(mz_diff) AS mz_diff{added}\n"
        f"FROM {nested(updates, 'mz_updates')}\nGROUP BY mz_timestamp"
    )
    running = "".join(f", sum({quote(n)}) OVER mz_total AS {quote(n)}" for n, _ in sums)
    totals = (
        f"SELECT sum(mz_diff) OVER mz_total AS {COUNT}{running}, "
        f"mz_timestamp AS mz_from, lead(mz_timestamp) OVER mz_total AS mz_until\n"
        f"FROM {nested(by_instant, 'mz_by_instant')}\nWINDOW mz_total AS (ORDER BY mz_timestamp)"
    )
    number = f"CASE WHEN {COUNT} > 0 THEN {COUNT} WHEN {COUNT} < 0 THEN CAST({DAMAGED} AS BIGINT) END AS {COUNT}"
    names = "".join(f", CASE WHEN {COUNT} <> 0 THEN {quote(n)} END AS {quote(n)}" for n, _ in sums)
    return f"SELECT {number}{names}, mz_from, mz_until\nFROM {nested(totals, 'mz_totals')}"


def partition(keys: Columns) -> str:
    """A PARTITION BY of keys, none of them a map; "" for none. A GROUP BY has made equal keys identical."""
    return f"PARTITION BY {', '.join(identity(keys).keys)} " if keys else ""
