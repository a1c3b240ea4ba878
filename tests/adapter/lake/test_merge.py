"""Incremental models by MERGE, comments, clones."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneNotPossible, BaseClonePossible
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
)
from dbt.tests.util import run_dbt

MERGE = {"+file_format": "delta", "+incremental_strategy": "merge"}


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestIncrementalPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """dbt-spark has no delete+insert: by merge, whose predicates name the side."""
        return {"models": {**MERGE, "+incremental_predicates": ["dbt_internal_dest.id != 2"]}}


class TestPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """The same by the config's other name."""
        return {"models": {**MERGE, "+predicates": ["dbt_internal_dest.id != 2"]}}


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """dbt-spark appends unless told to merge, and its method session makes the text 'None' of an empty cell."""
        null = "update {{ this }} set city = null where city = 'None'"
        return {"models": MERGE, "seeds": {"+file_format": "delta", "+post-hook": null}}

    def fail_to_build_inc_missing_unique_key_column(self, incremental_model_name):
        """Delta from a package does not find the text of its error, which would name the column."""
        status, message = super().fail_to_build_inc_missing_unique_key_column(incremental_model_name)
        assert "DELTA_MERGE_UNRESOLVED_EXPRESSION" in message
        return status, "thisisnotacolumn"


class TestClonePossible(BaseClonePossible):
    def test_can_clone_true(self, project, unique_schema, other_schema):
        """Without --full-refresh over a clone that is there: Delta outside Databricks replaces empty tables only."""
        project.create_test_schema(other_schema)
        self.run_and_save_state(project.project_root, with_snapshot=True)
        clone = ["clone", "--state", "state", "--target", "otherschema"]
        assert len(run_dbt(clone)) == 4
        relations = project.adapter.list_relations(database=project.database, schema=other_schema)
        assert sorted(r.type for r in relations) == ["table", "table", "table", "view"]
        again = run_dbt(clone)
        assert len(again) == 4
        assert all("no-op" in r.message.lower() for r in again)


class TestCloneNotPossible(BaseCloneNotPossible):
    pass


def described(project: Any, name: str) -> dict[str, Any]:
    """A node of the catalog, from DESCRIBE: dbt-spark's own catalog carries no comments."""
    rows = project.run_sql(f"describe extended {{schema}}.{name}", fetch="all")
    end = next(i for i, row in enumerate(rows) if not row[0] or row[0].startswith("#"))
    comment = next((row[1] for row in rows[end:] if row[0] == "Comment"), None)
    return {
        "metadata": {"comment": comment or None},
        "columns": {row[0]: {"comment": row[2] or None} for row in rows[:end]},
    }


class TestPersistDocs(BasePersistDocs):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """dbt-spark comments the columns of tables of Delta."""
        return {"models": {"+file_format": "delta", "+persist_docs": {"relation": True, "columns": True}}}

    def test_has_comments_pglike(self, project):
        """See `described`."""
        self._assert_has_table_comments(described(project, "table_model"))
        self._assert_has_view_comments(described(project, "view_model"))
        self._assert_has_view_comments(described(project, "no_docs_model"), False, False)


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """dbt-spark comments the columns of tables of Delta."""
        return {"models": {"+file_format": "delta", "+persist_docs": {"columns": True}}}

    def test_missing_column(self, project):
        """See `described`."""
        columns = described(project, "missing_column")["columns"]
        assert columns["id"]["comment"].startswith("test id column description")


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """dbt-spark comments the columns of tables of Delta."""
        docs = {"relation": True, "columns": True}
        return {"models": {"+file_format": "delta", "+materialized": "table", "+persist_docs": docs}}

    @pytest.fixture(scope="class")
    def run_has_comments(self, project):
        """See `described`."""

        def check() -> None:
            run_dbt()
            assert described(project, "quote_model")["columns"]["2id"]["comment"].startswith("XXX")

        return check
