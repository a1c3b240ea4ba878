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

from ...temporal.predicates.clock_text import clock_literal, clock_mark
from ...temporal.rewrite.core import is_placeholder
from ...temporal.sql.names.ctes import is_recursive, names_itself
from ...temporal.sql.names.linear import is_aggregation, is_inner, merges_columns, only_filters
from ...temporal.sql.names.scope import alias_of, derived, quote_name
from ...temporal.sql.text.dialect import expression, has_other_parts, render
from ...temporal.sql.text.identifiers import folded
from .select_parts import (
    Limit,
    NotSequenced,
    above_groups,
    column,
    expressions_of,
    has_aggregate,
    has_query,
    has_query_or_clock,
    own_windows,
)
from .sources import Names, Source, expand_stars, lateral_source, merge

INSTANT, POINTS = "mz_seq_t", "mz_points"
_COLUMN, _ITEM = "mz_seq_t_", "mz_seq_i_"
_KNOWN = {
    "with_", "expressions", "from_", "joins", "laterals", "where", "group", "having", "windows", "distinct", "order",
    "limit", "offset", "hint", "sort", "cluster", "distribute",
}  # fmt: skip


def sequenced(query: exp.Query, cores: Mapping[str, Sequence[str]]) -> exp.Query | None:
    """A residual -> a query of its rows at each instant of `mz_points`; None for a residual that is not covered.

    The instant is the last column, `mz_seq_t`.
    cores: the placeholder of a core -> the names of its columns. The caller supplies a relation for each placeholder,
    with a further column `mz_seq_t`, and the relation `mz_points` with the column `mz_seq_t` alone.
    """
    try:
        return _Sequencing(cores).query(query.copy(), INSTANT)[0]
    except NotSequenced:
        return None


