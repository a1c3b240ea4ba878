"""UNION of SELECTs over the clock -> a DISTINCT over their UNION ALL, which can be kept per group.

    select k from t where mz_now() < t.hi union select k from u where mz_now() < u.hi
      ->  select distinct * from (select k from t where mz_now() < t.hi
                                  union all select k from u where mz_now() < u.hi) as mz_union

Spark reads a UNION as this DISTINCT. Without the rule rows are kept one by one, and each read compares them all.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ..sql.names.ctes import is_recursive, named_ctes
from ..sql.names.linear import is_inside_a_value, is_linear, names_columns
from ..sql.names.scope import derived
from ..sql.text.dialect import has_clock, has_other_parts, put_in
from .union_groups import leaves_of

_ALIAS = "mz_union"


def write_out_unions(tree: exp.Query) -> exp.Query:
    """The tree of a model -> the tree with a DISTINCT for each UNION of linear SELECTs that all have the clock."""
    for union in reversed(list(tree.find_all(exp.Union))):  # inner ones first
        if _is_candidate(union):
            tree = put_in(tree, union, _distinct(union.copy()))
    return tree


def _is_candidate(union: exp.Union) -> bool:
    plain = type(union) is exp.Union and not has_other_parts(union, ("this", "expression", "distinct", "with_"))
    if not plain or not union.args.get("distinct") or _is_side(union):
        return False
    if not names_columns(union) or is_inside_a_value(union) or any(map(is_recursive, _around(union))):
        return False
    sides = [leaves_of(side, distinct=True) for side in (union.args["this"], union.args["expression"])]
    return all(leaves is not None and all(map(_keeps_rows, leaves)) for leaves in sides)


def _keeps_rows(select: exp.Select) -> bool:
    """Whether a SELECT is linear, and has the clock in its text or in a CTE that it names."""
    return is_linear(select) and (has_clock(select) or any(map(has_clock, named_ctes(select))))


def _is_side(query: exp.Expr) -> bool:
    """Whether a query is a side of a set operation, also in parentheses."""
    above = query.parent
    while isinstance(above, exp.Subquery) and not has_other_parts(above, ("this",)):
        above = above.parent
    return isinstance(above, exp.SetOperation)


def _around(query: exp.Expr) -> Iterator[exp.CTE]:
    """The CTEs that a query stands in."""
    cte = query.find_ancestor(exp.CTE)
    while cte is not None:
        yield cte
        cte = cte.find_ancestor(exp.CTE)


def _distinct(union: exp.Union) -> exp.Select:
    with_ = union.args.get("with_")
    union.set("with_", None)
    _keep_all(union)
    found = exp.select("*").from_(derived(union, _ALIAS)).distinct()
    found.set("with_", with_)
    return found


def _keep_all(query: exp.Expr) -> None:
    """Turn each UNION above the leaves into a UNION ALL, in place: the DISTINCT above removes duplicates."""
    if isinstance(query, exp.Subquery):
        _keep_all(query.this)
    elif isinstance(query, exp.Union):
        query.set("distinct", False)
        for side in (query.args["this"], query.args["expression"]):
            _keep_all(side)
