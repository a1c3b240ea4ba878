"""QUALIFY, which Spark does not have: a refusal with the equivalent query for Spark.

select id, k from t where mz_now() < due qualify row_number() over (partition by k order by ts) = 1
  ->  select id, k from (select id, k, row_number() over (partition by k order by ts) as rank_1 from t where ...)
      where rank_1 = 1
"""

from __future__ import annotations

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import is_aggregate_call
from ..sql.names.ctes import inside
from ..sql.text.dialect import fragment, put_in, render, suggested
from ..sql.text.helper_columns import numbered

#: clauses above the rows that QUALIFY leaves
_AFTER = ("order", "limit", "offset", "sort", "cluster", "distribute")


def refuse_qualify(tree: exp.Query) -> None:
    """Refuse a model with QUALIFY. The message has the whole model without QUALIFY."""
    select = _first(tree)
    if select is None:
        return
    condition = select.args["qualify"]
    raise Refusal(
        "ST333",
        f"QUALIFY {fragment(condition.this)}",
        "Spark has no QUALIFY: it filters by a window function in the outer query",
        suggested(_without(tree)),
    )


def _first(tree: exp.Expr) -> exp.Select | None:
    return next((s for s in tree.find_all(exp.Select) if s.args.get("qualify")), None)


def _without(tree: exp.Query) -> exp.Query:
    tree = tree.copy()
    while (select := _first(tree)) is not None:
        tree = put_in(tree, select, _filtered(select))
    return tree


def _filtered(select: exp.Select) -> exp.Select:
    """The equivalent filter over a derived table."""
    inner, outer = select.copy(), exp.select()
    around = exp.Paren(this=inner.args["qualify"].this)
    inner.set("qualify", None)
    for key in ("with_", *_AFTER, *(["distinct"] if inner.args.get("distinct") else [])):
        outer.set(key, inner.args.get(key))
        inner.set(key, None)
    items = [
        item if _is_named(item) else exp.alias_(item, f"column_{n}") for n, item in enumerate(inner.expressions, 1)
    ]
    added = _take_calls(around, items)
    outer.set("where", exp.Where(this=around))
    added += _take_columns(outer, items, added)
    outer.args["where"].set("this", around.this)
    inner.set("expressions", [*items, *added])
    outer.set("expressions", _outputs(items, added))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner)))
    return outer


def _take_calls(condition: exp.Expr, items: list[exp.Expr]) -> list[exp.Expr]:
    """Replace window functions and aggregates by columns -> the items to add to the inner SELECT for them."""
    known = {render(i.this): i.alias for i in items if isinstance(i, exp.Alias)}
    names = _names(items)
    added: list[exp.Expr] = []
    over = list(condition.find_all(exp.Window))
    calls = [n for n in condition.walk() if is_aggregate_call(n) and not any(inside(n, window) for window in over)]
    for node in [*over, *calls]:
        text = render(node)
        if text not in known:
            known[text] = numbered("rank_", 1, names | set(known.values()))
            added.append(exp.alias_(node.copy(), known[text]))
        node.replace(exp.column(known[text]))
    return added


def _take_columns(outer: exp.Select, items: list[exp.Expr], added: list[exp.Expr]) -> list[exp.Expr]:
    """Remove qualifiers of columns above the derived table -> the items to add to its SELECT for them."""
    names = _names(items) | {item.alias for item in added}
    star = any(item.is_star for item in items)
    needed: list[exp.Expr] = []
    above = [part for key in ("where", *_AFTER) if isinstance(part := outer.args.get(key), exp.Expr)]
    for column in [column for part in above for column in part.find_all(exp.Column)]:
        name = column.name.lower()
        if name not in names and not star:
            needed.append(column.copy())
            names.add(name)
        column.replace(exp.column(column.this.copy()))
    return needed


def _names(items: list[exp.Expr]) -> set[str]:
    return {i.alias_or_name.lower() for i in items if i.alias_or_name}


def _outputs(items: list[exp.Expr], added: list[exp.Expr]) -> list[exp.Expr]:
    if not any(item.is_star for item in items):
        return [exp.column(i.args["alias" if isinstance(i, exp.Alias) else "this"].copy()) for i in items]
    hidden = [exp.to_identifier(a.alias_or_name) for a in added]
    return [exp.Star(except_=hidden) if hidden else exp.Star()]


def _is_named(item: exp.Expr) -> bool:
    return item.is_star or isinstance(item, (exp.Alias, exp.Column))
