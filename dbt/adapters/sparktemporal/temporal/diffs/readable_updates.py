"""The stored updates of a model for people: the updates of its one core, or of all its cores with `mz_core`.

| cores | columns |
|---|---|
| one | mz_timestamp, mz_diff, the columns of the core |
| several | mz_timestamp, mz_diff, mz_core (`c0`, `c1`, …), the columns of all cores; NULL where a core lacks a column |
| several, of too many columns for a view | mz_timestamp, mz_diff, mz_core, and for each core a struct of its columns |
"""

from __future__ import annotations

from collections.abc import Sequence

from ..sql.text.dialect import quote, string_literal
from . import compact_sql
from .columns_of_cores import side_by_side
from .intervals_sql import indent
from .state import CoreState
from .stores import store_of


def as_updates(cores: Sequence[CoreState], schema: str) -> str:
    """A query of the stored updates of cores, in the columns above. schema: quoted, as SQL names it."""
    if len(cores) == 1:
        return _plain(cores[0], schema)
    columns = side_by_side({core.name: (*core.columns, *(core.sums or ())) for core in cores}, ["mz_core"])
    return "\nUNION ALL\n".join(_arm(core, columns.items(core.name), _plain(core, schema)) for core in cores)


def compact(cores: Sequence[CoreState], schema: str) -> str:
    """A query of the same updates, in a shorter text; several cores have a struct each. Each core must have a chain."""
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
    shown = ", ".join(filter(None, ("mz_timestamp", "mz_diff", named, items)))  # a count of all rows has no columns
    return f"SELECT {shown}\nFROM (\n{indent(updates, 2)}\n) AS mz_of_core"
