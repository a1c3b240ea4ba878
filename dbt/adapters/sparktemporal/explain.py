"""What people ask of pushdown: what a rebuild of a model would read, and why no less."""

from __future__ import annotations

import re

from . import inputs, stack
from .config import TemporalConfig
from .model import understand
from .pushdown.sargable import Range
from .reads import committed
from .skips import by_part, implied
from .temporal import roundtrip, updates
from .temporal.clock import format_instant
from .temporal.dialect import render
from .warehouse import Target, Warehouse


def explain(warehouse: Warehouse, target: Target, config: TemporalConfig, clock: int) -> list[str]:
    """What a rebuild of a model would read at an instant (ms), in lines. No data is read for it."""
    state = committed(warehouse, target)
    warehouse = stack.as_captured(warehouse, state)
    model = understand(warehouse, state.written, state.settings, warehouse.version(), clock, state)
    until = None if state.offset is None else clock + state.offset
    ends = "without expiration" if until is None else f"that expires at {format_instant(until)}"
    lines = [f"{target.model}: a rebuild at {format_instant(clock)} {ends}"]
    if config.pushdown == "off":
        lines.append("  pushdown is off: what follows is what it would do")
    for core in model.cores:
        range_ = Range(clock, until)
        parts = by_part(warehouse, core, state.settings, range_)
        lines += [f"  {core.name}: no window, all of it is read"] if not parts else []
        for written, found in parts:
            lines += [f"  {core.name}: {written}", f"    {'-> ' + found if found else _UNKNOWN}"]
        asked = updates.probe(core.core, implied(warehouse, core, state.settings, range_))
        lines += _inputs(warehouse, render(updates.probe(core.core)), render(asked))
    return lines


_UNKNOWN = "-> nothing about a single column by itself: for this part all rows are read"


def _inputs(warehouse: Warehouse, everything: str, asked: str) -> list[str]:
    """Of each table: its files and bytes, what Spark leaves of its partitions, and what reaches the statistics."""
    seen = inputs.observe_files(warehouse, roundtrip.analyzed(warehouse.explain(everything)))
    left = _sizes(warehouse, asked)
    lines = []
    for name, said in seen.items():
        size = f"; {left[name]} of it in partitions that can match" if name in left else ""
        lines.append(f"    input {name}: {said}{size}")
    lines += [f"    scan of {name}: {filters}" for name, filters in roundtrip.scans(warehouse.explain(asked))]
    return lines


def _sizes(warehouse: Warehouse, sql: str) -> dict[str, str]:
    """table -> the size of what is left of it when partitions are pruned, in Spark's words."""
    told = warehouse.ask(warehouse.data(f"EXPLAIN COST {sql}"))
    return dict(re.findall(r"Relation ([\w.]+)\[.*?\] \w+, Statistics\(sizeInBytes=([^,)]+)", told))
