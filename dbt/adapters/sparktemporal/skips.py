"""What of its inputs a run need not read."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from .pushdown import sargable
from .temporal import zones
from .temporal.core import TypedCore
from .temporal.dialect import render
from .warehouse import Warehouse


def implied(warehouse: Warehouse, core: TypedCore, settings: Mapping[str, str], clock: sargable.Range) -> str | None:
    """SQL over the columns of a core's SELECT: what its window implies while the clock is in a range. None: nothing."""
    columns = sargable.columns_of(core.core)
    if not columns or not isinstance(core.core.query, exp.Select):
        return None
    probe = core.core.query.copy()
    probe.set("expressions", [exp.alias_(column.copy(), f"mz_h{i}") for i, column in enumerate(columns)])
    probe.set("distinct", None)
    try:
        kinds = [kind.lower() for _, kind in warehouse.describe(render(probe))]
    except Exception:  # a name that means something in the WHERE alone: nothing is known of it
        return None
    types = {render(column): kind for column, kind in zip(columns, kinds)}
    fixed = zones.never_changed(settings["spark.sql.session.timeZone"], clock.first or 0)
    return sargable.implied(core, types, clock, fixed)
