"""Clients of a Thrift server: a session of the tests, and dbt in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

#: dbt where pyspark cannot be imported, as where only the thrift extra is installed
DBT_ALONE = "import sys; sys.modules['pyspark'] = None; from dbt.cli.main import cli; cli()"


@dataclass
class Server:
    """The server as the fixtures know Spark (`.sql(...).collect()`), in one session of its own."""

    port: int
    home: Path
    connection: Any

    def sql(self, statement: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall()
        return SimpleNamespace(collect=lambda: rows)

    @property
    def profile(self) -> dict[str, Any]:
        session = {"spark.sql.session.timeZone": "UTC"}
        where = {"method": "thrift", "host": "127.0.0.1", "port": self.port, "user": "dbt"}
        return {**where, "poll_interval": 1, "server_side_parameters": session}


def alone(*arguments: str, folder: Path, **environment: str) -> subprocess.Popen:
    """A command of dbt in a process without pyspark."""
    folders = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
    return subprocess.Popen(
        [sys.executable, "-c", DBT_ALONE, "--no-use-colors", *arguments, *folders],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(true: Callable[[], Any], patience: float = 60) -> Any:
    """The first answer that is true; fails after so many seconds."""
    deadline = time.monotonic() + patience
    while not (found := true()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return found


def content(file: Path) -> str:
    return file.read_text() if file.exists() else ""
