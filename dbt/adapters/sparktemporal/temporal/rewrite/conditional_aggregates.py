"""Aggregates of the rows for which a condition of the clock holds -> a UNION ALL with a branch per condition.

    select k, count(*) as n, sum(case when mz_now() <= ts + interval 1 day then v end) as day from t group by k
      ->  select k, count(*) filter (where mz_part = 0) as n, sum(v) filter (where mz_part = 1) as day
          from (select *, 0 as mz_part from t where mz_now() is not null
                union all select *, 1 as mz_part from t where mz_now() <= ts + interval 1 day) as t
          group by k

Part 0 has all rows, so a group exists while it has rows, whatever the conditions. Each part is kept per group. Where
that is impossible, the SELECT stays as it is, and reads evaluate the conditions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ..predicates.comparisons import Moves, comparisons, conjuncts
from ..predicates.conditions import condition
from ..predicates.monotonicity import Unlistable
from ..sql.functions.calls import function, is_aggregate_call, makes_several_rows, nondeterministic
from ..sql.functions.registry import SPARKS
from ..sql.functions.row import Aggregate
from ..sql.names.bind import typed_columns
from ..sql.names.ctes import named_ctes, visible_ctes
from ..sql.names.linear import first_source, is_aggregation, is_inside_a_value
from ..sql.names.scope import Describe, derived
from ..sql.spark.errors import SparkError
from ..sql.text.dialect import conjunction, has_clock, is_mz_now, mz_now_calls, put_in, render
from .linear_aggregates import SUMMED, NoSum, Sums

_PART, _PARTS = "mz_part", "mz_parts"
_ELSEWHERE = ("joins", "laterals", "hint", "distinct", "qualify", "windows", "sort", "cluster", "distribute")
#: a read adds up so many parts beside the one of all rows
_MOST = 8
#: aggregates that leave NULLs out
_OF_VALUES = (Aggregate.COUNT, Aggregate.SUM, Aggregate.MEAN, Aggregate.VALUES)


class _Stays(Exception):
    """A SELECT stays as it is."""


@dataclass(frozen=True)
class _Conditional:
    """An aggregate, with its FILTER, of the rows for which a condition of the clock holds."""

    whole: exp.Expr
    condition: exp.Expr
    #: the aggregate of the values
    call: exp.Expr
    #: what a row without the condition counts: the 0 of `sum(case when … else 0 end)`
    default: exp.Expr | None = None


def write_out_conditional_aggregates(
    tree: exp.Query, describe: Describe, moves: Moves, not_kept: Container[int], ansi: bool
) -> exp.Query:
    """The tree of a model -> the tree with a UNION ALL below each aggregation of conditional aggregates.

    not_kept: offsets of calls of mz_now() whose SELECT stays as it is.
    """
    for select in list(tree.find_all(exp.Select)):
        if _is_candidate(select, not_kept):
            try:
                tree = put_in(tree, select, _over_parts(select, describe, moves, ansi))
            except (_Stays, NoSum, Unlistable, SparkError):  # the model's own text raises its errors
                continue
    return tree


def _is_candidate(select: exp.Select, not_kept: Container[int]) -> bool:
    calls = list(mz_now_calls(select))
    if not calls or not is_aggregation(select) or is_inside_a_value(select) or first_source(select) is None:
        return False
    if any(select.args.get(key) for key in _ELSEWHERE) or any(call.meta["start"] in not_kept for call in calls):
        return False
    below = [select.args.get(key) for key in ("from_", "where", "group")]
    if any(map(has_clock, named_ctes(select))) or any(part is not None and has_clock(part) for part in below):
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
        raise _Stays
    parts: dict[str, tuple[int, exp.Expr]] = {}
    for one in found:
        _check_listed(one.condition, moves)
        parts.setdefault(render(one.condition), (len(parts) + 1, one.condition.copy()))
    if len(parts) > _MOST:
        raise _Stays
    _check_sums([*(one.call for one in found), *plain], select, describe, ansi)
    for one in found:
        one.whole.replace(_of_part(one, parts[render(one.condition)][0]))
    for call in plain:
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        whole.replace(_filtered(whole, 0))
    clock = next(mz_now_calls(select)).copy()
    everywhere = exp.Not(this=exp.Is(this=clock, expression=exp.null()))
    branches = [_branch(select, number, holds) for number, holds in [(0, everywhere), *parts.values()]]
    above.set("from_", exp.From(this=derived(exp.union(*branches, distinct=False), source.alias_or_name or _PARTS)))
    above.set("where", None)
    return above


def _branch(select: exp.Select, number: int, holds: exp.Expr) -> exp.Select:
    where = select.args.get("where")
    part = exp.alias_(exp.Literal.number(number), _PART)
    branch = exp.select("*").select(part)
    branch.set("from_", select.args["from_"].copy())
    both = [exp.paren(where.this.copy())] if where is not None else []
    branch.set("where", exp.Where(this=conjunction([*both, exp.paren(holds.copy())])))
    return branch


# -- aggregates --


def _aggregates(select: exp.Select) -> tuple[list[_Conditional], list[exp.Expr]]:
    """The aggregates under a condition of the clock, and all other aggregates."""
    found, plain = [], []
    for call in _calls(select):
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        if isinstance(call.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
            raise _Stays
        if has_clock(whole):
            found.append(_conditional(call, whole))
        elif _kind(call) is not Aggregate.GROUPING:
            plain.append(call)
    return found, plain


def _calls(select: exp.Select) -> Iterator[exp.Expr]:
    for key in ("expressions", "having", "order"):
        of = select.args.get(key)
        for part in of if isinstance(of, list) else [of] if of is not None else []:
            if part.find(exp.Query) or part.find(exp.Window):
                raise _Stays
            yield from [node for node in part.walk() if is_aggregate_call(node)]


def _conditional(call: exp.Expr, whole: exp.Expr) -> _Conditional:
    if isinstance(whole, exp.Filter):
        if has_clock(call):
            raise _Stays
        return _Conditional(whole, whole.expression.this, call)
    given = call.expressions if isinstance(call, exp.Anonymous) else []
    if len(given) != 1:
        raise _Stays
    if _kind(call) is Aggregate.COUNT_IF:
        return _Conditional(whole, given[0], exp.Anonymous(this="count_if", expressions=[exp.true()]))
    is_distinct = isinstance(given[0], exp.Distinct)
    case = given[0].expressions[0] if is_distinct and len(given[0].expressions) == 1 else given[0]
    holds, value, default = _one_branch(case)
    if _kind(call) not in _OF_VALUES or has_clock(value):
        raise _Stays
    argument: exp.Expr = exp.Distinct(expressions=[value.copy()]) if is_distinct else value.copy()
    inner = exp.Anonymous(this=call.name, expressions=[argument])
    if default is None:
        return _Conditional(whole, holds, inner)
    if _kind(call) is not Aggregate.SUM or is_distinct or render(default) not in ("0", "0L", "0.0"):
        raise _Stays
    return _Conditional(whole, holds, inner, default)


def _one_branch(node: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr | None]:
    """(condition, value, ELSE value or None for NULL) of a CASE or IF with one condition."""
    node = node.unnest()
    if isinstance(node, exp.If):
        holds, value, default = node.this, node.args["true"], node.args.get("false")
    elif isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        (branch,) = node.args["ifs"]
        holds, value, default = branch.this, branch.args["true"], node.args.get("default")
    else:
        raise _Stays
    return holds, value, None if default is None or isinstance(default.unnest(), exp.Null) else default.unnest()


def _of_part(one: _Conditional, number: int) -> exp.Expr:
    if one.default is None:
        return _filtered(one.call, number)
    (value,) = one.call.expressions
    rows = [exp.If(this=_is_part(at), true=of.copy()) for at, of in ((number, value), (0, one.default))]
    total = exp.Anonymous(this="sum", expressions=[exp.Case(ifs=rows)])
    if isinstance(value.unnest(), exp.Literal):
        return total
    # NULL where the condition holds for all rows of the group, each without a value
    with_value = exp.GT(this=_filtered(_count(value), number), expression=exp.Literal.number(0))
    others = exp.GT(this=_filtered(_count(exp.Star()), 0), expression=_filtered(_count(exp.Star()), number))
    return exp.Case(ifs=[exp.If(this=exp.Or(this=with_value, expression=others), true=total)])


def _count(of: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="count", expressions=[of.copy()])


def _filtered(whole: exp.Expr, number: int) -> exp.Filter:
    holds: exp.Expr = _is_part(number)
    if isinstance(whole, exp.Filter):
        holds, whole = exp.And(this=exp.paren(whole.expression.this.copy()), expression=holds), whole.this
    return exp.Filter(this=whole.copy(), expression=exp.Where(this=holds))


def _is_part(number: int) -> exp.Expr:
    return exp.EQ(this=exp.column(_PART), expression=exp.Literal.number(number))


def _kind(call: exp.Expr) -> Aggregate | None:
    called = function(call)
    return None if called is None else called.aggregate


# -- what is required --


def _check_listed(holds: exp.Expr, moves: Moves) -> None:
    """Raise Unlistable for a condition whose changes cannot be listed, _Stays for a condition that needs other rows."""
    if holds.find(exp.Query, exp.Window) or makes_several_rows(holds):
        raise _Stays
    if any(is_aggregate_call(part) for part in holds.walk()):
        raise _Stays
    for conjunct in conjuncts(holds.copy()):
        if has_clock(conjunct) and comparisons(conjunct, moves) is None:
            condition(conjunct)


def _check_sums(calls: list[exp.Expr], select: exp.Select, describe: Describe, ansi: bool) -> None:
    """Raises NoSum or _Stays where an aggregate cannot be kept per group."""
    given = [(call, [a for a in call.expressions if not isinstance(a, (exp.Star, exp.Literal))]) for call in calls]
    if any(_kind(call) not in (*SUMMED, Aggregate.VALUES) for call in calls):
        raise _Stays
    summed = [(call, a.copy()) for call, of in given for a in of if _kind(call) in (Aggregate.SUM, Aggregate.MEAN)]
    if any(isinstance(argument, exp.Distinct) for _, argument in summed):
        raise _Stays
    if not summed:
        return
    probe = exp.select(*(exp.alias_(argument, f"mz_x{at}") for at, (_, argument) in enumerate(summed)))
    probe.set("from_", select.args["from_"].copy())
    types = typed_columns(probe, describe, visible_ctes(select))
    for (call, _), (_, kind) in zip(summed, types):
        Sums(str, ansi).value(_kind(call) or Aggregate.ROWS, render(call), [("x", kind.lower())])
