"""Keep correlated subqueries of a SELECT list apart from the UNION ALL of the chains below.

    select id, (select max(x) from o where o.k = t.k) from mz_core_c0 as t
      ->  … from mz_core_c0 as t lateral view explode(array(0)) mz_apart as mz_one

Spark pushes the items of a SELECT into the branches of a UNION ALL right below. With a correlated subquery among the
items its optimizer fails (`key not found`, SPARK-59042). A lateral view with one row for each row prevents this push;
filters and projections still pass.
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.dialect import parse

_APART = parse("SELECT 1 FROM t LATERAL VIEW explode(array(0)) mz_apart AS mz_one").args["laterals"][0]


def keep_apart(residual: exp.Expr) -> None:
    """Add the lateral view, in place, to SELECTs over one source with subqueries among their items and no star."""
    for select in residual.find_all(exp.Select):
        above = [*select.expressions, *filter(None, (select.args.get("order"), select.args.get("windows")))]
        nested = any(n.find(exp.From) for item in above for n in _nodes(item) if isinstance(n, exp.Query))
        over_one = select.args.get("from_") is not None and not select.args.get("joins")
        if nested and over_one and not select.args.get("laterals") and not any(i.is_star for i in select.expressions):
            select.set("laterals", [_APART.copy()])


def _nodes(item: exp.Expr | list[exp.Expr]) -> list[exp.Expr]:
    return [n for i in item for n in i.walk()] if isinstance(item, list) else list(item.walk())
