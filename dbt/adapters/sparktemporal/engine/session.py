"""The session a model is run or read in, and the one its rows were written in: settings that are not the same.

`<model>__live` is a view, and Spark evaluates a view under the settings it was made under. What evaluates the same text
outside of the view does so only in a session that says the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Refusal
from ..temporal.diffs import view_sql
from ..temporal.diffs.state import State
from ..temporal.sql.settings import NOT_SET
from .warehouse import Warehouse


def as_remembered(warehouse: Warehouse, settings: Mapping[str, str], old: State | None) -> dict[str, str]:
    """The settings of a session; what an earlier run had set and is a default now is named like then."""
    named = dict(settings)
    for key, value in old.settings.items() if old else ():
        if key not in named and warehouse.setting(key) == value:
            named[key] = value
    return named


def refuse_other(warehouse: Warehouse, state: State, what: str, always: bool = False) -> None:
    """Refuse what evaluates a model's query in a session other than the one its live view was made in.

    always: also where the query gives back what is stored and evaluates nothing.
    """
    if not (always or view_sql.evaluates(state)):
        return
    refuse_differences(as_remembered(warehouse, warehouse.settings(), state), state, what)


def refuse_differences(settings: Mapping[str, str], state: State, what: str) -> None:
    """The same for settings that are known."""
    keys = sorted(key for key in {*settings, *state.settings} if settings.get(key) != state.settings.get(key))
    # a state of before remembers four settings: the others count as not set
    if keys:
        wanted = ", ".join(f"{key} {state.settings.get(key, NOT_SET)}" for key in keys)
        raise Refusal(
            f"{what} in a session with {', '.join(f'{key} {settings.get(key, NOT_SET)}' for key in keys)}",
            f"{state.model} was written, and its view is evaluated, with {wanted}; "
            "under other settings the same query gives other rows",
            f"a session with {wanted}, or dbt run -s {state.model} in this one, which rebuilds it",
        )
