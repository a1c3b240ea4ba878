"""The rules over the whole model, in their order; each is `before -> after`, as the docstring of its module shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ..predicates.comparisons import Moves
from ..sql.names.ctes import eliminate_ctes
from ..sql.names.scope import Describe
from .above_groups import clock_above_groups
from .added_months import with_added_months
from .array_bounds import write_out_array_bounds
from .conditional_aggregates import write_out_conditional_aggregates
from .distinct_unions import write_out_unions
from .merge_subqueries import merge_nested
from .outer_joins import write_out_outer_joins
from .replaced_columns import write_out_sets
from .time_macros import write_out_time_macros


@dataclass(frozen=True)
class Given:
    """What a rule may know beside the tree, see `split.split`."""

    #: the columns of tables
    describe: Describe
    moves: Moves
    after_1970: bool
    ansi: bool
    #: offsets of calls of mz_now() around which nothing is kept per group
    not_kept: frozenset[int]


#: -> the changed tree; None where the tree was changed in place
Rule = Callable[[exp.Query, Given], "exp.Query | None"]


def _alone(rule: Callable[[exp.Query], exp.Query | None]) -> Rule:
    return lambda tree, _: rule(tree)


def _by_columns(rule: Callable[[exp.Query, Describe], exp.Query | None]) -> Rule:
    return lambda tree, given: rule(tree, given.describe)


def _by_session(rule: Callable[[exp.Query, Moves, bool], exp.Query | None]) -> Rule:
    return lambda tree, given: rule(tree, given.moves, given.after_1970)


def _by_groups(tree: exp.Query, given: Given) -> exp.Query:
    return write_out_conditional_aggregates(tree, given.describe, given.moves, given.not_kept, given.ansi)


def _by_partners(rule: Callable[[exp.Query, Describe, Moves], exp.Query | None]) -> Rule:
    return lambda tree, given: rule(tree, given.describe, given.moves)


RULES: tuple[Rule, ...] = (
    _by_columns(write_out_sets),
    _by_session(write_out_time_macros),
    _alone(with_added_months),
    _by_columns(write_out_array_bounds),
    _alone(eliminate_ctes),
    _by_groups,
    _alone(write_out_unions),
    _by_columns(clock_above_groups),
    _by_partners(write_out_outer_joins),
    _by_columns(merge_nested),
)
