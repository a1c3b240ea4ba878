"""What of a schema a model owns: all that a run creates carries a mark, and nothing without one is replaced or dropped.

| relation | its mark |
|---|---|
| `<model>__live` | the state in its text |
| `<model>__diffs`, chains, lists of files, statistics | the property `mz_model`, the name of the model |
| `<model>__lock` | the property `mz_run`, the run that holds it |
| `<model>` | none: the relation of a model's own name is replaced, as dbt does with any model |

Earlier versions marked neither chains nor `<model>__diffs`. What a valid state names is the model's without a mark, and
so is a view `<model>__diffs` beside a valid state that begins with the columns of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import ForeignRelation
from ..temporal.diffs.state import is_commit
from ..temporal.sql.dialect import string_literal
from ..temporal.sql.identifiers import Identifier
from .warehouse import MISSING, ModelRelations, Warehouse, live_view

#: the property that says whose a table or view is (Spark hides the values of those that are named token)
MARK = "mz_model"
#: what the query of a `<model>__diffs` begins with
_READABLE = re.compile(r"SELECT (mz_timestamp|CAST\(NULL AS BIGINT\) AS `mz_timestamp`),", re.IGNORECASE)


def marked(target: ModelRelations) -> str:
    """The clause of a CREATE that marks what it creates."""
    return f"TBLPROPERTIES ('{MARK}' = {string_literal(target.model)})"


def is_marked(warehouse: Warehouse, target: ModelRelations, name: str) -> bool:
    """Whether a relation beside a model is the model's own by its mark."""
    try:
        properties = dict(row[:2] for row in warehouse.rows(f"SHOW TBLPROPERTIES {target.table(name)}"))
    except Exception as error:
        if MISSING.search(str(error)):
            return False
        raise
    return Identifier(str(properties.get(MARK))) == Identifier(target.model)


def owns_diffs(warehouse: Warehouse, target: ModelRelations) -> bool:
    """Whether a `<model>__diffs` that is there is the model's own."""
    if is_marked(warehouse, target, f"{target.model}__diffs"):
        return True
    view = warehouse.view(target.name("__diffs"))
    if view is None or not _READABLE.match(" ".join(view.text.split())):
        return False
    live = live_view(warehouse, target)
    return live is not None and is_commit(live.text, target.model)


def says_marked(information: str | None) -> bool:
    """Whether what Spark says of a relation (SHOW TABLE EXTENDED) has a mark in it: then nobody need be asked."""
    return bool(re.search(rf"^Table Properties: \[(.*, )?{MARK}=", information or "", re.MULTILINE))


def refuse_foreign_diffs(warehouse: Warehouse, target: ModelRelations) -> None:
    """An error where the `<model>__diffs` that is there is somebody else's."""
    if not owns_diffs(warehouse, target):
        raise ForeignRelation(target.name("__diffs"), target.model)


def refuse_foreign_lock(target: ModelRelations, properties: Mapping[str, str]) -> None:
    """An error where `<model>__lock` is somebody else's, however old."""
    if "mz_run" not in properties:
        raise ForeignRelation(target.name("__lock"), target.model)
