"""Trino on loopback: a server of one process that reads the tables of Iceberg's REST server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.jars import jars
from support.javas import java_of
from support.named_catalogs import SERVED

#: the Java that Trino needs
LEAST, MOST = 24, 25
CATALOG = "lake"
#: Trino's own start script sets these
OPENS = ("java.base/java.nio=ALL-UNNAMED", "java.base/java.lang=ALL-UNNAMED")


def unpacked(folder: Path) -> Path:
    """The server with its connector for Iceberg, unpacked once beside the archives."""
    connector, server = jars("trino")
    home = connector.parent.parent / "trino-server"
    if not home.exists():
        making = folder / "unpacking"
        with tarfile.open(server) as archive:
            archive.extractall(making, filter="tar")
        (unpacking,) = making.iterdir()
        with zipfile.ZipFile(connector) as archive:
            archive.extractall(making / "connector")
        (plugin,) = (making / "connector").iterdir()
        shutil.move(plugin, unpacking / "plugin" / "iceberg")
        shutil.move(unpacking, home)
    return home


@contextmanager
def trino(folder: Path, uri: str) -> Iterator[int]:
    """A server over a REST catalog whose tables are in folders -> its port. The server ends with this block."""
    binary, home, port = java_of("Trino", LEAST, MOST), unpacked(folder), free_port()
    written = {
        "node.properties": {"node.environment": "tests", "node.id": "one", "node.data-dir": str(folder / "data")},
        "config.properties": {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(port),
            "node.internal-address": "127.0.0.1",
            "node.bind-ip": "127.0.0.1",
            "discovery.uri": f"http://127.0.0.1:{port}",
            "catalog.management": "static",
        },
        "log.properties": {"io.trino": "WARN"},
        f"catalog/{CATALOG}.properties": {
            "connector.name": "iceberg",
            "iceberg.catalog.type": "rest",
            "iceberg.rest-catalog.uri": uri,
            "fs.native-local.enabled": "true",
            "local.location": "/",
        },
    }
    for name, properties in written.items():
        file = folder / "etc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = [
        binary, "-Xmx1500m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow", "--add-modules=jdk.incubator.vector",
        *(f"--add-opens={one}" for one in OPENS), f"-Dconfig={folder}/etc/config.properties",
        f"-Dlog.levels-file={folder}/etc/log.properties", f"-Dnode.data-dir={folder}/data",
        f"-Dcatalog.config-dir={folder}/etc/catalog", f"-Dplugin.dir={home}/plugin",
        "-Dnode.environment=tests", "-Dnode.id=one", "-cp", f"{home}/lib/*", "io.trino.server.TrinoServer",
    ]  # fmt: skip
    (folder / "data").mkdir()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        until_it_answers(process, port, folder / "log")
        yield port
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def serving(folders: pytest.TempPathFactory, spark: Any) -> Iterator[int]:
    """A server over the catalog of a session, `served` -> its port."""
    uri = spark.conf.get(f"spark.sql.catalog.{SERVED}.uri")
    with trino(folders.mktemp("trino"), uri) as port:
        yield port


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until_it_answers(process: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            rows(port, "SELECT 1")
            return
        except Exception as error:  # refused, or told that the server is starting: classes of several libraries
            assert process.poll() is None and time.monotonic() < deadline, (str(error), log.read_text()[-3000:])
            time.sleep(1)


def rows(port: int, sql: str) -> list[list[Any]]:
    # the client is installed for this engine alone
    from trino.dbapi import connect

    with closing(connect(host="127.0.0.1", port=port, user="tests", catalog=CATALOG, timezone="UTC")) as connection:
        found: list[list[Any]] = connection.cursor().execute(sql).fetchall()
        return found
