"""A session with Apache Iceberg, once in place of Spark's own catalog and once as a catalog of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.jars import jars


@pytest.hookimpl(tryfirst=True)  # before -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("lake")


@pytest.fixture(scope="session")
def spark_conf(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        "spark.jars": ",".join(map(str, jars("iceberg"))),
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",  # Iceberg asks it for its scheme
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hive",
        "spark.sql.catalog.files": "org.apache.iceberg.spark.SparkCatalog",  # has tables, and no views
        "spark.sql.catalog.files.type": "hadoop",
        "spark.sql.catalog.files.warehouse": str(tmp_path_factory.mktemp("iceberg")),
        # Iceberg opens a metastore client beside Spark's: the one of a test is in memory, and neither locks nor pools
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
