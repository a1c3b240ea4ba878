"""The queries and statements by which a run reads its inputs and writes chains; `phases` has their order."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from ..engine.chain_files import refuse_incomplete
from ..errors import Explained, TemporalError
from ..inputs.changing import conflicts
from ..inputs.changing.capture import capture_inputs
from ..inputs.changing.conflicts import Busy
from ..inputs.changing.query_fingerprint import Routines
from ..inputs.observing.manifest import Manifest
from ..plurals import quantity
from ..pruning import filters
from ..temporal.decision import Statement
from ..temporal.diffs import chains as chain_rules
from ..temporal.diffs.state import Chain
from ..temporal.diffs.stores import store_of
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark.errors import Cause, SparkError
from . import chain_rows, counting, full_reads, late_rows
from .plan import RunPlan
from .progress import Counts, Reading, Source, Tools

#: the pause (s) after each attempt to read inputs that change meanwhile
PAUSES = (0.2, 0.5, 1.0, 2.0, 0.0)


def restless(plan: RunPlan, busy: Busy) -> TemporalError:
    """The error of a run whose inputs changed during each attempt."""
    model, moving = plan.target.model, ", ".join([*busy.moved, *busy.grew])
    return Explained(
        "ST417",
        f"inputs of {model} that changed during each of {len(PAUSES)} attempts to read them",
        "what is stored must be of one state of each input",
        f"dbt run -s {model} when nothing writes to {moving}",
    )


# -- what is known of the inputs before they are read --


def manifest_of(plan: RunPlan) -> str:
    """The name of the table of the inputs' files."""
    return chain_rules.manifest_name(plan.target.model, plan.run_id)


def remember(plan: RunPlan, manifest: str) -> Statement:
    """The statement that keeps the list of the inputs' files. By the list a later run knows which files are new."""
    head = f"CREATE TABLE {plan.target.table(manifest)}{plan.using} AS"
    return Statement("the files of the inputs", f"{head}\n{plan.capture.manifest}")


def measure(tools: Tools, plan: RunPlan, manifest: str) -> list[Statement]:
    """Collect missing statistics of the inputs' files -> the statements that were executed.

    Where this fails, the run goes on without statistics.
    """
    collected = tools.pruning.measure(plan.listed(_listed(plan, manifest)), plan.run_id)
    return [Statement("what is known of the inputs' files", collected)] if collected else []


# -- the chains of the run --


def pinned(tools: Tools, plan: RunPlan, manifest: str) -> RunPlan:
    """The plan with its reads pinned to the states of the inputs that the run has seen."""
    capture = conflicts.pin(tools.warehouse, plan.capture, plan.changed, _listed(plan, manifest))
    return replace(plan, capture=capture)


def find_sources(tools: Tools, plan: RunPlan) -> Reading:
    """The source of each chain, without the files that cannot matter, and the queries of the late rows."""
    filters.refuse_unknown(plan.capture.inputs, plan.config.pushdown_required)
    sources = {core.name: _source(tools, plan, core) for core in plan.changed}
    return Reading(sources, late_rows.find(tools, plan))


def _source(tools: Tools, plan: RunPlan, core: TypedCore) -> Source:
    delta, counts = plan.capture.cores[core.name], plan.capture.counts
    if delta.is_incremental:
        is_large = plan.capture.rows_about_for(core.name) >= chain_rules.LARGE_CHAIN
        return Source(core, None, is_large, () if is_large else _joined(plan, core))
    narrowed, projection = tools.pruning.of(core, plan.run_id)
    narrowed = delta.pin(narrowed) if delta.pin else narrowed
    left = tools.pruning.rows(core)
    most = sum(left.get(name, counts.get(name, 0)) for name in delta.read)
    known = sum(c.rows for c in plan.old_chains(core.name))
    return Source(narrowed, projection, most - known >= chain_rules.LARGE_CHAIN)


