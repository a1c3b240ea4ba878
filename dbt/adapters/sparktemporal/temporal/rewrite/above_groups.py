"""Move the clock of a grouped SELECT to a SELECT over the groups, so that groups are stored and no rows.

    select s, max(at) as last from views group by s having mz_now() <= max(at) + interval 30 minutes
      ->  select s, last from (select s, max(at) as last from views group by s) as mz_grouped
          where mz_now() <= last + interval 30 minutes

    select s, datediff(mz_now(), max(at)) as days from views group by s
      ->  select s, datediff(mz_now(), mz_having_0) as days
          from (select s, max(at) as mz_having_0 from views group by s) as mz_grouped

The clock may be in the items, the HAVING and the ORDER BY. The main conditions: the groups themselves do not depend on
the clock, and each name in the HAVING, the ORDER BY and the items with the clock is known to mean a group key, an
aggregate or an item. `_is_candidate` and `_Moving` have all conditions. A read evaluates any other SELECT over rows.
"""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from ..predicates.comparisons import conjuncts
from ..sql.functions.calls import is_aggregate_call, nondeterministic, starts_with_unit
from ..sql.names.bind import columns_of, sources_of
from ..sql.names.ctes import named_ctes, visible_ctes
from ..sql.names.linear import AROUND, grouping_expressions, is_aggregation, is_inside_a_value
from ..sql.names.projection import with_field_name
from ..sql.names.scope import Describe, canonical, derived, quote_name, resolve
from ..sql.text.dialect import conjunction, has_clock, put_in, set_where, shown_as, without
from ..sql.text.helper_columns import numbered
from .stays import STAYS, Stays
from .window_columns import with_window_calls

#: the derived table of the groups
GROUPED = "mz_grouped"
_COLUMN = "mz_having_"
_ABOVE = ("order", "limit", "offset", "distinct")
_ELSEWHERE = ("qualify", "windows", "sort", "cluster", "distribute", "hint")


def clock_above_groups(tree: exp.Query, describe: Describe) -> exp.Query:
    """The tree of a model -> the tree in which groups below a clock are a derived table, where this is possible."""
    for select in list(tree.find_all(exp.Select)):
        if not _is_candidate(select):
            continue
        try:
            tree = put_in(tree, select, _Moving(select, describe).outer())
        except STAYS:
            continue
    return tree


