"""Common table expressions: which a query sees, and which a query needs outside of its model."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from ..text.dialect import without
from ..text.identifiers import folded

Q = TypeVar("Q", bound=exp.Query)


def visible_ctes(node: exp.Expr) -> list[exp.CTE]:
    """The CTEs in the scope of a query, outermost and earliest first."""
    found: list[exp.CTE] = []
    child, parent = node, node.parent
    own = node.args.get("with_")
    if own is not None:
        found = list(own.expressions)
    while parent is not None:
        if isinstance(parent, exp.With):
            position = next(i for i, cte in enumerate(parent.expressions) if cte is child)
            # a recursive CTE may also name itself
            found = parent.expressions[: position + bool(parent.args.get("recursive"))] + found
            assert parent.parent is not None  # the query that the WITH belongs to
            child, parent = parent.parent, parent.parent.parent
            continue
        with_ = parent.args.get("with_")
        if with_ is not None:
            found = list(with_.expressions) + found
        child, parent = parent, parent.parent
    return found


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The CTE that a table names, the nearest of several with one name; None for a table of the catalog."""
    named = [cte for cte in visible_ctes(table) if folded(cte.alias) == folded(table.name)]
    return named[-1] if named and not table.db else None


def with_ctes(query: Q, visible: list[exp.CTE]) -> Q:
    """Set the WITH of a query to the visible CTEs that the query names, directly or through others, in place.

    A query that names none of them keeps its own WITH. A WITH RECURSIVE stays RECURSIVE.
    """
    needed: list[exp.CTE] = []
    names = table_names(query)
    for cte in reversed(visible):
        if cte.alias.lower() in names:
            needed.insert(0, cte)
            names |= table_names(cte.this)
    if needed:
        recursive = any(map(is_recursive, needed))
        query.set("with_", exp.With(expressions=[cte.copy() for cte in needed], recursive=recursive))
    return query


def named_ctes(select: exp.Select) -> list[exp.CTE]:
    """The CTEs that a SELECT reads, directly or through others."""
    with_ = with_ctes(without(select, "with_"), visible_ctes(select)).args.get("with_")
    return list(with_.expressions) if with_ is not None else []


def names_itself(cte: exp.CTE) -> bool:
    """Whether a CTE reads a table of its own name. In WITH RECURSIVE this is the CTE, else a table of the catalog."""
    return cte.alias.lower() in table_names(cte.this)


def is_recursive(cte: exp.CTE) -> bool:
    """Whether a CTE stands in a WITH RECURSIVE."""
    return cte.parent is not None and bool(cte.parent.args.get("recursive"))


def reads_of(name: str, query: exp.Expr) -> list[exp.Table]:
    """The places where a query names a CTE."""
    return [t for t in query.find_all(exp.Table) if not t.db and t.name.lower() == name.lower()]


def table_names(node: exp.Expr) -> set[str]:
    return {t.name.lower() for t in node.find_all(exp.Table) if not t.db}


def eliminate_ctes(query: exp.Expr) -> None:
    while True:
        ctes = query.find_all(exp.CTE)
        unused = [cte for cte in ctes if all(inside(table, cte) for table in reads_of(cte.alias, query))]
        if not unused:
            return
        for cte in unused:
            remove_cte(cte)


def remove_cte(cte: exp.CTE) -> None:
    with_ = cte.parent
    cte.pop()
    if with_ is not None and not with_.expressions:
        with_.pop()


def inside(node: exp.Expr, ancestor: exp.Expr) -> bool:
    at: exp.Expr | None = node
    while at is not None:
        if at is ancestor:
            return True
        at = at.parent
    return False
