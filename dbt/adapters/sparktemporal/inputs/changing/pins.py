"""Pins the reads of a core to the states of its inputs that a run has seen, without rows that came later.

table of files     the rows whose file is on the list that the run remembers
Iceberg, Delta     VERSION AS OF the version that the run saw
temporal views     no pin is needed, because chains never change
append-only table  cannot be pinned: the run checks whether its rows after the edge changed, and if so reads again
others             cannot be pinned: they are read as they are by then, without a check
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ...engine.warehouse import Warehouse
from ...errors import TemporalError
from ...temporal.diffs import intervals_sql
from ...temporal.diffs.input_state import DeltaVersion, Tracking
from ...temporal.ivm import delta_query, linear_tables
from ...temporal.ivm.stack import stacked_name
from ...temporal.rewrite.core import TypedCore
from ...temporal.sql.spark import plans
from ...temporal.sql.text.dialect import render
from ...temporal.sql.text.identifiers import quoted
from ..observing import snapshots
from ..observing.manifest import Manifest
from ..observing.observe import Input
from ..views import expansion
from .core_delta import OTHER_COLUMNS, keeps_columns

#: the reads of inputs with this tracking can be pinned
PINNED = (Tracking.FILES, Tracking.VERSION)
_HIDDEN = re.compile(r"_+metadata", re.IGNORECASE)


class Unpinnable(TemporalError):
    """A core that reads its inputs in a way that cannot be pinned, and why."""


def pinned(warehouse: Warehouse, typed: TypedCore, seen: Mapping[str, Input], lists: Manifest | None) -> TypedCore:
    """The core, with reads of the states that were seen. lists: the manifest of the files. Raises Unpinnable."""
    pinnable = {name: now for name, now in seen.items() if now.tracking in PINNED}
    plan_by_name: dict[str, str] = {}
    try:
        query = expansion.open_views(warehouse, typed.core.query, pinnable.__contains__, plan_by_name)
    except expansion.Closed as closed:
        raise Unpinnable(f"below a view: {closed}") from None
    opened = replace(typed, core=replace(typed.core, query=query))
    every = _tables_read(plans.analyzed(warehouse.explain(render(intervals_sql.probe(opened.core)))))
    if any(map(_names_hidden, query.find_all(exp.Column))):
        raise Unpinnable("it names the hidden column, which may be that of another table then")
    below: list[str] = []
    for table, _ in linear_tables.tables(query):
        if stacked_name(table):
            continue
        reads = _tables_read(expansion.described(warehouse, table, plan_by_name))
        below += reads
        found = [name for name in reads if name in pinnable]
        if found and not _is_pinned(table, pinnable[found[0]]):
            if len(reads) != 1 or not linear_tables.is_plain(table):
                raise Unpinnable(f"of {found[0]} it reads a sample, or through a function")
            _pin(warehouse, table, pinnable[found[0]], lists)
    if sorted(below) != sorted(every):
        raise Unpinnable("its predicate reads tables")
    if not keeps_columns(warehouse, opened):
        raise Unpinnable(OTHER_COLUMNS)
    return opened


def _is_pinned(table: exp.Table, seen: Input) -> bool:
    """Whether a place of a query already reads one version of a table, or the changes between two versions."""
    is_of_delta = isinstance(seen.fingerprint, DeltaVersion)
    return isinstance(table.this, exp.Var) or is_of_delta and bool(table.args.get("version"))


def _names_hidden(column: exp.Column) -> bool:
    """Whether a column may be the hidden column of one of several tables."""
    select = column.find_ancestor(exp.Select)
    several = select is None or bool(select.args.get("joins") or select.args.get("laterals"))
    return several and any(_HIDDEN.fullmatch(part.name) for part in column.parts)


def _tables_read(analyzed: str) -> list[str]:
    found = plans.tables_read(analyzed)
    if found is None:
        raise Unpinnable("it reads something other than tables")
    return found


def _pin(warehouse: Warehouse, table: exp.Table, seen: Input, lists: Manifest | None) -> None:
    if seen.tracking is Tracking.FILES:
        if lists is None:
            raise Unpinnable(f"no list of the files of {seen.relation} is kept")
        listed = f"SELECT file FROM ({lists.listing(seen.relation)})"
        delta_query.restrict_more(table, f"{seen.pin} IN ({listed})")
        return
    version = seen.fingerprint
    source = None
    if isinstance(version, snapshots.VERSIONS):
        source = snapshots.at(warehouse, quoted(seen.relation), version, linear_tables.version_read(table))
    if source is None:
        raise Unpinnable(f"{seen.relation} cannot be read as of the version it had")
    delta_query.put(table, source)
