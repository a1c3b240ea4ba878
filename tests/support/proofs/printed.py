"""What the product prints for a predicate over the clock, without Spark. Zones are those of Python."""

from __future__ import annotations

import json
from typing import Any

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.run.analyze import Model, understand
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql

from . import calendar

#: the row of a predicate: column -> type
ROW = {"a": "timestamp", "e": "timestamp", "d": "date", "ntz": "timestamp_ntz", "ms": "bigint", "dec": "decimal(20,3)",
       "k": "int", "b": "boolean", "iv": "interval day to second", "s": "string", "x": "double"}  # fmt: skip


class Engine(GivenTypes):
    """Answers for a session in a zone."""

    def __init__(self, zone: str) -> None:
        super().__init__({"s.t": ROW}, 0)
        self.zone = zone

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("SELECT to_json(transform(filter(sequence("):
            name = sql.partition("timestamp_seconds(t), '")[2].partition("'")[0]
            return [(json.dumps([(c.at, c.before, c.after) for c in calendar.zone(name).changes]),)]
        return super().__call__(sql)


def model_of(predicate: str, zone: str = "UTC", as_of: int = 0) -> Model:
    """A model with a predicate, as a run at `as_of` (ms) understands it. Raises Refusal."""
    warehouse = Warehouse(Engine(zone))
    settings = {**warehouse.settings(), "spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": "false"}
    return understand(warehouse, f"SELECT k FROM s.t WHERE {predicate}", settings, warehouse.version(), as_of)


def windows(predicate: str, zone: str = "UTC", as_of: int = 0) -> str:
    """The SQL of the windows of rows. Raises Refusal, and AssertionError where a read filters the predicate."""
    model = model_of(predicate, zone, as_of)
    (core,) = model.cores
    assert not model.notes, model.notes
    return intervals_sql.desired(core, as_of, None)
