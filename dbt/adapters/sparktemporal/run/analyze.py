"""Split a model into its parts, with types from Spark: the cores, the residual, the kind of each mz_now()."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..engine.clock_calls import type_calls
from ..engine.described_tables import DescribedTables
from ..engine.text_timestamps import refuse_text_that_is_null
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..plurals import quantity
from ..pushdown.window_types import window_types
from ..temporal.diffs import intervals_sql
from ..temporal.diffs.groups_sql import aggregation_stats
from ..temporal.diffs.state import CoreState, State
from ..temporal.ivm.inlining import sums_groups
from ..temporal.ivm.stack import read_by
from ..temporal.ivm.stacked_rows import TIMES
from ..temporal.predicates import bounds, clock_text
from ..temporal.predicates.bounds import operand_kind
from ..temporal.predicates.monotonicity import Unlistable
from ..temporal.rewrite.apart import has_nested_items
from ..temporal.rewrite.clock_casts import resolve_clock_casts
from ..temporal.rewrite.clock_functions import put_mz_now, puts_of
from ..temporal.rewrite.column_names import Names, names_of
from ..temporal.rewrite.core import Core, TypedCore, refuse_nondeterministic
from ..temporal.rewrite.kept import Kept
from ..temporal.rewrite.model import Model
from ..temporal.rewrite.qualify import refuse_qualify
from ..temporal.rewrite.split import Split, split
from ..temporal.sql.names.bind import refuse_other_case
from ..temporal.sql.names.parsed_model import ParsedModel
from ..temporal.sql.spark import plans, timestamps
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words
from ..temporal.sql.spark.settings import CASE, ZONE, is_ansi, is_on
from ..temporal.sql.text import literals
from ..temporal.sql.text.dialect import fragment, has_clock, mz_now_spans, render, without_end
from .searches import SessionZone, typed_condition

_BY_CONFIG = Kept(rows_because="config aggregates: rows", by_config=True)
#: the part of the largest kept sum that a sum may reach at first: later runs have room for a thousand times as much
_ROOM = 0.001


def understand(
    warehouse: Warehouse,
    sql: str,
    settings: Mapping[str, str],
    version: str,
    as_of: int,
    old: State | None = None,
    aggregates: str = "auto",
    describe: DescribedTables | None = None,
) -> Model:
    """Split the compiled SQL of a model into its parts, or raise Refusal.

    as_of: the instant (ms) from which on rows are computed. describe: keeps the answers about tables for the caller.

    | aggregates | an aggregation that can be kept as groups or as rows |
    |---|---|
    | `groups`, `rows` | is kept as this says |
    | `auto`, after a run of the same text whose config did not ask for `rows` | is kept as in that run |
    | `auto`, otherwise | is kept as groups, unless groups are more than half as many as rows, or a sum may overflow |
    """
    local, describe = timestamps.are_local(settings), describe or DescribedTables(warehouse)
    sql = literals.as_read(without_end(sql), settings, version)
    sql = resolve_clock_casts(sql, describe, local)
    text, clocks = put_mz_now(sql)
    parsed = ParsedModel.of(text, puts_of(sql))
    refuse_qualify(parsed.tree)
    if is_on(settings.get(CASE, "")):
        refuse_other_case(parsed.tree, describe)
    names = names_of(parsed.tree, describe, lambda: _instants(warehouse, text, old))
    kept = partial(_understand, warehouse, describe, parsed, clocks, settings, version, as_of, old, names)
    model = kept({})
    by_rows = _by_rows(warehouse, model, as_of, old, aggregates)
    return kept(by_rows) if by_rows else model


def _by_rows(warehouse: Warehouse, model: Model, as_of: int, old: State | None, aggregates: str) -> dict[int, Kept]:
    """Offset of a core's first mz_now() -> the reason to keep the core as rows; only for cores not kept as groups."""
    found: dict[int, Kept] = {}
    before = _kept_before(model, old)
    for core in model.cores:
        at = core.core.first_call
        if core.core.groups is None or at is None or aggregates == "groups" or sums_groups(core.core.query):
            continue
        if aggregates == "rows":
            found[at] = _BY_CONFIG
        elif core.name in before:
            if before[core.name].sums is None:
                found[at] = before[core.name].kept
        elif why := _why_rows(warehouse, core, as_of):
            found[at] = Kept(rows_because=why)
    return found


def _kept_before(model: Model, old: State | None) -> dict[str, CoreState]:
    """Name -> core of the last run, without the cores that are kept as rows because a config says so.

    Empty if the text is new, or if the last run read a sample.
    """
    if old is None or old.written != model.written or old.sampled:
        return {}
    return {core.name: core for core in old.cores if not core.kept.by_config}


