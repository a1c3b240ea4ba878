"""Aggregates over the output of a committed model at many instants: what is asked for, and the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..engine.warehouse import Warehouse
from ..errors import Refusal, raised
from ..temporal.diffs.intervals_sql import indent, nested, no_rows
from ..temporal.diffs.state import State
from ..temporal.rewrite.linear_aggregates import NoSum
from ..temporal.sql.functions.calls import is_aggregate_call, nondeterministic
from ..temporal.sql.names.linear import is_aggregation
from ..temporal.sql.spark.settings import is_ansi
from ..temporal.sql.text.dialect import has_clock, parse, quote, render, string_literal
from ..temporal.sql.text.helper_columns import is_reserved
from ..temporal.sql.text.identifiers import Identifiers
from ..temporal.sql.text.literals import has_doubled_quotes
from .changes import MAX_CHANGES, readable
from .sequenced.axis import Axis
from .sequenced.output import Output
from .sequenced.totals import OUTPUT, Totals


def other_instants(what: str) -> str:
    """The error of a query whose relation of instants has changed since the query was made, as a literal of SQL."""
    return string_literal(raised("ST005", f"{what}: the instants are others than when the query was made"))


def refuse_names(what: str, taken: Sequence[str], aggregates: Any) -> None:
    """Raise Refusal unless `aggregates` maps names, one at least, to aggregates, and no name is reserved or taken."""
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise Refusal(
            "ST601",
            f"{what} with aggregates={aggregates!r}",
            "it names the aggregates over the columns of the model",
            "aggregates={'n': 'count(*)', 'total': 'sum(amount)'}",
        )
    seen: list[str] = []
    for name in (*taken, *aggregates):
        if not isinstance(name, str) or not name or is_reserved(name) or name in Identifiers(seen):
            raise Refusal(
                "ST602", f"{what} with a column {name}", "the answer has one of that name already", "another name"
            )
        seen.append(name)
    for text in aggregates.values():
        refuse_no_aggregate(what, text)


def refuse_no_aggregate(what: str, text: Any) -> None:
    """Raise Refusal unless a text is one deterministic expression of aggregates, without clock or doubled quotes."""
    found = _parsed(text)
    if found is not None and has_doubled_quotes(text):
        raise Refusal(
            "ST603",
            f"{what} with the aggregate {text!r}",
            "Spark 4 reads a quote that stands twice as one quote, and earlier versions as the end of one text and the "
            "beginning of the next",
            "a backslash before the quote, or a text between quotes of the other kind",
        )
    if found is not None and (nondeterministic(found) is not None or has_clock(found)):
        raise Refusal(
            "ST604",
            f"{what} with the aggregate {text!r}",
            "it has another value at each read, or reads the clock, which each instant is here",
            "an aggregate over the columns of the model",
        )
    if found is None or not _is_one_aggregate(found):
        raise Refusal(
            "ST605",
            f"{what} with the aggregate {text!r}",
            "it is not one aggregate over the columns of the model",
            "aggregate='count(*)', or 'sum(amount)'",
        )


def _parsed(text: Any) -> exp.Query | None:
    """`SELECT <text>` as a tree; None where this is no query."""
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return parse(f"SELECT {text}")
    except (Refusal, SqlglotError):
        return None


def _is_one_aggregate(query: exp.Query) -> bool:
    """Whether a query is one expression of aggregates: no bare column, FROM, alias, window or subquery."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or query.args.get("from_"):
        return False
    if not is_aggregation(query):
        return False
    value = query.expressions[0]
    calls = [call for call in value.walk() if is_aggregate_call(call)]
    whole = [call.parent if isinstance(call.parent, exp.Filter) else call for call in calls]
    inside = {id(node) for call in whole for node in call.walk()}
    bare = [node for node in value.find_all(exp.Column) if id(node) not in inside]
    return not bare and value.find(exp.Window, exp.Query, exp.Alias) is None


@dataclass(frozen=True)
class Wanted:
    """The request for aggregates at many instants."""

    #: the macro and the model, for messages
    what: str
    #: the name of the column of the instants
    name: str
    #: name -> SQL over the columns of the model
    aggregates: Mapping[str, str]
    #: columns of the model
    keys: Sequence[str] = ()

    def items(self) -> str:
        """The keys and the aggregates, as SQL."""
        values = (f"{sql} AS {quote(name)}" for name, sql in self.aggregates.items())
        return ", ".join([*map(quote, self.keys), *values])


