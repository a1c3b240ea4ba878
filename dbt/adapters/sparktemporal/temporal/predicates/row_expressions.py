"""Row expressions: the parts of a predicate that do not read the clock, each hoisted into a column of the row.

    k = 'a' and date_trunc('DAY', mz_now()) = day      ->  mz_s0 and date_trunc('DAY', mz_now()) = mz_s1
    case when n > 0 then mz_now() < ts / n end         ->  mz_s1: case when n > 0 then ts / n end

The column is computed once for each row. A CASE may protect a part from an error, so the column of the part is computed
under the conditions of the CASE. So may an AND or an OR, whose later operands Spark skips once an earlier one decides:

    n = 0 or mz_now() < ts / n                         ->  mz_s1: case when not (n = 0 <=> true) then ts / n end
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..sql.functions.calls import starts_with_unit
from ..sql.functions.raising import may_raise_by_ansi
from ..sql.names.projection import with_field_name
from ..sql.text.dialect import has_clock, render, shown_as
from ..sql.text.helper_columns import static_column
from .constants import constant
from .elements import Variable, names_variable, unknown_elements
from .lengths import day_factor, is_below_a_day
from .logic import branches_of, not_
from .monotonicity import not_listable
from .ordered import ordered


@dataclass(frozen=True)
class RowExpressions:
    """The row expressions of a predicate, seen from one place in the predicate. All places share `of`."""

    #: SQL of a row expression -> the row expression
    of: dict[str, exp.Expr] = field(default_factory=dict)
    #: (condition of a CASE around the place, whether the condition is TRUE at the place; else FALSE or NULL)
    guards: tuple[tuple[exp.Expr, bool], ...] = ()
    #: such conditions of an AND or OR, for parts that may raise
    skips: tuple[tuple[exp.Expr, bool], ...] = ()
    #: the variable of the lambda around the place, None for no lambda
    variable: Variable | None = None

    def arms(self, node: exp.Expr) -> Iterator[tuple[exp.Expr, str, RowExpressions]]:
        """For each part of a CASE: (the node that has the part, the key of the part, the row expressions there)."""
        branches, default = branches_of(node)
        before = self
        for branch in branches:
            test = None if has_clock(branch.this) else branch.this.copy()
            yield branch, "this", before
            yield branch, "true", before if test is None else before._under(test, True)
            before = before if test is None else before._under(test, False)
        if default is not None:
            yield node, "default", before

    def _under(self, test: exp.Expr, holds: bool) -> RowExpressions:
        return replace(self, guards=(*self.guards, (test, holds)))

    def operands(self, node: exp.Connector) -> Iterator[tuple[exp.Expr, str, RowExpressions]]:
        """For each operand of an AND or OR chain: (the node around the operand, its key, the row expressions there)."""
        before = self
        for holder, key in _operands(node):
            operand = holder.args[key].copy()
            yield holder, key, before
            if not (has_clock(operand) or self.is_of_element(operand) or operand.find(exp.Query)):
                decides = operand if isinstance(node, exp.Or) else not_(operand)  # not FALSE: TRUE or NULL
                before = replace(before, skips=(*before.skips, (decides, False)))

    def in_lambda(self, node: exp.Expr, variable: Variable) -> RowExpressions:
        """The row expressions in a lambda. Raises Unlistable for a lambda in a lambda."""
        if self.variable is not None:
            raise unknown_elements(node)
        return replace(self, variable=variable)

    def is_of_element(self, node: exp.Expr) -> bool:
        """Whether a node names the variable of the lambda around it."""
        return self.variable is not None and names_variable(node, self.variable.name)

    def hoisted(self, node: exp.Expr) -> exp.Expr:
        """Modify a node: columns take the place of its largest parts without the clock.

        Returns the node; or a column, where the whole node is such a part.
        """
        is_constant = isinstance(node, (exp.Literal, exp.Null, exp.Boolean)) or constant(node) is not None
        if is_constant or isinstance(node, (exp.DataType, exp.Identifier, exp.Var)):
            return node  # Spark wants some arguments as constants: the -1 of round(x, -1)
        if isinstance(node, exp.Lambda):
            return self._hoisted_lambda(node)
        if (fields := ordered(node)) is not None:
            return self._hoisted_fields(node, fields.of)
        # a branch of a CASE, and a field of a struct with its name, are no expressions
        if not has_clock(node) and not isinstance(node, (exp.If, exp.Alias)) and not self.is_of_element(node):
            return node if is_below_a_day(node) else with_field_name(node, self.column(node))
        if isinstance(node, exp.Case) and node.args.get("this") is None:
            for part, key, within in self.arms(node):  # a condition without the clock still protects from errors
                part.set(key, within.hoisted(part.args[key]))
            return node
        if isinstance(node, (exp.And, exp.Or)):
            for part, key, within in self.operands(node):
                part.set(key, within.hoisted(part.args[key]))
            return node
        return self._hoisted_parts(node)

    def _hoisted_parts(self, node: exp.Expr) -> exp.Expr:
        units = starts_with_unit(node)
        for key, value in list(node.args.items()):
            if units and key == "expressions":
                node.set(key, [value[0], *map(self.hoisted, value[1:])])
            elif isinstance(value, list):
                node.set(key, [self.hoisted(v) if isinstance(v, exp.Expr) else v for v in value])
            elif isinstance(value, exp.Expr):
                node.set(key, self.hoisted(value))
        return node

    def _hoisted_fields(self, node: exp.Expr, of: exp.Expr) -> exp.Expr:
        """`hoisted` for an expression of fields, such as `year(t) * 100 + month(t)`: only parts of `t` become columns.

        Constants stay, because `ordered` knows the order of the expression from their values and types.
        """
        if node.find(exp.Column) is None:
            return node
        # where a number of seconds becomes an instant, `of` is a call that the text does not have, around the number
        texts = {render(of), *map(render, of.expressions)}
        for part in list(node.find_all(exp.Expr)):
            if part is not node and render(part) in texts and has_clock(part):
                part.replace(self.hoisted(part.copy()))
        return node

    def _hoisted_lambda(self, node: exp.Lambda) -> exp.Expr:
        """`hoisted` for a lambda: parts that name its variable stay."""
        if len(node.expressions) != 1:
            raise unknown_elements(node)
        within = self.in_lambda(node, Variable(node.expressions[0].name.lower(), exp.null()))
        node.set("this", within.hoisted(node.this))
        return node

    def column(self, node: exp.Expr) -> exp.Expr:
        """The column of a row expression."""
        column = exp.column(exp.to_identifier(static_column(self.index(node)), quoted=True))
        return shown_as(column, node)

    def index(self, node: exp.Expr) -> int:
        """The index of a row expression; a new one is added. Raises Unlistable for one that names an element."""
        node = node.copy()
        for guard, holds in reversed((*self.guards, *(self.skips if may_raise_by_ansi(node) else ()))):
            test: exp.Expr = exp.paren(guard.copy())
            if not holds:
                test = not_(exp.NullSafeEQ(this=test, expression=exp.true()))
            node = exp.Case(ifs=[exp.If(this=test, true=node)])
        if self.is_of_element(node):
            raise not_listable(node, "it is of an element, and not of the row")
        text = render(node)
        self.of.setdefault(text, node)
        factor = day_factor(node)
        if factor is not None and constant(factor) is None:  # so that Spark is asked for the type of the factor
            self.index(factor)
        return list(self.of).index(text)


def _operands(node: exp.Connector) -> Iterator[tuple[exp.Connector, str]]:
    """The places of the operands of a chain of AND or OR."""
    for key in ("this", "expression"):
        inner = node.args[key].unnest()
        yield from _operands(inner) if type(inner) is type(node) else [(node, key)]


def index_of(node: exp.Expr) -> int | None:
    """The index of the row expression that a column stands for; None for any other node."""
    found = re.fullmatch(r"mz_s(\d+)", node.name) if isinstance(node, exp.Column) and not node.table else None
    return None if found is None else int(found[1])


def written(node: exp.Expr, row_expressions: Sequence[exp.Expr]) -> exp.Expr:
    """A copy of a node with the row expressions in place of their columns."""

    def put(part: exp.Expr) -> exp.Expr:
        index = index_of(part)
        return part if index is None else exp.paren(row_expressions[index].copy())

    return node.transform(put)
