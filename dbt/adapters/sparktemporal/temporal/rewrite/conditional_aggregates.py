"""Aggregates of the rows for which a condition of the clock holds -> a UNION ALL with a branch per condition.

    select k, count(*) as n, sum(case when mz_now() <= ts + interval 1 day then v end) as day from t group by k
      ->  select k, count(*) filter (where mz_part = 0) as n, sum(v) filter (where mz_part = 1) as day
          from (select *, 0 as mz_part from t where mz_now() is not null
                union all select *, 1 as mz_part from t where mz_now() <= ts + interval 1 day) as t
          group by k

A CASE with several conditions has a part for each of its branches, see `case_branches`:

    sum(case when mz_now() < a then x when mz_now() < b then y end)
      ->  sum(case when mz_part = 1 then x when mz_part = 2 then y end)

Part 0 has all rows, so a group exists while it has rows, whatever the conditions. Each part is kept per group. Where
that is impossible, the SELECT stays as it is, and reads evaluate the conditions. A SELECT over rows that another
evaluation may choose otherwise (LIMIT, row_number()) stays too: the parts would be of several choices.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from sqlglot import exp

from ..predicates.comparisons import Moves, comparisons, conjuncts
from ..predicates.conditions import condition
from ..predicates.monotonicity import Unlistable
from ..sql.functions.calls import aggregate, depends_on_order, is_aggregate_call, makes_several_rows, nondeterministic
from ..sql.functions.raising import may_raise
from ..sql.functions.registry import SPARKS
from ..sql.functions.row import Aggregate
from ..sql.names.bind import columns_of, typed_columns
from ..sql.names.ctes import named_ctes, visible_ctes
from ..sql.names.linear import ORDERED, first_source, is_aggregation, is_inside_a_value, over_rows_of
from ..sql.names.projection import inner_stars
from ..sql.names.scope import Describe, derived
from ..sql.spark.errors import SparkError
from ..sql.text.dialect import conjunction, has_clock, is_mz_now, mz_now_calls, put_in, render, set_where
from ..sql.text.helper_columns import numbered
from .case_branches import Branch, branches
from .linear_aggregates import SUMMED, NoSum, Sums
from .stays import Stays

_PART, _PARTS = "mz_part", "mz_parts"
#: the number of a part -> the condition of its rows
_IsPart = Callable[[int], exp.Expr]
_ELSEWHERE = ("joins", "laterals", "hint", "distinct", "qualify", "windows", "sort", "cluster", "distribute")
#: the most parts that a read adds up, beside the part of all rows
_MOST = 8
#: aggregates that leave NULLs out
_OF_VALUES = (Aggregate.COUNT, Aggregate.SUM, Aggregate.MEAN, Aggregate.VALUES)


@dataclass(frozen=True)
class _Conditional:
    """An aggregate, with its FILTER, of values that conditions of the clock decide."""

    whole: exp.Expr
    #: disjoint branches. A branch without the clock is a condition over all rows
    branches: tuple[Branch, ...]
    #: the aggregate of the one value, or of a CASE of all values
    call: exp.Expr
    #: the value of all other rows: the 0 of `sum(case when … else 0 end)`
    default: exp.Expr | None = None


def write_out_conditional_aggregates(
    tree: exp.Query, describe: Describe, moves: Moves, not_kept: Container[int], ansi: bool, copies: bool
) -> exp.Query:
    """The tree of a model -> the tree with a UNION ALL below aggregations of conditional aggregates, where possible.

    not_kept: offsets of calls of mz_now() whose SELECT stays as it is. copies: False where a view below may choose
    other rows at each evaluation, so that no rule may copy a part.
    """
    for select in list(tree.find_all(exp.Select)):
        if copies and _is_candidate(select, not_kept):
            try:
                tree = put_in(tree, select, _over_parts(select, describe, moves, ansi))
            except (Stays, NoSum, Unlistable, SparkError):  # the model's own text raises its errors
                continue
    return tree


def _is_candidate(select: exp.Select, not_kept: Container[int]) -> bool:
    calls = list(mz_now_calls(select))
    if not calls or not is_aggregation(select) or is_inside_a_value(select) or first_source(select) is None:
        return False
    if any(select.args.get(key) for key in _ELSEWHERE) or any(call.meta["start"] in not_kept for call in calls):
        return False
    below = [part for key in ("from_", "where", "group") if (part := select.args.get(key)) is not None]
    below += named_ctes(select)
    if any(map(has_clock, below)) or any(part for one in below for part in depends_on_order(one)):
        return False
    if any(inner_stars(select)):
        return False
    return nondeterministic(select) is None and all(map(_is_known, select.walk()))


def _is_known(node: exp.Expr) -> bool:
    """Whether a node can be neither a user's function (it may be an aggregate) nor a column that `*` leaves out."""
    if isinstance(node, exp.Anonymous):
        return is_mz_now(node) or node.name.lower() in SPARKS and not isinstance(node.parent, exp.Dot)
    return not isinstance(node, exp.Column) or len(node.parts) <= 2 and node.parts[0].name.lower() != "_metadata"


