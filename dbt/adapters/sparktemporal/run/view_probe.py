"""The test whether a catalog keeps a view: a view is made, for commits also replaced, and dropped.

EXPLAIN CREATE VIEW is no test: EXPLAIN refuses views that catalogs do keep, and no plan tells how long a text may be.

| catalog | longest text of a view |
|---|---|
| Hive's metastore in Derby | 32,700 characters (LONG VARCHAR) |
| Hive's metastore in MySQL, Postgres | 16 MB (MEDIUMTEXT), 1 GB (text) |
| AWS Glue | some 400,000 characters |
| in memory, Iceberg's | any |
"""

from __future__ import annotations

import uuid

from ..engine import ownership
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words
from ..temporal.sql.text.dialect import quote
from . import rights

WITH_VIEWS = (
    "a catalog that makes, replaces and drops views: spark_catalog, one of Iceberg of type rest, jdbc, hive or nessie, "
    "or, from Spark 4.2 on, any that implements all of Spark's ViewCatalog and keeps the properties of a view"
)


def refusal(warehouse: Warehouse, target: ModelRelations, schema: str, size: int = 0) -> SparkError | None:
    """The error if a schema keeps no view whose text has `size` bytes; None if it keeps the view. The view is dropped.

    Raises Refusal for a user who may make no view.
    """
    view = ".".join(filter(None, (schema, quote(_name()))))
    with rights.in_words(target):
        error = _failure(warehouse, f"CREATE VIEW {view} AS SELECT length('{'x' * size}') AS a")
        if error is None:
            warehouse.rows(f"DROP VIEW IF EXISTS {view}")
    return error


def refusal_of_commits(warehouse: Warehouse, target: ModelRelations, replace: str) -> SparkError | None:
    """The error where the schema of a model makes no views; None where it does all that commits need.

    replace: the verb by which commits replace a view. Raises Refusal where a view cannot be replaced or dropped, or
    loses its properties, and for a user who may make no view.
    """
    name = _name()
    view = target.table(name)
    with rights.in_words(target):
        error = _failure(warehouse, f"CREATE VIEW {view} {ownership.marked(target)} AS SELECT 1 AS a")
        if error is not None:
            return error
        is_marked = ownership.is_marked(warehouse, target, name)
        replaced = _failure(warehouse, f"{replace} {view} AS SELECT 2 AS a")
        dropped = _failure(warehouse, f"DROP VIEW IF EXISTS {view}")
    left = f". The view {view}, which was made to try, stays" if dropped else ""
    failed = {"replaces": replaced, "drops": dropped}
    for does, error in failed.items():
        if error is not None:
            raise Refusal(
                "ST523",
                f"{_place(warehouse, target)} makes views and {does} none",
                f"a commit replaces a view by one statement, and what is left behind is dropped. Spark's words: "
                f"{spark_words(error)}{left}",
                WITH_VIEWS,
            )
    if not is_marked:
        raise Refusal(
            "ST524",
            f"{_place(warehouse, target)} keeps no properties of a view",
            "a property marks the views of a model. Without it, no later run would know them as the model's",
            WITH_VIEWS,
        )
    return None


def _place(warehouse: Warehouse, target: ModelRelations) -> str:
    return f"schema {target.schema} of the catalog {warehouse.catalog()}, which"


def _name() -> str:
    return "mz_probe_" + uuid.uuid4().hex


def _failure(warehouse: Warehouse, sql: str) -> SparkError | None:
    """The error of a statement, or None. Raises SparkError for a missing right and a failed connection or job."""
    try:
        warehouse.rows(sql)
    except SparkError as error:
        if Cause.DENIED.is_said_by(error):
            raise
        error.expect(Cause.NOT_TAKEN)
        return error
    return None
