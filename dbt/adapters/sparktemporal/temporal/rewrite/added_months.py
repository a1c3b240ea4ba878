"""Write calls that move the clock by a whole number of months as sums of the clock and an interval.

    dateadd(MONTH, -1, mz_now())         ->  mz_now() + INTERVAL '-1' MONTH
    timestampadd(QUARTER, 2, mz_now())   ->  mz_now() + INTERVAL '6' MONTH

Both forms mean the same to Spark. Only for a sum does the adapter know where the moved clock goes back (at the end of a
month).
"""

from __future__ import annotations

from sqlglot import exp

from ..predicates.constants import constant
from ..sql.functions.calls import function
from ..sql.text.dialect import is_mz_now, shown_as

#: unit -> months
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def with_added_months(tree: exp.Expr) -> None:
    """Write calls that add months, quarters or years to mz_now() as sums, in place.

    >>> from ..sql.text.dialect import expression, render
    >>> tree = expression("ts >= timestampadd(QUARTER, -2, mz_now())")
    >>> with_added_months(tree)
    >>> render(tree)
    "ts >= mz_now() + INTERVAL '-6' MONTH"
    """
    for node in list(tree.find_all(exp.Anonymous)):
        called = function(node)
        if called is None or called.unit is None or called.amount is None:
            continue
        unit, count, clock = (node.expressions[i] for i in (called.unit, called.amount, called.increasing or 0))
        months, number = _MONTHS.get(unit.name.upper()), constant(count)
        if months is None or number is None or number % 1 or not is_mz_now(clock.unnest()):
            continue
        length = exp.Interval(this=exp.Literal.string(str(int(number) * months)), unit=exp.var("MONTH"))
        node.replace(shown_as(exp.Add(this=clock.copy(), expression=length), node))
