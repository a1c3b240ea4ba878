"""The tables that a query reads, and the linear ones: each row of the query comes from one row of such a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from ..sql.names.ctes import reads_of
from ..sql.names.linear import is_linear, kept_one_by_one
from ..sql.spark.relations import version_as_of
from ..sql.text.dialect import has_other_parts

_PLAIN = ("this", "db", "catalog", "alias")


def tables(query: exp.Query) -> list[tuple[exp.Table, bool]]:
    """The tables that a query reads, without CTEs, and whether the query is linear in each."""
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    linear = {id(table) for table in _linear_tables(query, {})}
    found = []
    for table in query.find_all(exp.Table):
        if table.db or table.name.lower() not in ctes:
            found.append((table, id(table) in linear))
    return found


def _linear_tables(query: exp.Expr, outer: Mapping[str, exp.CTE]) -> Iterator[exp.Table]:
    """The tables below a query, or a table itself, in which the query is linear. outer: the CTEs in scope, by name."""
    ctes = {**outer, **{cte.alias.lower(): cte for cte in getattr(query, "ctes", [])}}
    if isinstance(query, exp.Table):
        cte = None if query.db else ctes.get(query.name.lower())
        if is_plain(query) and cte is None:
            yield query
        elif is_plain(query) and cte is not None and len(reads_of(cte.alias, query.root())) == 1:
            yield from _linear_tables(cte.this, ctes)
    elif isinstance(query, exp.Subquery):
        if not has_other_parts(query, ("this", "alias", "with_")):  # such as the joins in `((SELECT …) x JOIN t)`
            yield from _linear_tables(query.this, ctes)
    elif isinstance(query, exp.Union) and not query.args.get("distinct"):
        if not any(query.args.get(key) for key in ("order", "limit", "offset")):
            yield from _linear_tables(query.left, ctes)
            yield from _linear_tables(query.right, ctes)
    elif isinstance(query, exp.Select) and is_linear(query) and not query.find(exp.QueryTransform):
        for source in kept_one_by_one(query):
            yield from _linear_tables(source, ctes)


def is_plain(table: exp.Table) -> bool:
    """Whether a table is no function, and is read without sample or pivot, at the present or at a stated version."""
    others = has_other_parts(table, (*_PLAIN, "version"))
    return isinstance(table.this, exp.Identifier) and not others and version_read(table) is not None


def version_read(table: exp.Table) -> str | None:
    """The version at which a text reads a table, as SQL after its name; "" for the present, None unless a literal.

    >>> from ..sql.text.dialect import parse
    >>> [version_read(table) for table in parse("select 1 from a, b version as of 7").find_all(exp.Table)]
    ['', "VERSION AS OF '7'"]
    """
    version = table.args.get("version")
    if version is None:
        return ""
    is_told = version.name == "VERSION" and isinstance(version.expression, exp.Literal)
    return version_as_of(version.expression.name) if is_told else None
