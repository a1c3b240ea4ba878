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


@pytest.mark.landing
def test_reads_of_what_is_no_model(project: Project) -> None:
    project.model("late", "select * from values (timestamp '2100-01-01') as t(ts) where mz_now() < ts")
    project.run(now=T0)
    for call, (found, instead) in CALLS.items():
        told = project.dbt("compile", "--inline", f"select * from {{{{ {call} }}}}", check=False).text
        assert f"found: {found}" in told and f"instead: {instead}" in told, call


@pytest.mark.landing
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


#: a WHERE -> the warning at the first run; "" for none
UNLIKELY = {
    "mz_now() <= s + 86400": "by `mz_now() <= s + 86400` a window ends at 1970-01-20 18:49:40.801 UTC, because "
    "mz_now() counts milliseconds. Are these seconds? Then write timestamp_seconds(…)",
    "mz_now() >= us": "by `mz_now() >= us` a window begins at 1709294400000000 ms since the epoch, because mz_now() "
    "counts milliseconds. Are these microseconds? Then write timestamp_micros(…)",
    "mz_now() < ts": "no row is stored of 10 rows that were read. By `mz_now() < ts` their windows are over, for "
    "instance at 2024-03-01 12:00:00.000 UTC",
    "mz_now() >= 1000 * s and mz_now() < date '9999-12-31'": "",
}


def test_what_a_first_run_warns_of(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """Windows that nobody means, configs that do nothing, an expiration before the end of the run; each once."""
    project.sql(
        f"CREATE TABLE {{s}}.e USING parquet AS SELECT id, {T0 // 1000}L AS s, {T0 * 1000}L AS us, "
        f"timestamp_millis({T0}L) AS ts FROM range(10)"
    )
    for at, where in enumerate(UNLIKELY):
        project.model(f"m{at}", f"select id from {project.schema}.e where {where}", partition_by="id", tags=["m"])
    # the clock of the session goes on while a run works
    project.model("short", f"select id from {project.schema}.e where mz_now() >= ts", expiration="1 millisecond")
    told = [line.removeprefix("[WARNING]: ") for line in project.run("-s", "tag:m", now=T0).log]  # of dbt 1.12
    for at, warning in enumerate(UNLIKELY.values()):
        of_model = [line for line in told if line.startswith(f"temporal_view m{at}: ") and ", 10 rows in, " not in line]
        idle, *others = of_model
        assert idle.startswith(f"temporal_view m{at}: configs that do nothing here: partition_by (chains have ")
        assert others == ([f"temporal_view m{at}: {warning}"] if warning else [])
    again = project.run("-s", "tag:m", now=T0 + 1).text
    assert "do nothing" not in again and "Are these" not in again and "no row is stored" not in again
    said = project.run("-s", "short").text
    assert re.search(
        r"short expired at [^,]+, while its run took .*: reads of it raise now\. A longer expiration", said
    )
    # what Spark says, once and without its plan
    project.model("short", f"select id from {project.schema}.e where mz_now() >= tss")
    capfd.readouterr()
    wrong = project.run("-s", "short", now=T0, check=False).text
    assert "`tss` cannot be resolved. Did you mean" in wrong and "Project [" not in wrong
    assert "UNRESOLVED" not in capfd.readouterr().err
