"""Plain views between a temporal view and those that it reads: their text stands in their place.

    select id from s.between where mz_now() < hi                        what is written, s.between a view over s.inside
      ->  select id from (SELECT * FROM (select * from s.inside where k = 1) AS `mz_view s.between`(id, k, hi))
          AS between where mz_now() < hi                                what is run; `inlined` replaces s.inside

`inlined` stands in `temporal.ivm.upstream`. A model over such a view so is a model over the temporal views below the
view. The text is the one that Spark keeps, with the settings of the session that made the view. Where these are not the
session's, or the text means something else outside of the view, the model is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.ivm.upstream import key_of, references
from ..temporal.sql import identifiers, plans
from ..temporal.sql.ctes import cte_of
from ..temporal.sql.dialect import parse, quote, render
from .view_expansion import Closed, Made, made

#: the alias of a text that stands in the place of a view begins so; the view's name follows
_OPENED = "mz_view "
#: what a view shows that was made with var temporal_now
_FROZEN = "mz_at_"


def views_between(model: Mapping[str, Any], graph: Mapping[str, Any]) -> list[ModelRelations]:
    """The plain views that a model reads and that read a temporal view, directly or through views and ephemerals."""
    nodes = graph.get("nodes", {})
    reaches: dict[str, bool] = {}

    def below(node: Mapping[str, Any]) -> list[str]:
        return [name for name in node.get("depends_on", {}).get("nodes", []) if name in nodes]

    def kind(name: str) -> Any:
        return nodes[name].get("config", {}).get("materialized")

    def is_over(name: str) -> bool:
        if name not in reaches:
            through = kind(name) in ("view", "ephemeral")
            reaches[name] = kind(name) == "temporal_view" or through and any(map(is_over, below(nodes[name])))
        return reaches[name]

    found, queue, seen = [], below(model), set[str]()
    while queue:
        name = queue.pop()
        if name in seen or not is_over(name):
            continue
        seen.add(name)
        if kind(name) == "view":
            found.append(ModelRelations(quote(nodes[name]["schema"]), nodes[name]["alias"]))
        queue += below(nodes[name]) if kind(name) != "temporal_view" else []
    return found


def opened(warehouse: Warehouse, model: str, sql: str, between: Sequence[ModelRelations]) -> str:
    """A model's text with the text of each view in the place of its name, outermost first. Raises Refusal."""
    views, number = {view.key: view for view in between}, 0
    while views:
        found = next((place for place in references(sql, warehouse.catalog()) if key_of(place[2]) in views), None)
        if found is None:
            break
        start, end, names, aliased = found
        view = views[key_of(names)]
        alias = "" if aliased else f" AS {quote(names[-1])}"
        sql = f"{sql[:start]}({_query(warehouse, model, view, f'mz_v{number}_')}){alias}{sql[end:]}"
        number += 1
    return sql


def changes(before: str, now: str) -> list[str]:
    """What is to be told of the views whose text stands in a model, of two texts of the model."""
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


def _query(warehouse: Warehouse, model: str, view: ModelRelations, prefix: str) -> str:
    """The text of a view as a query with the names it gives its columns. prefix: of the names of its CTEs."""
    name = identifiers.dotted(identifiers.parts(view.name()))
    try:
        if not warehouse.tables(view.schema, view.model) or warehouse.view(view.name()) is None:
            raise Closed("there is no view of that name yet")
        its = made(warehouse, view.name())
        if any(one.alias.startswith(_FROZEN) for one in its.tree.find_all(exp.Subquery)):
            raise Closed("it was made with var temporal_now and shows its temporal views as at that instant, for good")
        columns = ", ".join(map(quote, its.columns))
        text = _named_alone(its, prefix)
        whole = f"SELECT * FROM (\n{text}\n) AS {quote(_OPENED + name)}({columns})"
        _check_analysis(warehouse, view.name(), text, whole)
    except Closed as closed:
        raise Refusal(
            f"the view {name} over a temporal_view, as an input of {model}",
            f"a temporal_view reads such a view by its text, and that cannot stand in its place here: {closed}",
            f"dbt run -s {view.model} in a session like this one, without var temporal_now, and then {model}; or "
            f"materialized='ephemeral' for {view.model}",
        ) from None
    return whole


def _named_alone(view: Made, prefix: str) -> str:
    """The text of a view with names that mean the same elsewhere: tables with their schema, CTEs with a prefix.

    Nothing else of it is touched.
    """
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
    text = view.text
    for start, end, by in sorted(edits, reverse=True):
        text = text[:start] + by + text[end:]
    return text


def _check_analysis(warehouse: Warehouse, name: str, text: str, whole: str) -> None:
    """Spark's analysis of the text is that of the view. (In later plans the clock is a constant.)"""
    of_view = f"SELECT * FROM {name}"
    try:
        inside = plans.inside_of_view(plans.analyzed(warehouse.explain(of_view)))
        alone = plans.without_names(plans.analyzed(warehouse.explain(text)))
        same = inside == alone and warehouse.describe(of_view) == warehouse.describe(whole)
    except Exception:  # a text that Spark does not take elsewhere has no equal meaning there
        same = False
    if not same:
        raise Closed("its text means something else outside of it")
