"""The columns in the window of a core, and their types: only columns of a known type are bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from ..temporal.rewrite.core import Core
from ..temporal.sql.functions.calls import starts_with_unit
from ..temporal.sql.text.dialect import render


def columns_of(core: Core) -> list[exp.Expr]:
    """The columns in the window of a core, named as in the core's SELECT."""
    found: dict[str, exp.Expr] = {}
    of_condition = core.condition.row_expressions if core.condition else ()
    for operand in (*(c.operand for c in core.comparisons), *of_condition):
        for column in _leaves(operand):
            found.setdefault(render(column), column)
    return list(found.values())


def probe(core: Core) -> exp.Select | None:
    """A query of the columns in the window of a core; None without columns, or for a core that is no SELECT."""
    columns = columns_of(core)
    if not columns or not isinstance(core.query, exp.Select):
        return None
    query = core.query.copy()
    query.set("expressions", [exp.alias_(column.copy(), f"mz_h{i}") for i, column in enumerate(columns)])
    query.set("distinct", None)
    return query


def window_types(
    core: Core, columns: Sequence[tuple[str, str]], known: Callable[[exp.Query], list[tuple[str, str]] | None]
) -> dict[str, str]:
    """Rendered column of a window -> its type, without asking Spark; empty where a type is not known.

    columns: (name, type) of `intervals_sql.probe`. known: a query -> its columns, or None; a type is "" where
    only Spark knows it.
    """
    asked = probe(core)
    if asked is None:
        return {}
    wanted = list(map(render, columns_of(core)))
    items, beside = core.query.expressions, core.condition.row_expressions if core.condition else ()
    # a star is several columns, and so is explode() of a map
    if len(items) + len(core.comparisons) + len(beside) == len(columns) and not any(item.is_star for item in items):
        selected = {render(item.unalias()): kind.lower() for item, (_, kind) in zip(items, columns)}
        if all(name in selected for name in wanted):
            return {name: selected[name] for name in wanted}
    found = [kind.lower() for _, kind in known(asked) or ()]
    return dict(zip(wanted, found)) if all(found) else {}


def _leaves(node: exp.Expr) -> Iterator[exp.Expr]:
    """The columns in an expression. For a field of a column, the whole name: `a.b.c`, and not `a`."""
    if isinstance(node, (exp.Query, exp.Lambda)):
        return
    if isinstance(node, exp.Column) or isinstance(node, exp.Dot) and _is_name(node):
        yield node
        return
    for child in node.expressions[1:] if starts_with_unit(node) else node.iter_expressions():
        yield from _leaves(child)


def _is_name(node: exp.Expr) -> bool:
    if isinstance(node, exp.Dot):
        return isinstance(node.expression, exp.Identifier) and _is_name(node.this)
    return isinstance(node, exp.Column)
