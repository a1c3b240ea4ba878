"""Put histories into a residual that reads row by row: each row of the output has the interval of its row of a core.

    SELECT k, upper(v) AS v FROM mz_core_c0 WHERE n > 1
      ->  SELECT k, upper(v) AS v, mz_from, mz_until FROM (the history of c0) WHERE n > 1

Filters, projections, LATERAL VIEW, derived tables and UNION ALL are row by row. The residual has no CTEs here: the
caller writes them as derived tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ...temporal.diffs.intervals_sql import TIMES
from ...temporal.rewrite.core import is_placeholder
from ...temporal.sql.functions.calls import nondeterministic
from ...temporal.sql.functions.registry import BUILTIN
from ...temporal.sql.names.linear import first_source, is_linear
from ...temporal.sql.names.projection import inner_stars
from ...temporal.sql.names.scope import alias_of, quote_name, star_of
from ...temporal.sql.text.dialect import has_other_parts
from ...temporal.sql.text.identifiers import folded

#: the parts of a SELECT that read one row after the other
_PARTS = {"expressions", "from_", "where", "laterals", "kind"}


def with_times(residual: exp.Query, cores: Mapping[str, Sequence[str]]) -> exp.Query | None:
    """A residual without CTEs -> the residual with mz_from and mz_until as its last columns.

    None for a residual that is not row by row. cores: the placeholder of a core -> the names of the core's columns. The
    caller puts the history of the core in place of the placeholder.
    """
    query = residual.copy()
    return query if _taken(query, cores) is not None else None


def _taken(query: exp.Expr, cores: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Add the times to a query, in place -> the names of the query's other columns.

    None where the query is not row by row. The name of a column that the query does not name is empty.
    """
    if isinstance(query, exp.Subquery):
        return None if _is_decorated(query) else _taken(query.this, cores)
    if isinstance(query, exp.Union):
        plain = not any(query.args.get(part) for part in ("order", "limit", "offset", "with_", "by_name", "on"))
        if query.args.get("distinct") or not plain:
            return None
        left, right = _taken(query.left, cores), _taken(query.right, cores)
        return left if left is not None and right is not None and len(left) == len(right) else None
    return _of_select(query, cores) if isinstance(query, exp.Select) else None


def _of_select(select: exp.Select, cores: Mapping[str, Sequence[str]]) -> list[str] | None:
    source = first_source(select)
    if source is None or _is_decorated(source) or has_other_parts(select, _PARTS) or not is_linear(select):
        return None
    if any(inner_stars(select)) or nondeterministic(select) is not None:
        return None
    if any(isinstance(n, exp.Query) or _is_unknown(n) for n in _own(select)):
        return None
    columns, alias = _of_source(source, cores), source.alias_or_name
    names = _names(select, columns, alias) if columns is not None else None
    if names is None or columns is None:
        return None
    items: list[exp.Expr] = []
    for item in select.expressions:
        items += [_column(c, alias) for c in columns] if _is_star(item) else [item]
    select.set("expressions", [*items, *(_column(t, alias) for t, _ in TIMES)])
    return names


def _of_source(source: exp.Expr, cores: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Add the times to a source, in place -> the names of its other columns; None for a source not row by row."""
    if isinstance(source, exp.Table):
        if not is_placeholder(source):
            return None
        source.set("alias", alias_of(source))
        return list(cores[source.name])
    found = _taken(source.this, cores) if isinstance(source, exp.Subquery) else None
    listed = source.alias_column_names
    if found is None or not listed:
        return found
    source.args["alias"].set("columns", [*source.args["alias"].columns, *(quote_name(t) for t, _ in TIMES)])
    return listed


def _is_unknown(node: exp.Expr) -> bool:
    """Whether a node is a call of a user's function, which may be an aggregate, or of mz_now()."""
    return isinstance(node, exp.Anonymous) and folded(node.name) not in BUILTIN


def _own(select: exp.Select) -> list[exp.Expr]:
    """The nodes of the SELECT list, the WHERE and the LATERAL VIEWs of a SELECT."""
    parts = [*select.expressions, *filter(None, [select.args.get("where")])]
    parts += [view.this for view in select.args.get("laterals") or []]
    return [node for part in parts for node in part.walk()]


def _is_decorated(source: exp.Expr) -> bool:
    """Whether a source is more than a name or a query with an alias: a sample, a pivot, an ORDER BY."""
    return has_other_parts(source, ("this", "alias"))


def _names(select: exp.Select, columns: Sequence[str], alias: str) -> list[str] | None:
    """The names of the columns of a SELECT over one source; None where they are not known."""
    names: list[str] = []
    for item in select.expressions:
        if _is_star(item):
            qualifier = item.table if isinstance(item, exp.Column) else ""
            known = alias and all(columns) and not select.args.get("laterals")
            if not known or qualifier.lower() not in ("", alias.lower()):
                return None
            names += columns
        else:
            names.append(item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else "")
    return names


def _is_star(item: exp.Expr) -> bool:
    star = star_of(item)
    return star is not None and not any(star.args.get(part) for part in ("except_", "except", "replace"))


def _column(name: str, alias: str) -> exp.Column:
    return exp.column(quote_name(name), table=quote_name(alias) if alias else None)
