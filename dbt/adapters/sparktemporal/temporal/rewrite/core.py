"""A core: a part of a model whose rows are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import Comparison
from ..predicates.conditions import Condition
from ..sql.functions.calls import nondeterministic
from ..sql.text.dialect import fragment, mz_now_calls
from ..sql.text.helper_columns import operand_column, static_column
from .group_maintenance import Groups
from .kept import Kept

PLACEHOLDER = "mz_core_"


@dataclass(frozen=True)
class Core:
    """`query` is free of the clock and yields the columns to store.

    A row is in the view while all `comparisons` and the `condition` (the rest of the WHERE) hold.
    inner: the core stands in a predicate or in place of a value, and may name columns from outside.
    groups: the core is kept per group, and `query` yields keys and operands of the sums. kept: that, and the reason.
    """

    name: str
    query: exp.Query
    comparisons: tuple[Comparison, ...] = ()
    condition: Condition | None = None
    inner: bool = False
    groups: Groups | None = None
    kept: Kept = Kept()

    @property
    def first_call(self) -> int | None:
        """The offset of its first mz_now() in the text of the model; None for a static part."""
        edges = self.condition.edges if self.condition else ()
        starts = [c.at for c in self.comparisons] + [e.comparison.at for e in edges]
        if self.condition is not None:
            starts += [call.meta["start"] for call in mz_now_calls(self.condition.predicate)]
        return min(starts, default=None)

    @property
    def placeholder(self) -> str:
        """The name of the table under which the residual reads this core."""
        return PLACEHOLDER + self.name


@dataclass(frozen=True)
class TypedCore:
    """A core with the types that Spark gives its expressions; those of its window are in its comparisons and steps."""

    core: Core
    #: (name, type) of the output of its query
    columns: tuple[tuple[str, str], ...]
    #: offset of a call in the text of the model -> the kind of mz_now() there
    calls: Mapping[int, str] = field(default_factory=dict)
    #: rendered column of its window -> its type, where nothing need be asked for it
    window_types: Mapping[str, str] = field(default_factory=dict)
    #: whether a SELECT list of it, or of a plain view that it reads, may have a correlated subquery
    correlates: bool = False

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def stored(self) -> tuple[tuple[str, str], ...]:
        """The stored columns of rows, or the keys of groups."""
        return self.columns if self.core.groups is None else self.columns[: self.core.groups.keys]

    def showing(self, columns: Sequence[tuple[str, str]]) -> TypedCore:
        """The same, of whose query only some columns are looked at."""
        return replace(self, columns=tuple(columns))

    @property
    def sums(self) -> tuple[tuple[str, str], ...] | None:
        """The columns of sums in the diffs of groups; None where rows are kept."""
        groups = self.core.groups
        return None if groups is None else tuple((s.name, s.type.lower()) for s in groups.sums)


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


# ---- the temporal SELECT -------------------------------------------------------------------------------------------


def refuse_nondeterministic(query: exp.Expr) -> None:
    node = nondeterministic(query)
    if node is not None:
        raise Refusal(
            fragment(node),
            "this is another value at every run, so rows would be retracted and added again for no reason",
            "the value as a column of an upstream table",
        )
