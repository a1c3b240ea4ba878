"""The executors of a cluster's workers, which are child processes, and what kills them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress


def executors(workers: Iterable[subprocess.Popen]) -> list[int]:
    """The process of each executor that workers started."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    parents = {worker.pid for worker in workers}
    found = []
    for line in listed.splitlines():
        pid, parent, command = line.split(maxsplit=2)
        if int(parent) in parents and "CoarseGrainedExecutorBackend" in command:
            found.append(int(pid))
    return found


def kill(pid: int) -> None:
    """kill -9, of a process that may have ended meanwhile."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
