"""Puts the text of a view in place of its name, so that only the changes of a table below the view are read.

Spark keeps the settings under which a view was made, and evaluates the view under them in each session. So the text may
replace the view only in a session with the same settings. Spark 4 tells the settings of a view (DESCRIBE … AS JSON).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ...engine.warehouse import Warehouse
from ...errors import NotPlanned, Refusal, TemporalError
from ...temporal.ivm import linear_tables
from ...temporal.ivm.stack import stacked_name
from ...temporal.sql.names.ctes import cte_of
from ...temporal.sql.names.parsed_model import distinct_ctes
from ...temporal.sql.names.scope import alias_of, quote_name
from ...temporal.sql.spark import plans, same_query, settings
from ...temporal.sql.spark.errors import Cause, SparkError
from ...temporal.sql.text.dialect import fragment, parse, render
from ...temporal.sql.text.identifiers import folded, parts

#: the collation in which Spark compares texts, unless another one is named
_BINARY = "UTF8_BINARY"


class Closed(TemporalError):
    """A view whose text cannot stand in its place, and why."""


def open_views(
    warehouse: Warehouse, query: exp.Query, moved: Callable[[str], bool], plan_by_name: dict[str, str]
) -> exp.Query:
    """A query in which the text of a view replaces each view over a table that counts as moved. Raises Closed.

    moved: name of a table -> whether views over the table are to be replaced. plan_by_name: the plans that Spark was
    asked for already; the function adds to this mapping.
    """
    query, number = query.copy(), 0
    while True:
        for table, _ in linear_tables.tables(query):
            if stacked_name(table):
                continue
            plan = described(warehouse, table, plan_by_name)
            if plan and plans.views(plan) and any(map(moved, plans.tables_read(plan) or [])):
                _put(table, _text(warehouse, table, f"mz_{number}_"))
                number += 1
                break
        else:
            return query


def without_views(query: exp.Query, analyzed: str) -> dict[str, str]:
    """Name of a table of a query -> the plan of reading the table, made from a leaf of the query's plan `analyzed`.

    A table is left out if its name has no schema, or if not exactly one leaf has the name: nothing is guessed. Empty
    where the plan has a view, or reads something other than tables.
    """
    found: dict[str, str] = {}
    if plans.tables_read(analyzed) is None or plans.views(analyzed):
        return found
    leaves = plans.leaves_of_tables(analyzed)
    for table, _ in linear_tables.tables(query):
        if stacked_name(table) or not table.db or not isinstance(table.this, exp.Identifier):
            continue
        name = [folded(part.name) for part in table.parts]
        named = [leaf for read, leaf in leaves.items() if [folded(part) for part in parts(read)][-len(name) :] == name]
        if len(named) == 1:
            found[plain_name(table)] = f"the columns\n{named[0]}"
    return found


def described(warehouse: Warehouse, table: exp.Table, plan_by_name: dict[str, str]) -> str:
    """The analyzed plan of reading a table or view. plan_by_name: plans that Spark is not asked for again."""
    name = plain_name(table)
    if name not in plan_by_name:
        plan_by_name[name] = plans.analyzed(warehouse.explain(f"SELECT * FROM {name}"))
    return plan_by_name[name]


@dataclass(frozen=True)
class Made:
    """A view as it was made: its text and tree, the names of its columns, the schema of names without a schema."""

    text: str
    tree: exp.Query
    columns: tuple[str, ...]
    schema: str


def made(warehouse: Warehouse, name: str) -> Made:
    """A view by its name in SQL. Raises Closed where its text is not read here, or may mean something else here."""
    info = _description(warehouse, name)
    try:
        text, columns, place = info["view_text"], info["columns"], info["view_catalog_and_namespace"]
        made_under = info["view_creation_spark_configuration"]
    except KeyError:  # later versions leave fields out
        raise Closed("nothing tells under which settings it was made") from None
    if info.get("collation", _BINARY) != _BINARY:
        raise Closed("its texts are compared in a collation of its own")
    _check_settings(warehouse, made_under)
    try:
        tree = parse(text)
    except Refusal as refusal:
        raise Closed(f"its text is not read here: {refusal.found}") from None
    names = tuple(str(column["name"]) for column in columns)
    return Made(text, tree, names, parts(place)[-1])


def made_otherwise(warehouse: Warehouse, name: str) -> str:
    """A view's settings unlike the session's, and its collation unless binary, in words; "" for none or not told."""
    info, ours = _description(warehouse, name), warehouse.settings()
    made = info.get("view_creation_spark_configuration")
    if made is None:
        return ""
    then = {**settings.DEFAULTS, **{key: value for key, value in made.items() if settings.decides(key)}}
    others = [f"{key} {then.get(key, settings.NOT_SET)}" for key in settings.differing(then, ours)]
    collation = info.get("collation", _BINARY)
    return ", ".join(others + [f"collation {collation}"] * (collation != _BINARY))


def _description(warehouse: Warehouse, name: str) -> dict[str, Any]:
    """A view as Spark 4 describes it; {} where Spark does not tell, as before Spark 4 and of Iceberg's views."""
    try:
        found: dict[str, Any] = json.loads(warehouse.rows(f"DESCRIBE TABLE EXTENDED {name} AS JSON")[0][0])
    except ValueError:
        return {}
    except SparkError as error:  # Spark 3.5 has no AS JSON
        error.expect(Cause.NOT_TAKEN)
        return {}
    return found


