"""Inline the CTEs of a query as subqueries."""

from __future__ import annotations

from sqlglot import exp

from ...temporal.sql.names.ctes import is_recursive, names_itself, reads_of, remove_cte, table_names
from ...temporal.sql.names.scope import alias_of


def without_ctes(residual: exp.Query) -> exp.Query | None:
    """A query with each CTE inlined as a subquery; None where a CTE is recursive.

    Names of CTEs are unique in a model.
    """
    query = residual.copy()
    while ctes := {cte.alias.lower(): cte for cte in query.find_all(exp.CTE)}:
        if any(is_recursive(c) and names_itself(c) for c in ctes.values()):
            return None
        # one that reads no other CTE: its copies bring none with them
        cte = next(c for c in ctes.values() if not (c.this.find(exp.CTE) or table_names(c.this) & set(ctes)))
        for table in reads_of(cte.alias, query):
            table.replace(_as_subquery(table, cte))
        remove_cte(cte)
    return query


def _as_subquery(table: exp.Table, cte: exp.CTE) -> exp.Subquery:
    alias = alias_of(table)
    if not alias.columns and cte.args["alias"].columns:
        alias.set("columns", [c.copy() for c in cte.args["alias"].columns])
    return exp.Subquery(**{**table.args, "this": cte.this.copy(), "alias": alias})
