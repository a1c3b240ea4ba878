"""A committed model in the SQL of another engine, which reads the chains without Spark."""

from __future__ import annotations

import re
from typing import Any

from ..engine import session
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..over_time import reads
from ..plurals import quantity
from ..temporal.clock.instants import parse_instant
from ..temporal.diffs import view_sql
from ..temporal.diffs.state import Chain
from ..temporal.sql.spark import settings
from .readers import read
from .readers.dialects import DIALECTS, DUCKDB, Dialect, literal, quote

#: the most files of a chain that a query names
_MOST_FILES = 5_000
#: scheme of a place -> the scheme by which DuckDB knows the place
_SCHEMES = {"file": "", "": "", "s3": "s3", "s3a": "s3", "gs": "gs", "abfss": "abfss"}
_PROVIDERS = ("parquet", "iceberg")
#: the dialect of engines that execute Spark's SQL
_SPARK = "spark"


def sql_of(warehouse: Warehouse, target: ModelRelations, schema: str, dialect: Any, instant: Any, chains: Any) -> str:
    """A query of a model for another engine. Raises Refusal where that engine may answer otherwise than Spark.

    | | |
    |---|---|
    | schema | the plain name of the schema |
    | dialect | `duckdb`, `trino`; `spark` for the query of the view itself |
    | instant | as in `temporal_as_of`; None for the instant of the query |
    | chains | `files`: the query names the Parquet files of the chains; `tables`: it names `"schema"."table"` |

    Without `chains`, the query for DuckDB names files. DuckDB alone reads files that a query names.
    """
    words = str(dialect).lower()
    chains = chains or ("files" if DIALECTS.get(words) is DUCKDB else "tables")
    _refuse_words(words, chains)
    state = reads.committed(warehouse, target)
    what = f"temporal_sql of {state.model}"
    t = None if instant is None else reads.answered(state, parse_instant(instant, "temporal_sql"))
    session.refuse_other(warehouse, state, what, always=True)
    if words == _SPARK:
        return view_sql.live_view(state) if t is None else view_sql.read_at(state, t)
    dialect = DIALECTS[words]
    if settings.is_on(warehouse.setting(settings.CASE)):
        raise Refusal(
            "ST806",
            f"{what} with {settings.CASE}",
            f"{dialect.name} takes names that differ in case for one",
            "a read by Spark",
        )
    for kind in ("datetime", "int96"):
        key = f"spark.sql.parquet.{kind}RebaseModeInWrite"
        if warehouse.setting(key).upper() == "LEGACY":
            raise Refusal(
                "ST807",
                f"{what} with {key} LEGACY",
                f"days before 1582 are written as those of another calendar, which {dialect.name} does not know",
                f"{key} CORRECTED and dbt run --full-refresh, or a read by Spark",
            )
    named = (c for c in state.chains if c.rows)
    if chains == "files":
        sources = {c.table: _files(warehouse, target, c) for c in named}
    else:
        sources = {c.table: _table(warehouse, target, schema, c, dialect) for c in named}
    ansi = settings.is_on(warehouse.setting(settings.ANSI))
    return read.read(state, sources, t, ansi, warehouse.setting(settings.ZONE), dialect)


def _refuse_words(dialect: str, chains: Any) -> None:
    if dialect not in (*DIALECTS, _SPARK):
        raise Refusal(
            "ST808",
            f"temporal_sql with dialect {dialect!r}",
            "the query is printed for engines whose answers are compared with Spark's",
            "dialect='duckdb' or 'trino', or 'spark' for an engine that executes Spark's SQL",
        )
    if chains not in ("files", "tables"):
        raise Refusal(
            "ST809", f"temporal_sql with chains {chains!r}", "it says where chains are read", "'files' or 'tables'"
        )
    if chains == "files" and DIALECTS.get(dialect) is not DUCKDB:
        raise Refusal(
            "ST814",
            f"temporal_sql with chains 'files' and dialect {dialect!r}",
            "DuckDB alone reads files that a query names",
            "chains='tables', for an engine that has the tables",
        )


