"""Find the tables below a core that a run may restrict to some of their files without a change of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..engine.warehouse import Warehouse
from ..inputs.changing.core_delta import OTHER_COLUMNS, keeps_columns
from ..inputs.observing.observe import Input
from ..inputs.views import expansion
from ..pushdown import lineage
from ..temporal.ivm import delta_query, linear_tables
from ..temporal.ivm.stack import stacked_name
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark import plans
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import quoted


@dataclass(frozen=True)
class OpenedCore:
    """A core in which queries stand in place of the names of views."""

    core: TypedCore
    #: the place and the relation of each table of files that may be restricted
    places: Sequence[tuple[lineage.Place, str]]
    #: relation -> the types of its columns
    types: Mapping[str, Mapping[str, str]]
    #: position of a mz_now() -> its kind (type)
    calls: Mapping[int, str]


def open_core(
    warehouse: Warehouse, core: TypedCore, files: Mapping[str, Input], ansi: bool, notes: list[str]
) -> OpenedCore | None:
    """Open the views of a core, and find the tables of files in it that may be restricted.

    None where there is no such table, a view cannot be opened, or a restricted core has other columns.
    files: the inputs whose files are listed. notes: gets the reason for None.
    """
    plan_by_name: dict[str, str] = {}
    try:
        query = expansion.open_views(warehouse, core.core.query, files.__contains__, plan_by_name)
    except expansion.Closed as closed:
        notes.append(f"{core.name}: below a view: {closed}")
        return None
    core = replace(core, core=replace(core.core, query=query))
    columns, relations = [], []
    for table, is_linear in linear_tables.tables(query):
        described = warehouse.describe(f"SELECT * FROM {expansion.plain_name(table)}")
        is_prunable = is_linear and not stacked_name(table)
        reads = plans.tables_read(expansion.described(warehouse, table, plan_by_name)) if is_prunable else []
        relation = reads[0] if reads and len(reads) == 1 and reads[0] in files else None
        columns.append(described if relation is None else _as_declared(warehouse, relation, described))
        relations.append(relation)
    window, calls = lineage.windows(core)
    found, types = [], {}
    for place in lineage.places(query, window, columns, ansi):
        relation = relations[place.index]
        if relation is not None:
            types[relation] = {quote(name.lower()): kind for name, kind in columns[place.index]}
            found.append((place, relation))
    opened = OpenedCore(core, found, types, calls)
    probed = restricted(core, {place.index: "true" for place, _ in found})
    same = keeps_columns(warehouse, probed)
    if not same:
        notes.append(f"{core.name}: {OTHER_COLUMNS}")
    if not found:
        notes.append(f"{core.name}: its window is of no table of files whose rows are used one by one")
    return opened if same and found else None


def _as_declared(warehouse: Warehouse, relation: str, columns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The columns of a table. A column of CHAR, which a query gives as STRING, has its declared type.

    Spark pads a text to the length of the CHAR that it compares it with, so statistics do not compare as texts do.
    """
    declared = dict(warehouse.shared_table(quoted(relation)).columns)
    return [(name, of if (of := declared.get(name, "")).startswith("char(") else kind) for name, kind in columns]


def restricted(typed: TypedCore, conditions: Mapping[int, str], alone: bool = False) -> TypedCore:
    """A core that reads its tables under conditions. conditions: index of a table in its query -> SQL, "" for none.

    alone: empty the branches of a UNION ALL that have no such table.
    """
    query = typed.core.query.copy()
    tables = [table for table, _ in linear_tables.tables(query)]
    for index, condition in conditions.items():
        if alone:
            delta_query.alone(tables[index])
        if condition:
            delta_query.restrict(tables[index], condition)
    return replace(typed, core=replace(typed.core, query=query))
