"""A session with Delta Lake, whose tables are Delta's unless a model says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.delta import ON_DELTA

#: the Delta that is built for the Spark of constraints.txt
DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
#: what Delta names and Spark brings: a second copy of these is only to download
OF_SPARK = (
    "com.fasterxml.jackson.core", "com.fasterxml.jackson.datatype", "com.github.luben", "com.google.code.findbugs",
    "commons-logging", "commons-pool", "io.airlift", "javax.annotation", "org.apache.hadoop",
    "org.apache.logging.log4j", "org.apache.parquet", "org.locationtech.jts", "org.roaringbitmap", "org.slf4j",
    "org.xerial.snappy",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("lake")


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, str]:
    return {
        "spark.jars.packages": DELTA,
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",  # whole, as a Spark of one's own has it
        "spark.jars.excludes": ",".join(f"{group}:*" for group in OF_SPARK),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.sources.default": "delta",
        "spark.databricks.delta.snapshotPartitions": "2",  # of 50: the tables are small
    }


@pytest.fixture(scope="class", autouse=True)
def lake(spark: SparkSession) -> None:
    """A process has one session, and the first test that asked for it has chosen its settings."""
    assert spark.conf.get("spark.sql.sources.default") == "delta", "run these apart from the others: make test-lake"


@pytest.fixture(scope="class")
def project_config_update() -> dict:
    return ON_DELTA
