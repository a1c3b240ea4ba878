"""Refuses text that is compared with the clock and is no timestamp to Spark."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ..temporal.predicates.text_instants import no_instant, texts
from ..temporal.rewrite.core import Core
from ..temporal.sql.text.dialect import string_literal
from .warehouse import Warehouse


def refuse_text_that_is_null(warehouse: Warehouse, cores: Iterable[Core]) -> None:
    """Refuse text beside mz_now() that Spark casts to NULL."""
    found: dict[str, str] = {}
    for core in cores:
        compared: list[tuple[exp.Expr, str]] = [(c.operand, c.written) for c in core.comparisons]
        if core.condition is not None:
            compared += [(e.comparison.operand, e.comparison.written) for e in core.condition.edges]
        found |= {text: written for operand, written in compared for text in texts(operand)}
    if not found:
        return
    asked = ", ".join(f"try_cast({string_literal(text)} AS TIMESTAMP_LTZ) IS NULL" for text in found)
    for (text, written), is_null in zip(found.items(), warehouse.rows(f"SELECT {asked}")[0]):
        if is_null:
            raise no_instant(text, written)
