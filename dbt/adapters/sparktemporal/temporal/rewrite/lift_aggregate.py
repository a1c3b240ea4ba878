"""A core that only an aggregation reads, through SELECTs without joins, is lifted to the aggregation.

    with recent as (select * from events where mz_now() <= ts + interval 30 days),
         typed as (select k, cast(v as int) as v from recent)
    select k, sum(v) from typed group by k
      ->  rows   select k, v as mz_x0
                 from (select k, cast(v as int) as v from (select * from events) as recent) as typed

The operands of its comparisons are columns of the innermost SELECT. Each SELECT passes them on under their own names.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ...errors import Refusal
from ..sql.calls import nondeterministic
from ..sql.columns import expand_stars
from ..sql.dialect import has_clock
from ..sql.linear import is_aggregation, is_inside_a_value, is_linear
from ..sql.names import operand_column, static_column
from ..sql.scope import Describe, quote_name, sources_of
from .core import Core
from .group_maintenance import take_groups
from .kept import Kept


def lift(
    core: Core, node: exp.Select, tree: exp.Expr, describe: Describe, ansi: bool
) -> tuple[Core, exp.Select, exp.Select] | None:
    """A linear core, whose place in the residual `tree` is `node` -> (core, the aggregation, its replacement).

    None when not exactly one aggregation reads the core. Raises NoSum when the aggregation needs the rows.
    """
    if not is_whole(core, node):
        return None
    lifted, plain = core, core.query
    at = node
    while True:
        found = only_reader(at, tree)
        if found is None:
            return None
        reader, item = found
        alias = item.alias_or_name
        above = reader.copy()
        above.set("with_", None)
        above.set("from_", derived(plain, alias))
        if is_aggregation(above) or above.args.get("distinct"):
            rows, rest, groups = take_groups(above, core.placeholder, describe, [], ansi)
            rows.set("from_", derived(with_operands(lifted), alias))
            lifted = replace(passed_on(lifted, alias), query=rows, groups=groups, kept=Kept(groups.kept))
            return lifted, reader, rest
        step = climb(lifted, plain, reader, item, describe)
        if step is None:
            return None
        lifted, plain, at = *step, reader


def is_whole(core: Core, place: exp.Select) -> bool:
    """Whether the place of a core gives back all its rows unchanged, without a LIMIT or the like."""
    return place == exp.select("*").from_(exp.to_table(core.placeholder))


def climb(
    core: Core, plain: exp.Query, reader: exp.Select, item: exp.Expr, describe: Describe
) -> tuple[Core, exp.Query] | None:
    """A core one SELECT further up, with and without the operands of its comparisons; None unless it keeps rows.

    plain: the query of the core without operands. item: the item of the FROM of `reader` that reads the core.
    """
    above = reader.copy()
    above.set("with_", None)
    above.set("from_", derived(plain, item.alias_or_name))
    if not is_linear(above) or has_clock(above) or nondeterministic(above) is not None:
        return None
    try:
        expand_stars(above, sources_of(above, describe, []))
    except Refusal:
        return None
    carried = above.copy()
    carried.set("from_", derived(with_operands(core), item.alias_or_name))
    return replace(passed_on(core, item.alias_or_name), query=carried), above


def derived(query: exp.Query, alias: str) -> exp.From:
    return exp.From(this=exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=quote_name(alias))))


def _operands(core: Core) -> list[tuple[str, exp.Expr]]:
    """The operands of a core beside its columns, each with its name."""
    row_expressions = core.condition.row_expressions if core.condition else ()
    return [
        *((operand_column(i), c.operand) for i, c in enumerate(core.comparisons)),
        *((static_column(i), s) for i, s in enumerate(row_expressions)),
    ]


def with_operands(core: Core) -> exp.Query:
    query = core.query.copy()
    items = [exp.alias_(operand.copy(), name, quoted=True) for name, operand in _operands(core)]
    query.set("expressions", [*query.expressions, *items])
    return query


def passed_on(core: Core, alias: str) -> Core:
    """The core with its operands as columns of the derived table `alias`."""

    def column(name: str) -> exp.Column:
        return exp.column(quote_name(name), table=quote_name(alias))

    comparisons = tuple(replace(c, operand=column(operand_column(i))) for i, c in enumerate(core.comparisons))
    judged = core.condition
    if judged is not None:
        judged = replace(
            judged, row_expressions=tuple(column(static_column(i)) for i in range(len(judged.row_expressions)))
        )
    return replace(core, comparisons=comparisons, condition=judged)


def only_reader(node: exp.Expr, tree: exp.Expr) -> tuple[exp.Select, exp.Expr] | None:
    """The one SELECT that reads `node`, with nothing else in its FROM, and the item of the FROM."""
    parent = node.parent
    item: exp.Expr | None = None
    if isinstance(parent, exp.Subquery):
        item = parent
    elif isinstance(parent, exp.CTE) and not _column_names(parent):
        name = parent.alias.lower()
        uses = [t for t in tree.find_all(exp.Table) if not t.db and t.name.lower() == name]
        item = uses[0] if len(uses) == 1 else None
    if item is None or _column_names(item) or any(v for k, v in item.args.items() if k not in ("this", "alias")):
        return None
    reader = item.parent.parent if isinstance(item.parent, exp.From) else None
    if not isinstance(reader, exp.Select) or not item.alias_or_name:
        return None
    if any(reader.args.get(key) for key in ("joins", "laterals", "hint", "pivots", "sample", "match")):
        return None
    where = reader.args.get("where")
    if where is not None and (has_clock(where) or where.find(exp.Query) or nondeterministic(where) is not None):
        return None
    if is_inside_a_value(reader):  # the query may name columns from outside
        return None
    return reader, item


def _column_names(item: exp.Expr) -> bool:
    alias = item.args.get("alias")
    return bool(alias is not None and alias.args.get("columns"))
