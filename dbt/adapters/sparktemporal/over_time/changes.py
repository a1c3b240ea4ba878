"""`temporal_changes`: the updates of a committed model's output; and the instants at which an output is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..engine import session
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Explained, Refusal
from ..plurals import quantity
from ..temporal.clock.instants import format_instant, parse_instant
from ..temporal.diffs.intervals_sql import enclosed, indent, nested, no_rows
from ..temporal.diffs.state import State
from ..temporal.sql.text.identifiers import folded
from .reads import answered, committed
from .sequenced import envelopes, output
from .sequenced.histories import Range
from .sequenced.output import Output

#: the most instants at which a residual that is not read row by row is evaluated, unless people say otherwise
MAX_CHANGES = 10_000
#: the most instants that are read one by one, where no query reads many
MOST_ALONE = 100
#: the last instant of a model that never expires (ms)
NEVER = 1 << 62
#: the argument that stands for the expiration, in place of an instant
EXPIRATION = "expiration"
#: macro -> the advice, in arguments of the macro, when it would evaluate an output at too many instants
FEWER_INSTANTS = {
    "temporal_changes": "up_to='{reached}', a larger max_changes, or temporal_at for some instants",
    "temporal_feed": "each_change=false, or a larger max_changes",
}
#: macro -> the advice when it would read too many instants one by one
FEWER_READS = {
    "temporal_changes": "an as_of and an up_to that are nearer to each other, or temporal_as_of",
    "temporal_feed": "each_change=false",
    "temporal_at": "fewer instants, or temporal_as_of",
    "temporal_calendar": "a smaller max_changes, or temporal_forecast",
    "temporal_forecast": "a longer `every`, or an earlier `until`",
}
#: columns of updates beside the columns of the model
_OURS = ("mz_timestamp", "mz_diff", "mz_definite", "mz_state", "mz_batch")


@dataclass(frozen=True)
class Request:
    """The arguments of `temporal_changes`, as people wrote them."""

    as_of: Any = None
    up_to: Any = None
    snapshot: Any = True
    envelope: Any = envelopes.DIFFS
    unique_key: Any = None
    max_changes: Any = MAX_CHANGES


def changes(warehouse: Warehouse, target: ModelRelations, request: Request) -> str:
    """A parenthesised query: the consolidated updates of the model's output from `as_of` to before `up_to`."""
    state = committed(warehouse, target)
    what = f"temporal_changes of {state.model}"
    key = checked(state, request, "temporal_changes")
    as_of = state.since if request.as_of is None else parse_instant(request.as_of, "as_of")
    up_to = _up_to(state, request.up_to)
    if request.up_to is None and up_to < as_of:
        raise Refusal(
            "ST608",
            f"{what} from {format_instant(as_of)} on, without up_to",
            f"that is after the last change captured, {format_instant(state.frontier)}, up to which there are "
            "changes without it",
            f"up_to='{EXPIRATION}', or an instant",
        )
    if up_to < as_of:
        raise Refusal(
            "ST609",
            f"{what} from {format_instant(as_of)} up to {format_instant(up_to)}",
            "up_to is before as_of",
            "an up_to after the as_of; equal instants give no rows",
        )
    first = answered(state, as_of)
    if state.expiration is not None and up_to - 1 > state.expiration:
        raise Explained(
            "ST610",
            f"{what} up to {format_instant(up_to)}",
            f"updates after {format_instant(state.expiration)} (expiration) are not stored",
            f"up_to='{EXPIRATION}', or dbt run -s {state.model}, which renews the expiration",
        )
    session.refuse_other(warehouse, state, what, always=True)
    by_key = request.envelope != envelopes.DIFFS
    if up_to > as_of:
        over = Output(state, Range(first, up_to - 1, state.refreshes))
        sql = updates(warehouse, over, what, as_of, by_key or bool(request.snapshot), request.max_changes)
    else:
        sql = no_rows((*output.COLUMNS, *state.columns))
    if by_key:
        later_than = None if request.snapshot else as_of
        sql = envelopes.by_key(sql, state.model, state.columns, key, request.envelope, later_than)
    return enclosed(sql)


def updates(warehouse: Warehouse, over: Output, what: str, as_of: int, snapshot: bool, most: int) -> str:
    """A query of the updates of an output. Raises Refusal for too many instants.

    what: the macro and the model, in words. as_of, snapshot: see `output.updates`. most: the most instants at which to
    evaluate an output that is not read row by row.
    """
    if not over.is_row_by_row:
        _refuse_many(warehouse, over, what, most)
        over = readable(warehouse, over, over.edge_points(), what)
    return output.updates(over, as_of, over.state.frontier, snapshot)


