"""Feeds into Iceberg tables, by MERGE and by appends, over random histories."""

from __future__ import annotations

import pytest

from support.feeds import Feed, drive
from support.histories import small_limits
from support.project import Project
from support.seeds import a_seed

ICEBERG = {"file_format": "iceberg"}
FEEDS = (
    Feed("windowed_feed", "windowed", config=ICEBERG),
    Feed("smallest_feed", "smallest", config={**ICEBERG, "incremental_strategy": "merge", "unique_key": "h"}),
)


def test_feeds(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    drive(project, monkeypatch, 12, a_seed(), FEEDS)
