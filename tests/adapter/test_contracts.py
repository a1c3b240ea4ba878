"""Contracts over Parquet, and comments on columns that are not there. Comments that are kept are in lake/."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsQuotedColumnCaseSensitive,
)

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


class Parquet:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Named, since dbt-spark takes a contract without a format for Delta's, and adds constraints to the table."""
        return {"models": {"+file_format": "parquet"}}


class SparkColumnsEqual(Parquet):
    """The classes name PostgreSQL's types, also in the contracts of their models."""

    sql: dict[str, str]

    @pytest.fixture(scope="class")
    def models(self):
        return {**self.sql, "constraints_schema.yml": fixtures.model_schema_yml.replace("text", "string")}

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        """Two that differ: a run of dbt for each, in two tests, in three classes."""
        return [["1", "int", "int"], ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"]]


class TestTableConstraintsColumnsEqual(SparkColumnsEqual, BaseTableConstraintsColumnsEqual):
    sql = {
        "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
        "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
    }


class TestViewConstraintsColumnsEqual(SparkColumnsEqual, BaseViewConstraintsColumnsEqual):
    sql = {
        "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
        "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
    }


class TestIncrementalConstraintsColumnsEqual(SparkColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    sql = {
        "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
        "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
    }


class SparkSqlHeader(Parquet):
    """Spark's statement to set the zone is no header: one statement cannot begin with another."""

    sql: str

    @pytest.fixture(scope="class")
    def models(self):
        header = "set session time zone 'Asia/Kolkata';"
        assert header in self.sql
        return {
            "my_model_contract_sql_header.sql": self.sql.replace(header, "/* a header */").replace(
                "current_setting('timezone')", "current_timezone()"
            ),
            "constraints_schema.yml": fixtures.model_contract_header_schema_yml.replace("text", "string"),
        }


class TestTableContractSqlHeader(SparkSqlHeader, BaseTableContractSqlHeader):
    sql = fixtures.my_model_contract_sql_header_sql


class TestIncrementalContractSqlHeader(SparkSqlHeader, BaseIncrementalContractSqlHeader):
    sql = fixtures.my_model_incremental_contract_sql_header_sql


class SparkDdl(Parquet):
    """Spark's statement has no constraints in it; the columns are in the contract's order."""

    sql: str
    schema: str
    more: dict[str, str] = {"foreign_key_model.sql": fixtures.foreign_key_model_sql}
    columns = "id, color, date_day"
    query = (
        "-- depends_on: <foreign_key_model_identifier>\n"
        "select 'blue' as color, 1 as id, '2019-01-01' as date_day"
    )  # fmt: skip

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        return {
            "my_model.sql": self.sql,
            "constraints_schema.yml": self.schema.replace("text", "string"),
            **self.more,
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return (
            f"create table <model_identifier> using parquet as "
            f"select {self.columns} from ( {self.query} ) as model_subq"
        )


class TestConstraintsRuntimeDdlEnforcement(SparkDdl, BaseConstraintsRuntimeDdlEnforcement):
    sql = fixtures.my_model_wrong_order_depends_on_fk_sql
    schema = fixtures.model_fk_constraint_schema_yml


class TestIncrementalConstraintsRuntimeDdlEnforcement(SparkDdl, BaseIncrementalConstraintsRuntimeDdlEnforcement):
    sql = fixtures.my_model_incremental_wrong_order_depends_on_fk_sql
    schema = fixtures.model_fk_constraint_schema_yml


class TestModelConstraintsRuntimeEnforcement(SparkDdl, BaseModelConstraintsRuntimeEnforcement):
    sql = fixtures.my_model_wrong_order_depends_on_fk_sql
    schema = fixtures.constrained_model_schema_yml


class TestConstraintQuotedColumn(SparkDdl, BaseConstraintQuotedColumn):
    sql = fixtures.my_model_with_quoted_column_name_sql
    schema = fixtures.model_quoted_column_schema_yml
    more = {}
    columns = "id, `from`, date_day"
    query = "select 'blue' as `from`, 1 as id, '2019-01-01' as date_day"


class TestIncrementalForeignKeyConstraint(Parquet, BaseIncrementalForeignKeyConstraint):
    pass


class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass
