"""cases.yaml: its cases as tables, models and rows."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlglot
import yaml

from support.project import Project, is_named

CASES = yaml.safe_load((Path(__file__).parents[1] / "conformance" / "cases.yaml").read_text())
#: what the entries of `reject` name: ts, k and id
REJECTED = {"id": "int", "ts": "timestamp", "k": "string"}
REJECTED_ROWS: list[list[Any]] = [
    [1, "1970-01-01 00:00:01.000", "a"], [2, "1970-01-01 01:00:00.500", "b"], [3, None, "a"],
    [4, "1970-01-02 00:00:00.000", None], [5, "1970-01-01 00:00:01.0005", "a"],
]  # fmt: skip
#: `why` of the entries of which the mathematically right answer is not attempted
REFUSED = (
    "mz_now takes no arguments", "not a predicate", "inside an aggregate argument",
)  # fmt: skip


def literal(value: Any, spark_type: str) -> str:
    if value is None:
        return f"CAST(NULL AS {spark_type.upper()})"
    if spark_type == "interval day to second":
        return f"INTERVAL '{str(value)[2:-1]}' SECOND"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    if isinstance(value, (list, dict)):
        raise NotImplementedError(spark_type)
    return f"CAST('{text}' AS {spark_type.upper()})"


def create(project: Project, name: str, columns: dict[str, str], rows: list[list[Any]]) -> None:
    project.spark.sql(created(f"{project.schema}.{name}", columns, rows))


def created(table: str, columns: dict[str, str], rows: list[list[Any]]) -> str:
    """The statement that makes a table of a case."""
    names = ", ".join(f"`{c}`" for c in columns)
    if rows:
        values = ", ".join("(" + ", ".join(literal(v, t) for v, t in zip(r, columns.values())) + ")" for r in rows)
        items = ", ".join(f"CAST(`{c}` AS {t.upper()}) AS `{c}`" for c, t in columns.items())
        query = f"SELECT {items} FROM VALUES {values} AS v({names})"
    else:
        query = "SELECT " + ", ".join(f"CAST(NULL AS {t}) AS `{c}`" for c, t in columns.items()) + " WHERE false"
    return f"CREATE TABLE {table} USING parquet AS {query}"


def plain(value: Any) -> Any:
    """A value as cases.yaml writes it."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{int(value.total_seconds())}S"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return str(value)


def wanted(row: list[Any]) -> tuple:
    return tuple(tuple(v) if isinstance(v, list) else plain(v) for v in row)


def is_beyond(case: dict[str, Any], spark: Any) -> bool:
    """Whether an input has a type that the catalog has not: those of Iceberg keep no intervals."""
    return is_named(spark) and "interval day to second" in case["columns"].values()


def model_name(case: dict[str, Any]) -> str:
    return "m_" + case["id"]


def create_inputs(project: Project, cases: list[dict[str, Any]]) -> dict[str, str]:
    """Case -> its SQL over tables that are made here: one for all cases that have the same columns and rows."""
    made: dict[str, str] = {}
    found = {}
    for case in cases:
        names = {}
        for name, table in {"t": case, "u": case.get("u")}.items():
            if table is None:
                continue
            content = repr((table["columns"], table["rows"]))
            if content not in made:
                made[content] = f"in_{len(made)}"
                create(project, made[content], table["columns"], table["rows"])
            names[name] = f"{project.schema}.{made[content]}"
        found[case["id"]] = relation_sql(case, names)
    return found


def relation_sql(case: dict[str, Any], tables: dict[str, str]) -> str:
    """The case's SQL over tables of the project: `FROM t` becomes `FROM <its table> AS t`."""
    sql, out, last = case["sql"], "", 0
    tokens = sqlglot.tokenize(sql, read="spark")
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None]):
        if before.text.upper() in ("FROM", "JOIN") and token.text in ("t", "u"):
            aliased = after is not None and (after.text.upper() == "AS" or after.text in ("a", "b", "x"))
            out += sql[last : token.start] + tables[token.text] + ("" if aliased else f" AS {token.text}")
            last = token.end + 1
    return out + sql[last:]


def create_rejected(project: Project) -> None:
    """The table of the entries of `reject`."""
    create(project, "rejected", REJECTED, REJECTED_ROWS)


def over_rejected(sql: str, project: Project) -> str:
    return sql.replace(" FROM t", f" FROM {project.schema}.rejected AS t")
