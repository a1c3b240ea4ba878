"""Resolve the columns of correlated subqueries: which belong to a SELECT, and which to a query around it.

    select k, (select max(x) from other o where o.k = t.k) from t where <temporal> group by k
                                            ^^^          ^^^
                                            of other     of t, from outside of the subquery

Spark looks a name up from the inside outwards: the sources of the query that holds the name, the aliases of its SELECT
list, then the outer query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ....errors import Refusal
from ..spark.errors import SparkError
from ..text.dialect import fragment
from ..text.identifiers import folded
from .bind import sources_of
from .ctes import inside, visible_ctes
from .linear import is_inside_a_value, is_linear, only_filters
from .scope import Describe, Source, around, is_lambda_variable, resolve


class Scopes:
    """Resolves the columns of a SELECT and of its subqueries.

    sources: the sources of the SELECT, whose FROM may be gone already. ctes: the CTEs in the scope of the SELECT.
    """

    def __init__(self, select: exp.Select, sources: Sequence[Source], describe: Describe, ctes: list[exp.CTE]) -> None:
        self._select, self._sources, self._describe, self._ctes = select, list(sources), describe, ctes
        self._inner: dict[int, list[Source]] = {}

    def own(self, column: exp.Column) -> tuple[int, str, int] | None:
        """A column -> its source as `resolve` gives it, when the column belongs to the SELECT's rows; else None."""
        if isinstance(column.find_ancestor(exp.Select, exp.SetOperation), exp.SetOperation):
            return None  # the ORDER BY of a UNION in a subquery names columns of the UNION
        scope = column.find_ancestor(exp.Select)
        while scope is not None and scope is not self._select:
            if self.has(column, scope):
                return None
            scope = around(scope)
        if _is_in_several(column, self._sources):
            return None  # the name stays as it is: it means an item of the SELECT list, or Spark refuses the text
        return resolve(column, self._sources)

    def is_outside(self, column: exp.Column) -> bool:
        """Whether a column belongs to a query around the SELECT."""
        scope = column.find_ancestor(exp.Select, exp.SetOperation)
        while isinstance(scope, exp.Select):
            is_around = not inside(scope, self._select)
            try:
                if resolve(column, self._sources_of(scope)) is not None:
                    return is_around
            except Refusal:  # the columns of this SELECT are not known: the column may be one of them
                return is_around
            if scope is not self._select and _is_alias(column, scope):
                return is_around
            scope = around(scope)
        return False

    def has(self, column: exp.Column, scope: exp.Select) -> bool:
        """Whether a name means a column, or an alias, of a SELECT itself."""
        return resolve(column, self._sources_of(scope)) is not None or _is_alias(column, scope)

    def is_ambiguous(self, column: exp.Column, scope: exp.Select) -> bool:
        """Whether several relations of a SELECT have a column with this name. False for a name with a qualifier."""
        if any(map(only_filters, scope.args.get("joins") or [])):
            return False
        return _is_in_several(column, self._sources_of(scope))

    def is_nested(self, column: exp.Column) -> bool:
        return column.find_ancestor(exp.Select) is not self._select

    def refuse_hidden(self, name: str) -> None:
        """Refuse a subquery in which `name`, the alias of the rows of the SELECT, means another relation or column."""
        for query in self._select.find_all(exp.Select):
            if query is self._select or not query.args.get("from_"):
                continue
            for source in self._sources_of(query):
                if name.lower() in (source.name.lower(), *(c.lower() for c in source.columns)):
                    raise Refusal(
                        "ST311",
                        fragment(query),
                        f"{name} is a name in this subquery, and the alias of the rows that the outer query reads",
                        f"another alias for one of the two {name}",
                    )

    def _sources_of(self, scope: exp.Select) -> list[Source]:
        if id(scope) not in self._inner:
            found: list[Source] = []
            if scope.args.get("from_"):
                visible = [*self._ctes, *visible_ctes(scope)]
                try:
                    found = sources_of(_with_all_sources(scope), self._describe, visible)
                except SparkError as error:
                    raise Refusal(
                        "ST312",
                        fragment(scope),
                        f"its columns above the windowed rows are not known: {str(error).strip().splitlines()[0]}",
                        "a join in an outer query over the temporal SELECT",
                    ) from None
            self._inner[id(scope)] = found
        return self._inner[id(scope)]


def reads_outside(select: exp.Select, describe: Describe) -> bool:
    """Whether the rows of a SELECT in EXISTS, IN or a scalar subquery depend on a query around it.

    select id from u where exists (select 1 from t where t.id = u.id and mz_now() < t.hi)
    """
    if not is_inside_a_value(select):
        return False
    parts = [select.args.get("where"), *(select.args.get("joins") or []), *(select.args.get("laterals") or [])]
    parts += [*select.expressions, select.args["from_"]] if is_linear(select) else [select.args["from_"]]
    scopes = Scopes(select, [], describe, [])
    return any(scopes.is_outside(column) for part in parts if part for column in part.find_all(exp.Column))


def unknown_columns(query: exp.Query, describe: Describe) -> Iterator[exp.Column]:
    """The names that mean neither an alias nor a column of a relation around them, and the ambiguous names."""
    scopes = Scopes(exp.Select(), [], describe, [])
    for column in reversed(list(query.find_all(exp.Column))):  # inner columns first: outer columns come from them
        scope = column.find_ancestor(exp.Select, exp.SetOperation)
        while isinstance(scope, exp.Select) and not scopes.has(column, scope):
            scope = around(scope)
        if column.is_star or is_lambda_variable(column) or column.find_ancestor(exp.Hint):
            continue
        if scope is None or isinstance(scope, exp.Select) and scopes.is_ambiguous(column, scope):
            yield column


def _with_all_sources(scope: exp.Select) -> exp.Select:
    """A copy with the right sides of SEMI and ANTI joins among its sources: the ON of a join names both sides."""
    copy = scope.copy()
    for join in copy.args.get("joins") or []:
        if only_filters(join):
            join.set("kind", None)
    return copy


def _is_in_several(column: exp.Column, sources: Sequence[Source]) -> bool:
    """Whether several of the sources have a column of a name without a qualifier. A merged column is one."""
    found = [source.name for source in sources if folded(column.name) in map(folded, source.columns)]
    return len(column.parts) == 1 and len(found) > 1 and "" not in found


def _is_alias(column: exp.Column, scope: exp.Select) -> bool:
    return len(column.parts) == 1 and any(
        isinstance(item, exp.Alias) and item.alias.lower() == column.name.lower() for item in scope.expressions
    )
