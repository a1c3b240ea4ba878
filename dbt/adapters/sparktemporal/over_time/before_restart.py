"""The state of a model that was live at an instant, also before restarts, as far back as `retain_history` reaches."""

from __future__ import annotations

from collections.abc import Iterator

from ..engine.committed import state_before
from ..engine.warehouse import Warehouse
from ..errors import Explained, Refusal
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import epochs
from ..temporal.diffs.state import State


def live_at(warehouse: Warehouse, state: State, t: int) -> State | None:
    """The state before a restart that was live at t (ms); None from the last restart on, or where none is kept.

    Raises TemporalError where that state had expired at t, or cannot be read.
    """
    epoch = epochs.at(state, t)
    if epoch is None:
        return None
    before = state_before(warehouse, state, epoch)
    if before.answers_until is not None and t > before.answers_until:
        raise Explained(
            "ST606",
            f"{state.model} as of {format_instant(t)}",
            f"it had expired at {format_instant(before.answers_until)}, and each read was an error until the "
            f"restart at {format_instant(epoch.until)}",
            "an instant up to that expiration, or from that restart on",
        )
    return before


def refuse(state: State, t: int) -> None:
    """Raise Refusal where t (ms) is in a kept epoch: a query over many instants reads one state only."""
    epoch = epochs.at(state, t)
    if epoch is not None:
        raise Refusal(
            "ST607",
            f"{state.model} as of {format_instant(t)}",
            f"that is before the restart at {format_instant(epoch.until)}, and only temporal_as_of reads what the "
            "model was before a restart",
            f"instants from {format_instant(state.since)} (since) on; temporal_as_of(ref('{state.model}'), …) for "
            "those before",
        )


def states(warehouse: Warehouse, state: State) -> Iterator[State]:
    """The states that are kept from before the restarts."""
    for epoch in state.past:
        yield state_before(warehouse, state, epoch)
