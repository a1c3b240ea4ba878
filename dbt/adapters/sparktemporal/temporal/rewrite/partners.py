"""Find the partners of a row in a join or an EXISTS over the clock: their keys, and the times when they are there.

exists (select 1 from p where p.k = b.k and p.at <= mz_now())
  ->  keys   b.k = p.k          rows   select p.k as mz_partner_k0, p.at as mz_b0 from p          from mz_b0 on
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import ceil

from sqlglot import exp

from ..predicates.bounds import TIMESTAMP, Bounds, bounds, operand_kind
from ..predicates.comparisons import Comparison, Moves, comparisons, conjuncts_of
from ..predicates.lengths import DAY_MS, milliseconds
from ..predicates.logic import is_at_most
from ..sql.functions.calls import makes_several_rows
from ..sql.names.bind import sources_of, typed_columns
from ..sql.names.scope import Describe, Sources, column_of, derived, resolve, row_columns
from ..sql.spark.combined_types import WHOLE
from ..sql.text.dialect import conjunction, expression, has_clock, mz_now_calls, parse, quote, render, set_where
from ..sql.text.helper_columns import operand_column
from . import coverage_sql
from .merge_subqueries import add_to_where
from .stays import Stays
from .windows_above import with_window_above

#: the beginning of the names of derived tables with times
ALIAS = "mz_partners_"


@dataclass(frozen=True)
class Key:
    """An equality between an expression over the outer rows and an expression over the partners."""

    outer: exp.Expr
    inner: exp.Expr
    null_safe: bool


@dataclass(frozen=True)
class Partners:
    keys: tuple[Key, ...]
    #: conditions on the outer rows alone, without which a row has no partner
    outer_only: tuple[exp.Expr, ...]
    times: coverage_sql.Partnered
    #: a call of mz_now() that decides when the partners are there
    call: exp.Expr
    #: the SELECT of the partners, with all predicates over the clock in its WHERE
    select: exp.Select

    def covered(self, alias: str, present: bool) -> tuple[exp.Subquery, exp.Expr, list[exp.Expr]]:
        """A join with the times when a partner is there (`present`) or is not: (derived table, ON, WHERE)."""
        times = parse(self.times.islands() if present else self.times.gaps())
        column = partial(column_of, alias)
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
    """The partners from a SELECT whose WHERE may name the outer rows. Raises Stays where keys or times are unknown.

    outer: the sources of the outer rows. visible: the CTEs in scope. key: a further equality.
    """
    inner = with_window_above(inner.copy(), visible)
    flat = inner.copy()
    where = inner.args.get("where")
    if where is None or not has_clock(where):
        raise Stays
    of = _Conditions(sources_of(inner, describe, visible), outer, moves)
    of.take(conjuncts_of(inner))
    if key is not None:
        of.take_key(key)
    if not of.compared or not of.keys:
        raise Stays
    set_where(inner, of.own)
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
    ending = [(i, c) for i, c in enumerate(of.compared) if is_at_most(c.operator)]
    lasting = [_lasting(c, operand_column(i), kinds[i] == TIMESTAMP) for i, c in ending]
    early = [moved for _, c in ending if (moved := _lasting_column(c)) is not None]
    add_to_where(inner, early)
    call = next(call for call in mz_now_calls(where) if call.meta["start"] == of.compared[0].at)
    rows = _timed(render(inner), len(of.keys), edges, lasting)
    comes, goes = bool(edges.lowers), bool(edges.uppers)
    times = coverage_sql.Partnered(rows, len(of.keys), comes, goes, kinds[0] == TIMESTAMP)
    return Partners(tuple(of.keys), tuple(of.outer_only), times, call.copy(), flat)


@dataclass
class _Conditions:
    """The conditions of a SELECT over partners, sorted by the rows that each names: outer rows, partners, or both."""

    sources: Sources
    outer: Sources
    moves: Moves
    keys: list[Key] = field(default_factory=list)
    outer_only: list[exp.Expr] = field(default_factory=list)
    #: about the partners alone, without the clock
    own: list[exp.Expr] = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)

    def take(self, predicates: list[exp.Expr]) -> None:
        for conjunct in predicates:
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
        if self._is_outer(key.inner) or any(resolve(column, self.outer) is None for column in row_columns(key.outer)):
            raise Stays
        if not row_columns(key.outer) or key.outer.find(exp.Query) or key.inner.find(exp.Query):
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
        return any(resolve(column, self.sources) is not None for column in row_columns(node))

    def _is_outer(self, node: exp.Expr) -> bool:
        others = [column for column in row_columns(node) if resolve(column, self.sources) is None]
        if any(resolve(column, self.outer) is None for column in others):
            raise Stays
        return bool(others)


#: more than a change of a zone's offset adds to a length of days
_SLACK_MS = 2 * DAY_MS


def _lasting(compared: Comparison, column: str, is_timestamp: bool) -> str:
    """SQL over the column of an operand: whether the partner is still there when a run begins."""
    run = f"timestamp_millis({coverage_sql.RUN})" if is_timestamp else coverage_sql.RUN
    unless = f"{quote(column)} IS NULL OR " if compared.optional else ""
    return f"({unless}{quote(column)} >= {run})"


def _lasting_column(compared: Comparison) -> exp.Expr | None:
    """`_lasting` as a condition on `at` in `at + interval 7 days`, so that Spark skips files; None for any other."""
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
    where = f" WHERE {' AND '.join([*edges.present, *lasting])}" if edges.present or lasting else ""
    times = f"{edges.lower} AS mz_partner_from, {edges.upper} AS mz_partner_until"
    return f"SELECT {names}{times} FROM ({rows}) AS mz_rows{where}"
