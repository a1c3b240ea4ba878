"""Split a model into cores, whose rows are stored, and a residual that reads the cores.

    with recent as (select carrier, delay from flights where mz_now() <= dep_at + interval 1 day)
    select carrier, percentile(delay, 0.5) from recent group by carrier
      ->  core c0    select carrier, delay from flights           mz_now() <= dep_at + interval 1 day
          residual   with recent as (select * from mz_core_c0)
                     select carrier, percentile(delay, 0.5) from recent group by carrier

A core with a predicate over the clock is temporal. Any other core is a static part that the residual needs. Static
parts are stored too, so that a read at any instant sees every input as the last run read it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ...errors import Refusal
from ..predicates.comparisons import Comparison, Moves, anywhere, comparisons, conjuncts
from ..predicates.conditions import condition
from ..predicates.monotonicity import UNLISTED, Unlistable
from ..sql.functions.calls import makes_several_rows
from ..sql.names.ctes import eliminate_ctes, inside, is_recursive, named_ctes, names_itself, visible_ctes, with_ctes
from ..sql.names.linear import is_inner, is_inside_a_value, is_linear, makes_groups, names_columns
from ..sql.names.outer_columns import reads_outside
from ..sql.names.parsed_model import ParsedModel
from ..sql.names.projection import pushdown_projections
from ..sql.names.scope import Describe
from ..sql.spark import timestamps
from ..sql.text.dialect import conjunction, fragment, has_clock, mz_now_calls, put_in, set_where, suggested
from ..sql.text.grammar import MZ_NOW_NAMES
from .apart import keep_apart
from .column_names import Names, with_names
from .core import PLACEHOLDER, Core, is_placeholder, refuse_nondeterministic
from .evaluated import AtRead, Evaluated, evaluated
from .given import Given
from .group_maintenance import take_groups
from .kept import Kept
from .lift_aggregate import lift, refuse_groups
from .linear_aggregates import NoSum
from .read_filters import KEPT, predicates, take_apart, weakened, without_clock_in_joins
from .rules import RULES
from .static_inputs import StaticParts
from .union_groups import lift_unions


@dataclass(frozen=True)
class Split:
    """A model in its parts."""

    cores: tuple[Core, ...]
    #: reads each core as the table `mz_core_<name>`; a mz_now() in the residual is the instant of the read
    residual: exp.Query
    #: the parts that each read evaluates
    evaluated: tuple[Evaluated, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about the evaluation of the model."""
        return tuple(one.note for one in self.evaluated if one.is_condition)


def split(
    model: ParsedModel | str,
    describe: Describe,
    moves: Moves = anywhere,
    by_rows: Mapping[int, Kept] | None = None,
    ansi: bool = False,
    local_timestamps: bool = False,
    names: Names | None = None,
    after_1970: bool = True,
    unlisted: Mapping[int, Unlistable] | None = None,
    copies: bool = True,
) -> Split:
    """The text of a model -> its cores and residual. Raises Refusal for a query that is not covered.

    | | |
    |---|---|
    | moves | length (ms) -> whether the session's zone moves the clock and a row's instant by the same length |
    | by_rows | offset of the first mz_now() of a SELECT that is not kept per group -> the reason |
    | ansi | whether an overflowing sum of BIGINT is an error |
    | local_timestamps | whether TIMESTAMP is TIMESTAMP_NTZ in the session |
    | names | the names of columns without an alias |
    | after_1970 | whether the clock is after 1970, so that its whole seconds are rounded down |
    | unlisted | offset of a mz_now() in a predicate that a read has to evaluate -> the reason |
    | copies | False where a view below may choose other rows at each evaluation, so that no rule may copy a part |
    """
    tree = (ParsedModel.of(model) if isinstance(model, str) else model).copied()
    tree = timestamps.as_written(tree) if local_timestamps else tree
    for table in filter(is_placeholder, tree.find_all(exp.Table)):
        raise Refusal(
            "ST382",
            f"FROM {table.name}",
            f"names that begin with {PLACEHOLDER} stand for what a run stores",
            "another name for the CTE, or the schema before the name of the table",
        )
    with_names(tree, names or {})  # by the order of the tree
    given = Given(describe, moves, by_rows or {}, ansi, after_1970, unlisted or {}, copies)
    for rule in RULES:
        changed = rule(tree, given)
        tree = tree if changed is None else changed
    calls = list(mz_now_calls(tree))
    for call in calls:
        why = given.unlisted.get(call.meta["start"])
        if why is not None:
            call.meta[UNLISTED] = (why.code, why.found, why.why, why.instead)  # nodes are copied with their meta
    _refuse_calls(tree, calls)
    selects, at_a_read = _scopes(tree, calls, given)
    tree, selects, filters = take_apart(tree, selects, describe, moves)
    cores = []
    places: list[exp.Select] = []
    residual = tree
    for number, select in enumerate(selects):
        core, rest = _take_core(select, f"c{number}", given)
        cores.append(core)
        places.append(rest)
        residual = put_in(residual, select, rest)
    for number, (core, place) in enumerate(zip(cores, places)):
        if core.groups is None and not core.kept and place.parent is not None:
            cores[number], residual = _lifted(core, place, residual, given)
    cores, residual = lift_unions(cores, places, residual, given)
    if local_timestamps:
        cores = [replace(c, comparisons=tuple(map(_of_instants, c.comparisons))) for c in cores]
    eliminate_ctes(residual)
    static = StaticParts(residual, len(cores))
    static.capture()
    keep_apart(residual)
    if not cores and not static.cores:
        raise Refusal("ST337", fragment(tree), "the temporal SELECT reads nothing", "a FROM with the rows to window")
    return Split((*cores, *static.cores), residual, (*at_a_read, *filters))


