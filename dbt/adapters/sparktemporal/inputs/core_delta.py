"""How one core is brought up to date: not at all, by the rows that came and went, or by reading all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from sqlglot import exp

from ..engine.warehouse import Warehouse
from ..temporal.diffs import intervals_sql
from ..temporal.ivm import delta_query
from ..temporal.ivm.upstream import stacked_name
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql import plans
from ..temporal.sql.dialect import render
from . import view_expansion
from .changes import InputChange
from .observe import Input


class DeltaKind(Enum):
    """How a core is brought up to date: not at all, by what came and went, or by reading all."""

    SAME, INCREMENTAL, FULL = "unchanged", "incremental", "full"


@dataclass(frozen=True)
class CoreDelta:
    """How a core is brought up to date.

    inserts, deletes: of an incremental one, queries of the rows that came and that went. why: one is read in full;
    cause: the input that asks for that, "" for none by itself.
    read: relation -> the part of it that decides what is written, None for all. open: the inputs of which more is read
    than what is pinned, so that what comes meanwhile would be too. pin: it was pinned: what pins a query like it.
    """

    kind: DeltaKind
    why: str = ""
    cause: str = ""
    inserts: tuple[TypedCore, ...] = ()
    deletes: tuple[TypedCore, ...] = ()
    read: Mapping[str, delta_query.TableDelta | None] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
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


def delta_of(
    warehouse: Warehouse,
    core: TypedCore,
    plan: str,
    seen: Mapping[str, Input],
    changes: Mapping[str, InputChange],
    why: str,
) -> CoreDelta:
    """How a core is brought up to date, the cheapest sound way first.

    plan: the plans of what it reads, its predicate too. seen, changes: by input. why: all cores are read in full.
    """
    query = core.core.query
    analyzed = plans.analyzed(plan)
    every = plans.tables_read(analyzed)
    every = None if every is None else [*every, *(name for _, name in stacked_in(core))]
    in_full = dict.fromkeys(name for name in (seen if every is None else every) if name in seen)
    if why:
        return _in_full(why, in_full)
    if every is None or any(name not in seen for name in every):
        moves = plans.moves_by_itself(analyzed)
        why_all = "a view below has a clock or chance in it" if moves else "it reads something other than tables"
        return _in_full(why_all, in_full)
    moved = [name for name in dict.fromkeys(every) if not changes[name].same]
    if not moved:
        return CoreDelta(DeltaKind.SAME)
    for name in moved:
        if changes[name].added is None:
            return _in_full(changes[name].why, in_full, cause=name)
    found = {name: added for name in moved if (added := changes[name].added) is not None}
    plan_by_name = view_expansion.without_views(query, analyzed)
    try:
        query = view_expansion.open_views(warehouse, query, found.__contains__, plan_by_name)
    except view_expansion.Closed as closed:
        return _in_full(f"{', '.join(moved)} changed below a view: {closed}", in_full)
    places: dict[int, delta_query.TableDelta] = {}
    read_at: list[list[str]] = []
    for place, (table, linear) in enumerate(delta_query.tables(query)):
        above = stacked_name(table)
        reads = [above] if above else plans.tables_read(view_expansion.described(warehouse, table, plan_by_name)) or []
        if reads and isinstance(table.this, exp.Func):
            return CoreDelta(
                DeltaKind.FULL, f"{', '.join(moved)} changed below the function {table.name}", read=in_full
            )
        read_at.append(reads)
        changed = next((name for name in reads if name in found), None)
        if changed is None:
            continue
        version = getattr(found[changed], "version", "")
        if delta_query.is_plain(table) and delta_query.version_read(table) != version:
            return _in_full(f"{changed} changed, and is read at another version too", in_full)
        if not linear:
            return _in_full(f"{changed} changed, and one row of it may decide about others", in_full)
        places[place] = found[changed]
    if sorted(name for reads in read_at for name in reads) != sorted(every):
        return _in_full("its predicate reads tables, or where it reads which is not told", in_full)
    if (unread := delta_query.unread(places)) is not None:
        return _in_full(f"{read_at[unread][0]} changed, and cannot be joined as it was: nothing reads that", in_full)
    signed = [(s, replace(core, core=replace(core.core, query=q))) for s, q in delta_query.added_rows(query, places)]
    asked = not delta_query.keeps_names(intervals_sql.probe(core.core), found.values())
    for _, part in signed if asked else ():
        try:
            same = (
                tuple(warehouse.describe(render(intervals_sql.probe(part.core)))[: len(core.columns)]) == core.columns
            )
        except Exception:  # a column named with the schema of its table, or a hidden one
            same = False
        if not same:
            return _in_full("its columns are named in a way that only the tables themselves have", in_full)
    inserts, deletes = (tuple(part for sign, part in signed if sign == wanted) for wanted in (1, -1))
    # of a place what is new alone is read, unless another place is what decides what is new
    beside = [name for at, reads in enumerate(read_at) for name in reads if set(places) - {at}]
    why = ", ".join(changes[r].why for r in moved)
    return CoreDelta(DeltaKind.INCREMENTAL, why, "", inserts, deletes, found, frozenset(beside))


def _in_full(why: str, read: Mapping[str, None], cause: str = "") -> CoreDelta:
    return CoreDelta(DeltaKind.FULL, why, cause, read=read, open=frozenset(read))


def stacked_in(core: TypedCore) -> list[tuple[exp.Table, str]]:
    """Where a core reads temporal views, and which."""
    probe = intervals_sql.probe(core.core)
    return [(table, name) for table in probe.find_all(exp.Table) if (name := stacked_name(table)) is not None]
