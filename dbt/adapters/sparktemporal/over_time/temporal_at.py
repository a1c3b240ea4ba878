"""`temporal_at`: a committed model, or aggregates over it, at each instant of a relation."""

from __future__ import annotations

from typing import Any

from ..engine import session
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.diffs.intervals_sql import enclosed, indent, nested, no_rows
from ..temporal.diffs.state import State
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.helper_columns import is_reserved
from ..temporal.sql.text.identifiers import Identifiers, folded
from .aggregates import Wanted, aggregated, of_no_rows, other_instants, refuse_names
from .changes import readable
from .reads import answered, committed
from .sequenced.histories import Range
from .sequenced.output import Output


def at(
    warehouse: Warehouse,
    target: ModelRelations,
    relation: str,
    column: Any,
    aggregates: Any = None,
    group_by: Any = None,
) -> str:
    """A parenthesised query: each distinct instant of a relation's column, and the rows of the model at the instant.

    relation: as it stands in a FROM. column: names a TIMESTAMP, DATE or TIMESTAMP_NTZ, or a number of ms. aggregates:
    name -> an aggregate over the columns of the model; the query gives the aggregates in place of the rows. group_by:
    the columns of the model to group by.
    """
    state = committed(warehouse, target)
    what = f"temporal_at of {state.model}"
    name, clock = _instants_of(warehouse, what, relation, column)
    if is_reserved(name):
        raise Refusal(
            "ST635", f"{what} with the instants {name}", "the query keeps its own column of that name", "another name"
        )
    keys = _keys(what, state, group_by, aggregates)
    wanted = None
    if aggregates is not None:
        refuse_names(what, [name, *keys], aggregates)
        wanted = Wanted(what, name, aggregates, keys)
    if aggregates is None and name in Identifiers(n for n, _ in state.columns):
        raise Refusal(
            "ST636",
            f"{what} with the instants {name}",
            "the model has a column of that name, and the answer has both",
            f"another name for the instants, as in (select {name} as at_{name} from …)",
        )
    session.refuse_other(warehouse, state, what, always=True)
    ((first, last),) = warehouse.rows(f"SELECT min({clock}), max({clock}) FROM {relation}")
    if first is None:
        return enclosed(_nothing(warehouse, state, relation, name, wanted))
    within = Range(answered(state, int(first)), answered(state, int(last)), state.refreshes)
    shown, message = state.shown_sql("mz_seq_given"), other_instants(what)
    checked = f"IF(mz_seq_given BETWEEN {first}L AND {last}L, {shown}, CAST(raise_error({message}) AS BIGINT))"
    given = f"SELECT DISTINCT {quote(name)}, {clock} AS mz_seq_given FROM {relation} WHERE {quote(name)} IS NOT NULL"
    points = f"SELECT {quote(name)}, {checked} AS mz_seq_t\nFROM {nested(given, 'mz_instants')}"
    names = ", ".join(quote(n) for n in (name, *(n for n, _ in state.columns)))
    over = Output(state, within)
    if wanted is not None:
        return enclosed(aggregated(warehouse, over, points, wanted))
    over = over if over.is_row_by_row else readable(warehouse, over, points, what)
    rows = over.at(points, "mz_seq_t")
    return f"(\n  SELECT {names}\n  FROM (\n{indent(rows, 4)}\n  ) AS mz_at\n)"


def _instants_of(warehouse: Warehouse, what: str, relation: str, column: Any) -> tuple[str, str]:
    """The name of a column of instants, and SQL of its milliseconds."""
    if not isinstance(column, str) or not column:
        raise Refusal("ST637", f"{what} with the column {column!r}", "it names the column of the instants", "'hour'")
    described = warehouse.describe(f"SELECT * FROM {relation}")
    same = [(n, kind) for n, kind in described if folded(n) == folded(column)]
    found = same[0] if len(same) == 1 else None
    if found is None and same:
        raise Refusal(
            "ST638", f"{what} with the column {column}", f"{relation} has two columns of that name", "an alias for one"
        )
    if found is None:
        listed = ", ".join(n for n, _ in described)
        raise Refusal(
            "ST632", f"{what} with the column {column}", f"{relation} has no such column", f"one of: {listed}"
        )
    name, kind = found
    if kind.lower() in ("timestamp", "date", "timestamp_ntz"):
        return name, f"unix_millis(CAST({quote(name)} AS TIMESTAMP_LTZ))"
    if kind.lower() in ("tinyint", "smallint", "int", "bigint") or kind.lower().startswith("decimal"):
        return name, f"CAST(floor({quote(name)}) AS BIGINT)"
    raise Refusal(
        "ST639",
        f"{what} with the column {name}, a {kind}",
        "it is no instant",
        "a TIMESTAMP, a DATE, or a number of milliseconds",
    )


def _nothing(warehouse: Warehouse, state: State, relation: str, name: str, wanted: Wanted | None) -> str:
    kind = next(k for n, k in warehouse.describe(f"SELECT * FROM {relation}") if folded(n) == folded(name))
    columns = state.columns if wanted is None else warehouse.describe(of_no_rows(state, wanted))
    return no_rows(((name, kind), *columns))


def _keys(what: str, state: State, group_by: Any, aggregates: Any) -> list[str]:
    """The columns in `group_by`, as the model spells them. Raises Refusal."""
    if group_by is None:
        return []
    named = [group_by] if isinstance(group_by, str) else group_by
    known = {folded(n): n for n, _ in state.columns}
    if aggregates is None or not isinstance(named, (list, tuple)):
        raise Refusal(
            "ST640", f"{what} with group_by={group_by!r}", "it lists the columns beside aggregates", "a list of names"
        )
    for name in named:
        if not isinstance(name, str) or folded(name) not in known:
            raise Refusal(
                "ST641",
                f"{what} with group_by={group_by!r}",
                f"the model has no column {name}",
                f"one of: {', '.join(known.values())}",
            )
    keys = [known[folded(name)] for name in named]
    if len(set(keys)) < len(keys):
        raise Refusal("ST642", f"{what} with group_by={group_by!r}", "it names a column twice", "each column once")
    return keys
