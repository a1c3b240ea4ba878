"""Every class of dbt-tests-adapter is inherited in this folder, or is in the table below with the reason why not."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

#: the version whose classes were looked through; a newer one is looked through when constraints.txt takes it
LOOKED_THROUGH = "1.20.0"

#: a class, or a module that ends in a dot and stands for all its classes -> why it is not inherited
NOT_HERE = {
    "aliases.test_aliases.BaseSameAliasDifferentDatabases": "Spark's relations have no database",
    "basic.test_get_catalog_for_single_relation.": "dbt-spark has no catalog of a single relation",
    "caching.test_caching.BaseCachingTest": "no models of its own",
    "column_types.": "dbt knows PostgreSQL's names of types, and dbt-spark adds none of Spark's",
    "constraints.test_constraints.BaseConstraintsColumnsEqual": "no models of its own",
    "constraints.test_constraints.BaseConstraintsRollback": "it wants SET NOT NULL, which is Databricks'",
    "constraints.test_constraints.BaseContractSqlHeader": "no models of its own",
    "constraints.test_constraints.BaseIncrementalConstraintsRollback": "it wants SET NOT NULL, which is Databricks'",
    "dbt_clone.test_dbt_clone.BaseCloneSameSourceAndTarget": "dbt-spark's clone does not look whether they are one",
    "empty.test_empty.BaseTestEmptySeedFlag": "dbt-core 1.11 has no seed --empty",
    "functions.": "dbt-spark makes no functions: the statement is PostgreSQL's, which Spark does not read",
    "grants.": "embedded Spark has no users and grants nothing",
    "materialized_view.": "dbt-spark has no materialized views",
    "persist_docs.test_persist_docs.BasePersistDocsQuotedDescriptionNotAppliedOnMismatch":
        "names that differ in case are one column in Spark",
    "python_model.": "dbt-spark submits Python models to Databricks only",
    "store_test_failures_tests.test_store_test_failures.StoreTestFailuresBase": "no test of its own",
    "utils.base_array_utils.": "no models of its own",
    "utils.base_utils.": "no models of its own",
    "utils.data_types.base_data_type_macro.": "no models of its own",
    "utils.test_current_timestamp.BaseCurrentTimestamp": "one or the other of the two that inherit it",
    "utils.test_current_timestamp.BaseCurrentTimestampAware": "Spark's timestamps reach Python without a zone",
    "utils.test_escape_single_quotes.BaseEscapeSingleQuotesQuote": "Spark escapes a quote by a backslash",
}  # fmt: skip


def classes_of(folder: Path, package: str) -> Iterator[type]:
    for file in sorted(folder.rglob("*.py")):
        name = ".".join([package, *file.relative_to(folder).with_suffix("").parts])
        if not name.endswith(("__init__", "conftest")):
            module = importlib.import_module(name)
            yield from (c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == name)


def scenarios() -> dict[str, type]:
    """The package's classes that test something; its own Test* classes are the ones for PostgreSQL."""
    package = "dbt.tests.adapter"
    (folder,) = importlib.util.find_spec(package).submodule_search_locations
    return {
        f"{c.__module__.removeprefix(package + '.')}.{c.__name__}": c
        for c in classes_of(Path(folder), package)
        if any(name.startswith("test") for name in dir(c)) and not c.__name__.startswith("Test")
    }


def inherited() -> set[type]:
    """The classes that one of ours names as its base."""
    ours = [c for c in classes_of(Path(__file__).parent, __package__) if c.__name__.startswith("Test")]
    return {base for c in ours for base in c.__bases__}


@pytest.mark.skipif(version("dbt-tests-adapter") != LOOKED_THROUGH, reason=f"the table is that of {LOOKED_THROUGH}")
def test_every_class_is_inherited_or_has_a_reason():
    known, ours = scenarios(), inherited()

    def reasons(name: str) -> list[str]:
        return [entry for entry in NOT_HERE if name == entry or (entry.endswith(".") and name.startswith(entry))]

    forgotten = [name for name, c in known.items() if c not in ours and not reasons(name)]
    both = [name for name, c in known.items() if c in ours and name in NOT_HERE]
    stale = set(NOT_HERE) - {entry for name in known for entry in reasons(name)}
    assert (forgotten, both, stale) == ([], [], set())