def _over_parts(select: exp.Select, describe: Describe, moves: Moves, ansi: bool) -> exp.Select:
    source = first_source(select)
    assert source is not None
    above = select.copy()
    found, plain = _aggregates(above)
    if not found or any(has_clock(item) and not isinstance(item, exp.Alias) for item in select.expressions):
        raise Stays
    parts: dict[str, tuple[int, exp.Expr]] = {}
    for holds in [_holds(branch) for one in found for branch in one.branches if branch.has_clock]:
        _check_listed(holds, moves)
        parts.setdefault(render(holds), (len(parts) + 1, holds))
    if len(parts) > _MOST:
        raise Stays
    _check_sums([*(one.call for one in found), *plain], select, describe, ansi)
    if any(_is_protected(one, ansi) for one in found):
        raise Stays
    name = _free_name(select, describe)
    is_part = partial(_is_part, name)
    for one in found:
        numbers = [parts[render(_holds(b))][0] if b.has_clock else 0 for b in one.branches]
        one.whole.replace(_of_parts(one, numbers, is_part))
    for call in plain:
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        whole.replace(_filtered(whole, is_part(0)))
    clock = next(mz_now_calls(select)).copy()
    everywhere = exp.Not(this=exp.Is(this=clock, expression=exp.null()))
    branches = [_branch(select, name, number, holds) for number, holds in [(0, everywhere), *parts.values()]]
    above.set("from_", exp.From(this=derived(exp.union(*branches, distinct=False), source.alias_or_name or _PARTS)))
    set_where(above, [])
    return above


def _free_name(select: exp.Select, describe: Describe) -> str:
    """A name for the column of the parts, which neither the rows nor the SELECT have."""
    rows = columns_of(over_rows_of(select, exp.Star()), describe, visible_ctes(select))
    taken = {name.lower() for name in (*(n for n, _ in rows), *(i.name for i in select.find_all(exp.Identifier)))}
    return _PART if _PART not in taken else numbered(f"{_PART}_", 2, taken)


def _branch(select: exp.Select, name: str, number: int, holds: exp.Expr) -> exp.Select:
    where = select.args.get("where")
    branch = over_rows_of(select, exp.Star(), exp.alias_(exp.Literal.number(number), name))
    both = [exp.paren(where.this.copy())] if where is not None else []
    set_where(branch, [*both, exp.paren(holds.copy())])
    return branch


# -- aggregates --


def _aggregates(select: exp.Select) -> tuple[list[_Conditional], list[exp.Expr]]:
    """The aggregates under a condition of the clock, and all other aggregates."""
    found, plain = [], []
    for call in _calls(select):
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if isinstance(call.parent, ORDERED):
            raise Stays
        if has_clock(whole):
            found.append(_conditional(call, whole))
        elif aggregate(call) is not Aggregate.GROUPING:
            plain.append(call)
    return found, plain


def _calls(select: exp.Select) -> Iterator[exp.Expr]:
    for key in ("expressions", "having", "order"):
        of = select.args.get(key)
        for part in of if isinstance(of, list) else [of] if of is not None else []:
            if part.find(exp.Query) or part.find(exp.Window):
                raise Stays
            yield from [node for node in part.walk() if is_aggregate_call(node)]


def _conditional(call: exp.Expr, whole: exp.Expr) -> _Conditional:
    around: tuple[exp.Expr, ...] = (whole.expression.this,) if isinstance(whole, exp.Filter) else ()
    if not has_clock(call):
        return _Conditional(whole, (Branch(around, exp.null()),), call)
    given = call.expressions if isinstance(call, exp.Anonymous) else []
    if len(given) != 1:
        raise Stays
    if aggregate(call) is Aggregate.COUNT_IF:
        counted = exp.Anonymous(this="count_if", expressions=[exp.true()])
        return _Conditional(whole, (Branch((*around, given[0]), exp.null()),), counted)
    is_distinct = isinstance(given[0], exp.Distinct)
    case = given[0].expressions[0] if is_distinct and len(given[0].expressions) == 1 else given[0]
    every = branches(case, around)
    if aggregate(call) not in _OF_VALUES or any(has_clock(branch.value) for branch in every):
        raise Stays
    found = tuple(branch for branch in every if not isinstance(branch.value.unnest(), exp.Null))
    default = None
    if aggregate(call) is Aggregate.SUM and not is_distinct and not around and len(found) == len(every):
        default = _zero(found)
        found = tuple(branch for branch in found if branch.value.unnest() != default)
    if not found:
        raise Stays
    values = [branch.value for branch in found]
    value = values[0] if len(found) == 1 else exp.Case(ifs=[exp.If(this=exp.true(), true=v.copy()) for v in values])
    argument: exp.Expr = exp.Distinct(expressions=[value.copy()]) if is_distinct else value.copy()
    return _Conditional(whole, found, exp.Anonymous(this=call.name, expressions=[argument]), default)


