"""The operator `|> SET`, as a SELECT of all columns.

    from t |> set v = v + 1  ->  SELECT id, v + 1 AS v FROM t

No clause of a SELECT replaces a column.
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.ctes import visible_ctes, with_ctes
from ..sql.dialect import expression, has_clock, is_mz_now, render
from ..sql.scope import Describe, quote_name


def write_out_sets(tree: exp.Expr, describe: Describe) -> None:
    """Write out the columns of each SELECT that replaces one, in place; inner SELECTs first."""
    for select in reversed(list(tree.find_all(exp.Select))):
        star = select.expressions[0] if select.expressions else None
        replaced = star.args.get("replace") if isinstance(star, exp.Star) else None
        if not replaced:
            continue
        by_name = {item.alias.lower(): item for item in replaced}
        names = [name for name, _ in describe(render(_without_clock(select)))]
        items = [by_name.get(name.lower()) or exp.column(quote_name(name)) for name in names]
        select.set("expressions", items)


def _without_clock(select: exp.Select) -> exp.Select:
    """A query with the columns of the rows of a SELECT: which rows there are does not matter."""
    probe = select.copy()
    probe.set("expressions", [exp.Star()])
    probe.set("where", None)
    with_ctes(probe, visible_ctes(select))
    for below in probe.find_all(exp.Where):
        if has_clock(below):
            below.set("this", exp.true())
    return probe.transform(lambda node: expression("timestamp_millis(0L)") if is_mz_now(node) else node)
