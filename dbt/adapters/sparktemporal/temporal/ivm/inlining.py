"""Temporal views over temporal views: the rows of an upstream view, with their instants, are an input.

    select id from s.recent where mz_now() >= due                       the written text; s.recent is a temporal_view
      ->  select id from (select `id`, `due` from <rows of recent> as mz_in
                          where mz_now() >= mzu_from and (mzu_until is null or mz_now() < mzu_until)) as `recent`
          where mz_now() >= due                                         the text that is run

So the outer model is a model over tables with one more predicate, and knows all that the inner model knows of the
future. `<rows of recent>` stands in the text as a name, so that the text does not change from run to run. The SQL that
is sent to Spark has a query over the inner model's chains in its place, see `stack`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlglot import exp

from ..diffs.state import CoreState, State
from ..predicates.bounds import TIMESTAMP
from ..predicates.clock_text import with_clock
from ..rewrite.core import is_placeholder
from ..rewrite.linear_aggregates import COUNT
from ..sql.names.ctes import reads_of
from ..sql.names.scope import alias_of, quote_name
from ..sql.text.dialect import expression, has_clock, has_other_parts, parse, quote, render
from ..sql.text.splices import spliced
from ..sql.text.statements import Reference, references_in
from .stack import SCHEMA
from .stacked_rows import sum_column


def references(sql: str, catalog: str) -> list[Reference]:
    """The tables that a text names with a schema. Raises Refusal for a text that cannot be parsed."""
    return [one for one in references_in([parse(sql)], catalog) if not one.is_column]


def inlined(sql: str, states: Mapping[str, State], catalog: str, sampled: bool = False) -> str:
    """The text of a model with a query in place of the name of each temporal view.

    states: schema.model -> the state of the view. sampled: whether dbt reads a part of each input.
    """
    parts = _parts_of(sql) if sampled else {}
    pieces = []
    for number, one in enumerate(references(sql, catalog)):
        state = states.get(one.key)
        if state is not None:
            alias = "" if one.aliased else f" AS {quote(one.name)}"
            pieces.append((one.start, one.end, f"({_query(state, one.key, number, parts.get(one.start))}){alias}"))
    return spliced(sql, pieces)


def _parts_of(sql: str) -> dict[int, exp.Expr]:
    """Offset of a relation's name -> the predicate of the part of the relation that dbt reads with --empty or --sample.

    dbt writes `(select * from r where false limit 0)`, or a filter by time. A LIMIT above a temporal view is evaluated
    at the read, and so is a filter: without the predicate below, a run would store all rows of the view.
    """
    found: dict[int, exp.Expr] = {}
    for part in parse(sql).find_all(exp.Subquery):
        select, predicate = part.this, _predicate_of_part(part.this)
        if predicate is None:
            continue
        # of views that are opened in the place of the relation, no row is read either
        for table in select.find_all(exp.Table) if _is_false(predicate) else [select.args["from_"].this]:
            if isinstance(table, exp.Table):
                start = min(name.meta["start"] for name in table.parts if "start" in name.meta)
                found.setdefault(start, predicate)  # the outermost: a view's own filter is inside of it
    return found


def _is_false(predicate: exp.Expr) -> bool:
    return isinstance(predicate, exp.Boolean) and not predicate.this


def _predicate_of_part(select: exp.Expr) -> exp.Expr | None:
    """The predicate of `select * from r where …`; None for another query."""
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if where is None or not (len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)):
        return None
    if has_other_parts(select, ("expressions", "from_", "where", *(["limit"] if _is_false(where.this) else []))):
        return None
    return None if where.this.find(exp.Query) or has_clock(where.this) else where.this


def _query(state: State, key: str, number: int, part: exp.Expr | None) -> str:
    """The output of an upstream model as a query over the rows of its cores, with mz_now().

    part: see `_parts_of`.
    """
    residual = with_clock(parse(state.residual), partial(_clock, state))
    cores = {core.placeholder: core for core in state.cores}
    outputs = [quote(n) for n, _ in state.columns]
    plain = render(residual) == f"SELECT * FROM {state.cores[0].placeholder}"
    if plain and len(cores) == 1 and [n for n, _ in state.cores[0].columns] == [n for n, _ in state.columns]:
        return _read(state.cores[0], f"{key}.{state.cores[0].name}", part)
    none = part if isinstance(part, exp.Boolean) else None
    for cte in list(residual.find_all(exp.CTE)):
        own = f"mz_{number}_{cte.alias}"
        for table in reads_of(cte.alias, residual):
            table.replace(exp.Table(this=quote_name(own), alias=alias_of(table)))
        cte.args["alias"].set("this", quote_name(own))
    for table in list(residual.find_all(exp.Table)):
        if is_placeholder(table):
            core = cores[table.name]
            table.replace(exp.Subquery(this=parse(_read(core, f"{key}.{core.name}", none)), alias=alias_of(table)))
    return f"SELECT * FROM ({render(residual)}) AS mz_out({', '.join(outputs)})"


def sums_groups(query: exp.Expr) -> bool:
    """Whether a query sums the updates of another view's groups. Such a query is stored as groups, never as rows."""
    return any(column.name == "mzu_diff" for column in query.find_all(exp.Column))


def _read(core: CoreState, name: str, part: exp.Expr | None) -> str:
    source = f"{quote(SCHEMA)}.{quote(name)} AS mz_in"
    names = ", ".join(quote(n) for n, _ in core.columns)
    only = "" if part is None else f"({render(part)}) AND "
    if core.sums is None:
        there = "mz_now() >= mzu_from AND (mzu_until IS NULL OR mz_now() < mzu_until)"
        return f"SELECT {names} FROM {source} WHERE {only}{there}"
    summed = [("mzu_diff", COUNT), *((sum_column(n), n) for n, _ in core.sums)]
    sums = ", ".join(f"sum({column}) AS {quote(n)}" for column, n in summed)
    group = f" GROUP BY {names}" if names else ""
    items = f"{names}, {sums}" if names else sums
    return f"SELECT {items} FROM {source} WHERE {only}mz_now() >= mzu_timestamp{group} HAVING sum(mzu_diff) <> 0"


def _clock(state: State, kind: str) -> exp.Expr:
    if state.refreshes is None:
        return expression("mz_now()" if kind == TIMESTAMP else "unix_millis(mz_now())")
    shown = state.refreshes.last_sql("unix_millis(mz_now())")
    return expression(f"timestamp_millis({shown})" if kind == TIMESTAMP else shown)
