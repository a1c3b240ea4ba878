"""Answers statements in place of Spark, from types that a person gives: for `explain`, without a connection.

| statement | answer |
|---|---|
| DESCRIBE TABLE, DESCRIBE QUERY | the given columns of tables; types of expressions by `type_rules` |
| EXPLAIN | no plan; an error where a TIMESTAMP stands beside a number (so the caller takes mz_now() for a BIGINT) |
| SET | no settings; with a name: UTC for the time zone, "" for any other setting |
| a SELECT of the version, or of clock, version and catalog | 4.1.0, the clock that the caller gives, spark_catalog |
| all others | an error that names the statement |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sqlglot import exp

from ..errors import Refusal
from ..temporal.rewrite.window_columns import with_window_calls
from ..temporal.sql.functions.calls import starts_with_unit
from ..temporal.sql.names.bind import Binding, renamed
from ..temporal.sql.names.ctes import cte_of, visible_ctes
from ..temporal.sql.names.outer_columns import unknown_columns
from ..temporal.sql.names.scope import Columns, around
from ..temporal.sql.spark import type_rules
from ..temporal.sql.spark.combined_types import is_number
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.text.dialect import fragment, has_other_parts, parse, put_in
from ..temporal.sql.text.identifiers import dotted, folded, parts

#: relation, as the model names it -> column -> type, in Spark's words
Schema = Mapping[str, Mapping[str, str]]
#: the version of Spark that is given
_VERSION = "4.1.0"


class GivenTypes:
    """A function from SQL to rows, for `Warehouse`. now: the clock (ms)."""

    def __init__(self, schema: Schema, now: int) -> None:
        self._tables = {_key(name): dict(columns) for name, columns in schema.items()}
        self._now = now

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        word = sql.lstrip().upper()
        if word.startswith("DESCRIBE TABLE EXTENDED "):
            return [(name, kind, None) for name, kind in self._table(sql.split(None, 3)[3]).items()]
        if word.startswith("DESCRIBE QUERY "):
            return self._columns(sql.lstrip().split(None, 2)[2])
        if word.startswith("EXPLAIN EXTENDED "):
            return [("",)]
        if word.startswith("EXPLAIN "):
            with suppress(Refusal, SparkError):  # a DESCRIBE tells what is wrong with the query
                return [(self._mismatch(sql.lstrip().split(None, 1)[1]),)]
            return [("",)]
        if word == "SET":
            return []
        if word.startswith("SET "):
            return [(sql.split(None, 1)[1], {"spark.sql.session.timeZone": "UTC"}.get(sql.split(None, 1)[1], ""))]
        if sql == "SELECT version()":
            return [(_VERSION,)]
        if "current_catalog()" in sql:
            return [(self._now, _VERSION, "spark_catalog")]
        raise _only_spark(" ".join(sql.split())[:120])

    def _table(self, name: str) -> dict[str, str]:
        found = self._tables.get(_key(name))
        if found is None:
            known = ", ".join(sorted(self._tables)) or "none"
            raise Refusal(
                "ST902",
                f"{name}, a relation whose columns are not given",
                f"types of its columns decide how it is read; those of {known} are given",
                f'"{_key(name)}": {{"<column>": "<type>"}} in the file of --schema',
            )
        return found

    def _read(self, sql: str) -> exp.Query:
        """A query as a tree with a name for each item. Raises an error for a table or column that is not given."""
        tree = _readable(parse(sql))
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier) and cte_of(table) is None:
                self._table(_name(table))
        unknown = next(unknown_columns(tree, self._described), None)
        if unknown is not None:
            raise SparkError(f"[UNRESOLVED_COLUMN] '{fragment(unknown)}' could not be resolved")
        return tree

    def _columns(self, sql: str) -> list[tuple[str, str]]:
        """The columns of a query with their types. Raises Refusal for a type that is not known."""
        types = _Types()
        tree = self._read(sql)
        columns = Binding(self._described, types=types).columns(tree, ())
        if columns is None:
            raise _only_spark(fragment(tree))
        for item, (name, kind) in zip(tree.selects, columns):
            if not kind:
                raise _unknown(types.unknown.get(name, item.unalias()))
        return columns

    def _mismatch(self, sql: str) -> str:
        """An error like Spark's for an instant beside a number; "" where there is none."""
        tree = self._read(sql)
        binding = Binding(self._described, types=_Types())
        for node in tree.find_all(exp.Binary):
            select = node.find_ancestor(exp.Select)
            while select is not None and (above := around(select)) is not None:
                select = above
            if select is None:
                continue
            kinds = {binding.typed(side, select, visible_ctes(select)) for side in (node.left, node.right)}
            if "timestamp" in kinds and any(kind and is_number(kind) for kind in kinds):
                return f"[DATATYPE_MISMATCH] {fragment(node)}"
        return ""

    def _described(self, query: exp.Query) -> Columns:
        """The columns of a table, or of a recursive CTE by the first branch of its UNION."""
        table = query.args["from_"].this
        cte = cte_of(table) if isinstance(table, exp.Table) else None
        if cte is not None and isinstance(cte.this, exp.SetOperation):
            first = cte.this.left
            columns = renamed(Binding(self._described, types=_Types()).columns(first, visible_ctes(first)), cte)
            if columns is not None:
                return columns
        if not isinstance(table.this, exp.Identifier) or has_other_parts(table, _PLAIN):
            raise _only_spark(fragment(table))
        return list(self._table(_name(table)).items())


