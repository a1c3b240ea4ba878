"""Compute when a model expires, from its configured offset and from how its inputs depend on time.

started_at            expiration = started_at + offset
----|==== updates kept ====|---- dropped, and the view raises ---->

The design is Materialize's replica expiration. `NO_EXPIRATION` has the rules of its first design document
(20240919_dataflow_expiration.md), except the rule about schedules. For schedules a later design document rounds the
expiration up, and so does this module:

| the model reads | the expiration of the model |
|---|---|
| a table | start + offset |
| refreshes of a table | the first refresh from start + offset on |
| refreshes of refreshes of a table | the first refresh of the upper view from the instant in the row above on |
| several of these | the earliest of their expirations |
| only relations complete up to an instant | as above, from the earliest such instant if later than start + offset |

A model with refreshes of its own expires later: at its first refresh from the instant in the table on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .instants import format_instant
from .schedule import Refreshes

#: how the content of a relation depends on time
WALL_CLOCK, UNKNOWN = "wall clock", "unknown"


@dataclass(frozen=True)
class Scheduled:
    """The refreshes of a temporal view below the model. Times are ms."""

    #: the keys of the relations by which the view can be read
    names: tuple[str, ...]
    every: int
    #: None where the first run of the view decides
    anchor: int | None = None


@dataclass(frozen=True)
class Dependence:
    """A relation that a model reads, and how its content depends on time."""

    name: str
    #: `WALL_CLOCK` or `UNKNOWN`
    follows: str = WALL_CLOCK
    #: whether the relation is complete
    sealed: bool = False
    #: the relation is complete up to this instant (ms)
    sealed_until: int | None = None
    #: the refreshes between the relation and the model, from the relation on
    through: tuple[Scheduled, ...] = ()


@dataclass(frozen=True)
class Expiry:
    """How long a model answers."""

    #: the model answers so long after the start (ms); None for ever
    offset: int | None
    #: the reason, in words
    why: str
    #: the model answers at least up to this instant (ms); None for no such instant
    until: int | None = None
    #: the refreshes between each input and the model
    paths: tuple[tuple[Refreshes, ...], ...] = ()
    #: the refreshes of the model itself
    refreshes: Refreshes | None = None

    def at(self, started_at: int) -> int | None:
        """The expiration (ms) of a model that started at `started_at` (ms); None for ever."""
        if self.offset is None:
            return None
        instant = started_at + self.offset
        instant = instant if self.until is None else max(instant, self.until)
        instant = min((_after(instant, path) for path in self.paths), default=instant)
        return _after(instant, [self.refreshes] if self.refreshes else [])


def _after(instant: int, path: Sequence[Refreshes]) -> int:
    for refreshes in path:
        instant = refreshes.next(instant)
    return instant


NEVER = Expiry(None, "no expiration is set")

Rule = tuple[Callable[[Sequence[Dependence]], "Sequence[Dependence] | bool"], str]

#: rules (condition, reason). The first condition that holds keeps all updates. A condition answers with True, or with
#: the inputs that are the reason
NO_EXPIRATION: tuple[Rule, ...] = (
    (lambda inputs: not inputs, "its inputs are constant"),
    (lambda inputs: [i for i in inputs if i.follows == UNKNOWN], "{names} does not follow the wall clock"),
    (lambda inputs: all(i.sealed for i in inputs), "all its inputs are sealed"),
)


def expiry(
    offset: int | None,
    inputs: Sequence[Dependence],
    refreshes: Refreshes | None = None,
    anchor_of: Callable[[Scheduled], int | None] = lambda schedule: schedule.anchor,
) -> Expiry:
    """The effective expiration of a configured offset (ms), given all relations that a model reads.

    refreshes: the refreshes of the model itself. anchor_of: the refreshes of a view -> their anchor (ms), or None.
    """
    if offset is None:
        return NEVER
    for holds, why in NO_EXPIRATION:
        found = holds(inputs)
        if found:
            names = "" if found is True else ", ".join(i.name for i in found)
            return Expiry(None, f"never expires: {why.format(names=names)}")
    open_ended = [i for i in inputs if not i.sealed]
    paths = tuple({_known(i.through, anchor_of) for i in open_ended})
    if all(i.sealed_until is not None for i in open_ended):
        until = min(i.sealed_until for i in open_ended if i.sealed_until is not None)
        return Expiry(offset, f"its inputs are complete up to {format_instant(until)}", until, paths, refreshes)
    rounds = refreshes is not None or () not in paths
    return Expiry(offset, "at the refresh after its offset" if rounds else "", None, paths, refreshes)


def _known(through: Sequence[Scheduled], anchor_of: Callable[[Scheduled], int | None]) -> tuple[Refreshes, ...]:
    """The refreshes with a known anchor. Other refreshes are left out, which can only make the expiration earlier."""
    anchors = [(schedule.every, anchor_of(schedule)) for schedule in through]
    return tuple(Refreshes(every, anchor) for every, anchor in anchors if anchor is not None)


def earliest(*instants: int | None) -> int | None:
    """The first of several expirations; None for ever."""
    return min((instant for instant in instants if instant is not None), default=None)


def after_change(started_at: int, old: int | None, new: Expiry, as_of: int) -> tuple[int | None, str | None]:
    """A changed offset -> (the expiration from now on, None), or (None, the reason) for a restart.

    A shorter offset applies at once while its instant is still ahead; else the model restarts. A longer offset restarts
    the model, because it needs updates that were left out.
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
