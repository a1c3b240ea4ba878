"""`temporal_explain`: what the next run of a model would do and why. Nothing of the model is written.

The inputs are observed as at a run. Before a first run or a rebuild, a view may be made and dropped (`view_probe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import TemporalError
from ..inputs.changing.input_reads import input_reads
from ..plurals import quantity
from ..run import full_reads, full_stores, ways
from ..run.writer import Writer
from ..temporal.clock.instants import format_duration
from ..temporal.predicates import clock_text
from ..temporal.sql.text.dialect import expression, parse, render
from . import explain_pushdown, tables
from .explain_pushdown import Row

#: the columns of each row, in words
_WORDS = ("about", "of", "what")
#: columns of some rows, for machines: an instant (ms); rows of chains; files and bytes of an input, in all and to read
_NUMBERS = ("instant", "rows", "files", "files_read", "bytes", "bytes_read")


def explain(run: Writer) -> tables.Table:
    """A table about a run that was begun: what it observed and decided, keeps, reads, skips by pushdown, and sends."""
    return as_table([*run.plan.rows(), *_kept(run), *_read(run), *_pushdown(run), *_sent(run)], _numbers(run))


def as_table(rows: Sequence[Row], numbers: dict[tuple[str, str], dict[str, Any]] | None = None) -> tables.Table:
    """Rows of an explanation as a table.

    numbers: (about, of) of a row -> the row's values of the columns `_NUMBERS`; None for a table without these columns.
    """
    kinds: dict[str, type] = dict.fromkeys(_WORDS, str)
    if numbers is not None:
        kinds |= dict.fromkeys(_NUMBERS, int)
    return tables.table(kinds, [dict(zip(_WORDS, row)) | (numbers or {}).get(row[:2], {}) for row in rows])


def is_explanation(shown: tables.Table) -> bool:
    return tuple(shown.column_names[: len(_WORDS)]) == _WORDS


def for_people(shown: tables.Table) -> tables.Table:
    """An explanation without its columns of numbers. Its words tell these numbers too, except the bytes of inputs."""
    return shown.select(_WORDS)


def _numbers(run: Writer) -> dict[tuple[str, str], dict[str, Any]]:
    plan, decision = run.plan, run.plan.decision
    instants = {
        "as of": decision.as_of,
        "started": plan.started_at,
        "since": plan.since(),
        "expiration": decision.expiration,
    }
    found: dict[tuple[str, str], dict[str, Any]] = {("clock", of): {"instant": t} for of, t in instants.items()}
    for kept in full_stores.planned(plan):
        found["full store", kept.core.name] = {"rows": kept.rows, "bytes": kept.bytes}
    for core in plan.model.cores:
        found["core", core.name] = {"rows": sum(chain.rows for chain in plan.old_chains(core.name))}
    for one in input_reads(plan.capture):
        found["read", one.relation] = {name: getattr(one, name) for name in _NUMBERS[2:]}
    return found


def _kept(run: Writer) -> Iterator[Row]:
    """Rows about what is kept: the form of each core, the residual, notes, full stores, the expiration."""
    for core in run.plan.model.cores:
        why = f"; {core.core.kept}" if core.core.kept else ""
        yield "kept", core.name, f"{core.form}{why}"
    residual = clock_text.with_clock(parse(run.plan.model.residual), lambda kind: expression("mz_now()"))
    yield "kept", "residual", render(residual)
    for note in run.plan.model.notes:
        yield "note", run.plan.target.model, note
    if run.plan.idle:
        yield "note", run.plan.target.model, run.plan.idle
    for whole in full_stores.planned(run.plan):
        words = full_stores.what_is_kept(run.plan.model, [whole])
        yield "full store", whole.core.name, f"{words} (full_store: {run.plan.config.full_store})"
    offset, config = run.plan.expiry.offset, run.plan.config
    if offset is not None:
        yield "kept", "expiration", f"updates up to {format_duration(offset)} after the start"
    elif config.expiration is not None:
        yield "kept", "expiration", f"all updates: {run.plan.expiry.why}"


def _read(run: Writer) -> Iterator[Row]:
    """Rows about the way of the run, and about how and why each input is read."""
    if chosen := ways.choice(run.plan):
        yield "way", *chosen
    for one in input_reads(run.plan.capture):
        files = ""
        if one.files is not None and one.files_read is not None:
            files = f"; {one.files_read:,} of {quantity(one.files, 'file')}"
        yield "read", one.relation, f"{one.read} ({one.reason}){files}"
    for name, why in full_reads.of(run.plan).items():
        yield "full read", name, f"{why} (full_read: {run.plan.config.full_read})"


def _pushdown(run: Writer) -> Iterator[Row]:
    """Rows about the comparisons that follow from windows, and about what the comparisons leave to read of the inputs.

    Only cores that are read in full or stay as they are have rows. A last row may tell that statistics are collected.
    """
    whole = [core for core in run.plan.model.cores if not run.plan.capture.cores[core.name].is_incremental]
    if run.plan.writes_nothing or not whole:
        return
    plan = run.plan
    yield from explain_pushdown.windows(
        run.tools.warehouse, whole, plan.config, plan.invocation.settings, plan.clock_range
    )
    if plan.measures:
        yield "statistics", "files", "statistics of the files that have none are collected before they are read"


def _sent(run: Writer) -> Iterator[Row]:
    """The statements that are known before a run sends any, and the phases after these statements."""
    if run.plan.writes_nothing:
        yield "statement", "none", "nothing is to be written"
        return
    yield "statement", "lock", f"CREATE TABLE {run.plan.target.name('__lock')}"
    try:
        for step in run.preview():
            yield "statement", step.phase, step.statement.purpose
    except TemporalError:
        if not run.plan.measures:
            raise
        yield "statement", "write", "what is read depends on statistics of files, which an explanation does not collect"
    yield "then", "look", "whether the inputs changed meanwhile, and how many rows were written"
    yield "then", "merge", "small chains become one"
    yield "then", "commit", f"the one statement that readers see: {run.plan.target.name('__live')}"
    yield "then", "publish", f"the view {run.plan.target.name()}, where it is not right already"
    yield "then", "clean_up", "tables that no commit names any more"
