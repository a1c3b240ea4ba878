"""The changes of an input: since the last run, and while a run read the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...engine.warehouse import Query, Warehouse
from ...plurals import quantity
from ...temporal.diffs.input_state import (
    ColumnFingerprint,
    DeltaVersion,
    FilesFingerprint,
    Fingerprint,
    IcebergScans,
    Tracking,
)
from ...temporal.diffs.state import ListedFile
from ...temporal.ivm import delta_query
from ...temporal.ivm.delta_query import Added, AddedChains
from ...temporal.ivm.stack import Stack
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.text.dialect import string_literal
from ...temporal.sql.text.identifiers import quoted
from ..observing import append_only, file_lists, iceberg, snapshots
from ..observing import manifest as manifests
from ..observing.altered import form_of
from ..observing.file_lists import COLUMNS, Compared
from ..observing.manifest import Manifest
from ..observing.observe import Input


@dataclass(frozen=True)
class InputChange:
    """The change of an input since a run read the input.

    | `same` | `added` | the change |
    |---|---|---|
    | True | None | nothing changed |
    | False | a delta | these rows were added and removed |
    | False | None | unknown: only a full read tells the change |
    """

    why: str
    same: bool = False
    added: delta_query.TableDelta | None = None
    #: whether the input broke the promise of `change_capture: append`
    broken: bool = False
    #: the state after the change, where the files were listed again
    fingerprint: Fingerprint | None = None
    #: the new files
    files: tuple[ListedFile, ...] = ()


@dataclass(frozen=True)
class Look:
    """A comparison of an input after a run with the input as the run read it."""

    #: whether something that was read is gone
    moved: bool = False
    #: whether all that was read is there, and more has come
    grew: bool = False
    #: the state that was read, where the look tells it
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True)
class Looking:
    """How to look at an input: the query to send, and the `Look` that its answer means."""

    #: None where no query is needed
    query: Query | None
    #: the row of the query -> the look
    means: Callable[[Sequence[Any]], Look]

    @staticmethod
    def over(look: Look) -> Looking:
        """A look that needs no query."""
        return Looking(None, lambda row: look)


def look(warehouse: Warehouse, seen: Input, change: InputChange, is_open: bool, listed: Manifest | None) -> Looking:
    """How to look at an input again, after a run has read the input.

    is_open: the run read the input without a pin, so rows that came meanwhile may be among the rows read. listed: the
    manifest of the input's files, as this run has seen the files.
    """
    then = seen.fingerprint
    if isinstance(then, FilesFingerprint) and form_of(warehouse.table(quoted(seen.relation))) != then.form:
        return Looking.over(Look(moved=True))  # another table has the name now
    if isinstance(then, ColumnFingerprint):
        return Looking.over(Look(moved=not append_only.is_still(warehouse, then, seen.listing)))
    if seen.tracking is Tracking.VERSION:
        return Looking.over(_look_at_version(warehouse, seen, change, is_open))
    if not isinstance(then, FilesFingerprint):  # a temporal view, whose chains never change; or an untracked input
        return Looking.over(Look())
    files = then.files
    if not seen.in_directory:
        warehouse.rows(f"REFRESH TABLE {quoted(seen.relation)}")
    if listed is None:
        query = (file_lists.summarizing(seen.listing), file_lists.SUMMARY_COLUMNS)
        return Looking(query, lambda row: Look(moved=file_lists.summarized(row).files != files))
    before = listed.listing(seen.relation)
    if not seen.in_directory or not listed.files:
        query = (file_lists.comparing(seen.listing, before), file_lists.COMPARED_COLUMNS)
        return Looking(query, lambda row: _judged(then, change, is_open, file_lists.compared(row)))

    def means(row: Sequence[Any]) -> Look:
        few = file_lists.compare_few(listed.files.get(seen.relation, ()), file_lists.summarized(row))
        return _judged(then, change, is_open, few or file_lists.compare(warehouse, seen.listing, before))

    return Looking((file_lists.summarizing(seen.listing, by_one=True), file_lists.SUMMARY_COLUMNS), means)


def _look_at_version(warehouse: Warehouse, seen: Input, change: InputChange, is_open: bool) -> Look:
    """The look at an input with versions. A pinned version may still be read wrongly:

    | format | why |
    |---|---|
    | Iceberg | Spark reads an old snapshot under the present schema |
    | Delta | a version is a number: a new table of the same name may have the same number |
    """
    then = seen.fingerprint
    name = quoted(seen.relation)
    if isinstance(then, DeltaVersion) and not change.same and not snapshots.is_in_history(warehouse, name, then):
        return Look(moved=True)
    versions = then.versions if isinstance(then, IcebergScans) else None
    if not is_open and (change.same or versions is None):
        return Look()
    now = snapshots.of(warehouse, name, warehouse.table(name), versions)
    moved = iceberg.is_read_otherwise(then, now)
    return Look(moved=moved, grew=is_open and not moved and now != then)


def _judged(then: FilesFingerprint, change: InputChange, is_open: bool, found: Compared) -> Look:
    """The look at an input of files. found: its present files, compared with its remembered files."""
    if (change.same or change.added is not None) and found.before != then.files:  # the remembered list is damaged
        return Look(moved=found.now != then.files)
    if found.gone or is_open and found.new:
        return Look(moved=found.gone > 0, grew=not found.gone)
    return Look(fingerprint=replace(then, files=found.before))


def change(warehouse: Warehouse, seen: Input, then: Fingerprint | None, manifest: Manifest | None) -> InputChange:
    """The change of an input since its state was `then`. manifest: the files that the input had then."""
    now = seen.fingerprint
    if then is None:
        return InputChange("not read before")
    if not seen.is_tracked:
        return InputChange("only its rows tell whether it changed")
    if now == then:
        return InputChange("no change", same=True)
    if isinstance(now, snapshots.VERSIONS) and isinstance(then, snapshots.VERSIONS):
        why, delta = snapshots.changes(warehouse, quoted(seen.relation), then, now, seen.columns)
        return InputChange(why, added=delta)
    before = "" if manifest is None else manifest.listing(seen.relation)
    if isinstance(now, ColumnFingerprint):
        if not isinstance(then, ColumnFingerprint):
            return InputChange("it was not followed by append_column before")
        name = quoted(seen.relation)
        why, rows, broken = append_only.changes(warehouse, name, warehouse.table(name), then, now, before)
        return InputChange(why, added=rows, broken=broken)
    if not (isinstance(now, FilesFingerprint) and isinstance(then, FilesFingerprint)):
        return InputChange(f"{then} is now {now}")
    if now.form != then.form:
        return InputChange("its columns, place or options changed, or it was made anew")
    if not before:
        return InputChange("the list of the files it had is gone")
    return _change_of_files(warehouse, seen, then, before)


def readable_together(changes: Mapping[str, InputChange]) -> dict[str, InputChange]:
    """The changes by input; inputs whose changes one statement cannot read together get full reads instead.

    Where a statement reads one table under several options, Spark takes the first options at all places. So a table of
    which the model reads several branches that changed is read in full.
    """
    read: dict[str, set[delta_query.AddedRows]] = {}
    for change in changes.values():
        if isinstance(change.added, delta_query.AddedRows) and change.added.table:
            read.setdefault(change.added.table, set()).add(change.added)
    several = {table for table, added in read.items() if len({(a.came, a.went) for a in added}) > 1}
    return {
        name: InputChange(f"{change.why}, beside another branch of the table that changed")
        if getattr(change.added, "table", "") in several
        else change
        for name, change in changes.items()
    }


def _change_of_files(warehouse: Warehouse, seen: Input, then: FilesFingerprint, before: str) -> InputChange:
    """The change of an input of files. before: SQL of the files that the input had."""
    try:
        found = seen.compared or file_lists.compare(warehouse, seen.listing, before)
    except SparkError as error:
        error.expect(Cause.UNREADABLE)
        return InputChange("the list of the files it had cannot be read")
    if found.before != then.files:
        return InputChange("the files remembered are not those of its state")
    if found.gone:
        return InputChange(f"gone or changed: {found.gone:,} of {quantity(found.had, 'file')}")
    if not found.new:
        return InputChange("no change", same=True, fingerprint=then)
    if found.files is None:
        return InputChange(f"{quantity(found.new, 'new file')}, more than are named one by one")
    return InputChange(
        f"{quantity(found.new, 'new file')} of {found.had + found.new:,}",
        added=Added(seen.pin, found.names),
        fingerprint=replace(then, files=found.now),
        files=found.files,
    )


def size_read(seen: Input, change: InputChange, added: delta_query.TableDelta | None) -> int | None:
    """The bytes of the files that are read: of all files, or of the new files (`added`). None where not known."""
    if not isinstance(seen.fingerprint, FilesFingerprint):
        return None
    if added is None:
        return seen.fingerprint.files.size
    return sum(size for _, size, _, _ in change.files) if change.files else None


def are_few(seen: Input, change: InputChange, added: delta_query.TableDelta | None) -> bool:
    """Whether the files that are read are so few that one task opens them as fast as several tasks."""
    if not isinstance(seen.fingerprint, FilesFingerprint):
        return False
    number = seen.fingerprint.files.count if added is None else len(change.files)
    return 0 < number <= manifests.FEW


def stacked_change(stack: Stack, seen: Input, then: Fingerprint | None) -> InputChange:
    """The change of an input that is a temporal view, since its state was `then`."""
    if seen.fingerprint == then:
        return InputChange("no change", same=True)
    why, is_told = stack.change(seen.relation, then)
    return InputChange(why, added=AddedChains(stack) if is_told else None)


def to_remember(
    seen: Iterable[Input], changes: Mapping[str, InputChange], before: Manifest | None
) -> tuple[str | None, dict[str, tuple[ListedFile, ...]]]:
    """The files of all inputs, for the next run: SQL (relation, file, size, modified, place), or the files themselves.

    | inputs | SQL | files |
    |---|---|---|
    | with few files | None | all of them |
    | with many files, or with rows to remember | all of them | none |
    | without lists | None | none |

    Where only the new files of an input were read, its files are the remembered files (`before`) and these new files.
    """
    lists = {now.relation: _list_of(now, changes[now.relation], before) for now in seen if now.listing}
    files = {name: entries for name, (_, entries) in lists.items() if entries is not None}
    if files and len(files) == len(lists) and manifests.are_few(files):
        return None, files
    parts = (f"SELECT {string_literal(n)} AS relation, {COLUMNS} FROM ({sql})" for n, (sql, _) in lists.items())
    return "\nUNION ALL\n".join(parts) or None, {}


def _list_of(now: Input, change: InputChange, before: Manifest | None) -> tuple[str, tuple[ListedFile, ...] | None]:
    """The files of an input: (SQL of the list, the files themselves where they are few)."""
    if before is None or now.tracking is not Tracking.FILES or not (change.same or change.files):
        return now.listing, now.files
    known = None if before.table else before.files.get(now.relation)
    listing = before.listing(now.relation)
    if not change.files:
        return listing, known if known is None else tuple(known)
    both = f"{listing}\nUNION ALL\n{file_lists.named(change.files)}"
    return both, None if known is None else (*known, *change.files)
