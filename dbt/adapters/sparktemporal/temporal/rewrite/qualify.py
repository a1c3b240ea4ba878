"""QUALIFY, which Spark does not have: a refusal with the equivalent query for Spark.

select id, k from t where mz_now() < due qualify row_number() over (partition by k order by ts) = 1
  ->  select id, k from (select id, k, row_number() over (partition by k order by ts) as mz_w from t where ...)
      where mz_w = 1
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from ...errors import Refusal
from ..sql.calls import is_aggregate_call
from ..sql.dialect import fragment, render, suggested

#: clauses above the rows that QUALIFY leaves
_AFTER = ("order", "limit", "offset", "sort", "cluster", "distribute")


def refuse_qualify(tree: exp.Query) -> None:
    """Refuse a model with QUALIFY. The whole model without it is what to write instead."""
    select = _first(tree)
    if select is None:
        return
    condition = select.args["qualify"]
    raise Refusal(
        f"QUALIFY {fragment(condition.this)}",
        "Spark has no QUALIFY: it filters by a window function in the outer query",
        suggested(_without(tree)),
    )


def _first(tree: exp.Expr) -> exp.Select | None:
    return next((s for s in tree.find_all(exp.Select) if s.args.get("qualify")), None)


def _without(tree: exp.Query) -> exp.Query:
    tree = tree.copy()
    while (select := _first(tree)) is not None:
        outer = _filtered(select)
        if select is tree:
            tree = outer
        else:
            select.replace(outer)
    return tree


def _filtered(select: exp.Select) -> exp.Select:
    """The equivalent filter over a derived table."""
    inner = select.copy()
    condition = inner.args["qualify"].this
    outer = exp.select()
    outer.set("with_", inner.args.get("with_"))
    for key in ("qualify", "with_"):
        inner.set(key, None)
    items = [
        item if _is_named(item) else exp.alias_(item, f"column_{n}") for n, item in enumerate(inner.expressions, 1)
    ]
    known = {render(i.this): i.alias for i in items if isinstance(i, exp.Alias)}
    names = {i.alias_or_name.lower() for i in items if i.alias_or_name}
    fresh = (name for n in count(1) if (name := f"rank_{n}") not in names)
    added: list[exp.Expr] = []
    around = exp.Paren(this=condition)
    over = list(around.find_all(exp.Window))
    calls = [n for n in around.walk() if is_aggregate_call(n) and not any(n is w or _inside(n, w) for w in over)]
    for node in [*over, *calls]:
        text = render(node)
        if text not in known:
            known[text] = next(fresh)
            added.append(exp.alias_(node.copy(), known[text]))
        node.replace(exp.column(known[text]))
    outer.set("where", exp.Where(this=around))
    for key in _AFTER:
        outer.set(key, inner.args.get(key))
        inner.set(key, None)
    if inner.args.get("distinct"):
        outer.set("distinct", inner.args["distinct"])
        inner.set("distinct", None)
    star = any(item.is_star for item in items)
    above = [part for key in ("where", *_AFTER) if isinstance(part := outer.args.get(key), exp.Expr)]
    for column in [column for part in above for column in part.find_all(exp.Column)]:
        name = column.name.lower()
        if name not in names | {a.alias for a in added} and not star:
            added.append(column.copy())
            names.add(name)
        column.replace(exp.column(column.this.copy()))
    outer.args["where"].set("this", around.this)
    inner.set("expressions", [*items, *added])
    outer.set("expressions", _outputs(items, added))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner)))
    return outer


def _outputs(items: list[exp.Expr], added: list[exp.Expr]) -> list[exp.Expr]:
    if not any(item.is_star for item in items):
        return [exp.column(i.args["alias" if isinstance(i, exp.Alias) else "this"].copy()) for i in items]
    hidden = [exp.to_identifier(a.alias_or_name) for a in added]
    return [exp.Star(except_=hidden) if hidden else exp.Star()]


def _is_named(item: exp.Expr) -> bool:
    return item.is_star or isinstance(item, (exp.Alias, exp.Column))


def _inside(node: exp.Expr, ancestor: exp.Expr) -> bool:
    return any(n is node for n in ancestor.walk())