def aggregated(warehouse: Warehouse, over: Output, points: str, wanted: Wanted) -> str:
    """A query: the instants, the keys, and the aggregates over the output at each instant.

    points: a query of the instants, as `wanted.name` and as `mz_seq_t` (ms).
    """
    state, name = over.state, quote(wanted.name)
    found = by_totals(warehouse, over, points, wanted)
    if found is not None:
        return found
    over = over if over.is_row_by_row else readable(warehouse, over, points, wanted.what)
    columns = ", ".join(["mz_seq_given", "mz_seq_t", *(quote(n) for n, _ in state.columns)])
    by = ", ".join(["mz_seq_given", *map(quote, wanted.keys)])
    found = (
        f"SELECT mz_seq_given AS {name}, {wanted.items()}\n"
        f"FROM (\n{indent(over.at(points, 'mz_seq_t'), 2)}\n) AS {OUTPUT}({columns})\nGROUP BY {by}"
    )
    if wanted.keys:
        return found
    return (
        f"WITH mz_found AS (\n{indent(found, 2)}\n)\nSELECT * FROM mz_found\nUNION ALL\n"
        f"SELECT mz_given.{name}, mz_nothing.*\nFROM {nested(points, 'mz_given')}\n"
        f"LEFT ANTI JOIN mz_found ON mz_found.{name} = mz_given.{name}\n"
        f"CROSS JOIN {nested(of_no_rows(state, wanted), 'mz_nothing')}"
    )


def of_no_rows(state: State, wanted: Wanted) -> str:
    """A query: the keys and the aggregates over no rows."""
    by = f"\nGROUP BY {', '.join(map(quote, wanted.keys))}" if wanted.keys else ""
    return f"SELECT {wanted.items()}\nFROM (\n{indent(no_rows(state.columns), 2)}\n) AS {OUTPUT}{by}"


def by_totals(
    warehouse: Warehouse, over: Output, points: str, wanted: Wanted, instants: Iterable[int] | None = None
) -> str | None:
    """The query of the aggregates by running totals; None where running totals are not possible.

    instants: the instants of the points (ms), where known.
    """
    if not over.is_row_by_row:
        return None
    axis = _axis(warehouse, points) if instants is None else Axis.of(instants)
    if axis is None:
        return None
    state, name = over.state, quote(wanted.name)
    ansi = is_ansi(state.settings)

    def describe(query: exp.Query) -> list[tuple[str, str]]:
        """The columns of a query over the output. Spark is not asked about `*` or a boolean, whose types are known."""
        match query.expressions:
            case [exp.Star()]:
                return list(state.columns)
            case [exp.Alias(this=exp.Boolean()) as constant]:
                return [(constant.alias, "boolean")]
        return warehouse.describe(render(query))

    try:
        totals = Totals.of(state.columns, wanted.aggregates, wanted.keys, describe, ansi)
    except NoSum:
        return None
    given = _on(axis, points, name, wanted.what)
    return totals.at(over.looked_at(axis), axis, dict(state.columns), given, name)


def _axis(warehouse: Warehouse, points: str) -> Axis | None:
    """The axis of the instants of `points`; None for no instants, too many, or too irregular ones."""
    most = MAX_CHANGES + 1
    found = warehouse.rows(f"SELECT DISTINCT mz_seq_t FROM {nested(points, 'mz_points')} LIMIT {most}")
    return Axis.of(int(t) for (t,) in found) if 0 < len(found) < most else None


def _on(axis: Axis, points: str, name: str, what: str) -> str:
    """A query of the points, which raises for an instant that is not on the axis the query was made for."""
    message = other_instants(what)
    is_known = f"{axis.instant(axis.place('mz_seq_t'))} <=> mz_seq_t"
    checked = f"IF({is_known}, mz_seq_t, CAST(raise_error({message}) AS BIGINT)) AS mz_seq_t"
    return f"SELECT {name}, {checked}\nFROM {nested(points, 'mz_points')}"
