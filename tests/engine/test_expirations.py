"""When models expire, and when not; restarts and refreshes by a schedule; what people are told of them."""

from __future__ import annotations

import json
import time

import pytest
from pyspark.errors import PySparkException

from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import TemporalError
from dbt.adapters.sparktemporal.over_time import forecast, reads
from support.instants import DAY, HOUR, T0
from support.project import Project


def updates(project: Project, model: str = "m") -> int:
    return project.rows(f"SELECT count(*) FROM {{s}}.{model}__diffs")[0][0]


def every(project: Project, *asked: tuple[str, int]) -> list[list[tuple]]:
    """Models at instants."""
    return [sorted(project.rows(f"select * from {project.at(model, t)}")) for model, t in asked]


def at(project: Project, t: int, model: str = "m") -> list[tuple]:
    return every(project, (model, t))[0]


def operation(project: Project, name: str, **args: str) -> str:
    return project.dbt("run-operation", name, "--args", json.dumps(args)).text


@pytest.fixture
def thousand(project: Project) -> Project:
    """A source of 1,000 events in the second before T0."""
    project.sql(f"CREATE TABLE {{s}}.events AS SELECT id, timestamp_millis({T0 - 1000}L + id) AS ts FROM range(1000)")
    sources(project)
    return project


def sources(project: Project, **meta: object) -> None:
    table = {"name": "events", "meta": meta}
    said = {"version": 2, "sources": [{"name": "raw", "schema": project.schema, "tables": [table]}]}
    project.write("models/sources.yml", json.dumps(said))


def window(days: int, source: str = "source('raw', 'events')") -> str:
    return f"select id, ts from {{{{ {source} }}}} where mz_now() <= ts + interval {days} days"


@pytest.mark.first(2)
@pytest.mark.parametrize(("offset", "days", "kept"), [(30, 20, 2000), (20, 30, 1000), (0, 30, 2000)])
@pytest.mark.quick(1)
def test_a_window_and_an_offset(thousand: Project, offset: int, days: int, kept: int) -> None:
    thousand.model("m", window(days), expiration=f"{offset} days")
    thousand.run(now=T0)
    assert updates(thousand) == kept
    assert thousand.state().dropped == 2000 - kept


@pytest.mark.landing
def test_left_out_through_a_chain_of_models(thousand: Project) -> None:
    """The first one has an expiration: what it leaves out no model over it can have."""
    thousand.model("a", window(30), expiration="20 days")
    thousand.model("b", "select id, ts from {{ ref('a') }} where mz_now() < ts + interval 100 days")
    thousand.model("m", "select id, ts from {{ ref('b') }} where mz_now() >= ts")
    thousand.run(now=T0)
    assert [updates(thousand, name) for name in "abm"] == [1000, 1000, 1000]
    assert {thousand.state(name).expiration for name in "abm"} == {T0 + 20 * DAY}


@pytest.mark.deep
def test_offsets_of_stacked_models(thousand: Project) -> None:
    thousand.model("a", window(30), expiration="20 days")
    thousand.model(
        "m", "select id, ts from {{ ref('a') }} where mz_now() < ts + interval 15 days", expiration="10 days"
    )
    thousand.model("late", "select id from {{ ref('a') }} where mz_now() < ts + interval 15 days", expiration="40 days")
    thousand.run(now=T0)
    assert [thousand.state(name).expiration for name in ("m", "late")] == [T0 + 10 * DAY, T0 + 20 * DAY]


@pytest.mark.first(1)
@pytest.mark.parametrize("between", ["", "table", "temporal_view"])
@pytest.mark.landing
def test_a_schedule_above(thousand: Project, between: str) -> None:
    """Counted from the first run of `a`, which `m` knows where it reads `a` itself. A table is built when dbt runs."""
    thousand.model("a", window(30), refresh_every="8 days")
    if between == "temporal_view":
        thousand.model("b", "select id, ts from {{ ref('a') }} where mz_now() >= ts")
    elif between:
        thousand.model("b", "select id, ts from {{ ref('a') }}", materialized=between)
    below = "b" if between else "a"
    thousand.model("m", f"select id, ts from {{{{ ref('{below}') }}}} where mz_now() <= ts + interval 30 days",
                   expiration="20 days")  # fmt: skip
    ran = thousand.run(now=T0).of("m").adapter_response
    days, why = (20, "") if between else (24, "at the refresh after its offset")
    assert (ran["expiration"], updates(thousand), ran["expiration_reason"]) == (T0 + days * DAY, 1000, why)


