"""`temporal_feed`: the updates of a committed model that an incremental model has not taken yet.

The instant of the last update in the table of the incremental model is its *mark*. *Since* is the first instant that
the committed model can still answer.

| | the feed gives |
|---|---|
| the mark is before the frontier, and no other line applies | the updates from the mark to the frontier |
| since is after the mark | the difference, then the updates |
| the output at the mark was revised | the difference, then the updates |
| `verify` is true: the default where a killed write may leave a part of its rows | the difference, then the updates |
| there is no table yet, or no row in it | the output at since, then the updates |

The *difference* is the updates that turn the rows of the table into the rows of the output. One difference at the
frontier takes the place of the updates with `each_change=false`, and with `envelope='upsert'` where the output is not
read row by row (`Output.is_row_by_row`). A first run then gives the output at the frontier. An upsert gives only the
last update of each key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engine import session
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Explained, Refusal
from ..temporal.clock.instants import format_instant
from ..temporal.diffs.intervals_sql import enclosed, nested, no_rows
from ..temporal.diffs.state import State
from ..temporal.diffs.view_sql import read_at
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import folded
from .changes import Request, checked, updates
from .reads import answered, committed
from .sequenced import continued, envelopes
from .sequenced.histories import Range
from .sequenced.output import COLUMNS, Output

#: formats in which a write is seen whole or not at all
_ATOMIC = ("delta", "iceberg", "hudi")


@dataclass(frozen=True)
class Consumer:
    """The table that takes the updates."""

    table: str
    #: the folded name of a column -> the column's name
    held: Mapping[str, str]
    #: the instant of the last update (ms)
    mark: int
    #: the number of the last batch
    batch: int


def feed(
    warehouse: Warehouse, target: ModelRelations, into: str | None, request: Request, verify: Any, each_change: Any
) -> str:
    """A parenthesised query: the updates of a model's output that a table does not have yet.

    | | |
    |---|---|
    | into | the table, as a FROM names the table; None before the table exists |
    | verify | whether to compare the rows of the table; None: only where writes of the table are not atomic |
    | each_change | False: one difference at the frontier in place of the updates |
    """
    state = committed(warehouse, target)
    what = f"temporal_feed of {state.model}"
    key = checked(state, request, "temporal_feed")
    for name, given in (("verify", verify), ("each_change", each_change)):
        if not (isinstance(given, bool) or name == "verify" and given is None):
            raise Refusal("ST109", f"{what} with {name} {given!r}", "this is neither true nor false", f"{name}=true")
    session.refuse_other(warehouse, state, what, always=True)
    consumer = None if into is None else _consumer(warehouse, state, into, request, key)
    sources, later_than = _sources(warehouse, state, consumer, request, key, verify, each_change)
    sources = sources or [no_rows((*COLUMNS, *state.columns))]
    sql = "\nUNION ALL\n".join(f"SELECT * FROM {nested(source, 'mz_part')}" for source in sources)
    if request.envelope != envelopes.DIFFS:
        last = request.envelope == envelopes.UPSERT
        sql = envelopes.by_key(sql, state.model, state.columns, key, request.envelope, later_than, last, nulls=False)
    if request.envelope == envelopes.DEBEZIUM:
        batch = 1 if consumer is None else consumer.batch + 1
        sql = f"SELECT *, {batch}L AS {continued.BATCH}\nFROM {nested(sql, 'mz_taken')}"
    return enclosed(sql)


def _sources(
    warehouse: Warehouse,
    state: State,
    consumer: Consumer | None,
    request: Request,
    key: list[str],
    verify: bool | None,
    each_change: bool,
) -> tuple[list[str], int | None]:
    """(queries of updates, an instant (ms)). The instant is None without rows in the table.

    With a key, the updates up to the instant insert the rows that the table has. `envelopes.by_key` needs these updates
    to know the row before a change, and leaves them out of the feed.
    """
    what, by_key = f"temporal_feed of {state.model}", request.envelope != envelopes.DIFFS

    def after(instant: int, snapshot: bool) -> list[str]:
        over = Output(state, Range(answered(state, instant), state.frontier, state.refreshes))
        if instant == state.frontier and not snapshot:
            return []
        return [updates(warehouse, over, what, instant, snapshot, request.max_changes)]

    is_last_told = request.envelope == envelopes.UPSERT and not Output(state, Range(0, 0)).is_row_by_row
    last_alone = is_last_told or not each_change
    if consumer is None:
        return after(state.frontier if last_alone else state.since, snapshot=True), None
    mark, frontier = consumer.mark, state.frontier
    if verify is None:
        verify = warehouse.table(consumer.table).provider not in _ATOMIC
    is_revised = state.revised is not None and mark <= state.revised
    from_ = max(mark, state.since, state.revised if is_revised and state.revised is not None else mark)
    is_known = not (verify or is_revised or mark < state.since)
    from_ = frontier if last_alone else min(from_, frontier)
    if is_known and from_ == mark:
        return after(mark, snapshot=by_key), mark
    if is_known:
        rows = f"SELECT *, 1L AS mz_n FROM {nested(read_at(state, answered(state, mark)), 'mz_before')}"
    else:
        rows = continued.rows_of(consumer.table, consumer.held, state.columns, request.envelope, key)
    wanted = read_at(state, answered(state, from_))
    sources = [continued.difference(rows, wanted, state.columns, from_), *after(from_, snapshot=False)]
    if by_key:
        sources.append(continued.standing(rows, state.columns, from_ - 1))
    return sources, from_ - 1


def _consumer(warehouse: Warehouse, state: State, table: str, request: Request, key: list[str]) -> Consumer | None:
    """The table that takes the updates; None for an empty table."""
    held = {folded(name): name for name, _ in warehouse.describe(f"SELECT * FROM {table}")}
    needed = ["mz_timestamp", "mz_diff"] if request.envelope == envelopes.DIFFS else ["mz_timestamp", "mz_state", *key]
    needed += [continued.BATCH] if request.envelope == envelopes.DEBEZIUM else []
    missing = next((name for name in needed if folded(name) not in held), None)
    if missing is not None:
        raise Refusal(
            "ST616",
            f"temporal_feed of {state.model} into {table}, which has no column {missing}",
            f"the next run goes on after the last {needed[0]}, from what the table has by {', '.join(needed[1:])}",
            f"select * from {{{{ temporal_feed(ref('{state.model}')) }}}}, and a run of it with --full-refresh",
        )
    batch = f"max({quote(held[continued.BATCH])})" if continued.BATCH in needed else "0"
    ((mark, batch),) = warehouse.rows(f"SELECT max({quote(held['mz_timestamp'])}), {batch} FROM {table}")
    if mark is None:
        return None
    if mark > state.frontier:
        raise Explained(
            "ST617",
            f"{table} has updates of {state.model} up to {format_instant(mark)}, and the last "
            f"change captured by {state.model} is at {format_instant(state.frontier)}",
            f"{state.model} was built anew at an earlier instant, so what the table has is not its past",
            f"dbt run -s {state.model} at a later clock, or --full-refresh of the model with the feed",
        )
    return Consumer(table, held, int(mark), int(batch))
