"""The settings of a Spark session that can decide what the rows of a query are: one list, for all that asks.

A state remembers them, a change of one rebuilds a model, a view is opened and an instant read only under equal ones.
A setting that is not known decides: only those that are known to decide nothing are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ZONE, ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
CASE, TIMESTAMP_TYPE = "spark.sql.caseSensitive", "spark.sql.timestampType"

#: remembered whether a session has set them or not
ALWAYS = (ZONE, ANSI, CASE, TIMESTAMP_TYPE)
#: their value where nothing is set, in every version of Spark; the default of other settings is Spark's to tell
DEFAULTS = {CASE: "false", TIMESTAMP_TYPE: "TIMESTAMP_LTZ"}

#: how a query is carried out, shown or named, not what its rows are; prefixes below `spark.sql.`
_NO_MATTER = tuple(
    f"spark.sql.{name}"
    for name in (
        "adaptive.", "artifact.", "autoBroadcast", "avro.compression.", "avro.deflate.", "avro.filterPushdown",
        "avro.xz.", "avro.zstandard.", "broadcast", "bucketing.", "catalog", "cbo.", "chunkBase64String.", "classic.",
        "cli.", "codegen.", "columnVector.", "connect.", "csv.filterPushdown", "datetime.java8API", "debug.",
        "defaultCacheStorageLevel", "defaultCatalog", "defaultSizeInBytes", "error.", "event.", "execution.",
        "extendedExplainProviders", "extensions", "files.", "globalTempDatabase", "hive.", "inMemoryColumnarStorage.",
        "inMemoryTableScanStatistics.", "join.", "json.filterPushdown", "leafNodeDefaultParallelism", "maven.",
        "maxBroadcastTableSize", "maxConcurrentOutputFileWriters", "maxMetadataStringLength", "maxPlan",
        "maxSinglePartitionBytes", "metadataCacheTTLSeconds", "objectHashAggregate.", "operatorPipeSyntaxEnabled",
        "optimizer.", "orc.aggregatePushdown", "orc.columnar", "orc.compression.", "orc.enable", "orc.filterPushdown",
        "parquet.aggregatePushdown", "parquet.columnar", "parquet.compression.", "parquet.enable",
        "parquet.filterPushdown", "parquet.outputTimestampType", "parquet.pushdown", "parquet.recordLevelFilter",
        "parquet.output.committer", "parser.manageParserCaches", "parser.parserDfa", "pipelines.", "planner.",
        "pyspark.", "queryExecutionListeners", "redaction.", "repl.", "scripting.", "session.localRelation",
        "shuffle.", "sort.", "sortMergeJoin", "sources.", "stackTracesInDataFrameContext", "statistics.", "streaming.",
        "thriftServer.", "thriftserver.", "ui.", "warehouse.",
    )
)  # fmt: skip
#: what decides all the same: rows that are left out, and types that are inferred
_MATTER = tuple(
    f"spark.sql.{name}"
    for name in (
        "files.ignore",
        "hive.caseSensitiveInferenceMode",
        "hive.convert",
        "hive.verifyPartitionPath",
        "sources.partitionColumnTypeInference",
        "sources.validatePartitionColumns",
        "sources.binaryFile",
    )
)
#: outside of spark.sql: which branch of an Iceberg table is read
_OTHERS = ("spark.wap.branch", "spark.wap.id")

NOT_SET = "not set"


def decides(key: str) -> bool:
    """Whether a setting can decide what rows are.

    >>> [decides(f"spark.sql.{key}") for key in ("legacy.sizeOfNull", "shuffle.partitions", "files.ignoreMissingFiles")]
    [True, False, True]
    """
    if key.startswith(_MATTER) or key in _OTHERS:
        return True
    return key.startswith("spark.sql.") and not key.startswith(_NO_MATTER)


def deciding(told: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The settings of a session, as `SET` lists those that are set -> the ones that decide."""
    return {key: value for key, value in told if decides(key)}


def differences(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """The settings that are not as they were, in words: a key with the value then and the value now.

    >>> differences({"a": "1", "b": "2"}, {"b": "3"})
    ['a not set -> 1', 'b 3 -> 2']
    """
    keys = sorted(key for key in {*now, *then} if now.get(key) != then.get(key))
    return [f"{key} {then.get(key, NOT_SET)} -> {now.get(key, NOT_SET)}" for key in keys]
