"""How a run read each of its inputs, as data: for the log, for run_results.json, for an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...plurals import quantity
from ...pushdown.skipping import PruningResult
from ...temporal.diffs.input_state import FilesFingerprint, Tracking
from ...temporal.ivm.delta_query import Added
from .capture import Capture
from .changes import InputChange
from .core_delta import DeltaKind

#: the new part of an input, in words
_NEW = {
    Tracking.FILES: "new files",
    Tracking.VERSION: "changes",
    Tracking.COLUMN: "new rows",
    Tracking.STACKED: "new chains",
}


@dataclass(frozen=True)
class InputRead:
    """How a run read one of its inputs. A number that is not known is None."""

    relation: str
    #: how the run noticed changes of the input
    tracking: str
    #: `unchanged`, `full`, or the new part
    read: str
    reason: str
    #: the rows that were read
    rows: int
    #: the files that the input has
    files: int | None = None
    #: the files that Spark was asked to read. Spark may skip more, by partitions and row groups
    files_read: int | None = None
    #: the bytes that the input has
    bytes: int | None = None
    #: the bytes that Spark was asked to read
    bytes_read: int | None = None

    @property
    def line(self) -> str:
        """The read as text: the relation, the part that was read, the reason, and the number of rows."""
        return f"{self.relation}: {self.read} ({self.reason}), {quantity(self.rows, 'row')} read"


def input_reads(capture: Capture, left: Mapping[str, PruningResult] | None = None) -> list[InputRead]:
    """How each input was read. left: input -> the files that are read after skipping by statistics."""
    return list(_reads(capture, left or {}))


def _reads(capture: Capture, left: Mapping[str, PruningResult]) -> Iterator[InputRead]:
    whole = capture.read_in_full
    # a delta query reads in full an input that is joined to the new rows of another input
    beside = {name for delta in capture.cores.values() if delta.is_incremental for name in delta.open}
    for name, seen in capture.inputs.items():
        change = capture.changes[name]
        is_read = any(name in delta.read for delta in capture.cores.values())
        how, why = DeltaKind.SAME.value, change.why
        if name in whole:
            how, why = DeltaKind.FULL.value, whole[name] or change.why
        elif is_read:
            how = _NEW.get(seen.tracking, how)
        one = InputRead(name, seen.tracking.value, how, why, capture.counts.get(name, 0))
        if isinstance(seen.fingerprint, FilesFingerprint):
            files, size = seen.fingerprint.files.count, seen.fingerprint.files.size
            one = replace(one, files=files, bytes=size, files_read=0, bytes_read=0)
            if name in whole and name in left:
                one = replace(one, files_read=left[name].files, bytes_read=left[name].bytes)
            elif name in whole or name in beside:
                one = replace(one, files_read=files, bytes_read=size)
            elif is_read:
                one = _with_change(one, change, capture.sizes.get(name))
        yield one


def _with_change(one: InputRead, change: InputChange, size: int | None) -> InputRead:
    """`one` with the files and bytes that were read of a changed input.

    These are the new files if the change names the new files, else all files. size: the bytes of the new files.
    """
    if isinstance(change.added, Added):
        return replace(one, files_read=len(change.added.files), bytes_read=size)
    return replace(one, files_read=one.files, bytes_read=one.bytes)


def totals(reads: list[InputRead]) -> dict[str, int | None]:
    """Sum the files and the bytes of the inputs whose files are known.

    The keys are `files_considered`, `files_read`, `files_left_out`, and the same with `bytes`. Each value is None if
    there are inputs and the files of none are known.
    """
    known = [one for one in reads if one.files is not None and one.files_read is not None]
    if reads and not known:
        names = (f"{unit}_{what}" for unit in ("files", "bytes") for what in ("considered", "read", "left_out"))
        return dict.fromkeys(names)
    files = _sums("files", [(one.files, one.files_read) for one in known])
    return files | _sums("bytes", [(one.bytes, one.bytes_read) for one in known])


def _sums(unit: str, known: list[tuple[int | None, int | None]]) -> dict[str, int | None]:
    """The three sums `<unit>_considered`, `<unit>_read` and `<unit>_left_out`.

    known: for each input, (the number that the input has, the number that was read).
    """
    considered, read = sum(has or 0 for has, _ in known), sum(read or 0 for _, read in known)
    return {f"{unit}_considered": considered, f"{unit}_read": read, f"{unit}_left_out": considered - read}


def as_data(reads: list[InputRead]) -> list[dict[str, Any]]:
    return [asdict(one) for one in reads]
