"""Plain views between a temporal view and the temporal views below: the text of a view is put in place of its name.

    select id from s.between where mz_now() < hi                        the written text; s.between reads s.inside
      ->  select id from (SELECT * FROM (select * from s.inside where k = 1) AS `mz_view s.between`(id, k, hi))
          AS between where mz_now() < hi                                the text that is run

So a model over such a view is a model over the temporal views below the view. `temporal.ivm.inlining` then replaces the
name of the temporal view, `s.inside`. Spark keeps the text of a view with the settings of the session that made the
view. A model is refused where the present session has other settings, or where the text means something else outside of
the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from ...engine import clones
from ...engine.committed import read_state
from ...engine.model_relations import ModelRelations
from ...engine.warehouse import Warehouse
from ...errors import Refusal
from ...temporal.clock.instants import format_instant
from ...temporal.diffs.state import State
from ...temporal.ivm.inlining import references
from ...temporal.sql.names.ctes import cte_of
from ...temporal.sql.spark import plans
from ...temporal.sql.text import identifiers
from ...temporal.sql.text.dialect import parse, quote, render
from ...temporal.sql.text.identifiers import folded
from ...temporal.sql.text.splices import spliced
from .expansion import Closed, Made, check_meaning, made, same_columns

#: the alias of a view's text begins so, and the view's name follows
_OPENED = "mz_view "


def opened(
    warehouse: Warehouse, model: str, sql: str, below: Sequence[ModelRelations], between: Sequence[ModelRelations]
) -> tuple[str, dict[str, State | None]]:
    """Put the texts of views in place of their names -> (the model's text, the temporal_views in it: key -> state).

    The outermost views come first; Spark's plans tell the views below a view. A temporal_view that was never committed
    has the state None. below: the temporal_views that the model may name. between: the plain views over temporal_views.
    Raises Refusal.
    """
    catalog = warehouse.catalog()
    temporal, views = {one.key: one for one in below}, {one.key: one for one in between}
    states: dict[str, State | None] = {}
    plain: set[str] = set()
    for number in count():
        known = {*temporal, *views} - {*states, *plain}
        asked = next((one for one in references(sql, catalog) if one.key in known), None)
        if asked is None:
            break
        key = asked.key
        if key in temporal:
            states[key] = read_state(warehouse, temporal[key])
            if states[key] is not None:
                continue
        found = _opened(warehouse, model, temporal.get(key) or views[key], key in temporal, f"mz_v{number}_")
        if found is None:
            plain.add(key)
            continue
        states.pop(key, None)
        text, inside = found
        sql = f"{sql[: asked.start]}{text}{'' if asked.aliased else f' AS {quote(asked.name)}'}{sql[asked.end :]}"
        for one in inside:
            if folded(one.model).endswith(plans.LIVE):
                inner = replace(one, model=one.model[: -len(plans.LIVE)])
                temporal.setdefault(inner.key, inner)
            else:
                views.setdefault(one.key, one)
    return sql, states


def refuse_frozen(analyzed: str, place: str, at: int | None) -> None:
    """Refuse a plan that reads a view made with var temporal_now. A view made at the instant `at` (ms) is allowed.

    place: where the plan's query stands, for the message.
    """
    instants = plans.frozen_at(analyzed) - {at}
    if instants:
        views = ", ".join(identifiers.dotted(identifiers.parts(view)[-2:]) for view in plans.views(analyzed))
        raise Refusal(
            "ST406",
            f"the view {views}, made at var temporal_now, {format_instant(min(instants))}, {place}",
            "a view that is made with that variable shows its temporal views and its clock as at then, for good",
            "that view made in the same invocation (dbt build -s +...), or materialized='ephemeral' for it",
        )


def changes(before: str, now: str) -> list[str]:
    """The changes of opened views between two texts of a model, in words."""
    if _OPENED not in before and _OPENED not in now:
        return []
    then, texts = dict(_opened_in(before)), dict(_opened_in(now))
    both = [name for name in texts if name in then and texts[name] != then[name]]
    return [f"the text of the view {name} changed" for name in dict.fromkeys(both)]


def _opened_in(sql: str) -> Iterator[tuple[str, str]]:
    for query in parse(sql).find_all(exp.Subquery):
        if query.alias.startswith(_OPENED):
            whole = query.find_ancestor(exp.Select)  # its CTEs stand there
            yield query.alias.removeprefix(_OPENED), render(whole if whole is not None else query)


def _opened(
    warehouse: Warehouse, model: str, view: ModelRelations, may_be_none: bool, prefix: str
) -> tuple[str, list[ModelRelations]] | None:
    """(the text in place of a view, the views that the view reads). A clone's text is the name of the cloned relation.

    None for a view that reads no temporal_view. may_be_none: None for a missing view, instead of a Refusal.
    prefix: the beginning of the names of the text's CTEs.
    """
    name = identifiers.dotted(identifiers.parts(view.name()))
    try:
        info = warehouse.view(view.name()) if view.model in warehouse.beginning(view.schema, view.model) else None
        if info is None and may_be_none:
            return None
        if info is None:
            raise Closed("there is no view of that name yet")
        explained = warehouse.explain(f"SELECT * FROM {view.name()}")
        plan = plans.analyzed(explained)
        if not plans.is_temporal(plan):
            return None
        inside = [ModelRelations.of(one, warehouse.catalog()) for one in plans.views(plan)]
        shown = clones.shown(warehouse, view, info)
        if shown is not None:
            if not same_columns(warehouse, view.name(), shown.name()):
                raise Closed(f"it was made when {shown.name()} had other columns")
            return shown.name(), inside
        its = made(warehouse, view.name())
        if any(one.alias.startswith(plans.FROZEN) for one in its.tree.find_all(exp.Subquery)):
            raise Closed("it was made with var temporal_now and shows its temporal views as at that instant, for good")
        columns = ", ".join(map(quote, its.columns))
        text = _named_alone(its, prefix)
        whole = f"SELECT * FROM (\n{text}\n) AS {quote(_OPENED + name)}({columns})"
        check_meaning(warehouse, view.name(), explained, text, f"({whole})")
    except Closed as closed:
        raise Refusal(
            "ST407",
            f"the view {name} over a temporal_view, as an input of {model}",
            f"a temporal_view reads such a view by its text, and that cannot stand in its place here: {closed}",
            f"dbt run -s {view.model} in a session like this one, without var temporal_now, and then {model}; or "
            f"materialized='ephemeral' for {view.model}",
        ) from None
    return f"({whole})", inside


def _named_alone(view: Made, prefix: str) -> str:
    """The text of a view with names that mean the same elsewhere: tables get their schema, CTEs get a prefix."""
    edits: list[tuple[int, int, str]] = []

    def replace(name: exp.Expr | None, by: str) -> None:
        if name is None or "start" not in name.meta:
            raise Closed("where its names stand is not told")
        edits.append((name.meta["start"], name.meta["end"] + 1, by))

    for table in view.tree.find_all(exp.Table):
        if table.db or not isinstance(table.this, exp.Identifier):
            continue
        if cte_of(table) is not None:
            alias = "" if table.args.get("alias") else f" AS {quote(table.name)}"
            replace(table.this, quote(prefix + table.name.lower()) + alias)
        else:
            replace(table.this, f"{quote(view.schema)}.{quote(table.name)}")
    for cte in view.tree.find_all(exp.CTE):
        replace(cte.args["alias"].this, quote(prefix + cte.alias.lower()))
    return spliced(view.text, sorted(edits))
