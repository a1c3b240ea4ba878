"""Answers statements in place of Spark, from types that a person gives: for `explain`, without a connection.

| statement | answer |
|---|---|
| DESCRIBE TABLE, DESCRIBE QUERY | the given columns of tables; types of expressions by `type_rules` |
| EXPLAIN | no plan, but the error where an instant stands beside a number: there mz_now() is a BIGINT |
| SET, and the SELECT of clock, version and catalog | defaults of Spark, and what the caller gives |
| all others | an error that names the statement |
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.helper import subclasses
from sqlglot.optimizer.annotate_types import TypeAnnotator, annotate_types
from sqlglot.optimizer.qualify import qualify

from ..errors import Refusal
from ..temporal.rewrite.window_columns import with_window_calls
from ..temporal.sql.functions.calls import starts_with_unit
from ..temporal.sql.spark import type_rules
from ..temporal.sql.spark.combined_types import common, is_number
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.text.dialect import VerbatimSpark, fragment, parse, put_in
from ..temporal.sql.text.identifiers import dotted, folded, parts

#: relation, as the model names it -> column -> type, in Spark's words
Schema = Mapping[str, Mapping[str, str]]


class GivenTypes:
    """A function from SQL to rows, for `Warehouse`. now: the clock (ms)."""

    def __init__(self, schema: Schema, now: int, version: str = "4.1.0") -> None:
        self._tables = {_key(name): dict(columns) for name, columns in schema.items()}
        self._now, self._version = now, version

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        word = sql.lstrip().upper()
        if word.startswith("DESCRIBE TABLE EXTENDED "):
            return [(name, kind, None) for name, kind in self._table(sql.split(None, 3)[3]).items()]
        if word.startswith("DESCRIBE QUERY "):
            return _columns(self._typed(sql.lstrip().split(None, 2)[2]))
        if word.startswith("EXPLAIN EXTENDED "):
            return [("",)]
        if word.startswith("EXPLAIN "):
            with suppress(Refusal, SparkError):  # what is wrong with the query, a DESCRIBE tells
                return [(_mismatch(self._typed(sql.lstrip().split(None, 1)[1])),)]
            return [("",)]
        if word == "SET":
            return []
        if word.startswith("SET "):
            return [(sql.split(None, 1)[1], {"spark.sql.session.timeZone": "UTC"}.get(sql.split(None, 1)[1], ""))]
        if sql == "SELECT version()":
            return [(self._version,)]
        if "current_catalog()" in sql:
            return [(self._now, self._version, "spark_catalog")]
        raise Refusal(
            "ST901",
            " ".join(sql.split())[:120],
            "only Spark can answer this, and `explain` asks no Spark",
            "a run of dbt",
        )

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

    def _typed(self, sql: str) -> exp.Expr:
        """A query as a tree with types."""
        tree = _readable(parse(sql))
        schema: dict[str, Any] = {}
        ctes = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
        tables = [t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
        names = [[part.name for part in t.parts] for t in tables if t.db or folded(t.name) not in ctes]
        if len(set(map(len, names))) > 1:
            raise Refusal(
                "ST903",
                fragment(tree),
                "some names have a schema or a catalog and some have none",
                "all names with a schema, or all with both",
            )
        for name in names:
            _put(schema, name, self._table(dotted(name)))
        try:
            named = qualify(tree, schema=schema, dialect=VerbatimSpark, quote_identifiers=False)
            typed = annotate_types(named, schema=schema, expression_metadata=_METADATA, dialect=VerbatimSpark)
        except SqlglotError as error:
            raise SparkError(f"[UNRESOLVED_COLUMN] {str(error).splitlines()[0]}") from None
        _refuse_mixed(typed)
        return typed


def _mismatch(tree: exp.Expr) -> str:
    """An error like Spark's for an instant beside a number; "" where there is none."""
    for node in tree.find_all(exp.Binary):
        kinds = {_words(node.left), _words(node.right)}
        if "timestamp" in kinds and any(kind and is_number(kind) for kind in kinds):
            return f"[DATATYPE_MISMATCH] {fragment(node)}"
    return ""


def _readable(tree: exp.Query) -> exp.Query:
    """The tree in which units of calls, and windows of GROUP BY, no longer look like columns."""
    for call in tree.find_all(exp.Anonymous):
        if starts_with_unit(call) and isinstance(call.expressions[0], exp.Column):
            call.expressions[0].replace(exp.var(call.expressions[0].name))
    for select in reversed(list(tree.find_all(exp.Select))):
        if select.args.get("group"):
            changed = with_window_calls(select, lambda column: False)
            tree = put_in(tree, select, changed)
    return tree


def _columns(tree: exp.Expr) -> list[tuple[str, str]]:
    """The columns of a query with their types. Raises Refusal for a type that is not known."""
    if isinstance(tree, exp.SetOperation):
        both = zip(_columns(tree.left), _columns(tree.right))
        return [(name, _known(tree, common((one, other)))) for (name, one), (_, other) in both]
    if isinstance(tree, exp.Subquery):
        return _columns(tree.this)
    items = tree.selects if isinstance(tree, exp.Query) else []
    return [(item.alias_or_name, _known(item.unalias(), _words(item))) for item in items]


def _refuse_mixed(tree: exp.Expr) -> None:
    """Refuse an inner UNION or VALUES in which a column has several types: sqlglot knows only one of the types."""
    below = [union for union in tree.find_all(exp.SetOperation) if union.parent is not None]
    for rows in (*([union.left, union.right] for union in below), *(v.expressions for v in tree.find_all(exp.Values))):
        for values in zip(*(row.selects if isinstance(row, exp.Query) else row.expressions for row in rows)):
            if len({_words(value) for value in values}) > 1:
                _known(values[-1].unalias(), None)


def _known(value: exp.Expr, found: str | None) -> str:
    if found is None:
        raise Refusal(
            "ST904",
            fragment(value),
            "its type is not known without Spark, and nothing is guessed",
            f"CAST({fragment(value)} AS <type>) in the model, or a run of dbt",
        )
    return found


def _annotate(annotator: TypeAnnotator, node: exp.Expr) -> exp.Expr:
    found = type_rules.type_of(node, _words)
    annotator._set_type(node, None if found is None else _typed(found))
    return node


#: how each expression gets its type
_METADATA = {kind: {"annotator": _annotate} for kind in subclasses(exp.__name__, exp.Expr)}


def _typed(words: str) -> exp.DataType:
    """A type as a node of a tree that keeps Spark's words: sqlglot leaves a type with parameters as it is."""
    return exp.DataType(this=exp.DType.USERDEFINED, expressions=[exp.var(words)])


def _words(node: exp.Expr) -> str | None:
    kind = node.type
    return kind.expressions[0].name if kind is not None and kind.this is exp.DType.USERDEFINED else None


def _put(schema: dict[str, Any], names: list[str], columns: Mapping[str, str]) -> None:
    for name in names[:-1]:
        schema = schema.setdefault(name, {})
    schema[names[-1]] = {name: _typed(kind) for name, kind in columns.items()}


def _key(name: str) -> str:
    return folded(dotted(parts(name)))
