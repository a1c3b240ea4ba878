"""The SQL table function of a model with `at_function`: one statement after each commit replaces the function.

A function of the commit before still answers as that commit did, from chains that stay for `diffs_retention`. A run
that finds nothing new reads the comment of the function, and replaces a function that a killed run left outdated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..config import TemporalConfig
from ..engine.model_relations import ModelRelations
from ..engine.warehouse import Warehouse
from ..errors import Refusal
from ..temporal.decision import Statement
from ..temporal.diffs import function_sql
from ..temporal.diffs.state import State
from ..temporal.rewrite.core import TypedCore
from ..temporal.sql.spark.errors import spark_words
from ..temporal.sql.text.dialect import quote
from ..temporal.sql.text.identifiers import SESSION_CATALOG, Identifiers, folded
from .plan import RunPlan

_NO_FUNCTION = re.compile(r"SQLFunctionNode|UNSUPPORTED_SUBQUERY|CORRELATED_|UNSUPPORTED_SQL_UDF")
_TEMPORARY = re.compile(
    r"\[INVALID_TEMP_OBJ_REFERENCE\].* of the type FUNCTION .*temporary object (`[^`]+`) of the type VIEW"
)
_IN_DBT = "{{{{ temporal_as_of(ref('{}'), …) }}}}"


def name_of(target: ModelRelations) -> str:
    """The name of the function, quoted, without its schema."""
    return quote(f"{target.model}{function_sql.SUFFIX}")


def refuse_impossible(warehouse: Warehouse, target: ModelRelations, config: TemporalConfig, old: State | None) -> None:
    """Refuse the config where Spark keeps no SQL functions, or has another function of that name."""
    if not config.at_function:
        return
    name = f"{target.model}{function_sql.SUFFIX}"
    version = warehouse.version()
    if int(version.split(".")[0]) < 4:
        raise Refusal(
            "ST507",
            f"at_function of {target.model}, on Spark {version}",
            "table functions in SQL came with Spark 4.0",
            "no at_function; in dbt " + _IN_DBT.format(target.model),
        )
    if warehouse.catalog_is_named():
        raise Refusal(
            "ST508",
            f"at_function of {target.model}, in the catalog {warehouse.catalog()}",
            f"Spark keeps SQL functions in {SESSION_CATALOG} alone",
            "no at_function; in dbt " + _IN_DBT.format(target.model),
        )
    if not (old and old.at_function) and run_of(warehouse, target) == "":
        raise Refusal(
            "ST509",
            f"a function {target.schema}.{name}",
            f"no run of {target.model} made it, so none replaces it",
            "another name for one of the two, or no at_function",
        )


def refuse_columns(target: ModelRelations, config: TemporalConfig, cores: Sequence[TypedCore]) -> None:
    """Refuse a stored column named like the function: `<name>.instant` would be a field of that column."""
    name = f"{target.model}{function_sql.SUFFIX}"
    if config.at_function and name in Identifiers(column for core in cores for column, _ in core.columns):
        raise Refusal(
            "ST510",
            f"a column {name} in {target.model}, with at_function",
            "the function has that name, and its parameter is named by it",
            "an alias for the column, or no at_function",
        )


def run_of(warehouse: Warehouse, target: ModelRelations) -> str | None:
    """The run that made the function. "" where the function is not the model's; None where there is no function."""
    name = f"{target.model}{function_sql.SUFFIX}"
    pattern = re.sub(r"[^0-9A-Za-z_]", "*", name)
    listed = warehouse.rows(f"SHOW USER FUNCTIONS IN {target.schema} LIKE '{pattern}'")
    if folded(name) not in {folded(str(row[0]).rpartition(".")[2]) for row in listed}:
        return None
    described = warehouse.rows(f"DESCRIBE FUNCTION EXTENDED {target.schema}.{name_of(target)}")
    told = " ".join(str(row[0]) for row in described)
    found = re.search(r"mz_model (.+), as run (\S+) committed it", told)
    return found.group(2) if found and folded(found.group(1)) == folded(target.model) else ""


def publish(warehouse: Warehouse, target: ModelRelations, state: State, before: bool, is_new: bool) -> list[Statement]:
    """The statements that bring the function up to date with `state`.

    before: whether the last commit had a function. is_new: whether to replace the function without asking Spark which
    commit it shows.
    """
    if not state.at_function:
        return drop(target) if before else []
    if not is_new and run_of(warehouse, target) == state.run:
        return []
    return [Statement("the model at any instant", function_sql.create(state, name_of(target)))]


def refuse_unknown(plan: RunPlan, error: Exception) -> None:
    """Raise Refusal where Spark took the query as a view and does not take the query as a function."""
    if plan.config.at_function and (hidden := _TEMPORARY.search(str(error))):
        raise Refusal(
            "ST511",
            f"a temporary view {hidden.group(1)} in the session, while at_function of {plan.target.model} was made, "
            "whose query has a WITH of that name",
            "Spark takes the one for the other and makes no function. The view is right, and reads none of the session",
            f"DROP VIEW {hidden.group(1)} in the session, or another name for one of the two",
        ) from None
    if plan.config.at_function and _NO_FUNCTION.search(str(error)):
        raise Refusal(
            "ST512",
            f"at_function of {plan.target.model}, whose query has a part that Spark takes in no function",
            f"a parameter stands in nested queries there. The view is right. Spark's words: {spark_words(str(error))}",
            "no at_function; in dbt " + _IN_DBT.format(plan.target.model),
        ) from None


def drop(target: ModelRelations) -> list[Statement]:
    gone = f"DROP FUNCTION IF EXISTS {target.schema}.{name_of(target)}"
    return [Statement("the function of any instant", gone)]
