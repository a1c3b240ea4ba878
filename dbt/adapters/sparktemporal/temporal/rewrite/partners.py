"""The partners of a row in a join or an EXISTS over the clock: by which keys, and when they are there.

exists (select 1 from p where p.k = b.k and p.at <= mz_now())
  ->  keys   b.k = p.k          rows   select p.k as mz_partner_k0, p.at as mz_b0 from p          from mz_b0 on
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil

from sqlglot import exp

from ..predicates.bounds import TIMESTAMP, Bounds, bounds, operand_kind
from ..predicates.comparisons import Comparison, Moves, comparisons, conjuncts
from ..predicates.monotonicity import DAY_MS, milliseconds
from ..sql.functions.calls import makes_several_rows, nondeterministic, starts_with_unit
from ..sql.functions.registry import SPARKS, known
from ..sql.names.bind import sources_of, typed_columns
from ..sql.names.ctes import with_ctes
from ..sql.names.linear import is_inner, is_linear, merges_columns, only_filters
from ..sql.names.scope import Describe, Sources, derived, is_lambda_variable, quote_name, resolve
from ..sql.spark.combined_types import WHOLE
from ..sql.text.dialect import (
    VerbatimSpark,
    conjunction,
    expression,
    has_clock,
    has_other_parts,
    mz_now_calls,
    quote,
    render,
)
from ..sql.text.helper_columns import operand_column
from ..sql.text.identifiers import folded
from . import coverage_sql
from .merge_subqueries import can_give_up, moved_up


class Stays(Exception):
    """A query stays as it is."""


#: the beginning of the names of derived tables with times
ALIAS = "mz_partners_"


@dataclass(frozen=True)
class Key:
    """An equality between an expression over the outer rows and one over the partners."""

    outer: exp.Expr
    inner: exp.Expr
    null_safe: bool


@dataclass(frozen=True)
class Partners:
    keys: tuple[Key, ...]
    #: conditions on the outer rows alone, without which a row has no partner
    outer_only: tuple[exp.Expr, ...]
    times: coverage_sql.Partnered
    #: a call of mz_now() that decides when they are there
    call: exp.Expr
    #: the SELECT of the partners, with all predicates over the clock in its WHERE
    select: exp.Select

    def covered(self, alias: str, present: bool) -> tuple[exp.Subquery, exp.Expr, list[exp.Expr]]:
        """(the times with or without a partner as a derived table, the ON of its join, the conditions in the WHERE)."""
        sql = self.times.islands() if present else self.times.gaps()
        times: exp.Query = exp.maybe_parse(sql, dialect=VerbatimSpark)

        def column(name: str) -> exp.Column:
            return exp.column(quote_name(name), table=quote_name(alias))

        on: list[exp.Expr] = list(self.outer_only)
        for index, key in enumerate(self.keys):
            equal = exp.NullSafeEQ if key.null_safe else exp.EQ
            on.append(equal(this=exp.paren(key.outer.copy()), expression=column(coverage_sql.key_column(index))))
        holds: list[exp.Expr] = []
        begins, ends = (self.times.comes, self.times.goes) if present else (self.times.goes, self.times.comes)
        for name, operator, is_there in (("mz_partner_from", exp.GTE, begins), ("mz_partner_until", exp.LT, ends)):
            if not is_there:
                continue
            unless = exp.Is(this=column(name), expression=exp.null())
            holds.append(
                exp.paren(exp.Or(this=unless, expression=operator(this=self.call.copy(), expression=column(name))))
            )
        if not present:
            is_open = exp.Anonymous(this="coalesce", expressions=[column("mz_partner_open"), exp.true()])
            holds.append(is_open)
        return derived(times, alias), conjunction(on), holds


#: expressions over the outer rows -> their types
Types = Callable[[list[exp.Expr]], list[str]]


def partners(
    inner: exp.Select,
    outer: Sources,
    types: Types,
    describe: Describe,
    visible: list[exp.CTE],
    moves: Moves,
    key: Key | None = None,
) -> Partners:
    """The partners by a SELECT whose WHERE may name the outer rows. Raises Stays where they are not known so.

    outer: the sources of the outer rows. visible: the CTEs in scope. key: a further equality.
    """
    columns = (column for source in outer if not source.name.startswith(ALIAS) for column in source.columns)
    if any(column.lower().startswith(coverage_sql.OWN) for column in columns):
        raise Stays  # a name without a source would have two
    inner = with_window_above(inner.copy(), visible)
    flat = inner.copy()
    where = inner.args.get("where")
    if where is None or not has_clock(where):
        raise Stays
    of = _Conditions(sources_of(inner, describe, visible), outer, moves)
    of.take(where.this)
    if key is not None:
        of.take_key(key)
    if not of.compared or not of.keys:
        raise Stays
    inner.set("where", exp.Where(this=conjunction(of.own)) if of.own else None)
    items = [(coverage_sql.key_column(i), key.inner) for i, key in enumerate(of.keys)]
    items += [(operand_column(i), one.operand) for i, one in enumerate(of.compared)]
    inner.set("expressions", [exp.alias_(value.copy(), name, quoted=True) for name, value in items])
    found = [kind for _, kind in typed_columns(inner, describe, visible)]
    for one, other in zip(types([key.outer for key in of.keys]), found):
        # equal keys of other types may be in two groups, such as the texts '1' and '01' beside a number
        if one != other and not {one, other} <= {*WHOLE}:
            raise Stays
    kinds = [operand_kind(one, kind) for one, kind in zip(of.compared, found[len(of.keys) :])]
    if len({kind == TIMESTAMP for kind in kinds}) > 1:
        raise Stays
    edges = bounds([(c.operator, operand_column(i), kinds[i], c.optional) for i, c in enumerate(of.compared)])
    ending = [(i, c) for i, c in enumerate(of.compared) if c.operator in ("<", "<=", "=")]
    lasting = [_lasting(c, operand_column(i), kinds[i] == TIMESTAMP) for i, c in ending]
    early = [moved for _, c in ending if (moved := _lasting_column(c)) is not None]
    if early:
        inner.set("where", exp.Where(this=conjunction([*of.own, *early])))
    call = next(call for call in mz_now_calls(where) if call.meta["start"] == of.compared[0].at)
    rows = _timed(render(inner), len(of.keys), edges, lasting)
    comes, goes = bool(edges.lowers), bool(edges.uppers)
    times = coverage_sql.Partnered(rows, len(of.keys), comes, goes, kinds[0] == TIMESTAMP)
    return Partners(tuple(of.keys), tuple(of.outer_only), times, call.copy(), flat)


@dataclass
class _Conditions:
    """The conditions of a SELECT over partners, by the rows that each is about."""

    sources: Sources
    outer: Sources
    moves: Moves
    keys: list[Key] = field(default_factory=list)
    outer_only: list[exp.Expr] = field(default_factory=list)
    #: about the partners alone, without the clock
    own: list[exp.Expr] = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)

    def take(self, predicate: exp.Expr) -> None:
        for conjunct in conjuncts(predicate):
            if conjunct.find(exp.Query) or makes_several_rows(conjunct) is not None:
                raise Stays
            if not has_clock(conjunct):
                self._take_static(conjunct)
                continue
            solved = comparisons(conjunct, self.moves)
            if solved is None or any(self._is_outer(one.operand) for one in solved[0]):
                raise Stays
            self.compared += solved[0]
            for part in solved[1]:
                self._take_static(part)

    def _take_static(self, part: exp.Expr) -> None:
        if not self._is_outer(part):
            self.own.append(part)
        elif not self._is_inner(part):
            self.outer_only.append(part)
        else:
            self.keys.append(self._key(part))

    def take_key(self, key: Key) -> None:
        if self._is_outer(key.inner) or any(resolve(column, self.outer) is None for column in _columns(key.outer)):
            raise Stays
        if not _columns(key.outer) or key.outer.find(exp.Query) or key.inner.find(exp.Query):
            raise Stays
        self.keys.append(key)

    def _key(self, part: exp.Expr) -> Key:
        if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
            raise Stays
        for inner, outer in ((part.left, part.right), (part.right, part.left)):
            if not self._is_outer(inner) and not self._is_inner(outer):
                return Key(outer.unnest(), inner.unnest(), isinstance(part, exp.NullSafeEQ))
        raise Stays

    def _is_inner(self, node: exp.Expr) -> bool:
        return any(resolve(column, self.sources) is not None for column in _columns(node))

    def _is_outer(self, node: exp.Expr) -> bool:
        others = [column for column in _columns(node) if resolve(column, self.sources) is None]
        if any(resolve(column, self.outer) is None for column in others):
            raise Stays
        return bool(others)


def _columns(node: exp.Expr) -> list[exp.Column]:
    return [column for column in node.find_all(exp.Column) if not is_lambda_variable(column) and not _is_unit(column)]


def _is_unit(column: exp.Column) -> bool:
    return column.parent is not None and starts_with_unit(column.parent) and column is column.parent.expressions[0]


def with_window_above(select: exp.Select, visible: list[exp.CTE]) -> exp.Select:
    """A SELECT with the predicates over the clock of the SELECTs below in its own WHERE, in place. Raises Stays."""
    return _flat(select, visible, count())


def _flat(select: exp.Select, visible: list[exp.CTE], numbers: count[int]) -> exp.Select:
    joins = select.args.get("joins") or []
    if not is_linear(select) or not select.args.get("from_") or nondeterministic(select) is not None:
        raise Stays
    if not all(map(_is_of_one_row, select.expressions)):
        raise Stays
    if any(select.args.get(key) for key in ("with_", "laterals", "hint")):
        raise Stays
    if any(merges_columns(join) or has_clock(join.args.get("on") or _NONE) for join in joins):
        raise Stays
    filled = [join for join in joins if not is_inner(join)]
    if any(join.side != "LEFT" or has_clock(with_ctes(exp.Select(joins=[join.copy()]), visible)) for join in filled):
        raise Stays
    for item in [select.args["from_"].this, *(join.this for join in joins if is_inner(join))]:
        _pull_up(item, select, visible, numbers)
    return select


def _is_of_one_row(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is no generator, as far as its functions are known."""
    calls = item.find_all(exp.Anonymous)
    return all(call.name.lower() in SPARKS and not known(call.name, len(call.expressions)).generates for call in calls)


