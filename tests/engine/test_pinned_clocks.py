"""Ways by which a text reaches Spark, by spellings of the clock: with var temporal_now each reads that instant."""

from __future__ import annotations

from typing import Any

import pytest

from support.instants import T0
from support.project import Project, Result

#: an instant that is no whole second, so that each unit shows
NOW = T0 + 1_234
SECOND, DAY = NOW // 1_000 * 1_000, NOW // 86_400_000 * 86_400_000
#: a clock in a temporal_view -> (milliseconds of it, what they are at NOW)
CALLS = {
    "mz_now()": ("unix_millis({})", NOW),
    "current_timestamp()": ("unix_millis({})", NOW),
    "Now ( )": ("unix_millis({})", NOW),
    "`now`()": ("unix_millis({})", NOW),
    "{{{{ dbt.current_timestamp() }}}}": ("unix_millis({})", NOW),
    "{{{{ dbt.snapshot_get_time() }}}}": ("unix_millis({})", NOW),
    "localtimestamp()": ("unix_millis(cast({} as timestamp))", NOW),
    "unix_timestamp()": ("{} * 1000", SECOND),
    "current_date()": ("unix_millis(cast({} as timestamp))", DAY),
    "curdate()": ("unix_millis(cast({} as timestamp))", DAY),
}
#: in other statements, which may leave the parentheses out
SPELLINGS = {
    **CALLS,
    "current_timestamp": ("unix_millis({})", NOW),
    "{{{{ dbt.current_timestamp_backcompat() }}}}": ("unix_millis({})", NOW),
    "localtimestamp": ("unix_millis(cast({} as timestamp))", NOW),
    "current_date": ("unix_millis(cast({} as timestamp))", DAY),
}


def values(spellings: dict[str, tuple[str, int]]) -> list[str]:
    return [ms.format(clock.format()) for clock, (ms, _) in spellings.items()]


def columns(spellings: dict[str, tuple[str, int]]) -> str:
    return ", ".join(f"{value} as c{n}" for n, value in enumerate(values(spellings)))


def differs(spellings: dict[str, tuple[str, int]]) -> str:
    return " or ".join(f"c{n} <> {at}L" for n, (_, at) in enumerate(spellings.values()))


OF_MODEL, SEEN = columns(CALLS), columns(SPELLINGS)
IN_MODEL, EXPECTED = ([at for _, at in spellings.values()] for spellings in (CALLS, SPELLINGS))
NOT_THEN = f"select * from (select {SEEN}) where {differs(SPELLINGS)}"

RECENT = """
{% test recent(model, column_name) %}
select max({{ column_name }}) as last from {{ model }}
having max({{ column_name }}) < {{ dbt.dateadd('hour', -1, dbt.current_timestamp()) }} or max({{ column_name }}) is null
{% endtest %}
"""
def shown(result: Result) -> list[list[Any]]:
    return [[int(value) for value in row] for row in result.results[0].agate_table.rows]


@pytest.fixture
def events(project: Project) -> Project:
    """m is a temporal_view that never names mz_now() in its WHERE: its row is there at NOW, and not at the wall clock."""
    project.sql(
        f"CREATE TABLE {{s}}.events USING parquet AS SELECT 1 AS id, timestamp_millis({T0}L) AS ts, "
        f"timestamp_millis({NOW + 1}L) AS hi; CREATE TABLE {{s}}.log (said STRING, "
        + ", ".join(f"c{n} BIGINT" for n in range(len(SPELLINGS)))
        + ") USING parquet"
    )
    project.model("src", f"select * from {project.schema}.events", materialized="view")
    project.model(
        "m",
        f"select {OF_MODEL} from {{{{ ref('src') }}}} where current_timestamp() >= ts and now() < hi "
        "and {{ dbt.current_timestamp() }} < hi and current_date() <= hi",
        post_hook=f"create table {project.schema}.of_code as {{{{ model.compiled_code }}}}",
    )
    return project