def _zero(found: Sequence[Branch]) -> exp.Expr | None:
    """The 0 that the last branch gives, if the clock decides about each branch with another value; else None."""
    zero = found[-1].value.unnest()
    rest = [branch for branch in found if branch.value.unnest() != zero]
    return zero if render(zero) in ("0", "0L", "0.0") and all(branch.has_clock for branch in rest) else None


def _holds(branch: Branch) -> exp.Expr:
    conditions = [c.copy() for c in branch.conditions]
    return conditions[0] if len(conditions) == 1 else conjunction([exp.paren(c) for c in conditions])


def _of_parts(one: _Conditional, numbers: list[int], is_part: _IsPart) -> exp.Expr:
    """The aggregate over parts. numbers: the part of each branch, 0 for a branch without the clock."""
    (first, *more), default = one.branches, one.default
    if default is None and not more and first.has_clock:
        return _filtered(one.call, is_part(numbers[0]))
    rows = [_of_branch(branch, number, is_part) for branch, number in zip(one.branches, numbers)]
    value = exp.Case(ifs=rows)
    if default is None:
        (argument,) = one.call.expressions
        is_distinct = isinstance(argument, exp.Distinct)
        return exp.Anonymous(
            this=one.call.name, expressions=[exp.Distinct(expressions=[value]) if is_distinct else value]
        )
    every = [*(row.copy() for row in rows), exp.If(this=is_part(0), true=default.copy())]
    total = exp.Anonymous(this="sum", expressions=[exp.Case(ifs=every)])
    if all(isinstance(branch.value.unnest(), exp.Literal) for branch in one.branches):
        return total
    # NULL where a condition holds for each row of the group, all without a value
    values = _filtered(_count(first.value), is_part(numbers[0])) if not more else _count(value)
    with_value = exp.GT(this=values, expression=exp.Literal.number(0))
    counted: list[exp.Expr] = [_filtered(_count(exp.Star()), is_part(number)) for number in numbers]
    others = exp.GT(this=_filtered(_count(exp.Star()), is_part(0)), expression=reduce(_plus, counted))
    return exp.Case(ifs=[exp.If(this=exp.Or(this=with_value, expression=others), true=total)])


def _of_branch(branch: Branch, number: int, is_part: _IsPart) -> exp.If:
    holds = is_part(number)
    if number == 0:
        holds = conjunction([holds, *(exp.paren(c.copy()) for c in branch.conditions)])
    return exp.If(this=holds, true=branch.value.copy())


def _plus(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Add(this=one, expression=other)


def _count(of: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="count", expressions=[of.copy()])


def _filtered(whole: exp.Expr, holds: exp.Expr) -> exp.Filter:
    if isinstance(whole, exp.Filter):
        holds, whole = exp.And(this=exp.paren(whole.expression.this.copy()), expression=holds), whole.this
    return exp.Filter(this=whole.copy(), expression=exp.Where(this=holds))


def _is_part(name: str, number: int) -> exp.Expr:
    return exp.EQ(this=exp.column(name), expression=exp.Literal.number(number))


# -- what is required --


def _is_protected(one: _Conditional, ansi: bool) -> bool:
    """Whether an earlier condition may keep a later one, or the value of a later branch, from an error."""
    conditions = {render(condition): condition for branch in one.branches for condition in branch.conditions}
    if sum(len(branch.conditions) for branch in one.branches) <= len(one.branches):
        return False
    later = [*list(conditions.values())[1:], *(branch.value for branch in one.branches[1:])]
    return ansi or any(may_raise(part) for part in later)


def _check_listed(holds: exp.Expr, moves: Moves) -> None:
    """Raise Unlistable for a condition whose changes cannot be listed, Stays for a condition that needs other rows."""
    if holds.find(exp.Query, exp.Window) or makes_several_rows(holds):
        raise Stays
    if any(is_aggregate_call(part) for part in holds.walk()):
        raise Stays
    for conjunct in conjuncts(holds.copy()):
        if has_clock(conjunct) and comparisons(conjunct, moves) is None:
            condition(conjunct)


def _check_sums(calls: list[exp.Expr], select: exp.Select, describe: Describe, ansi: bool) -> None:
    """Raise NoSum or Stays where an aggregate cannot be kept per group."""
    given = [(call, [a for a in call.expressions if not isinstance(a, (exp.Star, exp.Literal))]) for call in calls]
    if any(aggregate(call) not in (*SUMMED, Aggregate.VALUES) for call in calls):
        raise Stays
    summed = [(call, a.copy()) for call, of in given for a in of if aggregate(call) in (Aggregate.SUM, Aggregate.MEAN)]
    if any(isinstance(argument, exp.Distinct) for _, argument in summed):
        raise Stays
    if not summed:
        return
    probe = over_rows_of(select, *(exp.alias_(argument, f"mz_x{at}") for at, (_, argument) in enumerate(summed)))
    types = typed_columns(probe, describe, visible_ctes(select))
    for (call, _), (_, kind) in zip(summed, types):
        Sums(str, ansi).value(aggregate(call), render(call), [("x", kind.lower())])
