"""Columns of queries, asked once while a model is read."""

from __future__ import annotations

from sqlglot import exp

from ..text.dialect import render
from .bind import typed_columns
from .scope import Columns, Describe


class KnownColumns:
    """A `Describe` that remembers. ask: describes a query that was not asked before."""

    def __init__(self, ask: Describe) -> None:
        self._ask = ask
        self._known: dict[str, Columns] = {}

    def __call__(self, query: exp.Query) -> Columns:
        sql = render(query)
        if sql not in self._known:
            self._known[sql] = self._ask(query)
        return list(self._known[sql])

    def known(self, query: exp.Query) -> Columns | None:
        """The columns of a query where nothing need be asked.

        >>> from ..text.dialect import parse
        >>> columns = KnownColumns(lambda query: [("a", "int"), ("b", "string")])
        >>> columns.known(parse("SELECT b AS c FROM s.t")), columns(parse("SELECT * FROM s.t"))
        (None, [('a', 'int'), ('b', 'string')])
        >>> columns.known(parse("SELECT b AS c, t.a AS b FROM s.t")), columns.known(parse("SELECT b + 1 AS c FROM s.t"))
        ([('c', 'string'), ('b', 'int')], None)
        """
        try:
            return typed_columns(query, lambda asked: self._known[render(asked)])
        except KeyError:
            return None
