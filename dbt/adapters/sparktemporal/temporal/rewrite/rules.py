"""The rules over the whole model, in their order; each is `before -> after`, as the docstring of its module shows."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ..sql.names.ctes import eliminate_ctes
from .above_groups import clock_above_groups
from .added_months import with_added_months
from .argument_stars import write_out_argument_stars
from .array_bounds import write_out_array_bounds
from .conditional_aggregates import write_out_conditional_aggregates
from .distinct_unions import write_out_unions
from .given import Given
from .merge_subqueries import merge_nested
from .outer_joins import write_out_outer_joins
from .replaced_columns import write_out_sets
from .time_macros import write_out_time_macros

#: -> the changed tree; None where the tree was changed in place
Rule = Callable[[exp.Query, Given], "exp.Query | None"]

RULES: tuple[Rule, ...] = (
    lambda tree, given: write_out_sets(tree, given.describe),
    lambda tree, given: write_out_argument_stars(tree, given.describe),
    lambda tree, given: write_out_time_macros(tree, given.moves, given.after_1970),
    lambda tree, _: with_added_months(tree),
    lambda tree, given: write_out_array_bounds(tree, given.describe),
    lambda tree, _: eliminate_ctes(tree),
    lambda tree, given: write_out_conditional_aggregates(
        tree, given.describe, given.moves, given.not_kept, given.ansi, given.copies
    ),
    lambda tree, _: write_out_unions(tree),
    lambda tree, given: clock_above_groups(tree, given.describe),
    lambda tree, given: write_out_outer_joins(tree, given.describe, given.moves, given.copies),
    lambda tree, given: merge_nested(tree, given.describe),
)
