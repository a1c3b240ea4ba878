"""The audit of pruning: read a sample of the files that a run leaves out, to verify that no row in them matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import Explained, TemporalError
from ..plurals import quantity
from ..pushdown import skipping, statistics
from ..pushdown.sargable import Range
from ..pushdown.statistics import Measured
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import intervals_sql
from ..temporal.sql.text.dialect import render
from .files import FilePruner
from .opened_core import restricted

#: an audit reads at most so many bytes, or one file
AUDITED_BYTES = 64 << 20


def audit(pruner: FilePruner, core: str, clock: Range, share: float, seed: str) -> None:
    """Read a sample of the files that are left out. Raises TemporalError where a file holds a row that matters."""
    for index, (one, left, judged) in pruner.left(core, clock).items():
        if left.files == left.of_files or not share:
            continue
        chosen = pruner.warehouse.rows(skipping.audited(judged, share, AUDITED_BYTES, seed))
        files = [str(file) for (file,) in chosen]
        if files and _hit(pruner, core, index, one, files, clock):
            guilty = next((f for f in files if _hit(pruner, core, index, one, [f], clock)), files[0])
            raise _violation(pruner, core, index, one, guilty, clock)


def _hit(pruner: FilePruner, core: str, index: int, one: Measured, files: Sequence[str], clock: Range) -> bool:
    narrowed = restricted(pruner.of[core].core, {index: statistics.in_files(one, files)}, alone=True)
    assert clock.first is not None
    rows = intervals_sql.desired(replace(narrowed, columns=()), clock.first, clock.last)
    return bool(pruner.warehouse.rows(f"SELECT 1 FROM (\n{rows}\n) LIMIT 1"))


def _violation(pruner: FilePruner, core: str, index: int, one: Measured, file: str, clock: Range) -> TemporalError:
    place = next(place for place, _ in pruner.of[core].places if place.index == index)
    names = {column: text for text, leaf in one.leaves.items() for column in leaf.columns}
    columns = [n for leaf in one.leaves.values() for n in leaf.columns]
    values = pruner.warehouse.rows(
        f"SELECT mz_rows{''.join(f', CAST({n} AS STRING)' for n in columns)} FROM {pruner.source(one)} "
        f"WHERE {statistics.is_file(one, file)}"
    )
    row = values[0] if values else ()
    known = [quantity(int(row[0]), "row")] if row else []
    known += [f"{n.split('_')[1]} of {names[n]}: {v}" for n, v in zip(columns, row[1:])]
    first, last = (None if at is None else format_instant(at) for at in (clock.first, clock.last))
    span = f"from {first} on" if last is None else f"from {first} until {last}"
    return Explained(
        "ST408",
        f"{file} of {one.relation}, which holds rows that matter {span}, though its statistics say that none can",
        f"{render(place.predicate)}; {', '.join(known)}",
        "pushdown: sargable for this model, and a report of this to the adapter's authors; nothing was committed",
    )
