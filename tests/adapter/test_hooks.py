"""Hooks of models, seeds and runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt.tests.adapter.hooks.test_model_hooks import (
    MODEL_POST_HOOK,
    MODEL_PRE_HOOK,
    BaseDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks, BasePrePostRunHooks
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


FIELDS = (
    "test_state", "target_dbname", "target_host", "target_name", "target_schema", "target_type", "target_user",
    "target_pass", "target_threads", "run_started_at", "invocation_id", "thread_id",
)  # fmt: skip


class SparkHooks:
    """The classes keep their fields in double quotes and expect PostgreSQL's target: here Spark's."""

    table: str

    def make_table(self, project: Any) -> None:
        columns = ", ".join(f"{f} {'int' if f == 'target_threads' else 'string'}" for f in FIELDS)
        project.run_sql(f"drop table if exists {{schema}}.{self.table}")
        project.run_sql(f"create table {{schema}}.{self.table} ({columns})")

    def check_hooks(self, state: str, project: Any, host: str, count: int = 1) -> None:
        query = f"select {', '.join(FIELDS)} from {{schema}}.{self.table} where test_state = '{state}'"
        found = [dict(zip(FIELDS, row)) for row in project.run_sql(query, fetch="all")]
        assert len(found) == count
        for row in found:
            assert row["target_host"] == host
            assert row["target_name"] == "default"
            assert row["target_schema"] == project.test_schema
            assert row["target_threads"] == 4
            assert row["target_type"] == "sparktemporal"
            assert row["run_started_at"]
            assert row["invocation_id"]
            assert re.match("Thread-|MainThread", row["thread_id"])


class SparkModelHooks(SparkHooks):
    table = "on_model_hook"

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        self.make_table(project)

    #: `vacuum`, the hook outside a transaction, is not a statement of Spark's
    both = {"sql": "analyze table {{ this.schema }}.on_model_hook compute statistics", "transaction": False}


class TestPrePostModelHooks(SparkModelHooks, BasePrePostModelHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        hooks = {"pre-hook": [MODEL_PRE_HOOK, self.both], "post-hook": [self.both, MODEL_POST_HOOK]}
        return {"models": {"test": hooks}}


class TestPrePostModelHooksUnderscores(SparkModelHooks, BasePrePostModelHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        hooks = {"pre_hook": [MODEL_PRE_HOOK, self.both], "post_hook": [self.both, MODEL_POST_HOOK]}
        return {"models": {"test": hooks}}


class TestHookRefs(SparkModelHooks, BaseHookRefs):
    pass


class TestHooksRefsOnSeeds(BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksInConfig(SparkModelHooks, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigKwargs(SparkModelHooks, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostModelHooksInConfigWithCount(SparkModelHooks, BasePrePostModelHooksInConfigWithCount):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        hooks = {"pre-hook": [MODEL_PRE_HOOK, self.both], "post-hook": [self.both, MODEL_POST_HOOK]}
        return {"models": {"test": hooks}}


class TestDuplicateHooksInConfigs(BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(SparkHooks, BasePrePostRunHooks):
    table = "on_run_hook"

    @pytest.fixture(scope="function")
    def setUp(self, project, monkeypatch):
        monkeypatch.setenv("TERM_TEST", "TESTING")
        self.make_table(project)
        for table in ("schemas", "db_schemas"):
            project.run_sql(f"drop table if exists {{schema}}.{table}")

    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Spark's STRING for TEXT; else the original's."""
        drop = "drop table {{ target.schema }}.%s_hook_order_test"
        make = "create table {{ target.schema }}.%s_hook_order_test (id int)"
        insert = "insert into {{ target.schema }}.%s values {%% for %s %%}%s{{ ', ' if not loop.last }}{%% endfor %%}"
        return {
            "on-run-start": [
                "{{ custom_run_hook('start', target, run_started_at, invocation_id) }}",
                make % "start",
                drop % "start",
                "{{ log(env_var('TERM_TEST'), info=True) }}",
            ],
            "on-run-end": [
                "{{ custom_run_hook('end', target, run_started_at, invocation_id) }}",
                make % "end",
                drop % "end",
                "create table {{ target.schema }}.schemas (schema string)",
                insert % ("schemas", "schema in schemas", "('{{ schema }}')"),
                "create table {{ target.schema }}.db_schemas (db string, schema string)",
                insert % ("db_schemas", "db, schema in database_schemas", "('{{ db }}', '{{ schema }}')"),
            ],
            "seeds": {"quote_columns": False},
        }

    def assert_used_schemas(self, project):
        """The database is None, and the hook wrote its name."""
        assert project.run_sql("select * from {schema}.schemas", fetch="all") == [(project.test_schema,)]
        assert project.run_sql("select * from {schema}.db_schemas", fetch="all") == [("None", project.test_schema)]


class TestAfterRunHooks(BaseAfterRunHooks):
    def test_missing_column_pre_hook(self, project):
        """dbt-spark's method session raises the error of a statement as a DbtRuntimeError."""
        with pytest.raises(DbtRuntimeError, match="TABLE_OR_VIEW_NOT_FOUND"):
            run_dbt(["run"], expect_pass=False)
