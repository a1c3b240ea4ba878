"""Fingerprints of inputs, which a state keeps so that the next run knows whether an input changed.

Equal fingerprints mean equal rows, except for `RowsFingerprint`. In JSON a fingerprint is an object with its kind.
`str` gives a fingerprint in words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any, ClassVar

from ..clock.schedule import Refreshes


class Tracking(Enum):
    """How a run notices changes of an input.

    FILES      by the list of its files
    VERSION    by the version of an Iceberg or Delta table
    STACKED    by the chains of a temporal view
    COLUMN     by a column in whose order rows come
    ROWS       by a checksum of its rows, where there is no other way
    """

    FILES, VERSION, STACKED, COLUMN, ROWS = "files", "version", "chains", "column", "rows"


@dataclass(frozen=True)
class Fingerprint:
    """The state of an input."""

    tracking: ClassVar[Tracking]
    #: the name of the class in JSON
    kind: ClassVar[str]


@dataclass(frozen=True)
class FileSummary:
    """The summary of a list of files."""

    count: int
    #: the bytes of all files
    size: int
    #: a hash of the list
    content: str


@dataclass(frozen=True)
class FilesFingerprint(Fingerprint):
    """The state of a table of files."""

    tracking, kind = Tracking.FILES, "files"
    files: FileSummary
    #: a hash of the columns, the place and the options of the table
    form: str

    def __str__(self) -> str:
        return f"files {self.files.count}, {self.files.size} bytes, {self.files.content} as {self.form}"


@dataclass(frozen=True)
class IcebergVersion(Fingerprint):
    """The state of a whole Iceberg table, for a Spark that does not tell the snapshot of a scan."""

    tracking, kind = Tracking.VERSION, "iceberg"
    #: (branch or tag, its snapshot)
    refs: tuple[tuple[str, int], ...]
    #: the file of metadata, which also changes with the schema
    metadata: str

    @property
    def only_main(self) -> int | None:
        """The snapshot of the branch main, if the table has no other branch and no tag; else None."""
        return dict(self.refs).get("main") if len(self.refs) == 1 else None

    @property
    def words(self) -> str:
        return f"{', '.join(f'{ref} {snapshot}' for ref, snapshot in self.refs) or 'empty'} in {self.metadata}"

    def __str__(self) -> str:
        return f"version {self.words}"


@dataclass(frozen=True)
class Scan:
    """A scan of an Iceberg table. Equal scans give equal rows, under one mapping of names."""

    #: the SQL behind the name, as Spark prints it (`VERSION AS OF 'side'`), "" for none
    version: str
    #: the id of the snapshot; None for an empty table
    snapshot: int | None
    #: the number of the schema in the table, whose columns have fixed ids
    schema: int
    #: the name of the branch; None for main, for a tag, and for another fixed version
    branch: str | None

    def __str__(self) -> str:
        words = "empty" if self.snapshot is None else f"snapshot {self.snapshot}"
        return " ".join(filter(None, [words, f"with schema {self.schema}", self.version]))


@dataclass(frozen=True)
class IcebergScans(Fingerprint):
    """The state of an Iceberg table, by the scans of a query."""

    tracking, kind = Tracking.VERSION, "iceberg scans"
    #: one for each version that is read
    scans: tuple[Scan, ...]
    #: a hash of the mapping of names to columns, by which files without ids of columns are read; "" for no mapping
    names: str

    @property
    def reading(self) -> tuple[str | int, ...]:
        """The mapping of names, and the schemas: together with the snapshots they decide the rows."""
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
    """The state of a Delta table."""

    tracking, kind = Tracking.VERSION, "delta"
    version: int
    #: the id of the table: another table of the same name has another id
    table: str
    #: when the version was made: a copy of the table has the same id, and other times. "" in states of older releases
    commit: str = ""

    @property
    def words(self) -> str:
        return f"{self.version} of {self.table}"

    def __str__(self) -> str:
        return f"version {self.words}"


@dataclass(frozen=True)
class ColumnFingerprint(Fingerprint):
    """The state of a table whose rows come in the order of a column."""

    tracking, kind = Tracking.COLUMN, "column"
    #: the column
    by: str
    #: the lookback (ms)
    back: int
    #: the edge, as text; None for a table without rows
    to: str | None
    #: the number of rows up to the edge
    rows: int
    #: a checksum of the rows up to the edge
    sum: int
    #: the number of rows after the edge
    after: int
    #: a checksum of the rows after the edge
    after_sum: int

    def __str__(self) -> str:
        return f"column {json.dumps(asdict(self))}"


@dataclass(frozen=True)
class RowsFingerprint(Fingerprint):
    """The state of any other input."""

    tracking, kind = Tracking.ROWS, "rows"
    #: the number of rows
    rows: int
    #: a checksum of the rows; None where a type has no hash
    sum: int | None

    def __str__(self) -> str:
        return f"rows {self.rows}" + ("" if self.sum is None else f", sum {self.sum}")


@dataclass(frozen=True)
class ChainId:
    """The identity of a chain. Equal identities mean equal rows."""

    table: str
    #: only updates of the table after this instant (ms) belong to the chain; None for all
    after: int | None = None

    def __str__(self) -> str:
        return self.table if self.after is None else f"{self.table}>{self.after}"


@dataclass(frozen=True)
class ChainsFingerprint(Fingerprint):
    """The fingerprint of a temporal view, by its chains."""

    tracking, kind = Tracking.STACKED, "chains"
    #: the instant of the last rebuild (ms)
    started_at: int
    #: None for a view without refreshes
    refreshes: Refreshes | None
    #: sorted
    chains: tuple[ChainId, ...]

    @property
    def without_chains(self) -> ChainsFingerprint:
        """The fingerprint without the chains. While it is the same, the chains tell which rows changed."""
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
    """A fingerprint -> its JSON in the state.

    >>> as_json(DeltaVersion(3, "a-b"))
    {'kind': 'delta', 'version': 3, 'table': 'a-b', 'commit': ''}
    """
    return {"kind": fingerprint.kind, **asdict(fingerprint)}


def of_json(value: Mapping[str, Any]) -> Fingerprint:
    """The JSON in a state -> the fingerprint. Raises ValueError, KeyError, TypeError.

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
