"""Ownership of relations: a run replaces or drops only relations that carry the model's mark, or that the state names.

| relation | its mark |
|---|---|
| `<model>__live` | the state in its text |
| `<model>__diffs`, `<model>__late` | the property `mz_model`: the name of the model, see `visible` |
| tables of a run: chains, lists of files, statistics, late rows, a long state | the property `mz_model` |
| `<model>__lock` | the property `mz_run`, the run that holds the lock |
| `<model>` | none is needed: the relation of a model's own name is replaced, as dbt does with any model |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from ..errors import ForeignRelation
from ..temporal.sql.spark.errors import Cause, SparkError
from ..temporal.sql.text.dialect import string_literal
from ..temporal.sql.text.identifiers import folded
from .model_relations import ModelRelations
from .warehouse import Warehouse

#: the property that names the owner of a table or view
MARK = "mz_model"
#: Parquet keeps columns of many values as differences: instants take a third of the room, and are read no slower
_DELTA_ENCODED = "OPTIONS ('parquet.writer.version' = 'PARQUET_2_0')"
#: some versions of Spark hide the value of a property whose name or value has one of these words
_HIDDEN = re.compile("url|token|secret|passw|key|credential", re.IGNORECASE)


def visible(value: str) -> str:
    """The value of a property: the value itself, or a hash of it where Spark would hide the value.

    >>> visible("orders"), visible("hourly_orders")
    ('orders', '41268292127a')
    """
    return hashlib.sha256(folded(value).encode()).hexdigest()[:12] if _HIDDEN.search(value) else value


def marked(target: ModelRelations) -> str:
    """The clause of a CREATE that marks the new relation."""
    return f"TBLPROPERTIES ('{MARK}' = {string_literal(visible(target.model))})"


def using(target: ModelRelations, file_format: str) -> str:
    """The clauses of a CREATE TABLE that tell the format of stored rows and mark their owner."""
    options = f" {_DELTA_ENCODED}" if file_format == "parquet" else ""
    return f"USING {file_format}{options} {marked(target)}"


def is_marked(warehouse: Warehouse, target: ModelRelations, name: str) -> bool:
    """Whether a relation carries the mark of the model; False where there is no such relation."""
    return bool(_is_marked(warehouse, target, name))


def _is_marked(warehouse: Warehouse, target: ModelRelations, name: str) -> bool | None:
    """Whether a relation carries the mark of the model; None where there is no such relation."""
    try:
        properties = dict(row[:2] for row in warehouse.rows(f"SHOW TBLPROPERTIES {target.table(name)}"))
    except SparkError as error:
        error.expect(Cause.NO_RELATION)
        return None
    return folded(str(properties.get(MARK))) in (folded(target.model), visible(target.model))


def says_marked(information: str | None) -> bool:
    """Whether a relation carries the mark of any model, as dbt's cache shows. The cache saves a query.

    information: what SHOW TABLE EXTENDED told of the relation.
    """
    return bool(re.search(rf"^Table Properties: \[(.*, )?{MARK}=", information or "", re.MULTILINE))


def refuse_foreign(warehouse: Warehouse, target: ModelRelations, suffix: str) -> bool:
    """Raise ForeignRelation if `<model><suffix>` exists without the model's mark -> whether the relation exists.

    The relation may be gone, because the caller's list of relations may be older than a drop.
    """
    is_ours = _is_marked(warehouse, target, f"{target.model}{suffix}")
    if is_ours is False:
        raise ForeignRelation(target.name(suffix), target.model)
    return is_ours is not None


def refuse_foreign_lock(target: ModelRelations, properties: Mapping[str, str]) -> None:
    """Raise ForeignRelation for a `<model>__lock` that no run made. properties: of the relation."""
    if "mz_run" not in properties:
        raise ForeignRelation(target.name("__lock"), target.model)
