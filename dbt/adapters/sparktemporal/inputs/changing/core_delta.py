"""Decides how a core is brought up to date: not at all, by added and removed rows, or by reading all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from sqlglot import exp

from ...engine.warehouse import Warehouse
from ...temporal.diffs import intervals_sql
from ...temporal.ivm import delta_query, linear_tables
from ...temporal.ivm.stack import stacked_name
from ...temporal.rewrite.core import TypedCore
from ...temporal.sql.spark import plans
from ...temporal.sql.spark.errors import Cause, allowing
from ...temporal.sql.text.dialect import render
from ...temporal.sql.text.identifiers import quoted
from ..observing.observe import Input
from ..views import expansion
from .changes import InputChange


class DeltaKind(Enum):
    """How a core is brought up to date: not at all, by added and removed rows, or by reading all."""

    SAME, INCREMENTAL, FULL = "unchanged", "incremental", "full"


@dataclass(frozen=True)
class CoreDelta:
    """How a core is brought up to date."""

    kind: DeltaKind
    #: the reason for the kind
    why: str = ""
    #: the input that is the reason for a full read, "" for no single one
    cause: str = ""
    #: queries of the rows that came, where the core is incremental
    inserts: tuple[TypedCore, ...] = ()
    #: queries of the rows that went, where the core is incremental
    deletes: tuple[TypedCore, ...] = ()
    #: relation -> the part of the relation that is read, None for all
    read: Mapping[str, delta_query.TableDelta | None] = field(default_factory=dict)
    #: the inputs that are read without a pin, so that rows that come meanwhile may be read
    open: frozenset[str] = frozenset()
    #: pins the query of the core, or a narrowed form of the query; None unless the core is read in full and pinned
    pin: Callable[[TypedCore], TypedCore] | None = None

    @property
    def reason(self) -> str:
        return f"{self.cause}: {self.why}" if self.cause else self.why

    @property
    def is_same(self) -> bool:
        return self.kind is DeltaKind.SAME

    @property
    def is_incremental(self) -> bool:
        return self.kind is DeltaKind.INCREMENTAL


class _Full(Exception):
    """A core must be read in full. cause: the input that is the reason, "" for no single one."""

    def __init__(self, why: str, cause: str = "") -> None:
        super().__init__(why)
        self.why, self.cause = why, cause


def delta_of(
    warehouse: Warehouse,
    core: TypedCore,
    plan: str,
    seen: Mapping[str, Input],
    changes: Mapping[str, InputChange],
    why: str,
) -> CoreDelta:
    """How a core is brought up to date, in the cheapest sound way.

    plan: the output of EXPLAIN EXTENDED for the core's query with its predicate. why: the reason to read all cores in
    full, "" for none.
    """
    analyzed = plans.analyzed(plan)
    every = _inputs(core, analyzed)
    try:
        if why:
            raise _Full(why)
        if every is None or any(name not in seen for name in every):
            moves = plans.moves_by_itself(analyzed)
            raise _Full("a view below has a clock or chance in it" if moves else "it reads something other than tables")
        moved = [name for name in dict.fromkeys(every) if not changes[name].same]
        if not moved:
            return CoreDelta(DeltaKind.SAME)
        return _incremental(warehouse, core, analyzed, every, {name: changes[name] for name in moved})
    except _Full as full:
        read = dict.fromkeys(name for name in (seen if every is None else every) if name in seen)
        return CoreDelta(DeltaKind.FULL, full.why, full.cause, read=read, open=frozenset(read))


def _inputs(core: TypedCore, analyzed: str) -> list[str] | None:
    """The tables and temporal views that a core reads; None where it reads something else."""
    tables = plans.tables_read(analyzed)
    return None if tables is None else [*tables, *(name for _, name in stacked_in(core))]


def _incremental(
    warehouse: Warehouse, core: TypedCore, analyzed: str, every: Sequence[str], moved: Mapping[str, InputChange]
) -> CoreDelta:
    """The delta of a core by added and removed rows. every: the inputs of the core. moved: the changed inputs."""
    found: dict[str, delta_query.TableDelta] = {}
    for name, change in moved.items():
        if change.added is None:
            raise _Full(change.why, name)
        found[name] = change.added
    plan_by_name = expansion.without_views(core.core.query, analyzed)
    try:
        query = expansion.open_views(warehouse, core.core.query, found.__contains__, plan_by_name)
    except expansion.Closed as closed:
        raise _Full(f"{', '.join(moved)} changed below a view: {closed}") from None
    read_at, places = _places(warehouse, query, plan_by_name, found)
    if sorted(name for reads in read_at for name in reads) != sorted(every):
        raise _Full("its predicate reads tables, or where it reads which is not told")
    if (unread := delta_query.unread(places)) is not None:
        raise _Full(f"{read_at[unread][0]} changed, and cannot be joined as it was: nothing reads that")
    if plans.chooses_rows(analyzed):  # the rows before were made with another choice, perhaps
        raise _Full(f"{', '.join(moved)} changed beside a choice among rows (LIMIT, row_number(), first())")
    signed = [(s, replace(core, core=replace(core.core, query=q))) for s, q in delta_query.added_rows(query, places)]
    keeps_names = delta_query.keeps_names(intervals_sql.probe(core.core), found.values())
    if not keeps_names and not all(keeps_columns(warehouse, part) for _, part in signed):
        raise _Full(OTHER_COLUMNS)
    inserts, deletes = (tuple(part for sign, part in signed if sign == wanted) for wanted in (1, -1))
    if deletes and _adds_doubles(warehouse, analyzed, every):  # the stored row would be another one
        raise _Full(f"{', '.join(moved)} lost rows beside a sum of DOUBLE, which may have other last digits now")
    why = ", ".join(change.why for change in moved.values())
    return CoreDelta(DeltaKind.INCREMENTAL, why, "", inserts, deletes, found, _beside(read_at, places))


def _adds_doubles(warehouse: Warehouse, analyzed: str, every: Iterable[str]) -> bool:
    """Whether the rows of a core may have sums of DOUBLE in them. every: the inputs of the core."""
    return plans.adds_doubles(analyzed, (kind for name in every for _, kind in _columns(warehouse, name)))


def _columns(warehouse: Warehouse, name: str) -> Iterable[tuple[str, str]]:
    """The columns of a table, or the stored columns of a temporal view."""
    state = warehouse.stack.states.get(name) if warehouse.stack else None
    if state is None:
        return warehouse.table(quoted(name)).columns
    return (column for core in state.cores for column in core.columns)


def _beside(read_at: Sequence[Sequence[str]], places: Mapping[int, delta_query.TableDelta]) -> frozenset[str]:
    """The inputs that a delta query reads in full: a place is read in full when another place has the new rows."""
    return frozenset(name for at, reads in enumerate(read_at) for name in reads if set(places) - {at})


def _places(
    warehouse: Warehouse, query: exp.Query, plan_by_name: dict[str, str], found: Mapping[str, delta_query.TableDelta]
) -> tuple[list[list[str]], dict[int, delta_query.TableDelta]]:
    """(the inputs that each place of a query reads, index of a place -> the change that is read there)."""
    read_at: list[list[str]] = []
    places: dict[int, delta_query.TableDelta] = {}
    for place, (table, linear) in enumerate(linear_tables.tables(query)):
        read_at.append(_read_at(warehouse, table, plan_by_name, found))
        changed = next((name for name in read_at[place] if name in found), None)
        if changed is not None:
            _refuse_place(table, linear, changed, found[changed])
            places[place] = found[changed]
    return read_at, places


def _read_at(warehouse: Warehouse, table: exp.Table, plan_by_name: dict[str, str], moved: Iterable[str]) -> list[str]:
    """The inputs that are read at one place of a query."""
    above = stacked_name(table)
    reads = [above] if above else plans.tables_read(expansion.described(warehouse, table, plan_by_name)) or []
    if reads and isinstance(table.this, exp.Func):
        raise _Full(f"{', '.join(moved)} changed below the function {table.name}")
    return reads


def _refuse_place(table: exp.Table, linear: bool, changed: str, added: delta_query.TableDelta) -> None:
    version = getattr(added, "version", "")
    if linear_tables.is_plain(table) and linear_tables.version_read(table) != version:
        raise _Full(f"{changed} changed, and is read at another version too")
    if not linear:
        raise _Full(f"{changed} changed, and one row of it may decide about others")


#: why a core does not keep its columns when something else stands in the place of its tables
OTHER_COLUMNS = "its columns are named in a way that only the tables themselves have"


def keeps_columns(warehouse: Warehouse, changed: TypedCore) -> bool:
    """Whether a core keeps its columns when something else stands in place of its tables.

    A column that is named with the schema of its table, or a hidden column, may be lost.
    """
    probe = render(intervals_sql.probe(changed.core))
    with allowing(Cause.NOT_TAKEN):
        return tuple(warehouse.describe(probe)[: len(changed.columns)]) == changed.columns
    return False


def stacked_in(core: TypedCore) -> list[tuple[exp.Table, str]]:
    """(place in the query of a core, the temporal view that is read there)."""
    probe = intervals_sql.probe(core.core)
    return [(table, name) for table in probe.find_all(exp.Table) if (name := stacked_name(table)) is not None]
