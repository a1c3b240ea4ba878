"""Feeds into Delta tables, by MERGE and by appends, over random histories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.feeds import Feed, drive
from support.histories import small_limits
from support.project import Project
from support.seeds import a_seed

DELTA = {"file_format": "delta"}
FEEDS = (
    Feed("windowed_feed", "windowed", config=DELTA),
    Feed("grouped_feed", "grouped", config=DELTA),
    Feed("smallest_feed", "smallest", config={**DELTA, "incremental_strategy": "merge", "unique_key": "h"}),
)


@pytest.fixture
def histories(tmp_path: Path, spark: SparkSession) -> Iterator[Project]:
    made = Project(tmp_path / "project", spark)
    yield made
    made.drop()


def test_feeds(histories: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    drive(histories, monkeypatch, 12, a_seed(), FEEDS)