def _table(warehouse: Warehouse, target: ModelRelations, schema: str, chain: Chain, dialect: Dialect) -> str:
    """A FROM item that names the table of a chain, which the engine has under the same name."""
    if dialect is not DUCKDB:
        table = target.table(chain.table)
        provider = warehouse.table(table).provider
        if provider != "iceberg":
            raise Refusal(
                "ST816",
                f"{table}, a chain of {target.model} in the format {provider or 'of a catalog that does not tell it'}",
                f"{dialect.name} was tried with tables of Iceberg alone",
                "+file_format: iceberg, and dbt run --full-refresh; or a read by Spark or DuckDB",
            )
    return f"{quote(schema)}.{quote(chain.table)}"


def _files(warehouse: Warehouse, target: ModelRelations, chain: Chain) -> str:
    table = target.table(chain.table)
    info = warehouse.table(table)
    provider = info.provider
    if provider not in _PROVIDERS:
        raise Refusal(
            "ST810",
            f"{table}, a chain of {target.model} in the format {provider or 'of a catalog that does not tell it'}",
            "the files of Parquet and Iceberg tables are what DuckDB reads as Spark does",
            "+file_format: parquet or iceberg, and dbt run --full-refresh",
        )
    if provider == "iceberg":
        return _listed(warehouse, table)
    place = _place(info.details.get("Location", ""), table).rstrip("/")
    buckets = "/*" if chain.bucketed else ""
    pattern = literal(f"{place}{buckets}/*.parquet")
    hive = "true, hive_types={'mz_bucket': BIGINT}" if chain.bucketed else "false"
    return f"read_parquet({pattern}, hive_partitioning={hive})"


def _listed(warehouse: Warehouse, table: str) -> str:
    """A FROM item that lists the files of an Iceberg table: its folder also has files of older snapshots."""
    found = warehouse.rows(f"SELECT content, file_format, file_path FROM {table}.files LIMIT {_MOST_FILES + 1}")
    if any(int(content) for content, _, _ in found) or any(str(f).lower() != "parquet" for _, f, _ in found):
        raise Refusal(
            "ST811",
            f"{table} with files of deletes, or files that are not Parquet",
            "a list of data files does not say what the table holds",
            "chains='tables' where DuckDB has the table; or a read by Spark",
        )
    if len(found) > _MOST_FILES:
        raise Refusal(
            "ST812",
            f"{table} with more than {quantity(_MOST_FILES, 'file')}",
            "each of them would stand in the text of the query",
            "dbt run --full-refresh, which writes few files; or chains='tables' where DuckDB has the table",
        )
    places = ", ".join(literal(_place(str(path), table)) for _, _, path in found)
    return f"read_parquet([{places}], hive_partitioning=false)"


def _place(location: str, table: str) -> str:
    """A location as a pattern for DuckDB. Spark shows locations without escapes: `%` and `#` are parts of names.

    >>> _place("file:/a b/c[1]", "t"), _place("s3a://bucket/c%41", "t")
    ('/a b/c[[]1[]]', 's3://bucket/c%41')
    """
    found = re.fullmatch(r"(?:([a-z0-9]+):)?(//[^/]*)?(/.*)", location, re.DOTALL)
    scheme = _SCHEMES.get(found[1] or "") if found else None
    if found is None or scheme is None:
        raise Refusal(
            "ST813",
            f"{table} at {location or 'a place that is not told'}",
            "DuckDB reads local paths, s3, gs and abfss",
            "chains='tables' where DuckDB has the table; or a read by Spark",
        )
    literally = "".join(f"[{c}]" if c in "*?[]" else c for c in found[3])  # a place is a pattern there
    return f"{scheme}:{found[2]}{literally}" if scheme else literally