def _why_rows(warehouse: Warehouse, core: TypedCore, as_of: int) -> str:
    """The reason to keep a core as rows; "" to keep it as groups.

    Groups are kept too where a query of the data could tell nothing.
    """
    asked = aggregation_stats(core, as_of)
    if not asked:
        return ""
    rows, groups, room = warehouse.rows(asked)[0]
    if room is not None and float(room) >= _ROOM:
        return "a sum of so many digits may outgrow what is kept of a group"
    if rows and groups is not None and 2 * groups > rows:
        return f"an estimated {quantity(min(groups, rows), 'group')} in {quantity(rows, 'row')}"
    return ""


def _understand(
    warehouse: Warehouse,
    describe: DescribedTables,
    parsed: ParsedModel,
    clocks: tuple[str, ...],
    settings: Mapping[str, str],
    version: str,
    as_of: int,
    old: State | None,
    names: Names,
    by_rows: Mapping[int, Kept],
) -> Model:
    zone = SessionZone(warehouse, settings[ZONE], as_of)
    ansi = is_ansi(settings)
    split_by = partial(split, parsed, describe, zone.moves, by_rows, ansi, timestamps.are_local(settings), names)
    pads_texts = partial(plans.pads_texts, settings=settings)
    split_by = partial(split_by, zone.as_of >= 0)
    parts, described, typed = _listable(warehouse, split_by, parsed.text, version, zone, pads_texts, {})
    for core, (columns, _) in zip(parts.cores, described):
        _refuse_otherwise_bound(core, describe.known(core.query) or (), columns)
    cores = [
        replace(
            typed_core,
            window_types=window_types(core, columns, describe.known),
            # correlated subqueries of plain views are in the plan alone
            correlates=has_nested_items(core.query) or plans.correlates_items(plan),
        )
        for typed_core, core, (columns, plan) in zip(typed, parts.cores, described)
    ]
    by_call = _call_kinds(warehouse, parsed.text, cores, old)
    return Model(
        parsed,
        tuple(replace(core, calls=by_call) for core in cores),
        render(clock_text.with_marks(parts.residual, by_call)),
        tuple(by_call[start] for start, _ in mz_now_spans(parsed.text)),
        (*clocks, *parts.notes),
        parts.evaluated,
        {render(intervals_sql.probe(core)): plan for core, (_, plan) in zip(parts.cores, described) if plan},
    )


def _listable(
    warehouse: Warehouse,
    split_by: Callable[..., Split],
    written: str,
    version: str,
    zone: SessionZone,
    pads_texts: Callable[[str], bool],
    unlisted: Mapping[int, Unlistable],
) -> tuple[Split, list[tuple[list[tuple[str, str]], str]], list[TypedCore]]:
    """(the parts of a model, the columns and plans of each core's probe, the cores with types).

    written: the text of the model. pads_texts: see `plans.pads_texts`, of a plan. unlisted: the calls of predicates
    whose changes cannot be listed, so that a read evaluates these predicates. Types and plans are known only after a
    split, so the model may be split again:

    | a split shows | the next split |
    |---|---|
    | more such calls, by the types | has these calls in `unlisted` too. If no call is new, Unlistable is raised |
    | a plan that chooses among rows (`plans.chooses_rows`) | copies no part: each copy might choose other rows |
    """
    parts = split_by(unlisted)
    described = [_described(warehouse, core, written) for core in parts.cores]
    if any(plans.chooses_rows(plans.analyzed(plan)) for _, plan in described):
        once = partial(split_by, copies=False)
        if _shown(once(unlisted)) != _shown(parts):
            return _listable(warehouse, once, written, version, zone, pads_texts, unlisted)
    refuse_text_that_is_null(warehouse, parts.cores)
    try:
        typed = [
            _typed(core, columns, pads_texts(plan), version, zone)
            for core, (columns, plan) in zip(parts.cores, described)
        ]
        return parts, described, typed
    except Unlistable as why:
        if unlisted.keys() >= set(why.calls):
            raise
        unlisted = {**unlisted, **dict.fromkeys(why.calls, why)}
        return _listable(warehouse, split_by, written, version, zone, pads_texts, unlisted)


def _shown(parts: Split) -> list[str]:
    return [render(query) for query in (parts.residual, *(core.query for core in parts.cores))]


