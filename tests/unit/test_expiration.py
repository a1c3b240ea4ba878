"""Whether a model expires, and when: each row of the decision table, the schedules, and dbt's graph that tells them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.graph.lineage import Lineage
from dbt.adapters.sparktemporal.graph.time_dependence import dependences
from dbt.adapters.sparktemporal.temporal.clock.expiration import UNKNOWN, Dependence, Scheduled, expiry
from dbt.adapters.sparktemporal.temporal.clock.schedule import Refreshes, Restarts, TimeOfWeek
from support.instants import DAY, T0

TABLE, SEALED = Dependence("t"), Dependence("old", sealed=True)
ROUNDED = "at the refresh after its offset"


def refreshed(*days: int | None) -> Dependence:
    """A table below views that are refreshed each so many days, counted from two days before T0."""
    schedules = [Scheduled(("s.r",), (n or 1) * DAY, None if n is None else T0 - 2 * DAY) for n in days]
    return Dependence("r", through=tuple(schedules))


@pytest.mark.parametrize(
    ("offset", "inputs", "expires", "why"),
    [
        pytest.param(None, [TABLE], None, "no expiration is set", id="no offset"),
        pytest.param(DAY, [], None, "never expires: its inputs are constant", id="constant inputs"),
        pytest.param(DAY, [refreshed(7)], T0 + 5 * DAY, ROUNDED, id="refreshed weekly"),
        pytest.param(DAY, [refreshed(7), refreshed(3)], T0 + DAY, ROUNDED, id="the earlier of two schedules"),
        pytest.param(DAY, [refreshed(3, 7)], T0 + 5 * DAY, ROUNDED, id="refreshes of refreshes"),
        pytest.param(DAY, [refreshed(7), TABLE], T0 + DAY, "", id="a table beside"),
        pytest.param(DAY, [refreshed(7), SEALED], T0 + 5 * DAY, ROUNDED, id="a sealed table beside"),
        pytest.param(DAY, [refreshed(None)], T0 + DAY, "", id="a view that has not run"),
        pytest.param(
            DAY, [TABLE, Dependence("load", UNKNOWN)], None, "never expires: load does not follow the wall clock",
            id="no wall clock",
        ),
        pytest.param(DAY, [SEALED, SEALED], None, "never expires: all its inputs are sealed", id="all sealed"),
        pytest.param(DAY, [SEALED, TABLE], T0 + DAY, "", id="one sealed"),
        pytest.param(
            DAY,
            [Dependence("u", sealed_until=T0 + 3 * DAY), Dependence("w", sealed_until=T0 + 2 * DAY), SEALED],
            T0 + 2 * DAY,
            "its inputs are complete up to 2024-03-03 12:00:00.000 UTC",
            id="complete up to a later instant",
        ),
        pytest.param(
            DAY,
            [Dependence("u", sealed_until=T0 + DAY // 2)],
            T0 + DAY,
            "its inputs are complete up to 2024-03-02 00:00:00.000 UTC",
            id="complete up to an earlier instant",
        ),
        pytest.param(DAY, [Dependence("u", sealed_until=T0 + 3 * DAY), TABLE], T0 + DAY, "", id="one complete"),
        pytest.param(DAY, [TABLE], T0 + DAY, "", id="the offset"),
    ],
)  # fmt: skip
def test_decision_table(offset: int | None, inputs: list[Dependence], expires: int | None, why: str) -> None:
    decided = expiry(offset, inputs)
    assert (decided.at(T0), decided.why) == (expires, why)


def node(name: str, materialized: str = "table", *below: str, **more: Any) -> dict[str, Any]:
    config = {"materialized": materialized, **more.pop("config", {})}
    below_it = {"depends_on": {"nodes": list(below)}}
    return {"name": name, "schema": "s", "alias": name, "resource_type": "model", "config": config, **below_it, **more}


def graph(*nodes: dict[str, Any], sources: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    found = {
        name: {"name": name, "source_name": "raw", "resource_type": "source", "config": {}, "meta": meta}
        for name, meta in (sources or {}).items()
    }
    return {"nodes": {n["name"]: n for n in nodes}, "sources": found}


def told(model: dict[str, Any], g: dict[str, Any]) -> list[tuple[str, str]]:
    return [(d.name, d.follows) for d in dependences(Lineage(model, g))]


def test_through_views_and_ephemeral_models() -> None:
    g = graph(
        node("e", "ephemeral", "v"),
        node("v", "view", "src", "t"),
        node("t", "table", "other"),
        sources={"src": {}, "other": {}},
    )
    assert told(node("m", "temporal_view", "e"), g) == [("raw.src", "wall clock"), ("t", "wall clock")]


def test_constants_have_no_inputs() -> None:
    assert told(node("m", "temporal_view", "v"), graph(node("v", "view"))) == []


@pytest.mark.parametrize("between", ["view", "ephemeral", "temporal_view"])
def test_a_schedule_between(between: str) -> None:
    scheduled = node(
        "r", "temporal_view", "src", config={"refresh_every": "1 day", "refresh_at": "2024-03-01 12:00:00"}
    )
    g = graph(node("x", between, "r"), scheduled, sources={"src": {}})
    (found,) = dependences(Lineage(node("m", "temporal_view", "x"), g))
    assert [(s.names, s.every, s.anchor) for s in found.through] == [(("s.r",), DAY, T0)]


def test_schedules_above_each_other() -> None:
    below = node("a", "temporal_view", "src", config={"refresh_every": "1 day"})
    above = node("b", "temporal_view", "a", config={"refresh_every": "7 days"})
    (found,) = dependences(Lineage(node("m", "temporal_view", "b"), graph(above, below, sources={"src": {}})))
    assert [s.names for s in found.through] == [("s.a",), ("s.b",)]


@pytest.mark.parametrize("between", ["table", "incremental"])
def test_a_table_is_built_when_dbt_runs(between: str) -> None:
    scheduled = node("r", "temporal_view", "src", config={"refresh_every": "1 day"})
    g = graph(node("x", between, "r"), scheduled, sources={"src": {}})
    (found,) = dependences(Lineage(node("m", "temporal_view", "x"), g))
    assert (found.name, found.through) == ("x", ())


def test_a_schedule_that_is_off() -> None:
    g = graph(node("r", "temporal_view", "src", config={"refresh_every": "0"}), sources={"src": {}})
    assert told(node("m", "temporal_view", "r"), g) == [("raw.src", "wall clock")]


def test_its_own_schedule() -> None:
    """The refreshes of the model come last, and what is earliest before them counts."""
    weekly = Refreshes(7 * DAY, T0 - 2 * DAY)
    assert expiry(DAY, [TABLE], weekly).at(T0) == T0 + 5 * DAY
    assert expiry(DAY, [refreshed(3), TABLE], weekly).at(T0 + 5 * DAY) == T0 + 12 * DAY
    assert expiry(5 * DAY, [TABLE], weekly).at(T0) == T0 + 5 * DAY
    assert expiry(None, [TABLE], weekly).at(T0) is None
    assert expiry(DAY, [], weekly).at(T0) is None


def test_what_sources_say() -> None:
    g = graph(sources={"a": {"sealed": True}, "b": {"sealed_until": "2024-03-02"}, "c": {"time_dependence": "none"}})
    a, b, c = dependences(Lineage(node("m", "temporal_view", "a", "b", "c"), g))
    assert (a.sealed, b.sealed_until, c.follows) == (True, T0 + DAY // 2, UNKNOWN)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"sealed": "yes"}, "meta.sealed: 'yes' of raw.a"),
        ({"sealed_until": "soon"}, "raw.a meta.sealed_until: 'soon'"),
        ({"time_dependence": "moon"}, "meta.time_dependence: 'moon' of raw.a"),
    ],
)
def test_bad_metadata(meta: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        dependences(Lineage(node("m", "temporal_view", "a"), graph(sources={"a": meta})))
    assert words in str(refused.value)


# ---- schedules ------------------------------------------------------------------------------------------------------


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**10), st.integers(-(10**13), 10**13))
def test_refreshes(t: int, every: int, anchor: int) -> None:
    last = Refreshes(every, anchor).last(t)
    assert last <= t < last + every and (last - anchor) % every == 0


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


@pytest.mark.parametrize(
    ("at", "t", "last"),
    [
        ("Sunday 03:00", "2024-03-03 02:59", "2024-02-25 03:00"),
        ("Sunday 03:00", "2024-03-03 03:00", "2024-03-03 03:00"),
        ("sun 3:00 Europe/Berlin", "2024-03-03 02:00", "2024-03-03 02:00"),
        ("02:30 Europe/Berlin", "2024-03-31 12:00", "2024-03-31 01:30"),  # 02:30 is not there that day
        ("02:30 Europe/Berlin", "2024-10-27 12:00", "2024-10-27 00:30"),  # and twice that day: the first
        ("23:00 America/New_York", "2024-03-02 00:00", "2024-03-01 04:00"),
    ],
)
def test_time_of_week(at: str, t: str, last: str) -> None:
    assert TimeOfWeek.parse(at, "restart_at").last(ms(t)) == ms(last)


@pytest.mark.parametrize(
    "text",
    ["", "Sunday", "25:00", "12:60", "Funday 03:00", "S 03:00", "3", "03:00 Mars/Base", "03:00 America", "03:00 /etc"],
)
def test_bad_times(text: str) -> None:
    with pytest.raises(Refusal, match="restart_at: "):
        TimeOfWeek.parse(text, "restart_at")


@pytest.mark.parametrize(
    ("started", "every", "at", "due"),
    [
        ("2024-02-28 10:00", 7, None, "2024-03-06 10:00"),
        ("2024-02-28 10:00", 7, "Sunday 03:00", "2024-03-03 03:00"),
        ("2024-03-03 03:00", 7, "Sunday 03:00", "2024-03-10 03:00"),
        ("2024-03-03 03:05", 7, "Sunday 03:00", "2024-03-10 03:00"),
        ("2024-03-03 03:05", 14, "Sunday 03:00", "2024-03-17 03:00"),
        ("2024-03-03 03:05", 1, "02:00", "2024-03-04 02:00"),
    ],
)
def test_restarts(started: str, every: int, at: str | None, due: str) -> None:
    parsed = TimeOfWeek.parse(at, "restart_at") if at else None
    assert Restarts(every * DAY, parsed).due(ms(started)) == ms(due)
