"""Spark's own Thrift server on loopback, from the jars of pyspark: for `make thrift`, and for the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import spark_server
from flights import HERE, unpack
from spark_server import HOST, NotStarted, free_port

__all__ = ["NotStarted", "connect", "free_port", "running"]

SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@contextmanager
def running(
    home: Path,
    port: int,
    java_options: str = "",
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen]:
    """A server that answers on 127.0.0.1:port, with metastore, warehouse and server.log under home."""
    hive = {
        "hive.server2.thrift.bind.host": HOST,
        "hive.server2.thrift.port": str(port),
        "hive.exec.scratchdir": str(home / "tmp" / "scratch"),
        # a client that asks for the state of a statement hears of its end at once, even if it takes more than 5 s
        "hive.server2.long.polling.timeout": "300s",
    }
    arguments = [word for key, value in hive.items() for word in ("--hiveconf", f"{key}={value}")]
    command = spark_server.submit(home, SERVER, "Thrift server", java_options, conf or {}, arguments)
    with spark_server.running("Thrift server", command, home, port, lambda: _ask(port), environment) as server:
        yield server


def connect(port: int) -> Any:
    from pyhive import hive

    return hive.connect(HOST, port, username="dbt")


def _ask(port: int) -> None:
    with closing(connect(port)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    os.chdir(HERE)
    port = int(os.environ.get("FLIGHTS_PORT", "10000"))
    home = Path(os.environ.get("FLIGHTS_HOME", "target/thrift")).resolve()
    unpack(HERE / "target" / "data")
    print(f"== Spark's Thrift server starts on {HOST}:{port}", flush=True)
    try:
        with running(home, port) as server:
            print(
                "== it answers, until Ctrl-C. In another terminal:\n"
                "   cd integration_tests && ../.venv/bin/dbt build --target thrift\n"
                f"   other clients: jdbc:hive2://{HOST}:{port}, any user, no password",
                flush=True,
            )
            server.wait()
            sys.exit(f"the server ended with {server.returncode}; see {home}/server.log")
    except NotStarted as why:
        sys.exit(str(why))
    except KeyboardInterrupt:
        print(f"\n== stopped; its tables stay in {home}")


if __name__ == "__main__":
    main()
