"""The branches of a CASE or IF as conditions, exactly one of which holds for a row.

    case when mz_now() < a then x when k = 1 then y else z end
      ->  x    mz_now() < a
          y    a is null or mz_now() >= a,  k = 1
          z    a is null or mz_now() >= a,  not k = 1 is true

A branch is taken where its condition is TRUE, and each earlier condition is FALSE or NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..predicates.logic import branches_of, comparison
from ..sql.text.dialect import has_clock, is_mz_now


@dataclass(frozen=True)
class Branch:
    """A value of a CASE, and the conditions that all hold for the rows with this value."""

    conditions: tuple[exp.Expr, ...]
    value: exp.Expr

    @property
    def has_clock(self) -> bool:
        """Whether the clock decides which rows the branch has."""
        return any(map(has_clock, self.conditions))


def branches(node: exp.Expr, holds: tuple[exp.Expr, ...] = ()) -> list[Branch]:
    """The branches of a CASE or IF with the clock, nested ones included; any other node is one branch.

    holds: conditions around the node. A missing ELSE is a NULL.

    >>> from ..sql.text.dialect import expression, render
    >>> found = branches(expression("if(mz_now() < a, x, case k when 1 then y end)"))
    >>> [(render(one.value), *map(render, one.conditions)) for one in found][1]
    ('CASE k WHEN 1 THEN y END', '(a) IS NULL OR mz_now() >= a')
    """
    case = node.unnest()
    if not isinstance(case, (exp.Case, exp.If)) or not has_clock(case):
        return [Branch(holds, node)]
    found: list[Branch] = []
    operand = case.this if isinstance(case, exp.Case) else None
    ifs, default = branches_of(case)
    for one in ifs:
        condition = (
            one.this
            if operand is None
            else exp.EQ(this=exp.paren(operand.copy()), expression=exp.paren(one.this.copy()))
        )
        found += branches(one.args["true"], (*holds, condition))
        holds = (*holds, _not_true(condition))
    return [*found, *branches(exp.null() if default is None else default, holds)]


def _not_true(condition: exp.Expr) -> exp.Expr:
    """A condition that is TRUE where another one is FALSE or NULL, such as `a is null or mz_now() >= a`."""
    found = comparison(condition.unnest(), inverted=True)
    one = None if found is None or found.operator in ("=", "<>") else found.by_clock
    if found is not None and one is not None and is_mz_now(one.left):
        is_open = exp.Is(this=exp.paren(one.right.copy()), expression=exp.null())
        return exp.Or(this=is_open, expression=found.node())
    return exp.Not(this=exp.Is(this=exp.paren(condition.copy()), expression=exp.true()))