class _Sequencing:
    def __init__(self, cores: Mapping[str, Sequence[str]]) -> None:
        self.cores = cores
        self.ctes: dict[str, Names] = {}
        self.numbers = count()

    # ---- queries ----

    def query(self, query: exp.Expr, name: str) -> tuple[exp.Query, Names]:
        """A query with the instant as its last column, called `name`, and the names of its other columns."""
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
        """A query with its LIMIT applied at each instant, and the names of its other columns."""
        limit = Limit.taken_off(query)
        if limit is None:
            return self.unlimited(query, name)
        added = limit.add_keys(query)
        inner, names = self.unlimited(query, name)
        if names is None:
            raise NotSequenced
        own = list(names)[: len(names) - added]
        return limit.by_instant(inner, own, name, added > 0), own

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
        """A side of a set operation with the instant as its last column, and the names of its other columns.

        A side that has a WITH, or becomes a set operation here, is put in parentheses. A set operation that had no
        parentheses gets none.
        """
        is_bare = isinstance(query, exp.SetOperation) and not query.args.get("with_")
        found, names = self.query(query, name)
        together = isinstance(found, exp.SetOperation) or found.args.get("with_")
        return exp.Subquery(this=found) if together and not is_bare else found, names

    # ---- a SELECT ----

    def select(self, select: exp.Select, name: str) -> tuple[exp.Query, Names]:
        _refuse_others(select, _KNOWN)
        sources, now = _of_points(select) if select.args.get("from_") is None else self.sources(select)
        expand_stars(select, sources)
        group = select.args.get("group")
        if group is not None and group.args.get("all") and all(map(has_aggregate, select.expressions)):
            select.set("group", None)  # there is nothing to group by
        total = is_aggregation(select) and not select.args.get("group")
        # a query would be correlated by the instant, which Spark refuses there
        refused = has_query_or_clock if total else has_query
        if is_aggregation(select) and any(map(refused, above_groups(select))):
            raise NotSequenced
        self.within(select, now)
        names = [item.alias_or_name if isinstance(item, (exp.Alias, exp.Column)) else "" for item in select.expressions]
        over_nothing = select.copy() if total else None
        for window in own_windows(select, exp.Window):
            if not window.args.get("alias"):
                window.set("partition_by", [*(window.args.get("partition_by") or []), now.copy()])
        select.set("expressions", [*select.expressions, exp.alias_(now.copy(), name)])
        self.group(select, now, total)
        found = select if over_nothing is None else self.with_empty(select, over_nothing, now, name)
        return found, names if all(names) else None

    def group(self, select: exp.Select, now: exp.Expr, total: bool) -> None:
        group = select.args.get("group")
        if total:
            select.set("group", exp.Group(expressions=[now.copy()]))
        elif group is not None and not group.args.get("all"):
            _refuse_others(group, {"expressions"})  # WITH ROLLUP would leave out the instant too
            # the instant is the first key, so that grouping_id() counts the others as before. Ordinals stay right,
            # because the instant is the last column
            select.set("group", exp.Group(expressions=[now.copy(), *(e.copy() for e in group.expressions)]))

    def with_empty(self, select: exp.Select, over_nothing: exp.Select, now: exp.Expr, name: str) -> exp.Query:
        """Add to an aggregate without GROUP BY the answer over no rows, at each instant without rows."""
        there = exp.select(exp.alias_(now.copy(), INSTANT)).distinct()
        for part in ("from_", "joins", "laterals", "where"):
            value = over_nothing.args.get(part)
            there.set(part, [v.copy() for v in value] if isinstance(value, list) else value and value.copy())
        bare = [item.unalias() for item in over_nothing.expressions]
        over_nothing.set("expressions", [exp.alias_(item, f"{_ITEM}{at}") for at, item in enumerate(bare)])
        over_nothing.set("where", exp.Where(this=exp.false()))
        listed = [column(item.alias, "mz_nothing") for item in over_nothing.expressions]
        empty = exp.select(*listed, exp.alias_(column(INSTANT, "mz_missing"), name))
        empty = empty.from_(derived(over_nothing, "mz_nothing"))
        missing = exp.except_(exp.select(column(INSTANT)).from_(exp.to_table(POINTS)), there, dialect="spark")
        empty = empty.join(derived(missing, "mz_missing"), join_type="cross", copy=False)
        return exp.union(select, empty, distinct=False, dialect="spark")

    def within(self, select: exp.Select, now: exp.Expr) -> None:
        """Put the instant of a SELECT into the clock calls and the subqueries of its expressions, in place."""
        for part in list(expressions_of(select)):
            for node in list(part.walk(prune=lambda n: isinstance(n, exp.Query))):
                if isinstance(node, exp.Query):
                    self.inner(node, now)
                kind = clock_mark(node)
                if kind is not None:
                    node.replace(expression(clock_literal(kind, render(now))))

    def inner(self, query: exp.Expr, outer: exp.Expr) -> None:
        """Correlate a subquery in a value or a predicate with the instant of the outer row, in place."""
        with_ = query.args.get("with_")
        if with_ is not None:
            self.take_ctes(with_)
        if isinstance(query, exp.Subquery):
            self.inner(query.this, outer)
        elif isinstance(query, exp.SetOperation):
            self.inner(query.this, outer)
            self.inner(query.expression, outer)
        elif isinstance(query, exp.Select):
            _refuse_others(query, _KNOWN)
            if query.args.get("from_") is None:
                self.within(query, outer)
                return
            sources, now = self.sources(query)
            expand_stars(query, sources)
            self.within(query, now)
            query.where(exp.EQ(this=now.copy(), expression=outer.copy()), copy=False)
        else:
            raise NotSequenced

    # ---- the FROM ----

    def sources(self, select: exp.Select) -> tuple[list[Source], exp.Expr]:
        """Give each source of a SELECT its instant, in place -> the sources, and the instant of a joined row."""
        first = self.put_source(select.args["from_"], f"{_COLUMN}{next(self.numbers)}")
        sources = [first]
        now: exp.Expr = column(first.instant)
        for join in select.args.get("joins") or []:
            if isinstance(join.this, exp.Lateral):
                source = self.lateral_join(join, now)
            elif merges_columns(join):
                source = self.merging_join(join, sources, now)
            else:
                source, now = self.join(join, now)
            sources += [] if only_filters(join) else [source]
        views = select.args.get("laterals") or []
        if any(has_query(view.this) for view in views):
            raise NotSequenced
        return [*sources, *map(lateral_source, views)], now

    def lateral_join(self, join: exp.Join, now: exp.Expr) -> Source:
        if join.side not in ("", "LEFT"):
            raise NotSequenced
        self.inner(join.this.this, now)
        return lateral_source(join.this)

    def merging_join(self, join: exp.Join, sources: Sequence[Source], now: exp.Expr) -> Source:
        """Make a USING or NATURAL join merge the instants too, under one name on both sides -> its right side."""
        if not isinstance(now, exp.Column):
            raise NotSequenced
        source = self.put_source(join, now.name)
        using = join.args.get("using")
        merge(sources, source, [u.name for u in using] if using else None)
        if using:
            join.set("using", [*using, quote_name(now.name)])
        return source

    def join(self, join: exp.Join, now: exp.Expr) -> tuple[Source, exp.Expr]:
        """Make the condition of a join compare the instants too -> its right side, and the instant of a joined row."""
        on = join.args.get("on")
        if join.method:
            raise NotSequenced
        source = self.put_source(join, f"{_COLUMN}{next(self.numbers)}")
        theirs = column(source.instant)
        same = exp.EQ(this=now.copy(), expression=theirs.copy())
        if on is not None and has_query(on):
            raise NotSequenced  # correlated by the instant, which Spark refuses there
        join.set("on", exp.and_(exp.paren(on), same, dialect="spark") if on is not None else same)
        if is_inner(join):  # a comma becomes a JOIN too, which binds from the left, as Spark reads a comma
            join.set("kind", "INNER")
        if join.side == "FULL":
            return source, exp.Anonymous(this="coalesce", expressions=[now.copy(), theirs.copy()])
        return source, theirs if join.side == "RIGHT" else now

    def fresh_alias(self, alias: exp.Expr | None) -> exp.Identifier:
        named = alias.this if alias is not None else None
        return named.copy() if named else quote_name(f"mz_q_{next(self.numbers)}")

    def put_source(self, above: exp.Expr, instant: str) -> Source:
        """Give the source of a FROM or a join its instant, in place -> the source."""
        node, source = self.source(above.this, instant)
        above.set("this", node)
        return source

    def source(self, node: exp.Expr, instant: str) -> tuple[exp.Expr, Source]:
        _refuse_others(node, {"this", "alias", "expressions"} if isinstance(node, exp.Values) else {"this", "alias"})
        if isinstance(node, exp.Values) or isinstance(node.this, (exp.Values, exp.Func)):
            return self.constant(node, instant)
        inner, names = self.relation(node, instant)
        columns = node.alias_column_names
        if columns and names is not None and len(columns) != len(names):
            raise NotSequenced
        named = self.fresh_alias(alias_of(node) if isinstance(node, exp.Table) else node.args.get("alias"))
        listed = [*map(quote_name, columns), quote_name(instant)] if columns else None
        found = exp.Subquery(this=inner, alias=exp.TableAlias(this=named, columns=listed))
        return found, Source(named.name, columns or names, instant)

    def relation(self, node: exp.Expr, instant: str) -> tuple[exp.Query, Names]:
        """A source as a query with its instant, and the names of its other columns."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, instant)
        if not isinstance(node, exp.Table):
            raise NotSequenced
        if is_placeholder(node):
            names: Names = self.cores[node.name]
        elif not node.db and folded(node.name) in self.ctes:
            names = self.ctes[folded(node.name)]
        else:
            raise NotSequenced
        listed = [exp.Star()] if names is None else [column(n) for n in names]
        return exp.select(*listed, exp.alias_(column(INSTANT), instant)).from_(exp.Table(this=node.this.copy())), names

    def constant(self, node: exp.Expr, instant: str) -> tuple[exp.Expr, Source]:
        """Repeat rows without time (VALUES, a function) at each instant."""
        columns, alias = node.alias_column_names, node.args.get("alias")
        named = self.fresh_alias(alias)
        node = node.copy()
        if alias is None or not alias.this:
            node.set("alias", exp.TableAlias(this=named.copy(), columns=list(map(quote_name, columns)) or None))
        every = exp.Column(this=exp.Star(), table=named.copy())
        inner = exp.select(every, exp.alias_(column(INSTANT, POINTS), instant)).from_(node)
        inner = inner.join(exp.to_table(POINTS), join_type="cross", copy=False)
        return derived(inner, named.name), Source(named.name, columns or None, instant)


def _of_points(select: exp.Select) -> tuple[list[Source], exp.Expr]:
    """The source of a SELECT without FROM: the instants themselves."""
    if any(map(has_query, select.expressions)):
        raise NotSequenced  # Spark 4.1 fails on such a SELECT as a side of a UNION
    table = exp.to_table(POINTS).as_("mz_from_points", table=True)
    select.set("from_", exp.From(this=table))
    return [Source("mz_from_points", [], INSTANT)], column(INSTANT)


def _refuse_others(node: exp.Expr, known: set[str]) -> None:
    if has_other_parts(node, known):
        raise NotSequenced
