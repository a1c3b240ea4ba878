"""A residual that groups by all keys of a core kept per group: the core has one row a group, so nothing is left to sum.

    SELECT k, sum(mz_n) AS n FROM mz_core_c0 GROUP BY k   ->   SELECT k, mz_n AS n FROM mz_core_c0

A read then aggregates once, over the stored updates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from ..sql.calls import is_aggregate_call
from ..sql.dialect import expression
from ..sql.functions.registry import BUILTIN
from ..sql.identifiers import folded

#: parts of a SELECT that read one row after the other, or the answer as a whole
_ROW_BY_ROW = {"expressions", "from_", "group", "having", "where", "order", "limit", "offset", "kind"}


def of_one_row(
    query: exp.Expr, cores: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], totals: bool = False
) -> exp.Expr:
    """A query without the aggregations whose groups have one row each; the given tree stays as it is.

    cores: the placeholder of a core kept per group -> (its keys, column of a sum -> its type). totals: a core without
    keys has one row too, of NULLs where there are no rows; else it has none then, and the aggregation stays.
    """
    query = query.copy()
    for select in list(query.find_all(exp.Select)):
        replaced = _plain(select, cores, totals)
        if replaced is None:
            continue
        if select is query:
            query = replaced
        else:
            select.replace(replaced)
    return query


def _plain(
    select: exp.Select, cores: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], totals: bool
) -> exp.Select | None:
    """The SELECT row by row; None where it does not group by exactly the keys, or has more than sums in it."""
    from_, group = select.args.get("from_"), select.args.get("group")
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or table.db or table.name not in cores:
        return None
    if {name for name, value in select.args.items() if value} - _ROW_BY_ROW:
        return None
    keys, sums = cores[table.name]
    is_total = totals and not keys and group is None
    if not is_total and (group is None or not keys):
        return None
    if group is not None and {name for name, value in group.args.items() if value} != {"expressions"}:
        return None
    by = group.expressions if group is not None else []
    alias = table.alias_or_name
    if not all(isinstance(item, exp.Column) and item.table in ("", alias) for item in by) or _folded(
        i.name for i in by
    ) != _folded(keys):
        return None
    plain = select.copy()
    aggregates = []
    for node in plain.walk():
        if isinstance(node, (exp.Filter, exp.Query)) and node is not plain:
            return None
        if isinstance(node, exp.Anonymous) and folded(node.name) not in BUILTIN:  # it may be an aggregate
            return None
        if is_aggregate_call(node) and not (isinstance(node.parent, exp.Window) and node.arg_key == "this"):
            aggregates.append(node)
    if is_total and not aggregates:
        return None
    types = {folded(name): kind for name, kind in sums.items()}
    for node in aggregates:
        column = node.expressions[0] if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 else None
        if folded(node.name) != "sum" or not isinstance(column, exp.Column) or folded(column.name) not in types:
            return None
        node.replace(expression(_total(column, types[folded(column.name)])))
    plain.set("group", None)
    having = plain.args.get("having")
    if having is not None:
        if any(column.table != alias for column in having.find_all(exp.Column)):  # it may be an item of the SELECT
            return None
        plain.set("having", None)
        plain = plain.where(having.this, copy=False)
    return plain


def _total(column: exp.Column, kind: str) -> str:
    """SQL of one value of a column with the type that a sum of it has."""
    sql = column.sql(dialect="spark", identify=True)
    decimal = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", kind.lower())
    if decimal is None:
        return sql
    return f"CAST({sql} AS DECIMAL({min(38, int(decimal[1]) + 10)}, {decimal[2]}))"


def _folded(names: Iterable[str]) -> set[str]:
    return {folded(name) for name in names}
