"""A session with Apache DataFusion Comet, which executes nothing until it is asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.comet import with_comet
from support.named_catalogs import NAMED
from support.readers import COMPARED, table

ORDER = ("Spark", "Comet", "Sail", "DuckDB", "Trino")


@pytest.hookimpl(tryfirst=True)  # before -m is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("engines")


@pytest.fixture(scope="session")
def spark_conf(request: pytest.FixtureRequest) -> dict[str, str]:
    # thousands of small queries: one partition, planned once
    of_comet = {} if request.config.getoption("--catalog") in NAMED else with_comet()
    return {**of_comet, "spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section("the same files, read by each engine")
    compared = config.stash.get(COMPARED, {})
    for line in table(sorted(compared.values(), key=lambda one: ORDER.index(one.engine))):
        terminalreporter.write_line(line)
