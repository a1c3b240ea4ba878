"""A standalone cluster of Spark on loopback, from the jars of pyspark: for `make cluster`, and for the tests.

master ── worker-1 ── executor          the warehouse is a folder that all of these processes share
    │  └─ worker-2 ── executor
    └──── Thrift server: the driver of its executors, with the metastore
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import spark_server
import thrift_server
from flights import HERE, unpack
from spark_server import HOST, LONGEST_START, NotStarted, free_port

from dbt.adapters.sparktemporal.spark_log import LOG4J

__all__ = ["Cluster", "NotStarted", "running", "serving"]

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
#: a worker has room for one executor, of one core
MEMORY = "1g"

#: nobody submits applications over HTTP; executors that are lost again and again do not end the Thrift server
_OF_THE_MASTER = "-Dspark.master.rest.enabled=false -Dspark.deploy.maxExecutorRetries=-1"

_PROFILE = """   profile:  type: sparktemporal
             method: thrift
             host: {host}
             port: {port}
             user: dbt
             schema: analytics
             threads: 4"""


class Cluster:
    """A master and its workers. Each process has a folder with its server.log under home."""

    def __init__(self, home: Path, processes: ExitStack) -> None:
        spark_server.need_java()
        self.home, self.workers = home, []  # type: Path, list[subprocess.Popen]
        self._processes, self._page = processes, free_port()
        for folder in ("tmp", "warehouse"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.address = f"spark://{HOST}:{port}"
        self._start("master", port, self._page, MASTER, lambda: _until(lambda: bool(self.summary)))

    def add_worker(self) -> subprocess.Popen:
        """One more worker, which the master knows when this returns."""
        name, before = f"worker-{len(self.workers) + 1}", self.alive()
        room = ["--cores", "1", "--memory", MEMORY, "--work-dir", str(self.home / name), self.address]
        worker = self._start(
            name, free_port(), free_port(), WORKER, lambda: _until(lambda: self.alive() > before), *room
        )
        self.workers.append(worker)
        return worker

    @property
    def summary(self) -> dict[str, Any]:
        """What the master says of its workers and applications."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"http://{HOST}:{self._page}/json/", timeout=10) as page:
            return json.load(page)

    def alive(self) -> int:
        """How many workers the master has."""
        return int(self.summary["aliveworkers"])

    @property
    def cores_used(self) -> int:
        """The cores that executors have, one each."""
        return int(self.summary["coresused"])

    @property
    def conf(self) -> dict[str, str]:
        """The settings of a driver whose executors are this cluster's."""
        return {
            "spark.master": self.address,
            "spark.cores.max": str(len(self.workers)),
            "spark.executor.cores": "1",
            "spark.executor.memory": MEMORY,
            "spark.executor.extraJavaOptions": _options(self.home),
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            # the first statement waits for all executors
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        }

    def _start(
        self, name: str, port: int, page: int, server: str, answers: Callable[[], object], *arguments: str
    ) -> subprocess.Popen:
        folder = self.home / name
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(spark_server.spark_home() / "bin" / "spark-class"), server, "--host", HOST, "--port", str(port)]
        command += ["--webui-port", str(page), *arguments]
        environment = {
            **LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_options(self.home)} {_OF_THE_MASTER}",
            "SPARK_LOCAL_DIRS": str(self.home / "tmp"),
        }
        started = spark_server.running(name, command, folder, port, answers, environment)
        return self._processes.enter_context(started)


#: the address that each process of Spark listens on
LOOPBACK = {"SPARK_LOCAL_IP": HOST}


@contextmanager
def running(home: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers; all of them are gone when the block ends, however it ends."""
    with ExitStack() as processes:
        cluster = Cluster(home, processes)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster


@contextmanager
def serving(
    home: Path, port: int, workers: int = 2, java_options: str = "", conf: Mapping[str, str] | None = None
) -> Iterator[tuple[Cluster, subprocess.Popen]]:
    """A cluster, and a Thrift server on 127.0.0.1:port that is the driver of its executors."""
    with running(home, workers) as cluster:
        settings = {**cluster.conf, "spark.driver.memory": "1g", **(conf or {})}
        with thrift_server.running(home, port, java_options, settings, LOOPBACK) as server:
            yield cluster, server


def _options(home: Path) -> str:
    """Java options of masters, workers and executors: they write below home."""
    log = {"log4j2.configurationFile": LOG4J, "log.level": "warn"}
    return " ".join(f'"-D{key}={value}"' for key, value in {**log, "java.io.tmpdir": home / "tmp"}.items())


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_START
    while time.monotonic() < deadline:
        with suppress(OSError):
            if true():
                return
        time.sleep(0.2)
    raise NotStarted(f"The master does not answer as it should for {LONGEST_START} s.")


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    os.chdir(HERE)
    port = int(os.environ.get("FLIGHTS_PORT", "10000"))
    home = Path(os.environ.get("FLIGHTS_HOME", "target/cluster")).resolve()
    unpack(HERE / "target" / "data")
    print("== a master, two workers and a Thrift server start on loopback", flush=True)
    try:
        with serving(home, port) as (cluster, server):
            print(
                f"== the master is {cluster.address}; the Thrift server answers on {HOST}:{port}, until Ctrl-C\n"
                f"{_PROFILE.format(host=HOST, port=port)}\n"
                "   the flights, in another terminal:\n"
                "   cd integration_tests && ../.venv/bin/dbt build --target thrift",
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