def _of_instants(comparison: Comparison) -> Comparison:
    return replace(comparison, operand=timestamps.as_instants(comparison.operand))


def _refuse_calls(tree: exp.Expr, calls: list[exp.Expr]) -> None:
    for call in calls:
        if call.expressions:
            raise Refusal("ST338", fragment(call), "the clock takes no arguments", "mz_now()")
    if not calls:
        bare = next((column for column in tree.find_all(exp.Column) if column.name.lower() in MZ_NOW_NAMES), None)
        if bare is not None:
            raise Refusal(
                "ST339",
                fragment(bare),
                "a name without parentheses is a column, and the model has no mz_now()",
                f"{fragment(bare)}(), with parentheses",
            )
        _refuse_misspelt(tree)
        raise Refusal(
            "ST340",
            fragment(tree),
            "the model has no mz_now(), so nothing in it depends on the clock",
            "a predicate such as `where mz_now() <= event_ts + interval 30 days`, or materialized='view' or 'table'",
        )
    for call in calls:
        _refuse_unnamed(call)
    for cte in tree.find_all(exp.CTE):
        if is_recursive(cte) and names_itself(cte) and has_clock(cte):
            raise Refusal("ST341", fragment(cte), "a recursive query over the clock is not linear", "an upstream table")


def _refuse_misspelt(tree: exp.Expr) -> None:
    for call in tree.find_all(exp.Anonymous):
        if difflib.get_close_matches(call.name.lower(), MZ_NOW_NAMES, n=1, cutoff=0.8):
            raise Refusal(
                "ST342", fragment(call), "there is no such function, and the model has no mz_now()", "mz_now()"
            )


def _refuse_unnamed(call: exp.Expr) -> None:
    """Refuse a call in an item of a SELECT list, where the item has no alias and an outer query can name it."""
    item = call
    while item.parent is not None and not isinstance(item.parent, exp.Select):
        item = item.parent
    if item.arg_key == "expressions" and not isinstance(item, exp.Alias) and names_columns(item.parent):
        raise Refusal(
            "ST343",
            fragment(item),
            "without an alias its name would hold the instant of the run, which differs each time",
            f"{suggested(item)} AS a_name",
        )


def _scopes(tree: exp.Expr, calls: list[exp.Expr], given: Given) -> tuple[list[exp.Select], list[Evaluated]]:
    """The SELECTs that become cores, and the parts that a read evaluates."""
    owned = [(call, *_owner(call)) for call in calls]
    owners = {id(select): select for _, select, place in owned if select is not None and place == _ROWS}
    for select in list(owners.values()):
        # a predicate that cannot be solved is left to take_apart, which tells the reason
        reads_none = not select.args.get("from_")
        if reads_none or reads_outside(select, given.describe) and not weakened(select, given.moves).read:
            del owners[id(select)]
    beside = {key: _beside_the_clock(select, owned) for key, select in owners.items()}
    cores = [select for key, select in owners.items() if not beside[key]]
    at_a_read = []
    for call, owner, place in owned:
        if place == _ABOVE or not any(owner is core for core in cores):
            why = beside.get(id(owner)) or _CORRELATED if place == _ROWS else f"the clock is {place}"
            at_a_read.append(AtRead(call, owner, why, place == _ABOVE))
    return cores, evaluated(at_a_read, cores, given.moves)


def _beside_the_clock(select: exp.Select, owned: Sequence[tuple[exp.Expr, exp.Select | None, str]]) -> str:
    """The reason why a SELECT that filters rows by the clock is no core: the clock is also elsewhere. "" for a core."""
    if any(owner is select and place == _OUTER for _, owner, place in owned):
        return f"the clock is {_OUTER} beside it"
    others = any(owner is not select and inside(call, select) for call, owner, _ in owned)
    return "a query inside of its SELECT has the clock too" if others or any(map(has_clock, named_ctes(select))) else ""


