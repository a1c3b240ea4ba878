"""The settings of the present session, compared with the settings under which the rows of a model were written.

`<model>__live` is a view, and Spark evaluates a view under the settings of its creation. The same text is evaluated
outside of the view only in a session with the same settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import Refusal
from ..temporal.diffs import view_sql
from ..temporal.diffs.state import State
from ..temporal.sql.spark.errors import SparkError
from ..temporal.sql.spark.settings import NOT_SET, differing
from .warehouse import Warehouse

#: a reference that Spark replaces in the text of each statement, also in comments and strings: Spark's own pattern
_SUBSTITUTED = re.compile(r"\$\{(?:\w+?:)?\S+?\}", re.ASCII)


def substituted(warehouse: Warehouse, sql: str) -> str:
    """The text of a model with the values of settings in place of each `${...}`, as Spark puts them at each run.

    With another value of such a setting, the model is another model. Raises Refusal where the value is not known, and
    where Spark would put another value in place of the replacing text.
    """
    values: dict[str, str] = {}

    def value(found: re.Match[str]) -> str:
        if found[0] not in values:
            values[found[0]] = _value(warehouse, found[0])
        return values[found[0]]

    once = _SUBSTITUTED.sub(value, sql)
    for reference in _SUBSTITUTED.findall(once):
        if values.get(reference) != reference:  # values side by side make a reference, which Spark leaves as it is
            raise _refusal(reference)
    return once


def _value(warehouse: Warehouse, reference: str) -> str:
    """The text that Spark puts in place of a reference.

    The question has the reference in single quotes and in double quotes. A value with a quote in it ends one of these
    texts: then Spark raises an error, or gives other columns, or the other text has the quote in it.
    """
    try:
        rows = warehouse.rows(f"SELECT r'{reference}'\n, r\"{reference}\"")
    except SparkError:
        raise _refusal(reference) from None
    told = [str(value) for row in rows for value in row]
    if len(rows) != 1 or len(told) != 2 or told[0] != told[1] or re.search("['\"]", told[0]):
        raise _refusal(reference)
    return told[0]


def _refusal(reference: str) -> Refusal:
    return Refusal(
        "ST355",
        f"{reference} in a model",
        "Spark puts a setting of the session in its place, and the value of that one cannot be asked for",
        "{{ var('...') }} or {{ env_var('...') }} of dbt",
    )


def as_remembered(warehouse: Warehouse, settings: Mapping[str, str], old: State | None) -> dict[str, str]:
    """The settings of a session, and each setting of the old state that the session has by default."""
    named = dict(settings)
    for key, value in old.settings.items() if old else ():
        if key not in named and warehouse.setting(key) == value:
            named[key] = value
    return named


def refuse_other(warehouse: Warehouse, state: State, what: str, always: bool = False, is_live: bool = True) -> None:
    """Refuse to evaluate a model's query under other settings than those of its live view.

    what: the operation, for the message. always: whether to refuse also where the query only gives back stored rows.
    is_live: whether the state is that of the last commit, which a run may replace.
    """
    if not (always or view_sql.evaluates(state)):
        return
    refuse_differences(as_remembered(warehouse, warehouse.settings(), state), state, what, is_live)


def refuse_differences(settings: Mapping[str, str], state: State, what: str, is_live: bool = True) -> None:
    """Refuse settings of a session that differ from those of a state. what, is_live: see `refuse_other`."""
    keys = differing(settings, state.settings)
    # a state of an earlier version remembers four settings: all others count as not set
    if keys:
        wanted = ", ".join(f"{key} {state.settings.get(key, NOT_SET)}" for key in keys)
        raise Refusal(
            "ST210",
            f"{what} in a session with {', '.join(f'{key} {settings.get(key, NOT_SET)}' for key in keys)}",
            f"{state.model} was written, and its view is evaluated, with {wanted}; "
            "under other settings the same query gives other rows",
            f"a session with {wanted}"
            + (f", or dbt run -s {state.model} in this one, which rebuilds it" if is_live else ""),
        )
