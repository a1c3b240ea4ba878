"""Merge the columns of several cores into one list, for relations that people read.

Columns of the same name and type in several cores are one column. A column of another type, or of a name that the
relation has already, gets the name of its core as a suffix, `v_c1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import quote
from ..sql.text.identifiers import folded
from .intervals_sql import Columns


@dataclass(frozen=True)
class ColumnsOfCores:
    """The columns of all cores, for a relation that shows the rows of all of them."""

    #: each column once
    shown: Columns
    #: (core, column) -> the name of the column in `shown`
    names: Mapping[tuple[str, str], str]

    def items(self, core: str) -> str:
        """The items of a SELECT over the rows of a core; NULL where the core has no such column."""
        own = {folded(shown): quote(name) for (at, name), shown in self.names.items() if at == core}
        return ", ".join(
            f"{own.get(folded(shown), f'CAST(NULL AS {sql_type(kind)})')} AS {quote(shown)}"
            for shown, kind in self.shown
        )


def side_by_side(cores: Mapping[str, Columns], taken: Iterable[str]) -> ColumnsOfCores:
    """Merge the columns of cores. cores: name -> columns. taken: other columns of the relation, in lower case."""
    kinds: dict[str, str] = dict.fromkeys(taken, "")  # folded name -> type
    names: dict[tuple[str, str], str] = {}
    shown: dict[str, tuple[str, str]] = {}
    for core, columns in cores.items():
        own = {folded(name) for name, _ in columns}
        for name, kind in columns:
            chosen = name
            if kinds.get(folded(name), kind) != kind:
                chosen = f"{name}_{core}"
                while folded(chosen) in kinds or folded(chosen) in own:
                    chosen += "_"
            kinds[folded(chosen)] = kind
            names[core, name] = chosen
            shown.setdefault(folded(chosen), (chosen, kind))
    return ColumnsOfCores(tuple(shown.values()), names)
