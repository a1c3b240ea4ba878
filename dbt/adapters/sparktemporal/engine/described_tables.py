"""Describes each table once, for its columns while a model is read and for its files when inputs are observed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from sqlglot import exp

from ..errors import Refusal
from ..temporal.sql.names.bind import columns_of
from ..temporal.sql.names.scope import Columns
from ..temporal.sql.spark.errors import Cause, SparkError, allowing
from ..temporal.sql.text import identifiers
from ..temporal.sql.text.dialect import has_other_parts, parse, render
from .descriptions import TableInfo
from .warehouse import Warehouse

_NAMES = {"this", "db", "catalog"}
_STAR = {"kind", "expressions", "from_"}


class DescribedTables:
    """A function from a query to its columns. Each query is asked of Spark once.

    The question about `SELECT * FROM s.t` is DESCRIBE TABLE EXTENDED. The attribute `found` keeps the tables of these
    answers, and no views: full name -> the table.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._answers: dict[str, Columns] = {}
        self.found: dict[str, TableInfo] = {}

    def __call__(self, query: exp.Query) -> Columns:
        sql = render(query)
        if sql not in self._answers:
            columns = self._of_table(query) if self._warehouse.shape(sql) == sql else None
            self._answers[sql] = self._warehouse.describe(sql) if columns is None else columns
        return list(self._answers[sql])

    def known(self, query: exp.Query) -> Columns | None:
        """The columns of a query without asking Spark, or None; a type is "" where only Spark knows it."""
        with suppress(KeyError):
            return columns_of(query, lambda asked: self._answers[render(asked)])
        return None

    def _of_table(self, query: exp.Query) -> Columns | None:
        name = _table(query)
        if name is None:
            return None
        try:
            info = self._warehouse.shared_table(name)
        except SparkError:  # a name that is no table of a catalog, or none at all: DESCRIBE QUERY tells
            return None
        if any("char(" in kind for _, kind in info.columns):  # a query has STRING there
            return None
        place = [info.details.get(key, "") for key in ("Catalog", "Database", "Table")]
        if not all(place):
            place = identifiers.parts(info.details.get("Name", ""))
        if place and info.details.get("Type") != "VIEW":
            self.found[identifiers.dotted(place)] = info
        return list(info.columns)


def known(tables: Mapping[str, TableInfo], relation: str) -> TableInfo | None:
    """The metastore's answer about a relation that a plan names; None where `tables` lacks the relation."""
    return tables.get(identifiers.dotted(identifiers.parts(relation)))


def forget_named(warehouse: Warehouse, sql: str) -> bool:
    """Make the session forget the tables that a text names with a schema -> whether old columns were remembered.

    Another session may have altered a table. The answer is also True where another model of the invocation got columns
    that the table no longer has.
    """
    named: dict[str, None] = {}
    with suppress(Refusal):
        tables = [table for table in parse(sql).find_all(exp.Table) if table.db]
        named = dict.fromkeys(render(exp.Table(**{k: table.args.get(k) for k in _NAMES})) for table in tables)
    before = {name: _columns(warehouse, name) for name in named}
    for name in named:
        with allowing(Cause.NOT_TAKEN):  # there is no such table, which the run itself says
            warehouse.forget(name)
    now = {name: _columns(warehouse, name) for name in named}
    return now != before or any(warehouse.is_shared_otherwise(name, columns) for name, columns in now.items())


def _columns(warehouse: Warehouse, table: str) -> list[tuple[str, str]] | None:
    """The columns that the session plans with; None where it knows of no such table."""
    with allowing(Cause.NOT_TAKEN):
        return warehouse.describe(f"SELECT * FROM {table}")
    return None


def _table(query: exp.Query) -> str | None:
    """The table of `SELECT * FROM s.t`, as SQL names it; None for any other query."""
    match query:
        case exp.Select(
            expressions=[exp.Star() as star], args={"from_": exp.From(this=exp.Table(this=exp.Identifier()) as table)}
        ) if table.db:
            parts = ((query, _STAR), (star, ()), (table, _NAMES))
            return None if any(has_other_parts(node, known) for node, known in parts) else render(table)
    return None