def in_replay(events: Project) -> None:
    """Each way of a replay, in one project."""
    name = events.schema
    events.model("t", f"select {SEEN}", materialized="table", pre_hook=f"insert into {name}.log select 'before', {SEEN}")
    events.model("contracted", f"select {SEEN}", materialized="table", contract={"enforced": True})
    events.model("appended", f"select {SEEN}", materialized="incremental", incremental_strategy="append")
    events.model("v", f"select {SEEN}; -- the clock", materialized="view")
    events.model("of_v", "select * from {{ ref('v') }}", materialized="table")
    events.model("eph", f"select {SEEN}", materialized="ephemeral")
    events.model("of_eph", "select * from {{ ref('eph') }}", materialized="table")
    events.write("tests/singular.sql", NOT_THEN)
    events.write("tests/stored.sql", "{{ config(store_failures=true) }} " + NOT_THEN)
    events.write("tests/generic/recent.sql", RECENT)
    into = f"insert into {name}.log"
    asked = [f"{into} select 'asked', {SEEN}", f"{into} values ('values', {', '.join(values(SPELLINGS))})"]
    note = "".join(f"{{% set sql %}}{sql}{{% endset %}}{{% do run_query(sql) %}}" for sql in asked)
    events.write("macros/note.sql", f"{{% macro note() %}}{note}{{% endmacro %}}")
    column = {"name": "ts", "data_tests": ["recent", {"not_null": {"config": {"where": "hi > now()"}}}]}
    bigints = [{"name": f"c{n}", "data_type": "bigint"} for n in range(len(SPELLINGS))]
    fresh = {"error_after": {"count": 1, "period": "hour"}}
    source = {"name": "events", "loaded_at_field": "ts", "config": {"freshness": fresh}}
    events.properties(
        {
            "models": [{"name": "src", "columns": [column]}, {"name": "contracted", "columns": bigints}],
            "sources": [{"name": "raw", "schema": name, "tables": [source]}],
        }
    )


def test_every_way_of_a_replay(events: Project) -> None:
    in_replay(events)
    text = events.dbt("build", now=NOW).text
    events.run("-s", "appended", now=NOW)
    events.dbt("run-operation", "note", now=NOW)
    assert [list(row) for row in events.rows("SELECT * FROM {s}.of_code")] == [IN_MODEL]
    for relation in ("t", "contracted", "appended", "v", "of_v", "of_eph"):
        assert {tuple(row) for row in events.rows(f"SELECT * FROM {{s}}.{relation}")} == {tuple(EXPECTED)}, relation
    for said in ("before", "asked", "values"):
        assert [list(r[1:]) for r in events.rows(f"SELECT * FROM {{s}}.log WHERE said = '{said}'")] == [EXPECTED], said
    assert shown(events.dbt("show", "-s", "m", "--exclude", "resource_type:test", now=NOW)) == [IN_MODEL]
    assert shown(events.dbt("show", "--inline", f"select {SEEN}", now=NOW)) == [EXPECTED]
    events.dbt("source", "freshness", now=NOW)
    assert not events.dbt("source", "freshness", now=NOW + 3_600_000, check=False).success
    assert text.count("shows its temporal views and its clock as at var temporal_now") == 1
    events.drop_schema(events.schema + "_dbt_test__audit")


def test_unit_tests(events: Project) -> None:
    """A model of each kind, by its own instant, which is not that of the command."""
    events.model("t", f"select {SEEN} from {{{{ ref('src') }}}}", materialized="table")
    events.run("-s", "src")
    row = {"id": 1, "ts": "2024-03-01 12:00:00", "hi": "2024-03-01 12:00:01.235"}

    def unit(model: str, expect: dict[str, Any], own: Any = NOW) -> dict[str, Any]:
        overrides = {"overrides": {"vars": {"temporal_now": own}}} if own is not None else {}
        given = [{"input": "ref('src')", "rows": [row]}]
        return {"name": f"{model}_{len(units)}", "model": model, "given": given, "expect": expect, **overrides}

    units: list[dict[str, Any]] = []
    for model, at, spellings in (("m", IN_MODEL, CALLS), ("t", EXPECTED, SPELLINGS)):
        rows = [{f"c{n}": ms for n, ms in enumerate(at)}]
        own = f"select {columns(spellings)}".replace("{{ ", "").replace(" }}", "")
        own = own.replace("dbt.snapshot_get_time()", "now()").replace("dbt.current_timestamp_backcompat()", "now()")
        for expect in ({"rows": rows}, {"format": "sql", "rows": own.replace("dbt.", "")}):
            units.append(unit(model, expect))
            units.append(unit(model, expect, None))
    units.append(unit("m", {"rows": []}, NOW + 1))
    events.properties({"unit_tests": units})
    result = events.dbt("test", "-s", "test_type:unit", now=NOW)
    assert [str(r.status) for r in result.results] == ["pass"] * 9, result.text
