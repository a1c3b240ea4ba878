"""The parts of a SELECT that a query at many instants changes, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from ..predicates.clock_text import clock_mark
from ..sql.identifiers import folded
from ..sql.linear import is_aggregation
from ..sql.scope import quote_name


class NotSequenced(Exception):
    """A form of query that is not covered."""


def expressions_of(select: exp.Select) -> Iterator[exp.Expr]:
    """The expressions of a SELECT outside of the relations in its FROM."""
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


def merges_columns(join: exp.Join) -> bool:
    return bool(join.args.get("using")) or join.method == "NATURAL"


def resolved(key: exp.Expr, items: Sequence[exp.Expr], outputs: Mapping[str, exp.Expr]) -> exp.Expr:
    """The expression that an ORDER BY means: an ordinal, the alias of a column, or an expression over either."""
    if isinstance(key, exp.Literal) and not key.is_string:
        position = int(key.name) - 1
        if not 0 <= position < len(items):
            raise NotSequenced
        item = items[position]
        if item.is_star:
            raise NotSequenced
        return (item.this if isinstance(item, exp.Alias) else item).copy()

    def meant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and folded(node.name) in outputs:
            return exp.paren(outputs[folded(node.name)].copy())
        return node

    return key.copy().transform(meant)


def over_output(key: exp.Expr, names: Sequence[str]) -> exp.Expr:
    if isinstance(key, exp.Literal) and not key.is_string:
        return column(names[int(key.name) - 1])
    known = {folded(n) for n in names}
    if any(c.table or folded(c.name) not in known for c in key.find_all(exp.Column)):
        raise NotSequenced
    return key.copy()


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quote_name(alias)))


def column(name: str, table: str = "") -> exp.Column:
    return exp.column(quote_name(name), table=quote_name(table) if table else None)
