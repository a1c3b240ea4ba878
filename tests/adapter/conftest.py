"""The fixtures of dbt-tests-adapter, over the one Spark session of the process.

dbt finds the session by itself: `method: session` asks for the one that is running.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters
from dbt.tests.fixtures.project import *  # noqa: F403  its fixtures; pytest takes plugins from the root conftest only
from dbt.tests.fixtures.project import TestProjInfo
from pyspark.sql import SparkSession

from support.postgres import spark_statements


@pytest.fixture(scope="class", autouse=True)
def no_adapter_of_before() -> None:
    """dbt keeps the adapter, and with it the schema, of the last invocation in the process."""
    reset_adapters()


@pytest.fixture(scope="class")
def dbt_profile_target(spark: SparkSession) -> dict[str, Any]:
    return {"type": "sparktemporal", "method": "session", "host": "localhost", "threads": 4}


@pytest.fixture(scope="class")
def profile_user() -> str:
    """Spark names the process's user as the owner of what it makes."""
    return getpass.getuser()


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Not the checkout."""
    logs = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = logs
    yield logs
    del os.environ["DBT_LOG_PATH"]


@pytest.fixture(scope="module")
def test_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not the checkout; a class that reads data makes it."""
    return tmp_path_factory.mktemp("data") / "data"


@pytest.fixture(scope="class")
def project(project_setup: TestProjInfo, project_files: None, spark: SparkSession) -> TestProjInfo:
    """The plugin's, whose run_sql reads the set-up statements of the classes."""
    run_one = project_setup.run_sql

    def run_sql(sql: str, fetch: str | None = None) -> Any:
        spark.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")  # strings into timestamps
        try:
            answers = [run_one(statement, fetch) for statement in spark_statements(sql)]
        finally:
            spark.conf.unset("spark.sql.storeAssignmentPolicy")
        return answers[-1] if answers else None

    def get_tables_in_schema() -> dict[str, str]:
        """Spark has no information_schema."""
        schema = project_setup.test_schema
        views = {row.viewName for row in spark.sql(f"SHOW VIEWS IN {schema}").collect()}
        tables = [row.tableName for row in spark.sql(f"SHOW TABLES IN {schema}").collect()]
        return {name: "view" if name in views else "table" for name in tables}

    for row in spark.sql("SHOW VIEWS").collect():  # of incremental models: they end with a process of dbt's
        if row.isTemporary:
            spark.catalog.dropTempView(row.viewName)
    project_setup.run_sql, project_setup.get_tables_in_schema = run_sql, get_tables_in_schema
    return project_setup
