"""A master, two workers and a Thrift server for all tests of the folder, and a project against them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.flights import of_the_flights
from support.project import Project, a_project
from support.session import COLD, JVM
from support.thrift_clients import Server

#: a task for each file, so that a write has several
CONF = {"spark.sql.files.maxPartitionBytes": "4m"}


@pytest.fixture(scope="session")
def scripts() -> Iterator[Any]:
    with of_the_flights("flights", "spark_cluster", "thrift_server") as modules:
        yield modules


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory, scripts: Any) -> Iterator[tuple[Any, Server]]:
    home, port = tmp_path_factory.mktemp("cluster"), scripts.spark_cluster.free_port()
    with (
        scripts.spark_cluster.serving(home, port, java_options=f"{JVM} {COLD}", conf=CONF) as (cluster, _),
        closing(scripts.thrift_server.connect(port)) as connection,
    ):
        yield cluster, Server(port, home, connection)


@pytest.fixture
def server(started: tuple[Any, Server]) -> Server:
    return started[1]


@pytest.fixture
def cluster(started: tuple[Any, Server]) -> Any:
    return started[0]


@pytest.fixture
def project(tmp_path: Path, server: Server) -> Iterator[Project]:
    yield from a_project(tmp_path, server, server.profile)