def checked(state: State, request: Request, macro: str) -> list[str]:
    """Check the arguments of the macro named `macro` -> the columns of the key, [] for `diffs`. Raises Refusal."""
    what = f"{macro} of {state.model}"
    if request.envelope not in envelopes.ENVELOPES:
        known = ", ".join(repr(e) for e in envelopes.ENVELOPES)
        raise Refusal(
            "ST611", f"{what} with envelope {request.envelope!r}", "there is no such envelope", f"one of {known}"
        )
    if not isinstance(request.snapshot, bool):
        raise Refusal(
            "ST109", f"{what} with snapshot {request.snapshot!r}", "this is neither true nor false", "snapshot=false"
        )
    most = request.max_changes
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise Refusal(
            "ST612", f"{what} with max_changes {most!r}", "it is a number of instants", f"max_changes={MAX_CHANGES}"
        )
    ours = next((n for n, _ in state.columns if folded(n) in _OURS), None)
    if ours is not None:
        raise Refusal(
            "ST613", f"{what}, which has a column {ours}", "the updates have a column of that name", "an alias"
        )
    if request.envelope == envelopes.DIFFS:
        return []
    return envelopes.keys_of(request.unique_key, state.columns, request.envelope, state.model)


def _up_to(state: State, given: Any) -> int:
    if given is None:
        return state.frontier + 1
    if isinstance(given, str) and given.strip().lower() == EXPIRATION:
        return NEVER if state.expiration is None else state.expiration + 1
    return parse_instant(given, "up_to")


def readable(
    warehouse: Warehouse, over: Output, points: str, what: str, instants: Iterable[int] | None = None
) -> Output:
    """An output -> the output, readable at the instants of points (a query with a column `mz_seq_t`).

    Where no single query reads the output at many instants, `alone` has the instants, and each is read by itself.
    what: the macro and the model, in words. instants: the instants of the points (ms), if known. Raises Refusal for
    too many instants.
    """
    if over.is_sequenced:
        return over
    found = set(_alone(warehouse, points) if instants is None else instants)
    if len(found) > MOST_ALONE:
        raise Refusal(
            "ST614",
            f"{what} at more than {quantity(MOST_ALONE, 'instant')}",
            f"the query of {over.state.model} has a part that is not evaluated at many instants at once (PIVOT, "
            "QUALIFY, WITH ROLLUP, a subquery among aggregates), so it is read once for each",
            FEWER_READS[what.partition(" ")[0]],
        )
    return replace(over, alone=tuple(sorted(found)))


def _alone(warehouse: Warehouse, points: str) -> Iterator[int]:
    """The distinct instants of some points, at most MOST_ALONE + 1 of them."""
    limited = f"SELECT DISTINCT mz_seq_t FROM {nested(points, 'mz_alone')} LIMIT {MOST_ALONE + 1}"
    return (int(t) for (t,) in warehouse.rows(limited))


def cut_off(warehouse: Warehouse, over: Output, most: int) -> int | None:
    """The instant (ms) up to which an output may change at `most` instants; None if its range has no more of them."""
    first, last = over.within.first, over.within.last
    if over.reads_clock:
        every = over.within.refreshes.every if over.within.refreshes else 1
        return first + most * every - 1 if (last - first) // every + 1 > most else None
    nearest = f"SELECT DISTINCT mz_seq_t\nFROM {nested(over.points(), 'mz_every')}\n"
    nearest += f"ORDER BY mz_seq_t\nLIMIT {most + 1}"
    ((number, reached),) = warehouse.rows(
        f"SELECT count(*), max(mz_seq_t) FILTER (WHERE mz_seq_r <= {most})\n"
        f"FROM (\n  SELECT mz_seq_t, row_number() OVER (ORDER BY mz_seq_t) AS mz_seq_r\n"
        f"  FROM (\n{indent(nearest, 4)}\n  ) AS mz_nearest\n) AS mz_numbered"
    )
    return int(reached) if number > most else None


def _refuse_many(warehouse: Warehouse, over: Output, what: str, most: int) -> None:
    """Raise Refusal for an output that would be evaluated at more than `most` instants."""
    reached = cut_off(warehouse, over, most)
    if reached is None:
        return
    number = "any millisecond" if over.reads_clock else f"more than {quantity(most, 'instant')}"
    why = "a read evaluates the clock" if over.reads_clock else "the query above the stored rows is no sum"
    raise Refusal(
        "ST615",
        f"{what}, which may change at {number}",
        f"{why}, so the rows are evaluated at each of them, and max_changes is {most:,}",
        FEWER_INSTANTS[what.partition(" ")[0]].format(reached=format_instant(reached + 1)),
    )
