"""The stored updates of a model for people: those of its one core, or of all its cores with `mz_core`.

| cores | columns |
|---|---|
| one | mz_timestamp, mz_diff, those of the core |
| several | mz_timestamp, mz_diff, mz_core (`c0`, `c1`, …), those of all cores; NULL where a core has no such column |
| several, of too many columns for a view | mz_timestamp, mz_diff, mz_core, and for each core a struct of its columns |

A column of the same name and type in several cores is one column. Of another type it is named after its core, `v_c1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..sql.dialect import quote, string_literal
from ..sql.identifiers import folded
from ..sql.timestamps import sql_type
from . import compact_sql
from .intervals_sql import Columns, indent
from .state import CoreState
from .stores import store_of


def as_updates(cores: Sequence[CoreState], schema: str) -> str:
    """A query. schema: quoted, as SQL names it."""
    if len(cores) == 1:
        return _plain(cores[0], schema)
    names = _names(cores)
    arms = []
    for core in cores:
        own = {folded(shown): quote(name) for (at, name), shown in names.items() if at == core.name}
        items = [
            f"{own.get(folded(shown), f'CAST(NULL AS {sql_type(kind)})')} AS {quote(shown)}"
            for shown, kind in _shown(cores, names)
        ]
        arms.append(_arm(core, ", ".join(items), _plain(core, schema)))
    return "\nUNION ALL\n".join(arms)


def compact(cores: Sequence[CoreState], schema: str) -> str:
    """The same with a text whose length does not grow with the number of columns. Each core has a chain."""
    if len(cores) == 1:
        return compact_sql.as_updates(cores[0], schema)
    arms = []
    for core in cores:
        own = f"struct(* EXCEPT (mz_timestamp, mz_diff)) AS {quote(core.name)}"
        items = [own if core is other else f"NULL AS {quote(other.name)}" for other in cores]
        arms.append(_arm(core, ", ".join(items), compact_sql.as_updates(core, schema)))
    return "\nUNION ALL\n".join(arms)


def _plain(core: CoreState, schema: str) -> str:
    return store_of(core).as_updates([c.source(schema) for c in core.chains])


def _arm(core: CoreState, items: str, updates: str) -> str:
    named = f"{string_literal(core.name)} AS mz_core"
    return f"SELECT mz_timestamp, mz_diff, {named}, {items}\nFROM (\n{indent(updates, 2)}\n) AS mz_of_core"


def _columns(core: CoreState) -> Columns:
    return (*core.columns, *(core.sums or ()))


def _names(cores: Sequence[CoreState]) -> dict[tuple[str, str], str]:
    """(core, column) -> the name under which the column is shown."""
    shown: dict[str, str] = {}  # folded name -> type
    names: dict[tuple[str, str], str] = {}
    for core in cores:
        own = {folded(name) for name, _ in _columns(core)}
        for name, kind in _columns(core):
            chosen = name
            if shown.get(folded(name), kind) != kind or folded(name) == "mz_core":
                chosen = f"{name}_{core.name}"
                while folded(chosen) in shown or folded(chosen) in own:
                    chosen += "_"
            shown[folded(chosen)] = kind
            names[core.name, name] = chosen
    return names


def _shown(cores: Sequence[CoreState], names: dict[tuple[str, str], str]) -> Columns:
    """The columns of all cores as they are shown, each once."""
    found: dict[str, tuple[str, str]] = {}
    for core in cores:
        for name, kind in _columns(core):
            found.setdefault(folded(names[core.name, name]), (names[core.name, name], kind))
    return tuple(found.values())
