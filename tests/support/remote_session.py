"""A session over Spark Connect: the server is another process, and the tests' own has no JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.flights import of_the_flights

#: an option of the tests beside the catalogs: the server has a Hive metastore
CONNECT = "connect"
#: what the server decides by itself
_OF_THE_SERVER = ("spark.driver.extraJavaOptions", "spark.sql.warehouse.dir")


@contextmanager
def serving(home: Path, java_options: str, conf: Mapping[str, str]) -> Iterator[str]:
    """A server with settings -> its address."""
    of_server = {key: value for key, value in conf.items() if key not in _OF_THE_SERVER}
    with (
        of_the_flights("connect_server") as scripts,
        scripts.connect_server.running(home, java_options, of_server) as address,
    ):
        yield address


@contextmanager
def remote(home: Path, java_options: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A server with settings, and a session of it, which every session of this process then is (SPARK_REMOTE)."""
    with serving(home, java_options, conf) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_REMOTE", address)
        session = SparkSession.builder.remote(address).getOrCreate()
        yield session
        session.stop()
