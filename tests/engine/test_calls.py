"""Macros and operations that are called without what they need: each says what to type."""

from __future__ import annotations

import re

import pytest

from support.instants import T0
from support.project import Project


def test_operations_without_arguments(project: Project) -> None:
    project.model("late", "select 1 as id where mz_now() < timestamp '2100-01-01'")
    for operation in ("temporal_consolidate", "temporal_restart", "temporal_explain_pushdown"):
        told = project.dbt("run-operation", operation, check=False)
        assert not told.success
        assert f"found: {operation} without the argument model" in told.text
        assert f"instead: dbt run-operation {operation} --args '{{model: late}}'" in told.text
    for operation in ("temporal_status", "temporal_drop"):
        told = project.dbt("run-operation", operation, "--args", "{modle: late}", check=False)
        assert not told.success and f"found: argument 'modle' of {operation}" in told.text
    assert re.search(r"\| state +\| has not run", project.dbt("run-operation", "temporal_status").text)
    assert "nothing is left behind" in project.dbt("run-operation", "temporal_drop").text
    told = project.dbt("run-operation", "temporal_restart", "--args", "{model: lat}", check=False).text
    assert "found: model 'lat', no enabled model of this project" in told and "instead: proj.late" in told


CALLS = {
    "temporal_as_of()": ("temporal_as_of without a model", "temporal_as_of(ref('recent_events'), '2024-"),
    "temporal_as_of('late', 0)": ("temporal_as_of of the text 'late'", "temporal_as_of(ref('late'), '2024-"),
    "temporal_read('late')": ("temporal_read of the text 'late'", "temporal_read(ref('late'))"),
    "temporal_diffs('late')": ("temporal_diffs of the text 'late'", "temporal_diffs(ref('late'))"),
    "temporal_as_of(ref('late'))": ("temporal_as_of of late without an instant", "temporal_as_of(ref('late'), '"),
}


@pytest.mark.more
def test_reads_of_what_is_no_model(project: Project) -> None:
    project.model("late", "select * from values (timestamp '2100-01-01') as t(ts) where mz_now() < ts")
    project.run(now=T0)
    for call, (found, instead) in CALLS.items():
        told = project.dbt("compile", "--inline", f"select * from {{{{ {call} }}}}", check=False).text
        assert f"found: {found}" in told and f"instead: {instead}" in told, call


@pytest.mark.more
def test_the_size_of_rows_with_a_column_named_metadata(project: Project) -> None:
    """Spark tells files by a hidden column, which has another name then."""
    project.sql(
        f"CREATE TABLE {{s}}.events USING parquet AS SELECT id, 'x' AS _metadata, {T0}L + id AS t FROM range(9)"
    )
    project.model("m", f"select id, _metadata from {project.schema}.events where mz_now() < timestamp_millis(t)")
    project.run(now=T0 - 1)
    told = project.dbt("run-operation", "temporal_status").text
    for fact in (r"updates +\| 18 ", r"rows +\| 9 ", r"chains +\| 1 ", r"bytes +\| [1-9][\d,]* "):
        assert re.search(rf"\| {fact}", told), told
