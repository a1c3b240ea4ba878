"""What becomes of a model: its cores without storing them, read at instants, against its text."""

from __future__ import annotations

import re
from collections import Counter

import sqlglot
from sqlglot import exp

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.plan import Definition
from dbt.adapters.sparktemporal.run.plan_run import begin
from dbt.adapters.sparktemporal.temporal.decision import Invocation
from dbt.adapters.sparktemporal.temporal.diffs import intervals_sql
from dbt.adapters.sparktemporal.temporal.predicates import clock_text
from dbt.adapters.sparktemporal.temporal.rewrite.core import TypedCore
from dbt.adapters.sparktemporal.temporal.rewrite.model import Model
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, quote, render
from dbt.adapters.sparktemporal.temporal.sql.text.grammar import VerbatimSpark
from support.instants import T0
from support.project import Project

INSTANTS = (T0, T0 + 6_999, T0 + 7_000, T0 + 7_001)
#: nothing of ours is for users to read; what Spark calls mz_now() in their text is
OURS = re.compile(r"\bmz_(?!no?w?\b|logical_timestamp\b|timestamp\b)\w+|__live|NoneType|Traceback|is a defect of")


def judged(project: Project, sql: str) -> str:
    """What became of a model."""
    return became(project, sql)[0]


def became(project: Project, sql: str) -> tuple[str, str]:
    """What became of a model, and what was said: its cores without storing them, read at instants, against its text."""
    sql = sql.replace("{s}", project.schema)
    try:
        model = understood(project, sql)
    except (Refusal, SparkError) as error:
        kind = "refused" if isinstance(error, Refusal) else "an error of Spark"
        assert not OURS.search(str(error)), (sql, str(error))
        return kind, str(error)
    sides = [(read(model, t), clock_text.written_at(model.written, model.calls, f"{t}L")) for t in INSTANTS]
    for ours, written in sides:
        found, right = Counter(map(str, project.rows(ours))), Counter(map(str, project.rows(written)))
        assert found == right or " limit " in sql.lower() and found.total() == right.total(), sql
    return "accepted", ""


def understood(project: Project, sql: str) -> Model:
    """A model as a run at T0 understands it. Raises Refusal or SparkError."""
    warehouse = Warehouse(project.rows)
    return begin(
        warehouse,
        ModelRelations(f"`{project.schema}`", "m"),
        Definition(sql, {"aggregates": "rows", "pushdown": "off"}),
        Invocation(T0, T0, warehouse.settings(), warehouse.version()),
    ).plan.model


def read(model: Model, t: int) -> str:
    """A query of what the model shows at an instant, over the rows of its cores as they would be stored at T0."""
    tree = clock_text.at_instant(parse(model.residual), f"{t}L")
    for table in list(tree.find_all(exp.Table)):
        core = next((c for c in model.cores if table.name == c.core.placeholder), None)
        if core is not None:
            table.replace(stored(core, t, table.alias_or_name))
    return f"SELECT * FROM ({render(tree)}) AS f"


def stored(core: TypedCore, t: int, alias: str) -> exp.Expression:
    """The rows of a core at an instant, as they would be stored at T0."""
    names = ", ".join(quote(name) for name, _ in core.columns)
    intervals = intervals_sql.desired(core, T0, None)
    rows = f"SELECT {names} FROM ({intervals}) WHERE mz_from <= {t}L AND coalesce(mz_until > {t}L, true)"
    query = sqlglot.parse_one(rows, read=VerbatimSpark)
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
