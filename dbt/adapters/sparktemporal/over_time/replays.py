"""Replays: statements under a pinned clock (var `temporal_now`) read a temporal_view as at that instant.

    create table s.t as select * from s.m   ->   create table s.t as select * from ((<s.m at the instant>) AS `m`)

Spark's plan of a statement tells which temporal views it reads, under any name and through any view. The plan of the
replacing statement proves that it reads none of them at the wall clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ..engine import clones
from ..engine.clock_calls import is_lasting_view
from ..engine.committed import state_of
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Rows, Warehouse
from ..errors import Refusal, without_trace
from ..inputs.views import stacked
from ..run import view_probe
from ..temporal.clock.instants import format_instant
from ..temporal.diffs.state import State
from ..temporal.diffs.state_text import MARK, VIEW_TEXT_LIMIT
from ..temporal.rewrite.clock_functions import reads_clock
from ..temporal.sql.spark import plans
from ..temporal.sql.spark.errors import spark_words
from ..temporal.sql.text import identifiers, statements
from ..temporal.sql.text.dialect import quote, without_end
from . import reads

_LIVE = plans.LIVE


def at_instant(
    sql: str,
    instant: int,
    rows: Rows,
    catalog: str,
    warn: Callable[[str], None],
    known: Mapping[str, str] | None = None,
    is_clocked: bool = False,
) -> str:
    """A statement that reads its temporal views as at an instant (ms).

    | | |
    |---|---|
    | catalog | the current catalog |
    | warn | called for a lasting view, which shows the instant from now on, and for a clock that is not pinned |
    | known | a query -> the replacing query, where this is known already |
    | is_clocked | whether the instant has already replaced the user's clock |
    """
    start = statements.reading_part(sql)
    if start is None:
        return sql
    head, body = sql[:start], sql[start:]
    pinned = (known or {}).get(body.strip())
    pinned = query_at(body, instant, rows, catalog, warn) if pinned is None else pinned
    if is_lasting_view(sql) and (is_clocked or pinned.strip() != body.strip()):
        pinned = _marked(pinned, instant) if is_clocked else pinned
        _check_lasting(Warehouse(rows, catalog=catalog), head, pinned, instant, warn)
    return head + pinned


def _marked(query: str, instant: int) -> str:
    """A query whose plan shows the instant of its clock, as the plan of a temporal_view at an instant does."""
    return f"SELECT * FROM (\n{without_end(query)}\n) AS {quote(f'{plans.FROZEN}{instant}')}"


def query_at(sql: str, instant: int, rows: Rows, catalog: str, warn: Callable[[str], None]) -> str:
    """A query, or a statement with a query, that reads temporal views as at an instant (ms). Raises Refusal.

    warn: called for a clock that is not pinned.
    """
    warehouse = Warehouse(rows, catalog=catalog)
    plan = _plan(warehouse, sql)
    live = _live(warehouse, plan) if any(_is_live(view) for view in plans.views(plan)) else {}
    if live:
        queries = {}
        for key, state in live.items():
            rows_then = f"(SELECT * FROM {reads.at(warehouse, state, instant)} AS {quote(f'{plans.FROZEN}{instant}')})"
            queries[key] = queries[key + _LIVE] = rows_then
        queries |= _same_rows(warehouse, sql, plans.views(plan), queries)
        sql = statements.replaced(sql, queries, catalog)
        plan = _plan(warehouse, sql)
        _refuse_wall_clock(live, plans.views(plan), instant, catalog)
    stacked.refuse_frozen(plan, f"in a statement at {format_instant(instant)}", instant)
    if plans.reads_clock(plan):
        _warn_of_clock(warehouse, sql, plan, instant, warn)
    return sql


def _plan(warehouse: Warehouse, sql: str) -> str:
    """The analyzed plan; empty where Spark makes no plan. The statement itself raises the error then."""
    return plans.analyzed(warehouse.ask(f"EXPLAIN EXTENDED {sql}"))


def _key(view: str, catalog: str) -> str:
    """The key of a view in `statements.references`; "" for a temporary view, which has no schema."""
    *schema, name = identifiers.within(identifiers.parts(view), catalog)
    return identifiers.key(identifiers.dotted(schema), name) if schema else ""


def _is_live(view: str) -> bool:
    return identifiers.folded(identifiers.parts(view)[-1]).endswith(_LIVE)


def _live(warehouse: Warehouse, plan: str) -> dict[str, State]:
    """The temporal views in a plan: key -> committed state."""
    found = {}
    for view in plans.views(plan):
        info = warehouse.view(view) if _is_live(view) else None
        if info is not None and MARK in info.text:
            live = ModelRelations.of(view, warehouse.catalog())
            target = ModelRelations(live.schema, live.model[: -len(_LIVE)])
            found[target.key] = state_of(warehouse, target, info)
    return found


def _same_rows(warehouse: Warehouse, sql: str, views: Iterable[str], queries: Mapping[str, str]) -> dict[str, str]:
    """Replacing queries for the clones that the text names: key -> query.

    `dbt clone` makes a view with exactly the rows of a temporal_view, or of another clone.
    """
    catalog = warehouse.catalog()
    named = {one.key for one in statements.references(sql, catalog)} - {*queries}
    same = {}
    for view in views:
        key = _key(view, catalog)
        other = clones.model_shown(warehouse, ModelRelations.of(view, catalog)) if key in named else None
        if other is not None and other.key in queries:
            same[key] = queries[other.key]
    return same


def _refuse_wall_clock(live: Mapping[str, State], views: Iterable[str], instant: int, catalog: str) -> None:
    """Raise Refusal when the plan of the replacing statement still reads a temporal view at the wall clock."""
    left = [_key(view, catalog) for view in views]
    for key, state in live.items():
        if key + _LIVE not in left:
            continue
        own = {*live, *(other + _LIVE for other in live)}
        between = [identifiers.dotted(identifiers.parts(v)[-2:]) for v in views if _key(v, catalog) not in own]
        name, when = f"{state.schema.strip('`')}.{state.model}", f"var temporal_now, {format_instant(instant)}"
        if between:
            raise Refusal(
                "ST629",
                f"{name}, a temporal_view, read through the view {between[0]} at {when}",
                f"{between[0]} was made without that variable and reads {name} at the wall clock",
                f"{between[0]} made in the same invocation (dbt build -s +...), or materialized='ephemeral' for it",
            )
        raise Refusal(
            "ST630",
            f"{name}, a temporal_view, in a statement at {when}, that names it without its schema or cannot be read",
            f"the statement would read {name} at the wall clock",
            f"{{{{ ref('{state.model}') }}}} in plainer SQL, or temporal_as_of(ref('{state.model}'), ...)",
        )


def _warn_of_clock(warehouse: Warehouse, sql: str, plan: str, instant: int, warn: Callable[[str], None]) -> None:
    """Warn of each clock in a plan that is still the wall clock: the clock of a view, or of the statement itself."""
    texts = {view: info.text for view in plans.views(plan) if (info := warehouse.view(view)) is not None}
    views = [identifiers.dotted(identifiers.parts(v)[-2:]) for v, text in texts.items() if reads_clock(text)]
    when = f"var temporal_now, {format_instant(instant)}"
    for view in views:
        warn(
            f"the view {view} was made without {when}, and its clock is the wall clock: make it in the same "
            f"invocation (dbt build -s +...), or materialized='ephemeral' for it"
        )
    if reads_clock(sql):
        warn(f"a statement at {when}, reads a clock that the variable does not pin: write it as mz_now()")


def _check_lasting(warehouse: Warehouse, head: str, body: str, instant: int, warn: Callable[[str], None]) -> None:
    """Raise Refusal where the text of a view is too long for the catalog. Warn that the view shows one instant."""
    made = re.search(r"\bview\s+(?:if\s+not\s+exists\s+)?(\S+)", head, re.IGNORECASE)
    view, when = made.group(1) if made else "a view", f"var temporal_now, {format_instant(instant)}"
    if len(body) > VIEW_TEXT_LIMIT and made:
        target = ModelRelations(".".join(map(quote, identifiers.parts(view)[:-1])), view)
        error = view_probe.refusal(warehouse, target, target.schema, len(body.encode()))
        if error is not None:
            raise Refusal(
                "ST514",
                f"the view {view}, whose text at {when}, has {len(body):,} characters",
                f"the catalog does not keep one so long: {spark_words(without_trace(str(error)))}",
                "materialized='table' or 'ephemeral' for it",
            )
    if not view.rstrip("`").endswith("__dbt_tmp"):  # a snapshot creates such a view and drops it
        shows = f"{view} shows its temporal views and its clock as at {when}"
        warn(f"{shows}, until it is made again without that variable")
