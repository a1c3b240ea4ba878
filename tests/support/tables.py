"""Inputs that several tests read."""

from __future__ import annotations

from support.instants import T0
from support.project import Project


def rows_of(first: int, last: int) -> str:
    """Row n comes at n seconds after T0 and goes ten days later."""
    at = f"timestamp_millis({T0}L + id * 1000)"
    return f"SELECT id, {at} AS ts, {at} + interval 10 days AS hi FROM range({first}, {last})"


def twenty_rows(project: Project) -> None:
    """t: rows 100 to 119, and n goes at n seconds after T0."""
    project.sql(f"CREATE TABLE {{s}}.t AS SELECT id, timestamp_millis({T0}L + id * 1000) AS hi FROM range(100, 120)")
