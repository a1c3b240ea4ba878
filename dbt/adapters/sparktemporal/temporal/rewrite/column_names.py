"""Write out the names that Spark gives to columns without an alias, so that a rewrite keeps them.

    select k, count(*) from t where <temporal> group by k
      ->  select k, count(*) as `count(1)` from t where <temporal> group by k

Spark refuses generated names in a view. And an aggregate that is kept per group becomes another expression, to which
Spark gives another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import generates
from ..sql.names.ctes import visible_ctes, with_ctes
from ..sql.names.linear import names_columns
from ..sql.names.scope import Describe
from ..sql.spark.errors import SparkError
from ..sql.text.dialect import expression, fragment, has_clock, is_mz_now, suggested, without

#: (number of a SELECT in the order of the tree, number of an item of its list) -> name of the column
Names = Mapping[tuple[int, int], str]

#: the names of columns that nobody sees
_UNSEEN = "mz_unseen_"
_NOT_NAMING = ("having", "order", "limit", "offset", "sort", "cluster", "distribute")


def names_of(tree: exp.Expr, describe: Describe, clock: Callable[[], Mapping[int, str]]) -> Names:
    """The names that Spark generates for columns without an alias, where somebody sees them.

    Columns with mz_now() in them are left out, and so is a SELECT that Spark does not take by itself.
    clock: offset of a call of mz_now() -> SQL of an instant in its place, so that Spark can describe a query.
    Raises Refusal where a name is not known.
    """
    found: dict[tuple[int, int], str] = {}
    instants: Mapping[int, str] | None = None
    for number, select in enumerate(tree.find_all(exp.Select)):
        items = select.expressions
        nameless = [i for i, item in enumerate(items) if _is_nameless(item)]
        if not nameless or not _can_be_named(select):
            continue
        instants = clock() if instants is None else instants
        try:
            names = [name for name, _ in describe(_probe(select, instants))]
        except SparkError:  # no query by itself, or a wrong one; the error of the model's own text follows later
            continue
        known = dict(_aligned(items, names))
        for i in nameless:
            if i not in known:
                raise Refusal(
                    "ST331",
                    fragment(items[i]),
                    "its name is not known beside an item that stands for several columns",
                    f"{suggested(items[i])} AS a_name",
                )
            found[(number, i)] = known[i]
    return found


def with_names(tree: exp.Expr, names: Names) -> None:
    """Give columns these names as aliases, in place.

    In a SELECT whose own names nobody sees (see `_is_renamed`), unnamed items with the clock get helper names.
    """
    selects = list(tree.find_all(exp.Select))
    for (number, place), name in names.items():
        _name(selects[number].expressions[place], name)
    for select in selects:
        if _is_renamed(select):
            for place, item in enumerate(select.expressions):
                if not isinstance(item, (exp.Alias, exp.Aliases)) and has_clock(item) and not _is_several(item):
                    _name(item, f"{_UNSEEN}{place}")


def _name(item: exp.Expr, name: str) -> None:
    item.replace(exp.alias_(item.copy(), name, quoted=True))


def _is_nameless(item: exp.Expr) -> bool:
    named = isinstance(item, (exp.Alias, exp.Aliases, exp.Column))
    return not named and not _is_several(item) and not has_clock(item)


def _is_several(item: exp.Expr) -> bool:
    call = item.this if isinstance(item, (exp.Alias, exp.Aliases)) else item
    return item.is_star or generates(call)


def _can_be_named(select: exp.Select) -> bool:
    """Whether the column names of a SELECT are visible to a reader or an outer query."""
    return not _is_renamed(select) and names_columns(select) and select.find_ancestor(exp.Lateral) is None


def _is_renamed(select: exp.Select) -> bool:
    """Whether the columns of a SELECT have their names elsewhere: in the first branch of a UNION, in `AS t(a, b)`."""
    node: exp.Expr = select
    while isinstance(node.parent, (exp.SetOperation, exp.Subquery)):
        if isinstance(node.parent, exp.SetOperation) and node.arg_key == "expression":
            return not node.parent.args.get("by_name")
        if node.parent.alias_column_names:
            return True
        node = node.parent
    return node.parent is not None and bool(node.parent.alias_column_names)


def _probe(select: exp.Select, instants: Mapping[int, str]) -> exp.Query:
    probe = with_ctes(without(select, *_NOT_NAMING), visible_ctes(select))
    return cast("exp.Query", probe.transform(lambda n: expression(instants[n.meta["start"]]) if is_mz_now(n) else n))


def _aligned(items: list[exp.Expr], names: list[str]) -> Iterator[tuple[int, str]]:
    """(place, name) of each item before the first and after the last item that stands for several columns."""
    several = [i for i, item in enumerate(items) if _is_several(item)]
    if not several:
        yield from enumerate(names) if len(names) == len(items) else ()
        return
    yield from enumerate(names[: several[0]])
    after = len(items) - several[-1] - 1
    for back in range(1, after + 1):
        yield len(items) - back, names[-back]
