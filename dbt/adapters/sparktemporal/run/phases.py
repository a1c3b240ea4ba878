"""The phases of a run, from its first statement to its last.

Nothing before the commit changes what a reader sees, and the commit is one statement.
"""

from __future__ import annotations

import time
from collections.abc import Generator

from ..temporal.decision import Statement
from ..temporal.sql.spark.errors import SparkError
from . import at_function, fence, merging, publishing, write_chains
from .progress import Progress, Written

#: the name of a phase that begins, or a statement. The caller executes a statement before asking for the next one, and
#: throws an error of the statement into the generator
PhaseOrStatement = str | Statement


def phases(run: Progress, is_preview: bool = False) -> Generator[PhaseOrStatement, None, None]:
    """The steps of a run. is_preview: no statistics are made; the caller stops before the phase `look`."""
    if not run.plan.writes_nothing:
        if run.plan.displaced and not run.tools.commit.texts.is_table:
            yield "fence"
            yield from fence.fence(run.tools.warehouse, run.plan.target, run.plan.displaced)
        run.written = yield from _read(run, is_preview)
        yield "merge"
        yield from merging.merge(run.plan, run.written)
        yield "commit"
        run.prepared, statements, sweep = publishing.prepare_commit(run.tools, run.plan, run.written)
        yield from statements
    else:
        sweep = None
    is_quiet = run.plan.decision.writes_nothing
    if not is_quiet or publishing.is_view_missing(run.tools, run.plan):
        yield "publish"
        published = publishing.publish(run.tools, run.plan, run.prepared)
        try:
            yield from published
        except SparkError as error:
            at_function.refuse_unknown(run.plan, error)
            raise
    if not is_quiet:
        yield "clean_up"
        yield from publishing.clean_up(run.tools, run.plan, sweep)


def _read(run: Progress, is_preview: bool) -> Generator[PhaseOrStatement, None, Written]:
    """Read the inputs and write chains, until no input changes meanwhile. Raises TemporalError after some attempts."""
    manifest, measured, is_listed, is_pinned = "", "", False, False
    for pause in write_chains.PAUSES:
        if not is_listed and run.plan.capture.manifest is not None:
            yield "remember"
            manifest = write_chains.manifest_of(run.plan)
            yield write_chains.remember(run.plan, manifest)
        if not is_listed and run.plan.measures and not is_preview:
            yield "measure"
            measured = run.plan.run_id
            run.sent += write_chains.measure(run.tools, run.plan, manifest)
        yield "write"
        if is_pinned:
            run.plan = write_chains.pinned(run.tools, run.plan, manifest)
        reading = write_chains.find_sources(run.tools, run.plan)
        try:
            yield from write_chains.write(run.tools, run.plan, reading)
        except SparkError as error:
            write_chains.refuse_damaged(run.tools, run.plan, error)
            raise
        yield "look"
        run.plan, busy, counts = write_chains.look(run.tools, run.plan, manifest, reading)
        if not busy:
            return merging.count_written(run.tools, run.plan, manifest, reading, counts)
        gone = write_chains.tables_of(run.plan, reading)
        # a second read, pinned to the states that were seen, is tried once
        is_listed, is_pinned = bool(busy.grew) and not busy.moved and not is_pinned, True
        if is_listed:
            yield "unwrite"
            run.plan = run.plan.renamed()
            yield from fence.drops(run.plan.target, gone, "read while an input grew")
        else:
            yield "undo"
            time.sleep(pause)
            gone += [manifest] if manifest else []
            gone += run.tools.pruning.forget(measured)
            manifest, measured = "", ""
            run.plan = write_chains.observe_again(run.tools, run.plan)
            yield from fence.drops(run.plan.target, gone, "read while an input changed")
    raise write_chains.restless(run.plan, busy)
