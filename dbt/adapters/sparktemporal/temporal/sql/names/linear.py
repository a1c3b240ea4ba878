"""Linearity of a SELECT: whether each row of the result comes from one input row, or several rows make one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ..functions.calls import is_aggregate_call
from ..text.dialect import has_clock

#: the clauses of a SELECT that work on the rows of its FROM and WHERE
ABOVE_ROWS = (
    "expressions", "group", "having", "distinct", "qualify", "windows", "order", "limit", "offset", "sort", "cluster",
    "distribute",
)  # fmt: skip
#: nodes around an aggregate for which the order of the rows counts
ORDERED = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
#: nodes around an aggregate that belong to it
AROUND = (exp.Filter, *ORDERED)


def is_linear(select: exp.Select) -> bool:
    """Whether each row of the result comes from one input row alone, and no item reads the clock."""
    if any(select.args.get(key) for key in ABOVE_ROWS[1:]):
        return False
    for item in select.expressions:
        if has_clock(item):
            return False
        for node in item.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window) or is_aggregate_call(node):
                return False
    return True


def is_aggregation(select: exp.Select) -> bool:
    if select.args.get("group"):
        return True
    above = [*select.expressions, *filter(None, (select.args.get("having"), select.args.get("order")))]
    own = (n for item in above for n in item.walk(prune=lambda n: isinstance(n, exp.Query)))
    return any(map(is_over_groups, own))


def makes_groups(select: exp.Select) -> bool:
    """Whether several rows may become one row of the result, by groups or SELECT DISTINCT."""
    return is_aggregation(select) or bool(select.args.get("distinct"))


def is_over_groups(node: exp.Expr) -> bool:
    """Whether a node is an aggregate over the rows of a group, and no window function."""
    whole = node
    while isinstance(whole.parent, AROUND):
        whole = whole.parent
    return is_aggregate_call(node) and not (isinstance(whole.parent, exp.Window) and whole.arg_key == "this")


def grouping_expressions(group: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions of a GROUP BY, through ROLLUP, CUBE, GROUPING SETS and their tuples."""
    nested = (exp.Rollup, exp.Cube, exp.GroupingSets)
    for node in group.iter_expressions():
        if isinstance(node, nested):
            yield from grouping_expressions(node)
        elif isinstance(group, nested) and isinstance(node, (exp.Tuple, exp.Paren)):
            yield from node.expressions if isinstance(node, exp.Tuple) else [node.this]
        else:
            yield node


def first_source(select: exp.Select) -> exp.Expr | None:
    from_ = select.args.get("from_")
    return from_.this if from_ is not None else None


def over_rows_of(select: exp.Select, *items: exp.Expr) -> exp.Select:
    """A SELECT of items over a copy of another SELECT's FROM, joins and laterals, without any other clause."""
    copied = select.copy()
    return exp.Select(expressions=list(items), **{key: copied.args.get(key) for key in ("from_", "joins", "laterals")})


def kept_one_by_one(select: exp.Select) -> Sequence[exp.Expr]:
    """The sources of a FROM whose rows are used one by one.

    Not among them are sources that an outer join fills with NULLs, and the right side of a SEMI or ANTI join.
    """
    first = first_source(select)
    kept = [first] if first is not None else []
    for join in select.args.get("joins") or []:
        if only_filters(join) or join.side == "LEFT":
            continue
        if join.side == "RIGHT":
            kept = [join.this]
        elif not is_inner(join):
            kept = []
        else:
            kept.append(join.this)
    return kept


def only_filters(join: exp.Join) -> bool:
    """Whether a join is a SEMI or ANTI join: it filters the left side, and has no columns of the right side."""
    return join.kind in ("SEMI", "ANTI")


def merges_columns(join: exp.Join) -> bool:
    return bool(join.args.get("using")) or join.method == "NATURAL"


def is_inner(join: exp.Join) -> bool:
    return not join.side and join.kind in ("", "INNER", "CROSS")


def names_columns(select: exp.Expr | None) -> bool:
    """Whether the outer query can name the columns of a SELECT: not below EXISTS, IN or a scalar subquery."""
    above = select.parent if select is not None else None
    while isinstance(above, (exp.SetOperation, exp.Subquery)):
        above = above.parent
    return above is None or isinstance(above, (exp.CTE, exp.From, exp.Join))


def is_inside_a_value(select: exp.Expr) -> bool:
    """Whether a query stands below EXISTS, IN or a scalar subquery, at any depth."""
    node = select
    while node.parent is not None:
        if isinstance(node, exp.Query) and not names_columns(node):
            return True
        node = node.parent
    return False
