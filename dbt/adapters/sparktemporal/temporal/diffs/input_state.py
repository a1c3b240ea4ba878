"""Fingerprints: what a state keeps of each input, by which the next run learns whether it changed.

Equal fingerprints mean equal rows, but for those of `ROWS`. In JSON a fingerprint is an object that names its kind;
`str` writes it for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any, ClassVar

from ..clock.schedule import Refreshes


class Tracking(Enum):
    """By what a run learns whether an input changed.

    FILES      the list of its files
    VERSION    the version of an Iceberg or Delta table
    STACKED    the chains of a temporal view
    COLUMN     a column in whose order rows come
    ROWS       a checksum of its rows, where nothing else tells
    """

    FILES, VERSION, STACKED, COLUMN, ROWS = "files", "version", "chains", "column", "rows"


@dataclass(frozen=True)
class Fingerprint:
    """kind: in JSON."""

    tracking: ClassVar[Tracking]
    kind: ClassVar[str]


@dataclass(frozen=True)
class FileSummary:
    """A list of files: how many, of how many bytes together, and a hash of the list."""

    count: int
    size: int
    content: str


@dataclass(frozen=True)
class FilesFingerprint(Fingerprint):
    """files: those of the table. form: a hash of its columns, place and options."""

    tracking, kind = Tracking.FILES, "files"
    files: FileSummary
    form: str

    def __str__(self) -> str:
        return f"files {self.files.count}, {self.files.size} bytes, {self.files.content} as {self.form}"


@dataclass(frozen=True)
class IcebergVersion(Fingerprint):
    """What is known where Spark does not tell what a scan reads.

    refs: the snapshots of all branches and tags. metadata: the file that also changes with the schema.
    """

    tracking, kind = Tracking.VERSION, "iceberg"
    refs: tuple[tuple[str, int], ...]
    metadata: str

    @property
    def only_main(self) -> int | None:
        """The snapshot that a table without further words is read at, where there is no other branch or tag."""
        return dict(self.refs).get("main") if len(self.refs) == 1 else None

    @property
    def words(self) -> str:
        return f"{', '.join(f'{ref} {snapshot}' for ref, snapshot in self.refs) or 'empty'} in {self.metadata}"

    def __str__(self) -> str:
        return f"version {self.words}"


@dataclass(frozen=True)
class Scan:
    """What is read of an Iceberg table. Equal for equal rows, but for the mapping of names.

    version: what stands behind the name, as Spark prints it (`VERSION AS OF 'side'`), "" for nothing. snapshot: None of
    an empty table. schema: its number in the table; its columns have fixed ids. branch: None for main, and for a tag or
    another version that is fixed.
    """

    version: str
    snapshot: int | None
    schema: int
    branch: str | None

    def __str__(self) -> str:
        words = "empty" if self.snapshot is None else f"snapshot {self.snapshot}"
        return " ".join(filter(None, [words, f"with schema {self.schema}", self.version]))


@dataclass(frozen=True)
class IcebergScans(Fingerprint):
    """scans: one for each version that is read. names: a hash of the mapping of names to columns, which files without
    ids of columns are read by; "" without a mapping."""

    tracking, kind = Tracking.VERSION, "iceberg scans"
    scans: tuple[Scan, ...]
    names: str

    @property
    def reading(self) -> tuple[str | int, ...]:
        """What decides how the rows of a snapshot read."""
        return (self.names, *(scan.schema for scan in self.scans))

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(scan.version for scan in self.scans)

    @property
    def words(self) -> str:
        return ", ".join(map(str, self.scans))

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class DeltaVersion(Fingerprint):
    """table: the id of the table, so that another one of the same name is told apart. commit: when the version was
    made, so that the version is told apart from that of a copy of the table; "" in a state of before."""

    tracking, kind = Tracking.VERSION, "delta"
    version: int
    table: str
    commit: str = ""

    @property
    def words(self) -> str:
        return f"{self.version} of {self.table}"

    def __str__(self) -> str:
        return f"version {self.words}"


@dataclass(frozen=True)
class ColumnFingerprint(Fingerprint):
    """by, back: the column and the lookback (ms). to: the edge up to which rows are summed up, as text, None before any
    row; rows, sum: how many there are and a checksum. after, after_sum: the same of the rows after the edge."""

    tracking, kind = Tracking.COLUMN, "column"
    by: str
    back: int
    to: str | None
    rows: int
    sum: int
    after: int
    after_sum: int

    def __str__(self) -> str:
        return f"column {json.dumps(asdict(self))}"


@dataclass(frozen=True)
class RowsFingerprint(Fingerprint):
    """rows: how many there are. sum: a checksum, None of a type that has no hash."""

    tracking, kind = Tracking.ROWS, "rows"
    rows: int
    sum: int | None

    def __str__(self) -> str:
        return f"rows {self.rows}" + ("" if self.sum is None else f", sum {self.sum}")


@dataclass(frozen=True)
class ChainId:
    """Equal for equal rows: a table, and the instant after which its updates count (ms), None for all."""

    table: str
    after: int | None = None

    def __str__(self) -> str:
        return self.table if self.after is None else f"{self.table}>{self.after}"


@dataclass(frozen=True)
class ChainsFingerprint(Fingerprint):
    """started_at: of the last rebuild (ms). refreshes: the instants the content is of, None for all. chains: sorted."""

    tracking, kind = Tracking.STACKED, "chains"
    started_at: int
    refreshes: Refreshes | None
    chains: tuple[ChainId, ...]

    @property
    def without_chains(self) -> ChainsFingerprint:
        """What stays the same from one rebuild to the next."""
        return replace(self, chains=())

    def __str__(self) -> str:
        every = f" every {self.refreshes.every} from {self.refreshes.anchor}" if self.refreshes else ""
        return f"chains from {self.started_at}{every}: {' '.join(map(str, self.chains))}"


_KINDS: Mapping[str, type[Fingerprint]] = {
    one.kind: one
    for one in (
        FilesFingerprint, IcebergVersion, IcebergScans, DeltaVersion, ColumnFingerprint, RowsFingerprint,
        ChainsFingerprint,
    )
}  # fmt: skip


def as_json(fingerprint: Fingerprint) -> dict[str, Any]:
    """A fingerprint -> what stands in the state.

    >>> as_json(DeltaVersion(3, "a-b"))
    {'kind': 'delta', 'version': 3, 'table': 'a-b', 'commit': ''}
    """
    return {"kind": fingerprint.kind, **asdict(fingerprint)}


def of_json(value: Mapping[str, Any]) -> Fingerprint:
    """What stands in a state -> the fingerprint. Raises ValueError, KeyError, TypeError.

    >>> str(of_json({'kind': 'delta', 'version': 3, 'table': 'a-b'}))
    'version 3 of a-b'
    """
    fields = {name: field for name, field in value.items() if name != "kind"}
    kind = _KINDS[value["kind"]]
    if kind is FilesFingerprint:
        fields["files"] = FileSummary(**fields["files"])
    elif kind is IcebergVersion:
        fields["refs"] = tuple((ref, snapshot) for ref, snapshot in fields["refs"])
    elif kind is IcebergScans:
        fields["scans"] = tuple(Scan(**scan) for scan in fields["scans"])
    elif kind is ChainsFingerprint:
        fields["refreshes"] = Refreshes.of_json(fields["refreshes"])
        fields["chains"] = tuple(ChainId(**chain) for chain in fields["chains"])
    return kind(**fields)
