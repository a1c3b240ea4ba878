"""Settings of the session that decide what rows are: remembered, compared, and the same for every evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.over_time.reads import committed, matches_source
from dbt.adapters.sparktemporal.temporal.diffs.state_text import embed
from dbt.adapters.sparktemporal.temporal.sql.spark import settings
from support.instants import T0
from support.project import Project

POLICY = "spark.sql.legacy.timeParserPolicy"


@contextmanager
def session(spark: Any, conf: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in conf}
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@pytest.fixture
def events(project: Project) -> Project:
    project.sql(
        "CREATE TABLE {s}.t USING parquet AS SELECT id, '2024-3-1' AS day, "
        f"timestamp_millis({T0}L + id * 1000) AS hi FROM range(10)"
    )
    return project


def rows(project: Project, t: int, columns: str = "*") -> list[tuple]:
    return sorted(project.rows(f"select {columns} from {project.at('m', t)}"))


# ---- a run ---------------------------------------------------------------------------------------------------------

#: setting -> (a value, another, an expression over (id, day) they disagree about)
DISAGREE = {
    POLICY: ("CORRECTED", "LEGACY", "to_date(day, 'yyyy-MM-dd')"),
    "spark.sql.legacy.castComplexTypesToString.enabled": ("false", "true", "cast(array(id) as string)"),
    "spark.sql.legacy.sizeOfNull": ("true", "false", "size(cast(null as array<int>))"),
    "spark.sql.decimalOperations.allowPrecisionLoss": (
        "true",
        "false",
        "cast(cast(cast(id as decimal(38, 18)) / cast(3 as decimal(38, 18)) as string) as string)",
    ),
    "spark.sql.mapKeyDedupPolicy": ("LAST_WIN", "EXCEPTION", "map_from_arrays(array(1, 1), array(id, id + 1))[1]"),
}


@pytest.mark.parametrize("key", [pytest.param(k, marks=() if k == POLICY else pytest.mark.deep) for k in DISAGREE])
@pytest.mark.parametrize("grows", [True, False])
@pytest.mark.quick(1)
def test_another_value_rebuilds(events: Project, key: str, grows: bool) -> None:
    """Appended rows never stand beside others of another setting; without new rows nothing is `unchanged`."""
    first, second, value = DISAGREE[key]
    query = f"select id, {value} as x from {events.schema}.t where mz_now() < hi"
    events.model("m", query)
    with session(events.spark, {key: first}):
        events.run(now=T0)
        before = rows(events, T0, "id")
        assert "unchanged" in events.run(now=T0).of("m").message
    if grows:
        events.sql(f"INSERT INTO {{s}}.t SELECT 99, '2024-3-1', timestamp_millis({T0}L + 99000)")
    with session(events.spark, {key: second}):
        outcome = events.run(now=T0, check=False).of("m")
        if outcome.status == "error":  # Spark says so itself
            assert key == "spark.sql.mapKeyDedupPolicy" and "DUPLICATED_MAP_KEY" in outcome.message
            return
        assert outcome.adapter_response["action"] == "restarted"
        assert f"{key} {first} -> {second}" in outcome.adapter_response["reason"]
        oracle = query.replace("mz_now()", f"timestamp_millis({T0}L)")
        assert rows(events, T0) == sorted(events.rows(oracle)) and len(before) + grows == len(rows(events, T0))


@pytest.mark.landing
def test_a_default_that_is_named_is_no_change(events: Project) -> None:
    """A setting that was set, and now has the same value by default, and what decides nothing."""
    events.model("m", f"select id from {events.schema}.t where mz_now() < hi")
    with session(events.spark, {"spark.sql.mapKeyDedupPolicy": "EXCEPTION", "spark.sql.shuffle.partitions": "3"}):
        events.run(now=T0)
    assert "unchanged" in events.run(now=T0).of("m").message


@pytest.mark.landing
def test_a_state_of_before_remembers_four(events: Project) -> None:
    """Others count as not set: the same session goes on, one with another of them rebuilds and says so."""
    events.model("m", f"select id from {events.schema}.t where mz_now() < hi")
    events.run(now=T0)
    target = ModelRelations(f"`{events.schema}`", "m")
    state = committed(Warehouse(events.rows), target)
    assert set(state.settings) == set(settings.ALWAYS), "nothing else is set in tests, as in a state of before"
    assert '"spark.sql.caseSensitive":"false"' in embed(state, "SELECT 1")
    with session(events.spark, {POLICY: "LEGACY"}):
        assert f"{POLICY} not set -> LEGACY" in events.run(now=T0).of("m").adapter_response["reason"]


@pytest.mark.landing
def test_a_hook_sets_something(events: Project) -> None:
    """Settings are those when the model runs, not those of the first model of an invocation."""
    events.model("a", f"select id from {events.schema}.t where mz_now() < hi")
    events.model("m", f"-- depends_on: {{{{ ref('a') }}}}\nselect id from {events.schema}.t where mz_now() < hi")
    with session(events.spark, {"spark.sql.legacy.sizeOfNull": "true"}):
        events.run(now=T0)
        events.model(
            "m",
            f"-- depends_on: {{{{ ref('a') }}}}\nselect id from {events.schema}.t where mz_now() < hi",
            pre_hook="SET spark.sql.legacy.sizeOfNull=false",
        )
        result = events.run(now=T0)
        assert "unchanged" in result.of("a").message
        assert "spark.sql.legacy.sizeOfNull true -> false" in result.of("m").adapter_response["reason"]


# ---- reads outside of the view -------------------------------------------------------------------------------------


@pytest.fixture
def texts(events: Project) -> Project:
    events.model("m", f"select cast(max(hi) as string) as x from {events.schema}.t where mz_now() < hi")
    events.model("plain", f"select id, hi from {events.schema}.t where mz_now() < hi")
    events.model("over", "select x from {{ ref('m') }} where mz_now() >= '2024-01-01'")
    events.run("-s", "m", "plain", now=T0)
    return events


TOKYO = {"spark.sql.session.timeZone": "Asia/Tokyo"}


def refused(message: str, what: str) -> None:
    for words in (
        f"found: {what}", "in a session with spark.sql.session.timeZone Asia/Tokyo",
        "why: m was written, and its view is evaluated, with spark.sql.session.timeZone UTC",
        "instead: a session with spark.sql.session.timeZone UTC, or dbt run -s m in this one",
    ):  # fmt: skip
        assert words in message, message


def test_as_of_in_a_session_of_another_zone(texts: Project) -> None:
    """The view answers in the writer's zone; what evaluates the same query in the reader's is refused, not answered."""
    live = texts.rows("select x from {s}.m")
    with session(texts.spark, TOKYO):
        assert texts.rows("select x from {s}.m") == live
        with pytest.raises(Refusal) as told:
            texts.at("m", T0)
        refused(str(told.value), "temporal_as_of of m")
        # what gives back stored rows and computes nothing is the same in each session
        assert len(texts.rows(f"select id, hi from {texts.at('plain', T0)}")) == 9
        with pytest.raises(Refusal) as told:
            matches_source(Warehouse(texts.rows), ModelRelations(f"`{texts.schema}`", "m"), [T0], 0, T0, 12)
        refused(str(told.value), "temporal_matches_source of m")
    assert texts.rows(f"select x from {texts.at('m', T0)}") == [("2024-03-01 12:00:09",)]


@pytest.mark.parametrize("command", ["temporal_consolidate", "temporal_restart"])
@pytest.mark.landing
def test_what_makes_the_view_again(texts: Project, command: str) -> None:
    """A view keeps the settings of whoever makes it, so that is not somebody of another zone."""
    with session(texts.spark, TOKYO):
        told = texts.dbt("run-operation", command, "--args", "{model: m}", check=False)
        refused(told.text, f"{command} of m")
        assert "Asia/Tokyo" not in str(texts.rows("DESCRIBE TABLE EXTENDED {s}.m__live AS JSON"))
    texts.dbt("run-operation", command, "--args", "{model: m}")


@pytest.mark.landing
def test_a_view_over_one_of_another_zone(texts: Project) -> None:
    with session(texts.spark, TOKYO):
        told = texts.run("-s", "over", now=T0, check=False)
        assert "m as an input of over" in told.text and "spark.sql.session.timeZone Asia/Tokyo" in told.text
        texts.run("-s", "m", "over", now=T0)
        assert texts.rows(f"select x from {texts.at('over', T0)}") == [("2024-03-01 21:00:09",)]


def test_which_settings_decide() -> None:
    known = {
        "legacy.sizeOfNull",
        "files.ignoreMissingFiles",
        "session.timeZone",
        "ansi.enabled",
        "csv.parser.x",
        "new.one",
    }
    told = [(f"spark.sql.{key}", "1") for key in (*known, "ui.retainedExecutions", "files.maxPartitionBytes")]
    others = {"spark.wap.branch": "audit", "orc.force.positional.evolution": "true"}
    found = settings.deciding([*told, ("spark.app.name", "x"), *others.items()])
    assert set(found) == {f"spark.sql.{key}" for key in known} | set(others)


@pytest.mark.landing
def test_columns_of_orc_by_position(project: Project, tmp_path: Path) -> None:
    """A table whose column has another name in the files."""
    place = f"USING orc LOCATION '{tmp_path.as_uri()}/orc'"
    project.sql(f"CREATE TABLE {{s}}.w {place} AS SELECT 1 AS a, timestamp_millis({T0}L + 90000) AS hi")
    project.sql(f"CREATE TABLE {{s}}.t (b INT, hi TIMESTAMP) {place}")
    project.model("m", f"select b from {project.schema}.t where mz_now() < hi")
    project.run(now=T0)
    assert rows(project, T0) == [(None,)]
    with session(project.spark, {"orc.force.positional.evolution": "true"}):
        project.run(now=T0 + 1)
        assert rows(project, T0 + 1) == project.rows("SELECT b FROM {s}.t") == [(1,)]
