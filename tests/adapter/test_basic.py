"""Materializations, relations, the cache, names."""

from __future__ import annotations

import re

import pytest
from dbt.tests.adapter.aliases import fixtures as alias_fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentSchemas,
)
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import check_relations_equal, read_file, run_dbt

pytestmark = pytest.mark.metastore


class SparkLiterals:
    @pytest.fixture(scope="class")
    def macros(self):
        """Spark has no type TEXT to cast to."""
        return {
            "cast.sql": alias_fixtures.MACROS__CAST_SQL.replace("::text", ""),
            "expect_value.sql": alias_fixtures.MACROS__EXPECT_VALUE_SQL,
        }


@pytest.mark.landing
class TestAliases(SparkLiterals, BaseAliases):
    pass


@pytest.mark.deep
class TestAliasErrors(BaseAliasErrors):
    pass


@pytest.mark.deep
class TestSameAliasDifferentSchemas(SparkLiterals, BaseSameAliasDifferentSchemas):
    pass


@pytest.mark.landing
class TestAdapterMethod(BaseAdapterMethod):
    pass


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestSingularTests(BaseSingularTests):
    pass


@pytest.mark.deep
class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


@pytest.mark.landing
class TestTableMaterialization(BaseTableMaterialization):
    pass


@pytest.mark.landing
class TestValidateConnection(BaseValidateConnection):
    pass


class SparkCache:
    def run_and_inspect_cache(self, project, run_args=None):
        """Without the database, which Spark's relations do not have."""
        found = []
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            found.append((relation.schema.lower(), relation.identifier.lower()))
        assert found[0] == found[1]
        assert found[0][0] == project.test_schema


@pytest.mark.deep
class TestCachingLowercaseModel(SparkCache, BaseCachingLowercaseModel):
    pass


@pytest.mark.deep
class TestCachingUppercaseModel(SparkCache, BaseCachingUppercaseModel):
    pass


@pytest.mark.deep
class TestCachingSelectedSchemaOnly(SparkCache, BaseCachingSelectedSchemaOnly):
    pass


@pytest.mark.deep
class TestNoPopulateCache(SparkCache, BaseNoPopulateCache):
    pass


@pytest.mark.deep
class TestConcurrency(BaseConcurrency):
    pass


def ctes_of(project, model: str) -> list[str]:
    """The names that a view's statement gives to ephemeral models."""
    sql = read_file(project.project_root, "target", "run", "test", "models", f"{model}.sql")
    return re.findall(r"__dbt__cte__(\w+) as \(", sql)


@pytest.mark.deep
class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project):
        """The statement is compared by its CTEs: the original expects PostgreSQL's text."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        check_relations_equal(project.adapter, ["seed", "dependent", "double_dependent", "super_dependent"])
        assert ctes_of(project, "double_dependent") == ["base", "base_copy"]


@pytest.mark.deep
class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project):
        """The statement is compared by its CTEs: the original expects PostgreSQL's text."""
        assert len(run_dbt(["run"])) == 2
        assert ctes_of(project, "root_view") == ["ephemeral_level_two", "ephemeral"]


@pytest.mark.deep
class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass


@pytest.mark.landing
class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass


@pytest.mark.deep
class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


@pytest.mark.deep
class TestSimpleCopy(SimpleCopyBase):
    #: Spark makes materialized views in pipelines only
    test_simple_copy_with_materialized_views = None


@pytest.mark.deep
class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        """The original names PostgreSQL."""
        return dbt_profile_target


@pytest.mark.deep
class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    pass
