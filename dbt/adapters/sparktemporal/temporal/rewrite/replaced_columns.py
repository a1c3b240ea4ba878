"""The operator `|> SET`, as a SELECT of all columns.

    from t |> set v = v + 1  ->  SELECT id, v + 1 AS v FROM t

A SELECT of Spark has no clause that replaces a column.
"""

from __future__ import annotations

from sqlglot import exp

from ..sql.names.bind import columns_of
from ..sql.names.ctes import visible_ctes
from ..sql.names.scope import Describe, quote_name
from ..sql.text.identifiers import folded
from ..sql.text.pipes import around, replaced_columns


def write_out_sets(tree: exp.Expr, describe: Describe) -> None:
    """Write out the columns of each SELECT that replaces some, in place; inner SELECTs first."""
    for select in list(tree.find_all(exp.Select)):
        while len(replaced_columns(select)) > 1:
            _take_last(select)
    for select in reversed(list(tree.find_all(exp.Select))):
        for item in replaced_columns(select):
            rows, found = select.copy(), folded(item.alias)
            rows.set("expressions", [exp.Star()])
            names = [name for name, _ in columns_of(rows, describe, visible_ctes(select))]
            select.set("expressions", [item if folded(n) == found else exp.column(quote_name(n)) for n in names])


def _take_last(select: exp.Select) -> None:
    """Move all but the last assignment to a SELECT below, since an assignment sees the ones before it."""
    below = select.copy()
    *others, last = replaced_columns(below)
    below.set("expressions", [exp.Star(replace=others)])
    above = around(below)
    above.set("expressions", [exp.Star(replace=[last])])
    for key in [*select.args, *above.args]:
        select.set(key, above.args.get(key))