_ROWS, _OUTER, _ABOVE = "filters the rows", "in the ON of an outer join or a LATERAL", "above the rows"
_CORRELATED = "its SELECT names columns from outside, or reads nothing"


def _owner(call: exp.Expr) -> tuple[exp.Select | None, str]:
    """The SELECT that a call of mz_now() belongs to (None outside of all SELECTs), and the clause of the call."""
    child, node = call, call.parent
    join: exp.Join | None = None
    lateral = False
    while node is not None and not isinstance(node, exp.Select):
        lateral = lateral or isinstance(node, exp.Lateral)
        if isinstance(node, exp.Join):
            join = node
        child, node = node, node.parent
    if node is None:
        return None, _ABOVE
    if lateral or node.find_ancestor(exp.Lateral) is not None:
        return node, _OUTER
    if child.arg_key == "where":
        return node, _ROWS
    if child.arg_key == "joins" and join is not None:
        return node, _ROWS if _filters_rows(join, node.args["joins"]) else _OUTER
    return node, _ABOVE


def _filters_rows(join: exp.Join, joins: Sequence[exp.Join]) -> bool:
    """Whether the ON of one of the joins filters rows as a WHERE does."""
    position = next(i for i, j in enumerate(joins) if j is join)
    # before a RIGHT or FULL join the rows without a partner do not pass through the predicate
    return is_inner(join) and not any(j.side in ("RIGHT", "FULL") for j in joins[position:])


def _take_core(select: exp.Select, name: str, given: Given) -> tuple[Core, exp.Select]:
    """A temporal SELECT -> its core and the SELECT that takes its place in the residual."""
    visible = visible_ctes(select)
    core, rest = _rows_of(_solved(select, name, given), visible, given)
    with_ctes(core.query, visible)
    own = select.args.get("with_")
    with_ctes(rest, list(own.expressions) if own is not None else [])  # the clauses above the rows may name these CTEs
    refuse_nondeterministic(core.query)
    return replace(core, inner=is_inside_a_value(select), kept=core.kept or select.meta.get(KEPT, Kept())), rest


def _solved(select: exp.Select, name: str, given: Given) -> Core:
    """A temporal SELECT as a core, without the clock in its query."""
    found: list[Comparison] = []
    static: list[exp.Expr] = []
    general: list[exp.Expr] = []
    for conjunct in [part for predicate in predicates(select.copy()) for part in conjuncts(predicate)]:
        if not has_clock(conjunct):
            static.append(conjunct)
            continue
        _refuse_sliding(conjunct)
        plain = comparisons(conjunct, given.moves)
        if plain is None:
            general.append(conjunct)
        else:
            found += plain[0]
            static += plain[1]
    query = without_clock_in_joins(select)
    set_where(query, static)
    query.set("with_", None)
    return Core(name, query, tuple(found), condition(conjunction(general)) if general else None)


def _refuse_sliding(conjunct: exp.Expr) -> None:
    sliding = makes_several_rows(conjunct)
    if sliding is not None:
        raise Refusal(
            "ST344",
            fragment(sliding),
            "it makes several rows of one row beside the clock, and other rows in the SELECT list",
            "the window as a column of a derived table, and mz_now() compared with that column",
        )


def _rows_of(core: Core, visible: list[exp.CTE], given: Given) -> tuple[Core, exp.Select]:
    """(the core of the rows or groups that a SELECT reads, the SELECT over this core)."""
    query = core.query
    assert isinstance(query, exp.Select)
    if is_linear(query):
        return core, core.read
    if makes_groups(query):
        try:
            refuse_groups(core, given.by_rows)
            rows, rest, groups = take_groups(query, core.placeholder, given.describe, visible, given.ansi)
            return replace(core, query=rows, groups=groups, kept=Kept(groups.kept)), rest
        except NoSum as reason:
            core = replace(core, kept=reason.kept)
    rows, rest = pushdown_projections(query, core.placeholder, given.describe, visible)
    return replace(core, query=rows), rest


def _lifted(core: Core, place: exp.Select, residual: exp.Query, given: Given) -> tuple[Core, exp.Query]:
    """Lift a core to the one aggregation that reads it, where possible -> (core, residual over the core)."""
    try:
        found = lift(core, place, residual, given)
        if found is None:
            return core, residual
        lifted, reader, rest = found
        refuse_groups(core, given.by_rows)
    except NoSum as reason:
        return replace(core, kept=reason.kept), residual
    return lifted, put_in(residual, reader, rest)
