"""Common table expressions: which a query may name, and taking them along."""

from __future__ import annotations

from sqlglot import exp

from ..errors import Refusal


def visible_ctes(node: exp.Expression) -> list[exp.CTE]:
    """The CTEs that a query may name, outermost and earliest first."""
    found: list[exp.CTE] = []
    child, parent = node, node.parent
    own = node.args.get("with_")
    if own is not None:
        found = list(own.expressions)
    while parent is not None:
        if isinstance(parent, exp.With):
            position = next(i for i, cte in enumerate(parent.expressions) if cte is child)
            found = parent.expressions[:position] + found
            child, parent = parent.parent, parent.parent.parent  # type: ignore[assignment,union-attr]
            continue
        with_ = parent.args.get("with_")
        if with_ is not None:
            found = list(with_.expressions) + found
        child, parent = parent, parent.parent
    return found


def with_ctes(query: exp.Query, visible: list[exp.CTE]) -> None:
    """Give a query taken out of its model the CTEs it names, and those they name."""
    needed: list[exp.CTE] = []
    names = table_names(query)
    for cte in reversed(visible):
        if cte.alias.lower() in names:
            needed.insert(0, cte.copy())
            names |= table_names(cte.this)
    if needed:
        query.set("with_", exp.With(expressions=needed))


def table_names(node: exp.Expression) -> set[str]:
    return {t.name.lower() for t in node.find_all(exp.Table) if not t.db}


def drop_unused_ctes(query: exp.Expression) -> None:
    while True:
        unused = [
            cte
            for cte in query.find_all(exp.CTE)
            if not any(t.name.lower() == cte.alias.lower() and not t.db and not inside(t, cte)
                       for t in query.find_all(exp.Table))
        ]  # fmt: skip
        if not unused:
            return
        for cte in unused:
            with_ = cte.parent
            cte.pop()
            if with_ is not None and not with_.expressions:
                with_.pop()


def inside(node: exp.Expression, ancestor: exp.Expression) -> bool:
    at: exp.Expression | None = node
    while at is not None:
        if at is ancestor:
            return True
        at = at.parent
    return False


def refuse_shadowed_ctes(tree: exp.Expression) -> None:
    names = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    for name in names:
        if names.count(name) > 1:
            raise Refusal(
                f"WITH {name} AS (...) twice", "two CTEs of one name cannot be told apart", "one name for each"
            )
