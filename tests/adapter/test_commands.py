"""docs, show, debug, --empty, --sample, comments of queries, functions that are refused."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.catalog import files as catalog_files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneSameTargetAndState
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugInvalidProjectPostgres, BaseDebugPostgres
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)
from dbt.tests.adapter.empty import _models as empty_models
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.functions.test_udfs import ErrorForUnsupportedType, PythonUDFNotSupported
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments,
    BaseMacroArgsQueryComments,
    BaseMacroInvalidQueryComments,
    BaseMacroQueryComments,
    BaseNullQueryComments,
    BaseQueryComments,
)
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


SPARK_CATALOG = {
    "id_type": "long",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
    "model_stats": expected_catalog.no_stats(),
}


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project, profile_user):
        return expected_catalog.base_expected_catalog(project, role=profile_user, **SPARK_CATALOG)


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project, profile_user):
        """dbt-spark counts columns from 0; a table made by a query has statistics, whose bytes depend on the writer."""
        catalog = expected_catalog.expected_references_catalog(
            project, role=profile_user, bigint_type="long", **SPARK_CATALOG
        )
        for node in [*catalog["nodes"].values(), *catalog["sources"].values()]:
            node["columns"] = {name: {**c, "index": c["index"] - 1} for name, c in node["columns"].items()}
        del catalog["nodes"]["model.test.ephemeral_summary"]["stats"]
        return catalog


class TestCatalogRelationTypes(CatalogRelationTypes):
    @pytest.fixture(scope="class", autouse=True)
    def models(self):
        """Without a materialized view, which dbt-spark does not make."""
        return {"my_table.sql": catalog_files.MY_TABLE, "my_view.sql": catalog_files.MY_VIEW}

    @pytest.mark.parametrize(
        "node_name,relation_type",
        [("seed.test.my_seed", "table"), ("model.test.my_table", "table"), ("model.test.my_view", "view")],
    )
    def test_relation_types_populate_correctly(self, docs, node_name, relation_type):
        """dbt-spark's names of the types."""
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


class TestDebug(BaseDebugPostgres):
    pass


class TestDebugInvalidProject(BaseDebugInvalidProjectPostgres):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestShowSqlHeader(BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "PARSE_SYNTAX_ERROR"


class TestEmptyFlag(BaseTestEmpty):
    pass


class TestEmptyFlagInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    @pytest.fixture(scope="class")
    def models(self):
        """Without what changes or drops columns, which Spark does not, and without DESCRIBE of the empty subquery."""
        return {
            "schema.yml": empty_models.SCHEMA,
            "control.sql": empty_models.CONTROL,
            "alter_relation_comment.sql": empty_models.ALTER_RELATION_COMMENT,
            "alter_column_comment.sql": empty_models.ALTER_COLUMN_COMMENT,
            "truncate_relation.sql": empty_models.TRUNCATE_RELATION,
        }

    @pytest.mark.parametrize(
        "model",
        ["control", "alter_relation_comment", "alter_column_comment", "truncate_relation"],
    )
    def test_run(self, project, model):
        super().test_run(project, model)


class TestSampleMode(BaseSampleModeTest):
    pass


class TestQueryComments(BaseQueryComments):
    pass


class TestMacroQueryComments(BaseMacroQueryComments):
    pass


class TestMacroArgsQueryComments(BaseMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(BaseMacroInvalidQueryComments):
    pass


class TestNullQueryComments(BaseNullQueryComments):
    pass


class TestEmptyQueryComments(BaseEmptyQueryComments):
    pass


class TestFunctionErrorForUnsupportedType(ErrorForUnsupportedType):
    pass


class TestFunctionPythonNotSupported(PythonUDFNotSupported):
    pass
