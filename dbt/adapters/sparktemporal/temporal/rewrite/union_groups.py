"""An aggregation over a UNION ALL of temporal SELECTs: each SELECT is kept per group.

    with a as (select k, v from t where <temporal>), b as (select k, w from u where <temporal>),
         both as (select * from a union all select * from b)
    select k, sum(v) from both group by k
      ->  rows   select k, v as mz_x0 from (select k, v from t), and the same from (select k, w as v from u)
          rest   select k, sum(mz_sum_1) from (select * from mz_core_c0 union all select * from mz_core_c1) group by k

Each branch gets the names and types of the UNION ALL, so that all branches are kept with the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..sql.dialect import VerbatimSpark, render
from ..sql.linear import is_aggregation
from ..sql.scope import Describe, quote_name
from ..sql.spark_errors import SparkError
from ..sql.timestamps import sql_type
from .core import Core
from .group_maintenance import take_groups
from .kept import Kept
from .lift_aggregate import climb, derived, is_whole, only_reader, passed_on, with_operands
from .linear_aggregates import NoSum

_ALIAS = "mz_branch"


@dataclass(frozen=True)
class Branch:
    """A core that is being lifted. plain: its query without the operands of its comparisons."""

    number: int
    core: Core
    plain: exp.Query

    def moved(self, core: Core, plain: exp.Query) -> Branch:
        return replace(self, core=core, plain=plain)


def lift_unions(
    cores: Sequence[Core],
    places: Sequence[exp.Select],
    residual: exp.Query,
    describe: Describe,
    by_rows: Mapping[int, Kept],
    ansi: bool,
) -> tuple[list[Core], exp.Query]:
    """(cores, residual), with aggregations over a UNION ALL of cores kept per group where possible."""
    found = list(cores)
    for union in list(residual.find_all(exp.Union)):
        if isinstance(union.parent, exp.SetOperation):
            continue
        leaves = _leaves(union)
        branches = _branches(found, places, leaves, residual, describe) if leaves else None
        if branches is None:
            continue
        try:
            lifted = _lifted(branches, union, residual, describe, by_rows, ansi)
        except NoSum as reason:
            for branch in branches:
                found[branch.number] = replace(found[branch.number], kept=reason.kept)
            continue
        if lifted is not None:
            kept, reader, rest = lifted
            for branch in kept:
                found[branch.number] = branch.core
            if reader is residual:
                residual = rest
            else:
                reader.replace(rest)
    return found, residual


def _leaves(query: exp.Expr) -> list[exp.Select] | None:
    """The SELECTs of a UNION ALL from left to right; None where another set operation stands among them."""
    if isinstance(query, exp.Subquery) and not any(v for k, v in query.args.items() if k != "this"):
        return _leaves(query.this)
    if isinstance(query, exp.Select):
        return [query]
    plain = type(query) is exp.Union and not query.args.get("distinct")
    if not plain or any(v for k, v in query.args.items() if k not in ("this", "expression", "distinct")):
        return None
    left, right = _leaves(query.this), _leaves(query.expression)
    return None if left is None or right is None else [*left, *right]


def _branches(
    cores: Sequence[Core],
    places: Sequence[exp.Select],
    leaves: Sequence[exp.Select],
    tree: exp.Expr,
    describe: Describe,
) -> list[Branch] | None:
    """The core that each leaf reads row by row; None where a leaf reads anything else."""
    found: dict[int, Branch] = {}
    for number, (core, place) in enumerate(zip(cores, places)):
        if core.groups is not None or core.kept or place.parent is None or not is_whole(core, place):
            continue
        path, leaf = _path_up(place, leaves, tree)
        if leaf is None:
            continue
        core = core if leaf == 0 else _named(core)
        branch = Branch(number, core, core.query)
        for reader, item in path:
            if _is_star(reader):
                continue
            step = climb(branch.core, branch.plain, reader, item, describe)
            if step is None:
                return None
            branch = branch.moved(*step)
        found[leaf] = branch
    return [found[i] for i in range(len(leaves))] if len(found) == len(leaves) else None


def _path_up(
    place: exp.Select, leaves: Sequence[exp.Select], tree: exp.Expr
) -> tuple[list[tuple[exp.Select, exp.Expr]], int | None]:
    """The SELECTs between a core and its leaf, each with its item of the FROM; and the number of the leaf."""
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


def _is_star(select: exp.Select) -> bool:
    """Whether a SELECT is `select *` and nothing else."""
    (item, *more) = select.expressions
    plain = isinstance(item, exp.Star) and not more and not any(item.args.values())
    return plain and not any(v for k, v in select.args.items() if k not in ("expressions", "from_", "kind"))


def _lifted(
    branches: list[Branch],
    union: exp.Expr,
    tree: exp.Expr,
    describe: Describe,
    by_rows: Mapping[int, Kept],
    ansi: bool,
) -> tuple[list[Branch], exp.Select, exp.Select] | None:
    """(branches, the aggregation, its replacement); None where not exactly one aggregation reads them."""
    at: exp.Expr = union
    aligned = False
    while True:
        found = only_reader(at, tree)
        if found is None:
            return None
        reader, item = found
        if is_aggregation(reader) or reader.args.get("distinct"):
            break
        if not aligned:
            branches, aligned = _aligned(branches, describe), True
        steps = [climb(branch.core, branch.plain, reader, item, describe) for branch in branches]
        if any(step is None for step in steps):
            return None
        branches, at = [b.moved(*step) for b, step in zip(branches, steps) if step is not None], reader
    for branch in branches:
        first = branch.core.first_call
        if first is not None and first in by_rows:
            raise NoSum(by_rows[first].rows_because, by_rows[first].by_config)
    kept, rests = [], []
    for branch in branches if aligned else _aligned(branches, describe):
        above = reader.copy()
        above.set("with_", None)
        above.set("from_", derived(branch.plain, item.alias_or_name))
        rows, rest, groups = take_groups(above, branch.core.placeholder, describe, [], ansi)
        rows.set("from_", derived(with_operands(branch.core), item.alias_or_name))
        core = replace(passed_on(branch.core, item.alias_or_name), query=rows, groups=groups, kept=Kept(groups.kept))
        kept.append(branch.moved(core, branch.plain))
        rests.append(rest)
    if len({branch.core.groups for branch in kept}) > 1:
        raise NoSum("the branches of the UNION ALL would be kept in different forms")
    every = exp.union(*(exp.select("*").from_(exp.to_table(b.core.placeholder)) for b in kept), distinct=False)
    rest = rests[0]
    rest.set("from_", derived(every, item.alias_or_name))
    if reader.args.get("distinct"):  # the groups of one core are distinct rows; several cores may have the same groups
        rest.set("distinct", exp.Distinct())
    return kept, reader, rest


def _aligned(branches: Sequence[Branch], describe: Describe) -> list[Branch]:
    """The branches with the names and types of the columns of the UNION ALL."""
    every = exp.union(*(exp.select("*").from_(exp.Subquery(this=b.plain.copy())) for b in branches), distinct=False)
    aligned = []
    try:
        wanted = describe(render(every))
        described = [describe(render(branch.plain)) for branch in branches]
    except SparkError:  # the model's own text raises its errors
        raise NoSum("Spark does not accept the branches of the UNION ALL by themselves") from None
    for branch, columns in zip(branches, described):
        if len({name.lower() for name, _ in columns}) < len(columns):
            raise NoSum("two columns have one name")
        items = [_as(name, kind, *one) for one, (name, kind) in zip(columns, wanted)]
        core = passed_on(branch.core, _ALIAS)
        lifted = exp.select(*(i.copy() for i in items)).from_(derived(with_operands(branch.core), _ALIAS).this)
        plain = exp.select(*(i.copy() for i in items)).from_(derived(branch.plain, _ALIAS).this)
        aligned.append(branch.moved(replace(core, query=lifted), plain))
    return aligned


def _as(name: str, kind: str, own: str, own_kind: str) -> exp.Expr:
    column: exp.Expr = exp.column(quote_name(own), table=quote_name(_ALIAS))
    if own_kind != kind:
        column = exp.maybe_parse(f"CAST({render(column)} AS {sql_type(kind)})", dialect=VerbatimSpark)
    return exp.alias_(column, name, quoted=True)
