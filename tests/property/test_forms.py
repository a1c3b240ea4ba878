"""Everyday forms of Spark SQL: the tree of each prints as a query that Spark takes for the same one.

What differs is refused when a model is built (`same_query.check`), never answered wrongly; so this is a list of what
people may write.
"""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.temporal.sql.spark import same_query
from dbt.adapters.sparktemporal.temporal.sql.text import literals
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import parse, render
from support.forms import EXPRESSIONS, QUERIES, TABLES
from support.project import Project

#: refused -> what is written instead
REFUSED = {
    "id >>> 1": "shiftrightunsigned(id, 1)",
    "select * from forms tablesample (10 percent)": "",  # it is another sample each time
}


def differs(project: Project, sql: str) -> str:
    """ "" where Spark takes text and tree for the same query, or takes no such text; else what differs."""
    try:
        written = explained(project, sql)
    except Exception:  # not in this version of Spark
        return "not Spark's"
    try:
        tree = render(parse(literals.as_read(sql, {}, project.spark.version)))
        same_query.check(written, explained(project, tree))
    except Refusal as refusal:
        return str(refusal)
    return ""


def explained(project: Project, sql: str) -> str:
    plan = str(project.rows(f"EXPLAIN EXTENDED {sql}")[0][0])
    if "== Physical Plan ==" not in plan:
        raise ValueError(plan)
    return plan


@pytest.mark.landing
def test_forms(project: Project) -> None:
    """Under an alias: the names that columns have without one are asked of Spark (tests/engine/test_sql_shapes.py)."""
    for name, columns in TABLES.items():
        project.sql(f"CREATE TABLE {{s}}.{name} USING parquet AS SELECT {columns}")
    found: dict[str, str] = {}
    with project.inside():
        for form in EXPRESSIONS:
            plain = form if form.endswith("*") or " as `" in form or form == "id a" else f"({form}) AS z"
            window = " WINDOW w AS (ORDER BY id)" if "over w" in form else ""
            found[form] = differs(project, f"SELECT {plain} FROM forms{window}")
        found |= {query: differs(project, query) for query in QUERIES}
        assert [differs(project, f"SELECT {instead} FROM forms") for instead in REFUSED.values() if instead] == [""]
    unknown = sum(why == "not Spark's" for why in found.values())
    wrong = {form: why for form, why in found.items() if why not in ("", "not Spark's")}
    assert set(wrong) == {form for form in REFUSED if found[form] != "not Spark's"}, "\n".join(
        f"{form}: {why}" for form, why in wrong.items()
    )
    assert len(found) - unknown > 400
