"""Spark Connect's server on loopback, from the jars of pyspark: for the tests of `SPARK_REMOTE=sc://…`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import spark_server
from spark_server import HOST

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def running(home: Path, java_options: str = "", conf: Mapping[str, str] | None = None) -> Iterator[str]:
    """A server with metastore, warehouse and server.log under home -> its address for SPARK_REMOTE."""
    port = spark_server.free_port()
    place = {"spark.connect.grpc.binding.address": HOST, "spark.connect.grpc.binding.port": str(port)}
    hive = {"spark.sql.catalogImplementation": "hive"}
    command = spark_server.submit(home, SERVER, "Connect server", java_options, {**hive, **(conf or {}), **place})
    with spark_server.running("Connect server", command, home, port, lambda: None):
        yield f"sc://{HOST}:{port}"
