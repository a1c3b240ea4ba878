"""Warnings of windows that nobody means: of seconds that are compared as milliseconds, and of a view without any row.

A run that builds the model asks about the windows of a few rows, in these cases alone:

| case | the question is asked of |
|---|---|
| `mz_now()` is compared with a number | the rows that the number bounds |
| rows were read, and none was stored | the rows that were read |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..plurals import quantity
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import intervals_sql
from ..temporal.predicates.bounds import BIGINT, DECIMAL
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark.errors import Cause, allowing
from .writer import Writer

#: the number of rows whose windows are looked at
_FEW = 1_000
#: a bound of a window that somebody means: from 1980 to 2200, ms
_LIKELY = range(315_532_800_000, 7_258_118_400_000)
#: unit -> (a number that was read as ms -> the instant in ms that is meant, what to write)
_UNITS: dict[str, tuple[Callable[[int], int], str]] = {
    "seconds": (lambda bound: bound * 1000, "timestamp_seconds(…)"),
    "microseconds": (lambda bound: bound // 1000, "timestamp_micros(…)"),
}


def warnings(run: Writer) -> Iterator[str]:
    """The warnings of a run that built its model and has written."""
    if not run.plan.decision.rebuilds or run.plan.invocation.sampled:
        return
    stores_nothing = not any(chain and chain.rows for chain in run.written.chains.values())
    for core in run.plan.changed:
        compared = core.core.comparisons
        if not compared or core.core.condition is not None:
            continue
        are_numbers = any(c.kind in (BIGINT, DECIMAL) for c in compared)
        is_empty = stores_nothing and run.plan.capture.rows > 0
        if are_numbers or is_empty:
            yield from _of_core(run, core, is_empty)


def _of_core(run: Writer, core: TypedCore, is_empty: bool) -> Iterator[str]:
    model, as_of = run.plan.target.model, run.plan.decision.as_of
    written = " and ".join(dict.fromkeys(c.written for c in core.core.comparisons))
    begins, ends, latest = _windows(run, core)
    for verb, bounds in (("begins", begins), ("ends", ends)):
        for unit, (meant, instead) in _UNITS.items():
            if bounds and not any(b in _LIKELY for b in bounds) and all(meant(b) in _LIKELY for b in bounds):
                yield (
                    f"temporal_view {model}: by `{written}` a window {verb} at {format_instant(bounds[0])}, because "
                    f"mz_now() counts milliseconds. Are these {unit}? Then write {instead}"
                )
                return
    if is_empty and latest is not None and latest <= as_of:
        yield (
            f"temporal_view {model}: no row is stored of {quantity(run.plan.capture.rows, 'row')} that were read. By "
            f"`{written}` their windows are over, for instance at {format_instant(latest)}"
        )


def _windows(run: Writer, core: TypedCore) -> tuple[list[int], list[int], int | None]:
    """(the first and last beginning, the first and last end, the last end) of a few windows, in ms."""
    windows = intervals_sql.of_few(core, _FEW)
    with allowing(Cause.NOT_TAKEN):  # the run is committed, whatever is the matter with its inputs now
        first, last, *ends = run.tools.warehouse.rows(windows)[0]
        begins = [int(b) for b in (first, last) if b is not None]
        found = [int(b) for b in ends if b is not None]
        return begins, found, found[-1] if found else None
    return [], [], None
