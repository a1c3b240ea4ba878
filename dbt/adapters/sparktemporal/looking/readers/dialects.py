"""What differs between the engines that a model is printed for: one table for each engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from ...errors import Refusal
from ...temporal.sql.spark.described_types import parsed
from .kinds import BOOL, DATE, DECIMAL, FLOAT, INSTANT, INT, LOCAL, NULL, OTHER, TEXT, Kind

#: forms that an engine may lack, or may compute otherwise than Spark
FLOATS, SKIPS_NULLS, SEMI_JOINS, TOTALS, QUOTIENTS, NESTED_TEXTS = (
    "comparisons of doubles", "greatest and least", "semi and anti joins", "ROLLUP and CUBE", "quotients of decimals",
    "texts of arrays, maps and structs",
)  # fmt: skip
_INTS = {3: "TINYINT", 5: "SMALLINT", 10: "INTEGER"}
_NESTED = (exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT)


@dataclass(frozen=True)
class Dialect:
    """The SQL of an engine. Many fields are templates for `str.format`: a name in braces is replaced by SQL."""

    name: str
    #: kind of value -> type
    types: Mapping[str, str]
    #: DOUBLE and FLOAT
    floats: tuple[str, str]
    binary: str
    array: str
    map: str
    struct: str
    #: an error of a type. {message}: a literal
    error: str
    #: the instant of the query (ms)
    now: str
    #: {ms} as a timestamp
    instant: str
    #: {at}, a timestamp, as local time in UTC
    local: str
    #: {at} moved by {micros}
    moved: str
    #: the shortest length that `moved` can move by (µs)
    shortest: int
    #: a timestamp of a chain. {column}
    stored: str
    #: the milliseconds of a timestamp, {at}, rounded down; "" where they are not translated
    millis: str
    #: {n} rows, for a FROM
    copies: str
    #: {value} IS {truth}
    truth: str
    #: the forms that are refused
    lacks: frozenset[str] = frozenset()

    def type(self, kind: Kind) -> str:
        """The type of values of a kind, which is neither NULL nor OTHER."""
        if kind.name == DECIMAL:
            return f"DECIMAL({kind.digits},{kind.scale})"
        if kind.name == FLOAT:
            return self.floats[0 if kind.digits else 1]
        if kind.name == INT:
            return next((name for most, name in _INTS.items() if kind.digits <= most), "BIGINT")
        return self.types[kind.name]

    def column_type(self, column: str, spark_type: str) -> str:
        """The type of a column. Raises a Refusal for a type that the engine does not read as Spark does.

        >>> DUCKDB.column_type("a", "array<struct<x:int,y:decimal(10,2)>>")
        'STRUCT("x" INTEGER, "y" DECIMAL(10,2))[]'
        >>> TRINO.column_type("a", "map<string,array<double>>")
        'MAP(VARCHAR, ARRAY(DOUBLE))'
        """
        nested = None if "collate" in spark_type.lower() else parsed(spark_type)
        found = self._simple(spark_type) or self._of(nested)
        if found is None:
            raise Refusal(
                "ST805",
                f"column {column} of type {spark_type}",
                f"{self.name} is not known to read values of this type from a file as Spark wrote them",
                "a column of a simple type in the model, or a read by Spark",
            )
        return found

    def value(self, column: str, spark_type: str) -> str:
        """SQL of a stored column: a timestamp by the template `stored`, any other column by its name."""
        name = quote(column)
        return self.stored.format(column=name) if spark_type.lower() == "timestamp" else name

    def raised(self, message: str, of_type: str) -> str:
        """An error in the place of a value of a type."""
        return self.error.format(message=literal(message), type=of_type)

    def _simple(self, spark_type: str) -> str | None:
        if spark_type.lower() == "binary":
            return self.binary
        kind = Kind.of(spark_type)
        return None if kind.name in (NULL, OTHER) else self.type(kind)

    def _of(self, kind: exp.Expr | None) -> str | None:
        if not isinstance(kind, exp.DataType):
            return None
        if kind.this not in _NESTED:
            said = kind.sql("spark").lower().replace(", ", ",")
            # within other values DuckDB would read a timestamp as a local time, see `stored`
            return None if said == "timestamp" else self._simple(said)
        if kind.is_type(exp.DType.STRUCT):
            fields = [(field.name, self._of(field.args.get("kind"))) for field in kind.expressions]
            if any(inner is None for _, inner in fields) or len({name.lower() for name, _ in fields}) < len(fields):
                return None
            return self.struct.format(", ".join(f"{quote(name)} {inner}" for name, inner in fields))
        inner = [self._of(part) for part in kind.expressions]
        if not inner or None in inner:
            return None
        return (self.array if kind.is_type(exp.DType.ARRAY) else self.map).format(*inner)


def quote(name: str) -> str:
    """An identifier, quoted.

    >>> quote('we"ird')
    '"we""ird"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, in which a doubled quote is the only escape. It has no line break: lines of a query are moved.

    >>> literal("it's"), literal("a" + chr(10) + "b")
    ("'it''s'", "('a' || chr(10) || 'b')")
    """
    lines = ["'" + line.replace("'", "''") + "'" for line in text.split("\n")]
    return lines[0] if len(lines) == 1 else f"({' || chr(10) || '.join(lines)})"


def holds_doubles(spark_type: str) -> bool:
    """Whether values may hold 0.0 and -0.0, which are equal and not the same."""
    return re.search(r"\b(float|double)\b", spark_type, re.IGNORECASE) is not None


def is_nested(spark_type: str) -> bool:
    return spark_type.lower().startswith(("array", "map", "struct"))


DUCKDB = Dialect(
    name="DuckDB",
    types={TEXT: "VARCHAR", BOOL: "BOOLEAN", DATE: "DATE", INSTANT: "TIMESTAMPTZ", LOCAL: "TIMESTAMP"},
    floats=("DOUBLE", "FLOAT"),
    binary="BLOB",
    array="{}[]",
    map="MAP({}, {})",
    struct="STRUCT({})",
    error="CAST(error({message}) AS {type})",
    now="epoch_ms(now())",
    instant="make_timestamptz(({ms}) * 1000)",
    local="make_timestamp(epoch_us({at}))",
    moved="make_timestamptz(epoch_us({at}) + ({micros}))",
    shortest=1,
    # Spark writes timestamps in one of three encodings, and DuckDB reads one of them (INT96) as a local time in UTC
    stored="make_timestamptz(epoch_us({column}))",
    millis="((epoch_us({at}) - (((epoch_us({at})) % 1000 + 1000) % 1000)) // 1000)",
    copies="unnest(range({n}))",
    truth="({value} IS {truth})",
)
TRINO = Dialect(
    name="Trino",
    types={
        TEXT: "VARCHAR",
        BOOL: "BOOLEAN",
        DATE: "DATE",
        INSTANT: "TIMESTAMP(6) WITH TIME ZONE",
        LOCAL: "TIMESTAMP(6)",
    },
    floats=("DOUBLE", "REAL"),
    binary="VARBINARY",
    array="ARRAY({})",
    map="MAP({}, {})",
    struct="ROW({})",
    error="CAST(fail({message}) AS {type})",
    # a DOUBLE has all digits of a millisecond, and `now()` has no more
    now="CAST(round(to_unixtime(now()) * 1000) AS BIGINT)",
    # a BIGINT has no nanoseconds after 2262
    instant="CAST(from_unixtime_nanos(CAST({ms} AS DECIMAL(19,0)) * 1000000) AS TIMESTAMP(6) WITH TIME ZONE)",
    local="CAST({at} AT TIME ZONE 'UTC' AS TIMESTAMP(6))",
    # date_add takes 32 bits
    moved="({at} + ({micros} / 1000) * INTERVAL '0.001' SECOND)",
    shortest=1_000,
    stored="{column}",
    millis="",
    copies="unnest(sequence(1, {n}))",
    truth="({value} IS NOT DISTINCT FROM {truth})",
    # NaN = NaN is false; greatest(1, NULL) is NULL; a quotient of decimals is rounded to the larger scale; ROLLUP takes
    # columns alone; no SEMI JOIN, and no text of an array
    lacks=frozenset({FLOATS, SKIPS_NULLS, SEMI_JOINS, TOTALS, QUOTIENTS, NESTED_TEXTS}),
)
#: what `temporal_sql` takes -> the engine
DIALECTS = {"duckdb": DUCKDB, "trino": TRINO}
