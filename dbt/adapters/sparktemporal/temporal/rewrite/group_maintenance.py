"""Aggregates that are sums over rows: a run stores sums per group, and a read adds up the sums.

    select k, count(*) as n, sum(v) as total from t where <temporal> group by k
      ->  rows    select k, v as mz_x0 from t
          diffs   k, mz_timestamp, mz_diff (rows), mz_count_0 (rows with a v), mz_sum_1 (of v)
          rest    select k, coalesce(sum(mz_n), 0) as n, if(sum(mz_count_0) > 0, sum(mz_sum_1), null) as total
                  from mz_core_c0 group by k

The rest keeps its GROUP BY, so Spark itself evaluates ROLLUP, HAVING, windows and the outer query. The rest reads one
row a group instead of all rows. Some aggregates (min, count(distinct), bit_or) ask only which values there are, not how
often. For these the group key includes the aggregated value:

    select k, count(*), min(v) from t group by k
      ->  diffs   k, v, mz_timestamp, mz_diff     rest   select k, coalesce(sum(mz_n), 0), min(v) from mz_core_c0 ...

For any other aggregate (sum of doubles, percentiles, lists) the rows are kept, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import aggregate, is_aggregate_call, makes_sessions, nondeterministic, window
from ..sql.functions.row import Aggregate, Window
from ..sql.names.bind import sources_of, typed_columns
from ..sql.names.linear import ABOVE_ROWS, ORDERED, grouping_expressions, is_aggregation, is_linear, is_over_groups
from ..sql.names.projection import inner_stars, with_field_name
from ..sql.names.scope import Describe, canonical, column_of, is_lambda_variable, quote_name, resolve
from ..sql.spark.errors import SparkError
from ..sql.spark.identity import is_window
from ..sql.text.dialect import expression, fragment, has_clock, render, without
from ..sql.text.helper_columns import is_reserved, numbered
from .linear_aggregates import SUMMED, NoSum, Sum, Sums
from .window_columns import with_window_calls

#: the clauses above the groups
_ABOVE = tuple(clause for clause in ABOVE_ROWS if clause not in ("group", "distinct"))


@dataclass(frozen=True)
class Groups:
    """The form of a core that is kept per group. Columns of its query: first the group key, then operands of sums."""

    #: the number of columns of the group key
    keys: int
    sums: tuple[Sum, ...]
    #: the form in words
    kept: str = "groups are kept"


def take_groups(
    select: exp.Select, placeholder: str, describe: Describe, ctes: list[exp.CTE], ansi: bool
) -> tuple[exp.Select, exp.Select, Groups]:
    """An aggregating SELECT, or SELECT DISTINCT, without the clock in its rows -> (rows, rest, groups). Raises NoSum.

    ansi: an overflowing sum of BIGINT is an error; else the sum wraps around.
    """
    if not is_aggregation(select):
        return _distinct(select, placeholder, describe, ctes)
    return _Taking(select, placeholder, describe, ctes, ansi).take()


class _Taking:
    def __init__(
        self, select: exp.Select, placeholder: str, describe: Describe, ctes: list[exp.CTE], ansi: bool
    ) -> None:
        self.describe, self.ctes = describe, ctes
        self.sources = sources_of(select, describe, ctes)
        self.select = with_window_calls(select, lambda c: resolve(c, self.sources) is not None)
        self.rest = without(self.select, "from_", "joins", "laterals", "where", "hint")
        single = len(self.sources) == 1
        self.alias = self.sources[0].name if single else "mz_rows"
        table = exp.to_table(placeholder).as_(exp.to_identifier(self.alias, quoted=True), table=True)
        self.rest.set("from_", exp.From(this=table))
        self.keys: dict[str, tuple[str, exp.Expr]] = {}  # canonical text -> name, expression
        self.values: dict[str, tuple[str, exp.Expr]] = {}  # likewise
        self.arguments: dict[str, exp.Expr] = {}  # canonical text -> expression
        self.sums = Sums(lambda name: render(self._column(name)), ansi)

    def take(self) -> tuple[exp.Select, exp.Select, Groups]:
        self._check_form()
        self._group()
        every = list(self._calls())
        of_values = [call for call in every if _is_of_values(call)]
        shown = tuple(dict.fromkeys(fragment(call) for call in of_values))
        for call in of_values:
            self._keep_values(call)
        calls = [call for call in every if not any(call is c for c in of_values)]
        for call in calls:
            self._check(call)
            for argument in self._operands(call):
                self.arguments.setdefault(self._canonical(argument), argument.copy())
        rows = self._rows()
        try:
            described = typed_columns(rows, self.describe, self.ctes)
        except SparkError:  # the model itself is wrong, and its own text raises the error; else its rows can be kept
            raise NoSum("Spark does not accept the expressions of the groups by themselves") from None
        types = [t.lower() for _, t in described]
        self._check_keys(types)
        keys = len(self.keys) + len(self.values)
        typed = dict(zip(self.arguments, types[keys:]))
        for call in calls:
            self._put_merged(call, typed)
        self._replace_keys()
        what = f"groups with the values of {', '.join(shown)} are kept" if shown else "groups are kept"
        return rows, self.rest, Groups(keys, self.sums.kept, what)

    def _check_form(self) -> None:
        if any(query is not self.rest for query in self.rest.find_all(exp.Query)):
            raise NoSum("a subquery stands beside the aggregates")
        star = next(inner_stars(self.rest), None)
        if star is not None:
            raise NoSum(f"{fragment(star.parent or star)} reads all columns")

    # -- groups --

    def _check_keys(self, types: list[str]) -> None:
        """Raise NoSum for a window that may be a session, and for a value of a type whose equal values may differ.

        types: of the keys, then of the values.
        """
        for (_, key), kind in zip((*self.keys.values(), *self.values.values()), types):
            if is_window(kind) and window(key) not in (Window.FIXED, Window.SLIDING):
                raise NoSum(f"{fragment(key)} may be a session, which spans several rows")
        for (_, value), kind in zip(self.values.values(), types[len(self.keys) :]):
            if _INEXACT.search(kind):
                raise NoSum(f"{fragment(value)} is of {kind}, whose equal values need not be the same")

    def _group(self) -> None:
        group = self.rest.args.get("group")
        if group is None:
            return
        if group.args.get("all"):
            keys = [k for k in (item.unalias() for item in self.rest.expressions) if not _has_aggregate(k)]
            self.rest.set("group", exp.Group(expressions=[k.copy() for k in keys]) if keys else None)
            group = self.rest.args.get("group")
        for leaf in list(grouping_expressions(group)) if group is not None else []:
            leaf.replace(self._key(self._named(leaf)))

    def _named(self, leaf: exp.Expr) -> exp.Expr:
        """The expression of a GROUP BY element, which may be an ordinal or an alias. A column wins over an alias."""
        items = self.rest.expressions
        if isinstance(leaf, exp.Literal) and not leaf.is_string:
            place = int(leaf.name) - 1 if leaf.name.isdigit() else -1
            if not 0 <= place < len(items):
                raise NoSum(f"GROUP BY {leaf.name}")
            return cast("exp.Expr", items[place].unalias())
        if isinstance(leaf, exp.Column) and len(leaf.parts) == 1 and resolve(leaf, self.sources) is None:
            for item in items:
                if isinstance(item, exp.Alias) and item.alias.lower() == leaf.name.lower():
                    return cast("exp.Expr", item.this)
        return leaf

    def _key(self, key: exp.Expr) -> exp.Expr:
        if _has_aggregate(key) or not self._of_rows(key) or isinstance(key, exp.Star):
            raise NoSum(f"GROUP BY {fragment(key)}")
        text = self._canonical(key)
        if text not in self.keys:
            self.keys[text] = (self._name(key, text), key.copy())
        return self._column(self.keys[text][0])

    def _name(self, key: exp.Expr, text: str) -> str:
        """The name of a key for people: the name of the column, its alias in the SELECT list, or `mz_key_<number>`."""
        columns = {c.lower() for s in self.sources for c in s.columns}
        taken = {name.lower() for name, _ in (*self.keys.values(), *self.values.values())}
        if isinstance(key, exp.Column):
            found = resolve(key, self.sources)
            if found is not None and found[2] == len(key.parts) and _is_free(found[1], taken):
                return found[1]
        for item in self.rest.expressions:
            free = isinstance(item, exp.Alias) and _is_free(item.alias, columns | taken)
            if free and self._canonical(item.this) == text:
                return str(item.alias)
        return numbered("mz_key_", len(self.keys) + len(self.values), columns | taken)

    def _column(self, name: str) -> exp.Column:
        column = column_of(self.alias, name)
        column.meta["mz_own"] = True
        return column

    def _replace_keys(self) -> None:
        """Replace the keys in the rest of the query. Raises NoSum for a column of the rows that is in no key."""
        aliases = {i.alias.lower(): self._canonical(i.this) for i in self.rest.expressions if isinstance(i, exp.Alias)}
        for clause in _ABOVE[1:]:
            for name in self._names(clause):
                if aliases.get(name.name.lower(), "") not in ("", self._canonical(name)):
                    raise NoSum(f"{fragment(name)} is a column and an alias")
        for clause in _ABOVE:
            for node in self._nodes(clause):
                self._replace_in(node)
        for column in self.rest.find_all(exp.Column):
            if not column.meta.get("mz_own") and resolve(column, self.sources) is not None:
                raise NoSum(f"{fragment(column)} is in no group as written")

    def _nodes(self, clause: str) -> list[exp.Expr]:
        found = self.rest.args.get(clause)
        return found if isinstance(found, list) else [found] if found is not None else []

    def _names(self, clause: str) -> Iterator[exp.Column]:
        """The columns of the rows that a clause names without a qualifier."""
        for node in self._nodes(clause):
            for column in node.find_all(exp.Column):
                if len(column.parts) == 1 and resolve(column, self.sources) is not None:
                    yield column

    def _replace_in(self, node: exp.Expr) -> None:
        text = self._canonical(node)
        if text in self.keys and not node.meta.get("mz_own"):
            try:
                node.replace(with_field_name(node, self._column(self.keys[text][0])))
            except Refusal as refusal:
                raise NoSum(f"of {refusal.found} {refusal.why}") from None
            return
        for child in list(node.iter_expressions()):
            self._replace_in(child)

    # -- aggregates --

    def _calls(self) -> Iterator[exp.Expr]:
        """The aggregates over groups, without window functions and GROUPING."""
        for node in self.rest.walk():
            if is_over_groups(node) and aggregate(node) is not Aggregate.GROUPING:
                yield node

    def _check(self, call: exp.Expr) -> None:
        if isinstance(call.parent, ORDERED):
            raise NoSum(f"{fragment(call.parent)} needs the rows")
        if aggregate(call) not in SUMMED:
            raise NoSum(f"{fragment(call)} needs the rows")

    def _keep_values(self, call: exp.Expr) -> None:
        """Store the operands of a call, and the condition of its FILTER, as columns of the group key.

        An operand that is more than a column is NULL where the FILTER does not hold: there it may raise an error.
        """
        operands = [o for a in call.expressions for o in (a.expressions if isinstance(a, exp.Distinct) else [a])]
        condition = call.parent.expression.this if isinstance(call.parent, exp.Filter) else None
        for operand in operands if condition is None else [*operands, condition]:
            if not self._of_rows(operand, constant=True):
                raise NoSum(f"{fragment(call)} reads more than the columns of the rows")
            if not operand.find(exp.Column):
                continue
            is_plain = operand is condition or isinstance(operand.unnest(), exp.Column)
            if condition is None or is_plain or self._canonical(operand) in self.keys:
                name = self._kept(operand)
            else:
                name = self._kept(_if(condition, operand))
            operand.replace(self._column(name))

    def _kept(self, value: exp.Expr) -> str:
        """The column of the group key with a value."""
        text = self._canonical(value)
        if text not in self.keys and text not in self.values:
            self.values[text] = (self._name(value, text), value.copy())
        return (self.keys.get(text) or self.values[text])[0]

    def _operands(self, call: exp.Expr) -> list[exp.Expr]:
        """The arguments of a call, NULL where its FILTER does not hold."""
        given = [call.this.unnest()] if isinstance(call, exp.Any) else call.expressions
        condition = call.parent.expression.this if isinstance(call.parent, exp.Filter) else None
        if aggregate(call) is Aggregate.COUNT and all(isinstance(a, (exp.Star, exp.Literal)) for a in given):
            operands = [] if condition is None else [_if(condition, exp.true())]
        elif condition is None:
            operands = list(given)
        else:
            operands = [_if(condition, a) for a in given]
        for operand in operands:
            if not self._of_rows(operand, constant=True):
                raise NoSum(f"{fragment(call)} reads more than the columns of the rows")
        return operands

    def _merged(self, call: exp.Expr, typed: dict[str, str]) -> str:
        """SQL of the value of a call, over rows that hold the sums of one group each.

        typed: the canonical text of an operand -> its type.
        """
        texts = [self._canonical(a) for a in self._operands(call)]
        return self.sums.value(aggregate(call), fragment(call), [(self._argument(t), typed[t]) for t in texts])

    def _put_merged(self, call: exp.Expr, typed: dict[str, str]) -> None:
        """Replace a call, with its FILTER, by its value over the groups."""
        whole = call.parent if isinstance(call.parent, exp.Filter) else call
        merged = expression(self._merged(call, typed))
        for column in merged.find_all(exp.Column):
            column.meta["mz_own"] = True
        whole.replace(merged)

    def _argument(self, text: str) -> str:
        return f"mz_x{list(self.arguments).index(text)}"

    # -- rows --

    def _rows(self) -> exp.Select:
        rows = without(self.select, *ABOVE_ROWS)
        kept = (*self.keys.values(), *self.values.values())
        items = [exp.alias_(key.copy(), name, quoted=True) for name, key in kept]
        items += [exp.alias_(a.copy(), self._argument(t), quoted=True) for t, a in self.arguments.items()]
        rows.set("expressions", items or [exp.alias_(exp.true(), "mz_row", quoted=True)])
        return rows

    def _of_rows(self, node: exp.Expr, constant: bool = False) -> bool:
        """Whether an expression reads only columns of the rows, and is deterministic. constant: it may read none."""
        if has_clock(node) or nondeterministic(node) is not None or makes_sessions(node):
            return False
        columns = [c for c in node.find_all(exp.Column) if not is_lambda_variable(c)]
        return (constant or bool(columns)) and all(resolve(c, self.sources) is not None for c in columns)

    def _canonical(self, node: exp.Expr) -> str:
        return canonical(node, self.sources)


#: types whose equal values may differ, or cannot be compared
_INEXACT = re.compile(r"\b(float|double|void|variant|collate)\b|map<|^interval$")


def _is_of_values(call: exp.Expr) -> bool:
    of_values = aggregate(call) is Aggregate.VALUES or any(isinstance(a, exp.Distinct) for a in call.expressions)
    return of_values and not isinstance(call.parent, ORDERED)


def _distinct(
    select: exp.Select, placeholder: str, describe: Describe, ctes: list[exp.CTE]
) -> tuple[exp.Select, exp.Select, Groups]:
    """SELECT DISTINCT: the rows are the groups."""
    rows = without(select, "distinct")
    if select.args["distinct"].args.get("on") or not is_linear(rows):
        raise NoSum("DISTINCT stands over more than a filter")
    described = typed_columns(rows, describe, ctes)
    names = [name for name, _ in described]
    for name, kind in described:
        if is_window(kind):
            raise NoSum(f"{name} may be a session, which spans several rows")
    if len({name.lower() for name in names}) < len(names):
        raise NoSum("two columns have one name")
    items = [exp.column(quote_name(name)) for name in names]
    return rows, exp.select(*items).from_(exp.to_table(placeholder)), Groups(len(names), (), "distinct rows are kept")


def _is_free(name: str, taken: set[str]) -> bool:
    return name.lower() not in taken and not is_reserved(name)


def _has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate_call(n) or isinstance(n, exp.Window) for n in node.walk())


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="if", expressions=[condition.copy(), value.copy(), exp.null()])
