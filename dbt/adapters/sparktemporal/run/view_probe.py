"""The test whether a catalog keeps a view: a view is made and dropped.

EXPLAIN CREATE VIEW is no test: it refuses views that catalogs do keep, and no plan tells how long a text may be. The
longest text depends on the database behind a metastore:

| catalog | characters of a view's text |
|---|---|
| Hive's metastore in Derby | 32,700: the column is a LONG VARCHAR, in MySQL a MEDIUMTEXT, in Postgres a text |
| AWS Glue | some 400,000 |
| in memory, Iceberg's | any number |
"""

from __future__ import annotations

import uuid

from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.dialect import quote
from . import rights


def refusal(warehouse: Warehouse, target: ModelRelations, schema: str, size: int = 0) -> SparkError | None:
    """The error where a schema keeps no view whose text has `size` bytes; None where it does. The view is dropped.

    Raises Refusal for a user who may make no view.
    """
    view = ".".join(filter(None, (schema, quote("mz_probe_" + uuid.uuid4().hex))))
    with rights.in_words(target):
        try:
            warehouse.rows(f"CREATE VIEW {view} AS SELECT length('{'x' * size}') AS a")
        except SparkError as error:
            if Cause.DENIED.is_said_by(error):
                raise
            return error
        warehouse.rows(f"DROP VIEW IF EXISTS {view}")
    return None
