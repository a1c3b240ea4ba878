"""The parts of a SELECT that `sequenced` changes: its expressions, its windows, its ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ...temporal.predicates.clock_text import clock_mark
from ...temporal.sql.names.linear import is_aggregation
from ...temporal.sql.names.scope import derived, quote_name
from ...temporal.sql.text.dialect import expression, render
from ...temporal.sql.text.identifiers import folded

_ORDER, _PLACE = "mz_seq_o_", "mz_seq_r"


class NotSequenced(Exception):
    """A form of query that is not covered."""


def expressions_of(select: exp.Select) -> Iterator[exp.Expr]:
    """The expressions of a SELECT, also of ON and LATERAL VIEW, but not of its relations, ORDER BY and LIMIT."""
    yield from select.expressions
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            yield join.args["on"]
    for view in select.args.get("laterals") or []:
        yield view.this
    for part in ("where", "group", "having"):
        if select.args.get(part) is not None:
            yield select.args[part]
    yield from select.args.get("windows") or []


def own_windows(select: exp.Select, kind: type[exp.Window]) -> list[exp.Window]:
    found = []
    for part in expressions_of(select):
        found += [n for n in part.walk(prune=lambda n: isinstance(n, exp.Query)) if isinstance(n, kind)]
    return found


def above_groups(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    if select.args.get("having") is not None:
        yield select.args["having"]


def has_query_or_clock(part: exp.Expr) -> bool:
    return has_query(part) or any(clock_mark(node) is not None for node in part.walk())


def has_query(part: exp.Expr) -> bool:
    return any(isinstance(node, exp.Query) for node in part.walk())


def has_aggregate(item: exp.Expr) -> bool:
    return is_aggregation(exp.select(item.copy()))


@dataclass(frozen=True)
class Limit:
    """The ORDER BY, LIMIT and OFFSET of a query."""

    keys: Sequence[exp.Ordered]
    limit: exp.Expr | None
    offset: exp.Expr | None

    @staticmethod
    def taken_off(query: exp.Query) -> Limit | None:
        """Take the clauses off a query; None without LIMIT and OFFSET, as an ORDER BY alone changes no rows."""
        order, limit, offset = (query.args.get(part) for part in ("order", "limit", "offset"))
        if limit is not None and folded(render(limit.expression)) == "all":
            limit = None
        for part in ("order", "limit", "offset", "sort", "cluster", "distribute"):
            query.set(part, None)
        if limit is None and offset is None:
            return None
        keys = list(order.expressions) if order is not None else []
        if any(not isinstance(k, exp.Ordered) or isinstance(k.this, exp.Var) for k in keys):
            raise NotSequenced
        return Limit(keys, limit, offset)

    def add_keys(self, query: exp.Query) -> int:
        """Add the ORDER BY keys as columns -> how many.

        0 for DISTINCT and set operations, which can only order by their own columns.
        """
        if not isinstance(query, exp.Select) or query.args.get("distinct"):
            return 0
        added = [exp.alias_(_resolved(key.this, query.expressions), f"{_ORDER}{i}") for i, key in enumerate(self.keys)]
        query.set("expressions", [*query.expressions, *added])
        return len(added)

    def by_instant(self, query: exp.Query, names: Sequence[str], instant: str, has_keys: bool) -> exp.Query:
        """A query of the columns `names` and `instant`, with the OFFSET and LIMIT applied at each instant."""
        if len({folded(n) for n in names}) < len(names):
            raise NotSequenced
        orders = []
        for position, key in enumerate(self.keys):
            ordered = key.copy()
            ordered.set("this", column(f"{_ORDER}{position}") if has_keys else _over_output(key.this, names))
            orders.append(ordered)
        placed = exp.Window(
            this=exp.Anonymous(this="row_number", expressions=[]),
            partition_by=[column(instant)],
            order=exp.Order(expressions=orders or [exp.Ordered(this=exp.null())]),
            over="OVER",
        )
        listed = [column(n) for n in (*names, instant)]
        middle = exp.select(*listed, exp.alias_(placed, _PLACE)).from_(derived(query, "mz_unlimited"))
        first = render(self.offset.expression) if self.offset is not None else "0"
        condition = f"{_PLACE} > {first}"
        if self.limit is not None:
            condition += f" AND {_PLACE} <= CAST({first} AS BIGINT) + {render(self.limit.expression)}"
        outer = exp.select(*(c.copy() for c in listed)).from_(derived(middle, "mz_placed"))
        return outer.where(expression(condition), copy=False)


def _resolved(key: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """The expression that an ORDER BY key means: the item of an ordinal, or the key with its aliases replaced."""
    if isinstance(key, exp.Literal) and not key.is_string:
        position = int(key.name) - 1
        if not 0 <= position < len(items) or items[position].is_star:
            raise NotSequenced
        return items[position].unalias().copy()
    outputs = {folded(i.alias): i.this for i in items if isinstance(i, exp.Alias)}

    def meant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and folded(node.name) in outputs:
            return exp.paren(outputs[folded(node.name)].copy())
        return node

    return key.copy().transform(meant)


def _over_output(key: exp.Expr, names: Sequence[str]) -> exp.Expr:
    if isinstance(key, exp.Literal) and not key.is_string:
        return column(names[int(key.name) - 1])
    known = {folded(n) for n in names}
    if any(c.table or folded(c.name) not in known for c in key.find_all(exp.Column)):
        raise NotSequenced
    return key.copy()


def column(name: str, table: str = "") -> exp.Column:
    return exp.column(quote_name(name), table=quote_name(table) if table else None)
