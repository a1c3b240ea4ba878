"""A query at many instants: *sequenced* semantics, with the instant as a column.

    SELECT k, count(*) AS n FROM mz_core_c0 GROUP BY k
      ->  SELECT k, count(*) AS n, mz_seq_t_0 AS mz_seq_t
          FROM (SELECT k, mz_seq_t AS mz_seq_t_0 FROM mz_core_c0) GROUP BY mz_seq_t_0, k

Each relation has the instant as a further column. Rows meet only rows of the same instant:

| part of a SELECT | by instant |
|---|---|
| a join | its condition also compares the instants |
| GROUP BY, PARTITION BY, DISTINCT, UNION, EXCEPT, INTERSECT | the instant is one more key |
| an aggregate without GROUP BY | instants without rows have the answer over no rows |
| LIMIT, OFFSET | a number of rows of each instant |
| a subquery in a value or a predicate | is correlated by the instant |
| the clock | is the instant |

A column of instants has a name of its own in each source, so that no alias inside a subquery hides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from sqlglot import exp

from ..predicates.clock_text import clock_literal, clock_mark
from ..rewrite.core import is_placeholder
from ..sql.ctes import is_recursive, names_itself
from ..sql.dialect import expression, render
from ..sql.identifiers import folded
from ..sql.linear import is_aggregation
from ..sql.scope import alias_of, quote_name
from .select_parts import (
    NotSequenced,
    above_groups,
    column,
    expressions_of,
    has_aggregate,
    has_query,
    has_query_or_clock,
    merges_columns,
    over_output,
    own_windows,
    resolved,
    subquery,
)

INSTANT, POINTS = "mz_seq_t", "mz_points"
_COLUMN, _ORDER, _PLACE, _ITEM = "mz_seq_t_", "mz_seq_o_", "mz_seq_r", "mz_seq_i_"
_KNOWN = {
    "with_", "expressions", "from_", "joins", "laterals", "where", "group", "having", "windows", "distinct", "order",
    "limit", "offset", "hint", "sort", "cluster", "distribute",
}  # fmt: skip


def sequenced(query: exp.Query, cores: Mapping[str, Sequence[str]]) -> exp.Query | None:
    """A residual -> the same at each instant of `mz_points`, with `mz_seq_t` as the last column; None if not covered.

    cores: the placeholder of a core -> the names of its columns. Under the placeholder stands a relation with a further
    column `mz_seq_t`, and `mz_points` is a relation with the column `mz_seq_t` alone.
    """
    try:
        return _Sequencing(cores).query(query.copy(), INSTANT)[0]
    except NotSequenced:
        return None


#: the columns of a source by name; None where they are not known
Names = Sequence[str] | None


class _Source:
    def __init__(self, alias: str, names: Names, instant: str) -> None:
        self.alias, self.names, self.instant = alias, names, instant
        self.merged: list[str] = []  # columns that a star shows once, for this source and the one before


class _Sequencing:
    def __init__(self, cores: Mapping[str, Sequence[str]]) -> None:
        self.cores = cores
        self.ctes: dict[str, Names] = {}
        self.numbers = count()

    # ---- queries ----

    def query(self, query: exp.Expr, name: str) -> tuple[exp.Query, Names]:
        """A query with the instant as its last column, and the names of its other columns."""
        if isinstance(query, exp.Subquery):
            _refuse_others(query, {"this"})
            return self.query(query.this, name)
        if not isinstance(query, (exp.Select, exp.SetOperation)):
            raise NotSequenced
        with_ = query.args.get("with_")
        if with_ is not None:
            self.take_ctes(with_)
            query.set("with_", None)
        found, names = self.limited(query, name)
        found.set("with_", with_)
        return found, names

    def take_ctes(self, with_: exp.With) -> None:
        for cte in with_.expressions:
            if is_recursive(cte) and names_itself(cte):
                raise NotSequenced
            body, names = self.query(cte.this, INSTANT)
            cte.set("this", body)
            alias = cte.args["alias"]
            if alias.columns:
                names = [c.name for c in alias.columns]
                alias.set("columns", [*alias.columns, quote_name(INSTANT)])
            self.ctes[folded(cte.alias)] = names

    def limited(self, query: exp.Query, name: str) -> tuple[exp.Query, Names]:
        """A query with its LIMIT as one by instant. An order without a limit decides nothing."""
        order, limit, offset = (query.args.get(part) for part in ("order", "limit", "offset"))
        if limit is not None and folded(render(limit.expression)) == "all":
            limit = None
        for part in ("order", "limit", "offset", "sort", "cluster", "distribute"):
            query.set(part, None)
        if limit is None and offset is None:
            return self.unlimited(query, name)
        keys = list(order.expressions) if order is not None else []
        if any(not isinstance(k, exp.Ordered) or isinstance(k.this, exp.Var) for k in keys):
            raise NotSequenced
        hidden = isinstance(query, exp.Select) and not query.args.get("distinct")
        outputs = {} if not hidden else {folded(i.alias): i.this for i in query.expressions if isinstance(i, exp.Alias)}
        items = list(query.expressions) if isinstance(query, exp.Select) else []
        if hidden:
            shown = [resolved(key.this, items, outputs) for key in keys]
            added = [exp.alias_(e, f"{_ORDER}{i}") for i, e in enumerate(shown)]
            query.set("expressions", [*items, *added])
        inner, names = self.unlimited(query, name)
        if names is None:
            raise NotSequenced
        own = list(names)[: len(names) - (len(keys) if hidden else 0)]
        if len({folded(n) for n in own}) < len(own):
            raise NotSequenced
        orders = []
        for position, key in enumerate(keys):
            by = column(f"{_ORDER}{position}") if hidden else over_output(key.this, own)
            ordered = key.copy()
            ordered.set("this", by)
            orders.append(ordered)
        placed = exp.Window(
            this=exp.Anonymous(this="row_number", expressions=[]),
            partition_by=[column(name)],
            order=exp.Order(expressions=orders or [exp.Ordered(this=exp.null())]),
            over="OVER",
        )
        listed = [column(n) for n in (*own, name)]
        middle = exp.select(*listed, exp.alias_(placed, _PLACE)).from_(subquery(inner, "mz_unlimited"))
        first = render(offset.expression) if offset is not None else "0"
        condition = f"{_PLACE} > {first}"
        if limit is not None:
            condition += f" AND {_PLACE} <= CAST({first} AS BIGINT) + {render(limit.expression)}"
        outer = exp.select(*(c.copy() for c in listed)).from_(subquery(middle, "mz_placed"))
        return outer.where(expression(condition), copy=False), own

    def unlimited(self, query: exp.Query, name: str) -> tuple[exp.Query, Names]:
        if isinstance(query, exp.SetOperation):
            left, names = self.side(query.this, name)
            right, _ = self.side(query.expression, name)
            query.set("this", left)
            query.set("expression", right)
            return query, names
        assert isinstance(query, exp.Select)
        return self.select(query, name)

    def side(self, query: exp.Expr, name: str) -> tuple[exp.Expr, Names]:
        """A side of a set operation, in parentheses where it had some or has become a set operation itself."""
        is_bare = isinstance(query, exp.SetOperation) and not query.args.get("with_")
        found, names = self.query(query, name)
        together = isinstance(found, exp.SetOperation) or found.args.get("with_")
        return exp.Subquery(this=found) if together and not is_bare else found, names

    # ---- a SELECT ----

    def select(self, select: exp.Select, name: str) -> tuple[exp.Query, Names]:
        if {part for part, value in select.args.items() if value} - _KNOWN:
            raise NotSequenced
        if select.args.get("from_") is None:
            if any(map(has_query, select.expressions)):
                raise NotSequenced  # Spark 4.1 fails on it as a side of a UNION
            table = exp.to_table(POINTS).as_("mz_from_points", table=True)
            select.set("from_", exp.From(this=table))
            sources = [_Source("mz_from_points", [], INSTANT)]
            now: exp.Expr = column(INSTANT)
        else:
            sources, now = self.sources(select)
        self.expand_stars(select, sources)
        group = select.args.get("group")
        if group is not None and group.args.get("all") and all(map(has_aggregate, select.expressions)):
            select.set("group", None)  # there is nothing to group by
        total = is_aggregation(select) and not select.args.get("group")
        if is_aggregation(select) and any(has_query(part) for part in above_groups(select)):
            raise NotSequenced  # it would be correlated by the instant, which Spark refuses there
        if total and any(has_query_or_clock(part) for part in above_groups(select)):
            raise NotSequenced
        self.within(select, now)
        names = [item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else "" for item in select.expressions]
        over_nothing = select.copy() if total else None
        for window in own_windows(select, exp.Window):
            if not window.args.get("alias"):
                window.set("partition_by", [*(window.args.get("partition_by") or []), now.copy()])
        select.set("expressions", [*select.expressions, exp.alias_(now.copy(), name)])
        self.group(select, now, total)
        if over_nothing is None:
            return select, names if all(names) else None
        return self.with_empty(select, over_nothing, now, name), names if all(names) else None

    def group(self, select: exp.Select, now: exp.Expr, total: bool) -> None:
        group = select.args.get("group")
        if total:
            select.set("group", exp.Group(expressions=[now.copy()]))
        elif group is not None and not group.args.get("all"):
            if {part for part, value in group.args.items() if value} - {"expressions"}:
                raise NotSequenced  # WITH ROLLUP would leave out the instant too
            # first, so that grouping_id() counts the others as before; ordinals stay, it is the last column
            select.set("group", exp.Group(expressions=[now.copy(), *(e.copy() for e in group.expressions)]))

    def with_empty(self, select: exp.Select, over_nothing: exp.Select, now: exp.Expr, name: str) -> exp.Query:
        """An aggregate without GROUP BY: instants without rows have the answer over no rows."""
        there = exp.select(exp.alias_(now.copy(), INSTANT)).distinct()
        for part in ("from_", "joins", "laterals", "where"):
            value = over_nothing.args.get(part)
            there.set(part, [v.copy() for v in value] if isinstance(value, list) else value and value.copy())
        bare = [item.this if isinstance(item, exp.Alias) else item for item in over_nothing.expressions]
        over_nothing.set("expressions", [exp.alias_(item, f"{_ITEM}{at}") for at, item in enumerate(bare)])
        over_nothing.set("where", exp.Where(this=exp.false()))
        listed = [column(item.alias, "mz_nothing") for item in over_nothing.expressions]
        empty = exp.select(*listed, exp.alias_(column(INSTANT, "mz_missing"), name))
        empty = empty.from_(subquery(over_nothing, "mz_nothing"))
        missing = exp.except_(exp.select(column(INSTANT)).from_(exp.to_table(POINTS)), there, dialect="spark")
        empty = empty.join(subquery(missing, "mz_missing"), join_type="cross", copy=False)
        return exp.union(select, empty, distinct=False, dialect="spark")

    def within(self, select: exp.Select, now: exp.Expr) -> None:
        """The clock and the subqueries in the expressions of a SELECT, at its instant."""
        for part in list(expressions_of(select)):
            for node in list(part.walk(prune=lambda n: isinstance(n, exp.Query))):
                if isinstance(node, exp.Query):
                    self.inner(node, now)
                kind = clock_mark(node)
                if kind is not None:
                    node.replace(expression(clock_literal(kind, render(now))))

    def inner(self, query: exp.Expr, outer: exp.Expr) -> None:
        """A subquery in a value or a predicate: its rows of the instant outside, in place."""
        with_ = query.args.get("with_")
        if with_ is not None:
            self.take_ctes(with_)
        if isinstance(query, exp.Subquery):
            self.inner(query.this, outer)
        elif isinstance(query, exp.SetOperation):
            self.inner(query.this, outer)
            self.inner(query.expression, outer)
        elif isinstance(query, exp.Select):
            if {part for part, value in query.args.items() if value} - _KNOWN:
                raise NotSequenced
            if query.args.get("from_") is None:
                self.within(query, outer)
                return
            sources, now = self.sources(query)
            self.expand_stars(query, sources)
            self.within(query, now)
            query.where(exp.EQ(this=now.copy(), expression=outer.copy()), copy=False)
        else:
            raise NotSequenced

    # ---- the FROM ----

    def sources(self, select: exp.Select) -> tuple[list[_Source], exp.Expr]:
        """Gives each source of a SELECT its instant, in place -> the sources, and SQL of the instant of a row."""
        start = select.args["from_"]
        node, source = self.source(start.this, f"{_COLUMN}{next(self.numbers)}")
        start.set("this", node)
        sources = [source]
        now: exp.Expr = column(source.instant)
        for join in select.args.get("joins") or []:
            side, kind, method = ((join.args.get(p) or "").upper() for p in ("side", "kind", "method"))
            if isinstance(join.this, exp.Lateral):
                if side not in ("", "LEFT"):
                    raise NotSequenced
                self.inner(join.this.this, now)
                sources.append(_lateral(join.this))
                continue
            using = join.args.get("using")
            if using or method == "NATURAL":
                if not isinstance(now, exp.Column):
                    raise NotSequenced
                node, source = self.source(join.this, now.name)
                join.set("this", node)
                _merge(sources, source, [u.name for u in using] if using else None)
                if using:
                    join.set("using", [*using, quote_name(now.name)])
                sources += [source] if kind not in ("SEMI", "ANTI") else []
                continue
            if method:
                raise NotSequenced
            node, source = self.source(join.this, f"{_COLUMN}{next(self.numbers)}")
            join.set("this", node)
            theirs = column(source.instant)
            same = exp.EQ(this=now.copy(), expression=theirs.copy())
            on = join.args.get("on")
            if on is not None and has_query(on):
                raise NotSequenced  # correlated by the instant, which Spark refuses there
            join.set("on", exp.and_(exp.paren(on), same, dialect="spark") if on is not None else same)
            # a comma too: it binds from the left, as Spark reads it
            join.set("kind", "INNER" if not side and kind in ("", "CROSS") else join.args.get("kind"))
            if side == "RIGHT":
                now = theirs
            elif side == "FULL":
                now = exp.Anonymous(this="coalesce", expressions=[now.copy(), theirs.copy()])
            sources += [source] if kind not in ("SEMI", "ANTI") else []
        if any(has_query(view.this) for view in select.args.get("laterals") or []):
            raise NotSequenced
        sources += [_lateral(view) for view in select.args.get("laterals") or []]
        return sources, now

    def source(self, node: exp.Expr, instant: str) -> tuple[exp.Expr, _Source]:
        alias = node.args.get("alias")
        columns = [c.name for c in alias.columns] if alias is not None else []
        _refuse_others(node, {"this", "alias", "expressions"} if isinstance(node, exp.Values) else {"this", "alias"})
        if isinstance(node, exp.Values) or isinstance(node.this, (exp.Values, exp.Func)):
            return self.constant(node, instant)
        if isinstance(node, exp.Subquery):
            inner, names = self.query(node.this, instant)
        elif isinstance(node, exp.Table):
            alias = alias_of(node)
            if is_placeholder(node):
                names = self.cores[node.name]
            elif not node.db and folded(node.name) in self.ctes:
                names = self.ctes[folded(node.name)]
            else:
                raise NotSequenced
            listed = [exp.Star()] if names is None else [column(n) for n in names]
            inner = exp.select(*listed, exp.alias_(column(INSTANT), instant)).from_(exp.Table(this=node.this.copy()))
        else:
            raise NotSequenced
        if columns and names is not None and len(columns) != len(names):
            raise NotSequenced
        named = alias.this.copy() if alias is not None and alias.this else quote_name(f"mz_q_{next(self.numbers)}")
        listed_names = [*map(quote_name, columns), quote_name(instant)] if columns else None
        found = exp.Subquery(this=inner, alias=exp.TableAlias(this=named, columns=listed_names))
        return found, _Source(named.name, columns or names, instant)

    def constant(self, node: exp.Expr, instant: str) -> tuple[exp.Expr, _Source]:
        """Rows without time, at each instant."""
        alias = node.args.get("alias")
        columns = [c.name for c in alias.columns] if alias is not None else []
        named = alias.this.copy() if alias is not None and alias.this else quote_name(f"mz_q_{next(self.numbers)}")
        node = node.copy()
        if alias is None or not alias.this:
            node.set("alias", exp.TableAlias(this=named.copy(), columns=list(map(quote_name, columns)) or None))
        every = exp.Column(this=exp.Star(), table=named.copy())
        inner = exp.select(every, exp.alias_(column(INSTANT, POINTS), instant)).from_(node)
        inner = inner.join(exp.to_table(POINTS), join_type="cross", copy=False)
        return subquery(inner, named.name), _Source(named.name, columns or None, instant)

    # ---- stars ----

    def expand_stars(self, select: exp.Select, sources: Sequence[_Source]) -> None:
        items: list[exp.Expr] = []
        for item in select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if not isinstance(star, exp.Star):
                items.append(item)
                continue
            if any(value for value in star.args.values()):
                raise NotSequenced  # EXCEPT and its like
            of = folded(item.table) if isinstance(item, exp.Column) else ""
            joins = select.args.get("joins") or []
            of_one_side = of or any(join.kind in ("SEMI", "ANTI") for join in joins)
            if of_one_side and any(map(merges_columns, joins)):
                raise NotSequenced  # Spark shows merged columns first, also of one side
            named = [source for source in sources if not of or folded(source.alias) == of]
            if not named or any(source.names is None for source in named):
                raise NotSequenced
            merged = [] if of else [n for source in named for n in source.merged]
            once = {folded(n) for n in merged}
            items += map(column, merged)
            for source in named:
                items += [column(n, source.alias) for n in source.names or () if folded(n) not in once]
        select.set("expressions", items)


def _merge(sources: Sequence[_Source], source: _Source, using: Sequence[str] | None) -> None:
    """The columns that USING or a NATURAL join show once."""
    if using is None:
        if source.names is None or any(s.names is None for s in sources):
            raise NotSequenced
        theirs = {folded(n) for n in source.names}
        using = [n for s in sources for n in s.names or () if folded(n) in theirs]
    if len(sources) > 1:
        raise NotSequenced  # the place of merged columns in a star depends on all joins before
    source.merged = list(using)


def _lateral(lateral: exp.Expr) -> _Source:
    alias = lateral.args.get("alias")
    columns = [c.name for c in alias.columns] if alias is not None else []
    return _Source(alias.name if alias is not None else "", columns or None, "")


def _refuse_others(node: exp.Expr, known: set[str]) -> None:
    if {part for part, value in node.args.items() if value} - known:
        raise NotSequenced
