"""Lambdas over an array in which the clock is compared with each element.

    exists(due, x -> x >= mz_now())
      changes at the elements of `due`
    exists(p, x -> x.hi + interval 1 day > mz_now())
      changes at the elements of `transform(p, x -> x.hi + interval 1 day)`

Such an array of instants is a row expression.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..sql.text.dialect import fragment, has_clock, is_mz_now
from .comparisons import Comparison, bare
from .monotonicity import Unlistable, not_listable
from .text_instants import as_instant

#: functions of an array and a lambda over its elements
_OVER_ELEMENTS = ("exists", "forall", "filter")


@dataclass(frozen=True)
class Variable:
    """The variable of a lambda, which stands for each element of an array."""

    #: the name, in lower case
    name: str
    array: exp.Expr

    @staticmethod
    def of(call: exp.Expr) -> Variable | None:
        """The variable of a call with the clock in its lambda; None for any other node.

        Raises Unlistable for a call other than `exists`, `forall` or `filter` with a lambda of one variable, and where
        the array, or a CASE in the lambda, has the clock too.
        """
        if not any(isinstance(part, exp.Lambda) and has_clock(part) for part in call.iter_expressions()):
            return None
        if call.name.lower() in _OVER_ELEMENTS and len(call.expressions) == 2:
            array, each = call.expressions
            if isinstance(each, exp.Lambda) and len(each.expressions) == 1 and not has_clock(array):
                name, cases = each.expressions[0].name.lower(), each.find_all(exp.Case, exp.If)
                if not name.startswith("mz_") and not any(map(has_clock, cases)):
                    return Variable(name, array)
        raise unknown_elements(call)

    def compared(self, node: exp.Expr, clock: exp.Expr, other: exp.Expr) -> tuple[exp.Expr, Comparison]:
        """(the array of instants at which a comparison may change, the comparison of the clock with one element).

        Raises Unlistable where the clock's side is more than mz_now() moved by less than a day.
        """
        clock, other = bare(clock, other, moves=lambda length: False)
        if not is_mz_now(clock):
            raise not_listable(
                node, "beside the elements of an array there is more than mz_now() and a length below a day"
            )
        instant, array = as_instant(other, fragment(node)).unnest(), self.array
        if not isinstance(instant, exp.Identifier):
            each = exp.Lambda(this=instant.copy(), expressions=[exp.to_identifier(self.name)])
            array = exp.Anonymous(this="transform", expressions=[array.copy(), each])
        return array, Comparison("=", other, fragment(node), clock.meta["start"])


def unknown_elements(node: exp.Expr) -> Unlistable:
    """The error for a lambda whose elements are not known before a read."""
    return not_listable(node, "the elements with which the clock is compared are not known before")


def names_variable(node: exp.Expr, name: str) -> bool:
    """Whether an expression of a lambda names its variable. name: in lower case.

    >>> from ..sql.text.dialect import expression
    >>> [names_variable(expression(f"f(a, x -> {sql})").expressions[1].this, "x") for sql in ("x.lo", "a.x", "X + 1")]
    [True, False, True]
    """
    for found in node.find_all(exp.Identifier):
        above = found.parent
        if found.name.lower() != name or isinstance(above, exp.Dot) and found.arg_key == "expression":
            continue
        if not isinstance(above, exp.Column) or above.parts[0] is found:
            return True
    return False
