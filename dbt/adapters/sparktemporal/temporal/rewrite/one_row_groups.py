"""Drop from a residual the aggregation by all keys of a core kept per group: the core has one row a group already.

    SELECT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY k   ->   SELECT k, mz_n AS n FROM mz_core_c0

A read then aggregates once, over the stored updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from ..sql.functions.registry import BUILTIN
from ..sql.names.linear import first_source, is_over_groups
from ..sql.spark import decimals
from ..sql.text.dialect import has_other_parts, put_in
from ..sql.text.identifiers import folded

#: parts of a SELECT that read one row after the other, or the answer as a whole
_ROW_BY_ROW = {"expressions", "from_", "group", "having", "where", "order", "limit", "offset", "kind"}


def of_one_row(
    query: exp.Expr, cores: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], totals: bool = False
) -> exp.Expr:
    """A query without the aggregations whose groups have one row each; the given tree stays as it is.

    cores: the placeholder of a core kept per group -> (its keys, column of the count or of a sum -> type). totals:
    whether a core without keys has one row, of NULLs, where there are no rows. Otherwise its aggregation stays.
    """
    query = query.copy()
    for select in list(query.find_all(exp.Select)):
        replaced = _plain(select, cores, totals)
        if replaced is not None:
            query = put_in(query, select, replaced)
    return query


def _plain(
    select: exp.Select, cores: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], totals: bool
) -> exp.Select | None:
    """The SELECT without its aggregation; None unless it groups by exactly the keys, and has no aggregates but sums."""
    table = first_source(select)
    if not isinstance(table, exp.Table) or table.db or table.name not in cores:
        return None
    keys, sums = cores[table.name]
    if not _has_one_row_a_group(select, table.alias_or_name, keys, totals):
        return None
    plain = select.copy()
    aggregates = _aggregates(plain)
    if aggregates is None or not (aggregates or select.args.get("group")):
        return None
    types = {folded(name): kind for name, kind in sums.items()}
    for node in aggregates:
        column = _summed(node)
        if column is None or folded(column.name) not in types:
            return None
        node.replace(_total(column, types[folded(column.name)]))
    plain.set("group", None)
    return _filtered(plain, table.alias_or_name)


def _has_one_row_a_group(select: exp.Select, alias: str, keys: Sequence[str], totals: bool) -> bool:
    """Whether the groups of a SELECT over a core are the groups of the core: by all keys, or the one without keys."""
    if has_other_parts(select, _ROW_BY_ROW):
        return False
    group = select.args.get("group")
    if group is None:
        return totals and not keys
    if not keys or {name for name, value in group.args.items() if value} != {"expressions"}:
        return False
    plain = all(isinstance(item, exp.Column) and item.table in ("", alias) for item in group.expressions)
    return plain and _folded(item.name for item in group.expressions) == _folded(keys)


def _aggregates(select: exp.Select) -> list[exp.Expr] | None:
    """The aggregates over the rows of a SELECT; None if it has a FILTER, a subquery or a function of a user."""
    found = []
    for node in select.walk():
        if isinstance(node, (exp.Filter, exp.Query)) and node is not select:
            return None
        if isinstance(node, exp.Anonymous) and folded(node.name) not in BUILTIN:  # it may be an aggregate
            return None
        if is_over_groups(node):
            found.append(node)
    return found


def _summed(call: exp.Expr) -> exp.Column | None:
    """The column that a call of sum() adds up; None for any other call."""
    if not isinstance(call, exp.Anonymous) or folded(call.name) != "sum" or len(call.expressions) != 1:
        return None
    (column,) = call.expressions
    return column if isinstance(column, exp.Column) else None


def _filtered(plain: exp.Select, alias: str) -> exp.Select | None:
    """HAVING becomes WHERE; None where its columns may be items of the SELECT."""
    having = plain.args.get("having")
    if having is None:
        return plain
    if any(column.table != alias for column in having.find_all(exp.Column)):
        return None
    plain.set("having", None)
    return plain.where(having.this, copy=False)


def _total(column: exp.Column, kind: str) -> exp.Expr:
    """The sum of a column over a single row: its value, in the type of a sum."""
    value = column.copy()
    for part in value.parts:
        part.set("quoted", True)
    decimal = decimals.digits(kind)
    return value if decimal is None else exp.cast(value, decimals.of_sum(*decimal), dialect="spark")


def _folded(names: Iterable[str]) -> set[str]:
    return {folded(name) for name in names}
