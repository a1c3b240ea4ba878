"""When a model stops answering: the start of its last restart plus an offset.

started_at            expiration = started_at + offset
----|==== updates kept ====|---- dropped, and the view raises ---->
"""

from __future__ import annotations


def expiration(started_at: int, offset: int | None) -> int | None:
    """The last instant (ms) that is answered; None for ever."""
    return None if offset is None else started_at + offset


def earliest(*instants: int | None) -> int | None:
    """The first of several expirations; None for ever."""
    return min((instant for instant in instants if instant is not None), default=None)


def after_change(started_at: int, old: int | None, new: int | None, as_of: int) -> tuple[int | None, str | None]:
    """A changed offset -> (the expiration from now on, why the model must restart for it, if it must).

    A shorter one applies at once while its instant is still ahead; a longer one needs updates that were not stored.
    """
    if old == new:
        return expiration(started_at, old), None
    if new is not None and (old is None or new < old):
        instant = started_at + new
        if instant >= as_of:
            return instant, None
        return None, "the shorter expiration has passed"
    return None, "a longer expiration needs updates that were not stored"
