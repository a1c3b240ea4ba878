"""The views of a model in `views_in`, another schema than its chains: where the catalog of the chains has no views.

The commit is the table `<model>__live` in the schema of the model. These views follow the commit, one statement each:

| view | is |
|---|---|
| `<model>__live` | the text of the commit |
| `<model>` | the thin view over it, with docs |
| `<model>__diffs` | the readable updates |
| `<model>__late` | the rows that came late, with `store_late` |

A view that is one commit behind answers as that commit did, from chains that stay for `diffs_retention`. Each run, also
one with nothing new, compares the texts and mends what a run that was killed left behind.
"""

from __future__ import annotations

from ..engine import ownership
from ..engine.commit_records import CREATE_VIEW
from ..engine.descriptions import ALTER
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..temporal.decision import Statement
from ..temporal.diffs.state import State
from ..temporal.sql.identifiers import Identifiers
from . import published_view
from .published_view import Docs


def publish(
    warehouse: Warehouse,
    target: ModelRelations,
    state: State,
    text: str,
    updates: str,
    late: str | None,
    docs: Docs,
    retyped: bool,
) -> list[Statement]:
    """The statements that make the views as they should be; none where they are. text: of the commit. updates: of
    `<model>__diffs`. late: of `<model>__late`, None for no change. retyped: a column of the same name has another type
    now."""
    outside = target.outside
    if outside is None:
        return []
    there = Identifiers(warehouse.relations_outside(outside.schema, outside.model))
    live = warehouse.view(outside.name("__live")) if f"{target.model}__live" in there else None
    steps = []
    if live is None or live.text.split() != text.split():
        verb = live.rewrite if live else CREATE_VIEW
        steps.append(Statement("the commit, for readers", f"{verb} {outside.name('__live')} AS\n{text}"))
    view = warehouse.view(outside.name()) if target.model in there else None
    steps += published_view.publish(outside, list(state.columns), docs, view, retyped)
    readable = [("__diffs", "the updates, readable", updates), ("__late", "rows that came late, readable", late)]
    for suffix, what, wanted in readable:
        found = warehouse.view(outside.name(suffix)) if f"{target.model}{suffix}" in there else None
        if wanted is not None and (found is None or found.text.split() != wanted.split()):
            verb = found.rewrite if found else CREATE_VIEW
            mark = "" if verb == ALTER else f" {ownership.marked(target)}"
            steps.append(Statement(what, f"{verb} {outside.name(suffix)}{mark} AS\n{wanted}"))
    name = f"{target.model}__late"
    if state.late is None and name in there and ownership.is_marked(warehouse, outside, name):
        steps.append(Statement("late rows are not kept any more", f"DROP VIEW {outside.name('__late')}"))
    return steps


def drop(warehouse: Warehouse, target: ModelRelations) -> list[Statement]:
    """The statements that drop the views."""
    outside = target.outside
    if outside is None:
        return []
    there = Identifiers(warehouse.relations_outside(outside.schema, outside.model))
    return [
        Statement("a view for readers", f"DROP VIEW IF EXISTS {outside.name(suffix)}")
        for suffix in ("", "__diffs", "__late", "__live")
        if f"{target.model}{suffix}" in there
    ]