@pytest.mark.landing
def test_its_own_refreshes(thousand: Project) -> None:
    """It answers up to the refresh after the offset, and shows that one until the next."""
    thousand.model("m", window(3), expiration="5 days", refresh_every="2 days", refresh_at="2024-03-01 12:00:00")
    thousand.model("over", "select id from {{ ref('m') }} where id % 2 = 0")
    ran = thousand.run(now=T0 + HOUR).of("m").adapter_response
    assert (ran["expiration"], ran["expiration_reason"]) == (T0 + 6 * DAY, "at the refresh after its offset")
    assert [len(rows) for rows in every(thousand, *(("m", T0 + d * DAY) for d in (2, 4, 6)))] == [1000, 0, 0]
    assert at(thousand, T0 + 8 * DAY - 1) == []
    with pytest.raises(TemporalError, match="to 2024-03-09 11:59:59.999 UTC .expiration."):
        at(thousand, T0 + 8 * DAY)
    text = thousand.render("select * from {{ temporal_as_of(ref('m'), '2024-03-09 11:00:00') }}", temporal_now=T0)
    assert thousand.rows(text) == []
    thousand.run(now=T0 + 8 * DAY - 1)
    assert (thousand.state().started_at, thousand.state("over").expiration) == (T0, T0 + 8 * DAY - 1)
    assert at(thousand, T0 + 8 * DAY - 1, "over") == []
    again = thousand.run("-s", "m", now=T0 + 8 * DAY).of("m").adapter_response
    assert (again["action"], again["expiration"]) == ("restarted", T0 + 14 * DAY)


@pytest.mark.landing
def test_constants_keep_all(project: Project) -> None:
    """One of them ends after the year 9999."""
    rows = f"values (1, {T0}L), (2, {T0 + 100 * DAY}L), (3, 253402300800000L) as v(id, ms)"
    project.model("m", f"select id from {rows} where mz_now() <= ms + 1000", expiration="1 day")
    ran = project.run(now=T0).of("m")
    assert (updates(project), ran.adapter_response["expiration_reason"]) == (
        6,
        "never expires: its inputs are constant",
    )
    instants = (T0, T0 + 100 * DAY + 1001, 253402300801000, 253402300801001)
    assert every(project, *(("m", t) for t in instants)) == [
        [(1,), (2,), (3,)], [(3,)], [(3,)], []
    ]  # fmt: skip


@pytest.mark.deep
def test_a_table_named_without_dbt_is_no_constant(thousand: Project) -> None:
    sql = f"select id, ts from {thousand.schema}.events where mz_now() <= ts + interval 30 days"
    thousand.model("m", sql, expiration="20 days")
    thousand.run(now=T0)
    assert thousand.state().expiration == T0 + 20 * DAY


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("meta", "expires", "kept"),
    [
        ({"sealed": True}, None, 2000),
        ({"sealed_until": "2024-03-26 12:00:00"}, T0 + 25 * DAY, 1000),
        ({"sealed_until": "2024-04-26 12:00:00"}, T0 + 56 * DAY, 2000),
        ({"sealed_until": "2024-03-05"}, T0 + 20 * DAY, 1000),
        ({"time_dependence": "none"}, None, 2000),
    ],
)
@pytest.mark.landing
def test_what_a_source_says(thousand: Project, meta: dict, expires: int | None, kept: int) -> None:
    sources(thousand, **meta)
    thousand.model("m", window(30), expiration="20 days")
    thousand.run(now=T0)
    assert (thousand.state().expiration, updates(thousand)) == (expires, kept)


