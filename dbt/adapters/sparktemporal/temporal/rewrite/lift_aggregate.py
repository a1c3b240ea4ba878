"""Lift a core to the one aggregation that reads the core through SELECTs without joins, to keep groups.

    with recent as (select * from events where mz_now() <= ts + interval 30 days),
         typed as (select k, cast(v as int) as v from recent)
    select k, sum(v) from typed group by k
      ->  rows   select k, v as mz_x0
                 from (select k, cast(v as int) as v, mz_b0
                       from (select *, ts + interval 30 days as mz_b0 from events) as recent) as typed

The operands of the core's comparisons are columns of the innermost SELECT. Each SELECT passes them on under their own
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from ...errors import Refusal
from ..sql.functions.calls import nondeterministic
from ..sql.names.bind import sources_of
from ..sql.names.ctes import reads_of, table_names, visible_ctes
from ..sql.names.linear import is_inside_a_value, is_linear, makes_groups
from ..sql.names.projection import expand_stars, inner_stars
from ..sql.names.scope import Describe, column_of, derived, star_of
from ..sql.text.dialect import has_clock, has_other_parts, shown_as, without
from ..sql.text.helper_columns import operand_column, static_column
from .core import Core, with_operands
from .given import Given
from .group_maintenance import take_groups
from .kept import Kept
from .linear_aggregates import NoSum


class Lifted(NamedTuple):
    """A core on its way up. plain: the query of the core without the operands of comparisons."""

    core: Core
    plain: exp.Query


def lift(core: Core, node: exp.Select, tree: exp.Expr, given: Given) -> tuple[Core, exp.Select, exp.Select] | None:
    """Lift a linear core to the aggregation above -> (the lifted core, the aggregation, the aggregation's replacement).

    node: the core's place in the residual `tree`.
    None unless exactly one aggregation reads all rows of the core. Raises NoSum when the aggregation needs the rows.
    """
    found = only_reader(node, tree) if is_whole(core, node) else None
    climbed = None if found is None else climb_all([Lifted(core, core.query)], *found, tree, given.describe)
    if climbed is None:
        return None
    (lifted,), reader, item = climbed
    kept, rest = grouped(lifted, reader, item, given)
    return kept, reader, rest


def is_whole(core: Core, place: exp.Select) -> bool:
    """Whether the place of a core gives back all its rows unchanged, without a LIMIT or the like."""
    return place == core.read


def climb_all(
    cores: list[Lifted], reader: exp.Select, item: exp.Expr, tree: exp.Expr, describe: Describe
) -> tuple[list[Lifted], exp.Select, exp.Expr] | None:
    """Lift cores to the next aggregation above -> (the lifted cores, the aggregation, the item of its FROM).

    reader, item: the SELECT right above the cores, and the item of its FROM.
    None where a SELECT on the way does not keep the rows, or is not read by exactly one SELECT.
    """
    while not makes_groups(reader):
        steps = [climb(one, reader, item, describe) for one in cores]
        cores = [step for step in steps if step is not None]
        above = only_reader(reader, tree)
        if above is None or len(cores) < len(steps):
            return None
        reader, item = above
    return cores, reader, item


def climb(one: Lifted, reader: exp.Select, item: exp.Expr, describe: Describe) -> Lifted | None:
    """A core lifted through the SELECT `reader`. item: the item of the SELECT's FROM that reads the core.

    None unless the SELECT keeps rows one by one, has no clock and nothing nondeterministic, and its stars are known.
    Nor may an item name a CTE.
    """
    above = _over(one.plain, reader, item)
    if any(inner_stars(above)) or _names_a_cte(reader):
        return None
    if not is_linear(above) or has_clock(above) or nondeterministic(above) is not None:
        return None
    try:
        expand_stars(above, sources_of(above, describe, []))
    except Refusal:
        return None
    carried = above.copy()
    carried.set("from_", exp.From(this=derived(with_operands(one.core), item.alias_or_name)))
    return Lifted(replace(passed_on(one.core, item.alias_or_name), query=carried), above)


def grouped(one: Lifted, reader: exp.Select, item: exp.Expr, given: Given) -> tuple[Core, exp.Select]:
    """(a core kept per group of the aggregation `reader`, the SELECT over the groups). Raises NoSum."""
    alias = item.alias_or_name
    above = _over(one.plain, reader, item)
    if _names_a_cte(reader):
        raise NoSum("a subquery reads a CTE")
    if any(inner_stars(above)):
        raise NoSum("the columns of a star are not known")
    if any(map(star_of, above.expressions)):
        _write_out_stars(above, given.describe)
    rows, rest, groups = take_groups(above, one.core.placeholder, given.describe, [], given.ansi)
    rows.set("from_", exp.From(this=derived(with_operands(one.core), alias)))
    return replace(passed_on(one.core, alias), query=rows, groups=groups, kept=Kept(groups.kept)), rest


def _names_a_cte(reader: exp.Select) -> bool:
    """Whether a subquery among the items of a SELECT reads a CTE, which a core by itself does not see."""
    named = {name for item in reader.expressions for name in table_names(item)}
    return bool(named & {cte.alias.lower() for cte in visible_ctes(reader)})


def _write_out_stars(above: exp.Select, describe: Describe) -> None:
    """Write out `*` in place, because the rows below get the operands of the comparisons as further columns."""
    sources = sources_of(above, describe, [])
    names = [name.lower() for _, name in sources.star]
    if len(set(names)) < len(names):
        raise NoSum("two columns have one name")
    try:
        expand_stars(above, sources)
    except Refusal:
        raise NoSum("which columns its star has is not known") from None


def refuse_groups(core: Core, by_rows: Mapping[int, Kept]) -> None:
    """Raise NoSum for a core whose rows are to be kept.

    by_rows: offset of the first mz_now() of such a core -> the reason.
    """
    first = core.first_call
    if first is not None and first in by_rows:
        raise NoSum(by_rows[first].rows_because, by_rows[first].by_config)


def _over(plain: exp.Query, reader: exp.Select, item: exp.Expr) -> exp.Select:
    """A copy of the SELECT `reader` with the query `plain` as the item of its FROM."""
    above = without(reader, "with_")
    above.set("from_", exp.From(this=derived(plain.copy(), item.alias_or_name)))
    return above


def passed_on(core: Core, alias: str) -> Core:
    """The core with its operands as columns of the derived table `alias`."""

    def column(name: str, value: exp.Expr) -> exp.Column:
        return shown_as(column_of(alias, name), value)

    comparisons = tuple(
        replace(c, operand=column(operand_column(i), c.operand)) for i, c in enumerate(core.comparisons)
    )
    judged = core.condition
    if judged is not None:
        values = enumerate(judged.row_expressions)
        judged = replace(judged, row_expressions=tuple(column(static_column(i), value) for i, value in values))
    return replace(core, comparisons=comparisons, condition=judged)


def only_reader(node: exp.Expr, tree: exp.Expr) -> tuple[exp.Select, exp.Expr] | None:
    """The one SELECT that reads `node`, with nothing else in its FROM, and the item of the FROM."""
    item = _read_as(node, tree)
    if item is None or item.alias_column_names or has_other_parts(item, ("this", "alias")):
        return None
    reader = item.parent.parent if isinstance(item.parent, exp.From) else None
    if not isinstance(reader, exp.Select) or not item.alias_or_name or not _reads_one_source(reader):
        return None
    return None if is_inside_a_value(reader) else (reader, item)  # such a query may name columns from outside


def _read_as(node: exp.Expr, tree: exp.Expr) -> exp.Expr | None:
    """The one place where a query is read: its parentheses, or the name of its CTE."""
    parent = node.parent
    if isinstance(parent, exp.CTE) and not parent.alias_column_names:
        uses = reads_of(parent.alias, tree)
        return uses[0] if len(uses) == 1 else None
    return parent if isinstance(parent, exp.Subquery) else None


def _reads_one_source(reader: exp.Select) -> bool:
    """Whether a SELECT has one source, and a WHERE that depends on its rows alone."""
    if any(reader.args.get(key) for key in ("joins", "laterals", "hint", "pivots", "sample", "match")):
        return False
    where = reader.args.get("where")
    return where is None or not (has_clock(where) or where.find(exp.Query) or nondeterministic(where) is not None)
