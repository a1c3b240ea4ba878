"""Columns of queries, asked once while a model is read; those of plain columns of a table follow from the table's."""

from __future__ import annotations

from sqlglot import exp

from ..text.dialect import has_other_parts, render
from .linear import first_source
from .scope import Describe


class KnownColumns:
    """A `Describe` that remembers. ask: describes a query that nothing known tells about."""

    def __init__(self, ask: Describe) -> None:
        self._ask = ask
        self._known: dict[str, list[tuple[str, str]]] = {}

    def __call__(self, query: exp.Query) -> list[tuple[str, str]]:
        found = self.known(query)
        if found is None:
            found = self._known[render(query)] = self._ask(query)
        return list(found)

    def known(self, query: exp.Query) -> list[tuple[str, str]] | None:
        """The columns of a query as (name, type) where they need not be asked for.

        >>> from ..text.dialect import parse
        >>> columns = KnownColumns(lambda query: [("a", "int"), ("b", "string")])
        >>> columns.known(parse("SELECT b AS c FROM s.t")), columns(parse("SELECT * FROM s.t"))
        (None, [('a', 'int'), ('b', 'string')])
        >>> columns.known(parse("SELECT b AS c, t.a AS b FROM s.t")), columns.known(parse("SELECT B AS c FROM s.t"))
        ([('c', 'string'), ('b', 'int')], None)
        """
        if not self._known:
            return None
        sql = render(query)
        if sql not in self._known:
            found = self._picked(query)
            if found is None:
                return None
            self._known[sql] = found
        return self._known[sql]

    def _picked(self, query: exp.Query) -> list[tuple[str, str]] | None:
        table = _picked_from(query)
        of_table = None if table is None else self._known.get(render(exp.select("*").from_(table.copy())))
        if table is None or of_table is None:
            return None
        found = [_picked(item, table.name, of_table) for item in query.expressions]
        return None if None in found else [column for column in found if column is not None]


def _picked_from(query: exp.Query) -> exp.Table | None:
    """The one table of a query that does no more than pick columns."""
    if not isinstance(query, exp.Select) or has_other_parts(query, ("kind", "expressions", "from_")):
        return None
    table = first_source(query)
    if not isinstance(table, exp.Table) or has_other_parts(table, ("this", "db", "catalog")):
        return None
    return table


def _picked(item: exp.Expr, table: str, columns: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The name and type of an item `column AS name`; None for any other item."""
    column = item.unalias()
    if not (isinstance(item, exp.Alias) and isinstance(column, exp.Column) and len(column.parts) <= 2):
        return None
    if column.table and column.table != table:
        return None
    # Spark tells names apart by case in some sessions: the same letters are the same column in all
    kinds = [kind for name, kind in columns if name.lower() == column.name.lower()]
    return (item.alias, kinds[0]) if len(kinds) == 1 and (column.name, kinds[0]) in columns else None
