"""SQL that reads a model at an instant: the chains up to the instant, and the residual over them.

A read is at `t = greatest(clock, frontier)`, because a reader's clock may lag the writer's. With refreshes, the last
refresh takes the place of the clock. Spark folds the expression `t` to a literal, so the filter on `mz_from` and
`mz_until` reaches partitions and row groups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ...errors import raised
from ..clock.instants import format_instant
from ..predicates.clock_text import at_instant
from ..rewrite.core import PLACEHOLDER, is_placeholder
from ..rewrite.linear_aggregates import COUNT
from ..rewrite.merged_groups import merge_groups
from ..rewrite.one_row_groups import of_one_row
from ..rewrite.one_task import few_by_one_task
from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import parse, quote, render, string_literal
from . import groups_sql
from .input_state import Tracking
from .intervals_sql import Columns, indent, pretty
from .state import State
from .stores import store_of


def live_instant(state: State) -> str:
    clock = "unix_millis(current_timestamp())"
    # refreshes beside the schedule are not after the frontier
    shown = replace(state.refreshes, also=()).last_sql(clock) if state.refreshes else clock
    return f"greatest({shown}, {state.frontier}L)"


def read_at(state: State, t: int) -> str:
    """A query of the model's output at an instant (ms) from `since` on: the read of the live view at a fixed clock."""
    return _read(state, f"{t}L", min(t, state.frontier))


def _read(state: State, t: str, earliest: int, splits: bool = True) -> str:
    """The residual over the cores at t, with the column names of the model. earliest, splits: see `intervals_read`."""
    state = _with_merged_groups(state)
    residual = at_instant(few_by_one_task(residual_of(state), _rows(state), groups_sql.FEW_UPDATES), t)
    cores = {
        core.placeholder: store_of(core).read(core.chains, state.schema, t, earliest, splits) for core in state.cores
    }
    body = inline_upstreams(residual, cores)
    names = ", ".join(quote(n) for n, _ in state.columns)
    return f"SELECT *\nFROM (\n{indent(body, 2)}\n) AS mz_out({names})"


def _with_merged_groups(state: State) -> State:
    """The state as a read sees it: with one core in the place of several, see `merged_groups`."""
    forms = {core.placeholder: (core.columns, core.sums) for core in state.cores if core.sums is not None}
    residual, merged = merge_groups(parse(state.residual), forms) if len(forms) > 1 else (None, {})
    if residual is None or not merged:
        return state
    by_name = {core.placeholder: core for core in state.cores}
    cores = []
    for name, parts in merged.items():
        chains = tuple(chain for part in parts for chain in by_name.pop(part).chains)
        first = next(core for core in state.cores if core.placeholder == parts[0])
        cores.append(replace(first, name=name.removeprefix(PLACEHOLDER), chains=chains))
    return replace(state, residual=render(residual), cores=(*by_name.values(), *cores))


def residual_of(state: State) -> exp.Expr:
    """The residual: the query of a read over the rows and the groups of the cores, with marks for the clock."""
    return of_one_row(parse(state.residual), grouped_cores(state))


def _rows(state: State) -> dict[str, int]:
    """The placeholder of each core that is kept as rows -> the number of its stored rows."""
    return {core.placeholder: sum(chain.rows for chain in core.chains) for core in state.cores if core.sums is None}


def grouped_cores(state: State) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The placeholder of each core that is kept per group -> (its keys, column of the count or of a sum -> type)."""
    return {
        core.placeholder: ([name for name, _ in core.columns], {COUNT: "BIGINT", **dict(core.sums)})
        for core in state.cores
        if core.sums is not None
    }


def inline_upstreams(residual: exp.Expr, cores: Mapping[str, str]) -> str:
    """SQL of a residual, with a query in place of each placeholder. cores: placeholder -> query."""
    reads: dict[str, str] = {}
    residual = residual.copy()
    stem, texts = "mz_read", [render(residual), *cores.values()]
    while any(stem in text for text in texts):  # in a literal, or as a name
        stem += "_"
    for table in list(residual.find_all(exp.Table)):
        if is_placeholder(table):
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
            mark = f"{stem}_{len(reads)}"
            reads[mark] = cores[table.name]
            table.replace(exp.Table(this=exp.to_identifier(mark), alias=alias.copy()))
    lines = []
    for line in pretty(residual).split("\n"):
        for mark, read in reads.items():
            head, found, tail = line.partition(f"{mark} ")
            if found:
                margin = len(line) - len(line.lstrip())
                line = f"{head}(\n{indent(read, margin + 2)}\n{' ' * margin}) {tail}"
        lines.append(line)
    return "\n".join(lines)


def evaluates(state: State) -> bool:
    """Whether a read evaluates expressions over the stored rows, and so depends on the session's settings."""
    plain = all(isinstance(node, _PLAIN) for node in parse(state.residual).walk())
    return not plain or any(core.sums is not None for core in state.cores)


_PLAIN = (exp.Select, exp.Star, exp.Column, exp.Identifier, exp.From, exp.Table, exp.Alias, exp.TableAlias)


def live_view(state: State, splits: bool = True) -> str:
    """The query of `<model>__live`, the commit record: the check of the expiration, and the read.

    The check is a branch of a UNION ALL with the read, so that a query evaluates the check whatever the read finds or
    skips. The check is the first branch, because a LIMIT collects one partition after the other, in order, and stops
    when the rows are enough.
    splits: whether to read a large chain by two branches of a UNION ALL, which reads less, in a longer text.
    """
    t = live_instant(state)
    body = _read(state, t, state.frontier, splits)
    if state.expiration is None:
        return body
    return f"{raising(state.columns, f'{t} > {state.expiration}L', expired_message(state))}\nUNION ALL\n{body}"


def raising(columns: Columns, condition: str, message: str) -> str:
    """A query without rows that raises an error where a condition (SQL) holds, for a UNION ALL with a read."""
    error = f"raise_error({string_literal(message)})"
    items = ", ".join(f"CAST({error} AS {sql_type(kind)}) AS {quote(name)}" for name, kind in columns)
    return f"SELECT {items}\nWHERE {condition} AND {error} IS NULL"


def expired_message(state: State) -> str:
    assert state.expiration is not None
    # an input that is a temporal_view may have expired too: it has to run first
    ahead = "+" if any(seen.tracking is Tracking.STACKED for seen in state.inputs.values()) else ""
    return raised(
        "ST001",
        f"temporal_view {state.model} expired at {format_instant(state.expiration)}: updates after that instant are "
        f"not stored. To answer again: dbt run -s {ahead}{state.model}",
    )


def thin_view(columns: Columns, live: str, star: bool = False) -> str:
    """The text of the thin view over `live`. star: `*` in place of the names of the columns.

    A view casts to the types that its columns had when the view was made. So the text has a hash of the names and
    types: a view that was made with other types has another text, and is made again.
    """
    told = hashlib.sha256(repr([tuple(column) for column in columns]).encode()).hexdigest()[:12]
    return f"SELECT /* mz_columns: {told} */ {'*' if star else ', '.join(quote(n) for n, _ in columns)} FROM {live}"
