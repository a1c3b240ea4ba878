"""What inputs did while a run read them: whether they are as they were read, and how to read no more than was seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..engine.warehouse import Warehouse
from ..temporal.rewrite.core import TypedCore
from . import changes, pins
from .capture import Capture


@dataclass(frozen=True)
class Busy:
    """Inputs that changed while they were read. moved: what was read of them is gone; grew: it is there, and more."""

    moved: tuple[str, ...] = ()
    grew: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.moved or self.grew)


def look(warehouse: Warehouse, capture: Capture, listed: str | None) -> tuple[Capture, Busy]:
    """The inputs of what was written, looked at again -> the capture with the states that were read, what changed.

    listed: the table of the files that the inputs had, of which their states are from then on.
    """
    if capture.is_same:
        return capture, Busy()
    opened = frozenset[str]().union(*(delta.open for delta in capture.cores.values()))
    found = {
        name: changes.look(warehouse, seen, capture.changes[name], name in opened, listed)
        for name, seen in capture.inputs.items()
    }
    inputs = {
        name: replace(seen, fingerprint=found[name].fingerprint or seen.fingerprint)
        for name, seen in capture.inputs.items()
    }
    moved = tuple(name for name in found if found[name].moved)
    grew = tuple(name for name in found if found[name].grew)
    return replace(capture, inputs=inputs), Busy(moved, grew)


def pin(warehouse: Warehouse, capture: Capture, cores: Iterable[TypedCore], listed: str | None) -> Capture:
    """Read from now on what was seen of the inputs, and nothing that came since, where that can be pinned."""

    def pinned(core: TypedCore) -> TypedCore:
        return pins.pinned(warehouse, core, capture.inputs, listed)

    found = dict(capture.cores)
    for core in cores:
        delta = found[core.name]
        if delta.is_same:
            continue
        left = frozenset(name for name in delta.open if capture.inputs[name].tracking not in pins.PINNED)
        try:
            if delta.is_incremental:
                inserts, deletes = (tuple(map(pinned, signed)) for signed in (delta.inserts, delta.deletes))
                found[core.name] = replace(delta, inserts=inserts, deletes=deletes, open=left)
            else:
                pinned(core)
                found[core.name] = replace(delta, pin=pinned, open=left)
        except pins.Unpinnable:
            pass
    return replace(capture, cores=found)
