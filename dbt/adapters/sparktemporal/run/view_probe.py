"""What views a catalog keeps, asked of the catalog itself: a view is made and dropped.

EXPLAIN CREATE VIEW is no answer: it denies views that catalogs have, and no plan tells how long a text may be. That
depends on the database behind a metastore:

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
    """Why a schema keeps no view whose text has `size` bytes; None where it does. Nothing is left of the view.

    A user who may make no view says nothing about the catalog: that is raised as Refusal.
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
