"""The clock in a lambda over an array -> the clock beside the least or greatest element.

    exists(due, x -> x >= mz_now() - interval 1 hour)      array_max(due) >= mz_now() - interval 1 hour
    forall(due, x -> x < mz_now())                         (array_max(due) is null or array_max(due) < mz_now())
                                                           and forall(due, x -> x is not null or null)
    size(filter(due, x -> x > mz_now())) > 0               array_max(due) > mz_now()
    exists(p, x -> x.k = 1 and x.at > mz_now())            array_max(transform(filter(p, x -> x.k = 1), x -> x.at)) > …

The first, third and fourth line hold where FALSE and NULL count alike: in the conjunctions and disjunctions of a WHERE,
an ON or a HAVING. Elsewhere the comparison is NULL where `exists` is: for a NULL array, and for an array with NULLs in
which no element passes:

    not exists(due, x -> x > mz_now())
      ->  not (array_max(due) is not null and array_max(due) > mz_now() or exists(due, x -> x is null and null))

A lambda stays as it is unless its elements are instants, dates, whole numbers or decimals: only for these the greatest
element decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ..predicates.elements import names_variable
from ..predicates.logic import both_bounds, comparison
from ..predicates.monotonicity import is_side
from ..predicates.near import LEFT_TO_READS
from ..sql.functions.calls import is_aggregate_call, nondeterministic
from ..sql.names.bind import typed_columns
from ..sql.names.ctes import visible_ctes
from ..sql.names.linear import over_rows_of
from ..sql.names.scope import Describe
from ..sql.spark.combined_types import WHOLE
from ..sql.spark.decimals import digits
from ..sql.text.dialect import conjunction, has_clock, mz_now_calls, shown_as
from ..sql.text.shapes import Shape, filled
from .stays import STAYS, Stays

_EXISTS, _FORALL = "exists", "forall"
_IS_SOME = tuple(map(Shape, ("size(mz_a) > 0", "size(mz_a) >= 1", "cardinality(mz_a) > 0", "0 < size(mz_a)")))
#: TRUE where the least or greatest element passes
_PASSES = "mz_edge {op} mz_clock"
#: call -> a predicate with the same value for every row
_EXACT: Mapping[str, str] = {
    _EXISTS: "(mz_edge IS NOT NULL AND mz_edge {op} mz_clock OR exists(mz_a, x -> x IS NULL AND NULL))",
    _FORALL: "((mz_edge IS NULL OR mz_edge {op} mz_clock) AND forall(mz_a, x -> x IS NOT NULL OR NULL))",
}
_CONDITIONS = (exp.Where, exp.Having, exp.Join, exp.Filter, exp.Case, exp.If)


def write_out_array_bounds(tree: exp.Query, describe: Describe) -> None:
    """Write each lambda over the clock of a model as a comparison, where possible, in place.

    >>> from ..sql.text.dialect import parse, render
    >>> tree = parse("select 1 as a from t where exists(due, x -> mz_now() <= x)")
    >>> write_out_array_bounds(tree, lambda query: [("due", "array<timestamp>")])
    >>> render(tree)
    'SELECT 1 AS a FROM t WHERE array_max(due) >= mz_now()'
    """
    for node in reversed(list(tree.find_all(exp.Lambda))):
        call = node.parent
        if not isinstance(call, exp.Anonymous) or not has_clock(node) or not _decides(call):
            continue
        try:
            old, new = _written_out(call, describe)
        except STAYS:
            continue
        old.replace(shown_as(new, old))


def _decides(call: exp.Expr) -> bool:
    """Whether a call decides about rows or about the value of an aggregate, a CASE or an IF; else it is a value."""
    above = call.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, _CONDITIONS) or is_aggregate_call(above):
            return True
        above = above.parent
    return False


def _written_out(call: exp.Anonymous, describe: Describe) -> tuple[exp.Expr, exp.Expr]:
    """(the expression to replace, its replacement)."""
    old: exp.Expr = call
    quantifier = call.name.lower()
    if quantifier == "filter":
        quantifier, old = _EXISTS, _counted(call)
        if not _counts_as_true(old):
            raise Stays
    if quantifier not in _EXACT or len(call.expressions) != 2:
        raise Stays
    array, of = call.expressions
    if not isinstance(of, exp.Lambda) or len(of.expressions) != 1 or has_clock(array) or of.find(exp.Query):
        raise Stays
    nested = of.this.find(exp.Lambda) or call.find_ancestor(exp.Lambda)
    if nested or nondeterministic(call) is not None:
        raise Stays
    quantified = _Quantified(quantifier, array, of.expressions[0], _counts_as_true(old), call, describe)
    return old, quantified.written_out(of.this)


def _counted(call: exp.Anonymous) -> exp.Expr:
    """The comparison around a call that is TRUE where the array has elements. Raises Stays for any other use."""
    above = call.parent and call.parent.parent
    if not isinstance(above, exp.Expr) or not any((shape.match(above) or {}).get("mz_a") is call for shape in _IS_SOME):
        raise Stays
    return above


def _counts_as_true(node: exp.Expr) -> bool:
    """Whether FALSE and NULL of a node count alike."""
    while isinstance(node.parent, (exp.And, exp.Or, exp.Paren)):
        node = node.parent
    above = node.parent
    return isinstance(above, (exp.Where, exp.Having)) or isinstance(above, exp.Join) and node.arg_key == "on"


@dataclass(frozen=True)
class _Quantified:
    """A call `exists(array, x -> …)` or `forall(array, x -> …)`, without its condition."""

    quantifier: str
    array: exp.Expr
    x: exp.Expr
    #: whether FALSE and NULL of the call count alike
    is_true: bool
    call: exp.Anonymous
    describe: Describe

    def written_out(self, holds: exp.Expr) -> exp.Expr:
        """A predicate equal to the call with a condition; where `is_true`, TRUE for the same rows."""
        holds = holds.unnest()
        if isinstance(holds, exp.Between) and not holds.args.get("symmetric"):
            holds = both_bounds(holds)
        distributes = exp.Or if self.quantifier == _EXISTS else exp.And
        if isinstance(holds, distributes):
            both = [self.written_out(one) for one in (holds.left, holds.right)]
            return exp.paren(distributes(this=both[0], expression=both[1]))
        if not has_clock(holds):
            return self._called(self.quantifier, holds)
        if self.quantifier == _EXISTS and isinstance(holds, exp.And) and self.is_true:
            return self._filtered(list(holds.flatten()))
        return self._compared(holds)

    def _filtered(self, parts: list[exp.Expr]) -> exp.Expr:
        """`_compared` for the elements for which the parts without the clock hold."""
        static = [part for part in parts if not has_clock(part)]
        if len(static) != len(parts) - 1:
            raise Stays
        array = self._called("filter", conjunction([exp.paren(part.copy()) for part in static]))
        (holds,) = (part.unnest() for part in parts if has_clock(part))
        return replace(self, array=array)._compared(holds)

    def _compared(self, holds: exp.Expr) -> exp.Expr:
        """A comparison of the least or greatest element with the clock."""
        operator, element, clock = _sides(holds, self.x)
        some, array = self.quantifier == _EXISTS, self.array
        if some and not self.is_true and clock.find(exp.Column):
            raise Stays  # a NULL on the clock's side would make the result NULL for an empty array, too
        if not is_side(clock) or clock.find(exp.Null):
            raise Stays
        if not (isinstance(element, exp.Identifier) and element.name.lower() == self.x.name.lower()):
            array = self._called("transform", element)
        name = "array_max" if (operator in (">", ">=")) is some else "array_min"
        edge = exp.Anonymous(this=name, expressions=[array.copy()])
        _check_ordered(edge, self.call, self.describe)
        text = _PASSES if self.is_true and some else _EXACT[self.quantifier]
        found = filled(text.format(op=operator), {"mz_edge": edge, "mz_clock": clock, "mz_a": array})
        for now in mz_now_calls(found):
            now.meta[LEFT_TO_READS] = True
        return found

    def _called(self, name: str, of: exp.Expr) -> exp.Expr:
        """A function of the array and of a lambda."""
        each = exp.Lambda(this=of.copy(), expressions=[self.x.copy()])
        return exp.Anonymous(this=name, expressions=[self.array.copy(), each])


def _sides(holds: exp.Expr, x: exp.Expr) -> tuple[str, exp.Expr, exp.Expr]:
    """(operator, the side with the element, the side with the clock). Raises Stays for no comparison by order."""
    found, name = comparison(holds), x.name.lower()
    if found is None or found.operator in ("=", "<>"):
        raise Stays
    for one in found.both_ways:
        is_apart = has_clock(one.right) and not has_clock(one.left)
        if is_apart and names_variable(one.left, name) and not names_variable(one.right, name):
            return one.operator, one.left.unnest(), one.right
    raise Stays


def _check_ordered(edge: exp.Expr, call: exp.Expr, describe: Describe) -> None:
    """Raise Stays unless the elements compare with the clock in the order in which `array_max` compares them."""
    select = call.find_ancestor(exp.Select)
    if select is None or not select.args.get("from_"):
        raise Stays
    probe = over_rows_of(select, exp.alias_(edge.copy(), "mz_edge"))
    found = typed_columns(probe, describe, visible_ctes(select))
    kind = found[0][1] if len(found) == 1 else ""
    if kind.lower() not in (*WHOLE, "timestamp", "date") and digits(kind.lower()) is None:
        raise Stays
