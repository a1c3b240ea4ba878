"""Move the predicates over the clock from the sources of a SELECT to its own WHERE: the SELECT becomes a core.

    select b.id from b join (select * from p where mz_now() < at) as x on x.k = b.k
      ->  select b.id from b join (select *, at as mz_h0 from p) as x on x.k = b.k where mz_now() < x.mz_h0

`merge_subqueries` does so where the SELECT has a predicate of its own. Here the SELECT needs none, and each read of a
CTE becomes a copy of its query.
"""

from __future__ import annotations

from itertools import count

from sqlglot import exp

from ..predicates.comparisons import Moves, comparisons, conjuncts_of
from ..sql.functions.calls import generates, nondeterministic
from ..sql.functions.registry import SPARKS
from ..sql.names.ctes import with_ctes
from ..sql.names.linear import is_inner, is_linear, kept_one_by_one, merges_columns
from ..sql.names.projection import inner_stars
from ..sql.names.scope import derived
from ..sql.text.dialect import has_clock, has_other_parts, set_where
from ..sql.text.identifiers import folded
from .merge_subqueries import add_to_where, can_give_up, give_up
from .stays import Stays

_NONE = exp.null()


def with_window_above(select: exp.Select, visible: list[exp.CTE]) -> exp.Select:
    """Move the predicates over the clock from the SELECTs below a SELECT to its WHERE, in place. Raises Stays."""
    return _flat(select, visible, count())


def _flat(select: exp.Select, visible: list[exp.CTE], numbers: count[int]) -> exp.Select:
    joins = select.args.get("joins") or []
    if not is_linear(select) or not select.args.get("from_") or nondeterministic(select) is not None:
        raise Stays
    if not all(map(_is_of_one_row, select.expressions)) or any(inner_stars(select)):
        raise Stays
    if any(select.args.get(key) for key in ("with_", "laterals", "hint")):
        raise Stays
    if any(merges_columns(join) or has_clock(join.args.get("on") or _NONE) for join in joins):
        raise Stays
    if any(not is_inner(join) and (join.side != "LEFT" or has_window(join.this, visible)) for join in joins):
        raise Stays
    for item in kept_one_by_one(select):
        _pull_up(item, select, visible, numbers)
    return select


def _is_of_one_row(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list calls only functions of Spark, none of which is a generator."""
    return all(call.name.lower() in SPARKS and not generates(call) for call in item.find_all(exp.Anonymous))


def pull_up_windows(select: exp.Select, visible: list[exp.CTE], moves: Moves) -> None:
    """Move predicates over the clock from the sources of a SELECT to its WHERE, in place: the SELECT becomes a core.

    Raises Stays where the clock stands elsewhere too, or where a predicate is more than comparisons of the clock.
    """
    own, numbers = conjuncts_of(select), count()
    if any(has_clock(part) and part.find(exp.Query) for part in own):
        raise Stays
    set_where(select, [])
    for item in kept_one_by_one(select):  # a WHERE is above the side that an outer join fills with NULLs
        _pull_up(item, select, visible, numbers)
    moved = conjuncts_of(select)
    if any(comparisons(part, moves) is None for part in moved):
        raise Stays
    set_where(select, [*own, *moved])
    read = [select.args["from_"], *(select.args.get("joins") or [])]
    if any(has_window(one.this, visible) or has_clock(one.args.get("on") or _NONE) for one in read):
        raise Stays


def has_window(item: exp.Expr, visible: list[exp.CTE]) -> bool:
    """Whether an item of a FROM reads the clock, itself or by a CTE."""
    return has_clock(with_ctes(exp.select("1").from_(item.copy()), visible))


def _pull_up(item: exp.Expr, select: exp.Select, visible: list[exp.CTE], numbers: count[int]) -> None:
    """Move the predicates over the clock of an item of a FROM to the WHERE of the SELECT, in place."""
    if not has_window(item, visible):
        return
    body = _body(item, visible)
    if not isinstance(body, exp.Select) or has_other_parts(item, ("this", "alias")) or not item.alias_or_name:
        raise Stays
    below = _flat(body.copy(), visible, numbers)
    if item.alias_column_names or not can_give_up(below):
        raise Stays
    moved = give_up(below, item.alias_or_name, numbers)
    item.replace(derived(below, item.alias_or_name))
    add_to_where(select, moved)


def _body(item: exp.Expr, visible: list[exp.CTE]) -> exp.Expr | None:
    """The query behind an item of a FROM. A CTE has a name that no table below has, see `ParsedModel`."""
    if isinstance(item, exp.Table) and not item.db:
        named = [cte for cte in visible if folded(cte.alias) == folded(item.name)]
        return named[-1].this if named and not named[-1].alias_column_names else None
    return item.this if isinstance(item, exp.Subquery) else None