@pytest.mark.deep
def test_a_source_that_says_something_else(thousand: Project) -> None:
    """Sealed later on: what was left out is needed, so the model restarts. No longer sealed: it expires as set."""
    thousand.model("m", window(30), expiration="20 days")
    thousand.run(now=T0)
    sources(thousand, sealed=True)
    assert "restarted" in thousand.run(now=T0 + DAY).of("m").message
    assert (thousand.state().expiration, updates(thousand)) == (None, 2000)
    sources(thousand)
    thousand.run(now=T0 + 2 * DAY)
    assert thousand.state().expiration == T0 + 21 * DAY
    sources(thousand, sealed_until="2024-03-30 12:00:00")
    told = thousand.run(now=T0 + 3 * DAY).of("m")
    assert "restarted" in told.message and told.adapter_response["reason"] == "what it reads expires later than before"


@pytest.mark.landing
def test_expired_and_restarted(project: Project) -> None:
    """Of 130 seconds of window 70 are kept; after them the read fails; the restart has room for all retractions."""
    began = int(time.time() * 1000) - 75_000
    project.sql(f"CREATE TABLE {{s}}.events AS SELECT id, timestamp_millis({began}L) AS ts FROM range(1000)")
    sources(project)
    project.model(
        "m",
        "select id from {{ source('raw', 'events') }} where mz_now() <= ts + interval 130 seconds",
        expiration="70 seconds",
    )
    project.run(now=began)
    assert updates(project) == 1000
    with pytest.raises(PySparkException, match="temporal_view m expired at .*To answer again: dbt run -s m"):
        project.rows("SELECT count(*) FROM {s}.m")
    told = project.run().of("m").adapter_response
    assert told["action"] == "restarted" and told["reason"].startswith("expired at ")
    assert (updates(project), project.rows("SELECT count(*) FROM {s}.m")) == (2000, [(1000,)])


