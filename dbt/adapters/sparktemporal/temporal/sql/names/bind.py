"""Derive the columns of queries, with the names and types that Spark gives them, from the columns of tables.

    select t.*, u.n + 1 as n, f(u.n) as m from s.t join s.u using (k)
      ->  k string, the other columns of s.t with their types, n int, m of a type that only Spark knows

Spark is asked about tables, and about sources whose columns are not derived here: PIVOT, WITH RECURSIVE, functions of
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ....errors import Refusal
from ..spark.errors import SparkError
from ..spark.settings import CASE
from ..text.dialect import expression, fragment, has_clock, has_other_parts, mz_now_calls
from ..text.identifiers import folded
from .ctes import inside, is_recursive, visible_ctes, with_ctes
from .linear import only_filters
from .scope import Columns, Describe, Source, Sources, around, quote_name, resolve, shown_by, star_of
from .types import field_type, type_of

#: an expression, and the type of a column in it -> its type, "" where it is not known
TypeOf = Callable[[exp.Expr, Callable[[exp.Column], str]], str]

_NAMES = ("this", "db", "catalog")
_OF_SETS = ("with_", "this", "expression", "distinct", "order", "limit", "offset", "sort", "cluster", "distribute")


def sources_of(select: exp.Select, describe: Describe, ctes: Sequence[exp.CTE]) -> Sources:
    """The sources of a SELECT. A source without a name gets a name, in place."""
    return Binding(describe, select).sources(select, ctes)


def columns_of(query: exp.Query, describe: Describe, ctes: Sequence[exp.CTE] = ()) -> Columns:
    """The columns of a query; a type is "" where only Spark knows it."""
    found = Binding(describe).columns(query, ctes)
    return _asked(query, describe, ctes) if found is None else found


def typed_columns(query: exp.Query, describe: Describe, ctes: Sequence[exp.CTE] = ()) -> Columns:
    """The columns of a query with all types."""
    found = Binding(describe).columns(query, ctes)
    return found if found and all(kind for _, kind in found) else _asked(query, describe, ctes)


def refuse_other_case(tree: exp.Query, describe: Describe) -> None:
    """Refuse a name that Spark does not take for what it means here, in a session in which case tells names apart.

    select upper(k) as K, count(*) as n from t group by K      Spark groups by the item, and this module finds `t.k`
    """
    for select in tree.find_all(exp.Select):
        if not select.args.get("from_"):
            continue
        try:
            sources = Binding(describe).sources(select, visible_ctes(select))
            columns = [column for column in select.find_all(exp.Column) if column.find_ancestor(exp.Select) is select]
            other = next((column for column in columns if _is_in_other_case(column, sources)), None)
        except (Refusal, SparkError):  # the columns of a source are not known: a later step tells
            continue
        if other is not None:
            raise Refusal(
                "ST384",
                fragment(other),
                f"with {CASE} another name of these letters is meant, and dbt-sparktemporal takes both for one",
                "names that differ in more than case",
            )


def _is_in_other_case(column: exp.Column, sources: Sources) -> bool:
    """Whether a name means a column, or a source, that is spelled in another case."""
    found = resolve(column, sources)
    if found is None:
        return False
    source, name, parts = found
    is_other_source = parts == 2 and column.parts[0].name != sources[source].name
    return is_other_source or column.parts[parts - 1].name != name


def _asked(query: exp.Query, describe: Describe, ctes: Sequence[exp.CTE]) -> Columns:
    """Ask Spark, which has no `mz_now()`, for a query's columns. The rows do not matter, so the clock is replaced."""
    asked = with_ctes(query.copy(), list(ctes))
    for where in asked.find_all(exp.Where):
        if has_clock(where):
            where.set("this", exp.true())
    for call in list(mz_now_calls(asked)):
        call.replace(expression("timestamp_millis(0L)"))
    return describe(asked)


