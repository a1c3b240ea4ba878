"""The window of the other models, kept by Pathway: a process of its own, in an environment of its own.

    python live_window.py <folder>

Reads events and instants of the clock from CSV files that come to `<folder>/events` and `<folder>/clock`. In production
the clock is `pw.temporal.utc_now(refresh_rate=...)`; the benchmark moves it. Keeps `status.json` (rows shown, clock,
memory), and `changes.csv` (each row that enters or leaves). GET on the port in `port` gives count and sum by customer.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pathway as pw

FOLDER = Path(sys.argv[1])
WINDOW = datetime.timedelta(days=30)
groups: dict[int, tuple[int, int]] = {}
status: dict[str, int] = {}


class Event(pw.Schema):
    event: int = pw.column_definition(primary_key=True)
    customer: int
    amount: int
    ts: int


class Clock(pw.Schema):
    now: int


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(list(groups.items())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def replace(name: str, text: str) -> None:
    (FOLDER / f"{name}.new").write_text(text)
    (FOLDER / f"{name}.new").rename(FOLDER / name)


def changed(key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
    if is_addition:
        status.update(row)


def group_changed(key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
    if is_addition:
        groups[row["customer"]] = (row["n"], row["total"])
    elif groups.get(row["customer"]) == (row["n"], row["total"]):
        del groups[row["customer"]]


def report(time: int) -> None:
    """After each minibatch that changed something."""
    memory = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    replace("status.json", json.dumps({**status, "memory": int(memory.split()[1]) * 1024}))


events = pw.io.csv.read(str(FOLDER / "events"), schema=Event, mode="streaming", autocommit_duration_ms=100)
clock = pw.io.csv.read(str(FOLDER / "clock"), schema=Clock, mode="streaming", autocommit_duration_ms=100)
# the clock is among the rows, since forget takes the latest of their times for now
ticks = clock.select(event=-1, customer=-1, amount=0, ts=pw.this.now)
both = events.select(pw.this.event, pw.this.customer, pw.this.amount, pw.this.ts).concat_reindex(ticks)
# forget drops a row at the threshold itself, and the window still holds the row at that millisecond
edge = WINDOW // datetime.timedelta(milliseconds=1) + 1
window = both.forget(pw.this.ts, edge).filter(pw.this.event >= 0)
by_customer = window.groupby(pw.this.customer).reduce(
    pw.this.customer, n=pw.reducers.count(), total=pw.reducers.sum(pw.this.amount)
)
shown = window.reduce(rows=pw.reducers.count(), ids=pw.reducers.sum(pw.this.event))
pw.io.subscribe(by_customer, on_change=group_changed)
pw.io.subscribe(shown, on_change=changed, on_time_end=report)
pw.io.subscribe(clock.reduce(now=pw.reducers.max(pw.this.now)), on_change=changed, on_time_end=report)
pw.io.csv.write(window, str(FOLDER / "changes.csv"))
server = HTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
replace("port", str(server.server_port))
print(os.getpid(), flush=True)
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
