"""The SQL table function `<model>__at(instant)`: a model at any instant, for tools that know no dbt.

Spark replaces a parameter by its argument in all CTEs, but in nested queries only down to the second level. So each
core is a CTE, read at the instant, and the residual stands over these CTEs:

    WITH mz_core_c0 AS (SELECT … WHERE mz_from <= t AND mz_until > t) SELECT * FROM (the residual) AS mz_out(…)

An argument that is a literal reaches the files of the chains as a filter, as in a view. An instant at which
the model cannot be read raises an error. The function follows the commit: its comment names the run.
"""

from __future__ import annotations

from sqlglot import exp

from ...errors import raised
from ..clock.instants import format_instant
from ..predicates import clock_text
from ..predicates.bounds import BIGINT, TIMESTAMP
from ..predicates.clock_text import clock_literal, with_clock
from ..sql.names.linear import is_inside_a_value
from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import expression, quote, string_literal
from .intervals_sql import indent, pretty
from .state import State
from .stores import store_of
from .view_sql import raising, residual_of

SUFFIX = "__at"
#: the common table expression of the instant, for the clock in the residual
_CLOCK = "mz_clock"


def mark(model: str, run: str) -> str:
    """The comment of a function: it names the model and the run that committed."""
    return f"mz_model {model}, as run {run} committed it"


def create(state: State, name: str) -> str:
    """The CREATE FUNCTION statement of a model. name: the function's name as in SQL, without its schema."""
    given = f"unix_millis({name}.instant)"
    t = state.shown_sql(given)
    columns = ", ".join(f"{quote(n)} {sql_type(kind)}" for n, kind in state.columns)
    until = f" AND {given} <= {state.answers_until}L" if state.answers_until is not None else ""
    outside = f"NOT coalesce({given} >= {state.since}L{until}, false)"
    arm = raising(state.columns, outside, _out_of_range(state))
    clock = f"{_CLOCK} AS (SELECT {t} AS mz_t)"
    residual = residual_of(state)
    nested = any(map(is_inside_a_value, residual.find_all(exp.Select)))
    cores = []
    for core in state.cores:
        rows = store_of(core).read(core.chains, state.schema, t, state.since, joins=not nested)
        cores.append(f"{core.placeholder} AS (\n{indent(rows, 2)}\n)")
    now = {kind: f"(SELECT {clock_literal(kind, 'mz_t')} FROM {_CLOCK})" for kind in (TIMESTAMP, BIGINT)}
    text = pretty(with_clock(residual, lambda kind: expression(now[kind])))
    reads_clock = clock_text.reads_clock(residual)
    named = ",\n".join([*([clock] if reads_clock else []), *cores])
    names = ", ".join(quote(n) for n, _ in state.columns)
    return (
        f"CREATE OR REPLACE FUNCTION {state.schema}.{name}(instant TIMESTAMP)\n"
        f"RETURNS TABLE ({columns})\nCOMMENT {string_literal(mark(state.model, state.run))}\nRETURN\n"
        f"WITH {named}\n{arm}\nUNION ALL\nSELECT *\nFROM (\n{indent(text, 2)}\n) AS mz_out({names})"
    )


def _out_of_range(state: State) -> str:
    until = "any later instant"
    if state.answers_until is not None:
        until = f"{format_instant(state.answers_until)} (expiration)"
    return raised(
        "ST004", f"{state.model}{SUFFIX}: the model can be read from {format_instant(state.since)} (since) to {until}"
    )