#: parts of a table that change nothing of its columns
_PLAIN = ("this", "db", "catalog", "alias", "sample")


def _readable(tree: exp.Query) -> exp.Query:
    """The tree in which units (`day`) and windows of GROUP BY (`window.start`) are no columns; each item has a name."""
    for call in tree.find_all(exp.Anonymous):
        if starts_with_unit(call) and isinstance(call.expressions[0], exp.Column):
            call.expressions[0].replace(exp.var(call.expressions[0].name))
    for select in reversed(list(tree.find_all(exp.Select))):
        if select.args.get("group"):
            changed = with_window_calls(select, lambda column: False)
            tree = put_in(tree, select, changed)
    for select in tree.find_all(exp.Select):
        for place, item in enumerate(select.expressions):
            if not (isinstance(item, (exp.Alias, exp.Aliases, exp.Column)) or item.is_star):
                item.replace(exp.alias_(item.copy(), item.output_name or f"_col_{place}"))
    return tree


class _Types:
    """A function from an expression to its type in Spark without ANSI; "" for a type that only Spark knows.

    unknown: alias -> the expression of which only Spark knows the type.
    """

    def __init__(self) -> None:
        self.unknown: dict[str, exp.Expr] = {}

    def __call__(self, value: exp.Expr, of_column: Callable[[exp.Column], str]) -> str:
        def find(node: exp.Expr) -> str | None:
            return of_column(node) or None if isinstance(node, exp.Column) else type_rules.type_of(node, find)

        found = find(value)
        if found is None and isinstance(value.parent, exp.Alias):
            below = (self.unknown.get(column.name) for column in value.find_all(exp.Column))
            self.unknown.setdefault(value.parent.alias, next(filter(None, below), value))
        return found or ""


def _unknown(value: exp.Expr) -> Refusal:
    return Refusal(
        "ST904",
        fragment(value),
        "its type is not known without Spark, and nothing is guessed",
        f"CAST({fragment(value)} AS <type>) in the model, or a run of dbt",
    )


def _name(table: exp.Table) -> str:
    return dotted([part.name for part in table.parts])


def _only_spark(found: str) -> Refusal:
    return Refusal("ST901", found, "only Spark can answer this, and `explain` asks no Spark", "a run of dbt")


def _key(name: str) -> str:
    return folded(dotted(parts(name)))