def _is_candidate(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    above = [*select.expressions, *filter(None, (select.args.get("having"), select.args.get("order")))]
    if not any(map(has_clock, above)) or not is_aggregation(select) or is_inside_a_value(select):
        return False
    if any(select.args.get(key) for key in _ELSEWHERE) or select.find(exp.Lateral):
        return False
    below = without(select, "having", "order", "expressions")
    return not (distinct and distinct.args.get("on")) and not any(map(has_clock, [below, *named_ctes(select)]))


class _Moving:
    def __init__(self, select: exp.Select, describe: Describe) -> None:
        self.describe, self.visible = describe, visible_ctes(select)
        self.sources = sources_of(select.copy(), describe, self.visible)
        select = with_window_calls(select, lambda column: resolve(column, self.sources) is not None)
        select = self.select = _without_places(select)
        self.items = [i.unalias() for i in select.expressions]
        if any(item.is_star for item in self.items) or select.args.get("distinct") and select.args.get("order"):
            raise Stays
        having, order = select.args.get("having"), select.args.get("order")
        is_filtered = having is not None and has_clock(having)
        for item in select.expressions:
            _check_movable(item, windows=not is_filtered)  # window functions see the groups that the HAVING leaves
        for part in filter(None, [having, order]):
            _check_movable(part, windows=False)
        #: the places of the items that are of the outer SELECT alone
        self.above = {index for index, item in enumerate(self.items) if has_clock(item)}
        self.names = self._names()
        for index, item in enumerate(self.items):  # an item may name the aliases of items before
            if self._names_the_clock(item):
                self.above.add(index)
        for index in self.above:  # the name of an item without an alias would be another one above
            if self.items[index].find(exp.Window) or not isinstance(select.expressions[index], exp.Alias):
                raise Stays
        self.keys = self._keys()
        self.added: dict[str, tuple[str, exp.Expr]] = {}  # columns of the groups that are needed beside the items

    def _parts_of_having(self) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """(the conjuncts of the HAVING with the clock, those without it)."""
        having = self.select.args.get("having")
        parts = [] if having is None else [part.copy() for part in conjuncts(having.this)]
        moved = [part for part in parts if has_clock(part)]
        static = [part for part in parts if not has_clock(part)]
        if any(part.find(exp.Query) for part in moved) or any(map(self._names_the_clock, static)):
            raise Stays
        return moved, static

    def outer(self) -> exp.Select:
        moved, static = self._parts_of_having()
        where = [self._over_groups(part, beside_items=False) for part in moved]
        items = [self._item(index, item) for index, item in enumerate(self.select.expressions)]
        order = self._order()
        inner = without(self.select, *_ABOVE, "having", "with_")
        inner.set("having", exp.Having(this=conjunction(static)) if static else None)
        kept = [self._below(i) for i in range(len(self.items)) if i not in self.above]
        kept += [exp.alias_(value.copy(), name, quoted=True) for name, value in self.added.values()]
        if not kept:  # a SELECT list of the clock alone
            raise Stays
        inner.set("expressions", kept)
        outer = exp.select(*items).from_(derived(inner, GROUPED))
        set_where(outer, where)
        for key in ("with_", "distinct", "limit", "offset"):
            found = self.select.args.get(key)
            outer.set(key, found.copy() if isinstance(found, exp.Expr) else found)
        outer.set("order", order)
        return outer

    # -- names --

    def _names(self) -> list[str]:
        """The names of the items, as Spark gives them."""
        named = [i.alias if isinstance(i, exp.Alias) else i.name if isinstance(i, exp.Column) else "" for i in
                 self.select.expressions]  # fmt: skip
        unnamed = [i for i, name in enumerate(named) if not name and i not in self.above]
        if unnamed:
            probe = without(self.select, *_ABOVE, "having", "with_")
            for i in self.above:  # items after this one may name its alias
                probe.expressions[i].unalias().replace(exp.null())
            described = columns_of(probe, self.describe, self.visible)
            for i in unnamed:
                named[i] = described[i][0]
        known = [name.lower() for name in named if name]
        if len(set(known)) < len(known):
            raise Stays
        return named

    def _keys(self) -> set[str]:
        """The canonical texts of the group expressions, and of the items that they name."""
        group = self.select.args.get("group")
        keys: set[str] = set()
        for leaf in grouping_expressions(group) if group is not None else []:
            keys.add(self._text(leaf))
            for index, (item, name) in enumerate(zip(self.items, self.names)):
                if _is_name(leaf, name):
                    if index in self.above:
                        raise Stays
                    keys.add(self._text(item))
        if group is not None and group.args.get("all"):
            keys |= {self._text(item) for item in self.items if not any(map(is_aggregate_call, item.walk()))}
        return keys

    # -- clauses above the groups --

    def _item(self, index: int, item: exp.Expr) -> exp.Expr:
        if index not in self.above:
            return exp.column(quote_name(self.names[index]))
        return exp.alias_(self._over_groups(self.items[index]), item.args["alias"].copy())

    def _below(self, index: int) -> exp.Expr:
        item = self.select.expressions[index]
        plain = isinstance(item, (exp.Alias, exp.Column))
        return item.copy() if plain else exp.alias_(item.copy(), self.names[index], quoted=True)

    def _order(self) -> exp.Expr | None:
        order = self.select.args.get("order")
        if order is None:
            return None
        moved: exp.Expr = order.copy()
        for ordered in moved.expressions:
            by = ordered.this if isinstance(ordered, exp.Ordered) else ordered
            if not isinstance(by, exp.Literal):
                by.replace(self._over_groups(by, aliases_first=True))
        return moved

    def _over_groups(self, node: exp.Expr, aliases_first: bool = False, beside_items: bool = True) -> exp.Expr:
        """An expression over groups -> the equivalent over the columns of the derived table.

        aliases_first: whether a name means an item rather than a key, as in the ORDER BY. beside_items: whether the
        expression may name items with the clock, as in the SELECT list and the ORDER BY.
        """
        around = exp.Paren(this=node.copy())
        self._replace(around.this, aliases_first, beside_items)
        return cast("exp.Expr", around.this.pop())

    def _replace(self, node: exp.Expr, aliases_first: bool, beside_items: bool) -> None:
        if isinstance(node, exp.Query):
            raise Stays
        if is_aggregate_call(node) or isinstance(node, AROUND):
            self._take(node)
            return
        named, is_key = self._alias(node), self._text(node) in self.keys
        if named is not None and (aliases_first or not is_key):
            if named not in self.above:
                _put(node, self.names[named])
            elif not beside_items:
                raise Stays
        elif (is_key or isinstance(node, exp.Dot) and self._is_item(node)) and not has_clock(node):
            self._take(node)
        elif isinstance(node, exp.Column):
            raise Stays
        else:
            for child in list(node.iter_expressions()):
                if not (starts_with_unit(node) and child is node.expressions[0]):
                    self._replace(child, aliases_first, beside_items)

    def _alias(self, node: exp.Expr) -> int | None:
        """The place of the item with this unqualified name; None for any other node."""
        for index, name in enumerate(self.names):
            if name and _is_name(node, name):
                return index
        return None

    def _names_the_clock(self, node: exp.Expr) -> bool:
        """Whether an expression names an item with the clock, directly or by way of other items."""
        named = (self._alias(column) for column in node.find_all(exp.Column))
        return any(index in self.above for index in named)

    def _is_item(self, node: exp.Expr) -> bool:
        return self._text(node) in map(self._text, self.items)

    def _is_ambiguous(self, column: exp.Column) -> bool:
        """Whether a name in an expression is also the alias of another item that is no aggregate."""
        for item, name in zip(self.items, self.names):
            if name and _is_name(column, name) and not _is_name(item, name):
                return not any(map(is_aggregate_call, item.walk()))
        return False

    def _take(self, node: exp.Expr) -> None:
        """Put a column of the groups in the place of a key or an aggregate."""
        if has_clock(node) or any(map(self._is_ambiguous, node.find_all(exp.Column))):
            raise Stays
        text = self._text(node)
        for item, name in zip(self.items, self.names):
            if self._text(item) == text and name:
                _put(node, name)
                return
        if text not in self.added:
            taken = {name.lower() for name in self.names}
            self.added[text] = (numbered(_COLUMN, len(self.added), taken), node.copy())
        _put(node, self.added[text][0])

    def _text(self, node: exp.Expr) -> str:
        return canonical(node.unnest(), self.sources)


def _put(node: exp.Expr, name: str) -> None:
    """Put a column of the groups in the place of a node."""
    node.replace(with_field_name(node, shown_as(exp.column(quote_name(name)), node)))


def _without_places(select: exp.Select) -> exp.Select:
    """The SELECT with an item in place of each number in GROUP BY.

    The SELECT of the groups has fewer items, so there a number could mean another item.
    """
    group = select.args.get("group")
    if group is None or not any(isinstance(leaf, exp.Literal) for leaf in grouping_expressions(group)):
        return select
    select = select.copy()
    items = [item.unalias() for item in select.expressions]
    for leaf in list(grouping_expressions(select.args["group"])):
        if isinstance(leaf, exp.Literal):
            place = int(leaf.name) - 1 if leaf.name.isdigit() and not leaf.is_string else -1
            if not 0 <= place < len(items) or isinstance(items[place], exp.Literal):
                raise Stays
            leaf.replace(items[place].copy())
    return select


def _check_movable(part: exp.Expr, windows: bool) -> None:
    """Raise Stays for a part that cannot move above the groups. windows: whether it may have window functions."""
    if not windows and part.find(exp.Window):
        raise Stays
    if nondeterministic(part) is not None or has_clock(part) and part.find(exp.Lambda):
        raise Stays


def _is_name(node: exp.Expr, name: str) -> bool:
    """Whether a node is a column of this name without a qualifier."""
    return isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() == name.lower()
