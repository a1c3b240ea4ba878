"""An aggregation over a UNION ALL of temporal SELECTs: each SELECT is kept per group.

    with a as (select k, v from t where <temporal>), b as (select k, w from u where <temporal>),
         both as (select * from a union all select * from b)
    select k, sum(v) from both group by k
      ->  rows   select k, v as mz_x0 from (select k, v from t), and the same from (select k, w as v from u)
          rest   select k, sum(mz_sum_1) from (select * from mz_core_c0 union all select * from mz_core_c1) group by k

Each branch gets the names and types of the UNION ALL, so that all branches are kept with the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ..sql.names.bind import typed_columns
from ..sql.names.linear import first_source, makes_groups
from ..sql.names.scope import Describe, column_of, derived
from ..sql.spark.errors import SparkError
from ..sql.spark.timestamps import sql_type
from ..sql.text.dialect import expression, has_other_parts, put_in, render
from .core import Core, is_placeholder, with_operands
from .given import Given
from .lift_aggregate import Lifted, climb, climb_all, grouped, is_whole, only_reader, passed_on, refuse_groups
from .linear_aggregates import NoSum

_ALIAS = "mz_branch"


def lift_unions(
    cores: Sequence[Core], places: Sequence[exp.Select], residual: exp.Query, given: Given
) -> tuple[list[Core], exp.Query]:
    """(cores, residual), with aggregations over a UNION ALL of cores kept per group where possible."""
    found = list(cores)
    for union in list(residual.find_all(exp.Union)):
        if isinstance(union.parent, exp.SetOperation):
            continue
        leaves = leaves_of(union)
        branches = _branches(found, places, leaves, residual, given.describe) if leaves else None
        if branches is None:
            continue
        try:
            lifted = _lifted(branches, union, residual, given)
        except NoSum as reason:
            names = [branch.core.name for branch in branches]
            found = [replace(core, kept=reason.kept) if core.name in names else core for core in found]
            continue
        if lifted is not None:
            kept, reader, rest = lifted
            by_name = {core.name: core for core in kept}
            found = [by_name.get(core.name, core) for core in found]
            residual = put_in(residual, reader, rest)
    return found, residual


def leaves_of(query: exp.Expr, distinct: bool = False) -> list[exp.Select] | None:
    """The SELECTs of a UNION ALL from left to right; None where another set operation stands among them.

    distinct: whether a UNION without ALL is taken too.
    """
    if isinstance(query, exp.Subquery) and not has_other_parts(query, ("this",)):
        return leaves_of(query.this, distinct)
    if isinstance(query, exp.Select):
        return [query]
    plain = type(query) is exp.Union and (distinct or not query.args.get("distinct"))
    if not plain or has_other_parts(query, ("this", "expression", "distinct")):
        return None
    left, right = leaves_of(query.this, distinct), leaves_of(query.expression, distinct)
    return None if left is None or right is None else [*left, *right]


def cores_read(query: exp.Expr) -> list[str]:
    """The placeholders of the cores whose rows a UNION ALL passes on as they are; none where it reads anything else."""
    leaves = leaves_of(query)
    if not leaves or not all(map(is_star, leaves)):
        return []
    found = [source for leaf in leaves if (source := first_source(leaf)) is not None]
    return [str(one.name) for one in found] if len(found) == len(leaves) and all(map(is_placeholder, found)) else []


def _branches(
    cores: Sequence[Core],
    places: Sequence[exp.Select],
    leaves: Sequence[exp.Select],
    tree: exp.Expr,
    describe: Describe,
) -> list[Lifted] | None:
    """The core that each leaf reads row by row; None where a leaf reads anything else."""
    found: dict[int, Lifted] = {}
    for core, place in zip(cores, places):
        if core.groups is not None or core.kept or place.parent is None or not is_whole(core, place):
            continue
        path, leaf = _path_up(place, leaves, tree)
        if leaf is None:
            continue
        core = core if leaf == 0 else _named(core)
        branch = Lifted(core, core.query)
        for reader, item in path:
            if is_star(reader):
                continue
            step = climb(branch, reader, item, describe)
            if step is None:
                return None
            branch = step
        found[leaf] = branch
    return [found[i] for i in range(len(leaves))] if len(found) == len(leaves) else None


def _path_up(
    place: exp.Select, leaves: Sequence[exp.Select], tree: exp.Expr
) -> tuple[list[tuple[exp.Select, exp.Expr]], int | None]:
    """The SELECTs between a core and its leaf, each with its item of the FROM; and the number of the leaf.

    The number is None for a core below no leaf.
    """
    path: list[tuple[exp.Select, exp.Expr]] = []
    at = place
    while True:
        leaf = next((i for i, one in enumerate(leaves) if one is at), None)
        above = only_reader(at, tree) if leaf is None else None
        if above is None:
            return path, leaf
        path.append(above)
        at = above[0]


def _named(core: Core) -> Core:
    """The core with a distinct name for each column: the names of a UNION ALL come from its first branch."""
    query = core.query.copy()
    names = [item.alias_or_name.lower() for item in query.expressions]
    items = [
        item
        if item.is_star or (isinstance(item, (exp.Alias, exp.Column, exp.Dot)) and names.count(names[at]) == 1)
        else exp.alias_(item.unalias().copy(), f"mz_u{at}", quoted=True)
        for at, item in enumerate(query.expressions)
    ]
    query.set("expressions", items)
    return replace(core, query=query)


def is_star(select: exp.Select) -> bool:
    """Whether a SELECT is `select *` and nothing else."""
    (item, *more) = select.expressions
    plain = isinstance(item, exp.Star) and not more and not any(item.args.values())
    return plain and not has_other_parts(select, ("expressions", "from_", "kind"))


def _lifted(
    branches: list[Lifted], union: exp.Expr, tree: exp.Expr, given: Given
) -> tuple[list[Core], exp.Select, exp.Select] | None:
    """(cores, the aggregation, its replacement); None where not exactly one aggregation reads the branches."""
    found = only_reader(union, tree)
    if found is None:
        return None
    is_direct = makes_groups(found[0])
    describe = given.describe
    climbed = climb_all(branches if is_direct else _aligned(branches, describe), *found, tree, describe)
    if climbed is None:
        return None
    branches, reader, item = climbed
    for branch in branches:
        refuse_groups(branch.core, given.by_rows)
    branches = _aligned(branches, describe) if is_direct else branches
    kept, rests = zip(*(grouped(branch, reader, item, given) for branch in branches))
    if len({core.groups for core in kept}) > 1:
        raise NoSum("the branches of the UNION ALL would be kept in different forms")
    every = exp.union(*(core.read for core in kept), distinct=False)
    rest = rests[0]
    rest.set("from_", exp.From(this=derived(every, item.alias_or_name)))
    if reader.args.get("distinct"):  # the groups of one core are distinct rows; several cores may have the same groups
        rest.set("distinct", exp.Distinct())
    return list(kept), reader, rest


def _aligned(branches: Sequence[Lifted], describe: Describe) -> list[Lifted]:
    """The branches with the names and types of the columns of the UNION ALL."""
    every = exp.union(*(exp.select("*").from_(exp.Subquery(this=b.plain.copy())) for b in branches), distinct=False)
    aligned = []
    try:
        wanted = typed_columns(every, describe)
        described = [typed_columns(branch.plain, describe) for branch in branches]
    except SparkError:  # the model's own text raises its errors
        raise NoSum("Spark does not accept the branches of the UNION ALL by themselves") from None
    for branch, columns in zip(branches, described):
        if len({name.lower() for name, _ in columns}) < len(columns):
            raise NoSum("two columns have one name")
        items = [_as(name, kind, *one) for one, (name, kind) in zip(columns, wanted)]
        core = passed_on(branch.core, _ALIAS)
        lifted = exp.select(*(i.copy() for i in items)).from_(derived(with_operands(branch.core), _ALIAS))
        plain = exp.select(*(i.copy() for i in items)).from_(derived(branch.plain.copy(), _ALIAS))
        aligned.append(Lifted(replace(core, query=lifted), plain))
    return aligned


def _as(name: str, kind: str, own: str, own_kind: str) -> exp.Expr:
    column: exp.Expr = column_of(_ALIAS, own)
    if own_kind != kind:
        column = expression(f"CAST({render(column)} AS {sql_type(kind)})")
    return exp.alias_(column, name, quoted=True)
