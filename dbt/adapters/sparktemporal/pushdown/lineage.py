"""Pushes the predicate of a window down through SELECTs, to a predicate over the rows of one table.

    SELECT id FROM (SELECT id, CAST(raw AS TIMESTAMP) AS ts FROM events WHERE kind = 'a') v
    WHERE mz_now() < v.ts                            events:  kind = 'a' AND mz_now() < CAST(raw AS TIMESTAMP)

sqlglot's optimizer resolves names. A name that is not resolved becomes a placeholder, about which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

from ..errors import Refusal
from ..temporal.ivm import linear_tables
from ..temporal.predicates.bounds import TIMESTAMP
from ..temporal.predicates.logic import Compared, parts_of
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.names.bind import sources_of
from ..temporal.sql.names.ctes import visible_ctes
from ..temporal.sql.names.linear import merges_columns
from ..temporal.sql.names.projection import expand_stars
from ..temporal.sql.names.scope import star_of
from ..temporal.sql.text.dialect import DEFECTS, has_clock, quote
from ..temporal.sql.text.grammar import VerbatimSpark
from .kinds import type_of

Columns = Sequence["tuple[str, str]"]

_TABLE, _WINDOW, _OTHER, _UNKNOWN = "mz_place_", "mz_window_", "mz_other_", "mz_unknown_"


@dataclass(frozen=True)
class Place:
    """A table in a query that uses each row of the table by itself."""

    #: the index of the table in `linear_tables.tables`
    index: int
    #: a predicate over the bare columns of the table
    predicate: exp.Expr
    #: rendered column of another table in the predicate -> its type, "" where not known
    others: Mapping[str, str]


def windows(typed: TypedCore) -> tuple[list[exp.Expr], dict[int, str]]:
    """The window of a core as predicates with mz_now(), and the kind (type) of each mz_now() by its position."""
    found: list[exp.Expr] = []
    calls = dict(typed.calls)
    for number, comparison in enumerate(typed.core.comparisons):
        now = exp.Anonymous(this="mz_now")
        now.meta["start"] = -2 - number
        calls[-2 - number] = TIMESTAMP if comparison.kind == TIMESTAMP else "BIGINT"
        operand = exp.paren(comparison.operand.copy())
        compared = Compared(now, comparison.operator, operand).node()
        if comparison.optional:
            compared = exp.Or(this=compared, expression=exp.Is(this=operand, expression=exp.null()))
        found.append(exp.paren(compared))
    condition = typed.core.condition
    if condition is not None:
        found.append(exp.paren(condition.written(condition.predicate)))
    return found, calls


def places(query: exp.Query, window: Sequence[exp.Expr], columns: Sequence[Columns], ansi: bool) -> list[Place]:
    """The tables of a query whose files can be left out by statistics, each with its predicate.

    columns: the (name, type) pairs of each table. ansi: whether an expression may raise an error. Then a
    table whose predicate has a subquery is left out; otherwise that part of the predicate is.
    """
    query = query.copy()
    if not isinstance(query, exp.Select):
        return []
    tables = linear_tables.tables(query)
    if not all(_is_plain(table, named) for (table, _), named in zip(tables, columns)):
        return []
    linear = {index for index, (_, is_linear) in enumerate(tables) if is_linear}
    schema: dict[str, object] = {}
    for index, ((table, _), named) in enumerate(zip(tables, columns)):
        schema[f"{_TABLE}{index}"] = {quote(name): "unknown" for name, _ in named}
        _number(table, index)
    items = [exp.alias_(part.copy(), f"{_WINDOW}{i}") for i, part in enumerate(window)]
    query.set("expressions", [*query.expressions, *items])
    try:
        _write_out_stars(query, columns)
        query = qualify(
            query, dialect=VerbatimSpark, schema=schema, expand_alias_refs=False, validate_qualify_columns=False,
            quote_identifiers=False, identify=False,
        )  # fmt: skip
        root = build_scope(query)
    except (Refusal, SqlglotError, RecursionError, *DEFECTS):  # the optimizer cannot resolve the query: nothing follows
        return []
    if root is None:
        return []
    terms = [item.this for item in query.expressions if item.alias.startswith(_WINDOW)]
    types = [{name.lower(): kind for name, kind in named} for named in columns]
    found = [place for place in _Descent(types, ansi).below(root, terms) if place.index in linear]
    return [place for place in found if not place.predicate.find(exp.Query)]


def _is_plain(table: exp.Table, named: Sequence[tuple[str, str]]) -> bool:
    """Whether each name means one column of a table. `t AS e(a, b)` may give a column the name of another one."""
    alias = table.args.get("alias")
    return len({name.lower() for name, _ in named}) == len(named) and not (alias and alias.args.get("columns"))


def _number(table: exp.Table, index: int) -> None:
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=table.this.copy()))
    table.set("this", exp.to_identifier(f"{_TABLE}{index}"))
    table.set("db", None)
    table.set("catalog", None)


def _write_out_stars(query: exp.Query, columns: Sequence[Columns]) -> None:
    """Replace, in place, each star over joins that merge columns (USING, NATURAL) by the columns in Spark's order.

    sqlglot's optimizer would write them in another order.
    """

    def describe(table: exp.Query) -> list[tuple[str, str]]:
        name = table.args["from_"].this.name
        if not name.startswith(_TABLE):
            raise SqlglotError(f"the columns of {name} are not known here")
        return list(columns[int(name[len(_TABLE) :])])

    for select in list(query.find_all(exp.Select)):
        if any(map(star_of, select.expressions)) and any(map(merges_columns, select.args.get("joins") or [])):
            expand_stars(select, sources_of(select, describe, visible_ctes(select)))


@dataclass
class _Descent:
    """Follows predicates down to the tables of a query."""

    #: for each table: column in lower case -> its type
    types: Sequence[Mapping[str, str]]
    ansi: bool
    #: placeholder of a column of another table -> its type
    others: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def below(self, scope: Scope, terms: list[exp.Expr]) -> Iterator[Place]:
        """The places below a SELECT. terms: predicates over its sources that hold for every row that counts."""
        select = scope.expression
        terms = [term for term in (*terms, *_filters(select)) if self.ansi or not term.find(exp.Query)]
        for name, (node, source) in scope.selected_sources.items():
            own = [term for term in terms if any(c.table == name for c in term.find_all(exp.Column))]
            if isinstance(source, Scope):
                yield from self._into(source, [self._of(term, name, scope) for term in own])
            elif isinstance(node, exp.Table) and node.name.startswith(_TABLE) and own:
                predicate = exp.and_(*(self._of(term, name, scope) for term in own))
                names = [quote(column.name) for column in predicate.find_all(exp.Column)]
                others = {name: self.others[name] for name in names if name in self.others}
                yield Place(int(node.name[len(_TABLE) :]), predicate, others)

    def _into_branches(self, scope: Scope, terms: list[exp.Expr]) -> Iterator[Place]:
        branches = list(_branches(scope))
        types = [self._output_types(branch) for branch in branches]
        same = [len({of[i] for of in types}) == 1 and types[0][i] for i in range(min(map(len, types)))]
        names = [item.alias_or_name for item in _selects(scope.expression)]
        for branch in branches if len(same) == len(names) else ():
            items = [item if known else None for item, known in zip(_selects(branch.expression), same)]
            found = dict(zip(names, items))
            yield from self.below(branch, [self._put(term, found) for term in terms])

    def _into(self, scope: Scope, terms: list[exp.Expr]) -> Iterator[Place]:
        """The places below an inner query. terms: predicates over its output columns."""
        node = scope.expression
        if isinstance(node, exp.SetOperation) and not node.args.get("by_name"):
            yield from self._into_branches(scope, terms)
        elif isinstance(node, exp.Select):
            found = {item.alias_or_name: item for item in _selects(node)}
            yield from self.below(scope, [self._put(term, found) for term in terms])

    def _put(self, term: exp.Expr, items: Mapping[str, exp.Expr | None]) -> exp.Expr:
        """A predicate over the output of a SELECT -> over its input."""

        def put(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.table or _is_placeholder(node):
                return node
            item = items.get(node.name)
            found = self._placeholder(_UNKNOWN) if item is None else item.unalias().copy()
            return found if isinstance(found, exp.Column) else exp.paren(found)

        return term.transform(put)

    def _of(self, term: exp.Expr, name: str, scope: Scope) -> exp.Expr:
        """A predicate with bare columns of the source `name`, and placeholders for the columns of other sources.

        Placeholders have no statistics.
        """

        def bare(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or _is_placeholder(node):
                return node
            if node.table == name:
                return exp.column(exp.to_identifier(node.name, quoted=True))
            is_there = node.table in scope.selected_sources
            placeholder = self._placeholder(_OTHER if is_there else _UNKNOWN)
            if is_there:
                self.others[quote(placeholder.name)] = self._type(node, scope)
            return placeholder

        return term.transform(bare)

    def _placeholder(self, kind: str) -> exp.Column:
        return exp.column(exp.to_identifier(f"{kind}{next(self.numbers)}", quoted=True))

    def _output_types(self, scope: Scope) -> list[str]:
        """The types of the output of a SELECT, "" where a type is not known."""
        return [self._type(item.unalias(), scope) for item in _selects(scope.expression)]

    def _type(self, node: exp.Expr, scope: Scope) -> str:
        node = node.unnest()
        if isinstance(node, exp.Cast):
            return type_of(node)
        if not isinstance(node, exp.Column) or node.table not in scope.selected_sources:
            return ""
        table, source = scope.selected_sources[node.table]
        if isinstance(source, Scope):
            if not isinstance(source.expression, exp.Select):
                return ""
            items = {item.alias_or_name: item for item in _selects(source.expression)}
            return self._type(items[node.name].unalias(), source) if node.name in items else ""
        if not table.name.startswith(_TABLE):
            return ""
        return self.types[int(table.name[len(_TABLE) :])].get(node.name.lower(), "")


def _branches(scope: Scope) -> Iterator[Scope]:
    """The SELECTs of a UNION."""
    for branch in scope.set_operation_scopes:
        if branch.set_operation_scopes:
            yield from _branches(branch)
        else:
            yield branch


def _is_placeholder(column: exp.Column) -> bool:
    return column.name.startswith((_OTHER, _UNKNOWN))


def _filters(select: exp.Expr) -> list[exp.Expr]:
    """The predicates without the clock that hold for every row of a SELECT."""
    where = select.args.get("where")
    found = [where.this] if where is not None else []
    joins = select.args.get("joins") or []
    if all(not join.side and (join.kind or "").upper() in ("", "INNER", "CROSS") for join in joins):
        found += [join.args["on"] for join in joins if join.args.get("on") is not None]
    return [part for predicate in found for part in parts_of(predicate) if not has_clock(part)]


def _selects(query: exp.Expr) -> list[exp.Expr]:
    return list(cast("exp.Query", query).selects)
