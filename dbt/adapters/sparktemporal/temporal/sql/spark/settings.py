"""The settings of a Spark session that can decide the rows of a query.

A state remembers these settings, and a change rebuilds the model. Where Spark evaluates a model's query anew, in a read
at an instant or in a model above, other settings are refused. An unknown setting of `spark.sql` counts as deciding:
`_NO_MATTER` lists the settings that decide nothing, and `_MATTER` the exceptions among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ZONE, ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"
CASE, TIMESTAMP_TYPE = "spark.sql.caseSensitive", "spark.sql.timestampType"

#: settings that a state remembers whether a session has set them or not
ALWAYS = (ZONE, ANSI, CASE, TIMESTAMP_TYPE)
#: defaults that are the same in every version of Spark; Spark is asked for other defaults
DEFAULTS = {CASE: "false", TIMESTAMP_TYPE: "TIMESTAMP_LTZ"}

#: settings of how a query is executed, shown or named; prefixes below `spark.sql.`
_NO_MATTER = tuple(
    f"spark.sql.{name}"
    for name in (
        "adaptive.", "analyzer.maxIterations",
        "artifact.", "autoBroadcast", "avro.compression.", "avro.deflate.", "avro.filterPushdown",
        "avro.xz.", "avro.zstandard.",
        "binaryOutputStyle", "broadcast", "bucketing.", "catalog", "cbo.", "chunkBase64String.", "classic.",
        "cli.", "codegen.", "columnVector.", "connect.", "csv.filterPushdown", "datetime.java8API", "debug.",
        "defaultCacheStorageLevel", "defaultCatalog", "defaultSizeInBytes", "error.", "event.", "execution.",
        "extendedExplainProviders", "extensions", "files.", "filesourceTableRelationCacheSize",
        "globalTempDatabase", "hive.", "inMemoryColumnarStorage.", "inMemoryTableScanStatistics.", "join.",
        "json.filterPushdown", "leafNodeDefaultParallelism", "maven.",
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
#: exceptions that decide: rows that are left out, and types that are inferred
_MATTER = tuple(
    f"spark.sql.{name}"
    for name in (
        "files.ignore", "hive.caseSensitiveInferenceMode", "hive.convert", "hive.verifyPartitionPath",
        "sources.partitionColumnTypeInference", "sources.validatePartitionColumns", "sources.binaryFile",
    )
)  # fmt: skip
#: outside of spark.sql: the branch of an Iceberg table that is read
_OTHERS = ("spark.wap.branch", "spark.wap.id")
#: outside of spark.sql: how ORC files are read, such as their columns by position
_OF_HADOOP = ("orc.", "spark.hadoop.orc.")

NOT_SET = "not set"


def is_on(value: str) -> bool:
    """Whether the value of a boolean setting, or of a property of a table, is true. Spark keeps values as written.

    >>> is_on("true"), is_on(" TRUE"), is_on("false")
    (True, True, False)
    """
    return value.strip().lower() == "true"


def is_ansi(settings: Mapping[str, str]) -> bool:
    """Whether expressions raise errors by ANSI rules, such as at an overflow."""
    return is_on(settings[ANSI])


def decides(key: str) -> bool:
    """Whether a setting can decide the rows of a query.

    >>> [decides(f"spark.sql.{key}") for key in ("legacy.sizeOfNull", "shuffle.partitions", "files.ignoreMissingFiles")]
    [True, False, True]
    >>> decides("orc.force.positional.evolution"), decides("spark.app.name")
    (True, False)
    >>> decides("spark.sql.binaryOutputStyle")  # changes the display only; a Thrift server sets it
    False
    """
    if key.startswith((*_MATTER, *_OF_HADOOP)) or key in _OTHERS:
        return True
    return key.startswith("spark.sql.") and not key.startswith(_NO_MATTER)


def deciding(listed: Iterable[tuple[str, str]]) -> dict[str, str]:
    """(key, value) as `SET` lists the settings of a session -> the settings that decide."""
    return {key: value for key, value in listed if decides(key)}


def differences(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """The settings that changed, in words: key, value then, value now.

    >>> differences({"a": "1", "b": "2"}, {"b": "3"})
    ['a not set -> 1', 'b 3 -> 2']
    """
    return [f"{key} {then.get(key, NOT_SET)} -> {now.get(key, NOT_SET)}" for key in differing(now, then)]


def differing(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """The keys of the settings that differ, sorted."""
    return sorted(key for key in {*now, *then} if now.get(key) != then.get(key))
