"""An Iceberg table that is written while a run reads it: the run reads the version that it saw."""

from __future__ import annotations

import pytest

from support.busy import rows_come_at_every_phase
from support.project import Project


def test_rows_come_at_every_phase(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    rows_come_at_every_phase(project, monkeypatch, "iceberg")
