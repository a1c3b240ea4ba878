"""A residual in the SQL of another engine: SELECTs, joins, groups and windows over the rows of the cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ...temporal.diffs.intervals_sql import indent
from ...temporal.sql.spark import decimals
from ...temporal.sql.text.dialect import has_other_parts
from .dialects import SEMI_JOINS, TOTALS, quote
from .expressions import Expressions, Session, refusal
from .kinds import BIGINT, DOUBLE, EQUAL, FLOAT, INT, NULL, NUMBERS, TRUTH, Kind, Typed
from .resolved_names import resolved

#: a query: its text, and the names and kinds of its columns
Query = tuple[str, list[tuple[str, Kind]]]
Columns = Sequence[tuple[str, str]]

_TRANSLATED = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "hint",
    "with_",
}  # fmt: skip
_JOINS = {("", ""), ("", "INNER"), ("", "CROSS"), ("LEFT", ""), ("LEFT", "OUTER"), ("LEFT", "SEMI"), ("LEFT", "ANTI")}
_RANKS: dict[type[exp.Expr], str] = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
_RANK = Kind(INT, 10)


@dataclass(frozen=True)
class _Aggregate:
    """An aggregate: its SQL before and after the place of a FILTER or OVER, and its kind."""

    head: str
    tail: str
    kind: Kind

    def with_(self, clause: str) -> Typed:
        return f"{self.head}{clause}{self.tail}", self.kind


def translated(residual: str, cores: Mapping[str, Columns], session: Session) -> Query:
    """Translate a residual. cores: placeholder -> columns, Spark's types. Raises Refusal where engines may differ."""
    tree = resolved(residual, {name: [column for column, _ in columns] for name, columns in cores.items()})
    known = {name: {c.lower(): Kind.of(kind) for c, kind in columns} for name, columns in cores.items()}
    return _Queries(known, session).of(tree, None)


