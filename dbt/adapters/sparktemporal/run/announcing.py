"""Progress lines of a long run: at the beginning of a phase, the work of the phase and the time so far."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..plurals import quantity
from .plan import RunPlan

#: a run that reads about so many rows or more says what it does: on two cores so many rows take a few seconds
LONG = 1_000_000

#: phase -> its work. A phase without a line is short
_DOES: dict[str, Callable[[RunPlan], str]] = {
    "remember": lambda plan: "lists the files of its inputs",
    "measure": lambda plan: "looks at the statistics of these files",
    "write": lambda plan: f"reads {_expected(plan)}, and writes {quantity(len(plan.changed), 'chain')}",
    "look": lambda plan: "counts what it wrote",
    "merge": lambda plan: "makes one chain of small ones, where that is due",
    "commit": lambda plan: "commits",
}


def line(plan: RunPlan, phase: str) -> str | None:
    """The line at the beginning of a phase; None where the run or the phase is short."""
    if phase not in _DOES or plan.writes_nothing or plan.capture.rows_expected < LONG:
        return None
    seconds = time.monotonic() - plan.started
    return f"temporal_view {plan.target.model}: {_DOES[phase](plan)} ({seconds:.1f} s so far)"


def _expected(plan: RunPlan) -> str:
    read = sorted(plan.capture.read)
    is_counted = all(name in plan.capture.counts for name in read)
    about = "" if is_counted else "about "
    return f"{about}{quantity(plan.capture.rows_expected, 'row')} of {', '.join(read)}"
