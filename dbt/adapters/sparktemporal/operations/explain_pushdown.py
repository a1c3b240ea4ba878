"""`temporal_explain_pushdown`: the rows and files that a rebuild of a model would read, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..config import TemporalConfig
from ..engine.warehouse import ModelRelations, Warehouse
from ..inputs import observe, upstream
from ..pruning.files import FilePruner
from ..pruning.filters import by_part, projected
from ..pushdown.sargable import Range
from ..run.analyze import understand
from ..temporal.clock.instants import format_instant
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.state import State
from ..temporal.predicates import clock_text
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql import plans
from ..temporal.sql.dialect import render
from ..words import quantity
from .reads import committed


def explain(warehouse: Warehouse, target: ModelRelations, config: TemporalConfig, clock: int) -> list[str]:
    """Lines about the reads of a rebuild at an instant (ms). No data is read."""
    state = committed(warehouse, target)
    warehouse = upstream.as_captured(warehouse, state)
    model = understand(warehouse, state.written, state.settings, warehouse.version(), clock, state)
    until = None if state.offset is None else clock + state.offset
    ends = "without expiration" if until is None else f"that expires at {format_instant(until)}"
    lines = [f"{target.model}: a rebuild at {format_instant(clock)} {ends}"]
    if config.pushdown == "off":
        lines.append("  pushdown is off: these lines show its effect when it is on")
    for core in model.cores:
        range_ = Range(clock, until)
        parts = by_part(warehouse, core, state.settings, range_)
        lines += [f"  {core.name}: no window, all rows are read"] if not parts else []
        for written, found in parts:
            lines += [f"  {core.name}: {written}", f"    {'-> ' + found if found else _UNKNOWN}"]
        asked = intervals_sql.probe(core.core, projected(warehouse, core, state.settings, range_))
        lines += _inputs(warehouse, render(intervals_sql.probe(core.core)), render(asked))
    if model.cores:
        lines += _statistics(warehouse, target, state, config, model.cores, Range(clock, until))
    return lines


def _statistics(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    config: TemporalConfig,
    cores: Sequence[TypedCore],
    clock: Range,
) -> list[str]:
    """Lines about the files of each input that the kept statistics leave, and about their cost."""
    if not (state.statistics and warehouse.tables(target.schema, state.statistics)):
        return ["  no statistics of files are kept (pushdown: statistics, or pushdown_collect)"]
    plan = plans.analyzed(warehouse.explain(clock_text.written_at(state.written, state.kinds, f"{clock.first}L")))
    version, hints = warehouse.version(), config.pushdown_columns
    parts = FilePruner.look(warehouse, cores, observe.observe(warehouse, plan), state.settings, version, hints, clock)
    table = target.table(state.statistics)
    lines = [f"  {note}" for note in parts.notes]
    if parts.read_as != state.measured:
        return [
            *lines,
            "  the kept statistics do not fit model, session and Spark any more; the next full read collects new ones",
        ]
    parts.known = table
    for core in cores:
        lines += [f"  {core.name}: {line}" for line in parts.summary(core.name, clock)]
    measured = sorted(text for one in parts.measured.values() for text in one.leaves)
    size = observe.size(warehouse, table)
    took = f"collected in {state.measuring / 1000:.1f} s"
    return [
        *lines,
        f"  statistics of {', '.join(measured)}: {quantity(warehouse.count(table), 'row')} in {size}; {took}",
    ]


_UNKNOWN = "-> nothing about a single column by itself: for this part all rows are read"


def _inputs(warehouse: Warehouse, everything: str, asked: str) -> list[str]:
    """Lines about each table: files, bytes, the bytes of its partitions after pruning, the filters of its scan."""
    seen = observe.observe_files(warehouse, plans.analyzed(warehouse.explain(everything)))
    left = _sizes(warehouse, asked)
    lines = []
    for name, files in seen.items():
        size = f"; {left[name]} of it in partitions that can match" if name in left else ""
        lines.append(f"    input {name}: {files}{size}")
    lines += [f"    scan of {name}: {filters}" for name, filters in plans.scans(warehouse.explain(asked))]
    return lines


def _sizes(warehouse: Warehouse, sql: str) -> dict[str, str]:
    """table -> its size after partition pruning, as Spark prints it."""
    plan = warehouse.ask(warehouse.data(f"EXPLAIN COST {sql}"))
    return dict(re.findall(r"Relation ([\w.]+)\[.*?\] \w+, Statistics\(sizeInBytes=([^,)]+)", plan))
