"""How the Spark of a test is set up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

#: the queries of tests are many and their rows few: for most of them Spark need not compile Java
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # what the pages of the UI would show of the past is sorted again and again
    **{f"spark.{what}": "50" for what in ("ui.retainedJobs", "ui.retainedStages", "sql.ui.retainedExecutions")},
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.driver.memory": "3g",
    "spark.sql.autoBroadcastJoinThreshold": "10m",
    # Spark's parser remembers how it read every statement: without a limit thousands of them fill the heap
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "30000",
    # without checksums beside every file
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    **INTERPRETED,
}
#: each catalog is asked for its own functions, and some have none
ALL_FUNCTIONS = "SHOW SYSTEM FUNCTIONS IN spark_catalog.default"
#: a Java without Hadoop's own library starts a process for each file it makes; VFORK does so in a third of the time
JVM = "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -Djdk.lang.Process.launchMechanism=VFORK"
#: within ten minutes of small statements the optimizing compiler costs more than it gives back; in half an hour it
#: takes a quarter of the time
COLD = "-XX:TieredStopAtLevel=1"
#: with the little room that Java begins with, the collector takes a tenth of the time
ROOM = "-Xmn512m -XX:MetaspaceSize=256m"


def temporary(spark: SparkSession) -> set[tuple[str, str]]:
    """The views and functions of the session, (kind, name): the next test of the process would see them."""
    if hasattr(spark, "_jsparkSession"):  # a fifth of a second less than the two statements
        catalog = spark._jsparkSession.sessionState().catalog()
        found = {"VIEW": catalog.getTempViewNames(), "FUNCTION": catalog.listTemporaryFunctions()}
        return {(kind, f"`{name}`") for kind, names in found.items() for name in names.mkString("\n").splitlines()}
    views = spark.sql("SHOW VIEWS IN spark_catalog.global_temp").collect()
    functions = [str(row[0]) for row in spark.sql("SHOW USER FUNCTIONS IN spark_catalog.default").collect()]
    return {("VIEW", f"`{row['viewName']}`") for row in views if not row["namespace"]} | {
        ("FUNCTION", f"`{name}`") for name in functions if "." not in name
    }


def in_the_default_catalog(spark: SparkSession) -> None:
    """After a USE or SET CATALOG: the catalog is again the one of `spark.sql.defaultCatalog`, whatever that becomes.

    No statement of SQL does this. A second SET CATALOG would keep the next tests in the catalog that it names.
    """
    spark._jsparkSession.sessionState().catalogManager().reset()


def settings_now(spark: SparkSession) -> dict[str, str]:
    """All that is set in the session."""
    if hasattr(spark, "_jsparkSession"):  # a tenth of the time of the statement
        pairs = spark._jsparkSession.conf().getAll().mkString("\0").split("\0")
        return dict(pair.split(" -> ", 1) for pair in pairs)
    return {str(key): str(value) for key, value in spark.sql("SET").collect()}


#: of the session of the tests
AT_START: dict[str, str] = {}


def put_back(spark: SparkSession, before: dict[str, str]) -> None:
    """Give the session the settings of `before` again, and no other ones."""
    now = settings_now(spark)
    for key in now.keys() - before.keys():
        if not key.startswith("spark.sql.") or spark.conf.isModifiable(key):
            spark.conf.unset(key)
    for key, value in before.items():
        if key.startswith("spark.sql.") and now.get(key) != value:
            spark.conf.set(key, value)


@contextmanager
def settings_restored() -> Iterator[None]:
    """Afterwards the session has the settings of before; those of its start, where there was no session."""
    spark = SparkSession.getActiveSession()
    before = settings_now(spark) if spark else AT_START
    yield
    now = SparkSession.getActiveSession()
    if now and before and spark in (None, now):
        put_back(now, before)
