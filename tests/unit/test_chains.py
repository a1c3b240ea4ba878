"""The sizes of chains over many runs: the ratio, their number, and how often a row is written again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.sparktemporal.engine.chain_files import refuse_incomplete
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.temporal.diffs import chains
from dbt.adapters.sparktemporal.temporal.diffs.chains import CHAIN_CAP, MOST_CHAINS, RATIO, chains_to_merge
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain

RUNS = st.lists(st.one_of(st.integers(1, 30), st.integers(1, 10**6)), min_size=1, max_size=120)


def drive(runs: list[int]) -> tuple[list[int], int]:
    """Rows written by each run -> the chains in the end, largest first, and how many rows merges wrote."""
    sizes: list[int] = []
    rewritten = 0
    for new in runs:
        taken = chains_to_merge(sizes, new)
        if taken:
            new += sum(sizes[len(sizes) - taken :])
            rewritten += new
        sizes = sorted([*sizes[: len(sizes) - taken], new], reverse=True)
        assert len(sizes) <= CHAIN_CAP
        assert all(a >= RATIO * b for a, b in zip(sizes, sizes[1:])), sizes
    return sizes, rewritten


@given(RUNS)
@settings(max_examples=300, deadline=None)
def test_the_ratio_holds_and_no_row_is_lost(runs: list[int]) -> None:
    sizes, _ = drive(runs)
    assert sum(sizes) == sum(runs)


@pytest.mark.parametrize("pattern", [[1], [1, 1, 50], [100, 1, 1, 1], [7, 1, 30, 2]])
def test_rows_are_rewritten_seldom(pattern: list[int]) -> None:
    """At most c N log2 N rows of N; c came to 0.77."""
    runs = pattern * 2000
    total = sum(runs)
    _, rewritten = drive(runs)
    assert rewritten <= 1.0 * total * math.log2(total)


def test_a_large_chain_is_left_alone() -> None:
    assert chains_to_merge([1000], 1) == 0
    assert chains_to_merge([1000], 333) == 0
    assert chains_to_merge([1000], 334) == 1
    assert chains_to_merge([10**9, 1000, 10, 2], 1) == 1
    assert chains_to_merge([10**9, 1000, 10, 2], 2) == 2
    assert chains_to_merge([4**k for k in range(12, 6, -1)], 1) == 1  # one more than there may be


@given(st.lists(st.integers(1, 10**6), max_size=MOST_CHAINS), st.integers(1, 10**6))
@settings(max_examples=300, deadline=None)
def test_the_most_chains_a_run_leaves(rows: list[int], new: int) -> None:
    """A run merges, or it may split off what is due, which is then a chain beside that of its new rows."""
    old = sorted(rows, reverse=True)
    taken = chains_to_merge(old, new)
    assert len(old) - taken + 1 + (not taken) <= MOST_CHAINS


def test_tables_of_a_model() -> None:
    run = chains.new_run_id(1_709_294_400_000)
    chain_names = (chains.chain_name("m", run), chains.chain_name("M", run, "c1"))
    for name in (*chain_names, chains.manifest_name("m", run), chains.statistics_name("m", run)):
        assert chains.born_of("m", name) == 1_709_294_400_000
    for name in ("m__diffs", f"m__diffs_{run[1:]}x", f"mm__diffs_{run}", "m__live", f"m__inputs_{run}_1 2"):
        assert chains.born_of("m", name) is None


def test_a_chain_that_is_gone_is_told_in_words() -> None:
    def rows(sql: str) -> list[tuple[int]]:
        raise RuntimeError("[TABLE_OR_VIEW_NOT_FOUND] The table or view `s`.`c` cannot be found. SQLSTATE: 42P01")

    gone = "ST505 found: chains that are gone: .* `s`.`c` cannot be found"
    with pytest.raises(TemporalError, match=gone):
        refuse_incomplete(Warehouse(rows), "m", [("`s`", Chain("c", 1, 0, None, None, None))])