@pytest.mark.landing
@pytest.mark.parametrize("aggregates", ["rows", "groups"])
def test_a_shorter_expiration(project: Project, aggregates: str) -> None:
    """Older chains keep ends after the new expiration, and the corrections written from then on have none."""
    last = T0 + 10 * DAY
    ends = [last - 1, last, last + 1, last + HOUR // 2, T0 + 20 * DAY, T0 + 40 * DAY]
    rows = [(at, at, ends[at % len(ends)]) for at in range(60)]
    project.sql("CREATE TABLE {s}.events (id BIGINT, k BIGINT, hi BIGINT)")
    project.sql(f"INSERT INTO {{s}}.events VALUES {str(rows)[1:-1]}")
    sources(project)
    below = "select k, count(*) as n from {} where mz_now() < hi group by k"
    below = below if aggregates == "groups" else "select id, k, hi from {} where mz_now() < hi"
    events = "{{ source('raw', 'events') }}"
    refreshed = {"refresh_every": "1 hour", "refresh_at": "2024-01-01 00:00:00"}

    def model(name: str, expiration: str) -> None:
        more = refreshed if name == "refreshed" else {}
        project.model(name, below.format(events), aggregates=aggregates, expiration=expiration, **more)

    for name in ("m", "refreshed"):
        model(name, "30 days")
    project.run(now=T0)
    project.sql(f"INSERT OVERWRITE {{s}}.events VALUES {str([row for row in rows if row[0] % 4])[1:-1]}")
    for name in ("m", "refreshed"):
        model(name, "10 days")
        over = "select * from {{ ref('" + name + "') }}"
        project.model(f"over_{name}", over)
        project.model(f"ahead_of_{name}", f"{over} where mz_now() >= timestamp_millis({last}L)")
    now = T0 + DAY
    told = project.run("-s", "m", "refreshed", now=now)
    for name in ("m", "refreshed"):
        assert told.of(name).adapter_response["action"] == "advanced"
        assert project.state(name).expiration == last
        assert sum(chain.negative for chain in project.state(name).chains) > 0
        checked = reads.inconsistencies(Warehouse(project.rows), project.target(name))
        assert project.rows(checked) == []
    project.run("-s", "over_m", "ahead_of_m", "over_refreshed", "ahead_of_refreshed", now=now)
    written = below.format("{s}.events").replace("mz_now()", "{t}L")
    for name in ("m", "refreshed"):
        until = project.state(name).answers_until
        for t in (now, last - 1, last, until):
            shown = t if name == "m" else t // HOUR * HOUR
            expected = sorted(project.rows(written.replace("{t}", str(shown))))
            assert (at(project, t, name), at(project, t, f"over_{name}")) == (expected, expected), (name, t)
            assert at(project, t, f"ahead_of_{name}") == (expected if t >= last else [])
        ahead = forecast.calendar(Warehouse(project.rows), project.target(name), 9, 1000, now)
        found = [t for t, *_ in project.rows(f"SELECT * FROM {ahead}")]
        assert found == [t for t in (last - 1, last) if name == "m" or t == last], name
        counts = forecast.forecast(Warehouse(project.rows), project.target(name), "6 hours", None, "count(*)", now)
        for t, _, n in project.rows(f"SELECT * FROM {counts}"):
            assert n == len(project.rows(written.replace("{t}", str(t)))), (name, t)


# ---- restarts -------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_restart_at(thousand: Project) -> None:
    """From Friday on: the next Sunday is the first, then every Sunday."""
    thousand.model(
        "m", window(30), expiration="22 days", restart_every="7 days", restart_at="Sunday 03:00 Europe/Berlin"
    )
    thousand.run(now=T0)
    sunday = T0 + DAY + 14 * HOUR
    for now, action in ((sunday - 1, "unchanged"), (sunday, "restarted"), (sunday + 7 * DAY - 1, "unchanged"),
                        (sunday + 7 * DAY, "restarted")):  # fmt: skip
        ran = thousand.run(now=now).of("m").adapter_response
        assert ran["action"] == action, (now, ran)
    assert ran["reason"] == "restart_every 1 week, Sunday 03:00 Europe/Berlin"
    assert thousand.state().expiration == sunday + 29 * DAY


def test_temporal_restart(thousand: Project) -> None:
    thousand.model("m", window(30), expiration="20 days")
    thousand.run(now=T0)
    before = at(thousand, T0)
    assert "the next run rebuilds it; until then it answers as before" in operation(
        thousand, "temporal_restart", model="m"
    )
    assert at(thousand, T0) == before and thousand.state().expiration == T0 + 20 * DAY
    ran = thousand.run(now=T0 + DAY).of("m").adapter_response
    assert (ran["action"], ran["reason"]) == ("restarted", "temporal_restart")
    assert thousand.state().expiration == T0 + 21 * DAY
    assert thousand.run(now=T0 + DAY + 1).of("m").adapter_response["action"] == "unchanged"


@pytest.mark.deep
def test_restarts_that_come_late(thousand: Project) -> None:
    """A restart waits for a run: as late as it came once it may come again."""
    thousand.model("m", window(30), expiration="9 days", restart_every="7 days")
    thousand.run(now=T0)
    assert "can expire before" not in thousand.run(now=T0 + 8 * DAY).text
    text = thousand.run(now=T0 + 17 * DAY).text
    assert "restart_every 1 week + 2 days, as late as a restart came so far, = 1 week 2 days" in text
    assert "and its expiration is 1 week 2 days after one" in text


@pytest.mark.landing
def test_status(thousand: Project) -> None:
    thousand.model("m", window(30), expiration="20 days", restart_every="7 days")
    thousand.model("g", "select count(*) as n from {{ source('raw', 'events') }} "
                   "where mz_now() <= ts + interval 30 days", expiration="20 days")  # fmt: skip
    assert operation(thousand, "temporal_status").count("| has not run ") == 2
    thousand.run(now=T0)
    text = operation(thousand, "temporal_status", model="m")
    for words in (
        "started | 2024-03-01 12:00:00.000 UTC", "expiration | 2024-03-21 12:00:00.000 UTC",
        "state | expired, reads raise", "restart_due | 2024-03-08 12:00:00.000 UTC",
        "updates | 1,000", "rows | 1,000", "chains | 1", "updates_left_out | 1,000",
    ):  # fmt: skip
        assert f"| {words} |" in " ".join(text.split()), text
    assert "bytes_left_out" not in text
    assert "bytes_left_out" in operation(thousand, "temporal_status", model="g")


# ---- refreshes ------------------------------------------------------------------------------------------------------


def seen(project: Project, t: int) -> list[tuple]:
    """The ids of the oracle at an instant."""
    return sorted(project.rows(f"SELECT id FROM {{s}}.events WHERE timestamp_millis({t}L) < ts"))


@pytest.fixture
def hourly(project: Project) -> Project:
    """A row ends every ten minutes; the view is refreshed at each half hour past."""
    project.sql(
        f"CREATE TABLE {{s}}.events AS SELECT id, timestamp_millis({T0}L + id * 600000) AS ts FROM range(1, 40)"
    )
    sources(project)
    project.model(
        "m", "select id from {{ source('raw', 'events') }} where mz_now() < ts",
        refresh_every="1 hour", refresh_at="2024-01-01 00:30:00",
    )  # fmt: skip
    project.model("over", "select id from {{ ref('m') }} where id % 2 = 0")
    project.model("counted", "select count(*) as n from {{ ref('m') }}")
    project.run(now=T0)
    return project


def test_refreshed(hourly: Project) -> None:
    """What is seen is of the last refresh, also between two runs; so it is for models over it."""
    half = HOUR // 2
    instants = [T0, T0 + half - 1, T0 + half, T0 + HOUR, T0 + 3 * half - 1, T0 + 3 * half, T0 + 9 * HOUR]
    found = every(hourly, *((model, t) for t in instants for model in ("m", "over", "counted")))
    for t, ours, over, counted in zip(instants, found[::3], found[1::3], found[2::3], strict=True):
        shown = seen(hourly, t - (t - half) % HOUR)
        assert (ours, over, counted) == (shown, [row for row in shown if row[0] % 2 == 0], [(len(shown),)]), t
    assert len(found[9]) < len(found[0])


@pytest.mark.deep
def test_runs_between_refreshes(hourly: Project) -> None:
    hourly.sql(f"INSERT INTO {{s}}.events VALUES (100, timestamp_millis({T0 + 100 * HOUR}L))")
    ran = hourly.run(now=T0 + HOUR // 2 - 1)
    told = ran.of("m").adapter_response
    assert told["action"] == "waiting" and told["inputs"] == []
    assert told["reason"] == "refreshed every 1 hour, next at 2024-03-01 12:30:00.000 UTC"
    for ids in every(hourly, ("m", T0 + HOUR // 2 - 1), ("over", T0 + HOUR // 2 - 1)):
        assert ids and (100,) not in ids
    hourly.run(now=T0 + HOUR)
    assert hourly.state().frontier == T0 + HOUR // 2
    ids, over, counted = every(hourly, *((model, T0 + HOUR) for model in ("m", "over", "counted")))
    assert ids == seen(hourly, T0 + HOUR // 2)
    assert (100,) in over and counted == [(len(ids),)]


@pytest.mark.landing
def test_refreshes_above_a_temporal_view(project: Project) -> None:
    """What a refresh is of is decided before the views below are read: it is the last one that they still know."""
    minute, midnight = HOUR // 60, "2024-01-01 00:00"
    day = f"timestamp_millis({T0 + 30 * DAY}L)"
    project.sql(f"CREATE TABLE {{s}}.events AS SELECT id, timestamp_millis(0) AS lo, {day} AS hi FROM range(5)")
    sources(project)
    window = "select id from {{ source('raw', 'events') }} where mz_now() >= lo and mz_now() < hi"
    project.model("below", window)
    project.model("each_hour", window, refresh_every="1 hour", refresh_at=midnight)
    for name, over in (("hourly", "below"), ("daily", "each_hour")):
        every = "1 hour" if name == "hourly" else "1 day"
        project.model(name, f"select id from {{{{ ref('{over}') }}}}", refresh_every=every, refresh_at=midnight)

    def ids(after: int, model: str) -> list[int]:
        return [row[0] for row in at(project, T0 + after * minute, model)]

    project.run(now=T0 + 10 * minute)  # the first run of all, between two refreshes
    assert [ids(10, name) for name in ("hourly", "daily")] == [[0, 1, 2, 3, 4]] * 2

    project.run("-s", "below", "--full-refresh", now=T0 + 80 * minute)  # the hourly refresh of 13:00 is due
    assert ids(80, "hourly") == [0, 1, 2, 3, 4]
    project.run("-s", "hourly", now=T0 + 81 * minute)
    assert ids(81, "hourly") == [0, 1, 2, 3, 4] and project.state("hourly").frontier == T0 + 80 * minute
    project.run("-s", "below", "--full-refresh", now=T0 + 100 * minute)  # none is due
    waited = project.run("-s", "hourly", now=T0 + 101 * minute).of("hourly")
    assert waited.adapter_response["action"] == "waiting" and ids(101, "hourly") == [0, 1, 2, 3, 4]

    came = f"timestamp_millis({T0 + 150 * minute}L), timestamp_millis({T0 + 185 * minute}L)"  # from 14:30 to 15:05
    project.sql(f"INSERT INTO {{s}}.events SELECT 7L, {came}")
    project.run("-s", "below", now=T0 + 151 * minute)
    project.run("-s", "below+", now=T0 + 190 * minute)  # at 15:10, as of 15:00
    assert [ids(after, "hourly") for after in (190, 239, 240)] == [[0, 1, 2, 3, 4, 7]] * 2 + [[0, 1, 2, 3, 4]]
    assert ids(190, "below") == [0, 1, 2, 3, 4]

    project.dbt("run-operation", "temporal_consolidate", "--args", '{"model": "below"}')  # knows nothing before 15:10
    project.sql(f"INSERT INTO {{s}}.events SELECT 8L, timestamp_millis(0), {day}")
    project.run("-s", "hourly", "daily", now=T0 + 241 * minute)
    assert ids(241, "hourly") == [0, 1, 2, 3, 4]
    project.run(now=T0 + 12 * HOUR)  # midnight
    assert [ids(12 * 60, name) for name in ("hourly", "daily")] == [[0, 1, 2, 3, 4, 8]] * 2

    # a refresh is made once, also where nothing changed
    project.run("-s", "each_hour", now=T0 + 13 * HOUR + 10 * minute)
    project.sql(f"INSERT INTO {{s}}.events SELECT 9L, timestamp_millis(0), {day}")
    again = project.run("-s", "each_hour", now=T0 + 13 * HOUR + 20 * minute).of("each_hour")
    assert again.adapter_response["action"] == "waiting" and ids(13 * 60 + 15, "each_hour") == [0, 1, 2, 3, 4, 8]

    # another schedule begins at its run; before that, readers saw the old one
    project.model("each_hour", window, refresh_every="3 hours", refresh_at=midnight, retain_history="1 day")
    project.run("-s", "each_hour", now=T0 + 13 * HOUR + 30 * minute)
    assert project.state("each_hour").since == T0 + 13 * HOUR + 30 * minute
    for after, shown in ((15, [0, 1, 2, 3, 4, 8]), (30, [0, 1, 2, 3, 4, 8, 9])):
        assert ids(13 * 60 + after, "each_hour") == shown


@pytest.mark.deep
def test_refreshed_now(project: Project) -> None:
    """By the reader's clock."""
    now = int(time.time() * 1000)
    project.sql(
        f"CREATE TABLE {{s}}.events AS SELECT id, timestamp_millis({now}L + id * 3600000) AS ts FROM range(-50, 50)"
    )
    sources(project)
    project.model("m", "select id from {{ source('raw', 'events') }} where mz_now() < ts", refresh_every="1 day",
                  refresh_at="2024-01-01")  # fmt: skip
    project.run(now=now - 40 * HOUR)
    midnight = now - now % DAY
    shown = project.rows("SELECT id FROM {s}.m")
    assert sorted(shown) in (seen(project, midnight), seen(project, midnight + DAY))


@pytest.mark.deep
def test_the_schedule_changes(hourly: Project) -> None:
    hourly.model("m", "select id from {{ source('raw', 'events') }} where mz_now() < ts")
    hourly.run(now=T0 + 1)
    shown = seen(hourly, T0 + HOUR)
    assert at(hourly, T0 + HOUR) == shown
    assert at(hourly, T0 + HOUR, "over") == [row for row in shown if row[0] % 2 == 0]
    hourly.model("m", "select id from {{ source('raw', 'events') }} where mz_now() < ts", refresh_every="1 day")
    hourly.run(now=T0 + HOUR)
    assert at(hourly, T0 + 2 * HOUR) == seen(hourly, T0 + HOUR)
    assert at(hourly, T0 + 25 * HOUR) == seen(hourly, T0 + 25 * HOUR)
