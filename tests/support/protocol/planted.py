"""Mistakes that are planted in the model, and what the search must find them by."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """What is searched with a fault, and the invariants of which the search must find one violated."""

    actors: tuple[str, ...]
    invariants: tuple[str, ...]
    #: whether commits are swapped
    swaps: bool = False


WHOLE, NAMED = "a_reader_sees_one_commit_whole", "no_commit_names_a_table_that_is_gone"
ROWS, FRONTIER = "no_rows_of_a_committed_run_are_lost", "the_frontier_never_goes_back"
LOSER, BEHIND = "what_a_loser_wrote_is_dropped", "the_updates_are_those_of_the_last_commit"

FAULTS = {
    "a sweep that is too early": Fault(("rebuild", "reader"), (WHOLE,)),
    "a sweep of what is named": Fault(("run", "reader"), (NAMED,)),
    "a commit without the check": Fault(("run", "run"), (ROWS, FRONTIER)),
    "a commit without a look at the lock": Fault(("run", "run"), (ROWS, FRONTIER)),
    "a takeover without a look at the age": Fault(("run", "run"), (ROWS, FRONTIER, NAMED)),
    "a loser that keeps its tables": Fault(("run", "run"), (ROWS, FRONTIER)),
    "an operation that takes over and drops nothing": Fault(("run", "consolidation"), (ROWS, FRONTIER)),
    "tables dropped where a row is the commit": Fault(("run", "run"), (NAMED,), swaps=True),
    "publish before the commit": Fault(("run", "run"), (WHOLE,)),
    "a clock before the frontier": Fault(("text", "run"), (FRONTIER,)),
    "a run that fails and leaves its tables": Fault(("run", "run"), (LOSER,)),
    "a run that publishes and does not look again": Fault(("run", "rebuild"), (BEHIND,)),
    "a lock given back without a look": Fault(("request", "run", "request"), (ROWS, FRONTIER)),
}
