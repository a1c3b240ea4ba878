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
from ..sql.dialect import fragment, render

#: clauses above the rows that QUALIFY leaves
_AFTER = ("order", "limit", "offset", "sort", "cluster", "distribute")


def refuse_qualify(tree: exp.Expr) -> None:
    select = next((s for s in tree.find_all(exp.Select) if s.args.get("qualify")), None)
    if select is None:
        return
    condition = select.args["qualify"]
    raise Refusal(
        f"QUALIFY {fragment(condition.this)}",
        "Spark has no QUALIFY: it filters by a window function in the outer query",
        _without(select),
    )


def _without(select: exp.Select) -> str:
    """The equivalent filter over a derived table."""
    inner = select.copy()
    condition = inner.args["qualify"].this
    inner.set("qualify", None)
    inner.set("with_", None)
    outer = exp.select()
    for key in _AFTER:
        after = inner.args.get(key)
        for column in list(after.find_all(exp.Column)) if isinstance(after, exp.Expr) else []:
            column.set("table", None)
        outer.set(key, after)
        inner.set(key, None)
    if inner.args.get("distinct"):
        outer.set("distinct", inner.args["distinct"])
        inner.set("distinct", None)
    items = inner.expressions
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
    star = any(item.is_star for item in items)
    for column in list(around.find_all(exp.Column)):
        name = column.name
        if name.lower() not in names | {a.alias for a in added} and not star:
            added.append(column.copy())
            names.add(name.lower())
        column.replace(exp.column(column.this.copy()))
    inner.set("expressions", [*items, *added])
    outer.set("expressions", _outputs(items, added))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner)))
    outer.set("where", exp.Where(this=around.this))
    return render(outer)


def _outputs(items: list[exp.Expr], added: list[exp.Expr]) -> list[exp.Expr]:
    if not any(item.is_star for item in items):
        return [exp.column(exp.to_identifier(i.alias_or_name)) if i.alias_or_name else i.copy() for i in items]
    hidden = [exp.to_identifier(a.alias_or_name) for a in added]
    return [exp.Star(except_=hidden) if hidden else exp.Star()]


def _inside(node: exp.Expr, ancestor: exp.Expr) -> bool:
    return any(n is node for n in ancestor.walk())
