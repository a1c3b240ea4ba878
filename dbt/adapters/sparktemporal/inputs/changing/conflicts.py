"""Conflicts: inputs that change while a run reads them, and how a second read is pinned to their first states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...engine.warehouse import Query, Warehouse
from ...errors import Altered
from ...temporal.rewrite.core import TypedCore
from ..observing.manifest import Manifest
from . import changes, pins, query_fingerprint
from .capture import Capture, Request
from .query_fingerprint import Routines


@dataclass(frozen=True)
class Busy:
    """The inputs that changed while a run read them."""

    #: inputs that lost something that was read
    moved: tuple[str, ...] = ()
    #: inputs that still have all that was read, and more
    grew: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.moved or self.grew)


def look(
    warehouse: Warehouse, capture: Capture, listed: Manifest | None, beside: Sequence[Query] = ()
) -> tuple[Capture, Busy, list[tuple[Any, ...]]]:
    """Look at the inputs again, after the run has written -> (the capture, the changed inputs, the rows of `beside`).

    The capture then has the states that were read. listed: the manifest of the files that the run has seen. beside:
    other queries of one row, which the same statement asks.
    """
    if capture.is_same:
        return capture, Busy(), warehouse.rows_together(beside)
    opened = frozenset[str]().union(*(delta.open for delta in capture.cores.values()))
    looks = {
        name: changes.look(warehouse, seen, capture.changes[name], name in opened, listed)
        for name, seen in capture.inputs.items()
    }
    queries = [look.query for look in looks.values() if look.query is not None]
    rows = iter(warehouse.rows_together([*queries, *beside]))
    found = {name: look.means(next(rows) if look.query else ()) for name, look in looks.items()}
    inputs = {
        name: replace(seen, fingerprint=found[name].fingerprint or seen.fingerprint)
        for name, seen in capture.inputs.items()
    }
    moved = tuple(name for name in found if found[name].moved)
    grew = tuple(name for name in found if found[name].grew)
    return replace(capture, inputs=inputs), Busy(moved, grew), list(rows)


def refuse_redefined(warehouse: Warehouse, request: Request, capture: Capture) -> None:
    """Raise Altered where the query means something else than when its inputs were captured."""
    if capture.is_bare:
        return
    model, version, known = request.target.model, request.invocation.version, Routines(warehouse)
    now = query_fingerprint.of(warehouse, request.model.parsed, warehouse.explain(request.asked), known, version)
    if why := now.change(capture.read_by):
        raise Altered(
            "ST402",
            f"while {model} was read, {why}",
            "what is stored must be of one query",
            f"dbt run -s {model} again",
        )


def pin(warehouse: Warehouse, capture: Capture, cores: Iterable[TypedCore], listed: Manifest | None) -> Capture:
    """The capture with its reads pinned to the states that were seen.

    The inputs of a core that cannot be pinned, and inputs without files or versions, are read as they are by then.
    """

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