def _joined(plan: RunPlan, core: TypedCore) -> tuple[Chain, ...]:
    """The smallest chains of a core, to write again with the new rows. A later merge would cost one more table."""
    old = plan.old_chains(core.name)
    if core.name in plan.to_split({}):
        return ()
    taken = chain_rules.chains_to_rewrite([c.rows for c in old], plan.capture.rows_about_for(core.name))
    return tuple(c for c in old[len(old) - taken :] if not c.bucketed)


def write(tools: Tools, plan: RunPlan, reading: Reading) -> list[Statement]:
    """One CREATE TABLE AS for each changed core (all rows, new rows or corrections), and the writes of late rows."""
    steps = []
    for core in plan.changed:
        source = reading.sources[core.name]
        what = "intervals" if core.sums is None else "updates of groups"
        if plan.capture.cores[core.name].is_incremental:
            purpose = f"{what} of new rows"
            purpose += f" and {quantity(len(source.joined), 'chain')}" if source.joined else ""
            rows = chain_rows.added_to(plan, core, source.joined)
        else:
            purpose = f"wanted {what} minus stored ones" if plan.old_chains(core.name) else f"all {what}"
            rows = chain_rows.desired(plan, core, source)
        table, since = plan.target.table(plan.chain(core.name)), plan.decision.as_of if source.is_large else None
        create = store_of(core).create(table, rows, plan.using, since)
        steps.append(Statement(f"{core.name}: {purpose} -> a new chain", create))
    steps += late_rows.write(plan, reading.missed)
    return [Statement(step.purpose, tools.warehouse.data(step.sql)) for step in steps]


def refuse_damaged(tools: Tools, plan: RunPlan, error: Exception) -> None:
    """Raise TemporalError where the error comes from a chain that has lost a file."""
    if Cause.UNREADABLE.is_said_by(error):
        _refuse_incomplete(tools, plan)


def _refuse_incomplete(tools: Tools, plan: RunPlan) -> None:
    refuse_incomplete(tools.warehouse, plan.target.model, counting.standing(tools, plan))


# -- what the inputs did meanwhile --


def look(tools: Tools, plan: RunPlan, manifest: str, reading: Reading) -> tuple[RunPlan, Busy, Counts]:
    """Look at the inputs again and count what was written, before the commit -> (plan, changed inputs, counts).

    One statement asks for all of it, except whether the query was redefined, and the changes of Delta tables.
    """
    if not plan.capture.is_same:
        conflicts.refuse_redefined(tools.warehouse, plan, plan.capture)
    asked, listed = counting.asked(tools, plan, reading), _listed(plan, manifest)
    try:
        capture, busy, answers = conflicts.look(tools.warehouse, plan.capture, listed, [*chain.from_iterable(asked)])
    except SparkError:  # perhaps of a chain that lost a file
        _refuse_incomplete(tools, plan)
        raise
    plan, counts = counting.answered(tools, replace(plan, capture=capture), reading, asked, answers)
    if not counting.adds_up(plan, reading, counts):
        _refuse_incomplete(tools, plan)
    return plan, busy, counts


def tables_of(plan: RunPlan, reading: Reading) -> list[str]:
    """The tables that one attempt has written: a chain for each changed core, and the late rows."""
    return [*(plan.chain(core.name) for core in plan.changed), *([plan.late()] if reading.missed else [])]


def observe_again(tools: Tools, plan: RunPlan) -> RunPlan:
    """The plan after the inputs are observed again, with new names for its tables."""
    warehouse, counted_later = tools.warehouse, counting.standing(tools, plan)
    warehouse.shared().forget()
    plan = replace(plan, capture=capture_inputs(warehouse, plan, Routines(warehouse), lists=True))
    if counted_later and not (plan.adds or plan.capture.is_counted):
        refuse_incomplete(warehouse, plan.target.model, counted_later)
    full_reads.refuse(plan)
    return plan.renamed()


def _listed(plan: RunPlan, manifest: str) -> Manifest | None:
    """The files of the inputs that this run has seen."""
    return Manifest.of(plan.target, manifest, plan.capture.files)
