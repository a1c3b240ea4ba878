"""Outer, semi and anti joins, EXISTS and IN over the clock -> joins with the times with or without a partner.

    select b.id from b where not exists (select 1 from p where p.k = b.k and p.at <= mz_now())
      ->  select b.id from b left join <gaps of p by k> as g on b.k = g.mz_partner_k0
          where (g.mz_partner_until is null or mz_now() < g.mz_partner_until) and coalesce(g.mz_partner_open, true)

    select b.id, p.n from b left join p on p.k = b.k and p.at <= mz_now()
      ->  select b.id, p.n from b join p on p.k = b.k where p.at <= mz_now()
          union all select b.id, null as n from b where not exists (…), as above

So a row is stored with the times at which it has no partner, and a read costs in proportion to its answer.
`coverage_sql` computes the gaps. Where it takes more than equal keys and plain comparisons to find the partners, a
read evaluates the join. A read also evaluates an outer join of rows that another evaluation may choose otherwise
(LIMIT, row_number()): rows with partners would come from one choice, and rows without from another.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..predicates.comparisons import Moves, conjuncts, conjuncts_of
from ..sql.functions.calls import depends_on_order, nondeterministic
from ..sql.names.bind import sources_of, typed_columns
from ..sql.names.ctes import eliminate_ctes, visible_ctes, with_ctes
from ..sql.names.linear import is_inside_a_value, is_linear, merges_columns, only_filters, over_rows_of
from ..sql.names.projection import expand_stars, inner_stars, pushdown_projections
from ..sql.names.scope import Describe, Sources, derived
from ..sql.text.dialect import conjunction, has_clock, put_in, set_where
from .coverage_sql import OWN
from .filled_rows import before_join, filled
from .merge_subqueries import add_to_where
from .partners import ALIAS, Key, Partners, partners
from .stays import STAYS, Stays
from .using_to_on import using_to_on
from .windows_above import has_window, pull_up_windows

_JOINED = "mz_joined"
#: each outer join doubles the SELECTs
_MOST = 3


def write_out_outer_joins(tree: exp.Query, describe: Describe, moves: Moves, copies: bool) -> exp.Query:
    """A model's tree -> the tree without outer, semi and anti joins, EXISTS and IN over the clock, where possible.

    copies: False where a view below may choose other rows at each evaluation, so that no rule may copy a part.
    """
    done: list[exp.Select] = []
    while True:  # inner SELECTs first: an outer one takes their rows
        every = [select for select in tree.find_all(exp.Select) if not any(select is one for one in done)]
        select = next((select for select in reversed(every) if _is_candidate(select)), None)
        if select is None:
            eliminate_ctes(tree)
            return tree
        done.append(select)
        try:
            written = _Rewriting(describe, moves, visible_ctes(select), copies).select(select.copy())
        except STAYS:
            continue
        if isinstance(written, exp.SetOperation) and isinstance(select.parent, exp.SetOperation):
            with_ = written.args.get("with_")
            written.set("with_", None)
            written = exp.select("*").from_(derived(written, _JOINED))
            written.set("with_", with_)
        tree = put_in(tree, select, written)


def _is_candidate(select: exp.Select) -> bool:
    """Whether a SELECT has an outer, semi or anti join, an EXISTS or an IN over the clock, and may be rewritten."""
    if is_inside_a_value(select) or not select.args.get("from_") or nondeterministic(select) is not None:
        return False
    if any(select.args.get(key) for key in ("laterals", "hint", "qualify", "kind")):
        return False
    joins = select.args.get("joins") or []
    if any(isinstance(join.this, exp.Lateral) for join in joins):
        return False
    visible = visible_ctes(select)
    return any(_is_temporal(join, select, visible) for join in joins) or any(
        _subquery(part, visible) for part in conjuncts_of(select)
    )


def _is_temporal(join: exp.Join, select: exp.Select, visible: list[exp.CTE]) -> bool:
    """Whether a join is an outer, semi or anti join in which the clock decides which rows have a partner."""
    if not join.side and not only_filters(join):
        return False
    sides = {"RIGHT": [select.args["from_"].this], "FULL": [select.args["from_"].this, join.this]}
    on = join.args.get("on")
    return (
        on is not None and has_clock(on) or any(has_window(side, visible) for side in sides.get(join.side, [join.this]))
    )


@dataclass(frozen=True)
class _Subquery:
    """An EXISTS or IN over the clock."""

    query: exp.Select
    #: whether a partner has to be there
    present: bool
    #: the equality of an IN; None for an EXISTS
    key: Key | None = None


def _subquery(conjunct: exp.Expr, visible: list[exp.CTE]) -> _Subquery | None:
    node, present = conjunct.unnest(), True
    if isinstance(node, exp.Not):
        node, present = node.this.unnest(), False
    query: exp.Expr | None = None
    key = None
    if isinstance(node, exp.Exists):
        query = node.this.unnest()
    elif isinstance(node, exp.In) and present and node.args.get("query") is not None:
        query = node.args["query"].unnest()
        items = query.selects if isinstance(query, exp.Select) else []
        if len(items) != 1 or items[0].find(exp.Star) or isinstance(node.this.unnest(), exp.Tuple):
            return None
        key = Key(node.this.unnest(), items[0].unalias(), False)
    if not isinstance(query, exp.Select) or not has_clock(with_ctes(query.copy(), visible)):
        return None
    return _Subquery(query, present, key)


class _Rewriting:
    def __init__(self, describe: Describe, moves: Moves, visible: list[exp.CTE], copies: bool) -> None:
        self.describe, self.moves, self.visible, self.copies = describe, moves, visible, copies
        self.number = 0

    def select(self, select: exp.Select) -> exp.Query:
        """Rewrite a SELECT, and return the query that takes its place. The SELECT is modified."""
        if any(_is_comma(join) for join in select.args.get("joins") or []) or list(inner_stars(select)):
            raise Stays
        with_ = select.args.get("with_")
        select.set("with_", None)
        self.copies = self.copies and not _chooses(select, self.visible)
        sources = sources_of(select, self.describe, self.visible)
        if any(column.lower().startswith(OWN) for source in sources for column in source.columns):
            raise Stays  # a name without a source would mean two columns
        expand_stars(select, sources)
        for place, join in enumerate(select.args.get("joins") or []):
            if join.args.get("using") and _is_temporal(join, select, self.visible):
                using_to_on(select, join, sources_of(before_join(select, place), self.describe, self.visible))
        self._take_subqueries(select)
        self._take_semi_joins(select)
        outer = sum(_is_temporal(join, select, self.visible) for join in select.args.get("joins") or [])
        if outer > _MOST:
            raise Stays
        written = self._joined(select) if outer else self._as_core(select)
        written.set("with_", with_)
        return written

    # -- filters --

    def _take_subqueries(self, select: exp.Select) -> None:
        parts = conjuncts_of(select)
        found = [_subquery(part, self.visible) for part in parts]
        if not any(found):
            return
        outer = sources_of(select, self.describe, self.visible)
        holds: list[exp.Expr] = []
        for part, one in zip(parts, found):
            if one is None:
                holds.append(part)
                continue
            join, times = self._times(self._partners(one.query, select, outer, one.key), one.present)
            select.append("joins", join)
            holds += times
        set_where(select, holds)

    def _take_semi_joins(self, select: exp.Select) -> None:
        for place, join in enumerate(select.args.get("joins") or []):
            if not only_filters(join) or not _is_temporal(join, select, self.visible):
                continue
            before = before_join(select, place)
            outer = sources_of(before, self.describe, self.visible)
            later = select.args["joins"][place:]
            if any(one.side in ("RIGHT", "FULL") for one in later):
                raise Stays
            times, holds = self._times(self._partners(_side(join), before, outer), join.kind == "SEMI")
            select.args["joins"][place].replace(times)
            add_to_where(select, holds)

    # -- outer joins --

    def _joined(self, select: exp.Select) -> exp.Query:
        """A SELECT with outer joins over the clock -> a UNION ALL of the rows with and without partners."""
        if is_linear(select):
            return self._union(select)
        rows, rest = pushdown_projections(select, _JOINED, self.describe, self.visible)
        place = rest.args["from_"].this
        place.replace(derived(self._union(rows), place.alias))
        return rest

    def _union(self, rows: exp.Select) -> exp.Query:
        joins = rows.args.get("joins") or []
        place = next((at for at, join in enumerate(joins) if _is_temporal(join, rows, self.visible)), None)
        if place is None:
            return self._as_core(rows)
        join = joins[place]
        others = [one for one in joins if one is not join]
        if any(one.side in ("RIGHT", "FULL") for one in others) or join.side != "LEFT" and others:
            raise Stays
        parts = [*rows.expressions, *filter(None, [rows.args.get("where")]), *(one.args.get("on") for one in others)]
        if any(map(merges_columns, joins[place:])) or any(part is not None and part.find(exp.Query) for part in parts):
            raise Stays
        sources_of(rows, self.describe, self.visible)  # each source gets a name
        if join.side == "FULL":
            return self._of_both_sides(rows)
        if join.side == "RIGHT":
            _swap(rows)
        unmatched, found = self._unmatched(rows, place)
        without = self._union(unmatched)
        if found is None or _wants_none(rows, found):
            return without
        self._check_copies()
        return exp.union(self._union(_matched(rows, place, found)), without, distinct=False, copy=False)

    def _of_both_sides(self, rows: exp.Select) -> exp.Query:
        """A FULL JOIN as the pairs, and the rows of each side without partners."""
        (join,) = rows.args["joins"]
        self._check_copies()
        if has_clock(join.args.get("on") or exp.null()):
            raise Stays
        if not has_window(join.this, self.visible):
            _swap(rows)
        unmatched, found = self._unmatched(rows, 0)
        if found is None:
            raise Stays
        others = rows.copy()
        _swap(others)
        if has_window(others.args["joins"][0].this, self.visible):
            without, _ = self._unmatched(others, 0)
        else:
            without = filled(others, 0, self.describe, self.visible)
            without.args["joins"][0].set("side", "LEFT")
            without.args["joins"][0].set("kind", "ANTI")
        branches = [self._as_core(one) for one in (_matched(rows, 0, found), unmatched, without)]
        return exp.union(*branches, distinct=False, copy=False)

    def _check_copies(self) -> None:
        """Raise Stays where the rows of one evaluation would meet those of another."""
        if not self.copies:
            raise Stays

    def _as_core(self, select: exp.Select) -> exp.Select:
        pull_up_windows(select, self.visible, self.moves)
        return select

    def _unmatched(self, rows: exp.Select, place: int) -> tuple[exp.Select, Partners | None]:
        """The rows that have no partner in a join, and the partners; None where no row has a partner."""
        join, before = rows.args["joins"][place], before_join(rows, place)
        side, unmatched = _side(join), filled(rows, place, self.describe, self.visible)
        if _is_never(join):
            unmatched.args["joins"][place].pop()
            return unmatched, None
        found = self._partners(side, before, sources_of(before, self.describe, self.visible))
        times, holds = self._times(found, False)
        unmatched.args["joins"][place].replace(times)
        add_to_where(unmatched, holds)
        return unmatched, found

    # -- partners --

    def _partners(self, inner: exp.Select, around: exp.Select, outer: Sources, key: Key | None = None) -> Partners:
        def types(values: list[exp.Expr]) -> list[str]:
            probe = over_rows_of(around, *(exp.alias_(v.copy(), f"mz_k{i}") for i, v in enumerate(values)))
            return [kind for _, kind in typed_columns(probe, self.describe, self.visible)]

        return partners(inner, outer, types, self.describe, self.visible, self.moves, key)

    def _times(self, found: Partners, present: bool) -> tuple[exp.Join, list[exp.Expr]]:
        """A join with the times at which rows have a partner (`present`) or none, and the conditions for the WHERE."""
        times, on, holds = found.covered(f"{ALIAS}{self.number}", present)
        self.number += 1
        return exp.Join(this=times, on=on, side=None if present else "LEFT"), holds


def _chooses(select: exp.Select, visible: list[exp.CTE]) -> bool:
    """Whether another evaluation may give other rows below a SELECT. The windows of `coverage_sql` choose nothing."""
    rows = over_rows_of(select)
    rows.set("where", select.args.get("where") and select.args["where"].copy())
    for part in depends_on_order(with_ctes(rows, visible)):
        window = part.find_ancestor(exp.Window)
        order = window.args.get("order") if window is not None else None
        by = [column.name.startswith(OWN) for column in order.find_all(exp.Column)] if order is not None else []
        if not by or not all(by):
            return True
    return False


def _is_comma(join: exp.Join) -> bool:
    return not (join.side or join.kind or join.method or join.args.get("on") or join.args.get("using"))


def _side(join: exp.Join) -> exp.Select:
    """The rows of the right side of a join that fulfil its ON."""
    if merges_columns(join) or join.args.get("on") is None:
        raise Stays
    side = exp.select("*").from_(join.this.copy())
    set_where(side, [join.args["on"]])
    return side


def _swap(rows: exp.Select) -> None:
    """Swap the sides of the only join of a SELECT and make it a LEFT JOIN, in place."""
    (join,) = rows.args["joins"]
    first = rows.args["from_"].this
    left, right = first.copy(), join.this.copy()
    first.replace(right)
    join.this.replace(left)
    for key, value in (("side", "LEFT"), ("kind", None)):
        join.set(key, value)


def _matched(rows: exp.Select, place: int, found: Partners) -> exp.Select:
    """The pairs of an outer join, with the conditions of the clock in the WHERE of the SELECT."""
    matched = rows.copy()
    every = conjuncts_of(found.select)
    static = [part for part in every if not has_clock(part)]
    inner = exp.Join(this=found.select.args["from_"].this.copy(), on=conjunction(static))
    matched.args["joins"][place].replace(inner)
    add_to_where(matched, [exp.paren(part) for part in every if has_clock(part)])
    return matched


def _is_never(join: exp.Join) -> bool:
    """Whether an ON is never TRUE: it compares with a column that an earlier outer join has filled with NULL."""
    sides = (
        side for part in conjuncts(join.args["on"]) if isinstance(part, exp.EQ) for side in (part.left, part.right)
    )
    return any(isinstance(side, exp.Cast) and isinstance(side.this, exp.Null) for side in sides)


def _wants_none(rows: exp.Select, found: Partners) -> bool:
    """Whether a WHERE leaves out all rows with partners: `p.k is null` beside `p.k = b.k`."""
    keys = [_names(key.inner) for key in found.keys if not key.null_safe and isinstance(key.inner, exp.Column)]
    return any(
        isinstance(part, exp.Is)
        and isinstance(part.expression, exp.Null)
        and isinstance(part.this.unnest(), exp.Column)
        and _names(part.this.unnest()) in keys
        for part in conjuncts_of(rows)
    )


def _names(column: exp.Column) -> list[str]:
    return [part.name for part in column.parts]
