"""Aggregates over the output of a committed model at many instants: what is asked for, and the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.changes.axis import Axis
from ..temporal.changes.output import Output
from ..temporal.changes.totals import OUTPUT, Totals
from ..temporal.diffs.intervals_sql import indent, no_rows
from ..temporal.rewrite.linear_aggregates import NoSum
from ..temporal.sql.calls import is_aggregate_call
from ..temporal.sql.dialect import has_doubled_quotes, parse, quote, string_literal
from ..temporal.sql.identifiers import Identifiers
from ..temporal.sql.linear import is_aggregation
from ..temporal.sql.names import is_reserved
from .changes import MAX_CHANGES, readable

#: what a query says whose relation of instants has changed since
OTHERS = "the instants are others than when the query was made"


def refuse_names(what: str, taken: Sequence[str], aggregates: Any) -> None:
    """Refuse aggregates that are none, and names that are there already."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise Refusal(
            f"{what} with aggregates={aggregates!r}",
            "it names the aggregates over the columns of the model",
            "aggregates={'n': 'count(*)', 'total': 'sum(amount)'}",
        )
    seen: list[str] = []
    for name in (*taken, *aggregates):
        if not isinstance(name, str) or not name or is_reserved(name) or name in Identifiers(seen):
            raise Refusal(f"{what} with a column {name}", "the answer has one of that name already", "another name")
        seen.append(name)
    for text in aggregates.values():
        refuse_no_aggregate(what, text)


def refuse_no_aggregate(what: str, text: Any) -> None:
    """Refuse what is not one aggregate, or an expression of aggregates."""
    if isinstance(text, str) and has_doubled_quotes(text):
        raise Refusal(
            f"{what} with the aggregate {text!r}",
            "Spark 4 reads a quote that stands twice as one quote, and earlier versions as the end of one text and the "
            "beginning of the next",
            "a backslash before the quote, or a text between quotes of the other kind",
        )
    found: exp.Expr | None = None
    if isinstance(text, str) and text.strip():
        try:
            found = parse(f"SELECT {text}")
        except (Refusal, SqlglotError):
            found = None
    is_one = found is not None and len(found.expressions) == 1 and not found.args.get("from_")
    if isinstance(found, exp.Select) and is_one and is_aggregation(found):
        value = found.expressions[0]
        calls = [call for call in value.walk() if is_aggregate_call(call)]
        whole = [call.parent if isinstance(call.parent, exp.Filter) else call for call in calls]
        inside = {id(node) for call in whole for node in call.walk()}
        bare = [node for node in value.find_all(exp.Column) if id(node) not in inside]
        if not bare and value.find(exp.Window, exp.Query, exp.Alias) is None:
            return
    raise Refusal(
        f"{what} with the aggregate {text!r}",
        "it is not one aggregate over the columns of the model",
        "aggregate='count(*)', or 'sum(amount)'",
    )


def aggregated(
    warehouse: Warehouse,
    over: Output,
    points: str,
    name: str,
    aggregates: Mapping[str, str],
    keys: Sequence[str],
    what: str,
) -> str:
    """A query: the instants, the keys, and the aggregates over the output at each instant."""
    state = over.state
    found = by_totals(warehouse, over, points, name, aggregates, keys, what)
    if found is not None:
        return found
    over = over if over.is_row_by_row else readable(warehouse, over, points, what)
    rows = f"(\n{indent(over.at(points, 'mz_seq_t'), 2)}\n)"
    columns = [quote(name), "mz_seq_t", *(quote(n) for n, _ in state.columns)]
    found = by_keys(rows, [quote(name)], aggregates, keys, columns)
    if keys:
        return found
    nothing = f"SELECT {_listed(aggregates, [])} FROM (\n{indent(no_rows(state.columns), 2)}\n) AS {OUTPUT}"
    return (
        f"WITH mz_found AS (\n{indent(found, 2)}\n)\nSELECT * FROM mz_found\nUNION ALL\n"
        f"SELECT mz_given.{quote(name)}, mz_nothing.*\nFROM (\n{indent(points, 2)}\n) AS mz_given\n"
        f"LEFT ANTI JOIN mz_found ON mz_found.{quote(name)} = mz_given.{quote(name)}\n"
        f"CROSS JOIN (\n{indent(nothing, 2)}\n) AS mz_nothing"
    )


def by_totals(
    warehouse: Warehouse,
    over: Output,
    points: str,
    name: str,
    aggregates: Mapping[str, str],
    keys: Sequence[str],
    what: str,
) -> str | None:
    """The same by running totals; None where that is not possible."""
    axis = _axis(warehouse, over, points) if over.is_row_by_row else None
    if axis is None:
        return None
    state = over.state
    ansi = state.settings["spark.sql.ansi.enabled"].lower() == "true"
    try:
        totals = Totals.of(state.columns, aggregates, keys, warehouse.describe, ansi)
    except NoSum:
        return None
    return totals.at(over.looked_at(axis), axis, dict(state.columns), _on(axis, points, name, what), quote(name))


def _axis(warehouse: Warehouse, over: Output, points: str) -> Axis | None:
    """The instants; None where they are too many, or too odd, for running totals."""
    most = MAX_CHANGES + 1
    found = warehouse.rows(f"SELECT DISTINCT mz_seq_t FROM (\n{indent(points, 2)}\n) AS mz_points LIMIT {most}")
    return Axis.of(int(t) for (t,) in found) if 0 < len(found) < most else None


def _on(axis: Axis, points: str, name: str, what: str) -> str:
    """The points; an error where one is not of the axis, which the query was made for."""
    message = string_literal(f"{what}: {OTHERS}")
    is_known = f"{axis.instant(axis.place('mz_seq_t'))} <=> mz_seq_t"
    checked = f"IF({is_known}, mz_seq_t, CAST(raise_error({message}) AS BIGINT)) AS mz_seq_t"
    return f"SELECT {quote(name)}, {checked}\nFROM (\n{indent(points, 2)}\n) AS mz_points"


def by_keys(
    rows: str,
    given: Sequence[str],
    aggregates: Mapping[str, str],
    keys: Sequence[str],
    columns: Sequence[str] = (),
) -> str:
    by = ", ".join([*given, *map(quote, keys)])
    shown = f"({', '.join(columns)})" if columns else ""
    listed = ", ".join(filter(None, (*given, _listed(aggregates, keys))))
    return f"SELECT {listed}\nFROM {rows} AS {OUTPUT}{shown}" + (f"\nGROUP BY {by}" if by else "")


def _listed(aggregates: Mapping[str, str], keys: Sequence[str]) -> str:
    return ", ".join([*map(quote, keys), *(f"{sql} AS {quote(name)}" for name, sql in aggregates.items())])
