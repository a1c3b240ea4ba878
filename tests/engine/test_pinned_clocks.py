"""Ways by which a text reaches Spark, by spellings of the clock: with var temporal_now each reads that instant."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest

from support.instants import T0
from support.project import Project, Result

#: an instant that is no whole second, so that each unit shows
NOW = T0 + 1_234
DAY_MS = 86_400_000
SECOND, DAY = NOW // 1_000 * 1_000, NOW // DAY_MS * DAY_MS
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
    "current_date": ("unix_millis(cast({} as timestamp))", DAY),
}


def values(spellings: dict[str, tuple[str, int]]) -> list[str]:
    return [ms.format(clock.format()) for clock, (ms, _) in spellings.items()]


def columns(spellings: dict[str, tuple[str, int]]) -> str:
    return ", ".join(f"{value} as c{n}" for n, value in enumerate(values(spellings)))


def differs(spellings: dict[str, tuple[str, int]]) -> str:
    return " or ".join(f"c{n} <> {at}L" for n, (_, at) in enumerate(spellings.values()))


OF_MODEL, SEEN = columns(CALLS), columns(SPELLINGS)
IN_MODEL, EXPECTED = (tuple(at for _, at in spellings.values()) for spellings in (CALLS, SPELLINGS))
NOT_THEN = f"select * from (select {SEEN}) where {differs(SPELLINGS)}"

RECENT = """
{% test recent(model, column_name) %}
select max({{ column_name }}) as last from {{ model }}
having max({{ column_name }}) < {{ dbt.dateadd('hour', -1, dbt.current_timestamp()) }} or max({{ column_name }}) is null
{% endtest %}
"""


def shown(result: Result) -> list[tuple[int, ...]]:
    return [tuple(int(value) for value in row) for row in result.results[0].agate_table.rows]


@pytest.fixture
def events(project: Project) -> Project:
    """m is a temporal_view without mz_now() in its WHERE: its row is there at NOW, and not at the wall clock."""
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


RELATIONS, SAID = ("t", "contracted", "appended", "v", "of_v", "of_eph"), ("before", "asked", "values")


def in_replay(events: Project) -> None:
    """Each way of a replay, in one project."""
    name = events.schema
    before = f"insert into {name}.log select 'before', {SEEN}"
    events.model("t", f"select {SEEN}", materialized="table", pre_hook=before)
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
    over = {"name": "none_is_over", "arguments": {"values": ["1970-01-01"]}, "config": {"where": "hi <= now()"}}
    column = {"name": "ts", "data_tests": ["recent", {"accepted_values": over}]}
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
    events.run(now=NOW)
    events.run("-s", "appended", now=NOW)
    events.dbt("run-operation", "note", now=NOW)
    ways = {name: events.rows(f"SELECT DISTINCT * FROM {{s}}.{name}") for name in (*RELATIONS, "of_code")}
    ways |= {said: events.rows(f"SELECT * EXCEPT (said) FROM {{s}}.log WHERE said = '{said}'") for said in SAID}
    ways["show -s"] = shown(events.dbt("show", "-s", "m", "--exclude", "resource_type:test", now=NOW))
    ways["show --inline"] = shown(events.dbt("show", "--inline", f"select {SEEN}", now=NOW))
    expected: dict[str, Any] = {way: [IN_MODEL if way in ("of_code", "show -s") else EXPECTED] for way in ways}
    tests: dict[str, Any] = {r.node.name: str(r.status) for r in events.dbt("test", now=NOW, check=False).results}
    aged = {hours: NOW + hours * 3_600_000 for hours in (0, 1)}
    tests |= {f"{h} h old": events.dbt("source", "freshness", now=t, check=False).success for h, t in aged.items()}
    passed = dict.fromkeys(("singular", "stored", "recent_src_ts", "none_is_over"), "pass")
    assert ways | tests == expected | passed | {"0 h old": True, "1 h old": False}
    events.drop_schema(events.schema + "_dbt_test__audit")


def test_unit_tests(events: Project) -> None:
    """A model of each kind, by its own instant, which is not that of the command."""
    events.model("t", f"select {SEEN} from {{{{ ref('src') }}}}", materialized="table")
    events.run("-s", "src")
    row = {"id": 1, "ts": "2024-03-01 12:00:00", "hi": "2024-03-01 12:00:01.235"}

    def unit(model: str, expect: dict[str, Any], own: Any = NOW) -> dict[str, Any]:
        overrides = {"overrides": {"vars": {"temporal_now": own}}} if own is not None else {}
        given = [{"input": "ref('src')", "rows": [row]}]
        return {"name": f"{model}_{next(number)}", "model": model, "given": given, "expect": expect, **overrides}

    units: list[dict[str, Any]] = []
    number = count()
    fixture = "select " + re.sub(r"{{.*?}}", "now()", OF_MODEL)  # dbt renders no templates in it
    for model, at in (("m", IN_MODEL), ("t", EXPECTED)):
        rows = [{f"c{n}": ms for n, ms in enumerate(at)}]
        units += [unit(model, {"rows": rows}), unit(model, {"rows": rows}, None)]
    units += [unit("m", {"format": "sql", "rows": fixture}), unit("m", {"format": "sql", "rows": fixture}, None)]
    units.append(unit("m", {"rows": []}, NOW + 1))
    events.properties({"unit_tests": units})
    result = events.dbt("test", "-s", "test_type:unit", now=NOW)
    assert [str(r.status) for r in result.results] == ["pass"] * 7, result.text


def test_outside_of_a_replay_a_clock_is_as_written(events: Project) -> None:
    """In a temporal_view it is that of the invocation, as mz_now(); elsewhere it is the wall clock."""
    same = "select mz_now() = {{ dbt.current_timestamp() }} and mz_now() = now() as same from {{ ref('src') }} "
    events.model("temporal", same + "where mz_now() > ts")
    events.model("plain", same, materialized="table")
    events.run("-s", "src")
    rows = {"input": "ref('src')", "rows": [{"id": 1, "ts": "2024-03-01 12:00:00"}]}
    test = {"given": [rows], "expect": {"rows": [{"same": True}]}}
    units = [{"name": f"of_{model}", "model": model, **test} for model in ("temporal", "plain")]
    events.properties({"unit_tests": units})
    result = events.dbt("test", "-s", "test_type:unit", check=False)
    assert {r.node.name: str(r.status) for r in result.results} == {"of_temporal": "pass", "of_plain": "fail"}
    assert shown(events.dbt("show", "--inline", "select unix_millis(now()) as c"))[0][0] > NOW + DAY_MS


@pytest.mark.landing
def test_a_view_keeps_the_clock_that_made_it(events: Project) -> None:
    """A view that a replay makes is of its instant, and says so; of one that was made before the log tells."""
    clock = "where current_timestamp() < hi or 'now()' = ''"
    for name in ("frozen", "live"):
        events.model(name, f"select id, ts, hi from {events.schema}.events {clock}", materialized="view")
        events.model(f"of_{name}", f"select id, 'now()' as s from {{{{ ref('{name}') }}}}", materialized="table")
    events.model("below", "select id from {{ ref('live') }} where id = 1", materialized="view")
    events.model("of_below", "select id from {{ ref('below') }}", materialized="table")
    events.model("above", "select id from {{ ref('frozen') }} where mz_now() >= ts")
    events.run("-s", "live", "below")
    text = events.run("-s", "frozen", "of_frozen", "above", "of_live", "of_below", now=NOW).text
    assert (
        text.count("frozen shows its temporal views and its clock as at var temporal_now, 2024-03-01 12:00:01.234") == 1
    )
    assert text.count("clock is the wall clock") == text.count("write it as mz_now()") + 1 == 1
    assert f"the view {events.schema}.live was made without var temporal_now, 2024-03-01 12:00:01.234 UTC" in text
    assert events.count("frozen") == events.count("of_frozen") == events.count("above") == 1
    assert events.count("of_live") == events.count("of_below") == 0
    text = events.run("-s", "of_frozen", now=NOW + 1, check=False).text
    assert f"found: the view {events.schema}.frozen, made at var temporal_now, 2024-03-01 12:00:01.234" in text
    for now in (None, NOW + 1):
        text = events.run("-s", "above", now=now, check=False).text
        assert f"found: the view {events.schema}.frozen, made at var temporal_now, 2024-03-01" in text
        assert (
            "its temporal views and its clock as at then, for good" in text
            and "instead: that view made in the same" in text
        )
    text = events.run("-s", "frozen", "of_frozen", "above", now=NOW + 1).text
    assert events.count("frozen") == events.count("of_frozen") == events.count("above") == 0
