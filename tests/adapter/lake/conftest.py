"""A session with Delta Lake, whose tables are Delta's unless a model says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.delta import ON_DELTA, WITH_DELTA


@pytest.hookimpl(tryfirst=True)  # before -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("lake")


@pytest.fixture(scope="session")
def spark_conf() -> dict[str, str]:
    return {**WITH_DELTA, "spark.sql.sources.default": "delta"}


@pytest.fixture(scope="class", autouse=True)
def lake(spark: SparkSession) -> None:
    """A process has one session, and the first test that asked for it has chosen its settings."""
    assert spark.conf.get("spark.sql.sources.default") == "delta", "run these apart from the others: make test-lake"


@pytest.fixture(scope="class")
def project_config_update() -> dict:
    return ON_DELTA
