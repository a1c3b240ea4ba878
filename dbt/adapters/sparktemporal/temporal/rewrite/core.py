"""A core: a part of a model whose rows are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import Comparison
from ..predicates.conditions import Condition
from ..predicates.ordered import YEARS_END
from ..sql.functions.calls import nondeterministic
from ..sql.text.dialect import fragment, mz_now_calls
from ..sql.text.helper_columns import operand_column, static_column
from .group_maintenance import Groups
from .kept import Kept

PLACEHOLDER = "mz_core_"


@dataclass(frozen=True)
class Core:
    """A core. A row is in the view while all `comparisons` and the `condition` (the rest of the WHERE) hold."""

    name: str
    #: gives the columns to store, without the clock
    query: exp.Query
    comparisons: tuple[Comparison, ...] = ()
    condition: Condition | None = None
    #: whether the core stands in a predicate or in place of a value, where it may name columns from outside
    inner: bool = False
    #: the keys and sums of a core that is kept per group. The query then gives the keys and the operands of the sums
    groups: Groups | None = None
    #: whether the core has groups without a window, each of which is a row of the answer
    has_all_groups: bool = False
    #: the form, rows or groups, and its reason
    kept: Kept = Kept()

    @property
    def first_call(self) -> int | None:
        """The offset of the core's first mz_now() in the text of the model; None for a static part."""
        edges = self.condition.edges if self.condition else ()
        starts = [c.at for c in self.comparisons] + [e.comparison.at for e in edges]
        if self.condition is not None:
            starts += [call.meta["start"] for call in mz_now_calls(self.condition.predicate)]
        return min(starts, default=None)

    @property
    def is_bounded(self) -> bool:
        """Whether comparisons of the clock say when rows are in the view.

        A core without bounds is stored whole and read whole: all of its rows are kept, and each read goes through them.
        """
        judged = self.condition
        return bool(self.comparisons or judged is not None and (judged.edges or judged.steps))

    @property
    def known_until(self) -> int | None:
        """The last instant (ms) for which the stored rows are right; None for all."""
        steps = self.condition.steps if self.condition else ()
        return YEARS_END - 1 if any(step.of_fields for step in steps) else None

    @property
    def placeholder(self) -> str:
        """The name of the table under which the residual reads this core."""
        return PLACEHOLDER + self.name

    @property
    def read(self) -> exp.Select:
        """The query of all its rows in the residual."""
        return exp.select("*").from_(exp.to_table(self.placeholder))


@dataclass(frozen=True)
class TypedCore:
    """A core with Spark's types. The types of the window are in the comparisons and steps of the core."""

    core: Core
    #: (name, type) of the output of the query
    columns: tuple[tuple[str, str], ...]
    #: offset of a call in the text of the model -> the kind of mz_now() there
    calls: Mapping[int, str] = field(default_factory=dict)
    #: rendered column of the window -> its type, where the type is known without a question
    window_types: Mapping[str, str] = field(default_factory=dict)
    #: whether a SELECT list of the core, or of a plain view that the core reads, may have a correlated subquery
    correlates: bool = False

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def stored(self) -> tuple[tuple[str, str], ...]:
        """The stored columns of rows, or the keys of groups."""
        return self.columns if self.core.groups is None else self.columns[: self.core.groups.keys]

    def showing(self, columns: Sequence[tuple[str, str]]) -> TypedCore:
        """The core with only some columns of its query."""
        return replace(self, columns=tuple(columns))

    @property
    def sums(self) -> tuple[tuple[str, str], ...] | None:
        """The columns of sums in the diffs of groups; None where rows are kept."""
        groups = self.core.groups
        return None if groups is None else tuple((s.name, s.type.lower()) for s in groups.sums)

    @property
    def form(self) -> str:
        """What is stored of the core, in words."""
        columns = ", ".join(f"{name} {kind}" for name, kind in (*self.stored, *(self.sums or ())))
        return f"{'rows' if self.sums is None else 'groups'} of {columns}"


def with_operands(core: Core) -> exp.Query:
    """The query of a core, with the operands of its comparisons and the row expressions of its condition as columns."""
    query = core.query.copy()
    row_expressions = core.condition.row_expressions if core.condition else ()
    named = [(operand_column(i), c.operand) for i, c in enumerate(core.comparisons)]
    named += [(static_column(i), expression) for i, expression in enumerate(row_expressions)]
    items = [exp.alias_(operand.copy(), name, quoted=True) for name, operand in named]
    query.set("expressions", [*query.expressions, *items])
    return query


def is_placeholder(table: exp.Expr) -> bool:
    return isinstance(table, exp.Table) and not table.db and table.name.startswith(PLACEHOLDER)


def refuse_nondeterministic(query: exp.Expr) -> None:
    node = nondeterministic(query)
    if node is not None:
        raise Refusal(
            "ST332",
            fragment(node),
            "this is another value at every run, so rows would be retracted and added again for no reason",
            "the value as a column of an upstream table",
        )