def pull_up_windows(select: exp.Select, visible: list[exp.CTE], moves: Moves) -> None:
    """Move the predicates over the clock of what a SELECT reads to its own WHERE, in place: it becomes a core.

    Raises Stays where the clock stands elsewhere too.
    """
    joins = select.args.get("joins") or []
    own, numbers = _conjuncts(select), count()
    if any(has_clock(part) and part.find(exp.Query, exp.Lambda) for part in own):
        raise Stays
    select.set("where", None)
    for item in [select.args["from_"].this, *(join.this for join in joins if not only_filters(join))]:
        _pull_up(item, select, visible, numbers)
    moved = _conjuncts(select)
    if any(comparisons(part, moves) is None for part in moved):
        raise Stays
    select.set("where", exp.Where(this=conjunction([*own, *moved])) if own or moved else None)
    if any(has_clock(with_ctes(exp.Select(joins=[join.copy()]), visible)) for join in joins):
        raise Stays


def _conjuncts(select: exp.Select) -> list[exp.Expr]:
    where = select.args.get("where")
    return list(conjuncts(where.this)) if where is not None else []


def _pull_up(item: exp.Expr, select: exp.Select, visible: list[exp.CTE], numbers: count[int]) -> None:
    """Move the predicates over the clock of an item of a FROM to the WHERE of the SELECT, in place."""
    if has_clock(with_ctes(exp.select("1").from_(item.copy()), visible)):
        body = _body(item, visible)
        if not isinstance(body, exp.Select) or has_other_parts(item, ("this", "alias")) or not item.alias_or_name:
            raise Stays
        below = _flat(body.copy(), visible, numbers)
        if item.alias_column_names or not can_give_up(below):
            raise Stays
        every = list(conjuncts(below.args["where"].this))
        moved = moved_up([c for c in every if has_clock(c)], below, item.alias_or_name, numbers)
        static = [c for c in every if not has_clock(c)]
        below.set("where", exp.Where(this=conjunction(static)) if static else None)
        item.replace(derived(below, item.alias_or_name))
        where = select.args.get("where")
        select.set("where", exp.Where(this=conjunction([*([where.this] if where is not None else []), *moved])))


