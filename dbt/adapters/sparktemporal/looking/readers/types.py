"""Spark's types in the words of DuckDB, and a column of a chain as a value of its type."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ...errors import Refusal
from .kinds import NULL, OTHER, Kind

_NESTED = (exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT)


def quote(name: str) -> str:
    """An identifier, quoted for DuckDB.

    >>> quote('we"ird')
    '"we""ird"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string literal of DuckDB, which knows no other escape than a doubled quote.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def duckdb_type(column: str, spark_type: str) -> str:
    """The type of a column in DuckDB. Raises a Refusal for a type that DuckDB does not read as Spark does.

    >>> duckdb_type("a", "array<struct<x:int,y:decimal(10,2)>>")
    'STRUCT("x" INTEGER, "y" DECIMAL(10,2))[]'
    """
    found = _simple(spark_type) or _nested(spark_type)
    if found is None:
        raise Refusal(
            "ST805",
            f"column {column} of type {spark_type}",
            "DuckDB is not known to read values of this type from a file as Spark wrote them",
            "a column of a simple type in the model, or a read by Spark",
        )
    return found


def value(column: str, spark_type: str) -> str:
    """SQL of a column of a chain as a value of its type.

    Spark writes timestamps in one of three encodings. DuckDB reads one of them (INT96) as a local time in UTC.
    """
    if spark_type.lower() == "timestamp":
        return f"make_timestamptz(epoch_us({quote(column)}))"
    return quote(column)


def holds_doubles(spark_type: str) -> bool:
    """Whether values may hold 0.0 and -0.0, which are equal and not the same."""
    return re.search(r"\b(float|double)\b", spark_type, re.IGNORECASE) is not None


def _simple(spark_type: str) -> str | None:
    if spark_type.lower() == "binary":
        return "BLOB"
    kind = Kind.of(spark_type)
    return None if kind.name in (NULL, OTHER) else kind.sql


def _nested(spark_type: str) -> str | None:
    if "collate" in spark_type.lower():  # sqlglot drops the word
        return None
    try:
        kind = exp.DataType.build(spark_type, dialect="spark")
    except SqlglotError:
        return None
    # names of fields may hold spaces and colons, which Spark does not quote in the description of a type
    printed = re.sub(r"([:,]) ", r"\1", kind.sql("spark").lower())
    return _of(kind) if printed == re.sub(r"([:,]) ", r"\1", spark_type.lower()) else None


def _of(kind: exp.Expr | None) -> str | None:
    if not isinstance(kind, exp.DataType):
        return None
    if kind.this not in _NESTED:
        said = kind.sql("spark").lower().replace(", ", ",")
        # within other values a timestamp would be read as a local time, see `value`
        return None if said == "timestamp" else _simple(said)
    if kind.is_type(exp.DType.STRUCT):
        fields = [(field.name, _of(field.args.get("kind"))) for field in kind.expressions]
        if any(inner is None for _, inner in fields) or len({name.lower() for name, _ in fields}) < len(fields):
            return None
        return f"STRUCT({', '.join(f'{quote(name)} {inner}' for name, inner in fields)})"
    inner = [_of(part) for part in kind.expressions]
    if not inner or None in inner:
        return None
    return f"{inner[0]}[]" if kind.is_type(exp.DType.ARRAY) else f"MAP({inner[0]}, {inner[1]})"
