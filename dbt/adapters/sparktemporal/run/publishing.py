"""The end of a run: the commit, the relations that people read, and the tables that nobody names any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..engine import ownership
from ..engine.descriptions import ViewInfo
from ..inputs.views import upstream
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs import compaction
from ..temporal.diffs.chains import Sweep
from ..temporal.diffs.state import Chain, CoreState, State
from ..temporal.diffs.view_sql import thin_view
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.text.identifiers import Identifiers
from . import at_function, late_rows, outside_views, past, published_view
from .counting import count
from .fence import drops
from .merging import is_large
from .plan import RunPlan
from .progress import Tools, Written
from .published_view import Docs
from .standing_views import StandingViews

#: the purpose of the statement that drops a table of the model's name
GIVES_WAY = "the table of that name gives way"

# -- the commit --


def prepare_commit(tools: Tools, plan: RunPlan, written: Written) -> tuple[State, list[Statement], Sweep]:
    """(the state that the run leaves, the statements that commit the state, the tables to drop after the commit)."""
    cores = [_core_state(tools, plan, written, core) for core in plan.model.cores]
    manifest, files = written.manifest, dict(plan.capture.files)
    if plan.capture.keeps and plan.old is not None:
        manifest, files = plan.old.manifest, plan.old.files
    statistics, measured, measuring = tools.pruning.kept()
    late = late_rows.committed(plan, written.missed)
    kept_late = [name for name, _ in late.tables] if late else []
    epochs = past.kept(plan)
    named = [*(c.table for core in cores for c in core.chains), manifest, statistics, *kept_late]
    clock = tools.warehouse.clock()  # readers see what is retired until the commit, however long the run took
    sweep = _sweep(tools, plan, [*named, *(table for epoch in epochs for table in epoch.tables)], clock)
    state = State(
        model=plan.target.model,
        schema=plan.target.schema,
        run=plan.run_id,
        since=plan.since(written.merged),
        frontier=plan.decision.as_of,
        started_at=plan.started_at,
        offset=plan.expiry.offset,
        expiration=plan.decision.expiration,
        core_hash=plan.core_hash,
        residual=plan.model.residual,
        columns=plan.columns,
        cores=tuple(cores),
        written=plan.model.written,
        kinds=plan.model.calls,
        inputs=plan.inputs,
        settings=dict(plan.invocation.settings),
        retired=(*sweep.retired, *((t, clock) for t in _merged_away(plan, written, named))),
        sampled=plan.invocation.sampled,
        project=plan.invocation.project,
        read_by=plan.capture.read_by,
        manifest=manifest,
        files=files,
        statistics=statistics,
        measured=measured,
        measuring=measuring,
        refreshes=plan.refreshes,
        revised=plan.revised(),
        late=late,
        at_function=plan.config.at_function,
        dropped=plan.dropped(written.beyond_expiration),
        max_restart_delay=plan.max_restart_delay,
        past=epochs,
    )
    return *tools.commit.prepare(state), sweep


def _merged_away(plan: RunPlan, written: Written, named: Sequence[str]) -> list[str]:
    """The tables that this run has written, and has replaced by a merge."""
    tables = [*(chain.table for chain in written.chains.values()), *([plan.late()] if written.missed else [])]
    return [table for table in tables if table not in named]


def _core_state(tools: Tools, plan: RunPlan, written: Written, core: TypedCore) -> CoreState:
    since, split = plan.since(written.merged), plan.to_split(written.merged).get(core.name)
    live, gone = plan.old_chains(core.name), list(written.merged.get(core.name, ()))
    live = [c for c in live if c not in written.joined.get(core.name, ())]
    new = written.chains.get(core.name)
    merged = plan.chain(core.name, merged=True)
    if gone:
        one = count(tools, plan, core, merged, since if is_large(gone) else None).chain
        new = one if one.rows else None
    elif split:
        one = count(tools, plan, core, merged, None).chain
        live = _without_due(tools, plan, live, split, since) + ([one] if one.rows else [])
    gone += [c for c in live if chain_rules.is_over(c, since)]
    live = [c for c in [*live, *([new] if new else [])] if c not in gone]
    return CoreState(core.name, core.stored, tuple(chain_rules.largest_first(live)), core.sums, core.core.kept)


def _without_due(tools: Tools, plan: RunPlan, live: Sequence[Chain], split: Sequence[Chain], since: int) -> list[Chain]:
    """The chains that still have rows, after those in `split` have lost their due updates (`compaction`)."""
    kept = []
    for chain in live:
        if chain in split:
            if compaction.is_due(chain, since):
                continue
            rows = tools.warehouse.rows(compaction.left(chain.source(plan.target.schema), since))
            chain = compaction.without_due(chain, since, [(int(begins), int(number)) for begins, number in rows])
        kept += [chain] if chain.rows else []
    return kept


# -- what people read --


def is_view_missing(tools: Tools, plan: RunPlan) -> bool:
    """Whether the view may be missing, for instance because a run was killed between its commit and the view."""
    if tools.commit.texts.is_table:
        return plan.host_facts.in_the_way or bool(plan.target.views_in)
    return plan.host_facts.in_the_way or plan.target.model not in Identifiers(plan.existing)


def publish(tools: Tools, plan: RunPlan, committed: State | None) -> Iterator[Statement]:
    """The statements that bring up to date the relations that people read.

    Where all are up to date, a run that commits nothing sends no statement, and does not read the live commit.
    committed: the state that this run committed, None for no commit.
    """
    own = committed or plan.old
    assert own is not None
    shown = plan.old

    def statements(state: State, live: ViewInfo | None) -> list[Statement]:
        nonlocal shown
        is_own, now = state is own, plan
        if not is_own:  # another run committed the state, and changed the relations too
            there = tuple(tools.warehouse.tables(plan.target.schema, plan.target.model))
            now = replace(plan, old=shown, existing=there, host_facts=replace(plan.host_facts, known=None))
        shown = state
        if tools.commit.texts.is_table:
            return _beside_a_table(tools, now, state, live)
        is_new = committed is not None or not is_own
        return _beside_a_view(tools, now, state, live if is_new else None, is_new)

    if committed is not None or statements(own, None):
        yield from tools.commit.followed(own, statements, plan.run_id if committed else None)


def _beside_a_view(tools: Tools, plan: RunPlan, state: State, live: ViewInfo | None, is_new: bool) -> list[Statement]:
    """The statements for the views in the catalog of the chains.

    live: `<model>__live`, for its verb; None where not known. is_new: see `at_function.publish`.
    """
    views = StandingViews(tools.warehouse, plan.target, Identifiers(plan.existing), plan.host_facts.known)
    view, gives_way = _view(plan, state, views)
    text = tools.commit.texts.updates(state.cores, state.schema)
    updates = views.changed("the updates, readable", "__diffs", text, like=live)
    late = views.late(late_rows.view(plan, state.late))
    had = plan.old is not None and plan.old.at_function
    # the function is last: Spark may refuse the function alone
    function = at_function.publish(tools.warehouse, plan.target, state, had, is_new)
    if gives_way:  # a view cannot take a table's place in one statement: all else stands before
        return [*updates, _table_gives_way(plan), *view, *late, *function]
    return [*view, *late, *updates, *function]


def _table_gives_way(plan: RunPlan) -> Statement:
    return Statement(GIVES_WAY, f"DROP TABLE IF EXISTS {plan.target.name()}")


def _view(plan: RunPlan, state: State, views: StandingViews) -> tuple[list[Statement], bool]:
    """(the statements for the view, whether a table has the view's name)."""
    target, docs = plan.target, plan.definition.docs
    if docs == Docs() and views.is_known("", thin_view(state.columns, target.name("__live"))):
        return [], False
    view = views.find()
    steps = published_view.publish(target, state.columns, docs, view)
    return steps, view is None and views.has("")


def _beside_a_table(tools: Tools, plan: RunPlan, state: State, live: ViewInfo | None) -> list[Statement]:
    """The statements for views in another catalog. live: the live commit; None for the one that the run observed."""
    committed, updates = live or tools.commit.texts.live, tools.commit.texts.updates(state.cores, state.schema)
    assert committed is not None
    texts, docs = (committed.text, updates, late_rows.view(plan, state.late)), plan.definition.docs
    steps = outside_views.publish(tools.warehouse, plan.target, state, *texts, docs)
    return [*steps, *([_table_gives_way(plan)] if plan.host_facts.in_the_way else [])]


# -- what nobody names --


def clean_up(tools: Tools, plan: RunPlan, found: Sweep | None) -> list[Statement]:
    """Statements that drop tables that no state has named for `diffs_retention`, and tables that dead runs left.

    found: the tables, as found with the commit of the run; None where the run makes no commit.
    """
    if found is None:
        found = _sweep(tools, plan, plan.old.tables if plan.old else (), tools.warehouse.clock())
        if found.drop and not tools.commit.is_due():
            return []  # another run has committed meanwhile, and sweeps itself
    return drops(plan.target, found.drop, "no longer read")


def _sweep(tools: Tools, plan: RunPlan, named: Sequence[str], clock: int) -> Sweep:
    return chain_rules.sweep(
        plan.target.model,
        plan.existing,
        plan.old,
        named,
        clock,
        plan.config.diffs_retention,
        lambda: upstream.held(tools.warehouse, plan.target, plan.host_facts.readers),
        lambda table: ownership.is_marked(tools.warehouse, plan.target, table),
    )
