"""Leftovers: the relations of a temporal_view that was renamed, deleted, or became another materialization.

    <model>  <model>__diffs  <model>__lock  <model>__diffs_<run>...  <model>__inputs_<run>...  <model>__stats_<run>...
    <model>__late  <model>__late_<run>...  <model>__state_<run>...
    <model>__live

`<model>__live` is dropped last: while it exists, the other relations can be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..engine import ownership
from ..engine.committed import read_state, state_of
from ..engine.descriptions import UPDATE, ViewInfo
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import TemporalError
from ..run import at_function, lock, outside_views, published_view
from ..run.published_view import Docs
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.state import State
from ..temporal.diffs.state_text import is_commit, project_of
from ..temporal.sql.text.identifiers import Identifiers, dotted, folded, parts

_LIVE = "__live"


@dataclass(frozen=True)
class Leftover:
    """A model found by its commit record. project: the dbt project that ran it last, "" for an unknown one."""

    target: ModelRelations
    project: str


def find(warehouse: Warehouse, schema: str, named: Iterable[str], views_in: str | None) -> list[Leftover]:
    """The temporal_views of a schema that are not among the names, ignoring case.

    schema: quoted. views_in: see `ModelRelations`.
    """
    kept = Identifiers(named)
    found = []
    for table in warehouse.tables(schema, suffix=_LIVE):
        model = table[: -len(_LIVE)]
        target = ModelRelations(schema, model, views_in)
        if model not in kept:
            live = _live(warehouse, target)
            if live is not None:
                found.append(Leftover(target, project_of(live.text)))
    return found


@dataclass(frozen=True)
class Replaced:
    """The statements after a model was replaced. is_dropped: whether they drop the model."""

    statements: Sequence[Statement] = ()
    is_dropped: bool = False


def replaced(warehouse: Warehouse, target: ModelRelations, docs: Docs, failed: bool) -> Replaced:
    """The statements after a run of a model that was a temporal_view and has another materialization now.

    | the run | the statements |
    |---|---|
    | succeeded, and made the new relation | drop all other relations of the temporal_view |
    | dropped the view, and made nothing in its place | create the view again |
    | did anything else | none |

    failed: whether the run failed.
    """
    there = Identifiers(warehouse.tables(target.schema, target.model))
    if target.model not in there:
        live = _live(warehouse, target)
        state = read_state(warehouse, target, there) if live is not None and live.rewrite != UPDATE else None
        if state is None:  # the views over a commit in a table are in another catalog, where nothing has touched them
            return Replaced()
        return Replaced(published_view.publish(target, state.columns, docs, None))
    if failed or is_thin(warehouse, target):
        return Replaced()
    return Replaced(drop(warehouse, target), is_dropped=True)


def is_thin(warehouse: Warehouse, target: ModelRelations) -> bool:
    """Whether the relation of the model's name is the thin view over its `__live`."""
    view = warehouse.view(target.name())
    _, found, source = view.text.rpartition("FROM ") if view is not None else ("", "", "")
    return bool(found) and folded(dotted(parts(source)[-2:])) == folded(dotted(parts(target.name(_LIVE))))


def drop(warehouse: Warehouse, target: ModelRelations) -> list[Statement]:
    """The statements that drop the relations and the SQL function of a temporal_view; none when it does not exist."""
    names = Identifiers(warehouse.tables(target.schema, target.model))
    live = _live(warehouse, target) if f"{target.model}{_LIVE}" in names else None
    if live is None:
        return []
    steps = outside_views.drop(warehouse, target) if live.rewrite == UPDATE else []
    if target.model in names and is_thin(warehouse, target):
        steps.append(Statement("the view", f"DROP VIEW IF EXISTS {target.name()}"))
    for suffix, what in (("__diffs", "its updates"), ("__late", "its late rows")):
        name = f"{target.model}{suffix}"
        if name in names and ownership.is_marked(warehouse, target, name):
            steps.append(Statement(what, f"DROP VIEW IF EXISTS {target.name(suffix)}"))
    state = _readable(warehouse, target, live)
    steps += at_function.drop(target) if state and state.at_function else []
    for name in _tables(warehouse, target, state, names):
        steps.append(Statement("a chain, or a list of files", f"DROP TABLE IF EXISTS {target.table(name)}"))
    if f"{target.model}__lock" in names and lock.is_lock(warehouse, target):
        steps.append(Statement("its lock", f"DROP TABLE IF EXISTS {target.name('__lock')}"))
    kind = "TABLE" if live.rewrite == UPDATE else "VIEW"
    steps.append(Statement("its commit record", f"DROP {kind} IF EXISTS {target.name(_LIVE)}"))
    return steps


def _tables(warehouse: Warehouse, target: ModelRelations, state: State | None, names: Identifiers) -> list[str]:
    """The tables of a model: each is named by the state of the model, or has the mark of the model."""
    known = Identifiers([*state.tables, *(name for name, _ in state.retired)] if state else [])
    born = [name for name in names if chain_rules.born_of(target.model, name) is not None]
    return [name for name in born if name in known or ownership.is_marked(warehouse, target, name)]


def _readable(warehouse: Warehouse, target: ModelRelations, live: ViewInfo) -> State | None:
    """The state in a commit record; None if it cannot be read. Marked tables can be dropped even then."""
    try:
        return state_of(warehouse, target, live)
    except TemporalError:
        return None


def _live(warehouse: Warehouse, target: ModelRelations) -> ViewInfo | None:
    """The commit record of a model; None where `__live` is missing, or holds no state of this model."""
    view = warehouse.view(target.name(_LIVE))
    return view if view is not None and is_commit(view.text, target.model) else None