class Binding:
    """Derives the columns of queries. The result None means that Spark must be asked.

    The trees of the queries must not change while a Binding is in use.
    """

    def __init__(self, describe: Describe, named: exp.Select | None = None, types: TypeOf = type_of) -> None:
        """named: the SELECT whose sources without a name get a name, in place. types: the rules for expressions."""
        self._describe, self._named, self._types = describe, named, types
        self._of_ctes: dict[int, Columns | None] = {}

    def columns(self, query: exp.Expr, ctes: Sequence[exp.CTE], named: bool = True) -> Columns | None:
        """The columns of a query. named: whether their names matter; a UNION has the names of its first branch."""
        own = query.args.get("with_")
        ctes = [*ctes, *own.expressions] if own is not None else ctes
        if isinstance(query, exp.Subquery) and not has_other_parts(query, ("this", "alias", "with_")):
            return renamed(self.columns(query.this, ctes, named), query)
        if isinstance(query, exp.SetOperation) and not has_other_parts(query, _OF_SETS):
            return self._of_both(query, ctes, named)
        if isinstance(query, exp.Select) and not query.args.get("kind"):
            return self._of_items(query, ctes, named)
        return None

    def typed(self, node: exp.Expr, select: exp.Select, ctes: Sequence[exp.CTE]) -> str:
        """The type of an expression in a SELECT or in one of its subqueries; "" where only Spark knows it."""
        sources = self.sources(select, ctes) if select.args.get("from_") else Sources()
        return self._types(node, lambda column: self._of_column(column, select, sources, ctes))

    def _of_both(self, query: exp.SetOperation, ctes: Sequence[exp.CTE], named: bool) -> Columns | None:
        left, right = self.columns(query.left, ctes, named), self.columns(query.right, ctes, named=False)
        if left is None or right is None or len(left) != len(right):
            return left and [(name, "") for name, _ in left]
        return [(name, self._together(kind, other)) for (name, kind), (_, other) in zip(left, right)]

    def _of_items(self, select: exp.Select, ctes: Sequence[exp.CTE], named: bool) -> Columns | None:
        def of_column(column: exp.Column) -> str:
            return self._of_column(column, select, sources, ctes)

        try:
            sources = self.sources(select, ctes) if select.args.get("from_") else Sources()
            found = [self._of_item(item, of_column, sources, named) for item in select.expressions]
        except Refusal:  # a name or a star that is not understood here
            return None
        return None if None in found else [column for columns in found if columns for column in columns]

    def _of_item(
        self, item: exp.Expr, of_column: Callable[[exp.Column], str], sources: Sources, named: bool
    ) -> Columns | None:
        """The columns of an item of a SELECT list; None where only Spark knows their names."""
        star = star_of(item)
        if star is not None:
            return [(c.name, _type_of(c.table, c.name, sources)) for c in shown_by(star, item, sources)]
        if isinstance(item, exp.Aliases):
            return [(name.name, "") for name in item.args["expressions"]]
        kind = self._types(item.unalias(), of_column)
        if isinstance(item, exp.Alias) or isinstance(item, exp.Column) and resolve(item, sources):
            return [(item.alias_or_name, kind)]
        return [("", kind)] if kind and not named else None  # a function without a type may make several columns

    def _of_column(self, column: exp.Column, select: exp.Select, sources: Sources, ctes: Sequence[exp.CTE]) -> str:
        """The type of a column that an item of a SELECT names, by itself or inside a subquery."""
        scope = column.find_ancestor(exp.Select)
        while scope is not None and scope is not select:
            own = scope.args.get("with_")
            inner = Sources()
            if scope.args.get("from_"):
                inner = self.sources(scope, ctes if own is None else [*ctes, *own.expressions])
            if resolve(column, inner) is not None:
                return _of_column(column, inner)
            scope = around(scope)
        if resolve(column, sources) is None and len(column.parts) == 1:
            for item in select.expressions:
                if inside(column, item):
                    break
                if isinstance(item, exp.Alias) and folded(item.alias) == folded(column.name):
                    return self._types(item.this, lambda below: self._of_column(below, select, sources, ctes))
        return _of_column(column, sources)

    # -- sources --

    def sources(self, select: exp.Select, ctes: Sequence[exp.CTE]) -> Sources:
        found = Sources()
        found.join(self._source(select.args["from_"].this, 0, ctes))
        merged: dict[str, str] = {}
        types: dict[str, str] = {}
        for join in select.args.get("joins") or []:
            source = self._right_side(join, len(found), ctes)
            keys = _merged_by(join, found.star, source)
            merged |= {key.lower(): key for key in keys}
            types |= {key: _merged_type(key, [*found, source]) for key in keys}
            found.join(None if only_filters(join) else source, keys)
        for view in select.args.get("laterals") or []:
            found.join(_lateral(view))
        if merged:
            found.insert(0, Source("", (), tuple(merged.values()), types))
        return found

    def _right_side(self, join: exp.Join, position: int, ctes: Sequence[exp.CTE]) -> Source:
        if isinstance(join.this, exp.Lateral):
            return _lateral(join.this)
        if only_filters(join) and join.method != "NATURAL":
            return Source("", (), ())  # nothing asks for its columns
        return self._source(join.this, position, ctes)

    def _source(self, node: exp.Expr, position: int, ctes: Sequence[exp.CTE]) -> Source:
        if not isinstance(node, (exp.Table, exp.Subquery, exp.Values)):
            raise Refusal(
                "ST309", fragment(node), "the columns of this input are not tracked", "an upstream view over it"
            )
        name = node.alias_or_name or f"mz_source_{position}"
        if not node.alias_or_name and node.parent is not None and node.parent.parent is self._named:
            node.set("alias", exp.TableAlias(this=quote_name(name)))
        columns = self._of_source(node, ctes)
        if columns is None:
            columns = _asked(exp.select("*").from_(node.copy()), self._describe, ctes)
        path = tuple(p.name for p in node.parts) if isinstance(node, exp.Table) and not node.alias else ()
        names = [column for column, _ in columns]
        types = {column: kind if names.count(column) == 1 else "" for column, kind in columns}
        return Source(name, path or (name,), tuple(names), types)

    def _of_source(self, node: exp.Expr, ctes: Sequence[exp.CTE]) -> Columns | None:
        if isinstance(node, exp.Subquery):
            is_table = isinstance(node.this, exp.Table) and not has_other_parts(node, ("this", "alias"))
            return renamed(self._of_source(node.this, ctes), node) if is_table else self.columns(node, ctes)
        if isinstance(node, exp.Values):
            return renamed(self._of_values(node), node)
        if not isinstance(node, exp.Table) or has_other_parts(node, (*_NAMES, "alias")):
            return None
        if not isinstance(node.this, exp.Identifier):  # a function that makes rows
            return renamed([("id", "bigint")], node) if node.this.name.lower() == "range" else None
        named = [at for at, cte in enumerate(ctes) if folded(cte.alias) == folded(node.name)]
        if named and not node.db:
            return renamed(self._of_cte(ctes[named[-1]], ctes[: named[-1]]), node)
        table = exp.Table(**{key: part.copy() for key in _NAMES if (part := node.args.get(key))})
        return renamed(self._describe(exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))), node)

    def _of_values(self, node: exp.Values) -> Columns | None:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if has_other_parts(node, ("expressions", "alias")) or len({len(row) for row in rows}) != 1:
            return None
        kinds = [[self._types(value, lambda column: "") for value in values] for values in zip(*rows)]
        return [(f"col{number}", self._together(*of)) for number, of in enumerate(kinds, 1)]

    def _together(self, *kinds: str) -> str:
        """The type that values of several types have in one column."""
        of = {f"c{number}": kind for number, kind in enumerate(kinds)}
        both = exp.Anonymous(this="coalesce", expressions=list(map(exp.column, of)))
        return self._types(both, lambda column: of[column.name])

    def _of_cte(self, cte: exp.CTE, ctes: Sequence[exp.CTE]) -> Columns | None:
        if id(cte) not in self._of_ctes:
            self._of_ctes[id(cte)] = None if is_recursive(cte) else renamed(self.columns(cte.this, ctes), cte)
        return self._of_ctes[id(cte)]


