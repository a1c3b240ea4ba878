"""Columns of queries, asked once while a model is read; those of plain columns of a table follow from the table's."""

from __future__ import annotations

from sqlglot import exp

from ...errors import Refusal
from .dialect import parse, render
from .scope import Describe

#: of a SELECT that only picks columns
_PICKS = {"kind", "expressions", "from_"}


class KnownColumns:
    """A `Describe` that remembers. ask: describes a query that nothing known tells about."""

    def __init__(self, ask: Describe) -> None:
        self._ask = ask
        self._known: dict[str, list[tuple[str, str]]] = {}

    def __call__(self, sql: str) -> list[tuple[str, str]]:
        found = self.known(sql)
        if found is None:
            found = self._known[sql] = self._ask(sql)
        return list(found)

    def known(self, sql: str) -> list[tuple[str, str]] | None:
        """The columns of a query as (name, type) where they need not be asked for.

        >>> columns = KnownColumns(lambda sql: [("a", "int"), ("b", "string")])
        >>> columns.known("SELECT b AS c FROM s.t"), columns("SELECT * FROM s.t")
        (None, [('a', 'int'), ('b', 'string')])
        >>> columns.known("SELECT b AS c, t.a AS b FROM s.t"), columns.known("SELECT B AS c FROM s.t")
        ([('c', 'string'), ('b', 'int')], None)
        """
        if sql not in self._known:
            found = self._picked(sql) if self._known else None
            if found is None:
                return None
            self._known[sql] = found
        return self._known[sql]

    def _picked(self, sql: str) -> list[tuple[str, str]] | None:
        try:
            query = parse(sql)
        except Refusal:
            return None
        if not isinstance(query, exp.Select) or {key for key, value in query.args.items() if value} - _PICKS:
            return None
        from_ = query.args.get("from_")
        table = from_.this if from_ is not None else None
        if not isinstance(table, exp.Table) or {k for k, v in table.args.items() if v} - {"this", "db", "catalog"}:
            return None
        of_table = self._known.get(render(exp.select("*").from_(table.copy())))
        if of_table is None:
            return None
        found = []
        for item in query.expressions:
            column = item.unalias()
            if not (isinstance(item, exp.Alias) and isinstance(column, exp.Column) and len(column.parts) <= 2):
                return None
            if column.table and column.table != table.name:
                return None
            # Spark tells names apart by case in some sessions: the same letters are the same column in all
            kinds = [kind for name, kind in of_table if name.lower() == column.name.lower()]
            if len(kinds) != 1 or (column.name, kinds[0]) not in of_table:
                return None
            found.append((item.alias, kinds[0]))
        return found
