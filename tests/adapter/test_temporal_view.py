"""The configs of temporal_view are configs to dbt: nothing warns of them, wherever they stand."""

from __future__ import annotations

import pytest
from dbt.tests.util import run_dbt
from dbt_common.events.base_types import EventMsg

pytestmark = pytest.mark.metastore

EVENTS = "select 1 as id, timestamp '2024-03-01 12:00:00' as event_ts"
RECENT = "select id, event_ts from {{ ref('events') }} where mz_now() <= event_ts + interval 30 days"

PROPERTIES = """
models:
  - name: by_properties
    config:
      expiration: "22 days"
      restart_every: "7 days"
      retain_history: "1 day"
      diffs_retention: "2 hours"
      change_capture: full
    data_tests:
      - temporal_diffs_consistent
      - temporal_matches_source
      - temporal_not_expired:
          arguments: {at_least: "1 day"}
"""


class TestConfigsRaiseNoWarning:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        here = {"+materialized": "temporal_view", "+expiration": "22 days", "+diffs_retention": "2 hours"}
        return {"models": {"test": {"temporal": here}}}

    @pytest.fixture(scope="class")
    def models(self):
        config = (
            "{{ config(materialized='temporal_view', expiration='22 days', restart_every='7 days', "
            "retain_history='1 day', diffs_retention='2 hours', change_capture='full', file_format='parquet') }}\n"
        )
        return {
            "events.sql": EVENTS,
            "by_config.sql": config + RECENT,
            "temporal": {"by_project.sql": RECENT, "by_properties.sql": RECENT, "properties.yml": PROPERTIES},
        }

    def test_build_with_warnings_as_errors(self, project):
        run_dbt(["--warn-error", "build"])

    def test_no_deprecation(self, project):
        told: list[str] = []

        def heard(event: EventMsg) -> None:
            if event.info.level == "warn" or "Deprecat" in event.info.name:
                told.append(f"{event.info.name}: {event.info.msg}")

        run_dbt(["--no-partial-parse", "--show-all-deprecations", "build"], callbacks=[heard])
        assert not told
