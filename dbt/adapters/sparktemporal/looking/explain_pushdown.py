"""`temporal_explain_pushdown`: the rows and files that a rebuild of a model would read, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..config import TemporalConfig
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..inputs.observing import observe
from ..over_time.reads import committed
from ..plurals import quantity
from ..pruning.files import FilePruner
from ..pruning.filters import by_part, projected
from ..pushdown.sargable import Range
from ..run.decision_context import rebuilt
from ..temporal.clock.expiration import Dependence
from ..temporal.clock.instants import format_instant
from ..temporal.decision import Invocation
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.state import State
from ..temporal.predicates import clock_text
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark import plans
from ..temporal.sql.text.dialect import render

#: (the kind of a row, the name that the row is about, the fact in words)
Row = tuple[str, str, str]


def explain(
    warehouse: Warehouse,
    target: ModelRelations,
    config: TemporalConfig,
    invocation: Invocation,
    inputs: Sequence[Dependence],
) -> list[Row]:
    """Rows about the reads of a rebuild in an invocation. No core is evaluated. inputs: as in `rebuilt`."""
    state = committed(warehouse, target)
    warehouse, model, decision = rebuilt(warehouse, target, state, config, invocation, inputs)
    as_of, until = decision.as_of, decision.expiration
    clock = Range(as_of, until)
    ends = "without expiration" if until is None else f"that expires at {format_instant(until)}"
    rows: list[Row] = [("model", target.model, f"a rebuild at {format_instant(as_of)} {ends}")]
    rows += windows(warehouse, model.cores, config, state.settings, clock)
    if model.cores:
        rows += _statistics(warehouse, target, state, config, model.cores, clock)
    return rows


def windows(
    warehouse: Warehouse, cores: Sequence[TypedCore], config: TemporalConfig, settings: Mapping[str, str], clock: Range
) -> Iterator[Row]:
    """For each core: the predicates that its window implies over a range of the clock, and the inputs left to read."""
    if config.pushdown == "off":
        yield "pushdown", "off", "these rows show its effect when it is on"
    for core in cores:
        parts = by_part(warehouse, core, settings, clock)
        if not parts:
            yield "window", core.name, "no window, all rows are read"
        for written, found in parts:
            yield "window", core.name, written
            yield "pushdown", core.name, f"-> {found}" if found else _UNKNOWN
        asked = intervals_sql.probe(core.core, projected(warehouse, core, settings, clock))
        yield from _inputs(warehouse, render(intervals_sql.probe(core.core)), render(asked))


def _statistics(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    config: TemporalConfig,
    cores: Sequence[TypedCore],
    clock: Range,
) -> list[Row]:
    """Rows about the files of each input that the kept statistics leave to read, and about the cost of statistics."""
    if not (state.statistics and warehouse.tables(target.schema, state.statistics)):
        return [("statistics", "none", "no statistics of files are kept (pushdown: statistics, or pushdown_collect)")]
    plan = plans.analyzed(warehouse.explain(clock_text.written_at(state.written, state.kinds, f"{clock.first}L")))
    inputs = observe.observe(warehouse, plan)
    parts = FilePruner.look(warehouse, cores, inputs, state.settings, config.pushdown_columns, clock)
    table = target.table(state.statistics)
    rows: list[Row] = [("statistics", "note", note) for note in parts.notes]
    if parts.read_as != state.measured:
        stale = "they do not fit model, session and Spark any more; the next full read collects new ones"
        return [*rows, ("statistics", "kept", stale)]
    parts.known = table
    for core in cores:
        rows += [("statistics", core.name, line) for line in parts.summary(core.name, clock)]
    measured = sorted(text for one in parts.measured.values() for text in one.leaves)
    size = observe.size(warehouse, table)
    took = f"collected in {state.measuring / 1000:.1f} s"
    kept = f"of {', '.join(measured)}: {quantity(warehouse.count(table), 'row')} in {size}; {took}"
    return [*rows, ("statistics", "kept", kept)]


_UNKNOWN = "-> nothing about a single column by itself: for this part all rows are read"


def _inputs(warehouse: Warehouse, everything: str, asked: str) -> Iterator[Row]:
    """Rows for each table: its files and bytes, the bytes left by partition pruning, the filters of its scan."""
    seen = observe.observe_files(warehouse, plans.analyzed(warehouse.explain(everything)))
    left = _sizes(warehouse, asked)
    for name, files in seen.items():
        size = f"; {left[name]} of it in partitions that can match" if name in left else ""
        yield "input", name, f"{files}{size}"
    for name, filters in plans.scans(warehouse.explain(asked)):
        yield "scan", name, filters


def _sizes(warehouse: Warehouse, sql: str) -> dict[str, str]:
    """table -> its size after partition pruning, as Spark prints it."""
    plan = warehouse.ask(warehouse.data(f"EXPLAIN COST {sql}"))
    return dict(re.findall(r"Relation ([\w.]+)\[.*?\] \w+, Statistics\(sizeInBytes=([^,)]+)", plan))
