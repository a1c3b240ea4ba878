"""Answers in the place of Spark, from types that a person gives: for `explain`, without a connection.

| statement | answer |
|---|---|
| DESCRIBE TABLE, DESCRIBE QUERY | the given columns of tables; types of expressions by sqlglot, where sqlglot is sure |
| EXPLAIN | none: each mz_now() is a TIMESTAMP, where no comparison tells another type |
| SET, and the SELECT of clock, version and catalog | defaults of Spark, and what the caller gives |
| all others | an error that names the statement |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from ..errors import Refusal
from ..pushdown.monotone import kind_and_type
from ..temporal.sql.spark import decimals
from ..temporal.sql.text.dialect import fragment
from ..temporal.sql.text.identifiers import dotted, folded, parts

#: relation, as the model names it -> column -> type, in Spark's words
Schema = Mapping[str, Mapping[str, str]]
#: what sqlglot calls types that Spark's DESCRIBE calls otherwise
_SPARK = {"text": "string", "varchar": "string", "timestamptz": "timestamp", "timestampntz": "timestamp_ntz"}
_UNKNOWN = (exp.DType.UNKNOWN, exp.DType.NULL)
#: unit of an interval -> unit of its type
_OF_INTERVALS = {u: u for u in ("year", "month", "day", "hour", "minute", "second")} | {"week": "day"}


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
            return self._query(sql.lstrip().split(None, 2)[2])
        if word.startswith("EXPLAIN "):
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
            " ".join(sql.split())[:120], "only Spark can answer this, and `explain` asks no Spark", "a run of dbt"
        )

    def _table(self, name: str) -> dict[str, str]:
        found = self._tables.get(_key(name))
        if found is None:
            known = ", ".join(sorted(self._tables)) or "none"
            raise Refusal(
                f"{name}, a relation whose columns are not given",
                f"types of its columns decide how it is read; those of {known} are given",
                f'"{_key(name)}": {{"<column>": "<type>"}} in the file of --schema',
            )
        return found

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        # the parser that knows Spark's functions: types need them, and the text is not printed again
        tree = sqlglot.parse_one(sql, read="spark")
        schema: dict[str, Any] = {}
        ctes = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
        tables = [t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
        names = [[part.name for part in t.parts] for t in tables if t.db or folded(t.name) not in ctes]
        if len(set(map(len, names))) > 1:
            raise Refusal(
                fragment(tree),
                "some names have a schema or a catalog and some have none",
                "all names with a schema, or all with both",
            )
        for name in names:
            _put(schema, name, self._table(dotted(name)))
        try:
            named = qualify(tree, schema=schema, dialect="spark", quote_identifiers=False)
            typed = annotate_types(named, schema=schema, dialect="spark")
        except SqlglotError as error:
            why = str(error).splitlines()[0]
            raise Refusal(fragment(tree), why, "names and columns as --schema has them") from None
        return [(item.alias_or_name, _type(item)) for item in _selects(typed)]


def _selects(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.selects) if isinstance(tree, exp.Query) else []


def _type(item: exp.Expr) -> str:
    """The type of an item of a SELECT, in Spark's words; a refusal where sqlglot is not sure."""
    value = item.unalias()
    found = _known(value)
    if found is None:
        raise Refusal(
            value.sql("spark"),
            "its type is not known without Spark, and nothing is guessed",
            f"CAST({value.sql('spark')} AS <type>) in the model, or a run of dbt",
        )
    return found


def _known(value: exp.Expr) -> str | None:
    """The type of an expression, where that is a type which sqlglot and Spark agree about."""
    value = value.unnest()
    if isinstance(value, (exp.Column, exp.Dot, exp.Cast, exp.TryCast)):
        return _in_words(value)
    if isinstance(value, (exp.Neg, exp.Literal, exp.Interval)):
        return _of_literal(value)
    if isinstance(value, exp.TimestampTrunc):
        return "timestamp"
    if isinstance(value, exp.Count):
        return "bigint"
    if isinstance(value, (exp.Min, exp.Max)):
        return _known(value.this)
    if isinstance(value, (exp.Sum, exp.Avg)):
        return _summed(value, _known(value.this))
    if isinstance(value, (exp.Add, exp.Sub)) and isinstance(value.expression, exp.Interval):
        moved = _known(value.this)
        return moved if moved in ("timestamp", "timestamp_ntz") else None
    if isinstance(value, (exp.Predicate, exp.Not, exp.Boolean)):
        return "boolean"
    return "string" if isinstance(value, (exp.Lower, exp.Upper)) else None


def _of_literal(value: exp.Expr) -> str | None:
    number = value.this.unnest() if isinstance(value, exp.Neg) else value
    if isinstance(number, exp.Literal):
        return kind_and_type(number)[1]
    return _length(value.args.get("unit")) if isinstance(value, exp.Interval) else None


def _length(unit: exp.Expr | None) -> str | None:
    """The type of a literal interval of one unit, or of one unit to another."""
    if isinstance(unit, exp.IntervalSpan):
        return f"interval {unit.this.name.lower()} to {unit.expression.name.lower()}"
    name = "" if unit is None else unit.name.lower().rstrip("s")
    return f"interval {_OF_INTERVALS[name]}" if name in _OF_INTERVALS else None


def _summed(value: exp.Expr, of: str | None) -> str | None:
    """The type of a sum or a mean: Spark adds ten digits before the point, or four on either side."""
    is_sum = isinstance(value, exp.Sum)
    if of in ("tinyint", "smallint", "int", "bigint"):
        return "bigint" if is_sum else "double"
    digits = decimals.digits(of or "")
    if digits is None:
        return "double" if of in ("float", "double") else None
    if is_sum:
        return decimals.of_sum(*digits).lower()
    return decimals.of_mean(*digits).lower() if digits[0] <= decimals.MOST - 4 else None


def _in_words(value: exp.Expr) -> str | None:
    kind = value.type
    if kind is None or any(isinstance(part, exp.DataType) and part.this in _UNKNOWN for part in kind.walk()):
        return None
    said = kind.sql("spark").lower().replace(", ", ",").replace(": ", ":")
    return _SPARK.get(said, said)


def _put(schema: dict[str, Any], names: list[str], columns: Mapping[str, str]) -> None:
    for name in names[:-1]:
        schema = schema.setdefault(name, {})
    schema[names[-1]] = dict(columns)


def _key(name: str) -> str:
    return folded(dotted(parts(name)))
