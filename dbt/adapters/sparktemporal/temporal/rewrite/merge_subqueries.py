"""Merge nested temporal SELECTs into one, where each row of the outer SELECT comes from one row of the inner SELECT.

    select id from (select id, due from t where mz_now() < hi) as x where mz_now() >= x.due
      ->  select id from (select id, due, hi as mz_h0 from t) as x where mz_now() >= x.due and mz_now() < x.mz_h0

A SELECT between the two that only passes rows on (`with x as (select * from y)`) gets the inner predicate first. A run
then solves both predicates together. Otherwise each read would evaluate one predicate over all rows of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import conjuncts_of
from ..sql.names.bind import sources_of
from ..sql.names.ctes import inside, reads_of, remove_cte, table_names, visible_ctes
from ..sql.names.linear import is_inside_a_value, is_linear, kept_one_by_one
from ..sql.names.projection import expand_stars, inner_stars, with_field_name
from ..sql.names.scope import Describe, column_of, derived, quote_name, row_columns
from ..sql.text.dialect import (
    has_clock,
    has_other_parts,
    mz_now_calls,
    render,
    set_where,
    shown_as,
    without,
)

_COLUMN = "mz_h"


def merge_nested(tree: exp.Query, describe: Describe) -> exp.Query:
    """The tree of a model -> the tree with predicates of inner SELECTs moved to outer SELECTs with predicates."""
    if len(list(mz_now_calls(tree))) < 2:
        return tree
    tree = _each_its_own(tree)
    numbers = count()
    left = len(list(tree.find_all(exp.Select)))
    while left:  # inner SELECTs first; each may become part of the next
        left -= 1
        if not _inner_ones(list(tree.find_all(exp.Select))[left], tree):
            continue
        tree = _merged(tree, left, describe, numbers)
    return tree


def _each_its_own(tree: exp.Query) -> exp.Query:
    """The tree with a copy of each temporal CTE for each of its readers, where all readers have predicates."""
    changed = tree.copy()
    for name, cte in reversed(_temporal_ctes(changed).items()):
        reads = reads_of(name, changed)
        body = cte.this
        if len(reads) < 2 or cte.alias_column_names or not isinstance(body, exp.Select) or not _gives_up(body, changed):
            continue
        if all(_is_read_by_the_clock(table) for table in reads):
            for table in reads:
                table.replace(derived(body.copy(), table.alias_or_name))
            remove_cte(cte)
    return changed


def _is_read_by_the_clock(item: exp.Expr) -> bool:
    """Whether the rows of an item of a FROM are used one by one, below a predicate over the clock."""
    reader = item.parent.parent if isinstance(item.parent, (exp.From, exp.Join)) else None
    plain = not has_other_parts(item, ("this", "alias"))
    if not isinstance(reader, exp.Select) or not plain or item.alias_column_names or is_inside_a_value(reader):
        return False
    if not any(item is one for one in kept_one_by_one(reader)):
        return False
    if any(_belongs_to(call, reader) for call in mz_now_calls(reader)):
        return True
    above = reader.parent
    return _is_plain(reader) and isinstance(above, exp.Subquery) and _is_read_by_the_clock(above)


def _merged(tree: exp.Query, at: int, describe: Describe, numbers: count[int]) -> exp.Query:
    """The tree with the predicates below its SELECT number `at` moved to this SELECT.

    The tree itself where a star cannot be written out.
    """
    changed = tree.copy()
    outer = list(changed.find_all(exp.Select))[at]
    try:
        for _, inner in _inner_ones(outer, changed):
            _pull_up(inner, changed, describe, numbers)
        _merge(outer, _inner_ones(outer, changed), describe, numbers)
    except Refusal:  # a star that cannot be written out: the inner predicate is evaluated by itself
        return tree
    return changed


def _pull_up(between: exp.Select, tree: exp.Expr, describe: Describe, numbers: count[int]) -> None:
    """Move the predicates of the SELECTs below to a SELECT that passes rows on."""
    if _passes_on(between, tree):
        below = _inner_ones(between, tree, passing=True)
        for _, inner in below:
            _pull_up(inner, tree, describe, numbers)
        _merge(between, below, describe, numbers)


def _inner_ones(outer: exp.Select, tree: exp.Expr, passing: bool = False) -> list[tuple[exp.Expr, exp.Select]]:
    """(item of the FROM, SELECT) for each temporal SELECT below a temporal SELECT; none unless all can be merged.

    passing: whether the outer SELECT only passes rows on, without a predicate of its own.
    """
    own = [call for call in mz_now_calls(outer) if _belongs_to(call, outer)]
    if not own and not passing or any(inner_stars(outer)):
        return []
    temporal = _temporal_ctes(tree)
    found: list[tuple[exp.Expr, exp.Select]] = []
    for item in kept_one_by_one(outer):
        inner = _body(item, tree, temporal)
        if isinstance(inner, exp.Select) and not item.alias_column_names and _gives_up(inner, tree):
            found.append((item, inner))
    return [] if _has_more_clocks(outer, own, found, temporal) else found


def _has_more_clocks(
    outer: exp.Select, own: list[exp.Expr], found: list[tuple[exp.Expr, exp.Select]], temporal: Mapping[str, exp.CTE]
) -> bool:
    """Whether a SELECT depends on the clock beside its own calls and the SELECTs found below."""
    with_ = outer.args.get("with_")
    below = [*own, *(inner for _, inner in found), *filter(None, [with_])]
    if not all(any(inside(call, one) for one in below) for call in mz_now_calls(outer)):
        return True
    others = [table for table in outer.find_all(exp.Table) if not any(table is item for item, _ in found)]
    return any(_is_named(table, temporal) and not (with_ and inside(table, with_)) for table in others)


def _body(item: exp.Expr, tree: exp.Expr, temporal: Mapping[str, exp.CTE]) -> exp.Expr | None:
    """The query behind an item of a FROM: a derived table, or a temporal CTE that nothing else reads."""
    if has_other_parts(item, ("this", "alias")):
        return None  # a PIVOT makes other rows of these
    body: exp.Expr | None = item.this if isinstance(item, exp.Subquery) else None
    if isinstance(item, exp.Table) and _is_named(item, temporal):
        cte = temporal[item.name.lower()]
        body = cte.this if len(reads_of(item.name, tree)) == 1 and not cte.alias_column_names else None
    return body


def _is_named(table: exp.Table, ctes: Mapping[str, exp.CTE]) -> bool:
    return not table.db and table.name.lower() in ctes


def _belongs_to(call: exp.Expr, select: exp.Select) -> bool:
    """Whether a call decides about the rows of a SELECT: it stands in the WHERE, outside of subqueries."""
    node = call
    while node.parent is not None and node.parent is not select:
        node = node.parent
        if isinstance(node, exp.Query):
            return False
    return node.arg_key == "where"


def _gives_up(inner: exp.Select, tree: exp.Expr) -> bool:
    """Whether all predicates over the clock of a SELECT can be moved to the outer SELECT."""
    return (has_clock(inner) and can_give_up(inner)) or _passes_on(inner, tree)


def _passes_on(between: exp.Select, tree: exp.Expr) -> bool:
    """Whether a SELECT keeps the rows of temporal SELECTs one by one and has no predicate over the clock itself."""
    if not _is_plain(between) or any(_belongs_to(call, between) for call in mz_now_calls(between)):
        return False
    return bool(_inner_ones(between, tree, passing=True))


def _is_plain(select: exp.Select) -> bool:
    return is_linear(select) and not select.args.get("with_") and not select.args.get("laterals")


def can_give_up(inner: exp.Select) -> bool:
    if not _is_plain(inner) or not all(_belongs_to(call, inner) for call in mz_now_calls(inner)):
        return False
    temporal = [c for c in conjuncts_of(inner) if has_clock(c)]
    return not any(c.find(exp.Query) for c in temporal)


def _merge(
    outer: exp.Select, found: list[tuple[exp.Expr, exp.Select]], describe: Describe, numbers: count[int]
) -> None:
    moved: list[exp.Expr] = []
    added: list[exp.Expr] = []
    for number, (item, inner) in enumerate(found):
        own = len(inner.expressions)
        if not item.alias_or_name:
            item.set("alias", exp.TableAlias(this=quote_name(f"mz_source_h{number}")))
        moved += give_up(inner, item.alias_or_name, numbers)
        added += inner.expressions[own:]
    if any(item.is_star for item in outer.expressions):
        rows = without(outer, "where")
        visible = [cte for cte in visible_ctes(outer) if not has_clock(cte)]
        expand_stars(outer, sources_of(rows, describe, visible).without({item.alias for item in added}))
    add_to_where(outer, moved)


def give_up(inner: exp.Select, alias: str, numbers: count[int]) -> list[exp.Expr]:
    """Take the predicates over the clock out of a SELECT, in place -> predicates for the query around the SELECT.

    alias: the name by which the query around reads the SELECT.
    """
    every = conjuncts_of(inner)
    static = [c for c in every if not has_clock(c)]
    moved = _moved_up([c for c in every if has_clock(c)], inner, alias, numbers)
    set_where(inner, static)
    return moved


def add_to_where(select: exp.Select, predicates: list[exp.Expr]) -> None:
    """Add conjuncts to the WHERE of a SELECT, in place."""
    where = select.args.get("where")
    set_where(select, [*([where.this] if where is not None else []), *predicates])


def _moved_up(predicates: list[exp.Expr], inner: exp.Select, alias: str, numbers: count[int]) -> list[exp.Expr]:
    """Predicates of a SELECT -> predicates for the query that names the SELECT `alias`.

    The SELECT gets the columns of the predicates as items.
    """
    names: dict[str, str] = {}
    moved = []
    for predicate in predicates:
        rewritten = exp.Paren(this=predicate.copy())
        for column in row_columns(rewritten):
            text = render(column)
            if text not in names:
                names[text] = f"{_COLUMN}{next(numbers)}"
                inner.append("expressions", exp.alias_(column.copy(), names[text], quoted=True))
            column.replace(with_field_name(column, shown_as(column_of(alias, names[text]), column)))
        moved.append(rewritten.this)
    return moved


def _temporal_ctes(tree: exp.Expr) -> dict[str, exp.CTE]:
    """The CTEs whose rows depend on the clock, directly or through a CTE that they read, by name."""
    ctes = {cte.alias.lower(): cte for cte in tree.find_all(exp.CTE)}
    found = {name for name, cte in ctes.items() if has_clock(cte)}
    while True:
        more = {name for name, cte in ctes.items() if name not in found and table_names(cte.this) & found}
        if not more:
            return {name: cte for name, cte in ctes.items() if name in found}
        found |= more
