"""A query for another engine of a model at an instant, or at the instant of the query."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import Refusal
from ...temporal.diffs.intervals_sql import indent
from ...temporal.diffs.state import CoreState, State
from ...temporal.diffs.view_sql import expired_message
from . import chains_sql
from .dialects import Dialect, quote
from .expressions import Session
from .kinds import NULL, Kind
from .residual import translated


def live_instant(state: State, dialect: Dialect) -> str:
    """SQL of the instant (ms) whose rows a query shows now, as `view_sql.live_instant` has it for Spark."""
    t = dialect.now
    if state.refreshes is not None:
        every, anchor = state.refreshes.every, state.refreshes.anchor
        t = f"({t} - ((({t} - {anchor}) % {every} + {every}) % {every}))"
    return f"greatest({t}, {state.frontier})"


def read(state: State, sources: Mapping[str, str], t: int | None, ansi: bool, zone: str, dialect: Dialect) -> str:
    """A query of a model at t (ms), or, for None, at the instant of the query. sources: chain -> its item in a FROM.

    ansi, zone: of Spark's session. Raises Refusal for a model whose residual or types are not known to be the same in
    the engine, and for names of columns that differ in case alone.
    """
    _refuse_names(state, dialect)
    at = live_instant(state, dialect) if t is None else str(t)
    earliest = state.frontier if t is None else min(t, state.frontier)
    named = {core.placeholder: chains_sql.rows(core, sources, at, earliest, dialect) for core in state.cores}
    body, kinds_found = _residual(state, Session(at, ansi, zone, dialect))
    _refuse_kinds(state, kinds_found, dialect)
    ctes = ",\n".join(
        f"{quote(core.placeholder)}({_columns(core)}) AS (\n{indent(named[core.placeholder], 2)}\n)"
        for core in state.cores
    )
    places = [f"mz_{i}" for i in range(len(state.columns))]
    items = ", ".join(
        f"CAST({place} AS {dialect.column_type(n, k)}) AS {quote(n)}" for place, (n, k) in zip(places, state.columns)
    )
    answer = f"SELECT {items}\nFROM (\n{indent(body, 2)}\n) AS mz_answer({', '.join(places)})"
    if t is None and state.expiration is not None:
        answer = f"{_expired(state, at, dialect)}\nUNION ALL\n{answer}"
    return f"WITH {ctes}\n{answer}"


def _columns(core: CoreState) -> str:
    """The names of a core's columns in lower case, as a translated residual has them: engines fold other letters."""
    return ", ".join(quote(n.lower()) for n, _ in core.read_columns) or "mz_nothing"


def _residual(state: State, session: Session) -> tuple[str, list[Kind]]:
    if state.is_plain:
        core = state.cores[0]
        names = ", ".join(quote(n.lower()) for n, _ in core.columns)
        return f"SELECT {names}\nFROM {quote(core.placeholder)}", [Kind.of(k) for _, k in core.columns]
    cores = {core.placeholder: core.read_columns for core in state.cores}
    body, columns = translated(state.residual, cores, session)
    return body, [kind for _, kind in columns]


def _expired(state: State, t: str, dialect: Dialect) -> str:
    """A UNION ALL branch for the answer that raises after the expiration, whichever columns are read."""
    is_over = f"{t} > {state.expiration}"

    def error(of_type: str) -> str:
        return f"CASE WHEN {is_over} THEN {dialect.raised(expired_message(state), of_type)} END"

    items = ", ".join(f"{error(dialect.column_type(n, k))} AS {quote(n)}" for n, k in state.columns)
    return f"SELECT {items}\nWHERE {is_over} AND ({error('BOOLEAN')}) IS NULL"


def _refuse_names(state: State, dialect: Dialect) -> None:
    for columns in (state.columns, *(core.columns for core in state.cores)):
        names = [name.lower() for name, _ in columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Refusal(
                "ST802",
                f"two columns {twice} in {state.model}, which differ in upper and lower case at most",
                f"{dialect.name} takes both for one column",
                "names that differ in more than case",
            )


def _refuse_kinds(state: State, found: list[Kind], dialect: Dialect) -> None:
    """Raise Refusal where a translated column has another type than Spark's: the translation is wrong then."""
    for (name, spark_type), kind in zip(state.columns, found, strict=True):
        if kind.name != NULL and kind != Kind.of(spark_type):
            raise Refusal(
                "ST803",
                f"column {name} of type {spark_type} in {state.model}",
                f"its expression would be of type {dialect.type(kind) if kind.digits else kind.name} in {dialect.name}",
                "a CAST of the expression to the type, or a read by Spark",
            )
