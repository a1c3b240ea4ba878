"""SQL of `<model>__late`: the rows that came after their window was over, which a model with `store_late` keeps.

    mz_run, mz_as_of, mz_core, mz_from, mz_until, columns…

| column | is |
|---|---|
| mz_run | the id of the run that saw the row first |
| mz_as_of | the instant of that run (ms) |
| mz_core | the core of the row, where the model has several |
| mz_from, mz_until | the window that the row missed (ms); mz_from is NULL where the window has no beginning |

In a full read, and under a general condition, only the part of a window after the instant of the previous run is known.
A general condition is a predicate that is more than comparisons of mz_now() joined by AND.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ..rewrite.core import TypedCore
from ..sql.text.dialect import quote, string_literal
from . import intervals_sql
from .columns_of_cores import ColumnsOfCores, side_by_side
from .intervals_sql import ALWAYS, TIMES, Columns, indent
from .stores import IntervalStore

_HEADER: Columns = (("mz_run", "STRING"), ("mz_as_of", "BIGINT"))
#: parts of the names of types whose values no file keeps. The operand of a count may be of any type
_NOT_STORABLE = ("void", "interval", "variant")


def columns_of(core: TypedCore) -> Columns:
    """The columns that are kept of a late row: all, where the core is kept as rows.

    Where the core is kept as groups: the keys, and the operands of sums whose type a file can hold.
    """
    keys, operands = core.columns[: len(core.stored)], core.columns[len(core.stored) :]
    return (*keys, *((n, kind) for n, kind in operands if not any(part in kind.lower() for part in _NOT_STORABLE)))


def of_cores(cores: Sequence[TypedCore]) -> dict[str, Columns]:
    """The columns of the late rows of each core, by the name of the core."""
    return {core.name: columns_of(core) for core in cores}


def columns(cores: Mapping[str, Columns]) -> Columns:
    """The columns of a model's table of late rows. cores: name -> columns."""
    several: Columns = (("mz_core", "STRING"),) if len(cores) > 1 else ()
    return (*_HEADER, *several, *TIMES, *_side_by_side(cores).shown)


def identity(cores: Mapping[str, Columns]) -> str:
    """A hash of the columns of a model's table of late rows: equal for equal columns."""
    return hashlib.sha256(repr(tuple(columns(cores))).encode()).hexdigest()[:12]


def missed(core: TypedCore, came: Sequence[str], went: Sequence[str], as_of: int) -> str:
    """A query of the intervals that were over at `as_of` (ms): of added rows, minus the intervals of removed rows.

    came, went: queries of the added and the removed rows: columns, mz_from, mz_until, mz_diff.
    """
    rows = _over(came, as_of)
    if went:
        rows = IntervalStore(columns_of(core)).difference(rows, _over(went, as_of))
    names = "".join(f"{quote(n)}, " for n, _ in columns_of(core))
    return f"SELECT {names}mz_from, mz_until\nFROM (\n{indent(rows, 2)}\n) AS mz_over\nWHERE mz_diff > 0"


def _over(windows: Sequence[str], as_of: int) -> str:
    each = (f"SELECT * FROM (\n{indent(rows, 2)}\n) AS mz_windows\nWHERE mz_until <= {as_of}L" for rows in windows)
    return "\nUNION ALL\n".join(each)


def of_run(cores: Sequence[TypedCore], rows: Mapping[str, str], run: str, as_of: int) -> list[str]:
    """Queries of the late rows of a run, one for each core in `rows`. rows: core -> its `missed` query. run: the id."""
    shown, arms = _side_by_side(of_cores(cores)), []
    for core in cores:
        if core.name not in rows:
            continue
        named = f"{string_literal(core.name)} AS mz_core, " if len(cores) > 1 else ""
        items = shown.items(core.name)
        arms.append(
            f"SELECT {string_literal(run)} AS mz_run, {as_of}L AS mz_as_of, {named}"
            f"nullif(mz_from, {ALWAYS}L) AS mz_from, mz_until{', ' * bool(items)}{items}\n"
            f"FROM (\n{indent(rows[core.name], 2)}\n) AS mz_late"
        )
    return arms


def together(tables: Sequence[str], of: Columns) -> str:
    """A query of all rows of tables; without a table, of no rows with the columns `of`."""
    return "\nUNION ALL\n".join(f"SELECT * FROM {name}" for name in tables) or intervals_sql.no_rows(of)


def _side_by_side(cores: Mapping[str, Columns]) -> ColumnsOfCores:
    return side_by_side(cores, ["mz_core", *(name for name, _ in (*_HEADER, *TIMES))])
