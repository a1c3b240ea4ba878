"""Incremental models over Parquet: append and insert_overwrite. MERGE is in lake/."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    def test_incremental_invalid_strategy(self, project):
        """dbt-spark has a message of its own."""
        run_dbt(["seed"])
        (result,) = run_dbt(["run"], expect_pass=False).results
        assert "Invalid incremental strategy provided: bad_strategy" in result.message


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestMicrobatch(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        """dbt-spark replaces a batch as a partition, and asks for one instead of a unique key."""
        return (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', partition_by='day', "
            "event_time='event_time', batch_size='day', begin=modules.datetime.datetime(2020, 1, 1)) }}\n"
            "select *, date(event_time) as day from {{ ref('input_model') }}"
        )


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    def test_run_incremental_append_new_columns(self, project):
        """Without the model that also drops a column: the inserted rows would lack it."""
        self.run_incremental_append_new_columns(project)

    @pytest.mark.parametrize("model", ["incremental_sync_all_columns", "incremental_sync_remove_only"])
    def test_run_incremental_sync_all_columns(self, project, model):
        """dbt-spark drops no columns, and says so."""
        select = f"model_a {model} {model}_target"
        run_dbt(["run", "--select", select, "--full-refresh"])
        results = run_dbt(["run", "--select", select], expect_pass=False)
        assert any("does not support dropping columns" in (r.message or "") for r in results)