class _Queries:
    def __init__(self, cores: Mapping[str, Mapping[str, Kind]], session: Session) -> None:
        self._cores, self._session = cores, session
        self._named: dict[str, Mapping[str, Kind]] = {}  # the queries of the WITHs around

    def of(self, node: exp.Expr, above: Expressions | None) -> Query:
        if isinstance(node, exp.Subquery):
            if has_other_parts(node, ("this", "alias")):
                raise refusal(node, "a clause after a query in parentheses is not translated")
            return self.of(node.this, above)
        if not node.args.get("with_"):
            return self._body(node, above)
        around = self._named
        try:
            listed = self._with(node.args["with_"])
            sql, columns = self._body(node, above)
        finally:
            self._named = around
        return f"WITH {listed}\n{sql}", columns

    def _with(self, node: exp.With) -> str:
        """The queries of a WITH, each of which may read those before it."""
        if has_other_parts(node, ("expressions",)):
            raise refusal(node, "a WITH of this kind is not translated")
        listed = []
        for query in node.expressions:
            if has_other_parts(query, ("this", "alias")) or query.alias_column_names:
                raise refusal(query, "a query of a WITH in this form is not translated")
            sql, columns = self.of(query.this, None)
            self._named = {**self._named, query.alias: dict(columns)}
            listed.append(f"{quote(query.alias)} AS (\n{indent(sql, 2)}\n)")
        return ", ".join(listed)

    def _body(self, node: exp.Expr, above: Expressions | None) -> Query:
        if isinstance(node, exp.SetOperation):
            return self._set(node, above)
        if isinstance(node, exp.Select):
            return self._select(node, above)
        raise refusal(node, "only SELECT and set operations are translated")

    def _set(self, node: exp.SetOperation, above: Expressions | None) -> Query:
        (one, columns), (other, others) = self.of(node.left, above), self.of(node.right, above)
        alike = [k for _, k in columns] == [k for _, k in others]
        if not alike or any(node.args.get(x) for x in ("by_name", "side", "kind", "order", "limit", "offset")):
            raise refusal(node, "its sides have columns of several types, or it has clauses that are not translated")
        distinct = node.args.get("distinct")
        if distinct:
            self._equal(node, [k for _, k in columns])
        word = f"{type(node).__name__.upper()}{'' if distinct else ' ALL'}"
        return f"({one})\n{word}\n({other})", columns

    def _select(self, node: exp.Select, above: Expressions | None) -> Query:
        if has_other_parts(node, _TRANSLATED):
            raise refusal(node, "a clause of it is not translated")
        sources: dict[str, Mapping[str, Kind]] = {}
        env = Expressions(self._session, sources, above, self._further)
        lines: list[str] = []
        if node.args.get("from_"):
            lines.append(f"FROM {self._source(node.args['from_'].this, env, sources)}")
        lines += [self._join(join, env, sources) for join in node.args.get("joins") or []]
        if node.args.get("where"):
            lines.append(f"WHERE {env.visit(node.args['where'].this)}")
        lines += [*self._group(node, env), *self._having(node, env)]
        items, columns = self._items(node, env)
        if distinct := node.args.get("distinct"):
            if distinct.args.get("on"):
                raise refusal(node, "DISTINCT ON is not translated")
            self._equal(node, [k for _, k in columns])
        lines += self._order(node, env)
        head = f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(items)}"
        return "\n".join([head, *filter(None, lines)]), columns

    def _having(self, node: exp.Select, env: Expressions) -> list[str]:
        kept = [env.visit(node.args["having"].this)] if node.args.get("having") else []
        if node.args.get("group") and node.args["group"].find(exp.Rollup, exp.Cube):
            kept.append("count(*) > 0")  # over no rows Spark has no total
        return [f"HAVING {' AND '.join(kept)}"] if kept else []

    def _items(self, node: exp.Select, env: Expressions) -> tuple[list[str], list[tuple[str, Kind]]]:
        items, columns = [], []
        for item in node.expressions:
            sql, kind = env.of(item.unalias())
            items.append(f"{sql} AS {quote(item.alias_or_name)}")
            columns.append((item.alias_or_name, kind))
        return items, columns

    # -- sources --

    def _source(self, node: exp.Expr, env: Expressions, sources: dict[str, Mapping[str, Kind]]) -> str:
        alias = quote(node.alias_or_name)
        plain = not has_other_parts(node, ("this", "alias"))
        if isinstance(node, exp.Table) and node.name in self._cores and plain:
            sources[node.alias_or_name] = self._cores[node.name]
            return f"{quote(node.name)} AS {alias}"
        if isinstance(node, exp.Table) and node.name in self._named and plain:
            sources[node.alias_or_name] = self._named[node.name]
            return f"{quote(node.name)} AS {alias}"
        if isinstance(node, exp.Subquery) and plain:
            sql, columns = self.of(node.this, env.above)
            sources[node.alias_or_name] = dict(columns)
            return f"(\n{indent(sql, 2)}\n) AS {alias}"
        raise refusal(node, "a source of this form is not translated")

    def _join(self, join: exp.Join, env: Expressions, sources: dict[str, Mapping[str, Kind]]) -> str:
        form = (join.side, join.kind)
        is_lacking = form[1] in ("SEMI", "ANTI") and SEMI_JOINS in self._session.dialect.lacks
        if form not in _JOINS or is_lacking or join.method or join.args.get("using"):
            raise refusal(join, "a join of this kind is not translated")
        source = self._source(join.this, env, sources)
        on = join.args.get("on")
        if form[1] in ("SEMI", "ANTI"):
            words = form[1]
        else:
            words = "LEFT" if form[0] else "INNER" if on is not None else "CROSS"
        return f"{words} JOIN {source}" + (f" ON {env.visit(on)}" if on is not None else " ON true" if form[0] else "")

    # -- groups and order --

    def _group(self, node: exp.Select, env: Expressions) -> list[str]:
        group = node.args.get("group")
        if group is None:
            return []
        items = [*group.expressions, *(group.args.get("rollup") or []), *(group.args.get("cube") or [])]
        listed = [self._grouping(item, group, env) for item in items]
        if has_other_parts(group, ("expressions", "rollup", "cube")):
            raise refusal(group, "GROUPING SETS and ALL are not translated")
        return [f"GROUP BY {', '.join(listed)}"]

    def _grouping(self, item: exp.Expr, group: exp.Expr, env: Expressions) -> str:
        """A key of a GROUP BY, or a ROLLUP or CUBE of keys."""
        is_set = isinstance(item, (exp.Rollup, exp.Cube))
        if is_set and TOTALS in self._session.dialect.lacks:
            raise refusal(group, f"{TOTALS} are not translated for {self._session.dialect.name}")
        several = item.expressions if is_set else [item]
        if is_set and (not several or any(isinstance(key, exp.Literal) for key in several)):
            raise refusal(group, "WITH ROLLUP, WITH CUBE and numbers in them are not translated")
        keys = [env.of(key) for key in several]
        self._equal(group, [k for _, k in keys])
        shown = ", ".join(sql for sql, _ in keys)
        return f"{item.key.upper()} ({shown})" if is_set else shown

    def _equal(self, node: exp.Expr, of: Sequence[Kind]) -> None:
        if any(kind.name not in (*EQUAL, NULL) or kind.name == FLOAT for kind in of):
            raise refusal(node, "it compares doubles, or nested values, of which equal ones may differ")

    def _order(self, node: exp.Select, env: Expressions) -> list[str]:
        lines = []
        order = node.args.get("order")
        if order is not None:
            named = {item.alias_or_name: item.unalias() for item in node.expressions}
            lines.append(self._ordered(order, env, named))
        for word in ("offset", "limit"):  # in this order each engine takes them
            given = node.args.get(word)
            if given is None:
                continue
            value = given.expression
            if not isinstance(value, exp.Literal) or not value.name.isdigit():
                raise refusal(node, f"{word.upper()} is translated for a number alone")
            lines.append(f"{word.upper()} {value.name}")
        return lines

    def _ordered(self, order: exp.Order, env: Expressions, named: Mapping[str, exp.Expr]) -> str:
        parts = []
        for item in order.expressions:
            value = item.this if isinstance(item, exp.Ordered) else item
            if isinstance(value, exp.Column) and not value.table and value.name in named:
                value = named[value.name]
            if value.find(exp.Column, exp.AggFunc, exp.Window, exp.Query) is None:
                continue  # engines refuse an order by a constant
            sql, kind = env.of(value)
            if kind.name not in (*EQUAL, NULL) or not env.compares(kind):
                raise refusal(order, "it orders values of a type that the engines may order differently")
            descends = isinstance(item, exp.Ordered) and bool(item.args.get("desc"))
            first = item.args.get("nulls_first") if isinstance(item, exp.Ordered) else None
            first = not descends if first is None else bool(first)
            parts.append(f"{sql} {'DESC' if descends else 'ASC'} NULLS {'FIRST' if first else 'LAST'}")
        return f"ORDER BY {', '.join(parts)}" if parts else ""

    # -- what stands in a SELECT alone --

    def _further(self, node: exp.Expr, env: Expressions) -> Typed | None:
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            return f"EXISTS (\n{indent(self.of(node.this, env)[0], 2)}\n)", TRUTH
        if isinstance(node, exp.Filter):
            found = self._aggregate(node.this, env)
            return None if found is None else found.with_(f" FILTER (WHERE {env.visit(node.expression.this)})")
        if isinstance(node, exp.Window):
            return self._window(node, env)
        found = self._aggregate(node, env)
        return None if found is None else found.with_("")

    def _window(self, node: exp.Window, env: Expressions) -> Typed | None:
        if has_other_parts(node, ("this", "partition_by", "order", "over")):
            return None
        rank = _RANKS.get(type(node.this))
        found = self._aggregate(node.this, env) if rank is None else _Aggregate(f"CAST({rank}()", " AS INTEGER)", _RANK)
        if found is None:
            return None
        parts = [env.of(part) for part in node.args.get("partition_by") or []]
        self._equal(node, [kind for _, kind in parts])
        over = [f"PARTITION BY {', '.join(sql for sql, _ in parts)}"] if parts else []
        if node.args.get("order"):
            over.append(self._ordered(node.args["order"], env, {}))
        window = f" OVER ({' '.join(filter(None, over))})"
        return found.with_(window)

    def _aggregate(self, node: exp.Expr, env: Expressions) -> _Aggregate | None:
        if isinstance(node, exp.Count) and node.this is not None and not node.expressions:
            return self._count(node, env)
        if isinstance(node, exp.CountIf):
            return _Aggregate(f"count(CASE WHEN {env.visit(node.this)} THEN 1 END)", "", BIGINT)
        if isinstance(node, (exp.LogicalAnd, exp.LogicalOr)):
            word = "bool_and" if isinstance(node, exp.LogicalAnd) else "bool_or"
            return _Aggregate(f"{word}({env.visit(node.this)})", "", TRUTH)
        if isinstance(node, (exp.Min, exp.Max)) and not node.expressions:
            value, kind = env.of(node.this)
            is_known = kind.name in (*EQUAL, NULL) and env.compares(kind)
            return _Aggregate(f"{node.key}({value})", "", kind) if is_known else None
        if isinstance(node, exp.Sum):
            return self._sum(node, env)
        return None

    def _count(self, node: exp.Count, env: Expressions) -> _Aggregate | None:
        if isinstance(node.this, exp.Star):
            return _Aggregate("count(*)", "", BIGINT)
        distinct = isinstance(node.this, exp.Distinct)
        of = node.this.expressions if distinct else [node.this]
        if len(of) != 1:
            return None
        value, kind = env.of(of[0])
        if distinct:
            self._equal(node, [kind])
        return _Aggregate(f"count({'DISTINCT ' if distinct else ''}{value})", "", BIGINT)

    def _sum(self, node: exp.Sum, env: Expressions) -> _Aggregate | None:
        if isinstance(node.this, exp.Distinct):
            return None
        value, kind = env.of(node.this)
        if kind.name not in NUMBERS:
            return None
        if kind.name == FLOAT:
            return _Aggregate(f"sum(CAST({value} AS DOUBLE))", "", DOUBLE)
        total = BIGINT if kind.name == INT else Kind.of(decimals.of_sum(kind.digits, kind.scale))
        return _Aggregate(f"CAST(sum({value})", f" AS {env.dialect.type(total)})", total)
