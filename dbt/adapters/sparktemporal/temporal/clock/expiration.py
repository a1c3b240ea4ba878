"""When a model stops answering, if ever: what it reads decides whether updates may be left out.

started_at            expiration = started_at + offset
----|==== updates kept ====|---- dropped, and the view raises ---->

After Materialize's original design of replica expiration (20240919_dataflow_expiration.md), a row of it a rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .instants import format_instant

#: what the content of a relation follows
WALL_CLOCK, SCHEDULED, UNKNOWN = "wall clock", "schedule", "unknown"


@dataclass(frozen=True)
class Dependence:
    """A relation that a model reads, and what its content follows.

    sealed: nothing is written to it any more; sealed_until: nothing up to this instant (ms).
    """

    name: str
    follows: str = WALL_CLOCK
    sealed: bool = False
    sealed_until: int | None = None


@dataclass(frozen=True)
class Expiry:
    """For how long a model answers after its start: offset (ms), None for ever, at least to `until`; why, in words."""

    offset: int | None
    why: str
    until: int | None = None

    def at(self, started_at: int) -> int | None:
        """The last instant (ms) that is answered; None for ever."""
        if self.offset is None:
            return None
        instant = started_at + self.offset
        return instant if self.until is None else max(instant, self.until)


NEVER = Expiry(None, "no expiration is set")

Rule = tuple[Callable[[Sequence[Dependence]], "Sequence[Dependence] | bool"], str]

#: the first that holds decides that nothing is left out; what it holds for, and why
NO_EXPIRATION: tuple[Rule, ...] = (
    (lambda inputs: not inputs, "its inputs are constant"),
    (lambda inputs: [i for i in inputs if i.follows == SCHEDULED], "{names} is refreshed by a schedule"),
    (lambda inputs: [i for i in inputs if i.follows == UNKNOWN], "{names} does not follow the wall clock"),
    (lambda inputs: all(i.sealed for i in inputs), "all its inputs are sealed"),
)


def expiry(offset: int | None, inputs: Sequence[Dependence]) -> Expiry:
    """What a configured offset comes to, given all relations a model reads."""
    if offset is None:
        return NEVER
    for holds, why in NO_EXPIRATION:
        found = holds(inputs)
        if found:
            names = "" if found is True else ", ".join(i.name for i in found)
            return Expiry(None, f"never expires: {why.format(names=names)}")
    open_ended = [i for i in inputs if not i.sealed]
    if all(i.sealed_until is not None for i in open_ended):
        until = min(i.sealed_until for i in open_ended if i.sealed_until is not None)
        return Expiry(offset, f"its inputs are complete up to {format_instant(until)}", until)
    return Expiry(offset, "")


def earliest(*instants: int | None) -> int | None:
    """The first of several expirations; None for ever."""
    return min((instant for instant in instants if instant is not None), default=None)


def after_change(started_at: int, old: int | None, new: Expiry, as_of: int) -> tuple[int | None, str | None]:
    """A changed offset -> (the expiration from now on, why the model must restart for it, if it must).

    A shorter one applies at once while its instant is still ahead; a longer one needs updates that were not stored.
    """
    offset = new.offset
    if old == offset:
        return new.at(started_at), None
    if offset is not None and (old is None or offset < old):
        instant = new.at(started_at)
        if instant is not None and instant >= as_of:
            return instant, None
        return None, "the shorter expiration has passed"
    return None, "a longer expiration needs updates that were not stored"