def _described(warehouse: Warehouse, core: Core, written: str) -> tuple[list[tuple[str, str]], str]:
    """The columns and the plans of a core's probe: its query, with the compared expressions as further columns.

    written: the text of the model. Raises Refusal where the probe reads a clock or a random value, or where Spark takes
    the model but not the probe.
    """
    probe = intervals_sql.probe(core)
    refuse_nondeterministic(probe)
    if has_clock(probe):  # a stored clock would stay the clock of the run
        raise Refusal("ST357", fragment(probe), "the clock stands in what is to be stored", "a WHERE for it alone")
    try:
        return warehouse.described(render(probe))
    except SparkError as error:
        # is the model wrong by itself? Spark's words about its own text
        kinds = type_calls(written, len(mz_now_spans(written)), warehouse.ask, warehouse.shape)
        warehouse.describe(clock_text.written_at(written, kinds, "0L"))
        if not Cause.NO_COLUMN.is_said_by(error):
            raise Refusal(
                "ST358",
                fragment(core.query),
                f"Spark does not take it by itself: {spark_words(error)}",
                "the same in plainer SQL",
            ) from None
        raise Refusal(
            "ST359",
            fragment(core.query),
            "this part names columns from outside of it, so it cannot be evaluated by itself",
            "a join instead of a correlated subquery",
        ) from None


def _refuse_otherwise_bound(core: Core, bound: Sequence[tuple[str, str]], by_spark: Sequence[tuple[str, str]]) -> None:
    """Refuse a core where a column has another type in Spark than the adapter derived: stored sums depend on it."""
    for (name, kind), (_, wanted) in zip(bound, by_spark):
        if kind and kind != wanted and "<" not in kind:  # the fields of a type may be printed otherwise
            raise Refusal(
                "ST360",
                f"{name} of {fragment(core.query)}",
                f"the adapter takes its type for {kind}, and Spark for {wanted}",
                f"CAST({name} AS {wanted}) in the model, and a report of this to the adapter's authors",
            )


def _typed(
    core: Core, described: list[tuple[str, str]], pads_texts: bool, version: str, zone: SessionZone
) -> TypedCore:
    """A core with the types that Spark gave for its probe. Raises Refusal for types that cannot be stored.

    pads_texts: see `plans.pads_texts`.
    """
    judged = core.condition
    row_expressions = len(judged.row_expressions) if judged else 0
    end = len(described) - row_expressions
    columns = described[: end - len(core.comparisons)]
    operands, types = described[len(columns) : end], [t for _, t in described[end:]]
    below = read_by(core.query)
    if below and {name.lower() for name, _ in columns} & TIMES:
        raise Refusal(
            "ST361",
            f"a subquery over the temporal_view {below[0]}, which names columns from outside of it",
            "such a subquery is evaluated when the view is read, and the rows for it would be stored with their times",
            "IN in the place of EXISTS (`id in (select id from … where mz_now() < hi)`), or a join",
        )
    intervals_sql.check_columns(columns if core.groups is None else columns[: core.groups.keys], version)
    compared = tuple(replace(c, kind=operand_kind(c, t)) for c, (_, t) in zip(core.comparisons, operands))
    condition = None if judged is None else typed_condition(judged, types, zone, pads_texts)
    return TypedCore(replace(core, comparisons=compared, condition=condition), tuple(columns))


def _instants(warehouse: Warehouse, text: str, old: State | None) -> dict[int, str]:
    """Offset of each mz_now() in the text -> SQL of an instant of the same kind, to put in its place."""
    starts = [start for start, _ in mz_now_spans(text)]
    known = _known_kinds(warehouse, text, old)
    return {start: clock_text.clock_literal(kind, "0L") for start, kind in zip(starts, known)}


def _known_kinds(warehouse: Warehouse, text: str, old: State | None) -> Sequence[str]:
    if old is not None and old.written == text:
        return old.kinds
    return type_calls(text, len(mz_now_spans(text)), warehouse.ask, warehouse.shape)


def _call_kinds(warehouse: Warehouse, text: str, cores: list[TypedCore], old: State | None) -> dict[int, str]:
    """Offset of each mz_now() in the text -> its kind, TIMESTAMP or BIGINT."""
    compared = [comparison for core in cores for comparison in core.core.comparisons]
    compared += [edge.comparison for core in cores if core.core.condition for edge in core.core.condition.edges]
    by_call = bounds.compared_kinds(compared)
    starts = [start for start, _ in mz_now_spans(text)]
    if any(start not in by_call for start in starts):
        known = _known_kinds(warehouse, text, old)
        by_call = {**dict(zip(starts, known)), **by_call}
    return by_call
