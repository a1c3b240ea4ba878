"""Feeds into Parquet, whose writes are not atomic, over random histories: runs, kills, restarts, changed models."""

from __future__ import annotations

import pytest

from support.feeds import Feed, drive
from support.histories import small_limits
from support.project import Project
from support.seeds import a_seed

FEEDS = (
    Feed("windowed_feed", "windowed", is_torn=True),
    Feed("trusting_feed", "windowed", {"verify": False}),
    Feed("grouped_feed", "grouped", {"each_change": False}, is_torn=True),
    Feed("smallest_feed", "smallest", {"envelope": "debezium", "unique_key": "h"}, is_torn=True),
)


@pytest.mark.landing
@pytest.mark.metastore
@pytest.mark.first(1)
@pytest.mark.parametrize("runs", [2, 4])
def test_feeds(project: Project, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    small_limits(monkeypatch)
    drive(project, monkeypatch, runs, a_seed(), FEEDS)


@pytest.mark.deep
@pytest.mark.parametrize("config", [{}, {"refresh_every": "7 seconds"}], ids=["each instant", "refreshed"])
def test_twenty_runs(project: Project, monkeypatch: pytest.MonkeyPatch, config: dict[str, str]) -> None:
    small_limits(monkeypatch)
    told = drive(project, monkeypatch, 20, a_seed(), FEEDS, **config)
    assert len(told) == 20 and set(told) != {""}
