"""A server of Spark's own on loopback, from the jars of pyspark: started, waited for, and stopped in any case."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from flights import HERE

from dbt.adapters.sparktemporal.spark_log import LOG4J

HOST = "127.0.0.1"

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
def running(
    name: str,
    command: Sequence[str],
    home: Path,
    port: int,
    answers: Callable[[], object],
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen]:
    """A server that answers on 127.0.0.1:port, with metastore, warehouse and server.log under home.

    answers: asks the server something once its port is open. environment: further variables of the server. Gone when
    the block ends, however it ends, with all of its process group.
    """
    _refuse_taken(port)
    with (home / "server.log").open("w") as log:
        # a session of its own, so that Ctrl-C reaches this process alone and the server is stopped in order;
        # in this folder, because the paths of the csv files are relative
        server = subprocess.Popen(
            command,
            cwd=HERE,
            # SPARK_REMOTE is for clients: a server that has it does not start
            env={
                **{k: v for k, v in os.environ.items() if k != "SPARK_REMOTE"},
                "SPARK_HOME": str(spark_home()),
                **(environment or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        try:
            _wait_until_it_answers(name, server, port, home / "server.log")
            answers()
            yield server
        finally:
            _stop(server)


def submit(
    home: Path, server: str, name: str, java_options: str, conf: Mapping[str, str], arguments: Sequence[str] = ()
) -> list[str]:
    """The command that starts a server of Spark's; its folders are made."""
    need_java()
    for folder in ("tmp", "warehouse"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    places = {"spark.sql.warehouse.dir": str(home / "warehouse"), "spark.local.dir": str(home / "tmp")}
    folders = {"derby.system.home": home, "java.io.tmpdir": home / "tmp"}
    settings = {"log4j2.configurationFile": LOG4J, "log.level": "error", **folders}
    options = [java_options, *(f'"-D{key}={value}"' for key, value in settings.items())]
    return [
        str(spark_home() / "bin" / "spark-submit"),
        *("--class", server, "--name", name, "--driver-java-options", " ".join(options)),
        *(word for key, value in {**CONF, **places, **conf}.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
        *arguments,
    ]


def need_java() -> None:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        raise NotStarted(f"Spark needs a JDK 17 or 21, and there is no {java}. Install one or put it on PATH.")


def spark_home() -> Path:
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


def _wait_until_it_answers(name: str, server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + LONGEST_START
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.3)
    how = f"did not answer for {LONGEST_START} s" if server.poll() is None else f"ended with {server.returncode}"
    raise NotStarted(f"The {name} {how}. The end of {log}:\n{log.read_text(errors='replace')[-3000:]}")


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