def _text(warehouse: Warehouse, table: exp.Table, prefix: str) -> exp.Subquery:
    """A view -> its text, as a subquery with the view's columns. prefix: for the names of CTEs. Raises Closed."""
    name = plain_name(table)
    view = made(warehouse, name)
    tree = distinct_ctes(view.tree)
    _name_alone(tree, view.schema, prefix)
    columns = [quote_name(column) for column in view.columns]
    opened = exp.Subquery(this=tree, alias=exp.TableAlias(this=alias_of(table).this, columns=columns))
    check_meaning(warehouse, name, warehouse.explain(f"SELECT * FROM {name}"), render(tree), render(opened))
    return opened


def _check_settings(warehouse: Warehouse, made: dict[str, str]) -> None:
    """Raise Closed where the view was made under other settings than the session's.

    Spark keeps only settings that differed from their defaults, so the settings of both sides are compared.
    """
    ours = warehouse.settings_set()
    for key in sorted({*(key for key in made if settings.decides(key)), *ours}):
        here = ours[key] if key in ours else warehouse.setting(key)
        if made.get(key) != here:
            raise Closed(f"{key} was {made.get(key, settings.NOT_SET)} when it was made, and is {here}")


def check_meaning(warehouse: Warehouse, name: str, of_view: str, text: str, whole: str) -> None:
    """Raise Closed where Spark's plan or columns of the text are not those of the view.

    of_view: the plan of all columns of the view. whole: the text as an input with the names of the view's columns.
    """
    try:
        of_text = warehouse.explain(text)
        same = same_query.is_inside(of_view, of_text) or plans.optimized(of_view) == plans.optimized(
            warehouse.explain(f"SELECT * FROM {whole}")
        )
        same = same and same_columns(warehouse, name, whole)
    except NotPlanned:  # a text that Spark does not take elsewhere has no equal meaning there
        same = False
    except SparkError as error:
        error.expect(Cause.NOT_TAKEN)
        same = False
    if not same:
        raise Closed("its text means something else outside of it")


def same_columns(warehouse: Warehouse, view: str, other: str) -> bool:
    of_view, of_other = (warehouse.describe(f"SELECT * FROM {one}") for one in (view, other))
    return of_view == of_other


def _name_alone(tree: exp.Query, schema: str, prefix: str) -> None:
    """Make names mean the same wherever the text stands, in place: tables get their schema, CTEs get a prefix."""
    for table in list(tree.find_all(exp.Table)):
        if table.db or not isinstance(table.this, exp.Identifier):
            continue
        if cte_of(table) is not None:
            table.set("alias", alias_of(table))
            table.set("this", quote_name(prefix + table.name.lower()))
        else:
            table.set("db", quote_name(schema))
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", quote_name(prefix + cte.alias.lower()))


def _put(table: exp.Table, opened: exp.Subquery) -> None:
    alias = table.args.get("alias")
    others = {key for key, value in table.args.items() if value} - {"this", "db", "catalog", "alias"}
    if others or (alias and alias.args.get("columns")):
        raise Closed(f"it is read as {fragment(table)}")
    table.replace(opened)


def plain_name(table: exp.Table) -> str:
    """The name of a table in SQL, without alias, version or sample."""
    return render(exp.Table(**{k: table.args[k].copy() for k in ("this", "db", "catalog") if table.args.get(k)}))