def renamed(columns: Columns | None, node: exp.Expr) -> Columns | None:
    """The columns with the names that an alias gives them (`as t(a, b)`)."""
    names = node.alias_column_names
    return columns if columns is None or not names else [(name, kind) for name, (_, kind) in zip(names, columns)]


def _of_column(column: exp.Column, sources: Sources) -> str:
    found = resolve(column, sources)
    if found is None:
        return ""
    source, name, parts = found
    kind, fields = sources[source].types.get(name, ""), column.parts[parts:]
    return field_type(kind, fields[0].name) if len(fields) == 1 else "" if fields else kind


def _type_of(source: str, name: str, sources: Sources) -> str:
    return next((s.types[name] for s in sources if s.name == source and name in s.types), "")


def _merged_by(join: exp.Join, left: Sequence[tuple[str, str]], right: Source) -> list[str]:
    """The columns that a join merges, spelled as on the side whose names the join keeps."""
    if join.method == "NATURAL":  # a name in another case is another name there
        return [name for _, name in left if name in right.columns]
    named = right.columns if join.side == "RIGHT" else [name for _, name in left]
    keys = [key.name for key in join.args.get("using") or []]
    return [next((name for name in named if name.lower() == key.lower()), key) for key in keys]


def _merged_type(key: str, sources: Sequence[Source]) -> str:
    """The type of a merged column: the one type of all columns of its name, "" if they have several types."""
    kinds = {kind for source in sources for name, kind in source.types.items() if name.lower() == key.lower()}
    return kinds.pop() if len(kinds) == 1 else ""


def _lateral(lateral: exp.Lateral) -> Source:
    alias = lateral.args.get("alias")
    if alias is None or not alias.this or not alias.columns:
        raise Refusal(
            "ST310",
            fragment(lateral),
            "its columns have no names here",
            "LATERAL VIEW explode(xs) x AS item, with the names of table and columns",
        )
    return Source(alias.name, (alias.name,), tuple(c.name for c in alias.columns))