_NONE = exp.null()


def _body(item: exp.Expr, visible: list[exp.CTE]) -> exp.Expr | None:
    """The query behind an item of a FROM. A CTE has a name that no table below has, see `ParsedModel`."""
    if isinstance(item, exp.Table) and not item.db:
        named = [cte for cte in visible if folded(cte.alias) == folded(item.name)]
        return named[-1].this if named and not named[-1].alias_column_names else None
    return item.this if isinstance(item, exp.Subquery) else None


#: longer than a zone moves a length of days
_SLACK_MS = 2 * DAY_MS


def _lasting(compared: Comparison, column: str, is_timestamp: bool) -> str:
    """SQL that tells a partner that is still there when a run begins, over the operand of a bound."""
    run = f"timestamp_millis({coverage_sql.RUN})" if is_timestamp else coverage_sql.RUN
    unless = f"{quote(column)} IS NULL OR " if compared.optional else ""
    return f"({unless}{quote(column)} >= {run})"


def _lasting_column(compared: Comparison) -> exp.Expr | None:
    """What follows for the column in `at + interval 7 days`, so that Spark skips files; None where nothing does."""
    operand = compared.operand.unnest()
    if not isinstance(operand, exp.Add) or compared.optional:
        return None
    length = milliseconds(operand.right)
    if length is None:
        return None
    early: exp.Expr = expression(f"timestamp_millis({coverage_sql.RUN} - {ceil(length) + _SLACK_MS}L)")
    return exp.GTE(this=exp.paren(operand.left.copy()), expression=early)


def _timed(rows: str, keys: int, edges: Bounds, lasting: list[str]) -> str:
    names = "".join(f"{quote(coverage_sql.key_column(i))}, " for i in range(keys))
    since, until = _widest("greatest", edges.lowers), _widest("least", edges.uppers)
    where = f" WHERE {' AND '.join([*edges.present, *lasting])}" if edges.present or lasting else ""
    return f"SELECT {names}{since} AS mz_partner_from, {until} AS mz_partner_until FROM ({rows}) AS mz_rows{where}"


def _widest(function: str, values: Sequence[str]) -> str:
    if not values:
        return "CAST(NULL AS BIGINT)"
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"
