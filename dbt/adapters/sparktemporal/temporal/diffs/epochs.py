"""Epochs: the past of a model before its restarts, as far back as `retain_history` reaches.

    [since ══ an epoch ══ until)[since ══ the next one ══ until)[since ══ the state ═══ frontier]
               ▲
               as_of - retain_history: an epoch that is over by then is let go

A restart keeps the chains of the last state, and keeps this state in a table. A read at an instant of an epoch is a
read of the state of the epoch: with its columns, its query, its expiration.
"""

from __future__ import annotations

from .state import Epoch, State


def kept(old: State | None, restarts: bool, as_of: int, retention: int | None, table: str) -> tuple[Epoch, ...]:
    """The epochs that a commit keeps.

    old: the state before the commit. retention: `retain_history` (ms), None keeps no epoch.
    restarts: whether an epoch ends with the old state: at a restart, or where other refreshes move `since`.
    table: the table that holds the old state, if an epoch ends with that state.
    A restart as of an instant before the last restart replaces the history from this instant on.

    >>> kept(None, True, 9, 5, "t")
    ()
    """
    if old is None or retention is None:
        return ()
    epochs = list(old.past)
    if restarts:
        epochs.append(Epoch(table, old.since, as_of, tuple(c.table for c in old.chains)))
        epochs = [Epoch(e.table, e.since, min(e.until, as_of), e.chains) for e in epochs]
    return tuple(e for e in epochs if e.since < e.until and e.until > as_of - retention)


def at(state: State, t: int) -> Epoch | None:
    """The epoch that an instant (ms) is in; None from the last restart on, and where no epoch is kept."""
    return next((e for e in state.past if t < state.since and e.since <= t < e.until), None)


def remembered(old: State) -> State:
    """The part of an old state that is needed to read the model at an instant of its epoch."""
    return old.advanced(past=(), retired=(), files={}, inputs={}, manifest="", statistics="", state_table="", late=None)
