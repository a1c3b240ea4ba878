"""Data tests that store their failures, and unit tests."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.store_test_failures_tests import _files as store_failures
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)
from dbt.tests.adapter.unit_testing import test_quoted_reserved_word_column_names as reserved_word
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


class TestStoreFailures(BaseStoreTestFailures):
    pass


class TestStoreFailuresLimit(BaseStoreTestFailuresLimit):
    pass


class TestStoreFailuresAsInteractions(StoreTestFailuresAsInteractions):
    pass


class TestStoreFailuresAsProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreFailuresAsProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


class TestStoreFailuresAsProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestStoreFailuresAsGeneric(StoreTestFailuresAsGeneric):
    @pytest.fixture(scope="class")
    def models(self):
        """The seed's empty cell is NULL again: dbt-spark's method session makes the text 'None' of it."""
        chipmunks = (
            "{{ config(materialized='table') }} "
            "select name, nullif(shirt, 'None') as shirt from {{ ref('chipmunks_stage') }}"
        )
        return {"chipmunks.sql": chipmunks, "schema.yml": store_failures.SCHEMA_YML}


class TestStoreFailuresAsExceptions(StoreTestFailuresAsExceptions):
    pass


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self):
        """Spark's types, each two runs of dbt."""
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
        ]


class TestUnitTestCaseInsensivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestUnitTestQuotedReservedWordColumnNames(BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self):
        """Spark quotes names by backticks."""
        return {
            "my_model.sql": reserved_word.my_model_sql,
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": reserved_word.test_my_model_csv_fixtures_yml,
        }


class TestUnitTestingVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass
