"""Spark's own Thrift server on loopback, from the jars of pyspark: for `make thrift`, and for the tests."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flights import HERE, unpack

HOST = "127.0.0.1"
SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"

#: what target dev of profiles.yml sets; a client of the server can only set what belongs to its session
CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:metastore;create=true",
}
#: a cold start on a busy machine, s
LONGEST_START = 180


class NotStarted(Exception):
    """Why there is no server, and what to do."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@contextmanager
def running(home: Path, port: int, java_options: str = "") -> Iterator[subprocess.Popen]:
    """A server that answers on 127.0.0.1:port, with metastore, warehouse and server.log under home.

    Gone when the block ends, however it ends, with all of its process group.
    """
    command = _command(home, port, java_options)
    _refuse_taken(port)
    for folder in ("tmp", "warehouse"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    with (home / "server.log").open("w") as log:
        # a session of its own, so that Ctrl-C reaches this process alone and the server is stopped in order;
        # in this folder, because the paths of the csv files are relative
        server = subprocess.Popen(
            command,
            cwd=HERE,
            env={**os.environ, "SPARK_HOME": str(_spark_home())},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        try:
            _wait_until_it_answers(server, port, home / "server.log")
            yield server
        finally:
            _stop(server)


def connect(port: int) -> Any:
    from pyhive import hive

    return hive.connect(HOST, port, username="dbt")


def _command(home: Path, port: int, java_options: str) -> list[str]:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        raise NotStarted(f"Spark needs a JDK 17 or 21, and there is no {java}. Install one or put it on PATH.")
    conf = {**CONF, "spark.sql.warehouse.dir": str(home / "warehouse"), "spark.local.dir": str(home / "tmp")}
    hive = {
        "hive.server2.thrift.bind.host": HOST,
        "hive.server2.thrift.port": str(port),
        "hive.exec.scratchdir": str(home / "tmp" / "scratch"),
        # a client that asks for the state of a statement hears of its end at once, even if it takes more than 5 s
        "hive.server2.long.polling.timeout": "300s",
    }
    folders = {"derby.system.home": home, "java.io.tmpdir": home / "tmp"}
    settings = {"log4j2.configurationFile": HERE / "log4j2.properties", "log.level": "error", **folders}
    options = [java_options, *(f'"-D{key}={value}"' for key, value in settings.items())]
    return [
        str(_spark_home() / "bin" / "spark-submit"),
        *("--class", SERVER, "--name", "Thrift server", "--driver-java-options", " ".join(options)),
        *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
        *(word for key, value in hive.items() for word in ("--hiveconf", f"{key}={value}")),
    ]


def _spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise NotStarted("The server is part of pyspark, which is not there: pip install 'dbt-sparktemporal[session]'")
    return Path(found.origin).parent


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        # a server that has just been stopped leaves its port in a state that only counts without this
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise NotStarted(
                f"Port {port} of {HOST} cannot be used ({error.strerror}). Stop what listens there, or take another "
                "port for server and dbt alike: export FLIGHTS_PORT=10001"
            ) from None


def _wait_until_it_answers(server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + LONGEST_START
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            break
        time.sleep(0.3)
    else:
        how = f"did not answer for {LONGEST_START} s" if server.poll() is None else f"ended with {server.returncode}"
        raise NotStarted(f"The Thrift server {how}. The end of {log}:\n{log.read_text(errors='replace')[-3000:]}")
    with closing(connect(port)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _die_with_parent() -> None:
    """kill -9 of this process leaves nobody to stop the server; where it can, the kernel then does."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)


def _stop(server: subprocess.Popen) -> None:
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with suppress(subprocess.TimeoutExpired):
            server.wait(patience)
            return


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
