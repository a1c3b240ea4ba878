"""What an input did: since the last run, and while a run read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..engine.chain_files import is_unreadable
from ..engine.warehouse import Warehouse
from ..temporal.diffs.fingerprints import ColumnFingerprint, FilesFingerprint, Fingerprint, Tracking
from ..temporal.ivm import delta_query
from ..temporal.ivm.delta_query import Added, AddedChains
from ..temporal.ivm.upstream import Stack
from ..temporal.sql.dialect import string_literal
from ..words import quantity
from . import append_only, file_lists, snapshots
from .file_lists import COLUMNS
from .observe import Input, observed, quoted, remembered


@dataclass(frozen=True)
class InputChange:
    """What an input did since a run read it: nothing (`same`), more rows (`added`), or what only its rows tell.

    broken: it did what `change_capture: append` promises that it does not do. fingerprint: of the state that `added`
    leads to, where the files were listed anew for it; files: what they added to the list, as JSON.
    """

    why: str
    same: bool = False
    added: delta_query.TableDelta | None = None
    broken: bool = False
    fingerprint: Fingerprint | None = None
    files: str = ""


@dataclass(frozen=True)
class Look:
    """An input after it was read. moved: what it was is gone; grew: it is there, and more. fingerprint: of it then."""

    moved: bool = False
    grew: bool = False
    fingerprint: Fingerprint | None = None


def look(warehouse: Warehouse, seen: Input, change: InputChange, is_open: bool, listed: str | None) -> Look:
    """What an input is after it was read, as far as Spark tells.

    is_open: the run read more of the input than what can be pinned, so nothing may have been added. listed: the table
    of the input's files, which are its state where it was read in full.
    """
    then = seen.fingerprint
    if isinstance(then, ColumnFingerprint):
        return Look(moved=not append_only.is_still(warehouse, then, seen.listing))
    if seen.tracking is Tracking.VERSION:
        is_still = not is_open or observed(warehouse, seen.relation, False).fingerprint == then
        return Look(grew=not is_still)
    if not isinstance(then, FilesFingerprint):  # chains are never written again; nothing tells that rows changed
        return Look()
    if not seen.in_directory:
        warehouse.rows(f"REFRESH TABLE {quoted(seen.relation)}")
    if listed is None:
        return Look(moved=file_lists.summary(warehouse, seen.listing)[0] != then.files)
    found = file_lists.compare(warehouse, seen.listing, remembered(seen.relation, listed))
    if (change.same or change.added is not None) and found.before != then.files:  # what was remembered is damaged
        return Look(moved=found.now != then.files)
    if found.gone or is_open and found.new:
        return Look(moved=found.gone > 0, grew=not found.gone)
    return Look(fingerprint=replace(then, files=found.before))


def change(warehouse: Warehouse, seen: Input, then: Fingerprint | None, manifest: str | None) -> InputChange:
    """What an input did since it had a fingerprint. manifest: the table of the files it had then."""
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
    before = ""
    if manifest is not None:
        before = remembered(seen.relation, manifest)
    if isinstance(now, ColumnFingerprint):
        if not isinstance(then, ColumnFingerprint):
            return InputChange("it was not followed by append_column before")
        name = quoted(seen.relation)
        why, rows, broken = append_only.changes(warehouse, name, warehouse.table(name), then, now, before)
        return InputChange(why, added=rows, broken=broken)
    if not (isinstance(now, FilesFingerprint) and isinstance(then, FilesFingerprint)):
        return InputChange(f"{then} is now {now}")
    if now.form != then.form:
        return InputChange("its columns, place or options changed")
    if not before:
        return InputChange("the list of the files it had is gone")
    return _change_of_files(warehouse, seen, then, before)


def _change_of_files(warehouse: Warehouse, seen: Input, then: FilesFingerprint, before: str) -> InputChange:
    """before: SQL of the files that the input had."""
    try:
        found = file_lists.compare(warehouse, seen.listing, before)
    except Exception as error:  # dbt's error or Spark's own: the text tells which
        if not is_unreadable(error):
            raise
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


def stacked_change(stack: Stack, seen: Input, then: Fingerprint | None) -> InputChange:
    """What a temporal view that is read did since it had a fingerprint."""
    if seen.fingerprint == then:
        return InputChange("no change", same=True)
    why, is_told = stack.change(seen.relation, then)
    return InputChange(why, added=AddedChains(stack) if is_told else None)


def manifest(seen: Iterable[Input], changes: Mapping[str, InputChange], before: str | None) -> str | None:
    """SQL of what is remembered of all inputs (relation, file, size, modified, place).

    Where new files alone are read these are exactly they, beside those that were remembered. before: their table.
    """
    parts = []
    for now in seen:
        if not now.listing:
            continue
        change, listing = changes[now.relation], now.listing
        if before is not None and now.tracking is Tracking.FILES and (change.same or change.files):
            listing = remembered(now.relation, before)
            listing += f"\nUNION ALL\n{file_lists.named(change.files)}" if change.files else ""
        parts.append(f"SELECT {string_literal(now.relation)} AS relation, {COLUMNS} FROM ({listing})")
    return "\nUNION ALL\n".join(parts) or None
