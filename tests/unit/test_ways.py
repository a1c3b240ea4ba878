"""The way of a run by its sizes: which costs less, who needs the past, and the sentence that tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.sparktemporal.config import TemporalConfig
from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.inputs.changing.capture import Capture
from dbt.adapters.sparktemporal.inputs.changing.changes import InputChange
from dbt.adapters.sparktemporal.inputs.changing.core_delta import CoreDelta, DeltaKind
from dbt.adapters.sparktemporal.inputs.changing.query_fingerprint import QueryFingerprint
from dbt.adapters.sparktemporal.inputs.observing.observe import Input
from dbt.adapters.sparktemporal.run import ways
from dbt.adapters.sparktemporal.run.plan import Definition, HostFacts, RunPlan
from dbt.adapters.sparktemporal.run.progress import Written
from dbt.adapters.sparktemporal.run.ways import Sizes
from dbt.adapters.sparktemporal.temporal.clock.expiration import NEVER
from dbt.adapters.sparktemporal.temporal.decision import ADVANCED, Decision, Invocation
from dbt.adapters.sparktemporal.temporal.diffs.input_state import FilesFingerprint, FileSummary, RowsFingerprint
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState
from dbt.adapters.sparktemporal.temporal.ivm.delta_query import Added
from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from dbt.adapters.sparktemporal.temporal.sql.names.parsed_model import ParsedModel
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse
from support.instants import T0
from support.states import COLUMNS, SQL, a_state

#: bytes of a row in the files of these tests
WIDE = 20
MILLION = 1_000_000


def compares(rows: int, grouped: bool = False) -> Sizes:
    return Sizes(read=rows, every=rows, stored=rows, compares=True, grouped=grouped)


def appends(rows: int, new: int, merged: int = 0, history: int = 1) -> Sizes:
    return Sizes(read=new, every=history * rows + new, stored=rows, merged=merged)


@pytest.mark.parametrize(
    ("sizes", "rebuilds"),
    [
        (compares(10_000), False),  # a run of so few rows costs its statements, whatever the way
        (compares(10_000, grouped=True), False),
        (compares(99_999), False),  # such small chains keep their past, as merges do
        (compares(100_000), True),
        (compares(100_000, grouped=True), True),
        (compares(MILLION), True),
        (compares(30 * MILLION), True),
        # a long history of which little is stored is read by both ways
        (Sizes(read=100 * MILLION, every=100 * MILLION, stored=MILLION, compares=True), False),
        (appends(MILLION, 1_000), False),
        (appends(MILLION, 100_000), False),
        (appends(30 * MILLION, 3 * MILLION), False),
        (appends(MILLION, 500_000, merged=MILLION), True),
        (appends(100_000, 50_000, merged=100_000), False),
        (appends(MILLION, 500_000, merged=MILLION, history=10), False),  # a rebuild reads the history too
        (replace(appends(MILLION, 500_000, merged=MILLION), every=None), False),  # nothing tells what it would read
    ],
)
def test_what_costs_less(sizes: Sizes, rebuilds: bool) -> None:
    assert sizes.is_rebuilt is rebuilds


def test_a_rebuild_is_clearly_less() -> None:
    """Not by a little: what was stored is worth something."""
    for rows in (10_000, 100_000, MILLION, 30 * MILLION):
        for sizes in (compares(rows), appends(rows, rows // 2, merged=rows)):
            assert sizes.rebuilding is not None
            assert sizes.is_rebuilt == (rows >= 100_000 and sizes.going_on > 1.1 * sizes.rebuilding)


def a_plan(stored: int, new: int, full: bool = False, config: Mapping[str, Any] | None = None) -> RunPlan:
    """A run over a table of files: so many rows are stored in one chain, so many rows are new, or all is read."""
    every = stored + new
    core = TypedCore(Core("c0", parse("SELECT id FROM s.t")), COLUMNS)
    files = FilesFingerprint(FileSummary(5, every * WIDE, "0123456789abcdef"), "89abcdef")
    part = None if full else Added("_metadata.file_path", ("f",))
    kind = DeltaKind.FULL if full else DeltaKind.INCREMENTAL
    change = InputChange("changed", added=part, files=(("f", new * WIDE, T0, ""),))
    capture = Capture(
        {"s.t": Input("s.t", files)}, {"s.t": change}, {"c0": CoreDelta(kind, "why", read={"s.t": part})},
        QueryFingerprint(()), counts={"s.t": every if full else new},
    )  # fmt: skip
    chain = Chain("m__diffs_1", stored, 0, T0, T0, T0)
    return RunPlan(
        target=ModelRelations("`s`", "m"),
        config=TemporalConfig.parse("m", config or {}),
        definition=Definition(SQL, config or {}),
        invocation=Invocation(T0 + 1000, T0 + 1000, {}, "4.1.4", project="p"),
        host_facts=HostFacts(),
        run_id="018dfa3cc80deadbeef00",
        old=replace(a_state(), cores=(CoreState("c0", COLUMNS, (chain,)),)),
        existing=("m", "m__live", "m__diffs"),
        decision=Decision(ADVANCED, "", T0 + 1000, T0, None),
        model=Model(ParsedModel.of(SQL), (core,), "SELECT * FROM mz_core_c0", ("timestamp",), ()),
        columns=COLUMNS,
        capture=capture,
        expiry=NEVER,
    )


def test_sizes_of_a_run() -> None:
    """The rows of all files follow from the bytes of a new row. Chains of one statement and of a later one differ."""
    assert ways.sizes(a_plan(MILLION, 200_000)) == Sizes(200_000, 1_200_000, MILLION)
    assert ways.sizes(a_plan(MILLION, 500_000)) == Sizes(500_000, 1_500_000, MILLION, merged=MILLION)
    assert ways.sizes(a_plan(10_000, 5_000)) == Sizes(5_000, 15_000, 10_000, joined=10_000)
    assert ways.sizes(a_plan(MILLION, 500_000, full=True)) == Sizes(1_500_000, 1_500_000, MILLION, compares=True)
    plan = a_plan(MILLION, 500_000)
    untold = replace(plan.capture, inputs={"s.t": Input("s.t", RowsFingerprint(5, "1"))})
    assert ways.sizes(replace(plan, capture=untold)).every is None


def test_the_choice_and_its_reason() -> None:
    full, much = a_plan(MILLION, 0, full=True), a_plan(MILLION, 500_000)
    assert ways.why_rebuild(full) == (
        "all rows of its inputs are read anyway, and cost less to write than to compare with 1,000,000 stored rows"
    )
    assert ways.why_rebuild(much) == (
        "about 500,000 new rows would be merged with 1,000,000 rows, and a rebuild reads and writes less"
    )
    for plan in (a_plan(1_000, 0, full=True), a_plan(MILLION, 1_000), a_plan(1_000, 1)):
        assert ways.why_rebuild(plan) == ""
    rebuilt = replace(full, decision=replace(full.decision, action="restarted", reason="because", by_cost=True))
    assert ways.choice(rebuilt) == ("rebuild", "because") and ways.why_rebuild(rebuilt) == ""
    assert ways.choice(a_plan(MILLION, 1_000)) == (
        "append",
        "about 1,000 new rows are few beside 1,000,000 stored rows",
    )
    assert ways.choice(a_plan(1_000, 1)) == ("merge", "about 1 new row and the last chains are of like size, or few")
    assert ways.choice(a_plan(1_000, 1), Written()) == ("append", "about 1 new row are few beside 1,000 stored rows")
    history = replace(full, capture=replace(full.capture, counts={"s.t": 100 * MILLION}))
    told = ways.choice(history)
    assert told is not None and told[1].endswith(", because a rebuild would not clearly cost less")
    assert ways.choice(a_plan(1_000, 0, full=True)) == (
        "compare",
        "all rows of its inputs are compared with 1,000 stored rows, because so few rows keep their past",
    )


@pytest.mark.parametrize(
    ("config", "facts", "keeps"),
    [
        ({"full_read": "error"}, {}, "full_read: error"),
        ({"full_read": "warn"}, {}, "full_read: warn"),
        ({"retain_history": "1 day"}, {}, "retain_history"),
        ({"store_late": True}, {}, "store_late"),
        ({"at_function": True}, {}, "at_function"),
        ({"change_capture": "append", "append_column": "id"}, {}, "change_capture: append"),
        ({"full_refresh": False}, {}, "full_refresh: false"),
        ({}, {"readers": [ModelRelations("`s`", "above")]}, "a temporal view over it"),
        ({}, {"macros": frozenset(["temporal_feed"])}, "a feed of it"),
        ({}, {"macros": frozenset(["temporal_as_of"])}, "a query of its past"),
    ],
)
def test_the_past_is_kept_for_whom_it_needs(config: dict[str, Any], facts: dict[str, Any], keeps: str) -> None:
    plan = replace(a_plan(MILLION, 0, full=True, config=config), host_facts=HostFacts(**facts))
    assert ways.why_rebuild(plan) == ""
    told = ways.choice(plan)
    assert told is not None and told[0] == "compare" and told[1].endswith(f", because {keeps} needs their past")


def test_runs_without_a_choice() -> None:
    plan = a_plan(MILLION, 0, full=True)
    first = replace(plan, old=None, decision=replace(plan.decision, action="hydrated"))
    due = replace(plan, decision=replace(plan.decision, action="restarted", reason="--full-refresh"))
    sample = replace(plan, invocation=replace(plan.invocation, sampled=True))
    waiting = replace(plan, decision=replace(plan.decision, action="waiting"))
    same = replace(plan, capture=replace(plan.capture, cores={"c0": CoreDelta(DeltaKind.SAME)}))
    for one in (first, due, sample, waiting, same):
        assert ways.why_rebuild(one) == "" and ways.choice(one) is None
